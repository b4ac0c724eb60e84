"""Velocities, accelerations and rates of recorded motion: moving cubics and turns between neighbours."""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from
from rotor_recordings.motion.track import NANO, Samples

RATE_SPAN = 0.05
"""Rates that were not recorded come from the turn over this time, s: attitude noise of 0.2 deg becomes 6 deg/s."""


def moving_cubic(values: np.ndarray, step: float, window: float, order: int) -> np.ndarray:
    """Derivative of a series by a moving cubic, (N, k); NaN where an end or a gap is too near.

    Args:
        values: every ``step`` seconds, (N, k); NaN in gaps.
        step: s.
        window: of the cubic, s.
        order: of the derivative.
    """
    n = max(5, round(window / step) | 1)
    if len(values) < n:
        return np.full_like(values, np.nan)
    unknown = np.asarray(np.isnan(values).any(axis=1))
    filled = np.where(unknown[:, None], 0.0, values)
    out = np.asarray(savgol_filter(filled, n, 3, deriv=order, delta=step, axis=0))
    near = np.convolve(unknown, np.ones(n), "same") > 0.5
    near[: n // 2] = near[-(n // 2) :] = True
    return np.where(near[:, None], np.nan, out)


def angular_velocity(samples: Samples, stamps: np.ndarray) -> np.ndarray:
    """Angular velocity as recorded, or from the turn between neighbours, in the body's axes, (N, 3) rad/s."""
    if samples.rates is not None:
        return samples.rates
    out = np.full((len(stamps), 3), np.nan)
    if len(stamps) < 3 or samples.attitudes is None:
        return out
    step = float(np.median(np.diff(stamps))) * NANO
    k = max(1, round(0.5 * RATE_SPAN / step))
    before, after = samples.attitudes[: -2 * k], samples.attitudes[2 * k :]
    spans = (stamps[2 * k :] - stamps[: -2 * k]) * NANO
    known = np.isfinite(before[:, 0]) & np.isfinite(after[:, 0]) & (spans < 3.0 * k * step)
    rows = np.flatnonzero(known)
    if len(rows):
        turned = _rotation(before[rows]).inv() * _rotation(after[rows])
        # over a turn of 0.1 rad the mean rate differs from that in the middle by second order only
        out[rows + k] = turned.as_rotvec() / spans[rows, None]
    return out


def _rotation(attitudes: np.ndarray) -> Rotation:
    return rotation_from(attitudes)
