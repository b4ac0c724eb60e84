"""The offset between the clocks of two recordings, from the speeds of the bodies that both have seen.

Speeds do not depend on the frame, so clocks come first and frames after.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
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

QUARTIC = 4
"""Degree of the curve whose top is the offset: a peak is some tenths of a second wide, its values 0.01 s apart."""

REMEDY = "Give the offset: --time-offset SECONDS (of REAL behind SIM; 0 for clocks that agree)."


@dataclass(frozen=True)
class ClockOffset:
    """``seconds`` to add to the stamps of the real recording; ``correlation`` of the speeds there (NaN: it was given).

    ``is_refined``: the positions fit best there, too.

    An offset between epochs is large: as a float it is still exact to 0.3 us.
    """

    seconds: float
    correlation: float
    is_refined: bool = True


def clock_offset(pairs: list[tuple[Track, Track]]) -> ClockOffset:
    """Offset between the clocks of pairs (simulated, real) of the same bodies.

    Raises:
        ConfigError: the speeds do not determine it: nobody moves, the motion repeats, or the flights differ.
    """
    begins = min(int(s.stamps[0]) for s, _ in pairs), min(int(r.stamps[0]) for _, r in pairs)
    speeds = [(_speeds(s, begins[0]), _speeds(r, begins[1])) for s, r in pairs]
    lags, correlation = _correlated(speeds)
    best = int(np.argmax(correlation))
    peak = float(correlation[best])
    if peak < LEAST_PEAK:
        raise ConfigError(
            f"time offset: the speeds of {', '.join(s.body for s, _ in pairs)} correlate by {peak:.2f} at best, "
            f"but {LEAST_PEAK:g} is needed. The motion is too small, or these are different flights. {REMEDY}"
        )
    low, high = _peak_around(best, correlation)
    rest = np.where((lags < lags[low]) | (lags > lags[high]), correlation, -1.0)
    other = int(np.argmax(rest))
    if rest[other] > peak - DISTINCT:
        raise ConfigError(
            f"time offset: the motion repeats: offsets {STEP * float(lags[other] - lags[best]):+.2f} s apart "
            f"fit equally well (correlation {peak:.3f} and {rest[other]:.3f}). {REMEDY}"
        )
    # noise lifts small speeds more than large ones, which moves the peak of a flight that speeds up once; to their
    # squares it adds the same in the mean
    _, of_squares = _correlated([(np.square(a), np.square(b)) for a, b in speeds])
    shift = _top(lags, of_squares, low + int(np.argmax(of_squares[low : high + 1])))
    return ClockOffset(shift * STEP + (begins[0] - begins[1]) * NANO, peak)


def _correlated(pairs: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Correlation of two signals of all bodies for all shifts: lags, and values; -1 where too little overlaps.

    A body counts where it overlaps: one that was seen for a moment limits no other.
    """
    total = None
    for a, b in pairs:
        total = _add(total, _products(a, b))
    assert total is not None
    lags, n, ab, aa, bb, sa, sb, overlapping = total
    enough = overlapping > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (aa - sa**2 / n) * (bb - sb**2 / n)
        values = np.where(enough & (variance > 1e-12), (ab - sa * sb / n) / np.sqrt(variance), -1.0)
    return lags, values


def _peak_around(best: int, correlation: np.ndarray) -> tuple[int, int]:
    """First and last place of the peak: down to :data:`DISTINCT` below it, and on as long as it falls."""
    ends = []
    for way in (-1, 1):
        end = best
        while 0 <= end + way < len(correlation) and (
            correlation[end + way] > correlation[best] - DISTINCT  # noise makes it jagged
            or correlation[end + way] <= correlation[end]
        ):
            end += way
        ends.append(end)
    return ends[0], ends[1]


def _top(lags: np.ndarray, correlation: np.ndarray, best: int) -> float:
    """Lag at the top of the quartic through the values around the best one, which averages their noise."""
    near = slice(max(0, best - WINDOW), best + WINDOW + 1)
    x, y = (lags[near] - lags[best]).astype(float), correlation[near]
    known = y > -1.0
    if known.sum() < QUARTIC + 1:
        return float(lags[best])
    curve = Polynomial.fit(x[known], y[known], QUARTIC)
    tops = [t.real for t in curve.deriv().roots() if abs(t.imag) < 1e-9 and abs(t.real) < WINDOW]
    return float(lags[best]) + max(tops, key=curve, default=0.0)


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
    """Sums over what overlaps, for all shifts: lags of ``b`` to the right, count, ab, aa, bb, a, b; enough (1)."""
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
        (count >= min(SHORTEST / STEP, 0.5 * min(len(a), len(b)))).astype(float),
    )


def _add(
    total: tuple[np.ndarray, ...] | None, more: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """Sums of several bodies, over the lags that any has."""
    if total is None:
        return more
    low, high = min(total[0][0], more[0][0]), max(total[0][-1], more[0][-1])
    out = [np.arange(low, high + 1)]
    for parts in zip(total[1:], more[1:], strict=True):
        summed = np.zeros(len(out[0]))
        for lags, part in zip((total[0], more[0]), parts, strict=True):
            summed[lags[0] - low : lags[-1] - low + 1] += part
        out.append(summed)
    return tuple(out)
