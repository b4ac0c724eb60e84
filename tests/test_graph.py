"""The node graph over real DDS traffic: lockstep equals the run without ROS, time-outs, reset, services, topics, frames."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import contextlib
import itertools
import os
import signal
import time

import graph
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point, WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy
from rosgraph_msgs.msg import Clock
from rotor_msgs.msg import (
    CableStates,
    HybridEvent,
    PolynomialTrajectory,
    Reference,
    TeamCommand,
    TeamState,
)
from rotor_msgs.srv import Circle, CutCable, Hover, Line, Waypoints
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.loader import load_scenario
from rotor_core.messages.convert import seconds_from_stamp, team_command, vector_from, wxyz_from
from rotor_core.ros import qos
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_flights import read_flight

HOVER_WEIGHT = 0.25 * 9.81


class Answerer:
    """A controller in the test: answers every state as told."""

    def __init__(self, bench, wrench):
        self.wrench, self.states, self.enabled = wrench, [], True
        self.spoil = lambda command: None
        self.publisher = bench.node.create_publisher(TeamCommand, "/rotor/team_command", qos.STATE)
        bench.node.create_subscription(TeamState, "/rotor/team_state", self.on_state, qos.EVENT)

    def on_state(self, message):
        self.states.append(message)
        if self.enabled:
            names = [b.name for b in message.bodies if b.name.startswith("quad")]
            command = team_command(message, names, np.tile(self.wrench, (len(names), 1)))
            self.spoil(command)
            self.publisher.publish(command)


def simulator_status(messages):
    return [
        (s, {v.key: v.value for v in s.values})
        for m in messages
        for s in m.status
        if s.name == "rotor: simulator"
    ]


def test_commands_to_no_state_say_what_is_wrong_with_them(tmp_path):
    """A stamp that was left out zeroed the rotors, a step counted by oneself was dropped: both without a word."""

    def no_stamp(command):
        command.header.stamp = Time()

    def own_step(command):
        command.step += 1

    def own_epoch(command):
        command.epoch += 1

    with graph.bench(tmp_path) as bench:
        answerer = Answerer(bench, [HOVER_WEIGHT, 0, 0, 0])
        status = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        bench.start("simulator", scenario="hover", pacing="lockstep")
        bench.until(lambda: len(answerer.states) > 20, "states")
        log = tmp_path / "log" / "simulator.log"
        for spoil, words in (
            (no_stamp, "s before that of the state of its step"),
            (own_step, "the newest state is step"),
            (own_epoch, "of epoch 1; the newest state is step"),
        ):
            answerer.spoil = spoil
            bench.until(lambda words=words: words in log.read_text(), words)
            stood = answerer.states[-1].step
            answerer.spoil = lambda command: None
            bench.until(
                lambda stood=stood: answerer.states[-1].step > stood + 20, "flight that goes on"
            )
        assert abs(answerer.states[-1].bodies[0].pose.position.z) < 1e-3
        bench.until(
            lambda: int(simulator_status(status)[-1][1]["rejected_commands"]) >= 3, "the count"
        )


@pytest.mark.parametrize(
    "name, seconds",
    [("collision_triangular", 1.5), ("pick_and_place", 8.5)],
)
def test_lockstep_equals_the_run_without_ros(tmp_path, name, seconds):
    """Contract: within 1e-9, events included; the bag holds all of it."""
    with graph.bench(tmp_path) as bench:
        log = (tmp_path / "log").joinpath
        status = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        bench.start("simulator", scenario=name, pacing="lockstep", duration_s=seconds, linger=True)
        bench.start("recorder", scenario=name, bag=str(tmp_path / "bag"))
        bench.start("planner", scenario=name)
        bench.until(lambda: "recording" in log("recorder.log").read_text(), "recorder")
        bench.start("controller", scenario=name)
        bench.until(
            lambda: bool(status) and simulator_status(status)[-1][0].message == "finished",
            "end of the run",
            60.0,
        )
    over_dds = read_flight(tmp_path / "bag")
    alone = fly(load_scenario(name), duration=seconds)
    index = {round(t * 1e6): i for i, t in enumerate(alone.time)}
    rows = np.array([(i, index[round(t * 1e6)]) for i, t in enumerate(over_dds.time)])
    # Odometry keeps ten messages for slow readers: the recorder of a busy machine may lose a batch of it.
    # Team states keep a thousand; of them every one is asked for below.
    assert len(rows) >= 0.5 * seconds * 100
    np.testing.assert_allclose(
        over_dds.states[rows[:, 0]], alone.states[rows[:, 1]], atol=1e-9, rtol=0
    )
    np.testing.assert_allclose(
        over_dds.references[rows[:, 0]], alone.references[rows[:, 1]], atol=1e-9, rtol=0
    )
    tensions, expected = over_dds.tensions[rows[:, 0]], alone.tensions[rows[:, 1]]
    known = np.isfinite(tensions).all(axis=1)  # cable states keep ten messages too
    assert known.sum() >= 0.5 * seconds * 100
    np.testing.assert_allclose(tensions[known], expected[known], atol=1e-9, rtol=0)
    np.testing.assert_allclose(
        over_dds.joints[rows[: len(over_dds.joints), 0]],
        alone.joints[rows[: len(over_dds.joints), 1]],
        atol=1e-9,
        rtol=0,
    )
    # where discovery lost a packet, those of the controller are found when the flight is over
    if alone.joint_references.size and over_dds.joint_references.size:
        wanted = over_dds.joint_references[rows[:, 0]]
        told = np.isfinite(wanted).all(axis=(1, 2))
        assert told.sum() >= 0.5 * seconds * 100
        np.testing.assert_allclose(
            wanted[told], alone.joint_references[rows[told, 1]], atol=1e-9, rtol=0
        )
    assert [(e.type, e.cables, e.bodies) for e in over_dds.events] == [
        (e.type, e.cables, e.bodies) for e in alone.events
    ]
    for a, b in zip(over_dds.events, alone.events, strict=True):
        assert a.time == pytest.approx(b.time, abs=1e-9)
        assert a.impulses == pytest.approx(b.impulses, abs=1e-9)
        assert a.energy_change == pytest.approx(b.energy_change, abs=1e-9)
    assert over_dds.scenario == alone.scenario

    # an independent reader decodes our own types from the file alone
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    file = next((tmp_path / "bag").glob("*.mcap"))
    seen, steps = set(), []
    with file.open("rb") as stream:
        for _, channel, _, message in make_reader(
            stream, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            seen.add(channel.topic)
            if channel.topic == "/rotor/team_state":
                steps.append(message.step)
    assert {
        "/rotor/team_state",
        "/rotor/plan",
        "/tf",
        "/tf_static",
        "/clock",
        f"/{alone.scenario.model.payloads[0].name}/ground_truth",
        "/cables",
    } <= seen
    assert sorted(set(steps)) == list(range(round(seconds / load_scenario(name).time.control_s)))


def test_a_controller_that_dies_or_sends_nonsense(tmp_path):
    """Real time: hold, then nothing; NaN and unknown names are refused; the simulator lives on and says so."""
    with graph.bench(tmp_path) as bench:
        answerer = Answerer(bench, [HOVER_WEIGHT, 0, 0, 0])
        status = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        bench.start("simulator", scenario="hover")
        bench.until(lambda: len(answerer.states) > 100, "states")
        assert answerer.states[-1].bodies[0].pose.position.z == pytest.approx(0.0, abs=1e-3)

        answerer.wrench = [np.nan, 0, 0, 0]  # then nothing valid comes any more
        asked = seconds_from_stamp(answerer.states[-1].header.stamp)
        bench.until(
            lambda: seconds_from_stamp(answerer.states[-1].header.stamp) > asked + 1.3, "time-out"
        )
        track = [
            (seconds_from_stamp(m.header.stamp) - asked, m.bodies[0].twist.linear.z)
            for m in answerer.states
        ]
        held = [v for t, v in track if 0.2 < t < 0.5]
        dropped = [(t, v) for t, v in track if 0.8 < t < 1.2]
        assert max(abs(v) for v in held) < 0.02
        # no thrust: but rotors turn at their slowest, so the fall is slower than g
        fall = np.polyfit(*zip(*dropped, strict=True), 1)[0]
        assert fall == pytest.approx(-9.81 + 0.477 / 0.25, abs=0.1)
        bench.until(
            lambda: any(
                "commands missing: quad1: zeroed" in s.message for s, _ in simulator_status(status)
            ),
            "diagnostics",
        )
        assert int(simulator_status(status)[-1][1]["rejected_commands"]) > 10

        answerer.wrench = [HOVER_WEIGHT, 0, 0, 0]
        bench.until(lambda: simulator_status(status)[-1][0].message == "running", "recovery")
        answerer.enabled = False
        bench.spin(1.1)  # refusals are logged once a second
        strange = TeamCommand(epoch=0)
        for _ in range(3):
            answerer.publisher.publish(strange)
        log = tmp_path / "log" / "simulator.log"

        def told(*words):
            return any(w in log.read_text() for w in words)

        bench.until(
            lambda: told("no command for quad1.\n", "TeamCommand: no command for quad1"),
            "the refusal",
        )
        for words in ("thrust and moment must be finite", "no command for quad1: held", "zeroed"):
            assert told(words), words
        assert bench.group.children["simulator"].running


def test_lockstep_waits_and_reports(tmp_path):
    """Nobody answers for 2 s: paused and said so; it goes on with the next answer, losing nothing."""
    with graph.bench(tmp_path) as bench:
        answerer = Answerer(bench, [HOVER_WEIGHT, 0, 0, 0])
        status = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        bench.start("simulator", scenario="hover", pacing="lockstep")
        bench.until(lambda: len(answerer.states) > 50, "states")
        answerer.enabled = False
        bench.spin(2.6)
        step = answerer.states[-1].step
        assert (
            f"no command for step {step} within 2 s: paused"
            in (tmp_path / "log" / "simulator.log").read_text()
        )
        bench.until(
            lambda: (
                f"paused: no command for step {step}" in simulator_status(status)[-1][0].message
            ),
            "diagnostics",
        )
        answerer.enabled = True
        bench.until(lambda: answerer.states[-1].step > step + 50, "going on")
        steps = [m.step for m in answerer.states]
        assert sorted(set(steps)) == list(range(max(steps) + 1))


def test_reset_raises_the_epoch_and_repeats_the_run(tmp_path):
    """Same bits after a reset, noise included; old answers are void; time goes on."""
    from rotor_core.config.loader import dump_scenario
    from rotor_core.config.sensing import Noise, Sensing

    scenario = replace(
        load_scenario("dragonfly_point_mass"),
        sensing=Sensing(Noise(1e-3, 1e-3, 1e-3, 1e-3)),
        seed=5,
    )
    path = tmp_path / "noisy.yaml"
    path.write_text(dump_scenario(scenario))
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.EVENT)
        bench.start("simulator", scenario=str(path), pacing="lockstep")
        bench.start("planner", scenario=str(path))
        bench.until(lambda: bool(states), "first state")  # then nothing of the run is missed
        bench.start("controller", scenario=str(path))
        bench.until(lambda: states and states[-1].step > 150, "first run")
        for epoch in range(1, 6):
            answer = bench.call(Trigger, "/simulator/reset", Trigger.Request())
            assert answer.success
            bench.until(
                lambda epoch=epoch: states[-1].epoch == epoch and states[-1].step > 150,
                "another run",
            )
            runs = [{m.step: m for m in states if m.epoch == e} for e in range(epoch + 1)]
            # a test that is busy may miss single messages; those that came twice must agree to the bit
            pairs = [
                (one, other, sorted(one.keys() & other.keys()))
                for one, other in itertools.combinations(runs, 2)
            ]
            if max(len(steps) for *_, steps in pairs) > 140:
                break
    assert max(len(steps) for *_, steps in pairs) > 140
    for one, other, steps in pairs:
        for step in steps:
            for a, b in zip(one[step].bodies, other[step].bodies, strict=True):
                assert a.pose == b.pose and a.twist == b.twist
        if steps:  # the time of the graph goes on
            first, then = (seconds_from_stamp(run[steps[0]].header.stamp) for run in (one, other))
            assert then > first + 0.5


def test_a_simulator_that_is_started_anew_is_flown_anew(tmp_path):
    """Also in the epoch in which the first one ended: the plan begins again, and the flight is the same to the bit."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        bench.start("planner", scenario="three_dragonflies_triangular_1m")
        bench.start("controller", scenario="three_dragonflies_triangular_1m")
        flights = []
        for _ in range(2):
            states.clear()
            bench.start(
                "simulator",
                scenario="three_dragonflies_triangular_1m",
                pacing="lockstep",
                duration_s=2.0,
                paused=True,
            )
            bench.standing(states)  # now the test hears all
            assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
            simulator = bench.group.children["simulator"]
            bench.until(lambda child=simulator: not child.running, "its end")
            bench.until_silent(states)
            flights.append({s.step: s for s in states})
            # what is asked after the end is of a flight that is over
            assert bench.call(Hover, "/planner/hover", Hover.Request(here=True)).success
        first, second = flights
        assert len(first) == len(second) == 400
        for step, state in first.items():
            assert state.epoch == 0 and state == second[step], step


def test_planner_services(tmp_path):
    """Circle, line, waypoints, hover: started, refused while one runs, refused with a reason."""
    with graph.bench(tmp_path) as bench:
        references = bench.collect(Reference, "/quad1/reference", qos.COMMAND)
        plans = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
        states = bench.collect(TeamState, "/rotor/team_state", qos.EVENT)
        bench.start("planner", scenario="hover", start_trajectory=False)
        early = bench.call(Circle, "/planner/circle", Circle.Request(radius_m=0.5, period_s=4.0))
        assert not early.success and "no state has come" in early.message
        bench.start("simulator", scenario="hover")
        bench.start("controller", scenario="hover")
        bench.until(lambda: len(states) > 50, "flight")
        bad = bench.call(Circle, "/planner/circle", Circle.Request(radius_m=-0.5, period_s=4.0))
        assert not bad.success and "radius > 0 m" in bad.message
        unknown = bench.call(
            Line, "/planner/line", Line.Request(entity="payload", waypoints_m=[Point()])
        )
        assert (
            not unknown.success and "no planned entity 'payload'; known: quad1" in unknown.message
        )
        empty = bench.call(Waypoints, "/planner/waypoints", Waypoints.Request())
        assert not empty.success and "at least one point" in empty.message
        line = bench.call(
            Line,
            "/planner/line",
            Line.Request(
                waypoints_m=[Point(x=0.4, z=0.3)],
                relative=True,
                speed_m_s=1.0,
                acceleration_m_s2=2.0,
            ),
        )
        assert line.success, line.message
        refused = bench.call(
            Circle, "/planner/circle", Circle.Request(radius_m=0.5, period_s=4.0, cruise_s=4.0)
        )
        assert not refused.success and "call hover first" in refused.message
        bench.until(
            lambda: abs(states[-1].bodies[0].pose.position.x - 0.4) < 0.02, "end of the line"
        )
        bench.spin(0.5)
        points = [Point(x=0.4, y=0.5, z=0.3)]
        assert bench.call(
            Waypoints, "/planner/waypoints", Waypoints.Request(waypoints_m=points)
        ).success
        bench.spin(1.0)
        stop = bench.call(Hover, "/planner/hover", Hover.Request(here=True))
        assert stop.success
        bench.spin(0.5)
        circle = bench.call(
            Circle, "/planner/circle", Circle.Request(radius_m=0.3, period_s=6.0, cruise_s=1.0)
        )
        assert circle.success, circle.message
        bench.until(lambda: plans and plans[-1].radius == 0.3, "plan of the circle")
        bench.spin(0.3)
        # nothing jumped: the sampled reference is continuous but for the hover, which stops where the vehicle is.
        # A busy reader misses samples (depth 1), and meanwhile the reference goes on, at less than 2 m/s
        jumps = [
            np.linalg.norm(vector_from(b.position) - vector_from(a.position))
            - 2.0
            * max(0.0, seconds_from_stamp(b.header.stamp) - seconds_from_stamp(a.header.stamp))
            for a, b in itertools.pairwise(references)
        ]
        assert max(jumps) < 0.2


def test_cutting_and_pushing(tmp_path):
    with graph.bench(tmp_path) as bench:
        answerer = Answerer(bench, [0.32 * 9.81, 0, 0, 0])
        events = bench.collect(HybridEvent, "/rotor/events", qos.EVENT)
        push = bench.node.create_publisher(WrenchStamped, "/payload/wrench_external", qos.COMMAND)
        bench.start("simulator", scenario="dragonfly_point_mass")
        bench.until(lambda: len(answerer.states) > 40, "states")
        message = WrenchStamped()
        message.header.frame_id = "world"
        message.wrench.force.x = 0.3
        bench.until(lambda: push.get_subscription_count() > 0, "subscription")
        push.publish(message)
        bench.until(lambda: answerer.states[-1].bodies[1].twist.linear.x > 0.1, "the push")
        message.wrench.force.x = float("nan")
        push.publish(message)
        unknown = bench.call(CutCable, "/simulator/cut_cable", CutCable.Request(cable="rope"))
        assert not unknown.success and "known: cable1" in unknown.message
        assert bench.call(
            CutCable, "/simulator/cut_cable", CutCable.Request(cable="cable1")
        ).success
        bench.until(lambda: any(e.type == HybridEvent.CUT for e in events), "event")
        bench.until(lambda: answerer.states[-1].bodies[1].twist.linear.z < -2.0, "fall")
        assert not answerer.states[-1].cables[0].taut
        assert (
            "wrench_external of 'payload': must be finite"
            in (tmp_path / "log" / "simulator.log").read_text()
        )


def test_topics_frames_and_markers(tmp_path):
    """Types, frames, twist in the child frame, one TF tree equal to odometry, clock, marker rules."""
    with graph.bench(tmp_path) as bench:
        wanted = {
            "/clock": Clock, "/tf": TFMessage, "/cables": CableStates, "/rotor/markers": MarkerArray, "/payload/odom": Odometry,
            "/payload/ground_truth": Odometry, "/quad1/odom": Odometry, "/payload/reference": Reference,
        }  # fmt: skip
        got = {topic: bench.collect(kind, topic, qos.STATE) for topic, kind in wanted.items()}
        static = bench.collect(TFMessage, "/tf_static", qos.TF_STATIC)
        bench.start("simulator", scenario="payload_rotation")
        bench.start("visualizer", scenario="payload_rotation")
        bench.start("planner", scenario="payload_rotation")
        bench.start("controller", scenario="payload_rotation")
        bench.until(lambda: len(got["/payload/odom"]) > 400, "four seconds")
        bench.until(lambda: bool(static), "static frames")
        for topic in wanted:
            assert got[topic], topic
            (info,) = bench.node.get_publishers_info_by_topic(topic)
            assert info.qos_profile.durability == DurabilityPolicy.VOLATILE
        (info,) = bench.node.get_publishers_info_by_topic("/tf")
        assert (
            str(info.topic_type_hash)
            == "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
        )
    clocks = [seconds_from_stamp(m.clock) for m in got["/clock"]]
    assert clocks[0] >= 1.0 and all(b >= a for a, b in itertools.pairwise(clocks))
    frames = {
        t.child_frame_id: t.header.frame_id for m in got["/tf"] + static for t in m.transforms
    }
    assert (
        frames["map"] == "world"
        and frames["payload/attach_2"] == "payload/base_link"
        and frames["quad3/rotor_4"] == "quad3/base_link"
    )
    assert all(
        child.split("/")[0] in ("map", "payload", "quad1", "quad2", "quad3") for child in frames
    )
    odometry = {
        (m.header.stamp.sec, m.header.stamp.nanosec): m for m in got["/payload/ground_truth"]
    }
    matched = 0
    for message in got["/tf"]:
        for t in message.transforms:
            key = (t.header.stamp.sec, t.header.stamp.nanosec)
            if t.child_frame_id == "payload/base_link" and key in odometry:
                matched += 1
                pose = odometry[key].pose.pose
                np.testing.assert_array_equal(
                    vector_from(pose.position), vector_from(t.transform.translation)
                )
                np.testing.assert_array_equal(
                    wxyz_from(pose.orientation), wxyz_from(t.transform.rotation)
                )
    assert matched > 300
    # the twist is in the child frame: turned into the world it is the slope of the position
    truth = got["/payload/ground_truth"]
    for a, b in zip(truth[200:300], truth[202:302], strict=True):
        dt = seconds_from_stamp(b.header.stamp) - seconds_from_stamp(a.header.stamp)
        if not 0.0 < dt < 0.05:
            continue
        slope = (vector_from(b.pose.pose.position) - vector_from(a.pose.pose.position)) / dt
        middle = [
            quat2mat(wxyz_from(m.pose.pose.orientation)) @ vector_from(m.twist.twist.linear)
            for m in (a, b)
        ]
        np.testing.assert_allclose(slope, np.mean(middle, axis=0), atol=1e-3)
        assert a.child_frame_id == "payload/base_link" and a.header.frame_id == "world"
    for marker in got["/rotor/markers"][-1].markers:
        q = wxyz_from(marker.pose.orientation)
        assert np.linalg.norm(q) == pytest.approx(1.0) and marker.color.a > 0 and marker.type != 12
        if marker.type in (Marker.SPHERE, Marker.CUBE):
            assert min(marker.scale.x, marker.scale.y, marker.scale.z) > 0
        if marker.type == Marker.LINE_LIST:
            assert marker.scale.x > 0 and len(marker.points) % 2 == 0


def test_wrench_input_drives_a_vehicle(tmp_path):
    """command_input: wrench, as a controller of a real robot sends it."""
    from rotor_core.config.loader import dump_scenario

    path = tmp_path / "wrench.yaml"
    path.write_text(dump_scenario(replace(load_scenario("hover"), command_input="wrench")))
    with graph.bench(tmp_path) as bench:
        publisher = bench.node.create_publisher(WrenchStamped, "/quad1/cmd/wrench", qos.COMMAND)
        odometry = bench.collect(Odometry, "/quad1/odom", qos.STATE)
        bench.start("simulator", scenario=str(path))
        message = WrenchStamped()
        message.header.frame_id = "quad1/base_link"
        message.wrench.force.z = HOVER_WEIGHT * 1.1
        bench.node.create_timer(0.01, lambda: publisher.publish(message))
        bench.until(lambda: odometry and odometry[-1].twist.twist.linear.z > 0.3, "climbing")


def test_lockstep_with_wrenches_needs_every_vehicle(tmp_path):
    """One of three commanding does not move the world."""
    from rotor_core.config.loader import dump_scenario

    path = tmp_path / "wrench.yaml"
    path.write_text(dump_scenario(replace(load_scenario("slalom"), command_input="wrench")))
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.EVENT)
        publishers = [
            bench.node.create_publisher(WrenchStamped, f"/quad{k}/cmd/wrench", qos.COMMAND)
            for k in (1, 2, 3)
        ]
        bench.start("simulator", scenario=str(path), pacing="lockstep")
        bench.until(lambda: bool(states), "first state")
        message = WrenchStamped()
        message.wrench.force.z = 3.36
        for _ in range(20):
            publishers[0].publish(message)
            bench.spin(0.02)
        assert states[-1].step == 0
        for expected in (1, 2, 3):
            for publisher in publishers:
                publisher.publish(message)
            bench.until(lambda expected=expected: states[-1].step == expected, f"step {expected}")


def test_scenario_mistakes_are_one_line(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("schema: 1\nmodel:\n  vehicles: [{use: dragonfli}]\n")
    with graph.bench(tmp_path) as bench:
        for name in ("simulator", "controller", "planner"):
            bench.start(name, scenario=str(path))
        children = bench.group.children
        for _ in range(200):
            if not any(c.running for c in children.values()):
                break
            bench.spin(0.05)
        for child in children.values():
            assert child.process.returncode == 2
            words = child.last_words(30)
            assert (
                f"error: {path}:3: model.vehicles[0].use: 'dragonfli'" in words
                and 'did you mean "dragonfly"?' in words
            )
            assert "Traceback" not in words


def test_signals_upon_signals_end_a_node(tmp_path):
    """A launcher sends SIGINT and SIGTERM one upon the other, into the handler of the first."""
    with graph.bench(tmp_path) as bench:
        for name in ("planner", "controller"):
            bench.start(name, scenario="hover")
        bench.ready(Circle, "/planner/circle")
        bench.ready(GetParameters, "/controller/get_parameters")
        for child in bench.group.children.values():
            child.stopped = True  # wanted
            with contextlib.suppress(ProcessLookupError):
                end = time.monotonic() + 1.0  # a node looks four times in a second
                while time.monotonic() < end:
                    os.kill(child.process.pid, signal.SIGINT)
                    os.kill(child.process.pid, signal.SIGTERM)
                    time.sleep(1e-5)
        for child in bench.group.children.values():
            assert child.process.wait(20.0) == 0, child.last_words()
