"""Shapes for every viewer: primitives in the frames of bodies, the line of a cable, colours, scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.clearance.solids import rotor_radius
from rotor_core.config.model import Box, Payload, Plate, Sphere, Vehicle
from rotor_core.config.obstacles.obstacle import (
    BallObstacle,
    CapsuleObstacle,
    CylinderObstacle,
    Obstacle,
)
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.arm import Visual, link_name
from rotor_core.config.vehicles.helicopter import Helicopter
from rotor_core.config.vehicles.rotor_tree import fuselage_shapes, rotor_tree
from rotor_core.config.yaml.units import rad_from_deg, wxyz_from_rpy_deg

Colour = tuple[float, float, float, float]
"""Red, green, blue, opacity, 0..1."""

FRAME_COLOUR: Colour = (0.16, 0.18, 0.22, 1.0)
HEAD_COLOUR: Colour = (0.90, 0.25, 0.18, 1.0)
COUNTER_CLOCKWISE_COLOUR: Colour = (0.15, 0.50, 0.90, 0.45)
CLOCKWISE_COLOUR: Colour = (0.55, 0.70, 0.90, 0.45)
PAYLOAD_COLOUR: Colour = (0.80, 0.62, 0.38, 1.0)
GROUND_COLOUR: Colour = (0.86, 0.87, 0.84, 1.0)
BLADE_COLOUR: Colour = (0.10, 0.10, 0.12, 1.0)
OBSTACLE_COLOUR: Colour = (0.62, 0.66, 0.70, 1.0)
TEXT_COLOUR: Colour = (0.25, 0.27, 0.30, 1.0)
TAUT_COLOUR: Colour = (0.10, 0.11, 0.14, 1.0)
SLACK_COLOUR: Colour = (0.95, 0.55, 0.10, 1.0)
THRUST_COLOUR: Colour = (0.15, 0.65, 0.35, 0.9)
DISC_COLOUR: Colour = (0.35, 0.55, 0.80, 0.30)

GROUND_SIZE, GROUND_THICKNESS = 30.0, 0.01
"""Of the drawn ground, m."""

THRUST_SCALE = 0.06
"""Length of a thrust or force arrow at most, m/N."""

ARROW_SPANS = 1.0
"""Arrows of the thrust of hover at most, in spans of their vehicle: heavy ones would have arrows like masts."""

Kind = Literal["box", "cylinder", "sphere", "mesh", "text"]


def thrust_scale(scenario: Scenario) -> float:
    """Length of the arrows of thrusts and pushes, m/N: the same for all, so that they can be compared."""
    gravity = max(scenario.environment.gravity_m_s2, 1.0)
    spans = [ARROW_SPANS * v.span / (v.total_mass * gravity) for v in scenario.model.vehicles]
    return min([THRUST_SCALE, *spans])


@dataclass(frozen=True)
class Shape:
    """A primitive.

    Attributes:
        body: in whose frame it is: an entity, ``vehicle/link``, or ``world``.
        group: what it belongs to: an entity, ``name``, ``ground`` or ``obstacles``.
        kind: what it is.
        colour: its colour.
        size: edges of a box; diameters and height of an upright cylinder; diameters of a sphere; height of a text, m.
        position: of its centre, m.
        rpy: fixed-axis angles of its axes in the frame, rad.
        triangles: of a mesh, (n, 3, 3) m, counter-clockwise from outside.
        text: what is written.
    """

    body: str
    group: str
    kind: Kind
    colour: Colour
    size: tuple[float, float, float]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3, 3)))
    text: str = ""


def _name(entity: str, height: float) -> Shape:
    return Shape(entity, "name", "text", TEXT_COLOUR, (0.07,) * 3, (0.0, 0.0, height), text=entity)


def vehicle_shapes(vehicle: Vehicle) -> list[Shape]:
    """A hull, arms, rotors (two colours for two spins), a red nose along x, and the links of an arm."""
    if vehicle.helicopter is not None:
        return _helicopter_shapes(vehicle, vehicle.helicopter)
    name, arm = vehicle.name, vehicle.span
    thick = 0.14 * arm
    hull = (0.6 * arm, 0.6 * arm, 2.0 * thick)
    out = [
        Shape(name, name, "cylinder", FRAME_COLOUR, hull),
        Shape(name, name, "sphere", HEAD_COLOUR, (0.22 * arm,) * 3, (0.36 * arm, 0.0, 0.0)),
    ]
    rotors = vehicle.rotors
    for hub, sense, axis in zip(rotors.positions, rotors.spins, rotors.axes, strict=True):
        x, y, z = (float(v) for v in hub)
        turn = (0.0, 0.0, float(np.arctan2(y, x)))
        lean = (
            0.0,
            float(np.arctan2(np.hypot(*axis[:2]), axis[2])),
            float(np.arctan2(axis[1], axis[0])),
        )
        above = tuple(float(v) for v in hub + 1.6 * thick * axis)
        spin = COUNTER_CLOCKWISE_COLOUR if sense > 0.0 else CLOCKWISE_COLOUR
        disc = 2.0 * rotor_radius(vehicle)
        strut, middle = (arm, 0.8 * thick, 0.6 * thick), (x / 2.0, y / 2.0, z / 2.0)
        out += [
            Shape(name, name, "box", FRAME_COLOUR, strut, middle, turn),
            Shape(
                name, name, "cylinder", FRAME_COLOUR, (thick, thick, 2.4 * thick), (x, y, z), lean
            ),
            Shape(name, name, "cylinder", spin, (disc, disc, 0.2 * thick), above, lean),
        ]
    return [*out, _name(name, 6.0 * thick)]


def arm_shapes(vehicle: Vehicle) -> list[Shape]:
    """The links of an arm, as its file draws them (RViz has them from the URDF); meshes are left out."""
    return [
        _visual(link_name(vehicle.name, link.name), vehicle.name, visual, FRAME_COLOUR)
        for link in vehicle.links
        for visual in link.visuals
        if visual.type != "mesh"
    ]


def _helicopter_shapes(vehicle: Vehicle, helicopter: Helicopter) -> list[Shape]:
    """A fuselage, a red nose, and the shapes of hub and blades in their own frames."""
    name, size = vehicle.name, helicopter.main_rotor.hub_m[2]
    out = [_visual(name, name, v, FRAME_COLOUR) for v in fuselage_shapes(helicopter)]
    nose = (0.95 * size, 0.0, -0.05 * size)
    out.append(Shape(name, name, "sphere", HEAD_COLOUR, (0.45 * size,) * 3, nose))
    links, _ = rotor_tree(helicopter.main_rotor)
    out += [
        _visual(link_name(name, k.name), name, v, BLADE_COLOUR) for k in links for v in k.visuals
    ]
    return [*out, _name(name, 2.0 * size)]


def _visual(body: str, group: str, visual: Visual, colour: Colour) -> Shape:
    rpy = tuple(rad_from_deg(a) for a in visual.rpy_deg)
    if visual.type == "cylinder":
        radius, height = visual.size_m
        size = (2.0 * radius, 2.0 * radius, height)
    elif visual.type == "sphere":
        size = (2.0 * visual.size_m[0],) * 3
    else:
        size = visual.size_m
    return Shape(body, group, visual.type, colour, size, visual.position_m, rpy)  # type: ignore[arg-type]


def _plate_triangles(shape: Plate) -> np.ndarray:
    outline = np.array(shape.outline_m)
    x, y = outline.T
    if np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) < 0.0:
        outline = outline[::-1]  # counter-clockwise, so that faces look outwards
    half, n = shape.thickness_m / 2.0, len(outline)

    def corner(i: int, z: float) -> list[float]:
        return [*outline[i % n], z]

    out = []
    for i in range(1, n - 1):
        out.append([corner(j, half) for j in (0, i, i + 1)])
        out.append([corner(j, -half) for j in (0, i + 1, i)])
    for i in range(n):
        a, b, c, d = corner(i, half), corner(i + 1, half), corner(i, -half), corner(i + 1, -half)
        out += [[a, c, b], [b, c, d]]
    return np.array(out)


def payload_shapes(payload: Payload) -> list[Shape]:
    """The shape that the payload file gives."""
    name, shape = payload.name, payload.shape
    if isinstance(shape, Sphere):
        body = Shape(name, name, "sphere", PAYLOAD_COLOUR, (2.0 * shape.radius_m,) * 3)
    elif isinstance(shape, Box):
        body = Shape(name, name, "box", PAYLOAD_COLOUR, shape.size_m, shape.offset_m)
    else:
        triangles = _plate_triangles(shape)
        body = Shape(name, name, "mesh", PAYLOAD_COLOUR, (1.0, 1.0, 1.0), triangles=triangles)
    return [body, _name(name, -0.12)]


def ground_shapes(scenario: Scenario) -> list[Shape]:
    """The ground, where it carries."""
    environment = scenario.environment
    if environment.contact is None:
        return []
    size = (GROUND_SIZE, GROUND_SIZE, GROUND_THICKNESS)
    below = (0.0, 0.0, environment.ground_m - 0.5 * GROUND_THICKNESS)
    out = [Shape("world", "ground", "box", GROUND_COLOUR, size, below)]
    return out


def obstacle_shapes(obstacle: Obstacle) -> list[Shape]:
    """Shapes of an obstacle, for drawing."""
    R = quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg))

    def shape(kind: Kind, size: Sequence[float], middle: np.ndarray, **keys: np.ndarray) -> Shape:
        place = np.array(obstacle.position_m) + R @ middle
        turn = tuple(rad_from_deg(a) for a in obstacle.rpy_deg)
        return Shape(
            "world", "obstacles", kind, OBSTACLE_COLOUR, tuple(size), tuple(place), turn, **keys
        )  # type: ignore[arg-type]

    form, middle = obstacle.shape, np.zeros(3)
    if isinstance(form, BallObstacle):
        return [shape("sphere", (2.0 * form.radius_m,) * 3, middle)]
    if isinstance(form, CylinderObstacle):
        return [
            shape("cylinder", (2.0 * form.radius_m, 2.0 * form.radius_m, form.height_m), middle)
        ]
    if isinstance(form, CapsuleObstacle):
        straight, width = form.height_m - 2.0 * form.radius_m, 2.0 * form.radius_m
        end = np.array([0.0, 0.0, 0.5 * straight])
        balls = [shape("sphere", (width,) * 3, place) for place in (end, -end)]
        return [shape("cylinder", (width, width, straight), middle), *balls]
    if len(obstacle.triangles):
        return [shape("mesh", (1.0, 1.0, 1.0), middle, triangles=obstacle.triangles)]
    return [shape("box", size, place) for place, size in obstacle.boxes]


def scenario_shapes(scenario: Scenario) -> list[Shape]:
    """All bodies of a scenario but the arms."""
    model = scenario.model
    out = [s for v in model.vehicles for s in vehicle_shapes(v)]
    out += [s for p in model.payloads for s in payload_shapes(p)]
    out += [s for o in scenario.environment.obstacles for s in obstacle_shapes(o)]
    return [*out, *ground_shapes(scenario)]
