"""Tensions from the motion of a payload: what the cables must have pulled for it to move as it did."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from rotor_recordings.motion.derivatives import moving_cubic

WINDOW = 0.25
"""Of the polynomial (cubic) from which accelerations are taken, s: 0.3 mm of noise at 100 Hz become 0.07 m/s^2."""

WORST_CONDITION = 20.0
"""Directions of cables that are closer to dependent leave their tensions unknown."""


def acceleration(positions: np.ndarray, step: float) -> np.ndarray:
    """Acceleration by a moving cubic, (N, 3) m/s^2; NaN where an end or a gap is too near.

    Args:
        positions: every ``step`` seconds, (N, 3) m; NaN in gaps.
        step: s.
    """
    return moving_cubic(positions, step, WINDOW, 2)


def balanced_tensions(
    accelerations: np.ndarray, directions: np.ndarray, mass: float, gravity: float
) -> np.ndarray:
    """Tensions of cables that meet in a point mass, (N, n) N; never negative, NaN where they are not determined.

    ``mass (a + g e_z) = sum T_k d_k`` by least squares with ``T_k >= 0``.

    Args:
        accelerations: of the payload, (N, 3) m/s^2.
        directions: unit vectors from the payload to the vehicles, (N, n, 3).
        mass: kg.
        gravity: m/s^2.
    """
    out = np.full(directions.shape[:2], np.nan)
    wanted = mass * (accelerations + [0.0, 0.0, gravity])
    known = np.isfinite(wanted).all(axis=1) & np.isfinite(directions).all(axis=(1, 2))
    for i in np.flatnonzero(known):
        matrix = directions[i].T
        if np.linalg.cond(matrix) <= WORST_CONDITION:
            out[i] = nnls(matrix, wanted[i])[0]
    return out
