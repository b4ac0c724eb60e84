"""Goals from messages: everything but a pose is refused."""

import warnings

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from geometry_msgs.msg import PoseStamped

from rotor_core.errors import ContractError
from rotor_planning.ros.goal_inputs import goal_from_pose


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
