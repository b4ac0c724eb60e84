"""Errors of accelerometers and gyroscopes: noise, biases that wander, saturation."""

from __future__ import annotations

from math import sqrt

import numpy as np

from rotor_core.config.sensing import InertialErrors
from rotor_core.kernels.jit import constants, inlined, kernel

NOISE, WALK, LIMIT = constants(0, 1, 2)
"""Rows of the errors of a unit: deviation of a sample, and of the step of a bias after it; the most that is told."""

ALIKE = 1e-9
"""Samples so much more or less than a period after the last one come after a period, s: times are rounded."""


@inlined
def add_errors(errors, period, since, normals, biases, told):
    """Let units that feel ``told`` (n, 6) tell of it with their errors; their biases wander.

    Args:
        errors: (3, 6).
        period, since: between samples, and since the last one, whose mean is told, s.
        normals: random numbers, (2 n, 6), those of noise first; or none, (0, 6).
        biases, told: (n, 6), written.
    """
    n = told.shape[0]
    longer = 1.0  # in roots of periods
    if since > period + ALIKE or since < period - ALIKE:
        longer = sqrt(since / period)
    for i in range(n):
        for j in range(6):
            told[i, j] += biases[i, j]
            if normals.shape[0] > 0:
                told[i, j] += errors[NOISE, j] / longer * normals[i, j]
                biases[i, j] += errors[WALK, j] * longer * normals[n + i, j]
            told[i, j] = min(max(told[i, j], -errors[LIMIT, j]), errors[LIMIT, j])


@kernel
def _sample(errors, period, since, normals, biases, told):
    add_errors(errors, period, since, normals, biases, told)


class InertialModel:
    """Errors of some units that are sampled together.

    Args:
        errors: of each.
        count: units.
        period: between samples, s.
        seed: of the random stream.
    """

    def __init__(
        self, errors: InertialErrors, count: int, period: float, seed: np.random.SeedSequence
    ) -> None:
        def both(of_accelerometer: float, of_gyroscope: float) -> np.ndarray:
            return np.repeat([of_accelerometer, of_gyroscope], 3).astype(float)

        self._seed, self._count, self._period = seed, count, period
        self._first = np.array([*errors.accelerometer_bias_m_s2, *errors.gyroscope_bias_rad_s])
        densities = (
            errors.accelerometer_density_m_s2_sqrt_hz,
            errors.gyroscope_density_rad_s_sqrt_hz,
        )
        noise = both(*densities) / np.sqrt(period)
        walks = errors.accelerometer_walk_m_s3_sqrt_hz, errors.gyroscope_walk_rad_s2_sqrt_hz
        walk = both(*walks) * np.sqrt(period)
        largest = errors.accelerometer_limit_m_s2, errors.gyroscope_limit_rad_s
        limit = both(*(np.inf if value is None else value for value in largest))
        self._draws = bool(noise.any() or walk.any())
        self.errors = np.array([noise, walk, limit])
        """As :func:`add_errors` takes them."""
        self.reset()

    def reset(self) -> None:
        """Begin the random stream and the biases again."""
        self._random = np.random.default_rng(self._seed)
        self.biases = np.tile(self._first, (self._count, 1))

    def ahead(self, samples: int) -> np.ndarray:
        """Random numbers of so many samples, which are made then, (samples, 2 count, 6), or none, (samples, 0, 6)."""
        drawn = self._random.standard_normal if self._draws else np.zeros
        return drawn((samples, 2 * self._count * self._draws, 6))

    def sample(self, ideal: np.ndarray, since: float | None = None) -> np.ndarray:
        """What units tell whose true specific forces and body rates are ``ideal``, (count, 6).

        ``since``: s since the last sample, whose mean ``ideal`` is; left out: a period.
        """
        told = np.array(ideal, float)
        period = self._period
        _sample(
            self.errors, period, period if since is None else since, self.ahead(1)[0], self.biases, told
        )  # fmt: skip
        return told
