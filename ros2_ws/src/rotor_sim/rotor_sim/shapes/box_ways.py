"""Ways of cables around boxes, for the eye: from places alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rotor_dynamics.constraints.box_ways import ways_over_box

BOX_POINTS = 10
"""Points of a way around a box."""


@lru_cache(maxsize=8)
def _ways(p: tuple[float, ...], q: tuple[float, ...], half: tuple[float, ...]) -> list[np.ndarray]:
    """All ways between two points: a picture asks for one after the other."""
    return ways_over_box(np.array(p), np.array(q), np.array(half))


def way_around(
    p: np.ndarray,
    q: np.ndarray,
    middle: np.ndarray,
    axes: np.ndarray,
    size: Sequence[float],
    which: int,
) -> np.ndarray:
    """Points at which the way from p to q bends over the edges of a box, (BOX_POINTS, 3) m.

    ``axes``: of the box, (3, 3). ``which``: of the ways, from 1 for the shortest; 0, or where there are not so many: it
    does not lie on it, and all points are in the middle between p and q.
    """
    half = 0.5 * np.array(size)
    a, b = (p - middle) @ axes, (q - middle) @ axes
    inside = any((np.abs(end) <= half).all() for end in (a, b))
    ways = _ways(tuple(a), tuple(b), tuple(half)) if which and not inside else []
    if which > len(ways) or not which:
        return np.tile(0.5 * (p + q), (BOX_POINTS, 1))
    way = ways[which - 1]
    way = np.vstack([way, np.tile(way[-1], (BOX_POINTS - len(way), 1))])
    return middle + way @ axes.T
