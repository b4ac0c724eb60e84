"""Sensitivity of a metric to each varied number, from any sample."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta, f_oneway, spearmanr

FEWEST = 20
"""Flights below which nothing is said."""

FEWEST_CLASSES = 4


def classes_of(n: int) -> int:
    """Into how many classes n flights are put: more of them follow what goes up and down, fewer have surer means."""
    return max(FEWEST_CLASSES, round(n**0.5))


def _without_bias(share: float, n: int, classes: int) -> float:
    """Share of the variance between classes, rid of what chance adds on average (epsilon squared: Kelley 1935)."""
    return 1.0 - (1.0 - share) * (n - 1) / (n - classes)


def first_order(x: np.ndarray, y: np.ndarray) -> float:
    """Share of the variance of ``y`` that goes with ``x`` alone: the first-order Sobol index.

    From the means of ``y`` over classes of ``x`` with equally many flights (Plischke, Borgonovo and Smith, "Global
    sensitivity measures from given data", EJOR 226, 2013), one for each number where there are few. NaN where either
    does not vary, or of few flights. See :func:`by_chance`.
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    n = len(y)
    varies = n >= FEWEST and float(np.var(y)) > 1e-24 * float(np.mean(y**2)) and np.ptp(x) > 0.0
    if not varies:
        return float("nan")
    numbers = np.unique(x)
    if len(numbers) <= classes_of(n):
        parts = [y[x == number] for number in numbers]
    else:
        parts = np.array_split(y[np.argsort(x, kind="stable")], classes_of(n))
    classes = len(parts)
    ratio = float(f_oneway(*parts).statistic)  # infinite: all of it
    share = 1.0 / (1.0 + (n - classes) / ((classes - 1) * ratio)) if ratio > 0.0 else 0.0
    return float(np.clip(_without_bias(share, n, classes), 0.0, 1.0))


def by_chance(n: int) -> float:
    """Share that :func:`first_order` tells of a number that decides nothing, in one of twenty samples of ``n`` flights.

    Between classes of noise lies a share of its variance with a beta distribution.
    """
    if n < FEWEST:
        return float("nan")
    classes = classes_of(n)
    largest = float(beta.ppf(0.95, 0.5 * (classes - 1), 0.5 * (n - classes)))
    return _without_bias(largest, n, classes)


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's: +1 where the metric grows with the number, -1 where it falls; NaN where either stands."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(y) < FEWEST or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    return float(spearmanr(x, y)[0])
