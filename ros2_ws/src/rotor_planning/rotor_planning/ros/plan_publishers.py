"""Publishers of the planner: plans, sampled references, and the visualization of both."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from rotor_msgs.msg import PolynomialTrajectory, Reference, TrajectoryStatus
from std_msgs.msg import ColorRGBA
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.messages.cdr import quaternion_paths, vector_paths
from rotor_core.messages.convert import (
    WORLD_FRAME,
    joint_plan_message,
    plan_message,
    pose_message,
    reference_message,
    stamp_later,
)
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.plans.plan import Plan
from rotor_core.reference import (
    ATTITUDE,
    POSITION,
    REFERENCE,
    REFERENCE_VECTORS,
    YAW_ACCELERATION,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic

PATH_POSES = 200
"""Poses of a drawn plan."""

FOLLOWED = qos.PLAN.depth // 2
"""A plan that so many of others have followed is published again: who comes late gets the newest of all entities."""

LINE_COLOUR = ColorRGBA(r=0.20, g=0.65, b=0.35, a=0.8)
LINE_WIDTH = 0.01


def _pose(reference: np.ndarray, stamp: Time) -> PoseStamped:
    return pose_message(
        stamp, reference[POSITION : POSITION + 3], reference[ATTITUDE : ATTITUDE + 4]
    )


def _reference_paths() -> list[str]:
    """Fields of a Reference in the order of its row, but for the yaw acceleration, which it has not."""
    paths = [""] * REFERENCE
    for field, column in REFERENCE_VECTORS.items():
        paths[column : column + 3] = vector_paths(field)
    paths[ATTITUDE : ATTITUDE + 4] = quaternion_paths("orientation")
    paths[YAW_ANGLE], paths[YAW_RATE] = "yaw", "yaw_rate"
    return paths[:YAW_ACCELERATION]


REFERENCE_PATHS = _reference_paths()
POSE_PATHS = [*vector_paths("pose.position"), *quaternion_paths("pose.orientation")]
POSE_COLUMNS = [*range(POSITION, POSITION + 3), *range(ATTITUDE, ATTITUDE + 4)]


class _Topics:
    """Publishers and plan marker of one entity."""

    def __init__(self, node: Node, name: str, number: int, *, is_vehicle: bool) -> None:
        make, row = node.create_publisher, np.zeros(REFERENCE)
        self._name, self._kind = name, ""
        reference = reference_message(name, row, Time(), is_vehicle=is_vehicle)
        self.reference = FrozenTopic(
            make(Reference, f"{name}/reference", qos.COMMAND), reference, REFERENCE_PATHS
        )
        self.pose = FrozenTopic(
            make(PoseStamped, f"{name}/reference_pose", qos.COMMAND), _pose(row, Time()), POSE_PATHS
        )
        self.path = make(Path, f"{name}/path_reference", qos.LATCHED)
        self._statuses = make(TrajectoryStatus, f"{name}/trajectory_status", qos.COMMAND)
        self.line = _line(number)

    def status(self, kind: str, elapsed: float, duration: float, stamp: Time) -> None:
        """Publish what is being flown, since when and for how long, s."""
        if kind != self._kind:
            self._kind = kind
            message = TrajectoryStatus(entity=self._name, kind=kind)
            self._status = FrozenTopic(self._statuses, message, ["elapsed", "duration"])
        self._status.frozen.put("running", 0.0 <= elapsed < duration)
        self._status.send(stamp, np.array([elapsed, duration]))


class PlanPublisher:
    """Publishers of the plans of all planned entities; vehicles that fly alone get theirs when they do."""

    def __init__(
        self, node: Node, entities: list[str], arms: list[str], vehicles: Collection[str]
    ) -> None:
        self._plans = node.create_publisher(PolynomialTrajectory, "rotor/plan", qos.PLAN)
        self._markers = node.create_publisher(MarkerArray, "rotor/markers_plan", qos.LATCHED)
        self._node, self._vehicles = node, vehicles
        self._of: dict[str, _Topics] = {}
        self._count = 0
        self._numbers: dict[str, int] = {}
        """Of the newest publication of the plans of an entity."""
        for name in entities:
            self._topics(name)
        self._arms = {
            n: node.create_publisher(JointTrajectory, f"{n}/joint_trajectory", qos.LATCHED)
            for n in arms
        }

    def _topics(self, entity: str) -> _Topics:
        if entity not in self._of:
            is_vehicle = entity in self._vehicles
            self._of[entity] = _Topics(self._node, entity, len(self._of), is_vehicle=is_vehicle)
        return self._of[entity]

    def plan(self, entity: str, plan: Plan, start: Time, epoch: int) -> None:
        """Publish a new plan, as message, path and line."""
        self._plans.publish(plan_message(entity, plan, start, epoch))
        self._count += 1
        self._numbers[entity] = self._count
        path = Path()
        path.header.stamp = start
        path.header.frame_id = WORLD_FRAME
        for t in np.linspace(0.0, plan.duration, PATH_POSES):
            path.poses.append(_pose(plan.sample(float(t)), stamp_later(start, float(t))))
        topics = self._topics(entity)
        topics.path.publish(path)
        topics.line.points = [pose.pose.position for pose in path.poses]
        self._markers.publish(MarkerArray(markers=[t.line for t in self._of.values()]))

    @property
    def fading(self) -> list[str]:
        """Entities whose plans late subscribers will soon get no more."""
        return [name for name, n in self._numbers.items() if self._count - n >= FOLLOWED]

    def arm(self, vehicle: str, joints: list[str], plan: JointPlan, start: Time) -> None:
        """Publish what the arm of a vehicle does from ``start`` on."""
        self._arms[vehicle].publish(joint_plan_message(joints, plan, start))

    def shows(self, entity: str) -> bool:
        """True if somebody listens to the references of an entity."""
        topics = self._topics(entity)
        return topics.reference.sender.listeners() + topics.pose.sender.listeners() > 0

    def reference(self, entity: str, reference: np.ndarray, stamp: Time) -> None:
        """Publish where the entity should be now."""
        topics = self._topics(entity)
        topics.reference.send(stamp, reference[:YAW_ACCELERATION])
        topics.pose.send(stamp, reference[POSE_COLUMNS])

    def status(self, entity: str, kind: str, elapsed: float, duration: float, stamp: Time) -> None:
        """Publish what is being flown, since when and for how long, s."""
        self._topics(entity).status(kind, elapsed, duration, stamp)


def _line(identity: int) -> Marker:
    out = Marker(ns="plan", id=identity, type=Marker.LINE_STRIP, color=LINE_COLOUR)
    out.header.frame_id = WORLD_FRAME
    out.pose.orientation.w = 1.0
    out.scale.x = LINE_WIDTH
    out.points = [Point(), Point()]
    return out
