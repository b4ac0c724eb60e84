"""Vehicles, payloads, cables and obstacles as solids, of which distances are asked (G.1).

A vehicle is the discs of its rotors and the hull of its hubs and feet; to its own cable the discs alone. A payload
is the hull of its corners, or its ball. A link of an arm is what its file draws, without meshes. A cable is the
straight line between two points of its path, with its thickness. Meshes and height fields are their triangles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.model import Payload, Vehicle
from rotor_core.config.obstacles.obstacle import (
    BallObstacle,
    CapsuleObstacle,
    CylinderObstacle,
    Obstacle,
)
from rotor_core.config.vehicles.arm import Link
from rotor_core.config.vehicles.outline import corners, feet
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.math.polyhedron import CORNERS

WORLD = -1
"""Body of what stands still."""

ROTOR_RADIUS = 0.55
"""Radius of a rotor over the arm length, where nothing says it."""

ROTOR_THICKNESS = 0.1
"""Height of a rotor disc over its radius."""

GROUND_REACH = 1e4
"""Half the edge of the box that is the ground, m."""

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Solid:
    """The hull of points, widened by a disc across an axis and by a ball.

    Attributes:
        points: (n, 3) m, each in the frame of its body.
        bodies: row of the body of every point, or WORLD, (n,).
        axis: of the disc, in the frame of the first point's body, (3,).
        disc: its radius, m; 0: none.
        ball: radius, m.
        cable: number of the cable that it is part of; -1: none.
        short: shares of a line that its two ends are drawn in by.
    """

    points: np.ndarray
    bodies: np.ndarray
    axis: np.ndarray = field(default_factory=lambda: UP)
    disc: float = 0.0
    ball: float = 0.0
    cable: int = -1
    short: tuple[float, float] = (0.0, 0.0)


def rigid(points: Iterable, body: int, **keys: float) -> Solid:
    """A solid of one body."""
    array = np.atleast_2d(np.array(points, float))
    return Solid(array, np.full(len(array), body), **keys)  # type: ignore[arg-type]


def rotor_radius(vehicle: Vehicle) -> float:
    """Radius of a rotor of a multirotor, m: as given, or as large as it is drawn."""
    rotors = vehicle.rotors
    if rotors.radius_m:
        return rotors.radius_m
    return 0.5 * rotors.propeller.diameter_m if rotors.propeller else ROTOR_RADIUS * vehicle.span


def rotor_discs(vehicle: Vehicle, body: int) -> list[Solid]:
    """The discs of its rotors."""
    if vehicle.helicopter is not None:
        rotor = vehicle.helicopter.main_rotor
        hubs, radius = np.atleast_2d(np.array(rotor.hub_m)), rotor.radius_m
    else:
        hubs, radius = vehicle.rotors.positions, rotor_radius(vehicle)
    half = 0.5 * ROTOR_THICKNESS * radius * UP
    return [rigid([hub - half, hub + half], body, disc=radius) for hub in hubs]


def hull_of_vehicle(vehicle: Vehicle, body: int) -> Solid:
    """The hull of its hubs and feet, or of hub and skids."""
    hubs = [vehicle.helicopter.main_rotor.hub_m] if vehicle.helicopter else vehicle.rotors.positions
    return rigid(np.vstack([feet(vehicle), hubs]), body)


def link_solids(link: Link, body: int, R: np.ndarray, p: np.ndarray) -> list[Solid]:
    """The shapes of a link, without meshes.

    Args:
        link: of an arm.
        body: row of the body that it is part of.
        R, p: its pose there, (3, 3) and (3,) m.
    """
    out = []
    for visual in link.visuals:
        turn = R @ quat2mat(wxyz_from_rpy_deg(visual.rpy_deg))
        middle = p + R @ np.array(visual.position_m)
        if visual.type == "sphere":
            out.append(rigid(middle, body, ball=visual.size_m[0]))
        elif visual.type == "cylinder":
            radius, length = visual.size_m
            half = 0.5 * length * turn @ UP
            ends = np.array([middle - half, middle + half])
            out.append(Solid(ends, np.full(2, body), axis=turn @ UP, disc=radius))
        elif visual.type == "box":
            out.append(rigid(middle + (0.5 * np.array(visual.size_m) * CORNERS) @ turn.T, body))
    return out


Place = tuple[int, np.ndarray, np.ndarray]
"""Row of a body, and the pose of a frame on it, (3, 3) and (3,) m."""

HERE = np.eye(3), np.zeros(3)
"""The pose of the frame of a body itself."""


OWN_SHARE = 0.98
"""A payload is this much smaller to cables that are tied to it, so that one that runs along its side does not touch."""


def shrunk(solid: Solid) -> Solid:
    """A payload as the cables see it that are tied to it."""
    middle = solid.points.mean(axis=0)
    points = middle + OWN_SHARE * (solid.points - middle)
    return replace(solid, points=points, ball=OWN_SHARE * solid.ball)


def payload_solid(payload: Payload, body: int) -> Solid:
    """The hull of its corners, or its ball."""
    points, radius = corners(payload)
    return rigid(points, body, ball=radius)


def obstacle_solids(obstacle: Obstacle) -> list[Solid]:
    """Solids of an obstacle, in W."""
    R, p = quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg)), np.array(obstacle.position_m)
    shape = obstacle.shape
    if isinstance(shape, BallObstacle):
        return [rigid(p, WORLD, ball=shape.radius_m)]
    if isinstance(shape, (CylinderObstacle, CapsuleObstacle)):
        round_ends = isinstance(shape, CapsuleObstacle)
        half = 0.5 * shape.height_m - (shape.radius_m if round_ends else 0.0)
        ends = [p - R @ (half * UP), p + R @ (half * UP)]
        if round_ends:
            return [rigid(ends, WORLD, ball=shape.radius_m)]
        return [Solid(np.array(ends), np.full(2, WORLD), axis=R @ UP, disc=shape.radius_m)]
    boxes = [
        rigid(p + (middle + 0.5 * size * CORNERS) @ R.T, WORLD) for middle, size in obstacle.boxes
    ]
    return boxes + [rigid(p + three @ R.T, WORLD) for three in obstacle.triangles]


def ground_solid(height: float) -> Solid:
    """Everything below a height, m."""
    middle = np.array([0.0, 0.0, height - GROUND_REACH])
    return rigid(middle + GROUND_REACH * CORNERS, WORLD)


def cable_solids(
    cable: CableAttachment, number: int, places: Mapping[str, Place], masses: list[int]
) -> list[Solid]:
    """Its straight parts, without those over pulleys.

    Args:
        cable: which.
        number: of the cable.
        places: of the bodies and links, by name.
        masses: rows of its masses, of a heavy one.
    """
    known = {"world": (WORLD, *HERE), **places}
    path = []
    for name, point in cable.nodes:
        body, R, p = known[name]
        path.append((body, p + R @ np.array(point)))
    path[-1:-1] = [(row, np.zeros(3)) for row in masses]
    ball = 0.5 * cable.diameter_m
    bent = {c.part for c in cable.cylinders if c.turn}
    return [
        Solid(np.array([a[1], b[1]]), np.array([a[0], b[0]]), ball=ball, cable=number)
        for part, (a, b) in enumerate(pairwise(path))
        if part not in bent
    ]


def depth_inside(payload: Payload, point: np.ndarray) -> float:
    """Depth of a point inside a payload, along the axes of its shape, m; not above 0 on its surface."""
    points, radius = corners(payload)
    low, high = points.min(axis=0) - radius, points.max(axis=0) + radius
    if radius:
        return radius - float(np.linalg.norm(point))
    return float(np.minimum(point - low, high - point).min())
