"""Times over which cables were slack."""

from __future__ import annotations

import numpy as np


class SlackTimes:
    """Stretches of time over which cables were slack, from samples in blocks.

    A stretch lasts from its first slack sample to the first that is not, or to the last sample.

    Attributes:
        total: (n_cables,) s.
        longest: longest stretch, (n_cables,) s.
        longest_at: its begin, (n_cables,) s; NaN without one.
    """

    def __init__(self, n_cables: int) -> None:
        self._closed = np.zeros(n_cables)
        self._longest = np.zeros(n_cables)
        self._longest_at = np.full(n_cables, np.nan)
        self._begin = np.full(n_cables, np.nan)
        self._now = np.nan

    def see(self, time: np.ndarray, slack: np.ndarray) -> None:
        """Take up samples: times (N,) s, and whether each cable is slack, (N, n_cables)."""
        if not len(time):
            return
        was = np.vstack([np.isfinite(self._begin), slack])
        for i, k in np.argwhere(was[1:] != was[:-1]):
            if slack[i, k]:
                self._begin[k] = time[i]
                continue
            length = time[i] - self._begin[k]
            self._closed[k] += length
            if length > self._longest[k]:
                self._longest[k], self._longest_at[k] = length, self._begin[k]
            self._begin[k] = np.nan
        self._now = time[-1]

    @property
    def _open(self) -> np.ndarray:
        """Lengths of the stretches that last, (n_cables,) s."""
        return np.nan_to_num(self._now - self._begin)

    @property
    def total(self) -> np.ndarray:
        """Time slack in all, (n_cables,) s."""
        return self._closed + self._open

    @property
    def longest(self) -> np.ndarray:
        """Longest stretch, (n_cables,) s."""
        return np.maximum(self._longest, self._open)

    @property
    def longest_at(self) -> np.ndarray:
        """Begin of the longest stretch, (n_cables,) s; NaN where a cable was never slack."""
        return np.where(self._open > self._longest, self._begin, self._longest_at)
