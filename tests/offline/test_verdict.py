"""Verdicts: each criterion against flights whose end is known, in one block and sample by sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rotor_core.config.criteria import Criteria
from rotor_core.config.loader import load_scenario, scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.state import FULL_STATE, State
from rotor_core.vehicles.rotors import rotor_limits, rotor_set
from rotor_dynamics.hybrid.events import Event
from rotor_flight.fly import fly
from rotor_recordings.formats.flights import open_flight
from rotor_sim.judging.judge import Judge
from rotor_sim.judging.slack_times import SlackTimes


def scenario(text: str):
    return scenario_from_tree(parse_tree(text, "mine.yaml"))


HEAVY = """
schema: 1
model: {vehicles: [{use: dragonfly}]}
controller: {type: quadrotor}
plant: [{entity: quad1, mass_kg: %s}]
settle_s: 8.0
"""


def dragonfly_rotors():
    return rotor_set(load_scenario("dragonfly_point_mass").model.vehicles[0].rotors)


def test_a_good_flight_is_flown_and_says_how_near():
    flight = fly(load_scenario("slalom"), duration=6.0)
    verdict = flight.verdict()
    assert verdict.kind == "flown" and verdict.exit_code == 0
    error = np.linalg.norm(flight.position_error(), axis=1)
    assert f"{1e3 * error[-1]:.3g} mm from its reference at the end" in verdict.text
    assert f"{1e3 * error.max():.3g} mm at most" in verdict.text


def test_what_falls_is_lost_when_it_passes_the_limit():
    """Too heavy for its rotors: it falls with constant acceleration, and 5 m are passed when they must be."""
    flight = fly(scenario(HEAVY % 3.0), duration=2.5)
    verdict = flight.verdict()
    assert verdict.kind == "lost" and verdict.exit_code == 1
    rotors = dragonfly_rotors()
    fall = 9.81 - rotors.count * rotors.thrust_limits[1] / 3.0
    # the law asks for the limit after some periods
    assert verdict.time == pytest.approx(np.sqrt(2.0 * 5.0 / fall), abs=0.1)
    metres = np.linalg.norm(flight.position_error(), axis=1).max()
    assert verdict.text == f"quad1 up to {metres:.3g} m from its reference"


def test_at_the_limits_of_its_rotors(tmp_path):
    """A little too heavy: it sinks slowly; the verdict names what was asked and what there is."""
    rotors = dragonfly_rotors()
    most = rotors.count * rotors.thrust_limits[1]
    limited = scenario(HEAVY % (1.001 * most / 9.81) + "verdict: {error_m: null}\n")
    flight = fly(limited)
    verdict = flight.verdict()
    assert verdict.kind == "limits" and verdict.exit_code == 4 and flight.limited
    asked = flight.asked[0, 0]
    assert asked > most and flight.asked[0, 3] == flight.limited
    assert verdict.text.startswith(f"quad1 asked for {asked:.3g} N of {most:.3g} N from ")
    assert f"{flight.limited} periods" in verdict.text
    back = open_flight(
        str(flight.save(tmp_path / "flight.mcap"))
    )  # its commands are limited already
    assert str(back.verdict()) == str(verdict)
    off = replace(flight, scenario=replace(limited, verdict=Criteria(None, None, None, None, None)))
    assert off.verdict().kind == "flown"
    rare = slice(None, None, 50)  # rows between which commands were limited count too
    seldom = replace(
        flight, time=flight.time[rare], states=flight.states[rare], commands=flight.commands[rare],
        references=flight.references[rare], tensions=flight.tensions[rare], taut=flight.taut[rare],
    )  # fmt: skip
    assert f"{flight.limited} periods" in seldom.verdict().text


def test_a_slack_cable_is_lost_once_it_should_pull():
    flight = fly(load_scenario("dragonfly_point_mass"), duration=5.0)
    flight.taut[200:800] = False  # 1 to 4 s
    flight.tensions[200:800] = 0.0
    verdict = flight.verdict()
    assert str(verdict) == "lost at 3.0 s: cable1 slack for 3.0 s"
    assert flight.summary()["slack_s"] == {"cable1": pytest.approx(3.0)}
    flight.commands[200:800] = 0.0  # motors off: nobody expects a pull
    assert flight.verdict().kind == "flown"


def test_a_cut_cable_is_not_slack():
    flight = fly(load_scenario("lift_and_set_down"))
    assert flight.verdict().kind == "flown"
    cut = [e for e in flight.events if e.type == "cut"]
    after = flight.time > cut[-1].time
    assert cut and not flight.taut[after].any() and not flight.slack[after].any()


CUT = """
schema: 1
model:
  vehicles: [{use: hummingbird, name: a}, {use: hummingbird, name: b}]
  payloads:
    - {name: load, mass_kg: 0.1, shape: {type: sphere, radius_m: 0.05}}
    - {name: load2, mass_kg: 0.1, shape: {type: sphere, radius_m: 0.05}}
  attachments:
    - {type: cable, a: a, b: load, length_m: 1.0}
    - {type: cable, a: b, b: load2, length_m: 1.0}
initial: [{entity: load, position_m: [0, 0, 2]}, {entity: load2, position_m: [3, 0, 2]}]
environment: {contact: {}}
controller: {use: point_mass}
trajectory: {type: hover, duration_s: 60}
changes: [{at_s: 2.0, cut: 1}]
"""


def test_a_vehicle_that_lost_its_load_and_flies_off_is_lost():
    """The load lies below its place, nearer than error_m; the vehicle, which pulls for it, is out of a cable's reach."""
    flight = fly(scenario(CUT), duration=5.0)
    verdict = flight.verdict()
    apart = np.linalg.norm(flight["a"].position - flight.reference("load").position, axis=1)
    beyond = flight.elapsed[np.argmax(apart > 5.0 + 1.0)]
    assert verdict.kind == "lost" and verdict.time == pytest.approx(beyond, abs=1e-9)
    assert verdict.text.startswith("a 6.0") and verdict.text.endswith("out of reach")
    assert np.linalg.norm(flight.position_error(), axis=1).max() < 5.0
    assert (
        fly(
            scenario(CUT.replace("cut: 1", "motor: {vehicle: a, rotor: 1, thrust_gain: 1.0}")),
            duration=5.0,
        )
        .verdict()
        .kind
        == "flown"
    )


ALONE = """
schema: 1
model:
  vehicles: [{use: dragonfly}, {use: dragonfly}, {use: dragonfly}, {use: dragonfly}]
  payloads: [{use: box, name: crate}]
  attachments: [{type: mechanism, use: box4_0-5m}]
initial: [{entity: crate, position_m: [0, 0, 6]}]
controller: {use: cable_team}
mission:
  steps:
    - {type: hover, duration_s: 0.5}
    - {type: release, payload: crate}
    - {type: hover, entity: quad1, duration_s: 1.0}
changes: [%s]
verdict: {error_m: 0.05}
settle_s: 0.5
"""
WEAK = ", ".join(
    f"{{at_s: 1.0, motor: {{vehicle: quad2, rotor: {k}, thrust_gain: 0.6}}}}" for k in (1, 2, 3, 4)
)


def test_vehicles_that_fly_alone_are_judged_by_their_own_plans(tmp_path):
    """After a release; the payload until then. A bag of the flight says the same."""
    flight = fly(scenario(ALONE % ""))
    parts = str(flight.verdict()).split("; ")
    assert parts[0].startswith("flown: crate") and parts[0].endswith("at most, until 0.50 s")
    assert len(parts) == 2 and parts[1].endswith("the farthest of 4 that flew alone")
    figures = flight.summary()["teams"]
    assert list(figures) == ["crate", "quad1", "quad2", "quad3", "quad4"]
    assert figures["crate"]["planned_s"] == pytest.approx([0.0, 0.5], abs=0.011)
    fallen = fly(scenario(ALONE % WEAK))
    error = np.linalg.norm(fallen.reference("quad2").position - fallen["quad2"].position, axis=1)
    beyond = fallen.elapsed[np.flatnonzero(np.nan_to_num(error) > 0.05)[0]]
    verdict = fallen.verdict()
    assert verdict.kind == "lost" and verdict.time == pytest.approx(beyond, abs=1e-9)
    assert verdict.text == f"quad2 up to {1e3 * np.nanmax(error):.3g} mm from its reference"
    again = open_flight(str(fallen.save(tmp_path / "bag")))
    assert str(again.verdict()) == str(verdict)
    np.testing.assert_allclose(again.alone, fallen.alone, atol=1e-12)


def test_a_vehicle_that_tilts_too_far_is_lost():
    flight = fly(load_scenario("quadrotor_circle"), duration=2.0)
    half = np.radians(80.0) / 2.0
    State(flight.states).attitude[250:, 0] = np.cos(half), np.sin(half), 0.0, 0.0
    assert str(flight.verdict()) == "lost at 1.2 s: quad1 tilted beyond 75 deg"


@pytest.mark.parametrize(
    ("name", "is_held"), [("four_dragonflies_box", True), ("two_dragonflies_bar", False)]
)
def test_a_payload_that_tips_over_is_lost_where_cables_hold_it_level(name, is_held):
    """A bar on two cables may turn about itself: nobody holds it."""
    flight = fly(load_scenario(name), duration=1.0)
    half = np.radians(80.0) / 2.0
    row = flight.scenario.model.index("payload")
    State(flight.states).attitude[150:, row] = np.cos(half), np.sin(half), 0.0, 0.0
    told = str(flight.verdict())
    assert (told == "lost at 0.8 s: payload tilted beyond 75 deg") == is_held, told


def test_a_payload_that_is_cut_off_need_not_stay_level():
    """Of four cables two are cut at 0.5 s, and it hangs on its side."""
    judge = Judge(load_scenario("four_dragonflies_box"))
    time, states = np.array([0.4, 0.5, 0.6]), np.zeros((3, 5, 13))
    State(states).attitude[...] = 1.0, 0.0, 0.0, 0.0
    half = np.radians(80.0) / 2.0
    State(states).attitude[2, 4] = np.cos(half), np.sin(half), 0.0, 0.0
    nothing = np.full((3, 5, 28), np.nan), np.ones((3, 4, 4)), np.zeros((3, 4), bool)
    judge.see(time, states, *nothing, [Event(0.5, "cut", (0, 1))])
    assert judge.verdict().kind != "lost"
    held = Judge(load_scenario("four_dragonflies_box"))
    held.see(time, states, *nothing, [Event(0.5, "cut", (0,))])
    assert str(held.verdict()) == "lost at 0.2 s: payload tilted beyond 75 deg"


def test_motors_off_in_the_air_is_no_landing():
    """Off at 2 m, down at 0.64 s: first a flight like any other, then lost; standing on the ground, landed."""
    team = load_scenario("x500_hover")
    judge = Judge(team)
    time = np.arange(0.0, 1.2, 0.01)
    states = np.zeros((len(time), 1, FULL_STATE.stop))
    State(states).attitude[..., 0] = 1.0
    fall = np.maximum(0.0, 2.0 - 0.5 * 9.81 * (time - 0.1).clip(0.0) ** 2)
    State(states).position[:, 0, 2] = fall
    State(states).velocity[:, 0, 2] = np.where(fall > 0.0, -9.81 * (time - 0.1).clip(0.0), 0.0)
    wrenches = np.zeros((len(time), 1, 4))
    wrenches[time < 0.1] = 20.0, 0.0, 0.0, 0.0

    def see(rows, events=()):
        n = rows.stop - rows.start
        judge.see(
            time[rows],
            states[rows],
            np.full((n, 1, 28), np.nan),
            wrenches[rows],
            np.zeros((n, 0), bool),
            events,
        )
        return judge.verdict()

    assert see(slice(0, 40)).kind == "flown"
    impact = Event(0.1 + np.sqrt(4.0 / 9.81), "touch", (), bodies=("quad1", "world"))
    end = see(slice(40, len(time)), [impact])
    assert end.kind == "lost" and "hit the ground at 6.18 m/s" in end.text
    judge = Judge(team)
    see(slice(0, 1), [replace(impact, time=0.0)])
    assert see(slice(70, len(time))).kind == "landed"


@pytest.mark.parametrize("stops", [0.0, 1.0])
def test_motors_that_stop_in_the_air_lose_the_vehicle(stops):
    """As of a program that crashes, or never begins: it falls 5 m in a second, and there it is lost."""
    hover = load_scenario("hover")
    flight = fly(hover, duration=3.0)
    late = flight.elapsed >= stops
    fall = flight.elapsed[late] - stops
    flight.commands[late] = 0.0
    State(flight.states).position[late, 0, 2] -= 0.5 * 9.81 * fall**2
    State(flight.states).velocity[late, 0, 2] -= 9.81 * fall
    verdict = flight.verdict()
    assert verdict.kind == "lost" and verdict.exit_code == 1
    assert verdict.time == pytest.approx(stops + np.sqrt(2.0 * 5.0 / 9.81), abs=0.01)


@pytest.mark.parametrize("size", [1, 7, 100000])
def test_blocks_of_any_length_give_the_same_verdict(size):
    """As the node feeds it, and as files do: hybrid events, slack and errors across the borders of blocks."""
    flight = fly(load_scenario("collision_triangular"), duration=3.5)
    criteria = Criteria(error_m=0.08, slack_s=0.1)
    flight = replace(flight, scenario=replace(flight.scenario, verdict=criteria))
    whole = flight.verdict()
    judge = Judge(flight.scenario)
    for first in range(0, len(flight.time), size):
        rows = slice(first, first + size)
        time = flight.time[rows]
        until = np.inf if rows.stop >= len(flight.time) else flight.time[rows.stop]
        events = [e for e in flight.events if time[0] <= e.time < until]
        judge.see(
            time, flight.states[rows], flight.references[rows], flight.commands[rows], flight.slack[rows], events
        )  # fmt: skip
        judge.demand.see(time, flight.commands[rows])
    assert whole.kind == "lost" and judge.verdict() == whole


def test_slack_times_of_a_known_pattern():
    times = SlackTimes(2)
    slack = np.array([[0, 1], [1, 1], [1, 0], [0, 0], [1, 0], [1, 0]], bool)
    for t, row in enumerate(slack):
        times.see(np.array([float(t)]), row[None])
    np.testing.assert_allclose(times.total, [3.0, 2.0])
    np.testing.assert_allclose(times.longest, [2.0, 2.0])
    np.testing.assert_allclose(times.longest_at, [1.0, 0.0])


def test_limits_are_seen_in_commands_that_were_limited_and_in_those_that_were_not():
    limits = rotor_limits([dragonfly_rotors()])
    random = np.random.default_rng(1)
    wild = random.normal(0.0, 1.0, (500, 1, 4)) * [20.0, 0.5, 0.5, 0.1]
    tame = wild.copy()
    beyond = np.array([limits.apply(w) == 1 for w in tame])
    assert 100 < beyond.sum()
    np.testing.assert_array_equal(limits.are_reached(wild)[:, 0], beyond)
    np.testing.assert_array_equal(limits.are_reached(tame)[:, 0], beyond)
    assert not limits.are_reached(np.zeros((1, 1, 4))).any()


def test_a_criterion_out_of_range_is_refused():
    with pytest.raises(ConfigError, match=r"verdict\.error_m: must be > 0"):
        scenario(HEAVY % 0.5 + "verdict: {error_m: -1.0}\n")
