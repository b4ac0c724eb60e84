"""Sensitivity of a metric to each varied number, from any sample."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

FEWEST = 20
"""Flights below which nothing is said."""

HARMONICS = 10
"""Of the Fourier series in the order of the number: as SALib proposes; fewer for small samples."""


def first_order(x: np.ndarray, y: np.ndarray) -> float:
    """Share of the variance of ``y`` that goes with ``x`` alone: the first-order Sobol index.

    By random balance designs of the sample as it is (RBD-FAST: Plischke 2010; Tissot and Prieur 2012), of SALib. NaN
    where either does not vary, or of few flights.
    """
    known = np.isfinite(y)
    x, y = x[known], y[known]
    n = len(y)
    varies = n >= FEWEST and float(np.var(y)) > 1e-24 * float(np.mean(y**2)) and np.ptp(x) > 0.0
    if not varies:
        return float("nan")
    from SALib.analyze import rbd_fast  # brings pandas

    problem = {"num_vars": 1, "names": ["x"], "bounds": [[float(x.min()), float(x.max())]]}
    harmonics = min(HARMONICS, n // 8)
    found = rbd_fast.analyze(problem, x[:, None], y, M=harmonics, num_resamples=2, seed=0)
    return float(np.clip(found["S1"][0], 0.0, 1.0))


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's: +1 where the metric grows with the number, -1 where it falls; NaN where either stands."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(y) < FEWEST or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    return float(spearmanr(x, y)[0])
