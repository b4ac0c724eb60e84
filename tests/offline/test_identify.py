"""Identification on flights whose truth is known: other masses, lengths and gains, noise and delay."""

from dataclasses import replace

import numpy as np
import pytest
from dropping import DROPPED

from rotor.cli import main
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.model import DragCoefficients
from rotor_core.config.schema import PlantChange
from rotor_core.config.trajectories import HoverPlan
from rotor_core.errors import ConfigError
from rotor_flight.flight import Flight
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.identify.fit import identify
from rotor_recordings.identify.noise import CHANGES, moved, noise_of
from rotor_recordings.identify.parameters import (
    applied,
    chosen,
    default_names,
    known_parameters,
    with_values,
)
from rotor_recordings.identify.rollouts import LOST, prediction_residuals, stepped_residuals
from rotor_recordings.identify.run import rows_of
from rotor_recordings.identify.slopes import has_slopes, prediction_slopes, start_slopes
from rotor_recordings.identify.starts import Starts
from rotor_recordings.identify.windows import make_windows
from rotor_sim.estimation.told_errors import ToldErrors

NAME = "three_dragonflies_triangular_1m"
DELAY = 4
"""Control periods (20 ms) by which measured states are late."""

PLANT = (
    PlantChange(entity="payload", mass_kg=0.320),
    PlantChange(entity="quad1", thrust_gain=0.95),
    PlantChange(entity="quad2", thrust_gain=0.97),
    PlantChange(entity="quad3", thrust_gain=0.93),
    PlantChange(cable=1, length_m=1.02),
    PlantChange(cable=2, length_m=0.99),
)
TRUTH = {
    "payload.mass_kg": 0.320, "cable1.length_m": 1.02, "cable2.length_m": 0.99, "cable3.length_m": 1.0,
    "quad1.thrust_gain": 0.95, "quad2.thrust_gain": 0.97, "quad3.thrust_gain": 0.93, "latency_s": 0.020,
}  # fmt: skip


def measured(flight: Flight, seed: int, delay: int = DELAY, share: float = 1.0) -> Flight:
    """As motion capture sees it: late and noisy."""
    rng = np.random.default_rng(seed)
    states = flight.states.copy()
    states[delay:] = flight.states[: len(states) - delay]
    for columns, sigma in ((slice(0, 3), 5e-4), (slice(3, 7), 1e-3), (slice(7, 13), 1e-2)):
        states[:, :, columns] += share * sigma * rng.normal(size=states[:, :, columns].shape)
    states[:, :, 3:7] /= np.linalg.norm(states[:, :, 3:7], axis=2, keepdims=True)
    return Flight(**{**vars(flight), "states": states})


@pytest.fixture(scope="module")
def flown() -> Flight:
    """Flight of a team with other parameters under the controller of the nominal model."""
    return fly(replace(load_scenario(NAME), plant=PLANT), duration=14.0)


def test_true_values_are_inside_the_intervals(flown):
    """Eight parameters at once; all errors of prediction shrink to what the noise of the first states leaves."""
    scenario = load_scenario(NAME)
    windows = make_windows(measured(flown, 1), scenario, 0.4, 1.0)
    found = identify(windows, chosen(scenario, default_names(scenario)))
    assert {e.parameter.name for e in found.estimates} == set(TRUTH)
    for e in found.estimates:
        assert e.low <= TRUTH[e.parameter.name] <= e.high, e
    lengths = [e for e in found.estimates if "length" in e.parameter.name]
    assert all(e.high - e.low < 0.01 for e in lengths)  # and the intervals say something
    # 0.5 mm of noise along each axis is left
    assert found.check_after == pytest.approx(np.sqrt(3.0) * 0.5e-3, rel=0.1)
    assert found.check_before > 5.0 * found.check_after


def test_without_noise_the_values_come_back(flown):
    """Three parameters, the rest known: to a thousandth."""
    scenario = replace(
        load_scenario(NAME), plant=tuple(c for c in PLANT if c.entity != "payload" and c.cable != 1)
    )
    windows = make_windows(flown, scenario, 0.4, 1.0)
    found = identify(windows, chosen(scenario, ["payload.mass_kg", "cable1.length_m"]))
    mass, length = (e.value for e in found.estimates)
    assert mass == pytest.approx(0.320, rel=1e-3) and length == pytest.approx(1.02, rel=1e-3)


def test_attitudes_that_tremble_are_no_error_of_the_mass():
    """Mass and gain trade, and both are pulled by noise of first states and by whatever smooths them. True states are
    exact.

    States smoothed by 0.11 s gave a mass of 0.035 kg (0.278), and as long as noise asks 0.254 +- 0.024.
    """
    flight = fly(load_scenario("three_dragonflies_motion_capture"), duration=12.0)
    names = chosen(flight.scenario, ["payload.mass_kg", "thrust_gain"])
    truth = [0.278, 1.0, 1.0, 1.0]
    exact = identify(make_windows(flight, flight.scenario, 0.5, is_exact=True), names)
    assert [e.value for e in exact.estimates] == pytest.approx(truth, rel=1e-6)
    noisy = measured(flight, 1, delay=0, share=0.1)
    found = identify(make_windows(noisy, flight.scenario, 0.5, 1.0), names)
    for e, value in zip(found.estimates, truth, strict=True):
        assert e.low <= value <= e.high, e
    assert found.estimates[0].high - found.estimates[0].low < 0.03
    assert found.check_after == pytest.approx(
        0.05e-3 * np.sqrt(3.0), rel=0.1
    )  # the noise of positions


def test_noise_is_seen_in_what_was_told(flown):
    """To a tenth, beside the motion of a whole flight; none is none. A number of a quaternion is half an angle, and one
    of four directions is lost to the length.
    """
    told = measured(flown, 2, delay=0)
    expected = np.repeat([5e-4, 2e-3, 1e-2, 1e-2], 3)
    np.testing.assert_allclose(noise_of(told.states), np.tile(expected, (4, 1)), rtol=0.1)
    smooth = np.zeros((2000, 1, 13))
    smooth[:, 0, 0], smooth[:, 0, 3] = np.sin(0.01 * np.arange(2000)), 1.0
    assert not noise_of(smooth).any()


def test_first_states_have_slopes():
    """Of predictions with every number of the first states, against central differences."""
    scenario = load_scenario(NAME)
    flight = fly(scenario, duration=4.0)
    windows = make_windows(measured(flight, 5, delay=0), scenario, 0.3, 0.5).some(slice(0, 3))
    slopes = start_slopes(windows, scenario, 0.0)
    for n, k in ((0, 0), (1, 4), (2, 8), (3, 7), (3, 10)):
        misses = []
        for step in (1e-4, 1e-5):
            ends = []
            for sign in (1.0, -1.0):
                changes = windows.changes.copy()
                changes[:, n, k] = sign * step
                ends.append(prediction_residuals(windows.begun_at(changes), scenario, 0.0))
            central = (ends[0] - ends[1]) / (2.0 * step)
            misses.append(np.abs(central - slopes[..., n, k]).max(axis=(1, 2, 3)))
        size = np.abs(slopes[..., n, k]).max()
        assert size > 0.0 and np.minimum(*misses).min() < 1e-4 * size, (n, k)


def test_first_states_are_eliminated_as_least_squares_would():
    """Two unlike ways: residuals with the covariance of both, and a least-squares solution that has them as unknowns."""
    scenario = load_scenario("hover")
    flight = measured(fly(scenario, duration=4.0), 3, delay=0)
    windows = make_windows(flight, scenario, 0.3, 0.5)
    rng = np.random.default_rng(0)
    changes = windows.noise * rng.normal(size=windows.changes.shape)
    windows = windows.begun_at(changes)
    starts = Starts(windows, scenario, 0.0)
    missed = prediction_residuals(windows, scenario, 0.0)
    slopes = start_slopes(windows, scenario, 0.0)
    whole = 0.0
    for w, best in enumerate(starts.best(missed)):
        J = (
            slopes[w].reshape(missed[w].size, -1)
            / np.tile(windows.noise[0, :3], len(windows.checks))[:, None]
        )
        r = (
            missed[w].ravel() / np.tile(windows.noise[0, :3], len(windows.checks))
            - J @ changes[w].ravel()
        )
        stacked = np.vstack([J, np.diag(1.0 / windows.noise.ravel())])
        d, cost, *_ = np.linalg.lstsq(stacked, np.append(-r, np.zeros(CHANGES)))
        np.testing.assert_allclose(best.ravel(), d, atol=1e-9)
        whole += cost[0]
    assert np.sum(starts.residuals(missed) ** 2) == pytest.approx(whole, rel=1e-9)
    assert np.mean(starts.residuals(missed) ** 2) == pytest.approx(1.0, rel=0.3)  # chi squared


def test_changes_of_states_are_told_in_their_axes():
    """A turn about a body's own x axis; noise of a state is a change with that size."""
    state = np.zeros((1, 13))
    state[0, 3:7] = np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)  # facing north
    change = np.zeros((1, CHANGES))
    change[0] = 1.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0
    there = moved(state, change)
    assert tuple(there[0, [0, 8, 12]]) == (1.0, 2.0, 3.0)
    leaned = np.sqrt(0.5) * np.array([np.cos(0.1), np.sin(0.1), np.sin(0.1), np.cos(0.1)])
    np.testing.assert_allclose(there[0, 3:7], leaned, atol=1e-15)
    state[
        0, 3:7
    ] *= -1.0  # the same attitude, as trackers may tell it: what is near it is told so, too
    np.testing.assert_allclose(moved(state, change)[0, 3:7], -leaned, atol=1e-15)


def test_predictions_that_are_lost_have_no_slope(flown):
    """A mass at the limit of the search made slopes of NaN, and a stack trace."""
    scenario = load_scenario(NAME)
    names = chosen(scenario, ["payload.mass_kg", "thrust_gain"])
    windows = make_windows(measured(flown, 1), scenario, 0.5, 1.0)
    at = np.array([0.02, 3.0, 0.1, 3.0])
    residuals = prediction_residuals(windows, *applied(scenario, names, at))
    slopes = prediction_slopes(windows, names, at)
    assert np.abs(residuals).max() == LOST and np.isfinite(slopes).all()
    assert not slopes[np.abs(residuals) == LOST].any()


def test_the_true_model_misses_nothing(flown):
    """Rollouts from true states with true parameters and commands."""
    windows = make_windows(flown, flown.scenario, 0.4, 2.0)
    assert np.abs(prediction_residuals(windows, flown.scenario, 0.0)).max() < 1e-9


@pytest.mark.parametrize("name", [NAME, "arm_slung_load", "six_dragonflies_box"])
def test_compiled_predictions_are_those_of_the_simulation(name):
    """The same bits, period by period, whatever the parameters and however late the commands act."""
    scenario = load_scenario(name)
    windows = make_windows(fly(scenario, duration=4.0), scenario, 0.3, 0.5)
    parameters = chosen(scenario, [*default_names(scenario), "thrust_gain_per_s", "velocity_gain"])
    rng = np.random.default_rng(3)
    values = np.array([p.nominal + 0.1 * p.scale * rng.random() for p in parameters])
    there = applied(scenario, parameters, values)
    plain = [p.name.rpartition(".")[2] != "thrust_gain_per_s" for p in parameters]
    exact = applied(
        scenario, [p for p, k in zip(parameters, plain, strict=True) if k], values[plain]
    )
    assert has_slopes(scenario)
    np.testing.assert_array_equal(
        prediction_residuals(windows, *exact), stepped_residuals(windows, *exact)
    )
    # a thrust that drifts is scaled here, and there mixed again from its rotors: rounding, some 1000 times what it is
    # in the thrust alone, because that of single rotors is in the moments; redundant cables make much of either
    found = prediction_residuals(windows, *there)
    drifting = found - stepped_residuals(windows, *there)
    gains = [k for k, p in enumerate(parameters) if p.name.endswith("thrust_gain")]
    moved = values.copy()
    moved[gains] *= 1.0 + 1e-10 * (-1.0) ** np.arange(len(gains))  # vehicles against each other
    growth = (
        np.abs(prediction_residuals(windows, *applied(scenario, parameters, moved)) - found).max()
        / 1e-10
    )
    assert np.abs(drifting).max() < 1e4 * np.finfo(float).eps * growth and growth < 100.0


def lagging(lag_s):
    """A vehicle whose rotors follow with a lag, on a figure of three seconds."""
    scenario = load_scenario("quadrotor_circle")
    vehicle = scenario.model.vehicles[0]
    vehicle = replace(vehicle, rotors=replace(vehicle.rotors, lag_s=lag_s))
    return replace(
        scenario,
        model=replace(scenario.model, vehicles=(vehicle,)),
        actuation=replace(scenario.actuation, mode="rotors"),
        trajectory=load_scenario("slalom").trajectory,
    )


@pytest.mark.parametrize("horizon", [0.25, 0.5])
def test_windows_begin_with_motors_where_commands_have_left_them(horizon):
    """A lag is found from exact states to 1e-6 of it, from a start that is off by a half; it was off by a half, +- 10 %."""
    windows = make_windows(fly(lagging(0.05), duration=8.0), lagging(0.03), horizon, is_exact=True)
    residuals = prediction_residuals(windows, lagging(0.05), 0.0)
    assert np.abs(residuals).max() < 1e-6  # a thousandth of what came before is left
    np.testing.assert_array_equal(residuals, stepped_residuals(windows, lagging(0.05), 0.0))
    (found,) = identify(windows, chosen(lagging(0.03), ["lag_s"])).estimates
    assert found.value == pytest.approx(0.05, rel=1e-4)


def test_what_windows_cannot_know_is_refused(tmp_path, capsys):
    """Turbulence that went on, a load that was gripped, a winch, blades, a wrapped cable: they were as at the start."""
    air = "environment: {wind: {turbulence: {wind_at_6m_m_s: 8.0, altitude_m: 6.0, airspeed_m_s: 5.0}}}"
    plain = "model: {vehicles: [{use: hummingbird, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}]}"
    blown = f"schema: 1\ndescription: gusts\n{plain}\ncontroller: {{use: quadrotor}}\n{air}\n"
    flights = (
        fly(scenario_from_text(blown), duration=1.0),
        fly(load_scenario("pick_and_place"), duration=0.5),
        fly(load_scenario("winch_delivery"), duration=0.5),
        fly(load_scenario("helicopter_hover"), duration=0.5),
        fly(load_scenario("pendulum_on_peg"), duration=0.5),
        fly(scenario_from_text(DROPPED), duration=1.0),
    )
    words_of = (
        "turbulence: how it blows", "gripped, let go or wound", "cable1 has a winch", "blades of a helicopter",
        "how cable1 lies on", "release at 0.5",
    )  # fmt: skip
    for i, (flight, words) in enumerate(zip(flights, words_of, strict=True)):
        path = flight.save(tmp_path / f"{i}.mcap")
        assert (
            main(
                ["identify", str(path), "--states", "ground_truth", "--out", str(tmp_path / "out")]
            )
            == 2
        )
        assert words in capsys.readouterr().err


def test_short_windows_lose_no_point():
    """Instants that fall into one control period, or before the first, count as period by period."""
    scenario = load_scenario(NAME)
    flight = fly(scenario, duration=2.0)
    coarse = replace(scenario, time=replace(scenario.time, control_s=0.02))
    for windows in (
        make_windows(flight, scenario, 0.01, 0.5),
        make_windows(flight, coarse, 0.03, 0.5),
    ):
        residuals = prediction_residuals(windows, windows.scenario, 0.0)
        np.testing.assert_array_equal(residuals, stepped_residuals(windows, windows.scenario, 0.0))
        assert np.abs(residuals).max() < 0.1
    with pytest.raises(ConfigError, match="at least one row"):
        make_windows(flight, scenario, 0.001)


@pytest.mark.parametrize("name", [NAME, "arm_slung_load"])
def test_slopes_are_those_of_the_predictions(name):
    """Against central differences, from noisy states, whose cables are slack and snap: to what the step leaves.

    A window in which the differences themselves meet a kink at one step does not at another.
    """
    scenario = load_scenario(name)
    flight = fly(scenario, duration=4.0)
    rng = np.random.default_rng(5)
    states = flight.states.copy()
    states[:, :, :3] += 5e-4 * rng.normal(size=states[:, :, :3].shape)
    windows = make_windows(Flight(**{**vars(flight), "states": states}), scenario, 0.3, 0.5)
    names = [
        *default_names(scenario),
        "thrust_gain_per_s",
        "velocity_gain",
        "attitude_bias_y_rad",
        "drag_n_s_per_m",
    ]
    parameters = [p for p in chosen(scenario, names) if p.name != "latency_s"]  # that has kinks
    start = np.array([p.nominal + 0.02 * p.scale for p in parameters])
    slopes = prediction_slopes(windows, parameters, start)
    for i, parameter in enumerate(parameters):
        misses = []
        for share in (1e-4, 1e-5, 1e-6):
            ends = []
            for sign in (1.0, -1.0):
                moved = start.copy()
                moved[i] += sign * share * parameter.scale
                ends.append(prediction_residuals(windows, *applied(scenario, parameters, moved)))
            central = (ends[0] - ends[1]) / (2.0 * share * parameter.scale)
            misses.append(np.abs(central - slopes[..., i]).max(axis=(1, 2, 3)))
        size = np.abs(slopes[..., i]).max()
        assert size > 0.0
        assert np.min(misses, axis=0).max() < 1e-5 * size, parameter.name


def test_latency_has_the_slope_of_the_commands():
    """Held commands are linear in it up to the next stamp: a difference of any size within is exact."""
    scenario = load_scenario(NAME)
    windows = make_windows(fly(scenario, duration=4.0), scenario, 0.3, 0.5)
    parameters = chosen(scenario, ["latency_s"])
    slopes = prediction_slopes(windows, parameters, np.array([0.0]))[..., 0]
    ends = [prediction_residuals(windows, scenario, t) for t in (0.0, 1e-5)]
    assert np.abs((ends[1] - ends[0]) / 1e-5 - slopes).max() < 1e-4 * np.abs(slopes).max()


def test_parameters_are_put_where_they_belong():
    scenario = load_scenario(NAME)
    known = known_parameters(scenario)
    names = [
        "payload.inertia_yy_kg_m2",
        "payload.drag_n_s_per_m",
        "quad2.drag_n_s_per_m",
        "cable3.length_m",
    ]
    there = with_values(scenario, [known[n] for n in names], np.array([0.01, 0.2, 0.1, 1.1]))
    payload, quad2 = there.model.payloads[0], there.model.vehicles[1]
    assert np.array(payload.inertia_kg_m2)[1, 1] == 0.01
    assert payload.drag.linear_n_s_per_m == (0.2,) * 3 and quad2.drag.linear_n_s_per_m == (0.1,) * 3
    assert [c.length_m for c in there.model.cables] == [1.0, 1.0, 1.1]
    assert (
        with_values(scenario, [known["payload.mass_kg"]], np.array([0.278]))
        .model.payloads[0]
        .mass_kg
        == 0.278
    )


def test_unequal_drag_is_begun_with_as_it_is():
    """The mean in place of three numbers was another model, and its own mend was told as an improvement."""
    scenario = load_scenario("quadrotor_circle")
    vehicle = replace(
        scenario.model.vehicles[0], drag=DragCoefficients(linear_n_s_per_m=(0.05, 0.1, 0.6))
    )
    scenario = replace(scenario, model=replace(scenario.model, vehicles=(vehicle,)))
    (drag,) = chosen(scenario, ["drag_n_s_per_m"])
    assert drag.nominal == pytest.approx(0.25)
    assert drag.put(scenario, drag.nominal) == scenario
    doubled = drag.put(scenario, 0.5).model.vehicles[0].drag.linear_n_s_per_m
    assert doubled == pytest.approx((0.1, 0.2, 1.2))


def test_what_cannot_be_told_apart_is_refused(flown):
    scenario = load_scenario(NAME)
    windows = make_windows(flown, scenario, 0.4, 1.0)
    with pytest.raises(ConfigError, match=r"does not exist; known: .*payload\.mass_kg"):
        chosen(scenario, ["payload.weight"])
    with pytest.raises(ConfigError, match="cannot determine"):
        identify(replace_rows(windows, 12), chosen(scenario, default_names(scenario)))
    with pytest.raises(ConfigError, match="at least 6"):
        make_windows(flown, scenario, 5.0)


TWO = """
schema: 1
model: {{vehicles: [{{use: crazyflie, name: upper}}, {{use: crazyflie, name: lower}}]}}
initial: [{{entity: upper, position_m: [0, 0, 1.4]}}, {{entity: lower, position_m: [0, 0, 1.0]}}]
environment: {{wakes: {{strength: {strength}}}}}
controller: {{use: quadrotor}}
trajectory: {{use: circle_10s}}
"""


def test_downwash_is_found():
    """Of a vehicle under another: the momentum of the jets, to a millionth where nothing else is wrong."""
    truth, model = (scenario_from_text(TWO.format(strength=s), "two") for s in (0.8, 1.0))
    windows = make_windows(fly(truth, duration=6.0), model, 0.3, 0.5)
    found = identify(windows, chosen(model, ["wakes.strength", "lower.thrust_gain"]))
    strength, gain = found.estimates
    assert strength.value == pytest.approx(0.8, abs=1e-6) and strength.low < 0.8 < strength.high
    assert gain.value == pytest.approx(1.0, abs=1e-6)
    assert found.scenario.environment.wakes.strength == strength.value


def test_drift_and_what_is_told_wrong_are_found():
    """Thrust that falls, attitudes and velocities that are told wrong, from noisy records of one vehicle.

    The intervals hold the truth and say something, but for heading: what a level vehicle does tells nothing of it.
    """
    model = load_scenario("quadrotor_circle")
    name = model.model.vehicles[0].name
    change = PlantChange(
        entity=name, thrust_gain=0.96, thrust_gain_per_s=-0.004, attitude_bias_rad=(0.02, -0.015, 0.0),
        velocity_gain=0.85,
    )  # fmt: skip
    real = replace(model, plant=(change,))
    flight = fly(real, duration=12.0)
    rng = np.random.default_rng(0)
    states = np.array([ToldErrors.of(real).tell(s) for s in flight.states])
    states[:, :, :3] += 3e-4 * rng.normal(size=states[:, :, :3].shape)
    states[:, :, 7:10] += 5e-3 * rng.normal(size=states[:, :, 7:10].shape)
    windows = make_windows(Flight(**{**vars(flight), "states": states}), model, 0.3, 1.0)
    names = [
        "thrust_gain", "thrust_gain_per_s", "attitude_bias_x_rad", "attitude_bias_y_rad", "attitude_bias_z_rad",
        "velocity_gain",
    ]  # fmt: skip
    found = identify(windows, chosen(model, names))
    truth = dict(zip(names, (0.96, -0.004, 0.02, -0.015, 0.0, 0.85), strict=True))
    for e in found.estimates:
        kind = e.parameter.name.rpartition(".")[2]
        assert e.low <= truth[kind] <= e.high, e
        assert e.is_told == (kind != "attitude_bias_z_rad"), e
    plant = found.scenario.plant[0]
    assert plant.velocity_gain == pytest.approx(0.85, abs=0.03)
    assert found.check_after < 0.2 * found.check_before


def test_what_a_flight_cannot_tell_is_named_and_left():
    """At rest neither drag nor inertia does anything; the mass of the payload is found all the same."""
    scenario = replace(load_scenario(NAME), trajectory=HoverPlan("hover"))
    windows = make_windows(fly(scenario, duration=5.0), scenario, 0.4, 0.5)
    names = ["payload.mass_kg", "payload.inertia_zz_kg_m2", "payload.drag_n_s_per_m"]
    found = identify(windows, chosen(scenario, names))
    (mass,) = found.estimates
    assert mass.value == pytest.approx(0.278, rel=1e-6) and mass.is_told
    assert {u.parameter.name for u in found.untold} == set(names[1:])
    assert all("no effect" in u.reason for u in found.untold)
    assert any("left at" in value for _, value in rows_of(found))
    with pytest.raises(ConfigError, match="tells none of"):
        identify(windows, chosen(scenario, names[1:]))


def replace_rows(windows, n):
    return windows.some(slice(0, n))


def test_the_command_writes_a_scenario(flown, tmp_path, capsys):
    """From a bag: the new scenario loads, and flies with the new mass; JSON says the same."""
    import json

    bag = tmp_path / "bag"
    write_bag(flown, bag)
    out = tmp_path / "out"
    arguments = ["--parameters", "payload.mass_kg", "thrust_gain", "length_m", "--out", str(out)]
    assert main(["identify", str(bag), *arguments, "--horizon", "0.4"]) == 0
    table = capsys.readouterr().out
    assert "windows held back" in table and "payload.mass_kg" in table
    data = json.loads((out / "identified.json").read_text())
    found = load_scenario(str(out / "identified.yaml"))
    mass = data["parameters"]["payload.mass_kg"]["value"]
    assert found.model.payloads[0].mass_kg == mass == pytest.approx(0.320, rel=0.02)
    assert data["prediction_rms_m"]["held_back"][1] < 0.1 * data["prediction_rms_m"]["held_back"][0]
