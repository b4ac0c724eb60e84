"""Missions over DDS: the scenario's own, and the action with feedback, cancelling and mistakes."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rotor_msgs.action import FlyMission
from rotor_msgs.msg import HybridEvent, TeamState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.ros import qos

GROUNDED = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad}]
initial: [{entity: quad, position_m: [0, 0, 0.032]}]
environment: {contact: {}}
controller: {use: quadrotor}
mission:
  steps: [{type: hover, duration_s: 1000.0}]
"""
"""It stands on its feet: a take-off climbs from the height that is measured, whenever its goal comes."""


def start(bench, scenario, **options):
    for name in ("planner", "controller"):
        bench.start(
            name, scenario=scenario, **({"start_trajectory": True} if name == "planner" else {})
        )
    bench.start("simulator", scenario=scenario, pacing="lockstep", linger=True, **options)


def play(bench, states):
    """From a paused start, when everybody hears everybody."""
    bench.until(lambda: len(states) > 3, "states")
    bench.spin(1.0)
    assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success


@contextmanager
def grounded(tmp_path):
    """A bench with a quadrotor on the ground, what is told of it, and a client of its missions."""
    scenario = tmp_path / "grounded.yaml"
    scenario.write_text(GROUNDED)
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        start(bench, str(scenario))
        client = ActionClient(bench.node, FlyMission, "/planner/fly_mission")
        bench.until(client.server_is_ready, "the action")
        bench.until(lambda: len(states) > 10, "states")
        yield bench, states, client


def height(states, row=0):
    return states[-1].bodies[row].pose.position.z if states else float("nan")


def test_a_team_lifts_and_sets_down_its_payload(tmp_path):
    """The shipped mission, as fast as it goes: the same events as without ROS, and everything let go at the end."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        events = bench.collect(HybridEvent, "/rotor/events", qos.EVENT)
        # twice as long as it takes: the planner keeps no lockstep, and lags behind on a busy machine
        start(bench, "lift_and_set_down", duration_s=60.0, paused=True)
        play(bench, states)
        bench.until(
            lambda: sum(e.type == 4 for e in events) == 3, "three cut cables", patience=90.0
        )
        bench.until(
            lambda: (
                states[-1].header.stamp.sec >= 20
                and min(height(states, row) for row in range(3)) > 0.7
            ),
            "the end, with all vehicles up again",
            patience=60.0,
        )
        place = states[-1].bodies[3].pose.position
        np.testing.assert_allclose([place.x, place.y, place.z], [1.5, 0.5, 0.0125], atol=0.06)
        assert max(s.bodies[3].pose.position.z for s in states) == pytest.approx(0.82, abs=0.05)
        kinds = [e.type for e in events]
        last_touch = len(kinds) - 1 - kinds[::-1].index(7)
        assert kinds.index(1) < kinds.index(8) < last_touch  # snap, leave, touch


def test_a_mission_is_an_action(tmp_path):
    """Feedback, success, cancelling in flight, a mission that cannot be, and one that takes the place of another."""
    with grounded(tmp_path) as (bench, states, client):
        heard = []

        def send(text):
            future = client.send_goal_async(
                FlyMission.Goal(mission=text), lambda m: heard.append(m.feedback)
            )
            bench.until(future.done, "an answer to the goal")
            return future.result()

        def result(handle):
            future = handle.get_result_async()
            bench.until(future.done, "the end of a mission", patience=60.0)
            return future.result()

        wrong = result(send("steps: [{type: go_to, position_m: [1, 2]}]"))
        assert wrong.status == GoalStatus.STATUS_ABORTED and not wrong.result.success
        assert wrong.result.message.startswith(
            "mission:1: mission.steps[0].position_m: must have 3"
        )

        up = result(
            send("steps: [{type: take_off, height_m: 0.5}, {type: hover, duration_s: 0.5}]")
        )
        assert up.result.success and up.result.status == "succeeded", up.result.message
        assert any("take_off" in line for line in up.result.log)
        assert {f.kind for f in heard} >= {"take_off"} and all(f.steps == 2 for f in heard)
        bench.until(lambda: abs(height(states) - 0.53) < 0.02, "the height")

        # so far that it is never there before the cancel is heard, in a lockstep flight on a busy machine
        away = send("steps: [{type: go_to, position_m: [300.0, 0.0, 1.0]}]")
        # it begins gently: the first metre takes 20 s of the world
        bench.until(lambda: states[-1].bodies[0].pose.position.x > 1.0, "the way", patience=120.0)
        cancelled = away.cancel_goal_async()
        bench.until(cancelled.done, "the cancel")
        ended = result(away)
        assert ended.status == GoalStatus.STATUS_CANCELED and ended.result.status == "cancelled"
        bench.until(
            lambda: abs(states[-1].bodies[0].twist.linear.x) < 0.01, "hovering", patience=60.0
        )
        # near where it was when it was stopped: it swings by centimetres
        assert 0.9 < states[-1].bodies[0].pose.position.x < 250.0

        first = send("steps: [{type: hover, duration_s: 500.0}]")
        down = result(send("steps: [{type: land}]"))
        assert down.result.success, down.result.message
        assert result(first).result.status == "cancelled"
        bench.until(lambda: height(states) < 0.06, "the ground")


def asked(bench, client, text):
    """Goal handle of a mission that was asked for, and what its result will come in."""
    future = client.send_goal_async(FlyMission.Goal(mission=text))
    bench.until(future.done, "an answer to the goal")
    handle = future.result()
    assert handle.accepted
    return handle, handle.get_result_async()


HOVERS = "steps: [{type: hover, duration_s: 1000.0}]"


def test_missions_that_cannot_be_flown_end_with_the_reason(tmp_path):
    """They ended the planner, and with it the graph."""
    with grounded(tmp_path) as (bench, _, client):
        for text, words in (
            ("{type: go_to, position_m: [1.0e9, 0, 0]}", "go_to): goal: must be within 1e+06 m"),
            ("{type: take_off, height_m: 1.0e+7}", "take_off): goal: must be within 1e+06 m"),
            ("{type: hover, duration_s: 1.0e300}", "duration_s: must be <= 86400"),
            (
                "{type: go_to, position_m: [1, 0, 1], acceleration_m_s2: 1.0e-300}",
                "go_to): ",
            ),
            ("{type: go_to, position_m: [1, 0, 1], speed_m_s: 1.0e-9}", "at most 86400 s, got"),
        ):
            _, future = asked(bench, client, f"steps: [{text}]")
            bench.until(future.done, f"the end of {text}")
            ended = future.result()
            assert ended.status == GoalStatus.STATUS_ABORTED and words in ended.result.message, (
                ended.result.message
            )
        _, future = asked(bench, client, "steps: [{type: take_off, height_m: 0.5}]")
        bench.until(future.done, "the end of a mission", patience=60.0)
        assert future.result().result.success


def test_who_waits_for_a_mission_is_answered_whatever_happens(tmp_path):
    """Cancelled while time stands, stopped, in another world, and when the planner is ended."""
    with grounded(tmp_path) as (bench, states, client):

        def trigger(name):
            assert bench.call(Trigger, f"/simulator/{name}", Trigger.Request()).success

        def ends(future, status, words):
            bench.until(future.done, f"the answer: {words}")
            ended = future.result()
            assert ended.status == status and ended.result.status == "cancelled", ended
            assert words in ended.result.message

        handle, future = asked(bench, client, HOVERS)
        trigger("pause")
        bench.standing(states)
        handle.cancel_goal_async()
        ends(future, GoalStatus.STATUS_CANCELED, "cancelled")

        _, future = asked(bench, client, HOVERS)  # while time stands
        trigger("stop")
        trigger("play")
        ends(future, GoalStatus.STATUS_ABORTED, "reset")
        bench.until(lambda: states[-1].step > 20, "flight")

        _, future = asked(bench, client, HOVERS)
        other = dump_scenario(load_scenario("quadrotor_circle"))
        bench.node.create_publisher(String, "/rotor/world", qos.LATCHED).publish(String(data=other))
        ends(future, GoalStatus.STATUS_ABORTED, "the simulator has gone into another world")

        # what is asked of a planner that goes is refused, or lost with it
        bench.spin(2.0)
        bench.until(client.server_is_ready, "the action again")
        _, future = asked(bench, client, HOVERS)
        bench.group.children["planner"].process.send_signal(signal.SIGTERM)
        ends(future, GoalStatus.STATUS_ABORTED, "the node was ended")
        bench.until(lambda: not bench.group.children["planner"].running, "the end of the planner")
        assert bench.group.children["planner"].process.returncode == 0


SAGGING = """
schema: 1
model:
  vehicles: [{use: delivery_drone, name: drone}]
initial: [{entity: drone, position_m: [0, 0, 0.2]}]
environment: {contact: {}}
actuation: rotors
controller: {use: quadrotor}
changes:
  - {at_s: 3.0, battery: {vehicle: drone, voltage_factor: 0.55}}
mission:
  steps:
    - {type: take_off, height_m: 0.6}
    - {type: hover, duration_s: 1000.0}
  guards:
    - {when: {battery_below_v: 30.0}, do: land, hold_s: 0.2, speed_m_s: 1.0}
"""


def test_a_battery_that_sags_lets_the_drone_land(tmp_path):
    """The guard hears the battery as a topic: without it, the drone would hover for ever."""
    scenario = tmp_path / "sagging.yaml"
    scenario.write_text(SAGGING)
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        start(bench, str(scenario), paused=True)
        play(bench, states)
        bench.until(lambda: height(states) > 0.7, "the height of the mission")
        bench.until(lambda: height(states) < 0.25, "the landing", patience=60.0)
