"""What bodies look like: primitives in their own frames, sent once; TF moves them."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from transforms3d.quaternions import axangle2quat
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.arm import Visual, link_name
from rotor_core.config.helicopter import Helicopter
from rotor_core.config.model import Box, Payload, Plate, Sphere, Vehicle
from rotor_core.config.rotor_tree import fuselage_shapes, rotor_tree
from rotor_core.config.schema import Scenario
from rotor_core.ros.convert import WORLD_FRAME, frame_of, set_quaternion, set_vector

Colour = tuple[float, float, float, float]

FRAME_COLOUR: Colour = (0.16, 0.18, 0.22, 1.0)
HEAD_COLOUR: Colour = (0.90, 0.25, 0.18, 1.0)
COUNTER_CLOCKWISE_COLOUR: Colour = (0.15, 0.50, 0.90, 0.45)
CLOCKWISE_COLOUR: Colour = (0.55, 0.70, 0.90, 0.45)
PAYLOAD_COLOUR: Colour = (0.80, 0.62, 0.38, 1.0)
GROUND_COLOUR: Colour = (0.86, 0.87, 0.84, 1.0)
BLADE_COLOUR: Colour = (0.10, 0.10, 0.12, 1.0)
OBSTACLE_COLOUR: Colour = (0.62, 0.66, 0.70, 1.0)
TEXT_COLOUR: Colour = (0.25, 0.27, 0.30, 1.0)

GROUND_SIZE, GROUND_THICKNESS = 30.0, 0.01
"""Of the drawn ground, m."""

ROTOR_RADIUS = 0.55
"""Radius of a drawn rotor over the arm length."""


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


def _place(out: Marker, position: np.ndarray, yaw: float = 0.0) -> Marker:
    set_vector(out.pose.position, position)
    set_quaternion(out.pose.orientation, axangle2quat([0.0, 0.0, 1.0], yaw))
    return out


def _name(entity: str, height: float) -> Marker:
    text = marker(
        frame_of(entity), "name", 0, Marker.TEXT_VIEW_FACING, TEXT_COLOUR, (0.0, 0.0, 0.07)
    )
    text.text = entity
    return _place(text, np.array([0.0, 0.0, height]))


def vehicle_markers(vehicle: Vehicle) -> list[Marker]:
    """A hull, arms, rotors (two colours for two spins), and a red nose along x."""
    if vehicle.helicopter is not None:
        return helicopter_markers(vehicle, vehicle.helicopter)
    frame, name, arm = frame_of(vehicle.name), vehicle.name, vehicle.span
    thick = 0.14 * arm
    parts = [
        (Marker.CYLINDER, FRAME_COLOUR, (0.6 * arm, 0.6 * arm, 2.0 * thick), np.zeros(3), 0.0),
        (Marker.SPHERE, HEAD_COLOUR, (0.22 * arm,) * 3, np.array([0.36 * arm, 0.0, 0.0]), 0.0),
    ]
    for k, hub in enumerate(vehicle.rotors.positions):
        angle = float(np.arctan2(hub[1], hub[0]))
        spin = COUNTER_CLOCKWISE_COLOUR if vehicle.rotors.spins[k] > 0.0 else CLOCKWISE_COLOUR
        disc = 2.0 * ROTOR_RADIUS * arm
        up = np.array([0.0, 0.0, 1.6 * thick])
        parts += [
            (Marker.CUBE, FRAME_COLOUR, (arm, 0.8 * thick, 0.6 * thick), hub / 2.0, angle),
            (Marker.CYLINDER, FRAME_COLOUR, (thick, thick, 2.4 * thick), hub, 0.0),
            (Marker.CYLINDER, spin, (disc, disc, 0.2 * thick), hub + up, 0.0),
        ]
    out = [
        _place(marker(frame, name, i, kind, rgba, size), position, yaw)
        for i, (kind, rgba, size, position, yaw) in enumerate(parts)
    ]
    return [*out, _name(name, 6.0 * thick)]


def helicopter_markers(vehicle: Vehicle, helicopter: Helicopter) -> list[Marker]:
    """A fuselage, a red nose, and the shapes of hub and blades in their own frames."""
    frame, name = frame_of(vehicle.name), vehicle.name
    size = helicopter.main_rotor.hub_m[2]
    out = [_shape(frame, name, i, v) for i, v in enumerate(fuselage_shapes(helicopter))]
    nose = marker(frame, name, len(out), Marker.SPHERE, HEAD_COLOUR, (0.45 * size,) * 3)
    out.append(_place(nose, np.array([0.95 * size, 0.0, -0.05 * size])))
    links, _ = rotor_tree(helicopter.main_rotor)
    for link in links:
        for visual in link.visuals:
            shape = _shape(frame_of(link_name(name, link.name)), name, len(out), visual)
            shape.color = colour(BLADE_COLOUR)
            out.append(shape)
    return [*out, _name(name, 2.0 * size)]


def _shape(frame: str, namespace: str, identity: int, visual: Visual) -> Marker:
    """A box or an upright cylinder."""
    if visual.type == "box":
        out = marker(frame, namespace, identity, Marker.CUBE, FRAME_COLOUR, visual.size_m)
    else:
        radius, height = visual.size_m
        size = (2.0 * radius, 2.0 * radius, height)
        out = marker(frame, namespace, identity, Marker.CYLINDER, FRAME_COLOUR, size)
    return _place(out, np.array(visual.position_m))


def _plate(frame: str, payload: Payload, shape: Plate) -> Marker:
    out = marker(frame, payload.name, 0, Marker.TRIANGLE_LIST, PAYLOAD_COLOUR, (1.0, 1.0, 1.0))
    outline = np.array(shape.outline_m)
    x, y = outline.T
    if np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) < 0.0:
        outline = outline[::-1]  # counter-clockwise, so that faces look outwards
    half, n = shape.thickness_m / 2.0, len(outline)

    def corner(i: int, z: float) -> np.ndarray:
        return np.array([*outline[i % n], z])

    for i in range(1, n - 1):
        out.points += [point(corner(j, half)) for j in (0, i, i + 1)]
        out.points += [point(corner(j, -half)) for j in (0, i + 1, i)]
    for i in range(n):
        a, b, c, d = corner(i, half), corner(i + 1, half), corner(i, -half), corner(i + 1, -half)
        out.points += [point(p) for p in (a, c, b, b, c, d)]
    return out


def payload_markers(payload: Payload) -> list[Marker]:
    """The shape that the payload file gives."""
    frame, shape = frame_of(payload.name), payload.shape
    if isinstance(shape, Sphere):
        size = (2.0 * shape.radius_m,) * 3
        body = marker(frame, payload.name, 0, Marker.SPHERE, PAYLOAD_COLOUR, size)
    elif isinstance(shape, Box):
        body = marker(frame, payload.name, 0, Marker.CUBE, PAYLOAD_COLOUR, shape.size_m)
        _place(body, np.array(shape.offset_m))
    else:
        body = _plate(frame, payload, shape)
    return [body, _name(payload.name, -0.12)]


def ground_markers(scenario: Scenario) -> list[Marker]:
    """What carries: the ground, and the boxes that stand on it."""
    environment = scenario.environment
    if environment.contact is None:
        return []
    size = (GROUND_SIZE, GROUND_SIZE, GROUND_THICKNESS)
    ground = marker(WORLD_FRAME, "ground", 0, Marker.CUBE, GROUND_COLOUR, size)
    _place(ground, np.array([0.0, 0.0, environment.ground_m - 0.5 * GROUND_THICKNESS]))
    out = [ground]
    for i, box in enumerate(environment.contact.obstacles):
        body = marker(WORLD_FRAME, "obstacles", i, Marker.CUBE, OBSTACLE_COLOUR, box.size_m)
        out.append(_place(body, np.array(box.position_m), np.radians(box.yaw_deg)))
    return out


def body_markers(scenario: Scenario) -> MarkerArray:
    """All bodies of a scenario; stamps are zero, so that the newest transform counts."""
    model = scenario.model
    markers = [m for v in model.vehicles for m in vehicle_markers(v)]
    markers += [m for p in model.payloads for m in payload_markers(p)]
    markers += ground_markers(scenario)
    names = 0
    for m in markers:
        m.frame_locked = True
        if m.ns == "name":
            m.id, names = names, names + 1
    return MarkerArray(markers=markers)
