"""Rangefinder: distance along a ray from a body to the ground or an obstacle."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from transforms3d.quaternions import quat2mat

from rotor_core.clearance.rays import Rays
from rotor_core.clearance.solids import obstacle_solids
from rotor_core.config.model import Model
from rotor_core.config.vehicles.body import Vector, check_name
from rotor_core.config.yaml.structure import bounded
from rotor_core.math.rotation_vectors import wxyz_from
from rotor_core.state import State
from rotor_sim.sensing.sensor import Channel, SensorKind

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation

FARTHEST = 1e4
"""No obstacle is farther away than that, m."""


@dataclass(frozen=True)
class Rangefinder:
    """Distance along a ray to the ground (``environment.ground_m``) or the nearest obstacle.

    The ray begins at ``position_m`` and goes along ``direction``, both in body axes; topic and frame
    ``<body>/<name>``, x along the ray. Too near is -inf, too far +inf (REP 117). ``noise_m``: standard
    deviation per sample.
    """

    type: str
    body: str
    name: str = "rangefinder"
    rate_hz: float = bounded(50.0, gt=0.0, le=1000.0)
    position_m: Vector = (0.0, 0.0, 0.0)
    direction: Vector = (0.0, 0.0, -1.0)
    nearest_m: float = bounded(0.02, ge=0.0)
    farthest_m: float = bounded(4.0, gt=0.0)
    noise_m: float = bounded(0.0, ge=0.0)

    def __post_init__(self) -> None:
        check_name(self.name)
        if not 0.0 < math.hypot(*self.direction) < math.inf:
            raise ValueError(f"direction must have a length, got {list(self.direction)}.")
        if not self.nearest_m < self.farthest_m:
            raise ValueError(
                f"nearest_m must be below farthest_m, got {self.nearest_m:g} and {self.farthest_m:g}."
            )


class RangefinderSensor:
    """One ray of one body.

    Args:
        keys: where it is and what it can measure.
        simulation: whose body.
        seed: of the stream of its noise.
    """

    def __init__(
        self, keys: Rangefinder, simulation: Simulation, seed: np.random.SeedSequence
    ) -> None:
        self._keys, self._simulation, self._seed = keys, simulation, seed
        self._row = simulation.body_names.index(keys.body)
        self._position = np.array(keys.position_m)
        self._direction = np.array(keys.direction) / np.linalg.norm(keys.direction)
        environment = simulation.scenario.environment
        self._ground = environment.ground_m
        self._rays = Rays([s for o in environment.obstacles for s in obstacle_solids(o)])
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again."""
        self._random = np.random.default_rng(self._seed)

    def distance(self) -> float:
        """True distance to what is nearest along the ray, m; inf: nothing is there."""
        state = State(self._simulation.engine.motion[self._row])
        R = quat2mat(state.attitude)
        start, along = state.position + R @ self._position, R @ self._direction
        down = start[2] - self._ground
        nearest = max(down, 0.0) / -along[2] if along[2] < 0.0 else math.inf
        return min(nearest, self._rays.distance(start, along, FARTHEST))

    def take_over(self, other: RangefinderSensor) -> None:
        """Go on with the noise of the same sensor in another world."""
        self._random = copy.deepcopy(other._random)

    def sense(self) -> np.ndarray:
        """The measured distance, (1, 1) m."""
        measured = self.distance() + self._keys.noise_m * self._random.standard_normal()
        if measured < self._keys.nearest_m:
            measured = -math.inf
        elif measured > self._keys.farthest_m:
            measured = math.inf
        return np.array([[measured]])


def channels(keys: Rangefinder, model: Model) -> list[Channel]:
    """One topic, in a frame whose x axis is the ray (`sensor_msgs/Range`)."""
    constants = {
        "radiation_type": 1,  # infrared
        "min_range": keys.nearest_m,
        "max_range": keys.farthest_m,
    }
    topic = f"{keys.body}/{keys.name}"
    turn = scipy.spatial.transform.Rotation.align_vectors([keys.direction], [[1.0, 0.0, 0.0]])[0]
    mount = keys.position_m, wxyz_from(turn).tolist()
    return [Channel(topic, keys.body, "sensor_msgs/msg/Range", ("range",), constants, mount)]


RANGEFINDER = SensorKind(Rangefinder, RangefinderSensor, channels)
