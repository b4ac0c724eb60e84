"""Recorded flights of Crazyflies, where they are at hand (beside the repository); and the parts that need none."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from references import FLIGHTS, NO_FLIGHTS

from rotor.cli import main
from rotor_core.errors import ConfigError
from rotor_recordings.crazyflies.grid import GRAVITY, make_grid
from rotor_recordings.crazyflies.logs import read_crazyflie_team
from rotor_recordings.crazyflies.team_model import fit_team
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.flights import open_flight
from rotor_recordings.formats.open import open_recording
from rotor_recordings.identify.fit import identify as identify_windows
from rotor_recordings.identify.parameters import chosen
from rotor_recordings.identify.windows import make_windows
from validation.real_flights.february.balance import balances
from validation.real_flights.february.elimination import filtered
from validation.real_flights.february.fitted import PRIOR, fit_flight
from validation.real_flights.february.fly import Variant, fly_flown, miss
from validation.real_flights.february.law import GAINS, held, identify, restarts
from validation.real_flights.february.logs import hover, read_flown
from validation.real_flights.february.repeats import from_others, pairs, plans
from validation.real_flights.february.sharing import explain
from validation.real_flights.follow import fitted_laws, follow, group_of, path_error
from validation.real_flights.rods import rod_motion
from validation.real_flights.slack import slack_episodes
from validation.real_flights.windows import (
    VARIANTS,
    Predictor,
    cable_aware_attitudes,
    rods_predicted,
)

needs_flights = pytest.mark.skipif(not FLIGHTS.exists(), reason=NO_FLIGHTS)
FLIGHT = FLIGHTS / "feb24_2cfs_window_opt_01.npz"


@pytest.fixture(scope="module")
def studied():
    team = read_crazyflie_team(FLIGHT)
    grid = make_grid(team)
    return team, grid, fit_team(team, grid)


@pytest.fixture(scope="module")
def fitted(studied):
    """What predicts with three numbers of each vehicle: their fit takes as long as everything else about a flight."""
    return Predictor(*studied, VARIANTS[-1])


@needs_flights
@pytest.mark.parametrize(
    "entry",
    json.loads((FLIGHTS / "index.json").read_text()) if FLIGHTS.exists() else [],
    ids=lambda e: e["name"],
)
def test_every_flight_is_read(entry):
    """Lengths of cables are those of the index (its medians were taken without a common clock: 4 mm)."""
    team = read_crazyflie_team(FLIGHTS / f"{entry['name']}.npz")
    assert list(team.vehicles) == sorted(entry["vehicles"])
    assert {t.body for t in team.recording().tracks} == {*entry["vehicles"], "payload"}
    grid = make_grid(team)
    for name, length in zip(team.vehicles, grid.lengths, strict=True):
        assert length == pytest.approx(entry["v"][name]["len_median_m"], abs=0.004)


@needs_flights
def test_gains_and_tensions_are_those_of_the_readme(studied):
    """Commands exceed the need by 3 to 10 per cent; tensions of two vehicles are 0.04 to 0.06 N."""
    _, grid, model = studied
    for fit in model.vehicles.values():
        assert 1.0 / 1.13 < fit.gain < 1.0 / 1.01
        assert fit.gain_sigma < 0.02 and fit.residual < 0.02
    known = grid.tensions[np.isfinite(grid.tensions).all(axis=1)]
    assert (0.03 < 0.01 * np.median(known, axis=0)).all() and (
        0.01 * np.median(known, axis=0) < 0.08
    ).all()


@needs_flights
@pytest.mark.parametrize(
    ("name", "limit"), [("feb24_2cfs_window_opt_01", 0.035), ("dec24_2cfs_window_coltr_13", 0.035)]
)
def test_references_flown_again_end_near_the_recorded_path(name, limit):
    """Two of the flights that the laws were not fitted to come within 3 cm; the page has all of them."""
    team = read_crazyflie_team(FLIGHTS / f"{name}.npz")
    grid = make_grid(team)
    path = follow(team, grid, fit_team(team, grid), fitted_laws()[group_of(name)])
    assert path_error(grid, path) < limit


@needs_flights
def test_the_simulator_without_lag_and_gain_is_rods(studied):
    """Taut cables are rods: the engine and a separate code of rods predict alike (attitude held by a loop: 2 cm)."""
    team, grid, model = studied
    ours = Predictor(team, grid, model, VARIANTS[3]).windows((0.5,))[0.5].errors
    rods = rods_predicted(team, grid, (0.5,))[0.5].errors
    assert np.median(ours[:, -1]) == pytest.approx(np.median(rods[:, -1]), abs=0.02)
    full = Predictor(team, grid, model, VARIANTS[1]).windows((1.0,))[1.0].errors
    plain = rods_predicted(team, grid, (1.0,))[1.0].errors
    assert np.median(full[:, -1]) < 0.6 * np.median(plain[:, -1])  # what the fitted thrust is worth


@needs_flights
def test_predictions_gain_from_every_part(studied, fitted):
    """Attitudes that know of the pull halve the miss after a second, and fitted numbers take more.

    Air itself gains over all flights (docs/results/real_flights.md), not in this one.
    """
    predictors = [*(Predictor(*studied, v) for v in VARIANTS[4:-1]), fitted]
    plain, aware, air, own = (predictor.windows((1.0,))[1.0] for predictor in predictors)
    assert aware.figures(-1)["median_m"] < 0.6 * plain.figures(-1)["median_m"]
    assert np.mean(own.errors**2) < np.mean(air.errors**2)


@needs_flights
def test_fitted_numbers_are_those_of_the_balance_of_forces(studied, fitted):
    """Thrust gains to 1 per cent; attitudes that know of the pull need less than a quarter of a degree."""
    assert np.degrees(np.abs(fitted.biases)).max() < 0.25
    own = [v.gain for v in studied[2].vehicles.values()]
    np.testing.assert_allclose(fitted.gains, own, rtol=0.01)


@needs_flights
def test_what_was_recorded_does_not_reach_back():
    """Attitudes of the filter at an instant are made of what was recorded until then."""
    team = read_crazyflie_team(FLIGHT)
    grid = make_grid(team)
    gains, half = np.ones(2), len(grid.time) // 2
    early = {
        f.name: getattr(grid, f.name)[:half]
        for f in fields(grid)
        if f.name in ("positions", "attitudes", "rates", "commands", "tensions", "directions")
    }
    whole = cable_aware_attitudes(grid, team.mass, gains)
    part = cable_aware_attitudes(replace(grid, **early), team.mass, gains)
    np.testing.assert_array_equal(whole[:half], part)


@needs_flights
def test_repetitions_of_a_flight_scatter_as_the_simulator_misses():
    """Real flights of one plan, less their references, are 3 to 10 cm apart; the simulator misses them by 3 to 6."""
    names = [f"feb24_2cfs_forest_geom_0{k}" for k in (2, 4, 9)]
    flights = [read_flown(FLIGHTS / f"{name}.npz") for name in names]
    assert plans([*flights, read_flown(FLIGHT)]) == [[0, 1, 2]]
    apart = pairs(flights)
    assert len(apart) == 3 and 0.03 < min(apart) < max(apart) < 0.1
    assert pairs([flights[0], flights[0]]) == [0.0]
    # the mean of two others is nearer than the root of the mean square of the pairs, by the parallelogram
    others = from_others(flights)
    mean = 0.5 * (apart[0] ** 2 + apart[1] ** 2) - 0.25 * apart[2] ** 2
    assert others[0] == pytest.approx(
        np.sqrt(mean), rel=0.02
    )  # flights differ in length by a sample or two


@needs_flights
def test_the_slack_episode():
    """0.44 m of 0.49 m near 11 s, seen in two ways, as the README of the recordings has it."""
    team = read_crazyflie_team(FLIGHTS / "feb24_3cfs_window_geom_08.npz")
    grid = make_grid(team)
    longest = max(slack_episodes(team, grid), key=lambda e: e.end - e.begin)
    assert longest.vehicle == "cf7" and longest.shortest == pytest.approx(0.44, abs=0.005)
    assert 10.0 < longest.begin < 11.0 < longest.end < 12.5
    assert longest.during < 0.005 < longest.after


@needs_flights
def test_a_flight_becomes_a_bag_and_is_compared(tmp_path, capsys):
    """Loader to bag and back; the bag against the logs it came from: the same paths."""
    flight = open_flight(str(FLIGHT))
    write_bag(flight, tmp_path / "bag")
    back = read_flight(tmp_path / "bag")
    assert np.allclose(back.states[:, :, :3], flight.states[:, :, :3], atol=1e-12)
    arguments = [
        "--align",
        "none",
        "--time-offset",
        "0",
        "--no-evo",
        "--max-position-rmse",
        "0.003",
    ]
    assert (
        main(
            [
                "compare",
                str(tmp_path / "bag"),
                str(FLIGHT),
                *arguments,
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    assert open_recording(str(FLIGHT)).kind == "flight of Crazyflies"
    assert (
        main(
            ["replay", str(FLIGHT), "--at", "5", "--for", "0.3", "--out", str(tmp_path / "replay")]
        )
        == 0
    )
    assert "moved to fit the cables" in capsys.readouterr().out


def test_rods_fall_swing_and_keep_their_length():
    """Two point masses on a rod: the common centre falls freely, the rod turns at its rate, to 1e-6 m."""
    masses, lengths, step = np.array([0.03, 0.01]), np.array([0.5]), 0.01
    omega = 2.0
    start = np.array([[0.125, 0, 0, 0, 0.125 * omega, 0], [-0.375, 0, 0, 0, -0.375 * omega, 0]])
    path = rod_motion(start, np.zeros((50, 1, 3)), masses, lengths, step)
    t = step * np.arange(1, 51)
    fall = np.stack([np.zeros(50), np.zeros(50), -0.5 * GRAVITY * t**2], axis=1)
    turned = 0.125 * np.stack([np.cos(omega * t), np.sin(omega * t), np.zeros(50)], axis=1)
    assert np.abs(path[:, 0] - fall - turned).max() < 1e-5
    assert np.abs(np.linalg.norm(path[:, 0] - path[:, 1], axis=1) - 0.5).max() < 1e-6


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros(3)}, "no arrays named"),
        ({"cf2/t": np.arange(20.0)}, "lacks pos"),
        (
            {f"cf2/{k}": np.zeros((20, 3)) for k in ("pos", "gyro", "payload_pos", "payload_pos_ref", "payload_vel_ref")} | {"cf2/t": np.arange(20.0)},
            "no attitude",
        ),
    ],
)  # fmt: skip
def test_other_arrays_are_refused(arrays, words, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ConfigError, match=words):
        read_crazyflie_team(tmp_path / "a.npz")


# --- the loop of February 2024, closed again ---------------------------------------------------------


@needs_flights
@pytest.mark.parametrize(
    "name, direction, rate",
    [("feb24_2cfs_forest_geom_09", 19.0, 14.0), ("feb24_3cfs_forest_opt_05", 10.0, 8.0)],
)
def test_the_law_that_flew_is_read_from_its_log(name, direction, rate):
    """Its own terms leave 1 mN of the 70 to 120 mN across the cables; the gains are round numbers to 2 per cent."""
    flown = read_flown(FLIGHTS / f"{name}.npz")
    law = identify(flown)
    np.testing.assert_allclose(law.cable[:, 0], direction, rtol=0.02)
    np.testing.assert_allclose(law.cable[:, 1], rate, rtol=0.02)
    planned = law.cable[np.abs(law.cable[:, 2]) > 1.0, 2]  # one vehicle never got its plan
    np.testing.assert_allclose(planned, rate, rtol=0.03)
    assert law.vehicle_residual.max() < 1.2e-3
    np.testing.assert_allclose(law.payload[:, 2, 0], 18.0, rtol=0.02)


@needs_flights
def test_attitudes_of_the_log_are_those_of_a_filter_that_knows_of_no_cable():
    """Vehicles lean by 2 to 3 degrees against the pull and report level; the filter, fed with the log, too."""
    flown = read_flown(FLIGHTS / "feb24_2cfs_forest_geom_09.npz")
    balance = hover(flown)
    lean, told = (
        np.degrees(np.linalg.norm(a[:, :2], axis=1)) for a in (balance.lean, balance.told)
    )
    assert (2.0 < lean).all() and (lean < 4.0).all() and (told < 0.5).all()
    late = flown.time > 2.5
    logged = flown.axes[late, :, :2]
    apart = filtered(flown, balance)[late, :, :2] - logged
    assert np.sqrt(np.mean(apart**2)) < np.radians(0.5) < 0.15 * np.sqrt(np.mean(logged**2))


@needs_flights
def test_the_closed_loop_flies_as_the_real_one():
    """Nothing is fitted to the path: the miss is a third of that of perfect tracking, and each finding has its share."""
    path = FLIGHTS / "feb24_2cfs_forest_opt_01.npz"
    flown, simulated = fly_flown(path)
    whole = miss(flown, simulated)
    assert whole < 0.4 * miss(flown, flown.reference[:, 0])
    assert miss(*fly_flown(path, Variant(feedforward=False))) > 1.5 * whole
    assert miss(*fly_flown(path, Variant(estimated="none"))) > 1.2 * whole


@needs_flights
def test_open_numbers_bring_the_closed_loop_nearer():
    """Three of each vehicle; a path that nothing is fitted to is that with zeros."""
    path = FLIGHTS / "feb24_2cfs_window_opt_04.npz"
    flown, plain = fly_flown(path)
    _, zeros = fly_flown(path, Variant(fitted=((0.0, 0.0, 0.0),) * 2))
    np.testing.assert_allclose(zeros, plain, atol=1e-9)
    fitted = fit_flight(path)
    assert 0.7 * miss(flown, plain) < fitted.miss < miss(flown, plain)
    assert fitted.numbers.shape == (2, 3) and np.abs(fitted.numbers).max() < 3.0 * PRIOR


@needs_flights
@pytest.mark.parametrize(
    ("name", "left"), [("feb24_2cfs_window_opt_04", 0.15), ("feb24_3cfs_forest_opt_00", 0.3)]
)
def test_the_program_answers_what_was_logged(name, left):
    """Asked on paper with its published weights, of what equal shares leave it leaves a sixth and a third."""
    sharing = explain(read_flown(FLIGHTS / f"{name}.npz"))
    assert sharing.later < left * sharing.equal
    assert sharing.later < 1.05 * sharing.at_once


@needs_flights
def test_a_law_began_anew_in_flight():
    """Where motors stop for 30 ms integrals of up to 0.36 m s are zero to 5 mm s afterwards; elsewhere nothing stops."""
    flown = read_flown(FLIGHTS / "feb24_3cfs_window_opt_01.npz")
    ((name, before, after),) = restarts(flown, identify(flown))
    assert name == "cf2" and np.abs(before).max() > 0.3
    assert np.abs(after).max() < 5e-3
    assert not read_flown(FLIGHT).begins.any()
    path = FLIGHTS / "feb24_3cfs_window_opt_01.npz"
    begins_anew, goes_on = (miss(*fly_flown(path, Variant(stops=stops))) for stops in (True, False))
    assert begins_anew < goes_on


@needs_flights
def test_integrals_where_the_hover_ends_hold_the_force_of_the_log():
    """From the start of the log, and the errors since: the law's own sum is what was asked for there, to its resolution."""
    flown = read_flown(FLIGHT)
    gains, row = GAINS[len(flown.vehicles)], flown.first
    found = identify(flown)
    later = held(flown, found.memory, row)
    assert flown.since(row).time[0] == flown.time[row] == pytest.approx(1.7)
    error = (flown.reference - flown.payload_told)[row]
    rate = (flown.reference_velocity - flown.payload_velocity_told)[row]
    integral = np.array(gains.integral) * later.payload
    asked = 0.010 * (gains.position * error + gains.velocity * rate + integral + [0.0, 0.0, 9.81])
    assert np.abs(later.payload - found.memory.payload).max() > 0.005
    np.testing.assert_allclose(asked, flown.payload_force[row], atol=1e-3)


@needs_flights
def test_thrust_falls_over_a_flight():
    """By a tenth to a third of a per cent a second, far from zero in standard deviations, in one flight with quiet logs."""
    path = FLIGHTS / "feb24_2cfs_window_geom_05.npz"
    for found, asked in zip(balances(path, read_flown(path)), (0.944, 0.853), strict=True):
        assert found.gain.value == pytest.approx(asked, abs=0.01) and found.gain.sigma < 0.005
        assert -4e-3 < found.gain_rate.value < 0.0
        assert found.velocity.value == pytest.approx(1.0, abs=0.06)
    second = balances(path, read_flown(path))[1]
    assert second.gain_rate.value < -3.0 * second.gain_rate.sigma


@needs_flights
def test_short_predictions_find_what_the_balance_of_forces_finds():
    """Two ways to the same numbers: attitudes that are told wrong within 95 per cent intervals, thrust gains to 1 %.

    Predictions hold the motors' lag and the drift of a quarter of a second in the gain; the balance does not.
    """
    path = FLIGHTS / "feb24_2cfs_window_geom_05.npz"
    flight = open_flight(str(path))
    scenario = replace(flight.scenario, plant=())
    names = ["thrust_gain", "attitude_bias_x_rad", "attitude_bias_y_rad"]
    found = identify_windows(make_windows(flight, scenario, 0.25, 2.5), chosen(scenario, names))
    on_paper = balances(path, read_flown(path))
    intervals = {e.parameter.name: e for e in found.estimates}
    for name, numbers in zip(("cf2", "cf7"), on_paper, strict=True):
        # a told axis of thrust is off by (b_y, -b_x) from the true one
        x, y = numbers.lean
        gain = intervals[f"{name}.thrust_gain"]
        assert gain.value == pytest.approx(numbers.gain.value, abs=0.01) and gain.is_told
        for key, value in zip(names[1:], (y.value, -x.value), strict=True):
            estimate = intervals[f"{name}.{key}"]
            assert estimate.low < value < estimate.high, (estimate, value)
            assert estimate.is_told
