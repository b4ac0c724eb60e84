"""Sensors of a pressure: noise and bias."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.sensing import PressureErrors
from rotor_sim.sensing.sensor import BodyKeys, Channel


class PressureModel:
    """Samples of one sensor."""

    def __init__(self, errors: PressureErrors, seed: np.random.SeedSequence) -> None:
        self.errors, self._seed = errors, seed
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)

    def sample(self, ideal: float) -> float:
        """Sample of a pressure in Pa."""
        noise = self.errors.noise_pa * self._random.standard_normal()
        return float(ideal + self.errors.bias_pa + noise)


class PressureKeys(BodyKeys, PressureErrors):
    """Keys of sensors that tell a pressure on board."""


def channels(keys: PressureKeys, model: Model) -> list[Channel]:
    """One topic, ``<body>/<name>``."""
    topic, constants = f"{keys.body}/{keys.name}", {"variance": keys.noise_pa**2}
    return [
        Channel(topic, keys.body, "sensor_msgs/msg/FluidPressure", ("fluid_pressure",), constants)
    ]
