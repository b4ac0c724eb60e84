"""Missions without ROS: steps, conditions, guards, cancelling, and mistakes that are explained."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rotor_control.gains import CABLE_LENGTH
from rotor_core.config.catalog import config_directory
from rotor_core.config.loader import (
    dump_scenario,
    load_scenario,
    mission_from_text,
    scenario_from_text,
    scenario_from_tree,
)
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError, ModelError
from rotor_core.plans.plan import hold
from rotor_core.plans.registry import PlanRegistry
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_flight.offline_mission import OfflineMission
from rotor_planning.missions.conditions import View
from rotor_planning.missions.mission import MissionRunner, Status
from rotor_planning.trajectories.knots import BRAKING
from rotor_planning.trajectories.timing import line_times
from rotor_sim.simulation import START_TIME, Simulation

BASE = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad}]
initial: [{entity: quad, position_m: [0, 0, %s]}]
environment: {contact: {}}
controller: {use: quadrotor}
settle_s: 0.5
mission:
"""


def scenario(mission, height=0.05):
    return scenario_from_tree(parse_tree(BASE % height + mission, "test"))


def log_of(flight):
    return " ".join(flight.extra["mission"]["log"])


def test_up_there_round_and_down():
    flight = fly(
        scenario(
            """
  steps:
    - {type: take_off, height_m: 1.0}
    - {type: go_to, position_m: [1.0, 0.5, 1.2], yaw_deg: 30.0}
    - {type: turn, yaw_deg: -90.0}
    - {type: go_to, position_m: [0.0, 0.0, 0.3], relative: true, duration_s: 2.0}
    - {type: wait_until, condition: {near_m: [1.0, 0.5, 1.5], within_m: 0.05, speed_below_m_s: 0.1}}
    - {type: land}
"""
        )
    )
    mission = flight.extra["mission"]
    assert mission["status"] == "succeeded", mission
    top = flight.states[:, 0, 2].max()
    assert top == pytest.approx(1.5, abs=0.02)
    q = flight.states[-1, 0, 3:7]
    assert 2.0 * np.arctan2(q[3], q[0]) == pytest.approx(-np.pi / 2, abs=0.05)
    assert not flight.commands[-1].any() and flight.states[-1, 0, 2] < 0.06
    assert not flight.commands[0].any()  # it stands at the start, motors off
    # the references of two steps meet without a jump
    place = flight.references[:, 0, :3]
    flying = flight.commands[:, 0].any(axis=1)
    jumps = np.abs(np.diff(place, axis=0))[flying[1:] & flying[:-1]]
    assert jumps.max() < 0.02


def test_the_teams_payload_is_lifted_flown_set_down_and_let_go():
    """Slack cables, take-off, snap, lift; set down, slack, release; and its vehicles go on flying."""
    flight = fly(load_scenario("lift_and_set_down"))
    assert flight.extra["mission"]["status"] == "succeeded", flight.extra["mission"]
    kinds = [e.type for e in flight.events]
    assert kinds.index("touch") < kinds.index("snap") < kinds.index("leave")
    assert kinds[-3:] == ["cut"] * 3 and "slack" in kinds
    payload = flight.states[:, 3, :3]
    assert payload[:, 2].max() == pytest.approx(0.82, abs=0.05)
    np.testing.assert_allclose(payload[-1], [1.5, 0.5, 0.0125], atol=0.06)
    assert not flight.taut[-1].any()
    speeds = np.linalg.norm(flight.states[-1, :3, 7:10], axis=1)
    assert speeds.max() < 0.05 and flight.states[-1, :3, 2].min() > 0.7
    assert np.isnan(flight.references[0]).all() and np.isfinite(flight.references[2000]).all()
    assert flight.summary()["teams"]["payload"]["position_error_max_m"] < 0.35


def test_a_drone_lands_on_what_others_carry_and_rides_on_it():
    """It touches the deck and nothing else, moves with it by the same metre, and takes off again; all in closed loop."""
    flight = fly(load_scenario("deck_landing"))
    assert flight.extra["mission"]["status"] == "succeeded", flight.extra["mission"]
    touches = [e for e in flight.events if e.type in ("touch", "leave")]
    assert {e.bodies for e in touches} == {("quad5", "deck")}
    assert touches[0].type == "touch" and touches[-1].type == "leave"
    entities = [e.name for e in flight.scenario.model.entities]
    drone, deck = (flight.states[:, entities.index(name)] for name in ("quad5", "deck"))
    on = (flight.time > touches[-2].time + 1.0) & (flight.time < touches[-1].time - 0.1)
    attitudes = Rotation.from_quat(np.roll(deck[on, 3:7], -1, axis=1))
    apart = attitudes.inv().apply(drone[on, :3] - deck[on, :3])
    assert np.ptp(apart, axis=0).max() < 5e-3  # it rides, and does not slide
    assert deck[on, 0].max() - deck[on, 0].min() > 0.9
    assert flight.taut[on].all()
    np.testing.assert_allclose(drone[-1, 7:10], 0.0, atol=0.05)


def test_a_step_that_cannot_end_well_fails_and_says_why():
    flight = fly(
        scenario(
            """
  steps:
    - {type: take_off, height_m: 0.5}
    - {type: wait_until, condition: {height_above_m: 3.0}, timeout_s: 1.0}
"""
        )
    )
    mission = flight.extra["mission"]
    assert mission["status"] == "failed"
    assert (
        mission["message"]
        == "step 2 (wait_until): height_above_m 3.0: did not hold for quad within 1 s."
    )
    assert flight.states[-1, 0, 2] == pytest.approx(0.55, abs=0.02)  # it stays where it was


def test_a_guard_ends_a_mission():
    flight = fly(
        scenario(
            """
  steps:
    - {type: take_off, height_m: 1.0}
    - {type: go_to, position_m: [5.0, 0.0, 1.0]}
  guards:
    - {when: {near_m: [2.0, 0.0, 1.0], within_m: 0.3}, do: land, hold_s: 0.05}
"""
        )
    )
    mission = flight.extra["mission"]
    assert mission["status"] == "aborted"
    assert mission["message"] == "guard 1 (near_m (2.0, 0.0, 1.0)) in step 2: land; done"
    assert 1.7 < flight.states[-1, 0, 0] < 3.5 and flight.states[-1, 0, 2] < 0.06
    assert not flight.commands[-1].any()


def test_what_is_under_way_lands_where_it_has_braked():
    """At 5 m/s it flew on by 19 m, came back to where the guard had been, and landed a minute later."""
    flight = fly(
        scenario(
            """
  steps:
    - {type: take_off, height_m: 2.0}
    - {type: go_to, position_m: [60.0, 0.0, 2.0], speed_m_s: 5.0, acceleration_m_s2: 2.0}
  guards:
    - {when: {near_m: [25.0, 0.0, 2.0], within_m: 0.5}, do: land, hold_s: 0.05}
"""
        )
    )
    assert flight.extra["mission"]["message"].endswith("land; done")
    x, speed = flight.states[:, 0, 0], np.linalg.norm(flight.states[:, 0, 7:10], axis=1)
    met = int(np.argmax(np.hypot(x - 25.0, flight.states[:, 0, 2] - 2.0) < 0.5))
    way = 0.75 * speed[met] ** 2 / BRAKING  # a cubic rate, over 1.5 times the time of even braking
    assert x.max() < 25.0 + way + 1.0 and x.max() - x[-1] < 0.1
    # down with a peak of 0.5 m/s and 1 m/s^2, at most after it has stopped; until it stands still
    down = line_times(np.array([2.0]), 0.5, 1.0)[0]
    assert flight.time[-1] - flight.time[met] < 1.5 * speed[met] / BRAKING + down + 4.0


def test_motors_stay_on_where_the_way_down_is_not_flown():
    """A planner that lags sends its plan late and sees the entity hover on: standing still is not having landed."""
    world = scenario("\n  steps: [{type: land}]", height=0.8)
    board = PlanRegistry(world.model)
    board.queues["quad"].add(0, hold(np.array([0.0, 0.0, 0.8]), 0.0))
    plans = []

    class Owner:
        def start_plan(self, entity, start, plan, kind):
            plans.append(plan)
            board.queues[entity].add(start, plan)

    runner = MissionRunner(world, world.mission, Owner())
    hovering = np.zeros((1, 13))
    hovering[0, 2:4] = 0.8, 1.0
    now = 28_000_000_000
    while runner.status is Status.RUNNING and now < 60_000_000_000:
        runner.update(View(now, hovering, np.zeros(0, bool), board))
        now += 5_000_000
    assert runner.status is Status.FAILED
    assert "did not come below" in runner.progress.text
    assert all(plan.motors for plan in plans)


def test_a_cancelled_mission_hovers():
    wanted = scenario(
        "\n  steps:\n    - {type: take_off, height_m: 1.0}\n    - {type: hover, duration_s: 50.0}\n"
    )
    simulation = Simulation(wanted)
    pilot = OfflineMission(wanted, simulation)
    from rotor_control.controller import make_controller
    from rotor_core.config.yaml.units import nanoseconds

    controller = make_controller(wanted)
    for i in range(800):
        pilot.update(simulation.sense().array)
        if i == 200:  # on its way up
            pilot.runner.cancel()
        controller.follow_board(pilot.board, nanoseconds(simulation.time))
        simulation.step(controller.decide(simulation.motion, controller.references))
    assert pilot.runner.status is Status.CANCELLED
    assert pilot.runner.log[-1][1] == "cancelled: everything hovers"
    assert np.linalg.norm(simulation.motion[0, 7:10]) < 0.02
    assert 0.2 < simulation.motion[0, 2] < 1.0


@pytest.mark.parametrize("end", ["cancel", "guard"])
def test_a_take_off_that_has_not_begun_does_not_begin(end):
    """A plan is given out 0.1 s before it counts; a mission that ends meanwhile leaves the vehicle on the ground."""
    steps = "\n  steps:\n    - {type: take_off, height_m: 1.0}\n"
    guards = "  guards:\n    - {when: {height_above_m: 0.0}, do: land, hold_s: 0.05}\n"
    loop = ClosedLoop(scenario(steps + (guards if end == "guard" else "")))
    heights = []
    while loop.simulation.time < START_TIME + 3.0:
        if end == "cancel" and loop.simulation.time > START_TIME + 0.05:
            loop.pilot.runner.cancel()
        loop.period(lambda _: heights.append(loop.simulation.motion[0, 2]))
    assert loop.pilot.runner.status is (Status.CANCELLED if end == "cancel" else Status.ABORTED)
    assert max(heights) < heights[0] + 0.01


def test_cargo_is_flown_by_the_geometric_law_with_its_mass_and_then_without():
    """Released in the air, the vehicle stays: the law sees that its cargo is gone."""
    text = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad}]
  payloads: [{name: parcel, mass_kg: 0.1, inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-4], shape: {type: box, size_m: [0.08, 0.08, 0.05]}}]
  attachments: [{type: rigid_link, parent: quad, child: parcel, position_m: [0, 0, -0.05]}]
initial: [{entity: quad, position_m: [0, 0, 1.0]}]
environment: {contact: {}}
controller: {use: quadrotor}
settle_s: 1.0
mission:
  steps:
    - {type: hover, duration_s: 2.0}
    - {type: release, payload: parcel}
    - {type: hover, duration_s: 2.0}
"""
    flight = fly(scenario_from_tree(parse_tree(text, "test")))
    assert flight.extra["mission"]["status"] == "succeeded"
    height = flight.states[:, 0, 2]
    assert np.abs(height - 1.0).max() < 0.05 and height[-1] == pytest.approx(1.0, abs=2e-3)
    assert flight.states[-1, 1, 2] == pytest.approx(0.025, abs=2e-3)
    before = flight.commands[300, 0, 0], flight.commands[-1, 0, 0]
    np.testing.assert_allclose(before, [0.35 * 9.81, 0.25 * 9.81], rtol=1e-3)


def test_an_attached_payload_is_carried():
    steps = """
  steps:
    - {type: attach, payload: parcel, to: quad}
    - {type: take_off, height_m: 0.5}
    - {type: release, payload: parcel}
    - {type: hover, duration_s: 1.0}
"""
    parcel = "  payloads: [{name: parcel, mass_kg: 0.02, shape: {type: sphere, radius_m: 0.02}}]\n"
    place = "initial: [{entity: parcel, position_m: [0, 0, 0.02]}, "
    text = (BASE % 0.2).replace("initial: [", parcel + place) + steps
    flight = fly(scenario_from_tree(parse_tree(text, "test")))
    assert flight.extra["mission"]["status"] == "succeeded", flight.extra["mission"]
    kinds = [e.type for e in flight.events if e.type in ("attach", "release")]
    assert kinds == ["attach", "release"]
    assert flight.states[:, 1, 2].max() > 0.4  # it went up with the vehicle
    assert flight.states[-1, 1, 2] < 0.03  # and came down without


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: []", r"steps must hold at least one step"),
        ("steps: [{type: fly}]", r"type: must be one of take_off.*got 'fly'"),
        ("steps: [{type: go_to, position_m: [1, 2]}]", r"position_m: must have 3 entries"),
        ("steps: [{type: take_off, height_m: -1}]", r"height_m: must be > 0"),
        ("steps: [{type: take_off, height_m: 1, width: 2}]", r"unknown key 'width'"),
        ("steps: [{type: wait_until, condition: {}}]", r"a condition needs at least one of"),
        ("steps: [{type: hover, duration_s: .nan}]", r"must be a finite number"),
        ("", r"is empty"),
        ("- 1", r"mapping"),
    ],
)
def test_mistakes_in_missions_are_explained(text, message):
    with pytest.raises(ConfigError, match=message):
        mission_from_text(text)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "{type: hover, duration_s: 1.0, entity: nobody}",
            r"\(hover\)\.entity: cannot be 'nobody'. Possible: quad",
        ),
        ("{type: tighten}", r"\(tighten\)\.entity: cannot be 'quad'. Possible: none"),
        ("{type: release, payload: parcel}", r"payload: cannot be 'parcel'"),
        (
            "{type: wait_until, condition: {entity: x, landed: true}}",
            r"condition\.entity: cannot be 'x'",
        ),
        (
            "{type: wait_until, condition: {slack: true}}",
            "'quad' has no cables that could be slack",
        ),
    ],
)
def test_missions_about_what_there_is_not_are_refused(step, message):
    with pytest.raises(ConfigError, match=r"test:\d+: mission\.steps\[0\].*" + message):
        scenario(f"\n  steps:\n    - {step}\n")


def test_a_guard_lands_all_that_flies_and_says_who_could_not():
    """One vehicle hovers over a box (its way down ends there), one high up: both end with their motors off."""
    text = """
schema: 1
model: {vehicles: [{use: dragonfly, name: a}, {use: dragonfly, name: b}]}
initial: [{entity: a, position_m: [0, 0, 1.2]}, {entity: b, position_m: [3, 0, 4.0]}]
environment: {contact: {}, obstacles: [{name: box, position_m: [0, 0, 0.4], shape: {type: box, size_m: [1, 1, 0.8]}}]}
controller: {use: quadrotor}
mission:
  steps: [{type: hover, duration_s: 30.0}]
  guards: [{when: {entity: b, height_above_m: 3.0}, do: land, hold_s: 1.0, speed_m_s: 1.0}]
"""
    flight = fly(scenario_from_tree(parse_tree(text, "test")))
    mission = flight.extra["mission"]
    assert mission["status"] == "aborted" and mission["message"].endswith("in step 1: land; done")
    assert not flight.commands[-1].any()
    assert flight.states[-1, 0, 2] == pytest.approx(0.832, abs=0.01)  # on the box
    assert flight.states[-1, 1, 2] == pytest.approx(0.032, abs=0.01)


def test_a_vehicle_that_leaves_its_team_begins_where_it_is():
    """Its last own plan was before the team took off: that one counts no more."""
    scenario = load_scenario("lift_and_set_down")
    steps = (
        scenario.mission.steps[:4]
        + mission_from_text(
            "steps: [{type: go_to, entity: quad1, position_m: [0.0, 0.0, 0.05], relative: true}]"
        ).steps
    )
    flight = fly(replace(scenario, mission=replace(scenario.mission, steps=steps), settle_s=0.0))
    assert flight.extra["mission"]["status"] == "succeeded"
    x = flight.states[:, 0, 0]
    assert x[-1] > 0.8 * x.max() and x.max() > 1.0


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "{type: go_to, position_m: [0.0, 0.0, 9.0], duration_s: 0.1}",
            r"quad is \d\.\d+ m from where it should be",
        ),
        (
            "{type: take_off, height_m: 0.5}, {type: land, height_m: 2.0}",
            r"below 2\.000 m, where it should land",
        ),
    ],
)
def test_what_cannot_be_flown_fails(steps, message):
    flight = fly(scenario(f"\n  steps: [{{type: take_off, height_m: 1.0}}, {steps}]\n"))
    assert flight.extra["mission"]["status"] == "failed"
    assert re.search(message, flight.extra["mission"]["message"]), flight.extra["mission"]


def test_a_mission_that_is_not_over_says_so():
    flight = fly(scenario("\n  limit_s: 2.0\n  steps: [{type: hover, duration_s: 9.0}]\n"))
    mission = flight.extra["mission"]
    assert (
        mission["status"] == "unfinished" and "step 1 (hover) was under way" in mission["message"]
    )


def test_nobody_flies_a_payload_that_has_been_released():
    text = (config_directory() / "scenarios" / "lift_and_set_down.yaml").read_text()
    after = text.replace("go_to, entity: quad1, ", "go_to, ")
    with pytest.raises(
        ConfigError, match=r"'payload' has been released before\. Name a vehicle: quad1, quad2"
    ):
        scenario_from_tree(parse_tree(after, "test"))


def test_what_begins_inside_something_is_refused():
    with pytest.raises(ModelError, match=r"initial: 'quad' is 0\.\d+ m inside the ground"):
        Simulation(scenario("\n  steps: [{type: take_off, height_m: 1.0}]\n", -0.1))


def test_a_mission_excludes_a_trajectory():
    text = BASE % 0.05 + "  steps: [{type: take_off, height_m: 1.0}]\ntrajectory: {use: hover}\n"
    with pytest.raises(ConfigError, match="must not be given together with a trajectory"):
        scenario_from_tree(parse_tree(text, "test"))
    wanted = scenario("\n  steps: [{type: take_off, height_m: 1.0}]\n")
    assert scenario_from_tree(parse_tree(dump_scenario(wanted), "again")) == wanted


def test_missions_land_only_where_there_is_ground():
    with pytest.raises(
        ConfigError, match=r"\(land\): there is no ground to land on\. Give the scenario"
    ):
        scenario_from_tree(
            parse_tree(
                "schema: 1\nmodel: {vehicles: [{use: dragonfly}]}\ncontroller: {use: quadrotor}\n"
                "mission: {steps: [{type: land}]}\n",
                "test",
            )
        )


def test_a_mission_flies_the_same_twice():
    one = fly(load_scenario("lift_and_set_down"), duration=6.0)
    two = fly(load_scenario("lift_and_set_down"), duration=6.0)
    np.testing.assert_array_equal(one.states, two.states)
    other = fly(replace(load_scenario("lift_and_set_down"), mission=None), duration=1.0)
    assert "mission" not in other.extra


def test_bags_know_when_vehicles_flew_alone():
    """The team has a reference only while its own plan began after those of its vehicles."""
    from rotor_core.config.teams import Team
    from rotor_core.plans.plan import hold
    from rotor_recordings.formats.bag_flights import _references

    team = Team("payload", ("a", "b"), (0, 1))
    plan = hold(np.array([1.0, 2.0, 3.0]))
    plans = {
        "a": [(0.0, plan), (8.0, plan)],
        "b": [(0.0, plan), (9.0, plan)],
        "payload": [(4.0, plan)],
    }
    found = _references(plans, team, np.array([1.0, 4.5, 8.5, 9.5]))
    assert np.isnan(found[[0, 3]]).all()
    np.testing.assert_array_equal(found[1:3, :3], [[1.0, 2.0, 3.0]] * 2)
    early = _references({"a": [], "b": [], "payload": [(4.0, plan)]}, team, np.array([1.0]))
    assert early[0, 0] == 1.0


def changed_delivery(steps, guards=""):
    """The shipped delivery by a winch with other steps after the release, and guards."""
    text = (config_directory() / "scenarios" / "winch_delivery.yaml").read_text()
    begin, _, _ = text.partition("    - {type: go_to, entity: quad1")
    return scenario_from_tree(parse_tree(begin + steps + guards + "settle_s: 0.5\n", "test"))


def test_what_has_been_let_go_is_off_from_nothing():
    """A guard measured the falling parcel from the plan that it had hung on, and ended the mission."""
    flight = fly(
        changed_delivery(
            "    - {type: hover, entity: quad1, duration_s: 1.0}\n",
            "  guards: [{when: {entity: parcel, error_above_m: 0.3}, do: hover}]\n",
        )
    )
    assert flight.extra["mission"]["status"] == "succeeded", log_of(flight)


def test_a_cable_that_was_let_go_is_not_wound():
    """Without ROS that succeeded: the vehicle got a plan for what hung on the cable before, and flew away."""
    wind = "    - {type: wind, cable: 1, length_m: 0.5}\n"
    with pytest.raises(ConfigError, match="cable 1 is cut when an earlier step releases 'parcel'"):
        changed_delivery(wind)
    delivery = load_scenario("winch_delivery")
    simulation = Simulation(delivery)
    offline = OfflineMission(delivery, simulation)
    simulation.engine.cut(0)
    for order in (offline.wind(0, 0.5, None), offline.cut([0])):
        assert order() == "cable1 is cut already"


HUNG = """
schema: 1
description: a load on a winch
model:
  vehicles: [{use: dragonfly}]
  payloads: [{use: point_mass, name: parcel}]
  attachments:
    - {type: cable, a: quad1, b: parcel, length_m: %s, winch: {lengths_m: [0.3, 4.0], rate_m_s: 0.5, acceleration_m_s2: 0.5}}
initial: [{entity: parcel, position_m: [0, 0, %s]}]
controller: {use: point_mass}
mission: {%s}
settle_s: %s
"""


def test_a_load_is_wound_in_the_first_step():
    """Before the first command cables carry nothing: the load was left out, and the vehicle sank by a metre."""
    steps = "steps: [{type: wind, cable: 1, length_m: 0.5}, {type: hover, duration_s: 1.0}]"
    flight = fly(scenario_from_text(HUNG % (1.5, 1.5, steps, 1.0)))
    assert flight.extra["mission"]["status"] == "succeeded"
    moved = flight.states[-1, :, 2] - flight.states[0, :, 2]
    np.testing.assert_allclose(moved, [0.0, 1.0], atol=0.02)


@pytest.mark.parametrize("what", ["{slack: true}", "{taut: true}"])
def test_cables_are_looked_at_when_somebody_has_thrust(what):
    """`slack` held at once, of a cable that carries; `taut` did not."""
    steps = f"steps: [{{type: hover, duration_s: 0.5}}], guards: [{{when: {what}, do: hover}}]"
    log = fly(scenario_from_text(HUNG % (1.5, 1.5, steps, 0.5))).extra["mission"]["log"]
    acted = [line for line in log if "guard" in line]
    assert bool(acted) == ("taut" in what) and (not acted or acted[0].startswith("0.005 s"))


def test_a_winch_stops_when_its_mission_ends():
    """The reaction to a guard let the load hover, and the winch paid out: the vehicle rose by two metres."""
    steps = (
        "steps: [{type: hover, duration_s: 1.0}, {type: wind, cable: 1, length_m: 3.5}], "
        "guards: [{when: {height_below_m: 3.0, entity: parcel}, do: hover}]"
    )
    flight = fly(scenario_from_text(HUNG % (0.5, 4.0, steps, 6.0)))
    assert flight.extra["mission"]["status"] == "aborted"
    ended = float(flight.extra["mission"]["log"][-1].split(" s:")[0])
    quad, load = flight.states[:, 0, 2], flight.states[:, 1, 2]
    assert quad[-1] - load[-1] < 1.8  # from 1.3 at the guard: 0.5 m/s braked with 0.5 m/s^2
    after = flight.time > 1.0 + ended + 3.0
    assert np.ptp(quad[after]) < 0.1 and np.ptp(load[after]) < 0.1


SLUNG = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{use: point_mass, name: load}]
  attachments: [{type: cable, a: quad1, b: load, length_m: 0.5}]
initial: [{entity: load, position_m: [0.0, 0.0, 1.0]}]
controller: {use: point_mass}
settle_s: 0.5
mission:
"""


def test_a_load_that_hangs_is_flown_until_it_is_released():
    """Whatever step is first, and though the first motion is one of the vehicle: it hung 0.28 m below its reference."""
    mission = """
  steps:
    - {type: hover, duration_s: 2.0}
    - {type: release, payload: load}
    - {type: go_to, entity: quad1, position_m: [1.0, 0.0, 2.0]}
"""
    flight = fly(scenario_from_text(SLUNG + mission))
    held = flight.elapsed < 1.9
    assert np.abs(flight["load"].position[held] - [0.0, 0.0, 1.0]).max() < 1e-3
    assert np.isfinite(flight.references[held, 0, :3]).all()
    assert np.linalg.norm(flight["quad1"].position[-1] - [1.0, 0.0, 2.0]) < 0.01


def test_a_guard_on_the_tilt_of_a_point_mass_is_refused():
    guard = "  steps: [{type: hover, duration_s: 1.0}]\n  guards: [{when: {tilt_above_deg: 60.0}, do: hover}]\n"
    with pytest.raises(
        ConfigError, match=r"'load' is a point mass, which never tilts. Name a vehicle .*: quad1"
    ):
        scenario_from_text(SLUNG + guard)
    scenario_from_text(SLUNG + guard.replace("60.0}", "60.0, entity: quad1}"))


LIGHT = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad1}, {use: dragonfly, name: quad2}]
  payloads: [{name: load, mass_kg: 0.1, shape: {type: sphere, radius_m: 0.05}}]
  attachments:
    - {type: cable, a: quad1, b: load, length_m: 0.5}
    - {type: cable, a: quad2, b: load, length_m: 0.5}
initial:
  - {entity: load, position_m: [0, 0, 0.05]}
  - {entity: quad1, position_m: [0.3, 0, 0.44]}
  - {entity: quad2, position_m: [-0.3, 0, 0.44]}
environment: {contact: {}}
controller: {use: point_mass}
settle_s: 0.5
mission: {steps: [{type: go_to, entity: quad1, position_m: [0.3, 0.1, 0.44]}]}
"""


def test_vehicles_over_a_load_that_stands_fly_on_alone():
    """Their cables are nearly taut: the team was taken to stand, and its vehicles fell."""
    flight = fly(scenario_from_text(LIGHT))
    assert flight["quad2"].position[:, 2].min() > 0.43
    assert flight["quad1"].position[:, 2].min() > 0.43


def test_a_guard_on_the_tilt_of_what_is_linked_rigidly_is_none_of_a_point():
    """A point mass alone has no tilt, and such a guard is refused; together with its vehicle it has one."""
    text = SLUNG.replace(
        "{type: cable, a: quad1, b: load, length_m: 0.5}",
        "{type: rigid_link, parent: load, child: quad1, position_m: [0, 0, 0.1]}",
    )
    text = text.replace("controller: {use: point_mass}", "controller: {use: rigid_team}")
    guard = "  steps: [{type: hover, duration_s: 1.0}]\n  guards: [{when: {tilt_above_deg: 60.0}, do: hover}]\n"
    (taken,) = scenario_from_text(text + guard).mission.guards
    assert taken.when.tilt_above_deg == 60.0
    with pytest.raises(ConfigError, match="tilt"):
        scenario_from_text(SLUNG + guard)


def test_laws_know_how_long_a_cable_is_that_a_winch_has_wound():
    """Reeled in to a tenth the load was lost: gains of the cable were those of its length in the file."""
    text = (
        SLUNG.replace(
            "length_m: 0.5", "length_m: 3.0, winch: {lengths_m: [0.2, 4.0], rate_m_s: 1.0}"
        )
        + """
  steps:
    - {type: hover, duration_s: 1.0}
    - {type: wind, cable: 1, length_m: 0.3}
    - {type: go_to, position_m: [1.0, 0.0, 3.7]}
    - {type: hover, duration_s: 3.0}
"""
    )
    loop = ClosedLoop(scenario_from_text(text))
    flight = fly(loop.simulation.scenario)
    assert flight.verdict().kind == "flown", flight.verdict()
    assert np.linalg.norm(flight["load"].position[-1] - [1.0, 0.0, 3.7]) < 0.05
    # what is cut has no length that a law could use
    loop.controller.note_lengths(np.array([0.4]))
    loop.controller.note_lengths(np.array([1e9]))
    assert loop.controller.laws[0].vehicles[0, CABLE_LENGTH] == 0.4
