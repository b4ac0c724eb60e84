"""Winches and heavy cables over DDS: the service, rates that must go on, a mission that lowers a parcel, shapes."""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
import numpy as np
from geometry_msgs.msg import PoseArray
from nav_msgs.msg import Odometry
from rotor_msgs.msg import BodyState, CableStates, HybridEvent, TeamState
from rotor_msgs.srv import CutCable, SetState, Wind
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from rotor_core.ros import qos

STANDING = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad}]
  payloads: [{name: load, mass_kg: 0.05}]
  attachments:
    - {type: cable, a: quad, b: load, length_m: 0.5, winch: {lengths_m: [0.2, 2.0], rate_m_s: 0.5, acceleration_m_s2: 2.0}}
initial: [{entity: load, position_m: [0.0, 0.0, 2.0]}]
controller: {use: point_mass}
trajectory: {use: hover}
"""


def length(states):
    return states[-1].cables[0].rest_length if states else float("nan")


def test_service_and_rate_wind_a_cable(tmp_path):
    path = tmp_path / "winch.yaml"
    path.write_text(STANDING)
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        told = bench.collect(CableStates, "/cables", qos.STATE)
        rate = bench.node.create_publisher(Float64, "/cable1/cmd/rate", qos.COMMAND)
        for node in ("planner", "controller", "simulator"):
            bench.start(node, scenario=str(path))
        bench.until(lambda: states and states[-1].step > 40, "flight")

        def wind(**fields):
            return bench.call(Wind, "/simulator/wind", Wind.Request(**fields))

        for fields, text in (
            ({"cable": "rope", "length": 1.0}, "known: cable1"),
            ({"cable": "cable1", "length": 5.0}, "0.2 to 2 m"),
            ({"cable": "cable1", "length": float("nan")}, "got nan"),
            ({"cable": "cable1", "length": 1.0, "rate": 3.0}, "at most 0.5 m/s"),
        ):
            answer = wind(**fields)
            assert not answer.success and text in answer.message, answer
        answer = wind(cable="cable1", length=1.0)
        assert answer.success and "goes to 1 m" in answer.message
        bench.until(lambda: abs(length(states) - 1.0) < 1e-6, "the length")
        bench.until(lambda: told and abs(told[-1].cables[0].rest_length - 1.0) < 1e-6, "/cables")
        assert states[-1].cables[0].distance == pytest.approx(1.0, abs=1e-6)

        assert wind(cable="cable1", length=2.0).success
        bench.until(lambda: length(states) > 1.1, "paying out")
        answer = wind(cable="cable1", stop=True)
        assert answer.success and "cable1 stops" in answer.message
        bench.spin(1.0)
        stopped = length(states)
        assert 1.1 < stopped < 1.7
        bench.spin(0.5)
        assert length(states) == stopped
        assert wind(cable="cable1", length=1.0).success
        bench.until(lambda: abs(length(states) - 1.0) < 1e-6, "the length")

        # a rate lasts half a second after its last message
        bench.until(lambda: rate.get_subscription_count() > 0, "subscription")
        log = tmp_path / "log" / "simulator.log"
        rate.publish(Float64(data=float("inf")))
        bench.until(lambda: "cmd/rate of 'cable1'" in log.read_text(), "the refusal")
        rate.publish(Float64(data=0.3))
        bench.until(lambda: length(states) > 1.1, "paying out")
        bench.spin(1.0)
        stopped = length(states)
        assert 1.1 < stopped < 1.5
        bench.spin(0.5)
        assert length(states) == stopped

        # the end of a rate does not stop what somebody else has asked for since
        rate.publish(Float64(data=-0.1))
        bench.until(lambda: length(states) < stopped, "reeling in")
        assert wind(cable="cable1", length=1.8).success
        bench.until(lambda: abs(length(states) - 1.8) < 1e-6, "the length")

        assert bench.call(
            CutCable, "/simulator/cut_cable", CutCable.Request(cable="cable1")
        ).success
        answer = wind(cable="cable1", length=1.0)
        assert not answer.success and "cut already" in answer.message
        assert bench.call(Trigger, "/simulator/reset", Trigger.Request()).success
        bench.until(lambda: length(states) == 0.5, "the length of the beginning")


def test_a_state_that_is_set_stops_what_messages_drove(tmp_path):
    """Who drove the winch of the state before must ask again."""
    path = tmp_path / "winch.yaml"
    path.write_text(STANDING)
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        truth = bench.collect(Odometry, "/quad/ground_truth", qos.STATE)
        rate = bench.node.create_publisher(Float64, "/cable1/cmd/rate", qos.COMMAND)
        for node in ("planner", "controller", "simulator"):
            bench.start(node, scenario=str(path))
        bench.until(lambda: truth and states and states[-1].step > 40, "flight")
        bench.until(lambda: rate.get_subscription_count() > 0, "subscription")
        rate.publish(Float64(data=0.3))
        bench.until(lambda: length(states) > 0.52, "paying out")
        assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
        body = BodyState(name="quad", pose=truth[-1].pose.pose)
        answer = bench.call(
            SetState, "/simulator/set_state", SetState.Request(bodies=[body], project=True)
        )
        assert answer.success, answer.message
        epoch = states[-1].epoch
        assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
        bench.until(lambda: states[-1].epoch >= epoch and states[-1].step > 100, "flight")
        bench.spin(1.0)
        stopped = length(states)
        assert stopped < 1.0
        bench.spin(1.0)
        assert length(states) == stopped


def test_a_winch_that_messages_drive_stops_in_the_next_world_too(tmp_path):
    """What is spawned meanwhile does not make an order last for ever."""
    services = pytest.importorskip("simulation_interfaces.srv")
    path = tmp_path / "winch.yaml"
    path.write_text(STANDING)
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        rate = bench.node.create_publisher(Float64, "/cable1/cmd/rate", qos.COMMAND)
        for node in ("planner", "controller", "simulator"):
            bench.start(node, scenario=str(path))
        bench.until(lambda: states and states[-1].step > 40, "flight")
        bench.until(lambda: rate.get_subscription_count() > 0, "subscription")
        rate.publish(Float64(data=0.1))
        bench.until(lambda: length(states) > 0.505, "paying out")
        request = services.SpawnEntity.Request(name="far")
        request.entity_resource.uri = "payloads/box"
        request.initial_pose.pose.position.x = 9.0
        request.initial_pose.pose.position.z = 50.0
        bodies = len(states[-1].bodies)
        answer = bench.call(services.SpawnEntity, "/simulator/spawn_entity", request)
        assert answer.result.result == 1, answer.result.error_message
        bench.until(lambda: len(states[-1].bodies) > bodies and states[-1].step > 150, "flight")
        stopped = length(states)
        # 0.5 s of the order, and as long again on the way
        assert 0.5 < stopped < 0.65
        step = states[-1].step
        bench.until(lambda: states[-1].step > step + 100, "flight")
        assert length(states) == stopped


def test_a_torque_turns_a_drum(tmp_path):
    """More than the weight reels in, less lets the weight pull; too much is refused; without messages it stops."""
    path = tmp_path / "drum.yaml"
    drum = "drum: {radius_m: 0.03, inertia_kg_m2: 1.0e-4, torque_n_m: 0.06}"
    path.write_text(
        STANDING.replace("acceleration_m_s2: 2.0}", "acceleration_m_s2: 2.0, " + drum + "}")
    )
    weight = 0.05 * 9.81 * 0.03  # of the load, as a torque
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        torque = bench.node.create_publisher(Float64, "/cable1/cmd/torque", qos.COMMAND)
        for node in ("planner", "controller", "simulator"):
            bench.start(node, scenario=str(path))
        bench.until(lambda: states and states[-1].step > 40, "flight")
        bench.until(lambda: torque.get_subscription_count() > 0, "subscription")
        log = tmp_path / "log" / "simulator.log"
        torque.publish(Float64(data=1.0))
        bench.until(lambda: "cmd/torque of 'cable1'" in log.read_text(), "the refusal")
        assert "at most 0.06 N m" in log.read_text()
        torque.publish(Float64(data=0.5 * weight))
        bench.until(lambda: length(states) > 0.55, "paying out")
        torque.publish(Float64(data=0.06))
        bench.until(lambda: length(states) < 0.5, "reeling in")
        bench.spin(1.5)
        stopped = length(states)
        bench.spin(0.5)
        assert length(states) == pytest.approx(stopped, abs=1e-9)


def test_a_parcel_is_lowered_and_let_go(tmp_path):
    """The shipped mission: reel in, fly, lower, release; the vehicle comes home.

    At half the speed of time: planner and mission are in no lockstep, and a controller that gets no core for half a
    second lets the vehicle fall by a metre.
    """
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        events = bench.collect(HybridEvent, "/rotor/events", qos.EVENT)
        for node in ("planner", "controller"):
            options = {"start_trajectory": True} if node == "planner" else {}
            bench.start(node, scenario="winch_delivery", **options)
        bench.start(
            "simulator", scenario="winch_delivery", pacing="realtime", real_time_factor=0.5, linger=True, duration_s=60.0,
            paused=True,
        )  # fmt: skip
        bench.until(lambda: len(states) > 3, "states")
        bench.spin(1.0)
        assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
        bench.until(
            lambda: any(e.type == HybridEvent.CUT for e in events), "release", patience=90.0
        )
        lengths = [s.cables[0].rest_length for s in states]
        assert min(lengths) == pytest.approx(0.5, abs=1e-6)
        assert max(lengths) == pytest.approx(2.9, abs=1e-6)
        flown = [s for s in states if 0.5 < s.cables[0].rest_length < 2.9 and s.cables[0].taut]
        heights = [s.bodies[0].pose.position.z for s in flown]
        assert (
            2.6 < min(heights) and max(heights) < 3.4
        )  # the vehicle stays while the parcel moves by 2.4 m

        def home():
            place = states[-1].bodies[0].pose.position
            return abs(place.x) < 0.1 and abs(place.y) < 0.1

        bench.until(home, "the way home", patience=90.0)
        parcel = states[-1].bodies[1].pose.position
        assert abs(parcel.x - 2.0) < 0.2 and abs(parcel.y - 1.0) < 0.2 and parcel.z < 0.06
        assert not any(e.type == HybridEvent.SNAP for e in events)


def test_the_shape_of_a_heavy_cable_is_told(tmp_path):
    """Twenty masses, a piece of 0.2 m apart, in the world; nothing is sent while nobody listens."""
    with graph.bench(tmp_path) as bench:
        shapes = bench.collect(PoseArray, "/cable1/shape", qos.STATE)
        for node in ("planner", "controller", "simulator"):
            bench.start(node, scenario="tethered_quadrotor")
        bench.until(lambda: len(shapes) > 50, "shapes")
        last = shapes[-1]
        places = np.array([(p.position.x, p.position.y, p.position.z) for p in last.poses])
        assert last.header.frame_id == "world" and places.shape == (20, 3)
        spans = np.linalg.norm(np.diff(places, axis=0), axis=1)
        np.testing.assert_allclose(spans, 0.2, atol=1e-8)
        stamps = [s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in shapes]
        assert (np.diff(stamps) >= 0.0).all() and stamps[-1] > stamps[
            0
        ]  # they repeat while time stands
