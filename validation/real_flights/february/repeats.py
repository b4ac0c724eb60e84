"""What chance alone does: real flights of one plan against each other, and each against the mean of the others.

No simulator takes part. A flight's own start, batteries and laws that begin anew are in these distances, and a
simulator may know of them; gusts and noise are in them too, and it cannot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from validation.real_flights.february.logs import Flown
from validation.real_flights.follow import distance

SAME_PLAN = 0.02
"""References of one plan are this near to each other, m: each flight begins where it hovered."""


def plans(flights: Sequence[Flown]) -> list[list[int]]:
    """Flights, by their place, that flew the same plan; only where there are several."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for k, flown in enumerate(flights):
        kinds[flown.name.rpartition("_")[0]].append(k)
    out = []
    for kind in kinds.values():
        left = list(kind)
        while left:
            same = [k for k in left if _far(flights[left[0]], flights[k]) < SAME_PLAN]
            left = [k for k in left if k not in same]
            out.append(same)
    return [same for same in out if len(same) > 1]


def _far(a: Flown, b: Flown) -> float:
    rows = min(len(a.time), len(b.time))
    apart = a.reference[:rows, 0] - b.reference[:rows, 0]
    return float(np.median(np.linalg.norm(apart, axis=1)))


def _deviation(flown: Flown, rows: int) -> np.ndarray:
    """Of the payload from the reference of its own flight, (rows, 3) m."""
    return flown.payload[:rows] - flown.reference[:rows, 0]


def pairs(flights: Sequence[Flown]) -> list[float]:
    """Distances between two flights of one plan, each less its reference, root of the mean square, m."""
    out = []
    for same in plans(flights):
        for a, b in combinations([flights[k] for k in same], 2):
            rows = min(len(a.time), len(b.time))
            out.append(distance(a.time[:rows], _deviation(a, rows), _deviation(b, rows)))
    return out


def from_others(flights: Sequence[Flown]) -> dict[int, float]:
    """Miss of those who expect the mean of the other flights of the plan, m, by the place of the flight."""
    out = {}
    for same in plans(flights):
        rows = min(len(flights[k].time) for k in same)
        for k in same:
            others = np.mean([_deviation(flights[j], rows) for j in same if j != k], axis=0)
            out[k] = distance(flights[k].time[:rows], _deviation(flights[k], rows), others)
    return out
