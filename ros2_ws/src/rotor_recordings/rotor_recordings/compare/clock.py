"""The offset between the clocks of two recordings, from the speeds of the bodies that both have seen.

Speeds do not depend on the frame, so clocks come first and frames after.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import correlate, savgol_filter

from rotor_core.errors import ConfigError
from rotor_recordings.motion.track import NANO, Track, resampled

STEP = 0.01
"""Grid of the correlation, s; the offset is refined below it."""

WINDOW = 11
"""Samples of the smoothing before speeds are taken (0.11 s, cubic): mocap noise of 0.3 mm becomes 5 mm/s."""

SHORTEST = 2.0
"""Recordings must overlap by this much, s, or by half of the shorter one."""

LEAST_PEAK = 0.6
"""Correlation below which two speeds are not of the same flight."""

DISTINCT = 0.05
"""The best offset must correlate better by this than any other one that is not next to it."""

REMEDY = "Give the offset: --time-offset SECONDS (of REAL behind SIM; 0 for clocks that agree)."


@dataclass(frozen=True)
class ClockOffset:
    """``seconds`` to add to the stamps of the real recording; ``correlation`` of the speeds there (NaN: it was given).

    An offset between epochs is large: as a float it is still exact to 0.3 us.
    """

    seconds: float
    correlation: float


def clock_offset(pairs: list[tuple[Track, Track]]) -> ClockOffset:
    """Offset between the clocks of pairs (simulated, real) of the same bodies.

    Raises:
        ConfigError: the speeds do not determine it: nobody moves, the motion repeats, or the flights differ.
    """
    begins = min(int(s.stamps[0]) for s, _ in pairs), min(int(r.stamps[0]) for _, r in pairs)
    total = None
    for sim, real in pairs:
        a, b = _speeds(sim, begins[0]), _speeds(real, begins[1])
        total = _add(total, _products(a, b))
    assert total is not None
    lags, n, ab, aa, bb, sa, sb = total
    lengths = [min(len(_grid(s, begins[0])), len(_grid(r, begins[1]))) for s, r in pairs]
    enough = n >= min(SHORTEST / STEP, 0.5 * min(lengths)) * len(pairs)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (aa - sa**2 / n) * (bb - sb**2 / n)
        correlation = np.where(
            enough & (variance > 1e-12), (ab - sa * sb / n) / np.sqrt(variance), -1.0
        )
    best = int(np.argmax(correlation))
    peak = float(correlation[best])
    if peak < LEAST_PEAK:
        raise ConfigError(
            f"time offset: the speeds of {', '.join(s.body for s, _ in pairs)} correlate by {peak:.2f} at best, "
            f"but {LEAST_PEAK:g} is needed. The motion is too small, or these are different flights. {REMEDY}"
        )
    low, high = best, best  # the slopes of the peak itself
    while low > 0 and correlation[low - 1] <= correlation[low]:
        low -= 1
    while high < len(lags) - 1 and correlation[high + 1] <= correlation[high]:
        high += 1
    others = np.concatenate([correlation[:low], correlation[high + 1 :]])
    if len(others) and others.max() > peak - DISTINCT:
        rest = np.where(
            (np.arange(len(lags)) < low) | (np.arange(len(lags)) > high), correlation, -1.0
        )
        raise ConfigError(
            "time offset: the motion repeats: offsets "
            f"{STEP * float(lags[int(np.argmax(rest))] - lags[best]):+.2f} s apart "
            f"fit equally well (correlation {peak:.3f} and {others.max():.3f}). {REMEDY}"
        )
    shift = float(lags[best])
    if 0 < best < len(lags) - 1:  # vertex of the parabola through three values
        l, c, r = correlation[best - 1 : best + 2]
        if l + r - 2.0 * c < 0.0:
            shift += float(0.5 * (l - r) / (l + r - 2.0 * c))
    return ClockOffset(shift * STEP + (begins[0] - begins[1]) * NANO, peak)


def _grid(track: Track, begin: int) -> np.ndarray:
    """Stamps every :data:`STEP` from ``begin``, as far as the track goes."""
    n = int((track.stamps[-1] - begin) * NANO / STEP)
    return begin + np.arange(n, dtype=np.int64) * round(STEP / NANO)


def _speeds(track: Track, begin: int) -> np.ndarray:
    """Speeds on the grid; NaN where the position is unknown."""
    positions = resampled(track, _grid(track, begin)).positions
    if len(positions) < WINDOW:
        return np.full(len(positions), np.nan)
    filled = np.where(np.isnan(positions), 0.0, positions)
    velocity = savgol_filter(filled, WINDOW, 3, deriv=1, delta=STEP, axis=0)
    unknown = np.convolve(np.isnan(positions[:, 0]).astype(float), np.ones(WINDOW), "same") > 0.5
    return np.where(unknown, np.nan, np.linalg.norm(np.asarray(velocity), axis=1))


def _products(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sums over what overlaps, for all shifts: lags of ``b`` to the right, count, ab, aa, bb, a, b."""
    known_a, known_b = (~np.isnan(a)).astype(float), (~np.isnan(b)).astype(float)
    a, b = np.nan_to_num(a), np.nan_to_num(b)

    def both(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return correlate(x, y, "full", "fft")

    lags = np.arange(-(len(b) - 1), len(a))
    count = np.maximum(both(known_a, known_b), 1e-9)
    return (
        lags,
        count,
        both(a, b),
        both(a * a, known_b),
        both(known_a, b * b),
        both(a, known_b),
        both(known_a, b),
    )


def _add(
    total: tuple[np.ndarray, ...] | None, more: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """Sums of several bodies, over the lags that all have."""
    if total is None:
        return more
    low, high = max(total[0][0], more[0][0]), min(total[0][-1], more[0][-1])
    x, y = (slice(low - t[0][0], high - t[0][0] + 1) for t in (total, more))
    return (total[0][x], *(p[x] + q[y] for p, q in zip(total[1:], more[1:], strict=True)))
