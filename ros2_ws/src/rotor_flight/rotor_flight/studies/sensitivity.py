"""Sensitivity of a metric to each varied number, from any sample."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

FEWEST = 20
"""Flights below which nothing is said."""


def first_order(x: np.ndarray, y: np.ndarray) -> float:
    """Share of the variance of ``y`` that goes with ``x`` alone: the first-order Sobol index, by bins.

    The variance of the means over sqrt(n) bins of equal counts, less what the scatter within the bins puts
    there by chance.
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    n = len(y)
    total = float(np.var(y)) if n >= FEWEST else 0.0
    if total <= 1e-24 * float(np.mean(y**2)) or np.ptp(x) == 0.0:
        return float("nan")
    count = min(round(np.sqrt(n)), len(np.unique(x)))
    order = np.argsort(x, kind="stable")
    bins = np.array_split(y[order], count)
    between = sum(len(b) * (b.mean() - y.mean()) ** 2 for b in bins) / n
    within = sum(len(b) * np.var(b) for b in bins) / max(n - count, 1)  # of a single value
    return float(np.clip((between - within * (count - 1) / n) / total, 0.0, 1.0))


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's: +1 where the metric grows with the number, -1 where it falls; NaN where either stands."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(y) < FEWEST or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    return float(spearmanr(x, y)[0])
