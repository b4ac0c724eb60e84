"""Arcs of cables over pulleys and pegs, for the eye: from places alone, without the memory of the engine."""

from __future__ import annotations

import numpy as np

ARC_POINTS = 12
"""Points of an arc."""


def arc_over(
    p: np.ndarray, q: np.ndarray, centre: np.ndarray, axis: np.ndarray, radius: float, turn: int
) -> np.ndarray:
    """Points at which the way from p to q lies on a cylinder, (ARC_POINTS, 3) m (W.9).

    ``turn``: which way round the axis, +1 or -1; 0: it does not lie on it, and all are in the middle between p and q.
    """
    z = axis / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    axes = np.column_stack([x, np.cross(z, x), z])
    a, b = (p - centre) @ axes, (q - centre) @ axes
    d_a, d_b = np.hypot(*a[:2]), np.hypot(*b[:2])
    if turn == 0 or min(d_a, d_b) <= max(radius, 1e-12):
        return np.tile(0.5 * (p + q), (ARC_POINTS, 1))
    lift = np.arccos(radius / d_a), np.arccos(radius / d_b)
    begin, end = np.arctan2(a[1], a[0]) + turn * lift[0], np.arctan2(b[1], b[0]) - turn * lift[1]
    angle = (turn * (end - begin)) % (2.0 * np.pi)
    angles = begin + turn * np.linspace(0.0, angle, ARC_POINTS)
    free = np.sqrt(d_a**2 - radius**2), np.sqrt(d_b**2 - radius**2)
    flat = free[0] + free[1] + radius * angle
    heights = a[2] + (b[2] - a[2]) * (free[0] + radius * np.linspace(0.0, angle, ARC_POINTS)) / flat
    on = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), heights])
    return centre + on @ axes.T
