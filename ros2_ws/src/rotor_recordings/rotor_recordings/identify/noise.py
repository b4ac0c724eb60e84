"""Noise of told states, and states that differ by it.

A change of a state has twelve numbers: of the position, m, in the world; a turn about its own axes, rad (to the right
of the attitude); of the velocity, m/s, in the world; of the body rate, rad/s.
"""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import State, continuous

CHANGES = 12
"""Numbers of a change."""

ORDER = 6
"""Of the differences in which noise is seen: of motion they leave little where it is sampled 20 times a period."""

QUANTITIES = (slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13))
"""Columns of a state with noise of one kind: position, attitude, velocity, body rate."""

NONE = 1e-6
"""Less noise than this is none, m, rad, m/s or rad/s."""

TURN = 2.0 * sqrt(4.0 / 3.0)
"""Noise of a turn about an axis over that of a number of a unit quaternion: half angles, three of four directions."""


def noise_of(states: np.ndarray) -> np.ndarray:
    """Standard deviations of the changes of told states (N, n, 13) from the truth, (n, 12); of too few: none."""
    states = states.copy()
    out = np.zeros((states.shape[1], CHANGES))
    if len(states) <= ORDER:
        return out
    State(states).attitude[:] = continuous(State(states).attitude)
    for entity in range(states.shape[1]):
        for k, columns in enumerate(QUANTITIES):
            size = sqrt(_variance(states[:, entity, columns]))
            out[entity, 3 * k : 3 * k + 3] = size * (TURN if k == 1 else 1.0)
    return np.where(out < NONE, 0.0, out)


def _variance(values: np.ndarray) -> float:
    """Of the noise of a quantity, (N, k).

    The median of squares does not see jolts; of normal numbers it is that of chi squared times their variance.
    """
    differences = np.diff(values, n=ORDER, axis=0)
    found = np.median(differences**2, axis=0).mean() / chi2.median(1)
    return float(found / comb(2 * ORDER, ORDER))


def moved(states: np.ndarray, change: np.ndarray) -> np.ndarray:
    """States (n, 13) that differ by ``change`` (n, 12)."""
    if not change.any():
        return states
    out, told = states.copy(), State(states)
    there = State(out)
    there.position[:] += change[:, :3]
    turned = wxyz_from(rotation_from(told.attitude) * Rotation.from_rotvec(change[:, 3:6]))
    # of the two signs that of what was told: differences between both would be those of a whole turn
    side = np.where((turned * told.attitude).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    there.attitude[:] = side * turned
    there.velocity[:] += change[:, 6:9]
    there.body_rate[:] += change[:, 9:]
    return out
