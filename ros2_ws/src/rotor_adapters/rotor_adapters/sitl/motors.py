"""From the motors of an autopilot to the rotors of a vehicle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_core.config.model import Rotors, Vehicle
from rotor_core.config.yaml.units import rad_s_from_rpm
from rotor_core.errors import ConfigError
from rotor_core.vehicles.rotors import rotor_set

Motor = tuple[float, float]
"""Angle from ahead, clockwise seen from above, deg, and spin, +1 counter-clockwise."""

Frame = tuple[Motor, Motor, Motor, Motor]
"""Motors of a quadrotor in the order of their numbers."""

QUAD_X: Frame = ((45.0, 1.0), (-135.0, 1.0), (-45.0, -1.0), (135.0, -1.0))
QUAD_PLUS: Frame = ((90.0, 1.0), (-90.0, 1.0), (0.0, -1.0), (180.0, -1.0))
"""Of PX4 and ArduPilot. Sources: PX4's airframes reference; ArduPilot, "Connect ESCs and Motors"."""

SAME_ANGLE = 20.0
"""A rotor is a motor's when their angles differ by less, deg: frames are seldom square."""


def motor_numbers(rotors: Rotors, frames: Sequence[Frame]) -> list[int] | None:
    """Motor of each rotor of a quadrotor, from 0, by place and spin; None where no frame fits."""
    angles = -np.degrees(np.arctan2(rotors.positions[:, 1], rotors.positions[:, 0]))
    for frame in frames:
        found = [
            [
                m
                for m, (angle, spin) in enumerate(frame)
                if abs((a - angle + 180.0) % 360.0 - 180.0) < SAME_ANGLE and spin == own
            ]
            for a, own in zip(angles, rotors.spins, strict=True)
        ]
        if len(found) == len(frame) and sorted(m for f in found for m in f) == [0, 1, 2, 3]:
            return [f[0] for f in found]
    return None


class Motors:
    """The motors of one vehicle: throttles to the wrench of its rotors.

    A throttle of u turns a rotor at its smallest speed and u times its range of speeds; none stops it. More than four
    rotors give the same wrench, though speeds that share it with least thrust.

    Args:
        vehicle: nominal.
        frames: of the autopilot's quadrotors, whose motors are found by place and spin.

    Raises:
        ConfigError: the numbers of its motors are needed.
    """

    def __init__(self, vehicle: Vehicle, frames: Sequence[Frame]) -> None:
        rotors = rotor_set(vehicle.rotors)
        given = [n - 1 for n in vehicle.rotors.motors]
        found = given or motor_numbers(vehicle.rotors, frames)
        if found is None:
            raise ConfigError(
                f"{vehicle.name}: rotors: are not those of a usual quadrotor of an autopilot. Give its x or plus "
                "layout first_spin: cw, or name the motor of each rotor, such as motors: [3, 2, 4, 1]."
            )
        self._numbers = found
        self._mixing = rotors.mixing
        low, high = (rad_s_from_rpm(1.0) * rpm for rpm in vehicle.rotors.speed_rpm)
        self._low, self._range, self._per_speed2 = low, high - low, rotors.thrust_per_speed2

    def wrench(self, throttles: Sequence[float], out: np.ndarray) -> None:
        """Write the wrench (4,) of throttles from 0 to 1, in the order of motors; those beyond count as the end."""
        thrusts = []
        for n in self._numbers:
            u = throttles[n]
            speed = self._low + min(u, 1.0) * self._range if u > 0.0 else 0.0
            thrusts.append(self._per_speed2 * speed * speed)
        np.dot(self._mixing, thrusts, out=out)

    @property
    def most(self) -> int:
        """Throttles that must be there."""
        return max(self._numbers) + 1
