"""TeamState and TeamCommand as bytes: the traffic of every control period, without message objects.

Writers fill a :class:`FrozenMessage`. Readers take the numbers out where a message has the expected
shape, and go through rclpy where it has not (another order of bodies, commands that leave things out).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from rotor_msgs.msg import ActuatorCommand, BodyState, CableState, TeamCommand, TeamState

from rotor_core.errors import ContractError
from rotor_core.messages.cdr import (
    FrozenMessage,
    doubles_of,
    quaternion_paths,
    stamp_in,
    vector_paths,
)
from rotor_core.messages.convert import (
    WORLD_FRAME,
    efforts_from_command,
    joints_from_team,
    states_from_team,
    wrenches_from_command,
)

MOTION = 19
"""Columns of a body: position, attitude (w first), velocity, body rate, acceleration, angular acceleration."""


FARTHEST = 1e9
"""Places, velocities and angles beyond this belong to no vehicle, m, m/s, rad, rad/s."""

JOINT_FIELDS = ("positions", "velocities")


class Heading(NamedTuple):
    """Heading of every message of a control period."""

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


REST_LENGTH = 1
"""Number of the rest length among those of :func:`cable_paths`."""


def cable_paths(path: str) -> list[str]:
    """Numbers of a CableState: tension, rest length, distance, direction."""
    numbers = [f"{path}.{name}" for name in ("tension", "rest_length", "distance")]
    return [*numbers, *vector_paths(f"{path}.direction")]


def _command_paths(path: str, is_helicopter: bool) -> list[str]:
    """The four numbers of an ActuatorCommand."""
    if is_helicopter:
        return [f"{path}.swashplate[{k}]" for k in range(4)]
    return [f"{path}.thrust", *vector_paths(f"{path}.moment")]


def _message(data: bytes, kind: type) -> Any:
    """The message that these bytes are.

    Raises:
        ContractError: they are not a message of this type.
    """
    try:
        return deserialize_message(data, kind)
    except RuntimeError as error:  # of the middleware: RMWError
        raise ContractError(
            f"{kind.__name__}: {len(data)} bytes are not a message of this type. Check who publishes them."
        ) from error


class _Wire:
    """Common base of the two messages: a heading and the template."""

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
        joints: how many joints each body has; default none.
    """

    def __init__(
        self, bodies: Sequence[str], cables: Sequence[str], joints: Sequence[int] | None = None
    ) -> None:
        counts = [0] * len(bodies) if joints is None else list(joints)
        super().__init__(
            TeamState(
                bodies=[
                    BodyState(name=name, joint_positions=[0.0] * n, joint_velocities=[0.0] * n)
                    for name, n in zip(bodies, counts, strict=True)
                ],
                cables=[CableState(name=n) for n in cables],
            )
        )
        self.joint_counts = counts
        self._joints = np.array(
            [
                self.frozen.index(*(f"bodies[{i}].joint_{what}[{k}]" for what in JOINT_FIELDS))
                for i, n in enumerate(counts)
                for k in range(n)
            ],
            int,
        ).reshape(-1, 2)
        self.names = list(bodies)
        paths = [_body_paths(f"bodies[{i}]") for i in range(len(bodies))]
        self._bodies = np.array([self.frozen.index(*p) for p in paths])
        self._cables = np.array(
            [self.frozen.index(*cable_paths(f"cables[{k}]")) for k in range(len(cables))], int
        )
        self._taut_at = [self.frozen.offset(f"cables[{k}].taut") for k in range(len(cables))]
        self._cable_names = list(cables)

    def write(
        self,
        heading: Heading,
        motion: np.ndarray,
        taut: np.ndarray,
        cables: np.ndarray,
        joints: np.ndarray | None = None,
    ) -> bytes:
        """A TeamState.

        Args:
            heading: stamp, epoch, step.
            motion: (n, 19).
            taut: per cable.
            cables: tension, rest length, distance, direction, (n_cables, 6).
            joints: angles and rates, body by body, (n_joints, 2).
        """
        self.put_heading(heading)
        self.frozen.doubles[self._bodies] = motion
        if joints is not None:
            self.frozen.doubles[self._joints] = joints
        if self._taut_at:
            self.frozen.doubles[self._cables] = cables
            self.frozen.octets[self._taut_at] = taut
        return self.frozen.data()

    def peek(self, data: bytes) -> Heading | None:
        """Heading of data of the usual shape, whose numbers are not looked at; None of others: :meth:`read` them."""
        return self.heading(data) if self.frozen.fits(data) else None

    def read(self, data: bytes, out: np.ndarray, joints: np.ndarray | None = None) -> Heading:
        """States of the bodies into ``out`` (n, 13), angles and rates into ``joints`` (n_joints, 2).

        Raises:
            ContractError: a body is missing, its joints are not those of the scenario, or a number is not
                finite; nothing is written then.
        """
        if self.frozen.fits(data):
            numbers = doubles_of(data)
            states, angles = numbers[self._bodies[:, : out.shape[1]]], numbers[self._joints]
            heading = self.heading(data)
        else:
            message = _message(data, TeamState)
            states = states_from_team(message, self.names, np.empty_like(out))
            angles = joints_from_team(message, self.names, self.joint_counts)
            heading = Heading(message.header.stamp, message.epoch, message.step)
        # NaN fails the comparison too; controllers that integrate it would never forget it
        if not all(np.abs(part).max(initial=0.0) < FARTHEST for part in (states, angles)):
            raise ContractError(
                f"TeamState: every number must be finite and below {FARTHEST:g}; in step {heading.step} of epoch "
                f"{heading.epoch} one is not."
            )
        out[:] = states
        if joints is not None:
            joints[:] = angles
        return heading

    def cables(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        """True for taut cables, and lengths of all without load, m, (n_cables,) each.

        Cables that the message does not name count as slack, of length 0.
        """
        if self.frozen.fits(data):
            flags = [data[at] != 0 for at in self._taut_at]
            lengths = doubles_of(data)[self._cables[:, REST_LENGTH]] if flags else []
        else:
            told = {c.name: c for c in _message(data, TeamState).cables}
            flags = [name in told and told[name].taut for name in self._cable_names]
            lengths = [told[n].rest_length if n in told else 0.0 for n in self._cable_names]
        return np.array(flags, bool), np.array(lengths, float)


class TeamCommandWire(_Wire):
    """Thrusts and moments of all vehicles (swashplates of helicopters), and efforts of their joints.

    Args:
        vehicles: their names, in the order of wrenches.
        joints: how many joints each vehicle has; default none.
        helicopters: names of those that are.
    """

    def __init__(
        self,
        vehicles: Sequence[str],
        joints: Sequence[int] | None = None,
        helicopters: Collection[str] = (),
    ) -> None:
        counts = [0] * len(vehicles) if joints is None else list(joints)
        swash, wrench = ActuatorCommand.SWASHPLATE, ActuatorCommand.WRENCH
        modes = [swash if name in helicopters else wrench for name in vehicles]
        super().__init__(
            TeamCommand(
                commands=[
                    ActuatorCommand(name=name, mode=mode, joint_efforts=[0.0] * n)
                    for name, mode, n in zip(vehicles, modes, counts, strict=True)
                ]
            )
        )
        self._helicopters = helicopters
        self.joint_counts = counts
        paths = [
            f"commands[{i}].joint_efforts[{k}]" for i, n in enumerate(counts) for k in range(n)
        ]
        self._efforts = np.array(self.frozen.index(*paths) if paths else [], int)
        self.names = list(vehicles)
        self._wrenches = np.array(
            [
                self.frozen.index(*_command_paths(f"commands[{i}]", mode == swash))
                for i, mode in enumerate(modes)
            ],
            int,
        ).reshape(-1, 4)
        self._fitting: bytes | None = None
        """What has been read last, where it is of the usual shape."""
        self._limited_at = [self.frozen.offset(f"commands[{i}].limited") for i in range(len(modes))]
        self._modes = [
            (self.frozen.offset(f"commands[{i}].mode"), mode) for i, mode in enumerate(modes)
        ]

    def write(
        self,
        heading: Heading,
        wrenches: np.ndarray,
        efforts: np.ndarray | None = None,
        limited: np.ndarray | None = None,
    ) -> bytes:
        """A TeamCommand.

        Args:
            heading: of the state that it answers.
            wrenches: (n, 4) N and N m.
            efforts: (n_joints,) vehicle by vehicle.
            limited: of which vehicles more was wanted, (n,) bool; default none.
        """
        self.put_heading(heading)
        self.frozen.doubles[self._wrenches] = wrenches
        self.frozen.octets[self._limited_at] = False if limited is None else limited
        if efforts is not None:
            self.frozen.doubles[self._efforts] = efforts
        return self.frozen.data()

    def read(self, data: bytes) -> tuple[Heading, np.ndarray, np.ndarray]:
        """Heading, wrenches (n, 4) and efforts (n_joints,).

        Raises:
            ContractError: no TeamCommand, or see :func:`rotor_core.messages.convert.wrenches_from_command`.
        """
        self._fitting = data if self.frozen.fits(data) else None
        if self._fitting and all(data[at] == mode for at, mode in self._modes):
            numbers = doubles_of(data)
            wrenches, efforts = numbers[self._wrenches], numbers[self._efforts]
            if np.isfinite(wrenches).all() and np.isfinite(efforts).all():
                return self.heading(data), wrenches, efforts
        message = _message(data, TeamCommand)
        heading = Heading(message.header.stamp, message.epoch, message.step)
        wrenches = wrenches_from_command(message, self.names, self._helicopters)
        return heading, wrenches, efforts_from_command(message, self.names, self.joint_counts)

    def limited(self, data: bytes) -> np.ndarray:
        """Of which vehicles the controller wanted more than it commands, (n,) bool; of data that :meth:`read` takes."""
        if data is self._fitting or self.frozen.fits(data):
            return np.frombuffer(data, np.uint8)[self._limited_at] != 0
        told = {c.name: c.limited for c in _message(data, TeamCommand).commands}
        return np.array([told[name] for name in self.names], bool)
