"""Ways of cables around boxes, for the eye: from places alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_dynamics.constraints.box_ways import ways_over_box

BOX_POINTS = 10
"""Points of a way around a box."""


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
    ways = ways_over_box(a, b, half) if which and not inside else []
    if which > len(ways) or not which:
        return np.tile(0.5 * (p + q), (BOX_POINTS, 1))
    way = ways[which - 1]
    way = np.vstack([way, np.tile(way[-1], (BOX_POINTS - len(way), 1))])
    return middle + way @ axes.T
