"""Goals from messages: everything but a pose is refused."""

import warnings

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from geometry_msgs.msg import PoseStamped, Transform, Twist
from rotor_msgs.srv import Hover, Land
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from rotor_core.errors import ContractError
from rotor_core.plans.plan import hold
from rotor_core.reference import ACCELERATION, POSITION, VELOCITY
from rotor_planning.ros.goal_inputs import goal_from_pose, plan_from_trajectory
from rotor_planning.ros.trajectory_services import hover, land


def goal(w=1.0, x=0.0, z=1.0, frame="world"):
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.z = z
    message.pose.orientation.w, message.pose.orientation.x = w, x
    return message


def test_a_goal():
    position, yaw = goal_from_pose(goal(w=2.0))
    assert position.tolist() == [0.0, 0.0, 1.0] and yaw == 0.0
    assert np.isnan(goal_from_pose(goal(z=0.0))[0][2])  # RViz's, which keep the height


@pytest.mark.parametrize(
    "bad",
    [goal(w=0.0), goal(w=5e-324), goal(w=1e200, x=1e200), goal(w=np.nan), goal(z=np.inf), goal(frame="odom")],
)  # fmt: skip
def test_what_is_no_pose_is_refused(bad):
    """Also a quaternion whose length underflows or overflows, without a warning of NumPy."""
    with warnings.catch_warnings(), pytest.raises(ContractError, match="goal_pose: "):
        warnings.simplefilter("error")
        goal_from_pose(bad)


@pytest.mark.parametrize("w", [0.0, np.nan])
def test_a_trajectory_of_points_without_attitude_is_refused(w):
    """It had turned the vehicle to heading 0."""
    rotation = Transform()
    rotation.rotation.w = w
    point = MultiDOFJointTrajectoryPoint(transforms=[rotation])
    message = MultiDOFJointTrajectory(points=[point, point])
    with pytest.raises(ContractError, match="rotation of point 1 must be a quaternion"):
        plan_from_trajectory(message, hold(np.zeros(3), 0.0).sample(0.0))


@pytest.mark.parametrize(
    ("seconds", "x", "match"),
    [
        (
            (1, 2, 2),
            (0.0, 1.0, 2.0),
            r"time_from_start\[2\]: times must increase, got 2 s after 2 s",
        ),
        ((1, 2, 3), (0.0, 1.0, np.nan), r"positions\[2\]\[0\]: must be finite"),
    ],
)
def test_points_are_counted_as_in_the_message(seconds, x, match):
    """Where it does not begin at 0, the start that is put before it had been counted too."""
    message = MultiDOFJointTrajectory()
    for time, place in zip(seconds, x, strict=True):
        transform = Transform()
        transform.translation.x = place
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start.sec = time
        message.points.append(point)
    with pytest.raises(ContractError, match=match):
        plan_from_trajectory(message, hold(np.zeros(3), 0.0).sample(0.0))


@pytest.mark.parametrize(
    "make", [hover(Hover.Request(here=True)), land(Land.Request(height_m=0.2))]
)
def test_what_moves_comes_to_rest_without_a_jolt(make):
    """Hovering here, and landing: the reference goes on with its velocity and brakes gently."""
    reference = hold(np.array([1.0, 2.0, 3.0]), 0.3).sample(0.0)
    reference[VELOCITY : VELOCITY + 3] = [2.0, -1.0, 0.5]
    plan = make(reference)
    rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 400)])
    for what in (POSITION, VELOCITY, ACCELERATION):
        np.testing.assert_allclose(rows[0, what : what + 3], reference[what : what + 3], atol=1e-9)
    assert np.linalg.norm(rows[:, ACCELERATION : ACCELERATION + 3], axis=1).max() < 2.5
    np.testing.assert_allclose(rows[-1, VELOCITY : VELOCITY + 3], 0.0, atol=1e-9)


def points(x, *, moving=(), accelerated=()):
    """A trajectory through places on x, a second apart, from 1 s on."""
    message = MultiDOFJointTrajectory()
    for i, place in enumerate(x):
        point = MultiDOFJointTrajectoryPoint(transforms=[Transform()])
        point.transforms[0].translation.x, point.transforms[0].rotation.w = place, 1.0
        point.velocities = [Twist()] * (i in moving)
        point.accelerations = [Twist()] * (i in accelerated)
        point.time_from_start.sec = 1 + i
        message.points.append(point)
    return message


def test_a_reference_that_moves_is_led_on():
    """Points without velocities stopped it dead."""
    reference = hold(np.array([1.0, 0.0, 0.0]), 0.0).sample(0.0)
    reference[VELOCITY : VELOCITY + 3] = [1.0, 0.0, 0.0]
    plan = plan_from_trajectory(points([2.0, 3.0]), reference)
    np.testing.assert_allclose(plan.at(0.0).velocity, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(plan.at(2.0).position, [3.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"moving": (0,)}, "1 of 2 points have velocities"),
        ({"accelerated": (0, 1)}, "2 of 2 points have accelerations"),
    ],
)
def test_what_only_some_points_have_is_refused(keys, match):
    with pytest.raises(ContractError, match=match):
        plan_from_trajectory(points([1.0, 2.0], **keys), hold(np.zeros(3), 0.0).sample(0.0))
