"""Motion requests to the planner besides services: goals from RViz, and trajectories from other nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from trajectory_msgs.msg import MultiDOFJointTrajectory

from rotor_core.config.yaml.units import rpy_from_wxyz
from rotor_core.errors import ContractError
from rotor_core.given import increasing, numbers
from rotor_core.messages.convert import WORLD_FRAME, seconds_from_stamp, vector_from, wxyz_from
from rotor_core.plans.plan import Plan
from rotor_core.reference import ACCELERATION, POSITION, VELOCITY, YAW_ANGLE
from rotor_core.ros import qos
from rotor_planning.trajectories.knots import through_knots

FLAT = 1e-9
"""RViz's 2D goal has this height, m: then the present one is kept."""


def goal_from_pose(message: PoseStamped) -> tuple[np.ndarray, float]:
    """Position (3,), with NaN as height where it is zero, and heading of a goal.

    Raises:
        ContractError: wrong frame or not finite.
    """
    if message.header.frame_id not in ("", WORLD_FRAME, "map"):
        raise ContractError(
            f"goal_pose: frame must be {WORLD_FRAME} or map, got {message.header.frame_id!r}."
        )
    position, attitude = vector_from(message.pose.position), wxyz_from(message.pose.orientation)
    with np.errstate(over="ignore"):
        length = float(np.sqrt(np.sum(attitude**2)))
    if not (np.isfinite(position).all() and np.isfinite(length) and length > 0.0):
        raise ContractError(
            "goal_pose: position and orientation must be finite, and the orientation not zero."
        )
    if abs(position[2]) < FLAT:
        position[2] = np.nan
    return position, float(rpy_from_wxyz(attitude / length)[2])


def plan_from_trajectory(message: MultiDOFJointTrajectory, reference: np.ndarray) -> Plan:
    """Plan of the first transform of every point.

    Velocities and accelerations count where every point has them. Where the first point is not at
    time 0, the plan begins at ``reference`` (28,).

    Raises:
        ContractError: wrong frame, points without transforms, and what :func:`through_knots` refuses.
    """
    if message.header.frame_id not in ("", WORLD_FRAME, "map"):
        raise ContractError(
            f"trajectory: frame must be {WORLD_FRAME} or map, got {message.header.frame_id!r}."
        )
    if not all(point.transforms for point in message.points):
        raise ContractError("trajectory: every point needs a transform.")
    times = [seconds_from_stamp(p.time_from_start) for p in message.points]
    positions = [vector_from(p.transforms[0].translation) for p in message.points]
    attitudes = np.array([wxyz_from(p.transforms[0].rotation) for p in message.points])
    lengths = np.linalg.norm(attitudes.reshape(-1, 4), axis=1)
    for i in np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0.0))):
        raise ContractError(
            f"trajectory: the rotation of point {i + 1} must be a quaternion that is finite and not zero, got "
            f"{attitudes[i].tolist()} (w, x, y, z)."
        )
    yaws = [float(rpy_from_wxyz(q / n)[2]) for q, n in zip(attitudes, lengths, strict=True)]
    velocities = [vector_from(p.velocities[0].linear) for p in message.points if p.velocities]
    accelerations = [
        vector_from(p.accelerations[0].linear) for p in message.points if p.accelerations
    ]
    increasing("trajectory: time_from_start", times)
    for name, rows in (
        ("positions", positions),
        ("velocities", velocities),
        ("accelerations", accelerations),
    ):
        numbers(f"trajectory: {name}", np.reshape(rows, (-1, 3)), None, 3)
    for name, rows, needed in (
        ("velocities", velocities, len(times)),
        ("accelerations", accelerations, len(velocities)),
    ):
        if rows and len(rows) != needed:
            raise ContractError(
                f"trajectory: {len(rows)} of {len(times)} points have {name}. Give all of them"
                + (" velocities and accelerations," if name == "accelerations" else " velocities,")
                + f" or none {name}."
            )
    has_velocities, has_accelerations = bool(velocities), bool(accelerations)
    begin = None
    if times and times[0] > 0.0:
        times.insert(0, 0.0)
        positions.insert(0, reference[POSITION : POSITION + 3])
        yaws.insert(0, float(reference[YAW_ANGLE]))
        velocities.insert(0, reference[VELOCITY : VELOCITY + 3])
        accelerations.insert(0, reference[ACCELERATION : ACCELERATION + 3])
        begin = reference[VELOCITY : VELOCITY + 3]
    return through_knots(
        np.array(times),
        np.array(positions).reshape(-1, 3),
        np.array(velocities) if has_velocities else None,
        np.array(accelerations) if has_accelerations else None,
        np.array(yaws),
        begin=begin,
    )


def subscribe_goals(
    node: Node,
    entities: list[str],
    on_goal: Callable[[str, np.ndarray, float], None],
    on_trajectory: Callable[[str, Callable[[np.ndarray], Plan], Time], None],
) -> None:
    """``goal_pose`` for the first planned entity, ``<entity>/goal_pose`` and ``<entity>/cmd/trajectory``."""

    def pose(entity: str) -> Callable[[PoseStamped], None]:
        def callback(message: PoseStamped) -> None:
            try:
                on_goal(entity, *goal_from_pose(message))
            except ContractError as error:
                node.get_logger().warning(f"refused: {error}")

        return callback

    def trajectory(entity: str) -> Callable[[MultiDOFJointTrajectory], None]:
        def callback(message: MultiDOFJointTrajectory) -> None:
            on_trajectory(
                entity, lambda row: plan_from_trajectory(message, row), message.header.stamp
            )

        return callback

    if entities:  # a world without vehicles has nothing to plan
        node.create_subscription(PoseStamped, "goal_pose", pose(entities[0]), qos.COMMAND)
    for name in entities:
        node.create_subscription(PoseStamped, f"{name}/goal_pose", pose(name), qos.COMMAND)
        node.create_subscription(
            MultiDOFJointTrajectory, f"{name}/cmd/trajectory", trajectory(name), qos.COMMAND
        )
