"""Barometer: pressure of the standard atmosphere at the height of a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.sensing import BarometerErrors
from rotor_core.state import State
from rotor_sim.sensing.sensor import BodyKeys, BodySensor, Channel, SensorKind

if TYPE_CHECKING:
    from rotor_sim.sensing.earth import Earth


class BarometerModel:
    """Samples of one barometer."""

    def __init__(self, errors: BarometerErrors, earth: Earth, seed: np.random.SeedSequence) -> None:
        self._errors, self._earth, self._seed = errors, earth, seed
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)

    def sample(self, motion: np.ndarray) -> float:
        """Pressure at a body with the motion (>= 13,), Pa."""
        ideal = self._earth.pressure(float(State(motion).position[2]))
        return float(
            ideal + self._errors.bias_pa + self._errors.noise_pa * self._random.standard_normal()
        )


@dataclass(frozen=True, kw_only=True)
class Barometer(BodyKeys, BarometerErrors):
    """Pressure of the air (standard atmosphere, ``environment.air.altitude_m`` at z = 0). Topic ``<body>/<name>``.

    ``noise_pa``: standard deviation per sample; ``bias_pa``: as of weather.
    """

    name: str = "barometer"


class BarometerSensor(BodySensor[BarometerModel]):
    """A barometer in a simulation."""

    def make(self, keys: Barometer, earth: Earth, seed: np.random.SeedSequence) -> BarometerModel:
        """Its model."""
        return BarometerModel(keys, earth, seed)

    def sense(self) -> np.ndarray:
        """The pressure, (1, 1) Pa."""
        return np.array([[self.model.sample(self.motion)]])


def channels(keys: Barometer, model: Model) -> list[Channel]:
    """One topic."""
    topic, constants = f"{keys.body}/{keys.name}", {"variance": keys.noise_pa**2}
    return [
        Channel(topic, keys.body, "sensor_msgs/msg/FluidPressure", ("fluid_pressure",), constants)
    ]


BAROMETER = SensorKind(Barometer, BarometerSensor, channels)
