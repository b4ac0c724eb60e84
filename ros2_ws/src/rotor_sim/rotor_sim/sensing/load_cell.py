"""Load cells in the cables: the force that each cable exerts on its end a (the vehicle)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.sensing import LoadCell
from rotor_core.math import so3
from rotor_core.math.rotations import body_axes
from rotor_core.state import State
from rotor_sim.sensing.sensor import Channel, SensorKind

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation

FIELDS = ("wrench.force.x", "wrench.force.y", "wrench.force.z")


class LoadCellSensor:
    """Noisy samples of all cables; the same seed gives the same stream.

    Args:
        keys: noise and bias.
        simulation: whose cables.
        seed: of the stream.
    """

    def __init__(
        self, keys: LoadCell, simulation: Simulation, seed: np.random.SeedSequence
    ) -> None:
        self._keys, self._simulation, self._seed = keys, simulation, seed
        names = simulation.body_names
        ends = [c.a for c in simulation.scenario.model.cables]
        self._ends = np.array([names.index(a) if a in names else -1 for a in ends], int)
        self._attitudes = np.tile(np.array(so3.IDENTITY), (len(ends), 1))
        self._on_bodies = np.flatnonzero(self._ends >= 0)
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)

    def take_over(self, other: LoadCellSensor) -> None:
        """Go on with the random stream of another world."""
        self._random = copy.deepcopy(other._random)

    def sense(self) -> np.ndarray:
        """Force on every end a, in the axes of its body (of W where that is the world), (n_cables, 3) N."""
        engine = self._simulation.engine
        bodies = self._ends[self._on_bodies]
        self._attitudes[self._on_bodies] = State(engine.motion).attitude[bodies]
        directions = body_axes(self._attitudes, engine.directions)
        forces = (engine.tensions + self._keys.bias_n)[:, None] * directions
        if self._keys.noise_n > 0.0:
            forces = forces + self._keys.noise_n * self._random.standard_normal(forces.shape)
        return forces


def channels(keys: LoadCell, model: Model) -> list[Channel]:
    """A topic per cable."""
    return [
        Channel(f"{name}/load_cell", cable.a, "geometry_msgs/msg/WrenchStamped", FIELDS)
        for name, cable in zip(model.cable_names, model.cables, strict=True)
    ]


LOAD_CELL = SensorKind(LoadCell, LoadCellSensor, channels)
