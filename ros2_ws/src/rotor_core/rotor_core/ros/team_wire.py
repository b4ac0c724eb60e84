"""TeamState and TeamCommand as bytes: the traffic of every control period, without message objects.

Writers fill a :class:`FrozenMessage`. Readers take the numbers out where a message has the expected
shape, and go through rclpy where it has not (another order of bodies, commands that leave things out).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from rotor_msgs.msg import ActuatorCommand, BodyState, CableState, TeamCommand, TeamState

from rotor_core.ros.cdr import FrozenMessage, doubles_of, quaternion_paths, stamp_in, vector_paths
from rotor_core.ros.convert import WORLD_FRAME, states_from_team, wrenches_from_command

MOTION = 19
"""Columns of a body: position, attitude (w first), velocity, body rate, acceleration, angular acceleration."""


class Heading(NamedTuple):
    """What every message of a control period begins with."""

    stamp: Time
    epoch: int
    step: int


def _body_paths(path: str) -> list[str]:
    return [
        *vector_paths(f"{path}.pose.position"),
        *quaternion_paths(f"{path}.pose.orientation"),
        *vector_paths(f"{path}.twist.linear"),
        *vector_paths(f"{path}.twist.angular"),
        *vector_paths(f"{path}.acceleration.linear"),
        *vector_paths(f"{path}.acceleration.angular"),
    ]


def cable_paths(path: str) -> list[str]:
    """Numbers of a CableState: tension, rest length, distance, direction."""
    numbers = [f"{path}.{name}" for name in ("tension", "rest_length", "distance")]
    return [*numbers, *vector_paths(f"{path}.direction")]


class _Wire:
    """What the two messages share: a heading and the template."""

    def __init__(self, message: TeamState | TeamCommand) -> None:
        message.header.frame_id = WORLD_FRAME
        self.frozen = FrozenMessage(message)
        self._epoch, self._step = self.frozen.offset("epoch"), self.frozen.offset("step")

    def put_heading(self, heading: Heading) -> None:
        self.frozen.put_stamp(heading.stamp)
        self.frozen.put("epoch", heading.epoch)
        self.frozen.put("step", heading.step)

    def heading(self, data: bytes) -> Heading:
        """Of data that fit."""
        (epoch,) = struct.unpack_from("<I", data, self._epoch)
        (step,) = struct.unpack_from("<Q", data, self._step)
        return Heading(stamp_in(data), epoch, step)


class TeamStateWire(_Wire):
    """States of all bodies and cables.

    Args:
        bodies: names, in the order of states.
        cables: names, in the order of tensions.
    """

    def __init__(self, bodies: Sequence[str], cables: Sequence[str]) -> None:
        super().__init__(
            TeamState(
                bodies=[BodyState(name=n) for n in bodies],
                cables=[CableState(name=n) for n in cables],
            )
        )
        self.names = list(bodies)
        paths = [_body_paths(f"bodies[{i}]") for i in range(len(bodies))]
        self._bodies = np.array([self.frozen.index(*p) for p in paths])
        self._cables = np.array(
            [self.frozen.index(*cable_paths(f"cables[{k}]")) for k in range(len(cables))], int
        )
        self._taut = [f"cables[{k}].taut" for k in range(len(cables))]

    def write(
        self, heading: Heading, motion: np.ndarray, taut: np.ndarray, cables: np.ndarray
    ) -> bytes:
        """A TeamState.

        Args:
            heading: stamp, epoch, step.
            motion: (n, 19).
            taut: per cable.
            cables: tension, rest length, distance, direction, (n_cables, 6).
        """
        self.put_heading(heading)
        self.frozen.doubles[self._bodies] = motion
        if len(self._taut):
            self.frozen.doubles[self._cables] = cables
            for path, value in zip(self._taut, taut, strict=True):
                self.frozen.put(path, bool(value))
        return self.frozen.data()

    def read(self, data: bytes, out: np.ndarray) -> Heading:
        """States of the bodies into ``out`` (n, 13).

        Raises:
            ContractError: a body is missing.
        """
        if self.frozen.fits(data):
            out[:] = doubles_of(data)[self._bodies[:, : out.shape[1]]]
            return self.heading(data)
        message = deserialize_message(data, TeamState)
        states_from_team(message, self.names, out)
        return Heading(message.header.stamp, message.epoch, message.step)


class TeamCommandWire(_Wire):
    """Thrusts and moments of all vehicles; ``vehicles`` are their names in the order of wrenches."""

    def __init__(self, vehicles: Sequence[str]) -> None:
        super().__init__(
            TeamCommand(
                commands=[ActuatorCommand(name=n, mode=ActuatorCommand.WRENCH) for n in vehicles]
            )
        )
        self.names = list(vehicles)
        self._wrenches = np.array(
            [
                self.frozen.index(f"commands[{i}].thrust", *vector_paths(f"commands[{i}].moment"))
                for i in range(len(vehicles))
            ],
            int,
        ).reshape(-1, 4)
        self._modes = [self.frozen.offset(f"commands[{i}].mode") for i in range(len(vehicles))]

    def write(self, heading: Heading, wrenches: np.ndarray) -> bytes:
        """A TeamCommand; ``wrenches`` (n, 4) N and N m."""
        self.put_heading(heading)
        self.frozen.doubles[self._wrenches] = wrenches
        return self.frozen.data()

    def read(self, data: bytes) -> tuple[Heading, np.ndarray]:
        """Heading and wrenches (n, 4).

        Raises:
            ContractError: see :func:`rotor_core.ros.convert.wrenches_from_command`.
        """
        if self.frozen.fits(data) and all(data[at] == ActuatorCommand.WRENCH for at in self._modes):
            wrenches = doubles_of(data)[self._wrenches]
            if np.isfinite(wrenches).all():
                return self.heading(data), wrenches
        message = deserialize_message(data, TeamCommand)
        heading = Heading(message.header.stamp, message.epoch, message.step)
        return heading, wrenches_from_command(message, self.names)
