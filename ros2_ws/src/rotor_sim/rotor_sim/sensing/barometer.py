"""Barometer: pressure of the standard atmosphere at the height of a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.state import State
from rotor_sim.sensing.pressure import PressureKeys, PressureModel, channels
from rotor_sim.sensing.sensor import BodySensor, SensorKind


@dataclass(frozen=True, kw_only=True)
class Barometer(PressureKeys):
    """Pressure of the air (standard atmosphere, ``environment.air.altitude_m`` at z = 0). Topic ``<body>/<name>``.

    ``noise_pa``: standard deviation per sample; ``bias_pa``: as of weather.
    """

    name: str = "barometer"


class BarometerSensor(BodySensor[PressureModel]):
    """A barometer in a simulation."""

    def make(self, keys: Barometer, seed: np.random.SeedSequence) -> PressureModel:
        """Its model."""
        return PressureModel(keys, seed)

    def sense(self) -> np.ndarray:
        """The pressure, (1, 1) Pa."""
        z = float(State(self.motion).position[2])
        return np.array([[self.model.sample(self.earth.pressure(z))]])


BAROMETER = SensorKind(Barometer, BarometerSensor, channels)
