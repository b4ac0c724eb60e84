"""Cables as seen from the states of the bodies at their ends."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Model
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import State

SHORTEST = 1e-9
"""Ends closer than this have no direction, m."""


def cable_view(model: Model, states: np.ndarray) -> np.ndarray:
    """Distance of the ends and unit vector from end a to end b in the world, (n_cables, 4).

    Args:
        model: cables with their points in body axes (m).
        states: of all entities, (n, 13).
    """
    rotations = rotation_from(State(states).attitude)
    out = np.zeros((len(model.cables), 4))

    def end(name: str, point: tuple[float, float, float]) -> np.ndarray:
        if name == "world":
            return np.array(point)
        i = model.index(name)
        return State(states).position[i] + rotations[i].apply(point)

    for row, cable in zip(out, model.cables, strict=True):
        along = end(cable.b, cable.b_point_m) - end(cable.a, cable.a_point_m)
        row[0] = np.linalg.norm(along)
        row[1:] = along / max(row[0], SHORTEST)
    return out
