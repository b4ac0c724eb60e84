"""Arcs of cables over pulleys and pegs, for the eye: from places alone, without the memory of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ARC_POINTS = 12
"""Points of an arc."""

ROUNDS = 6
"""Times that a way over several cylinders is laid on each in turn; the error falls several times with each."""


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


def arcs_over(
    p: np.ndarray, q: np.ndarray, row: Sequence[tuple[np.ndarray, np.ndarray, float, int]]
) -> list[np.ndarray]:
    """Points of the way from p to q over cylinders in a row: :func:`arc_over` of each between its neighbours.

    ``row``: middle, axis, radius and turn of every cylinder.
    """
    ends = [(p, p), *((middle, middle) for middle, _, _, _ in row), (q, q)]
    arcs: list[np.ndarray] = []
    on = [k for k, (_, _, _, turn) in enumerate(row, 1) if turn != 0]
    for _ in range(ROUNDS if len(on) > 1 else 1):
        arcs = []
        for k, cylinder in enumerate(row, 1):
            before = max((i for i in on if i < k), default=0)
            after = min((i for i in on if i > k), default=len(row) + 1)
            arc = arc_over(ends[before][1], ends[after][0], *cylinder)
            arcs.append(arc)
            if cylinder[3] != 0:
                ends[k] = arc[0], arc[-1]
    return arcs
