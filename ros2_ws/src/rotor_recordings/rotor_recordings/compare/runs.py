"""Stretches of a series in which something holds."""

from __future__ import annotations

import numpy as np


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Index ranges (begin, end) of the runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def longest(flags: np.ndarray) -> slice:
    """The longest run of True; empty where there is none."""
    return slice(*max(runs(flags), key=lambda r: r[1] - r[0], default=(0, 0)))
