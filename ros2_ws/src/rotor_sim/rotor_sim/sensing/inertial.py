"""Errors of accelerometers and gyroscopes: noise, biases that wander, saturation."""

from __future__ import annotations

import numpy as np

from rotor_core.config.sensing import InertialErrors


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

        self._seed, self._count = seed, count
        self._first = np.array([*errors.accelerometer_bias_m_s2, *errors.gyroscope_bias_rad_s])
        densities = (
            errors.accelerometer_density_m_s2_sqrt_hz,
            errors.gyroscope_density_rad_s_sqrt_hz,
        )
        self._noise = both(*densities) / np.sqrt(period)
        walks = errors.accelerometer_walk_m_s3_sqrt_hz, errors.gyroscope_walk_rad_s2_sqrt_hz
        self._walk = both(*walks) * np.sqrt(period)
        largest = errors.accelerometer_limit_m_s2, errors.gyroscope_limit_rad_s
        self._limit = both(*(np.inf if value is None else value for value in largest))
        self._draws = bool(self._noise.any() or self._walk.any())
        self.reset()

    def reset(self) -> None:
        """Begin the random stream and the biases again."""
        self._random = np.random.default_rng(self._seed)
        self._bias = np.tile(self._first, (self._count, 1))

    def sample(self, ideal: np.ndarray) -> np.ndarray:
        """What units tell whose true specific forces and body rates are ``ideal``, (count, 6)."""
        told = ideal + self._bias
        if self._draws:
            normal = self._random.standard_normal((2, self._count, 6))
            told += self._noise * normal[0]
            self._bias += self._walk * normal[1]
        return np.clip(told, -self._limit, self._limit)
