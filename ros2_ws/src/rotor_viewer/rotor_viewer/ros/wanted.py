"""References at the time of a state, from those that come at other times."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque

import numpy as np

KEPT = 100
"""References that are remembered: a second at 100 Hz."""

AHEAD = 0.5
"""For so long after the last reference it is taken to move on, s; a planner on a busy machine is late."""


class Wanted:
    """Places of one reference over time."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=KEPT)
        self._places: deque[np.ndarray] = deque(maxlen=KEPT)

    def hear(self, time: float, place: np.ndarray) -> None:
        """Take up a reference, s and (3,) m; one that goes back in time begins anew."""
        if self._times and time < self._times[-1]:
            self._times.clear(), self._places.clear()
        if self._times and time == self._times[-1]:
            self._places[-1] = place
        else:
            self._times.append(time), self._places.append(place)

    def at(self, time: float) -> np.ndarray:
        """Place at a time, (3,) m: on the line between references, shortly after the last as it moved; NaN: none."""
        count = len(self._times)
        if count == 0:
            return np.full(3, np.nan)
        i = bisect_right(self._times, time)
        if i == 0 or count == 1:
            return self._places[max(i - 1, 0)].copy()
        if i == count and time - self._times[-1] > AHEAD:
            return self._places[-1].copy()
        last = min(i, count - 1)
        (a, b), (p, q) = (
            (self._times[last - 1], self._times[last]),
            (self._places[last - 1], self._places[last]),
        )
        return p + (time - a) / (b - a) * (q - p)
