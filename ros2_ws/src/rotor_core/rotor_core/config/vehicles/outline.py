"""Points of vehicles and payloads that touch things, and how high an entity stands on the ground."""

from __future__ import annotations

from itertools import product

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Box, Model, Payload, Plate, Sphere, Vehicle
from rotor_core.config.vehicles.rotor_tree import skid_ends
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.math.polyhedron import CORNERS

EDGE_MIDDLES = np.array([p for p in product((-1.0, 0.0, 1.0), repeat=3) if p.count(0.0) == 1])
"""Of a box with half sizes 1, (12, 3)."""

FOOT_DEPTH = 0.3
"""Feet of vehicles that name none are this much of their span below the hubs."""


def feet(vehicle: Vehicle) -> np.ndarray:
    """Points of a vehicle that touch: its feet, ends of skids, or four below its rotors and the hubs, (n, 3) m."""
    if vehicle.feet_m:
        return np.array(vehicle.feet_m)
    if vehicle.helicopter is not None:
        return skid_ends(vehicle.helicopter)
    hubs, span = vehicle.rotors.positions, vehicle.span
    half, low = 0.5 * span, float(hubs[:, 2].min(initial=0.0)) - FOOT_DEPTH * span
    return np.vstack([[[x, y, low] for x in (-half, half) for y in (-half, half)], hubs])


def corners(payload: Payload) -> tuple[np.ndarray, float]:
    """Points of a payload that touch, (n, 3) m, and the radius about them."""
    shape = payload.shape
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), shape.radius_m
    if isinstance(shape, Box):
        return np.array(shape.offset_m) + 0.5 * np.array(shape.size_m) * CORNERS, 0.0
    assert isinstance(shape, Plate)
    half = 0.5 * shape.thickness_m
    return np.array([(x, y, z) for x, y in shape.outline_m for z in (-half, half)]), 0.0


def linked_places(model: Model, entity: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Poses of an entity and all bodies linked rigidly: position (3,) m, rotation (3, 3) in its frame, by name."""
    places = {entity: (np.zeros(3), np.eye(3))}
    while True:
        before = len(places)
        for link in model.rigid_links:
            R = quat2mat(wxyz_from_rpy_deg(link.rpy_deg))
            p = np.array(link.position_m)
            if link.parent in places and link.child not in places:
                at, turn = places[link.parent]
                places[link.child] = at + turn @ p, turn @ R
            elif link.child in places and link.parent not in places:
                at, turn = places[link.child]
                places[link.parent] = at - turn @ R.T @ p, turn @ R.T
        if len(places) == before:
            return places


def standing_height(model: Model, entity: str) -> float:
    """Height of an entity over the ground on which it, or what is rigidly linked to it, stands level, m."""

    def depth(name: str) -> float:
        body = model.entities[model.index(name)]
        points, radius = (feet(body), 0.0) if isinstance(body, Vehicle) else corners(body)
        return radius - float(points[:, 2].min())

    places = linked_places(model, entity)
    return max(depth(name) - float(at[2]) for name, (at, _) in places.items())
