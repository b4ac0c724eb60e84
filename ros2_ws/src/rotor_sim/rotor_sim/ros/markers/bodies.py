"""Shapes as markers, sent once in the frames of their bodies; TF moves them."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from transforms3d.euler import euler2quat
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.schema import Scenario
from rotor_core.messages.convert import WORLD_FRAME, frame_of, set_quaternion, set_vector
from rotor_sim.shapes.shapes import Colour, Shape, scenario_shapes

TYPES = {
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
    "mesh": Marker.TRIANGLE_LIST,
    "text": Marker.TEXT_VIEW_FACING,
}


def colour(rgba: Colour) -> ColorRGBA:
    """Message of a colour."""
    r, g, b, a = rgba
    return ColorRGBA(r=r, g=g, b=b, a=a)


def point(values: np.ndarray) -> Point:
    """Message of a point (3,)."""
    return Point(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def marker(
    frame: str, namespace: str, identity: int, kind: int, rgba: Colour, size: tuple
) -> Marker:
    """A marker at the origin of ``frame`` with unit attitude."""
    out = Marker(ns=namespace, id=identity, type=kind, action=Marker.ADD, color=colour(rgba))
    out.header.frame_id = frame
    out.pose.orientation.w = 1.0
    set_vector(out.scale, size)
    return out


def shape_marker(shape: Shape, identity: int) -> Marker:
    """Marker of a shape, fixed to its body."""
    frame = WORLD_FRAME if shape.body == WORLD_FRAME else frame_of(shape.body)
    out = marker(frame, shape.group, identity, TYPES[shape.kind], shape.colour, shape.size)
    set_vector(out.pose.position, shape.position)
    set_quaternion(out.pose.orientation, euler2quat(*shape.rpy))
    out.points = [point(p) for p in shape.triangles.reshape(-1, 3)]
    out.text = shape.text
    out.frame_locked = True
    return out


def body_markers(scenario: Scenario) -> MarkerArray:
    """All bodies of a scenario; stamps are zero, so that the newest transform counts."""
    counts: dict[str, int] = {}
    markers = []
    for shape in scenario_shapes(scenario):
        identity = counts.get(shape.group, 0)
        counts[shape.group] = identity + 1
        markers.append(shape_marker(shape, identity))
    return MarkerArray(markers=markers)
