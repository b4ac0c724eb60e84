"""Winches within their limits, and cables with rings and springs, as scenarios give them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.config.loader import dump_scenario, scenario_from_text
from rotor_core.config.teams import cable_spans
from rotor_core.errors import ConfigError, ContractError
from rotor_flight.checkpoint import load, save
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_sim.actuation.winches import acceleration_to
from rotor_sim.simulation import Simulation

HANGING = """
schema: 1
model:
  payloads: [{name: load, mass_kg: 0.4}]
  attachments:
    - {type: cable, a: world, b: load, length_m: 1.0, winch: {lengths_m: [0.2, 3.0], rate_m_s: 0.5, acceleration_m_s2: 0.8}}
initial: [{entity: load, position_m: [0, 0, -1]}]
controller: {type: open_loop}
trajectory: {type: hover, duration_s: 10.0}
"""


def hanging(**changes):
    text = HANGING
    for old, new in changes.items():
        text = text.replace(old, new)
    return Simulation(scenario_from_text(text))


def run(simulation, seconds):
    """Lengths and rates at the end of every control period."""
    rows = []
    for _ in range(round(seconds / simulation.scenario.time.control_s)):
        simulation.step(np.zeros((0, 4)))
        winches = simulation.engine.winches
        rows.append((winches.length(0), winches.rate(0)))
    return np.array(rows)


# --- the way to a length --------------------------------------------------------------------------


@settings(deadline=None)
@given(
    way=st.floats(-1.5, 1.5),
    period=st.floats(5e-3, 0.05),
    fastest=st.floats(0.2, 3.0),
    strongest=st.floats(0.1, 10.0),
    begins=st.floats(-1.0, 1.0),
)
def test_a_winch_reaches_its_length_within_its_limits(way, period, fastest, strongest, begins):
    """At rest and exactly, no later than limits ask for by a few periods; from rest without passing it."""
    rate = begins * fastest if way > 0.7 else 0.0
    gap, began = way, rate
    least = abs(way) / fastest + fastest / strongest + 2.0 * abs(rate) / strongest
    periods = int(np.ceil((least + 2.0 * np.sqrt(abs(way) / strongest)) / period)) + 6
    for _ in range(periods):
        acceleration = acceleration_to(gap, rate, period, fastest, strongest)
        assert abs(acceleration) <= strongest * (1.0 + 1e-12)
        after = rate + acceleration * period
        gap -= 0.5 * (rate + after) * period
        rate = after
        assert abs(rate) <= fastest * (1.0 + 1e-9)
        if began == 0.0:
            assert gap * np.sign(way) > -1e-9
    assert abs(gap) < 1e-9 and abs(rate) < 1e-9


def test_the_way_is_a_trapezoid():
    simulation = hanging()
    simulation.winches.ask(0, length=2.0)
    lengths, rates = run(simulation, 3.0).T
    assert np.max(rates) == pytest.approx(0.5, abs=1e-12)
    assert np.max(np.abs(np.diff(rates))) <= 0.8 * simulation.scenario.time.control_s + 1e-12
    assert lengths[-1] == pytest.approx(2.0, abs=1e-9) and rates[-1] == 0.0
    # 1 m at 0.5 m/s, ramps of 0.625 s: 2.625 s, and no more than two periods over it
    arrived = np.argmax(np.abs(lengths - 2.0) < 1e-9) + 1
    assert 2.625 <= arrived * simulation.scenario.time.control_s < 2.625 + 0.011
    assert simulation.motion[0, 2] == pytest.approx(-2.0, abs=1e-9)


def test_a_rate_lasts_until_the_limit_or_the_next_order():
    simulation = hanging()
    simulation.winches.ask(0, rate=-0.4)
    lengths, _ = run(simulation, 3.0).T
    assert lengths[-1] == pytest.approx(0.2, abs=1e-9)  # the shortest
    simulation.winches.ask(0, rate=0.3)
    _, rates = run(simulation, 1.0).T
    assert rates[-1] == pytest.approx(0.3, abs=1e-12)
    simulation.winches.ask(0, rate=0.0)
    _, rates = run(simulation, 1.0).T
    assert rates[-1] == 0.0
    simulation.reset()
    assert simulation.engine.winches.length(0) == 1.0


@pytest.mark.parametrize(
    "cable, wanted, text",
    [
        (0, {"length": 5.0}, "0.2 to 3 m, got 5"),
        (0, {"length": np.nan}, "got nan"),
        (0, {"rate": 0.7}, "at most 0.5 m/s"),
        (0, {"rate": np.inf}, "at most 0.5 m/s"),
        (0, {"length": 2.0, "rate": -0.1}, "must be > 0 m/s"),
        (0, {}, "a length or a rate"),
        (1, {"length": 2.0}, "cable2 has no winch. With one: cable1"),
    ],
)
def test_orders_beyond_limits_are_refused(cable, wanted, text):
    simulation = hanging()
    with pytest.raises(ContractError, match=text):
        simulation.winches.ask(cable, **wanted)


@pytest.mark.parametrize(
    "drum", ["", ", drum: {radius_m: 0.05, inertia_kg_m2: 1.0e-3, torque_n_m: 0.5}"]
)
def test_what_is_left_of_a_cut_cable_winds_as_asked(drum):
    """A winch whose cable is cut on the way keeps to its order and its limits; one that winds nothing stays."""
    simulation = hanging(**{"acceleration_m_s2: 0.8": f"acceleration_m_s2: 0.8{drum}"})
    simulation.winches.ask(0, length=2.0)
    run(simulation, 0.3)
    simulation.engine.cut(0)
    lengths, rates = run(simulation, 4.0).T
    assert not simulation.engine.alive[0]
    assert lengths.max() <= 2.0 + 1e-4 and lengths[-1] == pytest.approx(2.0, abs=1e-4)
    assert rates.max() <= 0.5 + 1e-3 and rates[-1] == 0.0
    assert simulation.winches.are_idle and simulation.engine.winches.are_at_rest
    simulation.winches.ask(0, rate=-0.4)
    assert not simulation.winches.are_idle
    assert run(simulation, 6.0)[-1, 0] == pytest.approx(0.2, abs=1e-4)


def test_changes_wind():
    simulation = hanging(
        **{"trajectory:": "changes: [{at_s: 0.2, wind: {cable: 1, length_m: 0.6}}]\ntrajectory:"}
    )
    lengths, _ = run(simulation, 2.5).T
    assert lengths[20] == 1.0 and lengths[-1] == pytest.approx(0.6, abs=1e-9)


def test_a_new_structure_keeps_what_is_wound():
    """Attach and release make the world anew; a state that is set moves nothing else."""
    text = HANGING.replace(
        "payloads: [",
        "payloads: [{name: free, mass_kg: 0.1, inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-4]}, ",
    ).replace("initial: [", "initial: [{entity: free, position_m: [0, 0, -2]}, ")
    simulation = Simulation(scenario_from_text(text))
    simulation.winches.ask(0, length=1.4)
    run(simulation, 0.7)
    length = simulation.engine.winches.length(0)
    simulation.attach("load", "free")
    assert simulation.engine.winches.length(0) == length
    run(simulation, 2.0)
    assert simulation.engine.winches.length(0) == pytest.approx(1.4, abs=1e-9)
    simulation.set_states({"free": np.r_[0.0, 0.0, -1.9, 1.0, np.zeros(9)]}, project=False)
    assert simulation.engine.winches.length(0) == pytest.approx(1.4, abs=1e-9)
    assert not simulation.engine.taut[0]


# --- scenarios ------------------------------------------------------------------------------------

TACKLE = """
schema: 1
model:
  payloads: [{name: load, mass_kg: 1.0}, {name: weight, mass_kg: 0.6}]
  attachments:
    - type: cable
      a: world
      through: [{entity: load}, {entity: world, point_m: [0.2, 0, 0]}]
      b: weight
      length_m: 3.0
initial: [{entity: load, position_m: [0.1, 0, -1]}, {entity: weight, position_m: [0.2, 0, -0.5]}]
controller: {type: open_loop}
trajectory: {type: hover, duration_s: 10.0}
"""


def test_rings_come_from_yaml_and_go_back():
    scenario = scenario_from_text(TACKLE)
    again = scenario_from_text(dump_scenario(scenario))
    assert again.model.cables == scenario.model.cables
    states = np.zeros((2, 13))
    states[:, 3] = 1.0
    states[:, :3] = [[0.1, 0, -1], [0.2, 0, -0.5]]
    assert cable_spans(scenario.model, states)[0] == pytest.approx(2.0 * np.hypot(0.1, 1.0) + 0.5)
    simulation = Simulation(scenario)
    assert not simulation.engine.taut[0]
    for _ in range(100):
        simulation.step(np.zeros((0, 4)))
    engine = simulation.engine
    assert engine.taut[0]
    # what holds the load: both parts of the cable pull it
    came = np.array([0.2, 0.0, 0.0]) - simulation.motion[1, :3]
    np.testing.assert_allclose(engine.directions_at_b[0], -came / np.linalg.norm(came), atol=1e-9)


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("{entity: load}", "{entity: lode}", "no entity 'lode'.*did you mean .load"),
        ("{entity: load}", "{entity: load, point_m: [0.1, 0, 0]}", "'load' is a point mass"),
        ("length_m: 3.0", "length_m: 2.0", "through its rings.*only 2 m long"),
        ("length_m: 3.0", "length_m: 3.0\n      damping_n_s_per_m: 1.0", "need stiffness_n_per_m"),
        ("length_m: 3.0", "length_m: 3.0\n      stiffness_n_per_m: 1.0e7", "1e.06"),
        ("length_m: 3.0", "length_m: 3.0\n      winch: {lengths_m: [1.0, 2.0]}", "within lengths_m of its winch"),
        ("length_m: 3.0", "length_m: 3.0\n      winch: {lengths_m: [4.0, 2.0]}", "0 < shortest < longest"),
        ("trajectory:", "changes: [{at_s: 1.0, wind: {cable: 1, length_m: 1.0}}]\ntrajectory:", "cable 1 has no winch. With one: none"),
    ],
)  # fmt: skip
def test_impossible_entries_name_their_place(old, new, text):
    with pytest.raises(ConfigError, match=text):
        scenario_from_text(TACKLE.replace(old, new, 1))


def test_reality_keeps_to_the_limits_of_a_winch():
    text = HANGING.replace("controller:", "plant: [{cable: 1, length_m: 9.0}]\ncontroller:")
    with pytest.raises(ConfigError, match=r"plant\[0\].length_m: must be 0.2 to 3.*got 9"):
        scenario_from_text(text)


PROFILE = "changes: [{at_s: 0.2, wind: {cable: 1, profile: [[0, 0], [0.5, 0.4], [1.0, 0.4], [1.25, 0.2], [2.0, -0.4], [2.5, 0]]}}]"


def test_a_rate_follows_its_profile_and_then_the_winch_stops():
    """Length is the integral of what is linear between the pairs; the load hangs on it."""
    simulation = hanging(**{"controller:": PROFILE + "\ncontroller:"})
    seen = run(simulation, 3.5)
    t = simulation.scenario.time.control_s * np.arange(1, len(seen) + 1) - 0.2
    times, rates = np.array([[0, 0], [0.5, 0.4], [1.0, 0.4], [1.25, 0.2], [2.0, -0.4], [2.5, 0]]).T
    wanted = np.interp(t, times, rates, left=0.0, right=0.0)
    np.testing.assert_allclose(seen[:, 1], wanted, atol=1e-12)
    fine = np.linspace(0.0, 3.3, 33_001)
    travelled = np.concatenate([[0.0], np.cumsum(np.diff(fine) * 0.5 * (np.interp(fine[1:], times, rates, right=0.0) + np.interp(fine[:-1], times, rates, right=0.0)))])  # fmt: skip
    np.testing.assert_allclose(
        seen[t > 0, 0], 1.0 + np.interp(t[t > 0], fine, travelled), atol=1e-8
    )
    assert simulation.motion[0, 2] == pytest.approx(-seen[-1, 0], abs=0.02)


def test_a_profile_goes_on_in_a_saved_flight(tmp_path):
    """The same bits as in the flight that was not put away."""
    scenario = scenario_from_text(HANGING.replace("controller:", PROFILE + "\ncontroller:"))
    whole = fly(scenario, duration=3.0)
    loop = ClosedLoop(scenario)
    fly(scenario, duration=1.0, loop=loop)
    save(loop, tmp_path / "flight.saved")
    rest = fly(scenario, duration=2.0, loop=load(tmp_path / "flight.saved"))
    np.testing.assert_array_equal(rest.states[-1], whole.states[-1])
    assert abs(whole.states[-1, 0, 2] + 1.0) > 0.01  # and it has wound


def test_a_profile_that_leaves_the_limits_is_refused_and_one_that_runs_out_of_cable_stops():
    cases = (
        ("[[0, 0], [0.1, 0.4]]", r"from pair 1 to 2 .* changes by 4 m/s\^2; the winch allows 0.5"),
        ("[[0, 0], [1.0, 0.6]]", "the rate is up to 0.6 m/s"),
        ("[[0.5, 0], [0.5, 0.1]]", "times increase"),
    )

    def winding(order):
        change = f"changes: [{{at_s: 0, wind: {{cable: 1, {order}}}}}]\n"
        return hanging(**{"controller:": change + "controller:"})

    for pairs, words in cases:
        with pytest.raises(ConfigError, match=words):
            winding(f"profile: {pairs}")
    with pytest.raises(ConfigError, match="or along a profile"):
        winding("length_m: 2.0, profile: [[0, 0]]")
    simulation = winding("profile: [[0, 0], [1.0, 0.5], [8.0, 0.5]]")
    seen = run(simulation, 7.0)
    assert seen[:, 0].max() <= 3.0 + 1e-9
    assert seen[-1, 0] == pytest.approx(3.0, abs=1e-9) and abs(seen[-1, 1]) < 1e-9
    # another order takes its place
    simulation.winches.ask(0, length=2.9)
    assert run(simulation, 2.0)[-1, 0] == pytest.approx(2.9, abs=1e-9)


def test_elastic_cables_come_from_yaml():
    text = HANGING.replace(
        "winch: {lengths_m: [0.2, 3.0], rate_m_s: 0.5, acceleration_m_s2: 0.8}",
        "stiffness_n_per_m: 200.0, damping_n_s_per_m: 2.0, breaking_load_n: 30.0",
    ).replace("[0, 0, -1]", "[0, 0, -1.5]")
    simulation = Simulation(scenario_from_text(text))  # stretched by half a metre: 100 N
    simulation.step(np.zeros((0, 4)))
    assert [e.type for e in simulation.take_events()] == ["break"]
    assert not simulation.engine.alive[0]
