"""What physics leaves open of each flight, fitted to its path: three numbers of each vehicle, no gain of the law.

One step of Gauss and Newton from the numbers of the hover. Each number is held there as by a measurement with the
standard deviation :data:`PRIOR`, against :data:`SAMPLES` independent misses of :data:`MISS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rotor_recordings.crazyflies.team_model import SETTLED
from validation.real_flights.february.fly import Variant, fly_flown
from validation.real_flights.february.logs import Flown, read_flown

PRIOR = 0.01
"""Of the change of a thrust gain, and of a bias of attitude in rad."""

MISS, SAMPLES = 0.01, 10
"""A miss that counts as much as one number that is off by :data:`PRIOR`, m, and how many of them a flight has."""

DIFFERENCE = 0.003
"""By which each number is changed for the slopes of the path."""

LOST = 1.0
"""What a lost payload misses by, m."""

SHARES = (1.0, 0.5, 0.25)
"""Of the step that are tried, one after the other."""


@dataclass(frozen=True)
class Fitted:
    """Three numbers of each vehicle.

    Attributes:
        numbers: change of the thrust gain, and two biases of attitude in rad, of every vehicle, (n, 3).
        miss: root mean square, m, of the flight with them.
    """

    numbers: np.ndarray
    miss: float


def _misses(path: Path, flown: Flown, numbers: np.ndarray) -> np.ndarray:
    """Simulated less recorded payload once it has settled, all coordinates, m."""
    fitted = tuple(tuple(row) for row in numbers.reshape(-1, 3).tolist())
    _, simulated = fly_flown(path, replace(Variant(), fitted=fitted))
    apart = (simulated - flown.payload)[flown.time > SETTLED]
    return np.nan_to_num(apart, nan=LOST).ravel()


def fit_flight(path: Path) -> Fitted:
    """Fit the three numbers of each vehicle of a flight to its path."""
    flown = read_flown(path)
    zero = np.zeros(3 * len(flown.vehicles))
    here = _misses(path, flown, zero)
    weight = SAMPLES * 3 / len(here) / MISS**2
    slopes = np.column_stack(
        [(_misses(path, flown, row) - here) / DIFFERENCE for row in DIFFERENCE * np.eye(len(zero))]
    )
    normal = weight * slopes.T @ slopes + np.eye(len(zero)) / PRIOR**2
    step = np.linalg.solve(normal, -weight * slopes.T @ here)
    found, best = zero, here
    for share in SHARES:
        there = _misses(path, flown, share * step)
        cost = weight * there @ there + share**2 * step @ step / PRIOR**2
        if cost < weight * here @ here:
            found, best = share * step, there
            break
    return Fitted(found.reshape(-1, 3), float(np.sqrt(3.0 * np.mean(best**2))))
