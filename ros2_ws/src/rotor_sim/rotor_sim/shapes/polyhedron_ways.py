"""Ways of cables around boxes and hulls, for the eye: from places alone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rotor_core.config.vehicles.body import Vector
from rotor_core.math.polyhedron import Polyhedron
from rotor_dynamics.constraints.polyhedron_ways import ways_over

POINTS = 24
"""Points of a way around a box or hull; of one that bends more often some bends are left out."""


@lru_cache(maxsize=64)
def _polyhedron(corners: tuple[Vector, ...]) -> Polyhedron:
    return Polyhedron.around(np.array(corners))


@lru_cache(maxsize=8)
def _ways(
    p: tuple[float, ...], q: tuple[float, ...], corners: tuple[Vector, ...]
) -> list[np.ndarray]:
    """All ways between two points: a picture asks for one after the other."""
    shape = _polyhedron(corners)
    ends = np.array(p), np.array(q)
    return ways_over(*ends, shape) if all(shape.is_outside(end, 0.0) for end in ends) else []


def way_around(
    p: np.ndarray,
    q: np.ndarray,
    middle: np.ndarray,
    axes: np.ndarray,
    corners: tuple[Vector, ...],
    which: int,
) -> np.ndarray:
    """Points at which the way from p to q bends over the edges of a box or hull, (POINTS, 3) m.

    ``corners``: from its middle in its axes, (3, 3). ``which``: of the ways, from 1 for the shortest; 0, or where there
    are not so many: it does not lie on it, and all points are in the middle between p and q.
    """
    a, b = (p - middle) @ axes, (q - middle) @ axes
    ways = _ways(tuple(a), tuple(b), corners) if which else []
    if which > len(ways) or not which:
        return np.tile(0.5 * (p + q), (POINTS, 1))
    way = ways[which - 1]
    if len(way) > POINTS:
        way = way[np.linspace(0, len(way) - 1, POINTS).round().astype(int)]
    way = np.vstack([way, np.tile(way[-1], (POINTS - len(way), 1))])
    return middle + way @ axes.T
