"""Pitot tube: differential pressure of the air that comes from ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.state import State
from rotor_sim.sensing.pressure import PressureKeys, PressureModel, channels
from rotor_sim.sensing.sensor import BodySensor, SensorKind


def differential_pressure(motion: np.ndarray, air: np.ndarray, density: float) -> float:
    """Half the density times the squared airspeed ahead, Pa; air from behind gives a negative one.

    Args:
        motion: of the body, (>= 13,).
        air: its velocity in the world, (3,) m/s.
        density: kg/m^3.
    """
    state = State(motion)
    ahead = float(quat2mat(state.attitude)[:, 0] @ (state.velocity - air))
    return 0.5 * density * ahead * abs(ahead)


@dataclass(frozen=True, kw_only=True)
class Pitot(PressureKeys):
    """Differential pressure of a pitot tube along the forward axis, wind included. Topic ``<body>/<name>``.

    Half the density of the ``environment.air`` times the squared airspeed ahead, negative from behind. ``noise_pa``:
    standard deviation per sample.
    """

    name: str = "pitot"


class PitotSensor(BodySensor[PressureModel]):
    """A pitot tube in a simulation."""

    def make(self, keys: Pitot, seed: np.random.SeedSequence) -> PressureModel:
        """Its model."""
        return PressureModel(keys, seed)

    def sense(self) -> np.ndarray:
        """The differential pressure, (1, 1) Pa."""
        density = self.simulation.scenario.environment.air.density
        ideal = differential_pressure(self.motion, self.simulation.air[self._row], density)
        return np.array([[self.model.sample(ideal)]])


PITOT = SensorKind(Pitot, PitotSensor, channels)
