"""Inertial measurement units of all vehicles: specific force and body rate at the base link."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Imu
from rotor_core.math.rotations import rotation_matrices
from rotor_core.state import State


def specific_force(motion: np.ndarray, gravity: float) -> np.ndarray:
    """Specific force that an ideal accelerometer at the origin of each body measures, in body axes.

    Args:
        motion: (n, 19), acceleration of the origin in W in columns 13 to 15.
        gravity: m/s^2, along -z.

    Returns:
        (n, 3) m/s^2: ``R_WB^T (a_WB - g)``; a body at rest shows +g upwards.
    """
    a_W = State(motion).acceleration + np.array([0.0, 0.0, gravity])
    return np.einsum("nji,nj->ni", rotation_matrices(State(motion).attitude), a_W)


class ImuSensor:
    """Noisy samples; the same seed gives the same stream.

    Args:
        imu: noise and biases.
        gravity: m/s^2.
        seed: of the run.
    """

    def __init__(self, imu: Imu, gravity: float, seed: int) -> None:
        self._imu, self._gravity = imu, gravity
        self._seed = np.random.SeedSequence(seed, spawn_key=(1,))
        self._bias = np.array([*imu.accelerometer_bias_m_s2, *imu.gyroscope_bias_rad_s])
        self._deviation = np.repeat([imu.accelerometer_noise_m_s2, imu.gyroscope_noise_rad_s], 3)
        self.reset()

    def reset(self) -> None:
        """Repeat the random stream."""
        self._random = np.random.default_rng(self._seed)

    def sense(self, motion: np.ndarray) -> np.ndarray:
        """Specific force and body rate, (n, 6) m/s^2 and rad/s in body axes."""
        ideal = np.hstack([specific_force(motion, self._gravity), State(motion).body_rate])
        if not self._deviation.any():
            return ideal + self._bias
        return ideal + self._bias + self._deviation * self._random.standard_normal(ideal.shape)
