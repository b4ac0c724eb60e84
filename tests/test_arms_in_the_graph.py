"""Arms over DDS: joint states, frames of links, description, trajectories from others, attach and release."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import WrenchStamped
from rotor_msgs.msg import HybridEvent, TeamState
from rotor_msgs.srv import Attach, Release
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from transforms3d.quaternions import quat2mat

from rotor_control.ros.arm_references import ArmReferences
from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.messages.convert import (
    seconds_from_stamp,
    stamp_from_seconds,
    vector_from,
    wxyz_from,
)
from rotor_core.plans.registry import KEPT
from rotor_core.ros import qos
from rotor_core.vehicles.articulated import ArticulatedVehicle
from rotor_recordings.formats.bag_flights import read_flight


@pytest.fixture
def bench(tmp_path):
    with graph.bench(tmp_path) as bench:
        yield bench


def start(bench, scenario, **options):
    bench.start("simulator", scenario=scenario, linger=True, **options)
    bench.start("planner", scenario=scenario)
    bench.start("controller", scenario=scenario)


def test_links_are_where_their_joints_say(bench):
    """TF is one tree that goes through the arm and equals the kinematics of the joint states; the description has its names."""
    joints = bench.collect(JointState, "/am1/joint_states", qos.STATE)
    frames = bench.collect(TFMessage, "/tf", qos.TF)
    described = bench.collect(String, "/robot_description", qos.LATCHED)
    start(bench, "arm_coupled", duration_s=2.0, real_time_factor=0.5)
    bench.until(lambda: joints and seconds_from_stamp(joints[-1].header.stamp) > 2.5, "flight")
    model = ArticulatedVehicle(load_scenario("arm_coupled").model.vehicles[0])
    angles = {round(seconds_from_stamp(m.header.stamp), 6): m.position for m in joints}
    assert joints[0].name == ["am1/joint1", "am1/joint2"]
    compared = 0
    for message in frames:
        stamp = round(seconds_from_stamp(message.transforms[0].header.stamp), 6)
        own = {t.child_frame_id: t for t in message.transforms}
        assert own["am1/link1"].header.frame_id == "am1/base_link"
        assert own["am1/link2"].header.frame_id == "am1/link1"
        if stamp not in angles:
            continue
        model.place(np.array(angles[stamp]))
        place, R = np.zeros(3), np.eye(3)
        for link in ("link1", "link2"):
            t = own[f"am1/{link}"].transform
            place = place + R @ vector_from(t.translation)
            R = R @ quat2mat(wxyz_from(t.rotation))
            expected = model.pose(link)
            np.testing.assert_allclose(R, expected[0], atol=1e-12)
            np.testing.assert_allclose(place, expected[1], atol=1e-12)
        compared += 1
    assert compared > 50
    links = {e.get("name") for e in ET.fromstring(described[0].data).iter("link")}
    assert {"world", "am1/base_link", "am1/link1", "am1/link2"} <= links


def trajectory(names, positions, seconds):
    message = JointTrajectory(joint_names=names)
    point = JointTrajectoryPoint(positions=positions)
    point.time_from_start = Duration(sec=int(seconds), nanosec=int(1e9 * (seconds % 1.0)))
    message.points.append(point)
    return message


def test_an_arm_follows_a_trajectory_from_somebody_else(bench, tmp_path):
    """From where it is wanted now, smoothly; joints that are not named stay; nonsense is refused and changes nothing."""
    # without moves of its own, so that it does not matter when the trajectory arrives
    path = tmp_path / "arm.yaml"
    path.write_text(dump_scenario(replace(load_scenario("arm_slung_load"), arms=())))
    joints = bench.collect(JointState, "/am1/joint_states", qos.STATE)
    start(bench, str(path), pacing="lockstep", duration_s=0.0)
    sender = bench.node.create_publisher(JointTrajectory, "/am1/joint_trajectory", qos.LATCHED)
    bench.until(lambda: joints and seconds_from_stamp(joints[-1].header.stamp) > 1.3, "flight")
    bench.until(lambda: sender.get_subscription_count() > 0, "the controller's subscription")
    sender.publish(trajectory(["am1_elbow"], [1.0], 1.0))
    sender.publish(trajectory(["joint2"], [0.3], 2.0))
    began = seconds_from_stamp(joints[-1].header.stamp)
    bench.until(lambda: seconds_from_stamp(joints[-1].header.stamp) > began + 8.0, "the move", 60.0)
    np.testing.assert_allclose(joints[-1].position[1], 0.3, atol=0.02)
    np.testing.assert_allclose(joints[-1].position[0], np.pi / 4, atol=0.02)
    # a quintic over 2 s needs 1.875 x 1.085 rad / 2 s; the load and the cable ask for some more
    assert max(abs(m.velocity[1]) for m in joints) < 3.0


def test_trajectories_of_an_arm_wait_for_their_time_in_its_order():
    """One that begins later drops none that waits; one that begins earlier takes the place of what comes after it."""
    heard = {}

    class Node:
        def create_publisher(self, kind, topic, profile):
            return None

        def create_subscription(self, kind, topic, callback, profile):
            heard[topic] = callback

        def get_logger(self):
            return self

        def warning(self, text, **_):
            warned.append(text)

    warned = []
    arms = ArmReferences(Node(), load_scenario("arm_uncoupled"))

    def send(begin, angle):
        message = JointTrajectory(joint_names=["joint1", "joint2"])
        message.header.stamp = stamp_from_seconds(begin)
        end = JointTrajectoryPoint(positions=[angle, angle], time_from_start=Duration(sec=1))
        message.points = [end]
        heard["am1/joint_trajectory"](message)

    def wanted(when):
        return arms.sample(stamp_from_seconds(when), np.array([[0.7, 0.0], [-0.2, 0.0]]))[:, 0]

    send(2.0, 0.5)
    assert wanted(1.0) == pytest.approx([0.7, -0.2])  # stays as it is
    assert wanted(2.0) == pytest.approx([0.7, -0.2])  # and goes on from there
    assert wanted(5.0) == pytest.approx([0.5, 0.5])
    send(6.0, 1.0)
    wanted(5.005)
    send(20.0, -1.0)
    wanted(5.01)
    assert wanted(10.0) == pytest.approx([1.0, 1.0])
    send(15.0, 0.2)
    assert wanted(30.0) == pytest.approx([0.2, 0.2])
    for k in range(KEPT + 1):
        send(40.0 + k, 0.1)
    assert len(warned) == 1 and "wait already" in warned[0]
    wrong = JointTrajectory(joint_names=["elbow"])
    heard["am1/joint_trajectory"](wrong)  # at once, and it takes the place of none
    assert "elbow" in warned[1]
    assert wanted(40.0 + KEPT) == pytest.approx([0.1, 0.1])
    send(0.0, 0.3)  # at once, in place of all
    wanted(70.0)
    assert wanted(75.0) == pytest.approx([0.3, 0.3])


def test_attach_and_release_are_services(bench):
    """Each is announced as an event; what cannot be done is said and changes nothing."""
    events = bench.collect(HybridEvent, "/rotor/events", qos.EVENT)
    states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
    start(bench, "arm_slung_load", paused=True)
    bench.until(lambda: len(states) > 3, "states")
    wrong = bench.call(
        Attach, "/simulator/attach", Attach.Request(parent="am1/link9", child="load")
    )
    assert not wrong.success and "there is no body 'am1/link9'" in wrong.message
    free = bench.call(Release, "/simulator/release", Release.Request(child="load"))
    assert not free.success and "nothing holds it" in free.message
    held = bench.call(Attach, "/simulator/attach", Attach.Request(parent="am1/link2", child="load"))
    assert held.success, held.message
    again = bench.call(Attach, "/simulator/attach", Attach.Request(parent="am1", child="load"))
    assert not again.success and "held already" in again.message
    assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
    bench.until(lambda: states[-1].step > 40, "flight with the load")
    let_go = bench.call(Release, "/simulator/release", Release.Request(child="load"))
    assert let_go.success, let_go.message
    bench.until(lambda: len(events) >= 2, "events")
    kinds = [
        (e.type, list(e.bodies))
        for e in events
        if e.type in (HybridEvent.ATTACH, HybridEvent.RELEASE)
    ]
    assert kinds == [(HybridEvent.ATTACH, ["am1/link2", "load"]), (HybridEvent.RELEASE, ["load"])]


def test_efforts_of_an_external_controller_reach_the_joints(tmp_path):
    """With command_input wrench, joints take efforts of their own topic; wrong ones are refused. A recording has them."""
    scenario = replace(load_scenario("arm_coupled"), command_input="wrench")
    path = tmp_path / "arm.yaml"
    path.write_text(dump_scenario(scenario))
    with graph.bench(tmp_path) as bench:
        _command_efforts(bench, path, tmp_path / "bag")
    flight = read_flight(tmp_path / "bag")
    told = (flight.efforts == [-2.5, -1.25]).all(axis=1)
    assert told.sum() > 10 and not flight.efforts[~told].any()
    assert told[np.flatnonzero(told)[0] :].sum() == told.sum() and not told[-1]  # held, then off


def _command_efforts(bench, path, bag):
    joints = bench.collect(JointState, "/am1/joint_states", qos.STATE)
    wrench = bench.node.create_publisher(WrenchStamped, "/am1/cmd/wrench", qos.COMMAND)
    effort = bench.node.create_publisher(Float64MultiArray, "/am1/cmd/joint_efforts", qos.COMMAND)
    bench.start("simulator", scenario=str(path), linger=True)
    bench.start("recorder", scenario=str(path), bag=str(bag))
    bench.until(lambda: effort.get_subscription_count() > 1 and bool(joints), "both")

    def send(*efforts):
        effort.publish(Float64MultiArray(data=list(efforts)))
        message = WrenchStamped()
        message.header.frame_id = "am1/base_link"
        message.wrench.force.z = 74.0
        wrench.publish(message)
        bench.spin(0.05)

    for _ in range(400):  # they lag by 0.05 s
        send(-2.5, -1.25)
        if np.allclose(joints[-1].effort, [-2.5, -1.25], rtol=0.0, atol=1e-7):
            break
    np.testing.assert_allclose(joints[-1].effort, [-2.5, -1.25], atol=1e-7)
    for _ in range(5):
        send(1.0)  # one is missing
    np.testing.assert_allclose(joints[-1].effort, [-2.5, -1.25], atol=1e-6)
    # nobody commands any more: after the time-out motors go off like rotors
    bench.until(lambda: np.allclose(joints[-1].effort, 0.0, atol=1e-3), "motors to stop")


def ros2_control_block():
    """The block of a robot description in docs/how-to/ros2_control.md."""
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "ros2_control.md").read_text()
    return ET.fromstring(page.split("```xml")[1].split("```")[0])


def test_ros2_control_moves_an_arm_by_the_topics_of_its_block(bench):
    """What JointStateTopicSystem reads and writes: states as sensor data, positions at 100 Hz under the names of its joints."""
    block = ros2_control_block()
    topics = {p.get("name"): p.text for p in block.find("hardware").iter("param")}
    names = [j.get("name") for j in block.iter("joint")]
    joints = bench.collect(JointState, topics["joint_states_topic"], qos.SENSOR)
    commands = bench.node.create_publisher(JointState, topics["joint_commands_topic"], 1)
    start(bench, "arm_coupled")
    bench.until(lambda: len(joints) > 20, "joint states")
    assert list(joints[-1].name) == names
    begin, first = np.array(joints[-1].position), len(joints)
    goal = begin + np.array([0.3, -0.2])
    answered = first
    while len(joints) < first + 300:  # 3 s: a ramp of 2 s, then hold
        bench.executor.spin_once(timeout_sec=0.02)
        if len(joints) > answered:
            answered = len(joints)
            share = min(1.0, (answered - first) / 200.0)
            command = JointState(name=names, position=list(begin + share * (goal - begin)))
            command.header.stamp = joints[-1].header.stamp
            commands.publish(command)
    ramp = np.array([m.position for m in joints[first + 100 : first + 190]])
    wanted = begin + (np.arange(100, 190) / 200.0)[:, None] * (goal - begin)
    assert np.abs(ramp - wanted).max() < 0.03  # a few samples behind at 0.15 rad/s
    np.testing.assert_allclose(joints[-1].position, goal, atol=0.02)
    commands.publish(JointState(name=["am1/elbow"], position=[0.0]))
    log = bench.group.children["controller"].log
    bench.until(lambda: "must be different joints of joint1, joint2" in log.read_text(), "refusal")


def test_ros2_control_gives_efforts(bench, tmp_path):
    """With efforts as commands, where vehicles are commanded one by one; joints that are not named keep theirs."""
    path = tmp_path / "arm.yaml"
    path.write_text(dump_scenario(replace(load_scenario("arm_coupled"), command_input="wrench")))
    joints = bench.collect(JointState, "/am1/joint_states", qos.STATE)
    bench.start("simulator", scenario=str(path), wait_for_commands=False)
    bench.until(lambda: len(joints) > 10, "joint states")
    commands = bench.node.create_publisher(JointState, "/am1/cmd/joints", 1)
    wrench = bench.node.create_publisher(WrenchStamped, "/am1/cmd/wrench", qos.COMMAND)
    bench.until(lambda: commands.get_subscription_count() > 0, "a listener")

    def send(command):
        for _ in range(20):  # without thrust motors go off like rotors
            commands.publish(command)
            wrench.publish(WrenchStamped())
            bench.spin(0.05)

    send(JointState(name=["joint2"], effort=[0.25]))
    np.testing.assert_allclose(joints[-1].effort, [0.0, 0.25], atol=1e-3)
    send(JointState(name=["am1/joint1"], effort=[-0.125]))
    np.testing.assert_allclose(joints[-1].effort, [-0.125, 0.25], atol=1e-3)
