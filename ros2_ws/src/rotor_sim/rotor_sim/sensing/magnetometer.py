"""Magnetometer: the field of the earth in the axes of a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Model
from rotor_core.config.sensing import MagnetometerErrors
from rotor_core.state import State
from rotor_sim.sensing.sensor import BodyKeys, BodySensor, Channel, SensorKind

if TYPE_CHECKING:
    from rotor_sim.sensing.earth import Earth


class MagnetometerModel:
    """Samples of one magnetometer."""

    def __init__(
        self, errors: MagnetometerErrors, earth: Earth, seed: np.random.SeedSequence
    ) -> None:
        self.errors, self._field, self._seed = errors, earth.field, seed
        self._bias = np.array(errors.bias_t)
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)

    def sample(self, motion: np.ndarray) -> np.ndarray:
        """Field in body axes, (3,) T, of a body with the motion (>= 13,)."""
        ideal = quat2mat(State(motion).attitude).T @ self._field
        return ideal + self._bias + self.errors.noise_t * self._random.standard_normal(3)


@dataclass(frozen=True, kw_only=True)
class Magnetometer(BodyKeys, MagnetometerErrors):
    """Magnetic field of the earth (World Magnetic Model at the ``environment.origin``), in body axes.

    Topic ``<body>/<name>``. ``noise_t``: standard deviation per sample; ``bias_t``: in body axes.
    """

    name: str = "magnetometer"


class MagnetometerSensor(BodySensor[MagnetometerModel]):
    """A magnetometer in a simulation."""

    def make(self, keys: Magnetometer, seed: np.random.SeedSequence) -> MagnetometerModel:
        """Its model."""
        return MagnetometerModel(keys, self.earth, seed)

    def sense(self) -> np.ndarray:
        """The field, (1, 3) T."""
        return self.model.sample(self.motion)[None]


def channels(keys: Magnetometer, model: Model) -> list[Channel]:
    """One topic."""
    constants = {f"magnetic_field_covariance[{i}]": keys.noise_t**2 for i in (0, 4, 8)}
    fields = tuple(f"magnetic_field.{axis}" for axis in "xyz")
    topic = f"{keys.body}/{keys.name}"
    return [Channel(topic, keys.body, "sensor_msgs/msg/MagneticField", fields, constants)]


MAGNETOMETER = SensorKind(Magnetometer, MagnetometerSensor, channels)
