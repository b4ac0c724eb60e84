"""Pitot tube: differential pressure of the air that comes from ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Model
from rotor_core.config.sensing import PitotErrors
from rotor_core.state import State
from rotor_sim.sensing.sensor import BodyKeys, BodySensor, Channel, SensorKind

if TYPE_CHECKING:
    from rotor_sim.sensing.earth import Earth


class PitotModel:
    """Samples of one pitot tube in air of a density in kg/m^3."""

    def __init__(self, errors: PitotErrors, density: float, seed: np.random.SeedSequence) -> None:
        self._errors, self._density, self._seed = errors, density, seed
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)

    def sample(self, motion: np.ndarray, air: np.ndarray) -> float:
        """Differential pressure, Pa, of a body with the motion (>= 13,) in air that moves with ``air`` (3,) m/s.

        Air from behind gives a negative one.
        """
        state = State(motion)
        ahead = float(quat2mat(state.attitude)[:, 0] @ (state.velocity - air))
        ideal = 0.5 * self._density * ahead * abs(ahead)
        return float(
            ideal + self._errors.bias_pa + self._errors.noise_pa * self._random.standard_normal()
        )


@dataclass(frozen=True, kw_only=True)
class Pitot(BodyKeys, PitotErrors):
    """Differential pressure of a pitot tube along the forward axis, wind included. Topic ``<body>/<name>``.

    Half the density of the ``environment.air`` times the squared airspeed ahead, negative from behind. ``noise_pa``:
    standard deviation per sample.
    """

    name: str = "pitot"


class PitotSensor(BodySensor[PitotModel]):
    """A pitot tube in a simulation."""

    def make(self, keys: Pitot, earth: Earth, seed: np.random.SeedSequence) -> PitotModel:
        """Its model."""
        return PitotModel(keys, self.simulation.scenario.environment.air.density, seed)

    def sense(self) -> np.ndarray:
        """The differential pressure, (1, 1) Pa."""
        return np.array([[self.model.sample(self.motion, self.simulation.air)]])


def channels(keys: Pitot, model: Model) -> list[Channel]:
    """One topic."""
    topic, constants = f"{keys.body}/{keys.name}", {"variance": keys.noise_pa**2}
    return [
        Channel(topic, keys.body, "sensor_msgs/msg/FluidPressure", ("fluid_pressure",), constants)
    ]


PITOT = SensorKind(Pitot, PitotSensor, channels)
