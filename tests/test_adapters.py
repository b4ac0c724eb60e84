"""Vehicles that answer to PX4 and Crazyswarm, and pushes by gamepad and keyboard, over DDS."""

import os
import pty
import signal
import subprocess
import termios

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Joy

from rotor.graph.plan import NodePlan
from rotor.graph.processes import command_line
from rotor_core.messages.convert import vector_from
from rotor_core.ros import qos

FMU = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.BEST_EFFORT
)
THEIRS = QoSProfile(  # as PX4's own examples subscribe
    history=HistoryPolicy.KEEP_LAST,
    depth=5,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


@pytest.fixture
def bench(tmp_path):
    with graph.bench(tmp_path) as bench:
        yield bench


def start(bench, adapter):
    scenario = "external_controller"
    bench.start("simulator", scenario=scenario, duration_s=0.0, linger=True)
    bench.group.start(NodePlan(adapter, "rotor_adapters", adapter, {"scenario": scenario}))
    return bench.collect(Odometry, "/quad1/ground_truth", qos.STATE)


def at(odometry):
    return vector_from(odometry[-1].pose.pose.position)


def keep(bench, publisher, message, there, what, patience=20.0):
    """Send a setpoint at about 50 Hz until the vehicle is there."""

    def done():
        publisher.publish(message)
        bench.spin(0.02)
        return there()

    bench.until(done, what, patience)


def test_px4_flies(bench, tmp_path):
    """Trajectory, attitude, rate and thrust setpoints of PX4 in its axes move the vehicle in ours; nonsense is refused."""
    px4 = pytest.importorskip("px4_msgs.msg")
    odometry = start(bench, "px4_adapter")
    told = bench.collect(px4.VehicleOdometry, "/quad1/fmu/out/vehicle_odometry", THEIRS)

    def publisher(kind, topic):
        return bench.node.create_publisher(kind, f"/quad1/fmu/in/{topic}", FMU)

    trajectory = publisher(px4.TrajectorySetpoint, "trajectory_setpoint")
    bench.until(lambda: bool(odometry and told), "odometry")
    nan = [float("nan")] * 3
    point = px4.TrajectorySetpoint(
        position=[0.6, -0.4, -1.0], velocity=nan, acceleration=nan, jerk=nan, yaw=0.5
    )
    goal = np.array([-0.4, 0.6, 1.0])  # east, north, up

    def off():
        """Distance from the wanted heading, rad."""
        q = odometry[-1].pose.pose.orientation
        return abs(2.0 * np.arctan2(q.z, q.w) - (np.pi / 2 - 0.5))

    def is_there():  # and turned, and still: on a busy machine it comes to the place while it turns
        turns = abs(odometry[-1].twist.twist.angular.z)
        return np.linalg.norm(at(odometry) - goal) < 0.05 and off() < 0.05 and turns < 0.02

    keep(bench, trajectory, point, is_there, "arrival")
    # what PX4 is told is where we are
    np.testing.assert_allclose(told[-1].position, (0.6, -0.4, -1.0), atol=0.1)
    assert told[-1].pose_frame == px4.VehicleOdometry.POSE_FRAME_NED

    # without a heading it keeps the one it has
    point = px4.TrajectorySetpoint(
        position=[0.3, -0.4, -1.0], velocity=nan, acceleration=nan, jerk=nan, yaw=nan[0], yawspeed=nan[0]
    )  # fmt: skip
    keep(bench, trajectory, point, lambda: abs(at(odometry)[1] - 0.3) < 0.05, "the next point")
    assert off() < 0.1

    # an acceleration alone leaves the velocity free: it had settled at 0.3 s times the acceleration
    push = px4.TrajectorySetpoint(
        position=[nan[0], nan[0], -1.0], velocity=nan, acceleration=[0.5, 0.0, nan[0]], jerk=nan, yaw=0.5
    )  # fmt: skip

    def speed():
        v = odometry[-1].twist.twist.linear
        return np.hypot(v.x, v.y)

    keep(bench, trajectory, push, lambda: speed() > 0.6, "more speed")

    hover = 0.25 * 9.81 / 4.240
    attitude = publisher(px4.VehicleAttitudeSetpoint, "vehicle_attitude_setpoint")
    # nose down in PX4's axes, heading north: flies north, our +y
    lean = px4.VehicleAttitudeSetpoint(thrust_body=[0.0, 0.0, -1.02 * hover])
    lean.q_d = [np.cos(-0.05), 0.0, np.sin(-0.05), 0.0]
    north = at(odometry)[1]
    keep(bench, attitude, lean, lambda: at(odometry)[1] > north + 0.3, "flight to the north")
    wrong = px4.VehicleAttitudeSetpoint(q_d=lean.q_d, thrust_body=[0.0, 0.0, 0.5])
    log = tmp_path / "log" / "px4_adapter.log"
    keep(
        bench, attitude, wrong,
        lambda: "normalised thrust: must be between 0 and 1, got -0.5" in log.read_text(), "refusal",
    )  # fmt: skip
    rates = publisher(px4.VehicleRatesSetpoint, "vehicle_rates_setpoint")
    # clockwise seen from above is positive for PX4, negative for us
    turn = px4.VehicleRatesSetpoint(yaw=1.0, thrust_body=[0.0, 0.0, -hover])
    keep(bench, rates, turn, lambda: odometry[-1].twist.twist.angular.z < -0.8, "turn")
    thrust = publisher(px4.VehicleThrustSetpoint, "vehicle_thrust_setpoint")
    up = px4.VehicleThrustSetpoint(xyz=[0.0, 0.0, -1.0])
    keep(bench, thrust, up, lambda: odometry[-1].twist.twist.linear.z > 0.5, "climb")


def test_crazyswarm_flies(bench):
    """Full states and positions are followed in our axes."""
    crazyflie = pytest.importorskip("crazyflie_interfaces.msg")
    odometry = start(bench, "crazyswarm_adapter")
    full = bench.node.create_publisher(crazyflie.FullState, "/quad1/cmd_full_state", qos.COMMAND)
    bench.until(lambda: bool(odometry), "odometry")
    state = crazyflie.FullState()
    state.pose.position.x, state.pose.position.z, state.pose.orientation.w = 0.5, 0.8, 1.0
    goal = np.array([0.5, 0.0, 0.8])
    keep(bench, full, state, lambda: np.linalg.norm(at(odometry) - goal) < 0.05, "arrival")
    state.twist.linear.y = np.nan  # it counted as none
    log = bench.group.children["crazyswarm_adapter"].log
    keep(bench, full, state, lambda: "every number must be finite" in log.read_text(), "a refusal")
    place = bench.node.create_publisher(crazyflie.Position, "/quad1/cmd_position", qos.COMMAND)
    message = crazyflie.Position(x=0.0, y=0.3, z=0.5, yaw=90.0)
    goal = np.array([0.0, 0.3, 0.5])

    def heading() -> float:
        q = odometry[-1].pose.pose.orientation
        return 2.0 * np.arctan2(q.z, q.w)

    keep(
        bench, place, message,
        lambda: np.linalg.norm(at(odometry) - goal) < 0.05 and abs(heading() - np.pi / 2) < 0.1,
        "the next place, heading north",
    )  # fmt: skip


def test_pushes_by_gamepad_and_keyboard(bench, tmp_path):
    """A stick and a key each become a wrench; space ends it; the terminal is put back."""
    pushes = bench.collect(WrenchStamped, "/load/wrench_external", qos.STATE)
    sticks = bench.node.create_publisher(Joy, "/joy", qos.COMMAND)
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = command_line(
        NodePlan("wrench_teleop", "rotor_adapters", "wrench_teleop", {"entity": "load"})
    )
    env = {**os.environ, "ROS_DOMAIN_ID": str(bench.node.context.get_domain_id())}
    with (tmp_path / "teleop.log").open("w") as log:
        process = subprocess.Popen(command, stdin=theirs, stdout=log, stderr=log, env=env)
    try:
        bench.until(lambda: sticks.get_subscription_count() > 0, "the node")
        keep(
            bench, sticks, Joy(axes=[0.0, 1.0]), lambda: bool(pushes) and pushes[-1].wrench.force.x == 2.0, "a push"
        )  # fmt: skip
        sticks.publish(Joy(axes=[0.0, 0.0]))
        os.write(ours, b"33e3")
        bench.until(lambda: abs(pushes[-1].wrench.force.z - 0.2) < 1e-9, "keys")
        assert pushes[-1].header.frame_id == "world"
        os.write(ours, b" ")
        bench.until(lambda: pushes[-1].wrench.force.z == 0.0, "space")
        count = len(pushes)
        bench.spin(0.5)
        assert len(pushes) <= count + 1  # nothing is said while nothing pushes
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(10.0) == 0, (tmp_path / "teleop.log").read_text()
        after = termios.tcgetattr(theirs)
        os.close(ours)
        os.close(theirs)
    assert after[3] == before[3]
