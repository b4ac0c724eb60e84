"""Points at which rays meet obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

import numpy as np

from rotor_core.clearance.gjk import distance
from rotor_core.clearance.solids import Solid
from rotor_core.kernels.jit import kernel
from rotor_core.math.vec3 import add, dot, get3, put3, scale, sub

REACHED = 1e-12
"""A ray this close to a solid meets it, m."""

MOST_STEPS = 200
"""Along a ray: each leads to the plane that keeps its point and the solid apart."""


@kernel
def cast(start, along, farthest, points, ends, axes, discs, balls, middles, reaches, work, nearest):
    """Distance along a unit vector from a point to the nearest solid, m; ``inf``: none within ``farthest``.

    Args:
        start, along: tuples of three.
        farthest: m.
        points: (n + 1, 3) of all solids; the last row is scratch.
        ends: (n_solids + 1,), where the points of each begin.
        axes, discs, balls: of each.
        middles, reaches: ball about each.
        work, nearest: scratch of :func:`rotor_core.clearance.gjk.distance`.
    """
    found = farthest
    here = points.shape[0] - 1
    for i in range(ends.shape[0] - 1):
        way = sub(get3(middles[i], 0), start)
        forward = dot(way, along)
        aside = dot(way, way) - forward * forward
        if aside > reaches[i] * reaches[i] or forward + reaches[i] < 0.0:
            continue
        t = 0.0
        for _ in range(MOST_STEPS):
            put3(points[here], 0, add(start, scale(t, along)))
            axis = get3(axes[i], 0)
            d = distance(
                points,
                here,
                here + 1,
                axis,
                0.0,
                ends[i],
                ends[i + 1],
                axis,
                discs[i],
                work,
                nearest,
            )
            if d <= balls[i] + REACHED:
                found = min(found, t)
                break
            towards = sub(get3(nearest[1], 0), get3(nearest[0], 0))
            closing = dot(towards, along) / sqrt(dot(towards, towards))
            if closing <= 0.0:
                break
            t += (d - balls[i]) / closing
            if t >= found:
                break
    return found if found < farthest else inf


class Rays:
    """Rays among solids that stand still."""

    def __init__(self, solids: Sequence[Solid]) -> None:
        self._points = np.vstack([*(s.points for s in solids), np.zeros((1, 3))])
        self._ends = np.cumsum([0, *(len(s.points) for s in solids)])
        self._axes = np.array([s.axis for s in solids]).reshape(-1, 3)
        self._discs, self._balls = (
            np.array([getattr(s, n) for s in solids], float) for n in ("disc", "ball")
        )
        self._middles = np.array([s.points.mean(axis=0) for s in solids]).reshape(-1, 3)
        reach = [np.linalg.norm(s.points - s.points.mean(axis=0), axis=1).max() for s in solids]
        self._reaches = np.array(reach) + self._discs + self._balls
        self._work, self._nearest = np.zeros((14, 4)), np.zeros((2, 3))

    def distance(self, start: np.ndarray, along: np.ndarray, farthest: float) -> float:
        """Distance from ``start`` (3,) m along a unit vector to a solid, m; ``inf``: none within ``farthest``."""
        return float(
            cast(
                (float(start[0]), float(start[1]), float(start[2])),
                (float(along[0]), float(along[1]), float(along[2])),
                farthest, self._points, self._ends, self._axes, self._discs, self._balls, self._middles,
                self._reaches, self._work, self._nearest,
            )
        )  # fmt: skip
