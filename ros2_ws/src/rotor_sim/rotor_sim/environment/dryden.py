"""Dryden turbulence that all bodies feel alike, from a seeded random stream.

Equations (V.2), (V.3), docs/theory/air.md. Source: MIL-F-8785C, Flying qualities of piloted airplanes, 1980, section
3.7.2.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy

from rotor_core.config.air.wind import Turbulence
from rotor_core.errors import ModelError

FEET_PER_METRE = 1.0 / 0.3048


def dryden_scales(turbulence: Turbulence) -> tuple[np.ndarray, np.ndarray]:
    """Lengths, (3,) m, and standard deviations, (3,) m/s, along, across and vertical (V.2)."""
    h = turbulence.altitude_m * FEET_PER_METRE
    shape = 0.177 + 0.000823 * h
    along = h / shape**1.2 / FEET_PER_METRE
    vertical = 0.1 * turbulence.wind_at_6m_m_s
    horizontal = vertical / shape**0.4
    lengths = np.array([along, along, turbulence.altitude_m])
    return lengths, np.array([horizontal, horizontal, vertical])


class DrydenProcess:
    """Gusts (u, v, w) as linear filters of white noise, sampled exactly (V.3).

    One first-order filter along the wind, two of second order across it, each in state space; the
    step from sample to sample is the matrix exponential, its noise the covariance that keeps the
    process stationary. It starts stationary.
    """

    def __init__(self, turbulence: Turbulence, period: float, seed: int) -> None:
        lengths, deviations = dryden_scales(turbulence)
        rates = turbulence.airspeed_m_s / lengths
        A, B, C = np.zeros((5, 5)), np.zeros((5, 3)), np.zeros((3, 5))
        A[0, 0], B[0, 0], C[0, 0] = -rates[0], np.sqrt(2.0 * rates[0]) * deviations[0], 1.0
        for i in (1, 2):
            a, k = rates[i], 2 * i - 1
            A[k : k + 2, k : k + 2] = [[0.0, 1.0], [-a * a, -2.0 * a]]
            B[k + 1, i] = 1.0
            C[i, k : k + 2] = deviations[i] * np.sqrt(a) * np.array([a, np.sqrt(3.0)])
        self._output = C
        self._step = scipy.linalg.expm(A * period)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                stationary = scipy.linalg.solve_continuous_lyapunov(A, -B @ B.T)
                self._start = np.linalg.cholesky(stationary)
            except (RuntimeWarning, np.linalg.LinAlgError) as error:
                raise ModelError(
                    f"turbulence: an airspeed of {turbulence.airspeed_m_s:g} m/s over lengths of {lengths.min():g} to "
                    f"{lengths.max():g} m gives no spectrum that can be computed. Use values of real air."
                ) from error
        noise = stationary - self._step @ stationary @ self._step.T
        values, vectors = np.linalg.eigh(noise)
        # the symmetric root: that of eigenvectors alone has signs that flip between neighbouring airs
        self._noise = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Repeat the random stream."""
        self._random = np.random.default_rng([self._seed, 0x77696E64])  # "wind"
        self._x = self._start @ self._random.standard_normal(5)

    def sample(self) -> np.ndarray:
        """Gusts now, (3,) m/s; the process moves on by one period."""
        now = self._output @ self._x
        self._x = self._step @ self._x + self._noise @ self._random.standard_normal(5)
        return now
