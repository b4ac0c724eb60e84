"""Velocities, accelerations and rates of recorded motion: moving cubics and turns between neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from
from rotor_recordings.motion.track import GAP, NANO, Samples, Track

TRAVEL, LEAST_WAY, FAR, WRONG = 0.5, 0.01, 10.0, 0.9
"""Velocities are wrong that miss nine tenths of the way over half a second, where that is a centimetre or more, and ten
times the noise of the places: zeros miss all of it, axes of a body that is turned by 53 degrees nine tenths."""

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


def has_wrong_velocities(track: Track) -> bool:
    """True if the velocities that were recorded are not those with which the body moves from place to place.

    Many bridges of motion capture leave them zero, and some write them in the axes of the world. Judged by the middle
    of all windows in which the body goes farther than the noise of its places.
    """
    samples, t = track.samples, track.seconds(track.stamps[0])
    if samples.velocities is None or len(t) < 3:
        return False
    p, steps = samples.positions, np.diff(t)
    usual = steps <= max(GAP, 1.5 * float(np.median(steps)))
    told = 0.5 * (samples.velocities[1:] + samples.velocities[:-1]) * steps[:, None]
    bad = ~usual | ~np.isfinite(told).all(axis=1)
    n = max(1, round(TRAVEL / float(np.median(steps))))
    if len(steps) <= n:
        return False
    sums, breaks = (
        np.concatenate([np.zeros((1, *part.shape[1:])), np.cumsum(part, axis=0)])
        for part in (np.where(bad[:, None], 0.0, told), bad.astype(float))
    )
    way, by_velocity = p[n:] - p[:-n], sums[n:] - sums[:-n]
    size, missed = np.linalg.norm(way, axis=1), np.linalg.norm(by_velocity - way, axis=1)
    # a third difference of places that are noise alone is the square root of twenty times as large
    noise = np.median(np.linalg.norm(np.diff(p, 3, axis=0), axis=1)) / np.sqrt(20.0)
    seen = (breaks[n:] == breaks[:-n]) & (size > max(LEAST_WAY, FAR * noise))
    return bool(seen.sum() >= n and np.median(missed[seen] / size[seen]) > WRONG)


def without_velocities(track: Track) -> Track:
    """The same path, its velocities not recorded, nor its rates where these are zeros, too."""
    samples = replace(track.samples, velocities=None)
    if samples.rates is not None and not np.nan_to_num(samples.rates).any():
        samples = replace(samples, rates=None)
    return replace(track, samples=samples)


def _rotation(attitudes: np.ndarray) -> Rotation:
    return rotation_from(attitudes)
