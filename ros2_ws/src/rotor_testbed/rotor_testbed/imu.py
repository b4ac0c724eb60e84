"""Inertial units at the centres of mass: means over one control period, as units integrate inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import State
from rotor_testbed.settings import OnboardSettings


@dataclass(frozen=True)
class Reading:
    """One control period of all inertial units, in body axes.

    Attributes:
        mean_rate: mean body rate over the period, (n, 3) rad/s.
        rate: body rate at its end, with the same bias and a noise of its own, (n, 3) rad/s.
        specific_force: mean over the period, in the axes at its middle, (n, 3) m/s^2.
    """

    mean_rate: np.ndarray
    rate: np.ndarray
    specific_force: np.ndarray


class Imu:
    """Inertial units of n bodies.

    Args:
        n: bodies.
        settings: noise and biases.
        gravity: m/s^2.
        seed: of biases and noise.
    """

    def __init__(
        self,
        n: int,
        settings: OnboardSettings,
        gravity: float,
        seed: int | np.random.SeedSequence,
    ) -> None:
        self._settings = settings
        self._g = np.array([0.0, 0.0, -gravity])
        self._rng = np.random.default_rng(seed)
        self.rate_bias = settings.gyroscope_bias_rad_s * self._rng.standard_normal((n, 3))
        self.force_bias = settings.accelerometer_bias_m_s2 * self._rng.standard_normal((n, 3))

    def read(self, before: np.ndarray, after: np.ndarray, dt: float) -> Reading:
        """A reading between true states (n, 13) that are ``dt`` s apart."""
        start, end = rotation_from(State(before).attitude), rotation_from(State(after).attitude)
        turned = (start.inv() * end).as_rotvec()
        middle = start * Rotation.from_rotvec(0.5 * turned)
        force = middle.inv().apply((State(after).velocity - State(before).velocity) / dt - self._g)
        noise = self._rng.standard_normal((3, len(before), 3))
        gyro, accelerometer = (
            self._settings.gyroscope_noise_rad_s,
            self._settings.accelerometer_noise_m_s2,
        )
        return Reading(
            turned / dt + self.rate_bias + gyro * noise[0],
            State(after).body_rate + self.rate_bias + gyro * noise[1],
            force + self.force_bias + accelerometer * noise[2],
        )
