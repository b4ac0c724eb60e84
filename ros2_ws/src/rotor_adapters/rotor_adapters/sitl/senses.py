"""Sensors of the autopilots of a team: inertial units, and those that know where on the earth they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rotor_adapters.frames import (
    ACCELERATION,
    PLACE,
    RATE,
    SEEN,
    swap_body,
    swap_world,
    write_seen,
)
from rotor_core.config.counterparts.autopilots import OnBoard
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.extras import explained
from rotor_core.state import State
from rotor_sim.sensing.gps import GpsModel
from rotor_sim.sensing.inertial import InertialModel
from rotor_sim.sensing.magnetometer import MagnetometerModel
from rotor_sim.sensing.pitot import differential_pressure
from rotor_sim.sensing.pressure import PressureModel

if TYPE_CHECKING:
    from rotor_sim.sensing.earth import Earth

STREAM = 4
"""First word of the random streams of sensors for autopilots; those before are of the simulation's own."""

INERTIAL = slice(ACCELERATION.start, RATE.stop)
"""Accelerometer and gyroscope in a row of what is seen."""


@dataclass
class Sample:
    """Samples of one vehicle in one period; None: nothing new.

    Attributes:
        seen: accelerometer and gyroscope with errors, true place, velocity and attitude: a row of
            :func:`rotor_adapters.frames.write_seen`, as a list.
        inertial: true specific force and body rate, as in ``seen``.
        field: of the magnetometer, (3,) T in forward-right-down.
        pressure, temperature: of the barometer, Pa and degrees Celsius.
        differential: of the pitot tube, Pa.
        fix, velocity: latitude and longitude in degrees and height in m, and m/s in north-east-down.
    """

    seen: list[float]
    inertial: list[float]
    field: np.ndarray | None = None
    pressure: float | None = None
    temperature: float = 0.0
    differential: float | None = None
    fix: np.ndarray | None = None
    velocity: np.ndarray | None = None

    @property
    def position(self) -> tuple[float, float, float]:
        """True place in our axes, m."""
        north, east, down = self.seen[PLACE]
        return east, north, -down


def due(k: int, period: float, rate: float) -> bool:
    """True if a sensor of a rate in Hz has a sample in period k, of s."""
    return k == 0 or int(k * period * rate + SAME_TIME) > int((k - 1) * period * rate + SAME_TIME)


class Instruments:
    """Sensors on board of one vehicle besides its inertial unit."""

    def __init__(self, scenario: Scenario, row: int, on_board: OnBoard, earth: Earth) -> None:
        environment = scenario.environment
        self._earth, self._period = earth, scenario.time.control_s
        self._air, self._density = np.array(environment.wind.steady_m_s), environment.air.density
        self._field = on_board.magnetometer and MagnetometerModel(
            on_board.magnetometer, earth, _seed(scenario, 1, row)
        )
        self._pressure = on_board.barometer and PressureModel(
            on_board.barometer, _seed(scenario, 2, row)
        )
        self._gps = on_board.gps and GpsModel(on_board.gps, earth, _seed(scenario, 3, row))
        self._pitot = on_board.pitot and PressureModel(on_board.pitot, _seed(scenario, 4, row))

    def reset(self) -> None:
        """Begin all random streams again."""
        for instrument in (self._field, self._pressure, self._gps, self._pitot):
            if instrument:
                instrument.reset()

    def read(self, motion: np.ndarray, k: int, sample: Sample) -> None:
        """Add to a sample what is new in period k, for the motion (19,) of the vehicle."""
        period = self._period
        if self._field and due(k, period, self._field.errors.rate_hz):
            sample.field = swap_body(self._field.sample(motion))
        if self._pressure and due(k, period, self._pressure.errors.rate_hz):
            z = float(State(motion).position[2])
            sample.pressure = self._pressure.sample(self._earth.pressure(z))
            sample.temperature = self._earth.temperature(z)
        if self._pitot and due(k, period, self._pitot.errors.rate_hz):
            ideal = differential_pressure(motion, self._air, self._density)
            sample.differential = self._pitot.sample(ideal)
        if self._gps:
            if due(k, period, self._gps.errors.rate_hz):
                self._gps.take(k * period, motion)
            told = self._gps.told(k * period)
            if told is not None:
                sample.fix, sample.velocity = told[0], swap_world(told[1])


class Senses:
    """Sensors of the vehicles of a team.

    Args:
        scenario: where they fly.
        rows: of the vehicles in the states.
        on_board: sensors and their errors; None: inertial units without errors, and nothing else.
    """

    def __init__(self, scenario: Scenario, rows: list[int], on_board: OnBoard | None) -> None:
        self._rows, self._gravity = np.array(rows), scenario.environment.gravity_m_s2
        self._seen, self._before = np.zeros((len(rows), SEEN)), np.zeros((0, 0))
        self._period = scenario.time.control_s
        self._inertial: InertialModel | None = None
        self._instruments: list[Instruments] = []
        if on_board is None:
            return
        with explained():
            from rotor_sim.sensing.earth import Earth

            earth = Earth(scenario.environment)
        seed = _seed(scenario, 0, *rows)
        self._inertial = InertialModel(on_board.imu, len(rows), self._period, seed)
        self._instruments = [Instruments(scenario, row, on_board, earth) for row in rows]

    def reset(self) -> None:
        """Begin all random streams again."""
        self._before = np.zeros((0, 0))
        if self._inertial is not None:
            self._inertial.reset()
        for instruments in self._instruments:
            instruments.reset()

    def sample(self, states: np.ndarray, k: int, since: float | None = None) -> list[Sample]:
        """Samples of each vehicle in period k of a flight, for ``states`` (N, 19).

        ``since``: s since the last sample; left out: a period.
        """
        since = self._period if since is None else since
        known = len(self._before) == len(states)
        before = self._before if known else states
        write_seen(before, states, since if known else 0.0, self._rows, self._gravity, self._seen)
        self._before = states.copy()
        true = self._seen[:, INERTIAL].tolist()
        if self._inertial is not None:
            told = self._inertial.sample(self._seen[:, INERTIAL], since if known else None)
            self._seen[:, INERTIAL] = told
        out = [Sample(*rows) for rows in zip(self._seen.tolist(), true, strict=True)]
        for instruments, row, sample in zip(self._instruments, self._rows, out, strict=False):
            instruments.read(states[row], k, sample)
        return out


def _seed(scenario: Scenario, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(scenario.seed, spawn_key=(STREAM, *key))
