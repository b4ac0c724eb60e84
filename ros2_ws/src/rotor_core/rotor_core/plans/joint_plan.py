"""Plans of joints: quintic pieces between points with rate and acceleration, as a JointTrajectory has them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy

from rotor_core.errors import ContractError
from rotor_core.given import increasing, numbers


class JointPlan:
    """Motion of several joints; it rests at its ends outside.

    Args:
        times: increasing, (m,) s, m >= 1.
        points: angles, rates and accelerations there, (m, 3, n).

    Raises:
        ContractError: shapes that do not fit, times that do not increase, or numbers that are not
            finite.
    """

    def __init__(self, times: np.ndarray, points: np.ndarray) -> None:
        times = increasing("joint plan: times", times)
        if not len(times):
            raise ContractError("joint plan: needs at least one point, got none.")
        points = numbers("joint plan: points", points, len(times), 3, None)
        self.times, self.points = times, points
        self._pieces = []
        if len(times) > 1 and points.shape[2]:
            pieces = scipy.interpolate.BPoly.from_derivatives(times, points)
            self._pieces = [pieces, pieces.derivative(), pieces.derivative(2)]

    @property
    def duration(self) -> float:
        """End of the last move, s."""
        return float(self.times[-1])

    def sample(self, t: float | np.ndarray) -> np.ndarray:
        """Angles, rates and accelerations at times t (...), (..., n, 3)."""
        t = np.asarray(t, float)
        begins, ends = t <= self.times[0], t >= self.times[-1]
        out = np.zeros((*t.shape, self.points.shape[2], 3))
        out[begins, :, 0] = self.points[0, 0]
        out[ends & ~begins, :, 0] = self.points[-1, 0]
        moves = ~(begins | ends)
        if moves.any():
            out[moves] = np.stack([piece(t[moves]) for piece in self._pieces], axis=-1)
        return out

    def fastest(self) -> np.ndarray:
        """Largest rates on the way, (n,): sampled 50 times per piece."""
        if not self._pieces:
            return np.zeros(self.points.shape[2])
        fine = np.concatenate([np.linspace(a, b, 51) for a, b in pairwise(self.times)])
        return np.abs(self._pieces[1](fine)).max(axis=0)
