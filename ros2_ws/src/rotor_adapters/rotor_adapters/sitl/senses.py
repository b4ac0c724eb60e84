"""What the autopilots of a team sense: inertial units, and what knows where on the earth it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_adapters.frames import ACCELERATION, PLACE, RATE, SEEN, swap_body, swap_world, write_seen
from rotor_core.config.counterparts.autopilots import OnBoard
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.extras import explained
from rotor_core.state import State
from rotor_sim.sensing.barometer import BarometerModel
from rotor_sim.sensing.gps import GpsModel
from rotor_sim.sensing.inertial import InertialModel
from rotor_sim.sensing.magnetometer import MagnetometerModel
from rotor_sim.sensing.pitot import PitotModel

STREAM = 4
"""First word of the random streams of sensors for autopilots; those before are of the simulation's own."""


@dataclass
class Sample:
    """What one vehicle senses in one period; None: nothing new.

    Attributes:
        seen: accelerometer and gyroscope with errors, true place, velocity and attitude: a row of
            :func:`rotor_adapters.frames.write_seen`, as a list.
        field: of the magnetometer, (3,) T in forward-right-down.
        pressure, temperature: of the barometer, Pa and degrees Celsius.
        differential: of the pitot tube, Pa.
        fix, velocity: latitude and longitude in degrees and height in m, and m/s in north-east-down.
    """

    seen: list[float]
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


class Senses:
    """Sensors of the vehicles of a team.

    Args:
        scenario: where they fly.
        rows: of the vehicles in the states.
        on_board: sensors and their errors; None: inertial units without errors, and nothing else.
    """

    def __init__(self, scenario: Scenario, rows: list[int], on_board: OnBoard | None) -> None:
        self._rows, self._period = np.array(rows), scenario.time.control_s
        self._gravity = scenario.environment.gravity_m_s2
        self._seen = np.zeros((len(rows), SEEN))
        self._on_board = on_board
        self._inertial = None
        if on_board is None:
            return

        def seed(*key: int) -> np.random.SeedSequence:
            return np.random.SeedSequence(scenario.seed, spawn_key=(STREAM, *key))

        with explained():
            from rotor_sim.sensing.earth import Earth

            self.earth = Earth(scenario.environment)
        self._inertial = InertialModel(on_board.imu, len(rows), self._period, seed(0, *rows))
        environment = scenario.environment
        self._air = np.array(environment.wind.steady_m_s)
        earth = self.earth
        self._magnetometers = on_board.magnetometer and [
            MagnetometerModel(on_board.magnetometer, earth, seed(1, row)) for row in rows
        ]
        self._barometers = on_board.barometer and [
            BarometerModel(on_board.barometer, earth, seed(2, row)) for row in rows
        ]
        self._gps = on_board.gps and [GpsModel(on_board.gps, earth, seed(3, row)) for row in rows]
        self._pitots = on_board.pitot and [
            PitotModel(on_board.pitot, environment.air.density, seed(4, row)) for row in rows
        ]

    def reset(self) -> None:
        """Begin all random streams again."""
        if self._inertial is None:
            return
        self._inertial.reset()
        for models in (self._magnetometers, self._barometers, self._gps, self._pitots):
            for model in models or ():
                model.reset()

    def sample(self, states: np.ndarray, k: int) -> list[Sample]:
        """What each vehicle senses in period k of a flight, for ``states`` (N, 19)."""
        seen, on_board, period = self._seen, self._on_board, self._period
        write_seen(states, self._rows, self._gravity, seen)
        if self._inertial is not None:
            both = slice(ACCELERATION.start, RATE.stop)
            # errors are those of the units' axes, whatever their signs
            seen[:, both] = self._inertial.sample(seen[:, both])
        out = [Sample(row) for row in seen.tolist()]
        if on_board is None:
            return out
        time = k * period
        for i, (sample, row) in enumerate(zip(out, self._rows, strict=True)):
            motion = states[row]
            if self._magnetometers and due(k, period, on_board.magnetometer.rate_hz):  # type: ignore[union-attr]
                sample.field = swap_body(self._magnetometers[i].sample(motion))
            if self._barometers and due(k, period, on_board.barometer.rate_hz):  # type: ignore[union-attr]
                sample.pressure = self._barometers[i].sample(motion)
                sample.temperature = self.earth.temperature(float(State(motion).position[2]))
            if self._pitots and due(k, period, on_board.pitot.rate_hz):  # type: ignore[union-attr]
                sample.differential = self._pitots[i].sample(motion, self._air)
            if self._gps:
                if due(k, period, on_board.gps.rate_hz):  # type: ignore[union-attr]
                    self._gps[i].take(time, motion)
                told = self._gps[i].told(time)
                if told is not None:
                    sample.fix, sample.velocity = told[0], swap_world(told[1])
        return out
