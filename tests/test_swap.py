"""Other people's controllers and planners in place of ours: the examples, RViz's goals, trajectories, names of RotorTM."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Transform, Twist, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from rotor_msgs.msg import PolynomialTrajectory, Reference, TeamState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from visualization_msgs.msg import (
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

from rotor.graph.plan import GraphOptions, NodePlan, ProgramPlan, graph_plan
from rotor.graph.remaps import load_remaps
from rotor_core.config.loader import load_scenario
from rotor_core.messages.convert import plan_from_message, seconds_between, vector_from
from rotor_core.ros import qos
from rotor_recordings.formats.flights import open_flight

EXAMPLES = Path(__file__).parents[1] / "examples"
DEEP = QoSProfile(depth=1000)


def start_example(bench, name):
    bench.group.start(ProgramPlan(name, (sys.executable, str(EXAMPLES / f"{name}.py"))))


def test_the_examples_are_as_short_as_they_say():
    assert len((EXAMPLES / "05_external_controller.py").read_text().splitlines()) <= 60
    assert len((EXAMPLES / "06_external_planner.py").read_text().splitlines()) <= 40


def test_an_external_controller_flies(tmp_path):
    """The example follows our planner's circle; stopped, the simulator drops its commands and says so."""
    with graph.bench(tmp_path) as bench:
        odometry = bench.collect(Odometry, "/quad1/ground_truth", DEEP)
        references = bench.collect(Reference, "/quad1/reference", DEEP)
        # slower than the wall: where both cores are busy the example, at twice that load, is late with its commands
        bench.start("simulator", scenario="external_controller", real_time_factor=0.4)
        bench.start("planner", scenario="external_controller")
        start_example(bench, "05_external_controller")
        bench.until(lambda: len(odometry) > 800, "eight seconds of flight", 60.0)
        wanted = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in references}
        errors = [
            np.linalg.norm(vector_from(m.pose.pose.position) - vector_from(r.position))
            for m in odometry
            if (r := wanted.get((m.header.stamp.sec, m.header.stamp.nanosec)))
        ]
        way = np.ptp([vector_from(m.pose.pose.position)[:2] for m in odometry], axis=0)
        assert len(errors) > 500 and way.min() > 0.5
        assert max(errors) < 0.08
        child = bench.group.children["05_external_controller"]
        child.stopped = True
        child.process.send_signal(subprocess.signal.SIGINT)
        log = tmp_path / "log" / "simulator.log"
        bench.until(lambda: "no command for quad1: held" in log.read_text(), "the time-out")
        bench.until(lambda: "no command for quad1: zeroed" in log.read_text(), "no thrust")
        assert child.process.wait(5.0) == 0 and "Traceback" not in child.last_words(30)


def test_a_recording_holds_the_commands_of_an_external_controller(tmp_path):
    """The bag had none, so its report said `flown` of a flight that the simulator had ended with `limits`."""
    sent = {}
    with graph.bench(tmp_path) as bench:
        commands = bench.node.create_publisher(WrenchStamped, "/quad1/cmd/wrench", qos.RECORDED)

        def answer(message):
            stamp = message.header.stamp
            wrench = WrenchStamped(header=message.header)
            wrench.header.frame_id = "quad1/base_link"
            wrench.wrench.force.z = 2.4525
            wrench.wrench.torque.z = 3.0 if stamp.nanosec < 500_000_000 else -3.0
            sent[stamp.sec * 10**9 + stamp.nanosec] = wrench.wrench.torque.z
            commands.publish(wrench)

        bench.node.create_subscription(Odometry, "/quad1/odom", answer, 10)
        truth = bench.collect(Odometry, "/quad1/ground_truth", DEEP)
        bag = tmp_path / "bag"
        told = {"scenario": "external_controller", "pacing": "lockstep"}
        bench.start("recorder", scenario="external_controller", bag=str(bag))
        bench.start("simulator", duration_s=1.5, wait_for_recorder=True, **told)
        simulator = bench.group.children["simulator"]
        simulator.stopped = True  # it ends by itself, not with 0
        bench.until(lambda: simulator.process.poll() is not None, "the end of the flight", 60.0)
        assert simulator.process.returncode == 4  # a yaw moment that no rotor gives
    told = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in truth]
    # one that nobody answers for 0.1 s is published again: the first, and some on a busy machine; it was every other one
    again = [stamp for stamp in set(told) if told.count(stamp) > 1]
    assert len(set(told)) > 100 and len(again) < 0.2 * len(set(told))
    flight = open_flight(str(bag))
    stamps = np.rint(flight.time * 1e9).astype(int)
    known = np.isfinite(flight.commands).all(axis=(1, 2))
    assert known[5:].all()
    for stamp, row in zip(stamps[known], flight.commands[known, 0], strict=True):
        newest = max(s for s in sent if s <= stamp)
        np.testing.assert_allclose(row, [2.4525, 0.0, 0.0, sent[newest]])
    assert flight.verdict().kind == "limits"


def test_a_predictive_controller_flies(tmp_path):
    """The example with CasADi follows our planner's circle more closely than the paper's law (6 cm at most by then)."""
    pytest.importorskip("casadi", reason="the example needs CasADi")
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        plans = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
        options = {"scenario": "dragonfly_point_mass", "pacing": "lockstep", "duration_s": 12.0}
        bench.start("simulator", linger=True, paused=True, **options)
        bench.start("planner", scenario="dragonfly_point_mass")
        start_example(bench, "09_predictive_controller")
        bench.until(lambda: bool(states and plans), "everything")  # then nothing is missed
        assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
        bench.until(lambda: states and states[-1].step > 2390, "twelve seconds of flight", 120.0)
        plan, start = plan_from_message(plans[0]), plans[0].header.stamp
        errors = [
            np.linalg.norm(
                vector_from(m.bodies[1].pose.position)
                - plan.sample(seconds_between(start, m.header.stamp))[:3]
            )
            for m in states
        ]
        assert len(errors) > 2000
        assert max(errors) < 0.03
        log = (tmp_path / "log" / "09_predictive_controller.log").read_text()
        assert "optimised" in log and "Traceback" not in log


def test_an_external_planner_flies(tmp_path):
    """The example's plan is followed by our controller to its end, and again after a reset."""

    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        bench.start("simulator", scenario="hover")
        bench.start("controller", scenario="hover")
        start_example(bench, "06_external_planner")
        for _ in range(2):
            epoch = states[-1].epoch if states else 0
            bench.until(lambda epoch=epoch: states and states[-1].epoch == epoch, "this run")

            def rests_at_the_end():
                """For half a second; a busy machine hears of the plan late."""
                last = [vector_from(s.bodies[0].pose.position) for s in states[-100:]]
                return np.abs(np.array(last) - [0.6, -0.4, 0.5]).max() < 0.01

            bench.until(rests_at_the_end, "the end of the plan")
            if epoch == 0:
                assert bench.call(Trigger, "/simulator/reset", Trigger.Request()).success
                bench.until(lambda: states[-1].epoch == 1 and states[-1].step < 400, "the reset")


def goal(x, y, z, frame="world"):
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x, message.pose.position.y, message.pose.position.z = x, y, z
    message.pose.orientation.w = 1.0
    return message


def test_goals_of_rviz(tmp_path):
    """SetGoal (2D: the height stays), a goal for an entity, and the interactive marker, dragged and let go."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        plans = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
        updates = bench.collect(InteractiveMarkerUpdate, "/rotor/goal/update", DEEP)
        simple = bench.node.create_publisher(PoseStamped, "/goal_pose", qos.COMMAND)
        own = bench.node.create_publisher(PoseStamped, "/payload/goal_pose", qos.COMMAND)
        feedback = bench.node.create_publisher(
            InteractiveMarkerFeedback, "/rotor/goal/feedback", QoSProfile(depth=10)
        )
        name = "dragonfly_point_mass"
        bench.start("simulator", scenario=name)
        bench.start(
            "planner",
            scenario=name,
            start_trajectory=False,
            goal_speed_m_s=2.0,
            goal_acceleration_m_s2=3.0,
        )
        bench.start("controller", scenario=name)
        for publisher in (simple, own, feedback):
            bench.until(lambda p=publisher: p.get_subscription_count() > 0, "the planner")
        bench.until(lambda: states and states[-1].step > 40, "flight")
        z = states[-1].bodies[1].pose.position.z

        def arrives(x, y, height):
            def there():
                p = vector_from(states[-1].bodies[1].pose.position)
                return np.linalg.norm(p - [x, y, height]) < 0.03

            bench.until(there, f"arrival at {x}, {y}, {height}", 15.0)

        simple.publish(goal(0.4, 0.0, 0.0, "map"))
        arrives(0.4, 0.0, z)
        own.publish(goal(0.4, 0.3, z + 0.2))
        bench.spin(0.2)
        own.publish(goal(0.0, 0.3, z + 0.2))  # a change of mind on the way
        arrives(0.0, 0.3, z + 0.2)

        answer = bench.call(
            GetInteractiveMarkers,
            "/rotor/goal/get_interactive_markers",
            GetInteractiveMarkers.Request(),
        )
        (marker,) = answer.markers
        assert marker.name == "payload" and answer.sequence_number == updates[-1].seq_num
        assert vector_from(marker.pose.position) == pytest.approx([0.0, 0.3, z + 0.2], abs=1e-9)
        modes = [c.interaction_mode for c in marker.controls]
        kinds = InteractiveMarkerControl
        assert (
            modes.count(kinds.MOVE_AXIS) == 3
            and kinds.MOVE_PLANE in modes
            and kinds.ROTATE_AXIS in modes
        )
        for control in marker.controls:
            q = control.orientation
            assert q.x**2 + q.y**2 + q.z**2 + q.w**2 == pytest.approx(1.0)
        n = len(plans)
        drag = InteractiveMarkerFeedback(
            marker_name="payload", event_type=InteractiveMarkerFeedback.POSE_UPDATE
        )
        drag.header.frame_id = "world"
        drag.pose = goal(-0.2, 0.1, z).pose
        feedback.publish(drag)
        bench.spin(0.3)
        assert len(plans) == n  # nothing flies while it is being dragged
        drag.event_type = InteractiveMarkerFeedback.MOUSE_UP
        feedback.publish(drag)
        arrives(-0.2, 0.1, z)
        log = tmp_path / "log" / "planner.log"
        for bad, words in (
            (goal(float("nan"), 0.0, 1.0), "goal_pose: position and orientation must be finite"),
            (goal(0.0, 0.0, 1.0, "moon"), "frame must be world or map, got 'moon'"),
        ):
            own.publish(bad)
            bench.until(lambda words=words: words in log.read_text(), "refusal")


def test_a_trajectory_from_elsewhere(tmp_path):
    """trajectory_msgs/MultiDOFJointTrajectory on <entity>/cmd/trajectory is flown; one without sense is refused."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        publisher = bench.node.create_publisher(
            MultiDOFJointTrajectory, "/quad1/cmd/trajectory", qos.COMMAND
        )
        bench.start("simulator", scenario="hover")
        bench.start("planner", scenario="hover", start_trajectory=False)
        bench.start("controller", scenario="hover")
        bench.until(lambda: publisher.get_subscription_count() > 0, "the planner")
        bench.until(lambda: states and states[-1].step > 40, "flight")
        message = MultiDOFJointTrajectory(joint_names=["quad1"])
        message.header.frame_id = "world"
        for seconds, x, v in ((1, 0.2, 0.3), (2, 0.6, 0.3), (3, 0.8, 0.0)):
            point = MultiDOFJointTrajectoryPoint(time_from_start=Duration(sec=seconds))
            transform, velocity = Transform(), Twist()
            transform.translation.x, transform.rotation.w, velocity.linear.x = x, 1.0, v
            point.transforms, point.velocities = [transform], [velocity]
            message.points.append(point)
        publisher.publish(message)
        bench.until(lambda: abs(states[-1].bodies[0].pose.position.x - 0.8) < 0.01, "the end")
        log = tmp_path / "log" / "planner.log"
        assert "which jumps there" not in log.read_text()  # it was led to the first point
        message.points[0].time_from_start = Duration()
        publisher.publish(message)
        bench.until(lambda: "begins 0.60 m from the present ref" in log.read_text(), "a warning")
        message.points.reverse()
        publisher.publish(message)
        bench.until(lambda: "times must increase, got 2 s after 3 s" in log.read_text(), "refusal")
        message.points = [MultiDOFJointTrajectoryPoint()]
        publisher.publish(message)
        bench.until(lambda: "every point needs a transform" in log.read_text(), "refusal")
        message.points = [point]
        message.header.stamp.sec = 1_795_000_000  # the clock of the wall
        publisher.publish(message)
        bench.until(lambda: "Is it the time of the wall?" in log.read_text(), "refusal")


def test_names_of_rotortm_on_the_wire(tmp_path):
    """The names that a tool for RotorTM looks for exist, and the team flies under them."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    remaps = tuple(load_remaps("rotortm", scenario.model))
    options = GraphOptions("three_dragonflies_triangular_1m", remaps=remaps)
    with graph.bench(tmp_path) as bench:
        odometry = bench.collect(Odometry, "/dragonfly2/odom", DEEP)
        desired = bench.collect(Reference, "/payload/des_traj", DEEP)
        for plan in graph_plan(options, scenario).values():
            bench.group.start(plan)
        bench.until(lambda: len(odometry) > 100 and len(desired) > 100, "flight")
        names = dict(bench.node.get_topic_names_and_types())
        assert {
            "/system/marker",
            "/payload/path",
            "/payload/odom",
            "/dragonfly1/odom_ground_truth",
        } <= set(names)
        assert "/quad1/odom" not in names
        theirs = {"/Circle", "/Line", "/Min_Derivative_Line"}
        bench.until(lambda: theirs <= bench.services(), "services")
        assert odometry[-1].child_frame_id == "quad2/base_link"  # frames keep our names


def test_two_simulators_with_the_same_topics_are_told(tmp_path):
    """Both recordings held both flights, and the only hint was one at controllers."""
    with graph.bench(tmp_path) as bench:
        told = bench.collect(DiagnosticArray, "/diagnostics", DEEP)
        bench.start("simulator", scenario="hover", paused=True)
        bench.group.start(
            NodePlan("second", "rotor_sim", "simulator", {"scenario": "hover", "paused": True})
        )
        log = tmp_path / "log" / "simulator.log"
        bench.until(
            lambda: "another simulator publishes /rotor/team_state" in log.read_text(), "a word"
        )
        bench.until(
            lambda: any("another simulator" in s.message for m in told for s in m.status),
            "diagnostics",
        )


def test_two_worlds_in_one_domain(tmp_path):
    """A namespace keeps everything apart but /diagnostics."""
    scenario = load_scenario("hover")
    with graph.bench(tmp_path) as bench:
        heard = {ns: bench.collect(Odometry, f"{ns}/quad1/odom", DEEP) for ns in ("/lab1", "/lab2")}
        for ns in heard:
            for name, plan in graph_plan(GraphOptions("hover", namespace=ns), scenario).items():
                child = bench.group.start(plan)
                bench.group.children[f"{ns}{name}"] = child  # two of each name
        bench.until(lambda: all(len(m) > 50 for m in heard.values()), "both flights")
        names = dict(bench.node.get_topic_names_and_types())
        assert {"/lab1/clock", "/lab2/clock", "/lab1/tf", "/lab2/rotor/team_state"} <= set(names)
        assert not {"/clock", "/tf", "/rotor/team_state"} & set(names)
        bench.until(
            lambda: {"/lab1/simulator/reset", "/lab2/planner/circle"} <= bench.services(),
            "services",
        )
