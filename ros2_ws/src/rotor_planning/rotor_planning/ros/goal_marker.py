"""A goal to drag in RViz: an interactive marker for every planned entity.

Serves the protocol of RViz's InteractiveMarkers display (topics ``update`` and ``feedback``, service
``get_interactive_markers``) for this one kind of marker; the package interactive_markers is not
among the wheels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import Pose
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
    Marker,
)
from visualization_msgs.srv import GetInteractiveMarkers

from rotor_core.config.yaml.units import rpy_from_wxyz
from rotor_core.messages.convert import (
    WORLD_FRAME,
    set_quaternion,
    set_vector,
    vector_from,
    wxyz_from,
)

NAMESPACE = "rotor/goal"
SIZE = 0.5
"""Reach of the handles, m."""

BALL = 0.12
BALL_COLOUR = ColorRGBA(r=0.95, g=0.75, b=0.10, a=0.7)

HALF = float(np.sqrt(0.5))
AXES = {"x": (1.0, 0.0, 0.0), "z": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0)}
"""Axis of a control by name: the vector part of its quaternion turns x there (z by y: RViz's convention)."""


def _control(name: str, axis: str, mode: int) -> InteractiveMarkerControl:
    out = InteractiveMarkerControl(name=name, interaction_mode=mode)
    set_quaternion(out.orientation, HALF * np.array([1.0, *AXES[axis]]))
    return out


def goal_marker(entity: str) -> InteractiveMarker:
    """Arrows along the axes, a plane, a ring for the heading, and a ball."""
    kind = InteractiveMarkerControl
    out = InteractiveMarker(name=entity, description=f"goal of {entity}", scale=SIZE)
    out.header.frame_id = WORLD_FRAME
    out.pose.orientation.w = 1.0
    ball = Marker(type=Marker.SPHERE, color=BALL_COLOUR)
    ball.pose.orientation.w = 1.0
    set_vector(ball.scale, (BALL, BALL, BALL))
    plane = _control("move_xy", "z", kind.MOVE_PLANE)
    plane.markers, plane.always_visible = [ball], True
    out.controls = [
        plane,
        *(_control(f"move_{axis}", axis, kind.MOVE_AXIS) for axis in "xyz"),
        _control("turn_z", "z", kind.ROTATE_AXIS),
    ]
    return out


class GoalMarkers:
    """Server of the goal markers; calls ``on_goal(entity, position (3,), yaw)`` when one is let go."""

    def __init__(
        self, node: Node, entities: list[str], on_goal: Callable[[str, np.ndarray, float], None]
    ) -> None:
        self._on_goal = on_goal
        self._id = node.get_fully_qualified_name()
        self._markers = {name: goal_marker(name) for name in entities}
        self._sequence = 0
        self._updates = node.create_publisher(
            InteractiveMarkerUpdate, f"{NAMESPACE}/update", QoSProfile(depth=100)
        )
        node.create_subscription(
            InteractiveMarkerFeedback,
            f"{NAMESPACE}/feedback",
            self._on_feedback,
            QoSProfile(depth=10),
        )
        node.create_service(
            GetInteractiveMarkers, f"{NAMESPACE}/get_interactive_markers", self._on_get
        )

    def move(self, entity: str, position: np.ndarray, wxyz: np.ndarray) -> None:
        """Put a marker where its goal is."""
        pose = Pose()
        set_vector(pose.position, position)
        set_quaternion(pose.orientation, wxyz)
        self._markers[entity].pose = pose
        self._sequence += 1
        update = InteractiveMarkerUpdate(
            server_id=self._id, seq_num=self._sequence, type=InteractiveMarkerUpdate.UPDATE
        )
        at = InteractiveMarkerPose(name=entity, pose=pose)
        at.header.frame_id = WORLD_FRAME
        update.poses = [at]
        self._updates.publish(update)

    def _on_get(self, _: object, response: GetInteractiveMarkers.Response) -> object:
        response.sequence_number = self._sequence
        response.markers = list(self._markers.values())
        return response

    def _on_feedback(self, message: InteractiveMarkerFeedback) -> None:
        marker = self._markers.get(message.marker_name)
        if marker is None or message.header.frame_id not in ("", WORLD_FRAME):
            return
        position, attitude = vector_from(message.pose.position), wxyz_from(message.pose.orientation)
        if not (np.isfinite(position).all() and np.isfinite(attitude).all() and attitude.any()):
            return
        if message.event_type == InteractiveMarkerFeedback.POSE_UPDATE:
            marker.pose = message.pose
        elif message.event_type == InteractiveMarkerFeedback.MOUSE_UP:
            marker.pose = message.pose
            self._on_goal(message.marker_name, position, float(rpy_from_wxyz(attitude)[2]))
