"""What RViz draws.

Vehicles, payloads, cables, thrust, tensions. Geometry is made once; frames only move it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.model import Box, Payload, Plate, Sphere, Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.ros.convert import WORLD_FRAME, set_quaternion, set_vector

TAUT_COLOUR = (0.15, 0.15, 0.18, 1.0)
SLACK_COLOUR = (0.95, 0.55, 0.10, 1.0)
VEHICLE_COLOUR = (0.12, 0.35, 0.65, 1.0)
PAYLOAD_COLOUR = (0.80, 0.62, 0.38, 1.0)
THRUST_COLOUR = (0.85, 0.15, 0.15, 0.9)
TEXT_COLOUR = (0.1, 0.1, 0.1, 1.0)

ROTOR_RADIUS = 0.55
"""Radius of a drawn rotor over the arm length."""
CIRCLE_POINTS = 16
SAG_POINTS = 8
"""Segments of a slack cable."""
THRUST_SCALE = 0.06
"""Length of a thrust arrow, m/N."""


def _colour(rgba: tuple) -> ColorRGBA:
    r, g, b, a = rgba
    return ColorRGBA(r=r, g=g, b=b, a=a)


def _point(values: np.ndarray) -> Point:
    return Point(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def _marker(namespace: str, identity: int, kind: int, colour: tuple, scale: tuple) -> Marker:
    marker = Marker(ns=namespace, id=identity, type=kind, action=Marker.ADD, color=_colour(colour))
    marker.header.frame_id = WORLD_FRAME
    marker.pose.orientation.w = 1.0
    set_vector(marker.scale, scale)
    return marker


def _vehicle_marker(vehicle: Vehicle, identity: int) -> Marker:
    marker = _marker(vehicle.name, identity, Marker.LINE_LIST, VEHICLE_COLOUR, (0.012, 0.0, 0.0))
    arm = vehicle.rotors.arm_m
    first = 0.0 if vehicle.rotors.layout == "plus" else np.pi / 4.0
    for k in range(4):
        angle = first + k * np.pi / 2.0
        hub = arm * np.array([np.cos(angle), np.sin(angle), 0.0])
        marker.points += [_point(np.zeros(3)), _point(hub)]
        turns = np.linspace(0.0, 2.0 * np.pi, CIRCLE_POINTS + 1)
        rim = hub + ROTOR_RADIUS * arm * np.stack(
            [np.cos(turns), np.sin(turns), np.zeros_like(turns)], axis=1
        )
        for a, b in pairwise(rim):
            marker.points += [_point(a), _point(b)]
    return marker


def _payload_marker(payload: Payload, identity: int) -> Marker:
    shape = payload.shape
    if isinstance(shape, Sphere):
        size = 2.0 * shape.radius_m
        return _marker(payload.name, identity, Marker.SPHERE, PAYLOAD_COLOUR, (size, size, size))
    if isinstance(shape, Box):
        return _marker(payload.name, identity, Marker.CUBE, PAYLOAD_COLOUR, shape.size_m)
    assert isinstance(shape, Plate)
    marker = _marker(payload.name, identity, Marker.TRIANGLE_LIST, PAYLOAD_COLOUR, (1.0, 1.0, 1.0))
    outline = np.array(shape.outline_m)
    half = shape.thickness_m / 2.0
    n = len(outline)

    def corner(i: int, z: float) -> np.ndarray:
        return np.array([*outline[i % n], z])

    for i in range(1, n - 1):
        marker.points += [_point(corner(j, half)) for j in (0, i, i + 1)]
        marker.points += [_point(corner(j, -half)) for j in (0, i + 1, i)]
    for i in range(n):
        a, b, c, d = corner(i, half), corner(i + 1, half), corner(i, -half), corner(i + 1, -half)
        marker.points += [_point(p) for p in (a, c, b, b, c, d)]
    return marker


def cable_points(start: np.ndarray, end: np.ndarray, length: float) -> np.ndarray:
    """Polyline of a cable, (m, 3).

    Straight when taut, a parabola of about its length when slack.
    """
    distance = float(np.linalg.norm(end - start))
    slack = length - distance
    if slack <= 1e-6 or distance < 1e-9:
        return np.array([start, end])
    s = np.linspace(0.0, 1.0, SAG_POINTS + 1)[:, None]
    sag = np.sqrt(3.0 / 8.0 * slack * max(distance, slack))  # arc length of a flat parabola
    return start + s * (end - start) - 4.0 * s * (1.0 - s) * np.array([0.0, 0.0, sag])


class MarkerMaker:
    """Markers of a scenario; call :meth:`update` with each new state."""

    def __init__(self, scenario: Scenario) -> None:
        model = scenario.model
        self._bodies = [_vehicle_marker(v, 0) for v in model.vehicles] + [
            _payload_marker(p, 0) for p in model.payloads
        ]
        self._thrusts = [
            _marker("thrust", i, Marker.ARROW, THRUST_COLOUR, (0.015, 0.03, 0.04))
            for i in range(len(model.vehicles))
        ]
        for arrow in self._thrusts:
            arrow.points = [Point(), Point()]
        self._cables = _marker("cable", 0, Marker.LINE_LIST, TAUT_COLOUR, (0.008, 0.0, 0.0))
        self._texts = [
            _marker("text", i, Marker.TEXT_VIEW_FACING, TEXT_COLOUR, (0.0, 0.0, 0.06))
            for i in range(len(model.cables))
        ]
        self.array = MarkerArray(markers=[*self._bodies, *self._thrusts])
        if model.cables:
            self.array.markers += [self._cables, *self._texts]
        self._lengths = [c.length_m for c in model.cables]

    def update(
        self,
        stamp: object,
        motion: np.ndarray,
        thrusts: np.ndarray,
        ends: np.ndarray,
        taut: np.ndarray,
        tensions: np.ndarray,
        alive: np.ndarray,
    ) -> MarkerArray:
        """Move everything.

        Args:
            stamp: time message.
            motion: (n, 19).
            thrusts: of the vehicles, (n_vehicles,) N.
            ends: attachment points in W, (n_cables, 2, 3).
            taut, tensions, alive: per cable.
        """
        for marker in self.array.markers:
            marker.header.stamp = stamp
        for marker, row in zip(self._bodies, motion, strict=True):
            set_vector(marker.pose.position, row[0:3])
            set_quaternion(marker.pose.orientation, row[3:7])
        for arrow, row, thrust in zip(self._thrusts, motion, thrusts, strict=False):
            w, x, y, z = row[3:7]
            up = np.array(
                [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)]
            )
            set_vector(arrow.points[0], row[0:3])
            set_vector(arrow.points[1], row[0:3] + max(THRUST_SCALE * thrust, 1e-3) * up)
        self._cables.points, self._cables.colors = [], []
        for k, text in enumerate(self._texts):
            set_vector(text.pose.position, ends[k].mean(axis=0) + [0.0, 0.0, 0.05])
            text.text = f"{tensions[k]:.2f} N" if alive[k] else "cut"
            if not alive[k]:
                continue
            line = cable_points(ends[k, 0], ends[k, 1], self._lengths[k])
            colour = _colour(TAUT_COLOUR if taut[k] else SLACK_COLOUR)
            for a, b in pairwise(line):
                self._cables.points += [_point(a), _point(b)]
                self._cables.colors += [colour, colour]
        return self.array
