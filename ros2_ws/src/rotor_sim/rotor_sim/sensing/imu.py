"""Inertial measurement units of all vehicles: specific force and body rate at the base link."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.sensing import Imu
from rotor_core.math.rotations import body_axes
from rotor_core.state import MOTION, State
from rotor_sim.sensing.inertial import InertialModel, feel_forces
from rotor_sim.sensing.sensor import Channel, SensorKind
from rotor_sim.shared import shared

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation

NO_ESTIMATE = -1.0
"""First element of a covariance that says "there is no estimate" (sensor_msgs/Imu)."""


def specific_force(motion: np.ndarray, gravity: float) -> np.ndarray:
    """Specific force that an ideal accelerometer at the origin of each body measures, in body axes.

    Args:
        motion: (n, 19), acceleration of the origin in W in columns 13 to 15.
        gravity: m/s^2, along -z.

    Returns:
        (n, 3) m/s^2: ``R_WB^T (a_WB - g)``; a body at rest shows +g upwards.
    """
    a_W = State(motion).acceleration + np.array([0.0, 0.0, gravity])
    return body_axes(State(motion).attitude, a_W)


class ImuSensor:
    """Noisy samples of all vehicles; the same seed gives the same stream.

    Accelerometers tell the mean since the last sample, as real ones integrate: what a snap or an impact does to the
    velocity is in it. The first sample is that of the instant.

    Args:
        keys: noise and biases.
        simulation: whose vehicles.
        seed: of the stream.
    """

    def __init__(self, keys: Imu, simulation: Simulation, seed: np.random.SeedSequence) -> None:
        self._simulation, self._seed = simulation, seed
        self._gravity = simulation.scenario.environment.gravity_m_s2
        self._deviation = np.repeat([keys.accelerometer_noise_m_s2, keys.gyroscope_noise_rad_s], 3)
        self._is_noisy = bool(self._deviation.any())
        wandering = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0))
        self._errors = InertialModel(keys, simulation.n_vehicles, 1.0 / keys.rate_hz, wandering)
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)
        self._errors.reset()
        self.forget()

    def forget(self) -> None:
        """The state has jumped: nothing has been felt on the way."""
        self._before, self._sampled_at = np.zeros((0, 0)), np.inf
        self._has_strangers = False
        """Whether vehicles have come since the last sample."""

    def take_over(self, other: ImuSensor) -> None:
        """Go on with the errors of the same vehicles in another world."""
        names = [s.names[: s.n_vehicles] for s in (self._simulation, other._simulation)]
        mine, theirs = shared(*names)
        self._random = copy.deepcopy(other._random)
        self._errors.take_over(other._errors, mine, theirs)
        if other._before.size:
            self._before = np.full((self._simulation.n_vehicles, MOTION), np.nan)
            self._before[mine], self._sampled_at = other._before[theirs], other._sampled_at
            self._has_strangers = True

    def sense(self) -> np.ndarray:
        """Specific force and body rate, (n_vehicles, 6) m/s^2 and rad/s in body axes."""
        now = self._simulation.time
        motion = self._simulation.engine.motion[: self._simulation.n_vehicles].copy()
        ideal = np.empty((len(motion), 6))
        ideal[:, 3:] = State(motion).body_rate
        since = now - self._sampled_at
        of_the_instant = np.arange(0 if since > 0.0 else len(motion))
        if since > 0.0:
            feel_forces(self._before, motion, since, self._gravity, ideal)
            if self._has_strangers:
                of_the_instant = np.flatnonzero(~np.isfinite(self._before).all(axis=1))
        if len(of_the_instant):
            ideal[of_the_instant, :3] = specific_force(motion[of_the_instant], self._gravity)
        self._before, self._sampled_at, self._has_strangers = motion, now, False
        if self._is_noisy:
            ideal = ideal + self._deviation * self._random.standard_normal(ideal.shape)
        return self._errors.sample(ideal)


def channels(keys: Imu, model: Model) -> list[Channel]:
    """A topic per vehicle; the covariances are those of the noise."""
    constants = {"orientation.w": 1.0, "orientation_covariance[0]": NO_ESTIMATE}
    rate = np.sqrt(keys.rate_hz)  # densities to standard deviations of a sample
    for name, deviation in (
        (
            "angular_velocity_covariance",
            np.hypot(keys.gyroscope_noise_rad_s, keys.gyroscope_density_rad_s_sqrt_hz * rate),
        ),
        (
            "linear_acceleration_covariance",
            np.hypot(keys.accelerometer_noise_m_s2, keys.accelerometer_density_m_s2_sqrt_hz * rate),
        ),
    ):
        constants |= {f"{name}[{i}]": float(deviation) ** 2 for i in (0, 4, 8)}
    fields = tuple(
        f"{vector}.{axis}"
        for vector in ("linear_acceleration", "angular_velocity")
        for axis in "xyz"
    )
    return [
        Channel(f"{v.name}/imu", v.name, "sensor_msgs/msg/Imu", fields, constants)
        for v in model.vehicles
    ]


IMU = SensorKind(Imu, ImuSensor, channels)
