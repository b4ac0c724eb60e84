"""Sensors on board of a simulation: those that every flight has, and those that its scenario adds."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rotor_core.config.extensions import SENSORS
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import steps_of
from rotor_core.errors import ConfigError
from rotor_sim.sensing.imu import IMU
from rotor_sim.sensing.load_cell import LOAD_CELL
from rotor_sim.sensing.sensor import Forgetful, Lasting, Sensor, SensorKind

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation

SENSOR_STREAMS = 3
"""First word of the random streams of the sensors in ``sensing.sensors``; 0 to 2 are those of pose, imu, load cell."""


def sensors_of(scenario: Scenario) -> list[tuple[SensorKind, Any]]:
    """Kinds and keys of all sensors on board: inertial units, load cells, then those of ``sensing.sensors``.

    Their rates are those that they have: of whole steps of the simulation.
    """
    sensing, step = scenario.sensing, scenario.time.step_s
    found = [(IMU, sensing.imu), (LOAD_CELL, sensing.load_cell)]
    found += [(SENSORS[keys.type], keys) for keys in sensing.sensors]
    return [
        (kind, replace(keys, rate_hz=1.0 / (steps_of(keys.rate_hz, step) * step)))
        for kind, keys in found
    ]


def _check_topics(scenario: Scenario, kinds: list[tuple[SensorKind, Any]]) -> None:
    """Refuse sensors that would publish on one topic.

    Raises:
        ConfigError: two do.
    """
    topics = Counter(c.topic for kind, keys in kinds for c in kind.channels(keys, scenario.model))
    if twice := [topic for topic, count in topics.items() if count > 1]:
        raise ConfigError(
            f"sensing.sensors: {topics[twice[0]]} sensors would publish on /{twice[0]}. Give each a `name` of its own."
        )


class Sensors:
    """All sensors on board of a simulation, in the order of :func:`sensors_of`."""

    def __init__(self, simulation: Simulation) -> None:
        kinds = sensors_of(simulation.scenario)
        _check_topics(simulation.scenario, kinds)
        topics = [
            " ".join(c.topic for c in kind.channels(keys, simulation.scenario.model))
            for kind, keys in kinds[2:]
        ]
        # by its topics, so that one sensor more does not change the noise of another
        own = [(SENSOR_STREAMS, zlib.crc32(names.encode())) for names in topics]
        seeds = [
            np.random.SeedSequence(simulation.seed, spawn_key=key) for key in [(1,), (2,), *own]
        ]
        self._kinds = kinds
        self._all: list[Sensor] = [
            kind.maker(keys, simulation, seed)
            for (kind, keys), seed in zip(kinds, seeds, strict=True)
        ]
        self.imu, self.load_cells = self._all[:2]

    def __getitem__(self, i: int) -> Sensor:
        return self._all[i]

    def __len__(self) -> int:
        return len(self._all)

    def take_over(self, other: Sensors) -> None:
        """Let those that another world has too, and that last, go on with their errors."""
        left = list(zip(other._kinds, other._all, strict=True))
        for kind, sensor in zip(self._kinds, self._all, strict=True):
            same = next((entry for entry in left if entry[0] == kind), None)
            if same is not None and isinstance(sensor, Lasting):
                left.remove(same)
                sensor.take_over(same[1])

    def forget(self) -> None:
        """The state has jumped: what sensors with a memory have of the one before is void."""
        for sensor in self._all:
            if isinstance(sensor, Forgetful):
                sensor.forget()

    def reset(self) -> None:
        """Begin all random streams again."""
        for sensor in self._all:
            sensor.reset()
