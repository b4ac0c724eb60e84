"""Moving air: steady wind, gusts, and Dryden turbulence from a seeded random stream.

Sampled once per control period and held. Equations (W.n), docs/theory/rotors_and_air.md. Source:
MIL-F-8785C, Flying qualities of piloted airplanes, 1980, sections 3.7.2 to 3.7.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.linalg import expm, solve_continuous_lyapunov

from rotor_core.config.environment import Turbulence, Wind
from rotor_core.errors import ModelError

FEET_PER_METRE = 1.0 / 0.3048


def dryden_scales(turbulence: Turbulence) -> tuple[np.ndarray, np.ndarray]:
    """Lengths, (3,) m, and standard deviations, (3,) m/s, along, across and vertical (W.2)."""
    h = turbulence.altitude_m * FEET_PER_METRE
    shape = 0.177 + 0.000823 * h
    along = h / shape**1.2 / FEET_PER_METRE
    vertical = 0.1 * turbulence.wind_at_6m_m_s
    horizontal = vertical / shape**0.4
    lengths = np.array([along, along, turbulence.altitude_m])
    return lengths, np.array([horizontal, horizontal, vertical])


class DrydenProcess:
    """Gusts (u, v, w) as linear filters of white noise, sampled exactly (W.3).

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
        self._step = expm(A * period)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                stationary = solve_continuous_lyapunov(A, -B @ B.T)
                self._start = np.linalg.cholesky(stationary)
            except (RuntimeWarning, np.linalg.LinAlgError) as error:
                raise ModelError(
                    f"turbulence: an airspeed of {turbulence.airspeed_m_s:g} m/s over lengths of {lengths.min():g} to "
                    f"{lengths.max():g} m gives no spectrum that can be computed. Use values of real air."
                ) from error
        noise = stationary - self._step @ stationary @ self._step.T
        values, vectors = np.linalg.eigh(noise)
        self._noise = vectors * np.sqrt(np.maximum(values, 0.0))
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


class WindField:
    """Velocity of the air over time, the same everywhere.

    Turbulence lies along the steady wind: u along it, v across to its left, w up.
    """

    def __init__(self, wind: Wind, period: float, seed: int) -> None:
        self._wind = wind
        self._steady = np.array(wind.steady_m_s)
        self._process = wind.turbulence and DrydenProcess(wind.turbulence, period, seed)
        x, y = self._steady[:2]
        level = np.hypot(x, y)
        c, s = (x / level, y / level) if level > 0.0 else (1.0, 0.0)
        self._along = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def reset(self) -> None:
        """Repeat the random stream."""
        if self._process:
            self._process.reset()

    def sample(self, t: float) -> np.ndarray:
        """Velocity at t s from the start, in W, (3,) m/s; call it once per period, in order."""
        out = self._steady.copy()
        for gust in self._wind.gusts:
            s = (t - gust.start_s) / gust.duration_s
            if 0.0 < s < 1.0:
                out += 0.5 * (1.0 - np.cos(2.0 * np.pi * s)) * np.array(gust.peak_m_s)  # (W.1)
        if self._process:
            out += self._along @ self._process.sample()
        return out


def wind_samples(wind: Wind, period: float, seeds: Sequence[int], n_periods: int) -> np.ndarray:
    """Velocities of the air for many worlds, (n_worlds, n_periods, 3) m/s: one stream per seed.

    What :meth:`rotor_dynamics.batch.Batch.rollout` takes; the same that single worlds with these seeds see.
    """
    out = np.empty((len(seeds), n_periods, 3))
    for world, seed in zip(out, seeds, strict=True):
        field = WindField(wind, period, seed)
        for i in range(n_periods):
            world[i] = field.sample(i * period)
    return out
