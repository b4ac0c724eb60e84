"""Joint commands as ros2_control's topic hardware sends them: a JointState with what is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rotor_core.command import LARGEST_COMMAND
from rotor_core.errors import ContractError

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

LARGEST = 1e6
"""Numbers beyond this are mistakes: rad, m, rad/s, m/s, N m, N."""


@dataclass(frozen=True)
class JointCommand:
    """Wanted motion or efforts of the joints of a vehicle, (n,) each; NaN where a joint is not named.

    Attributes:
        positions: rad or m; None: none are given.
        velocities: rad/s or m/s; None: none are given.
        efforts: N m or N; None: none are given.
    """

    positions: np.ndarray | None
    velocities: np.ndarray | None
    efforts: np.ndarray | None


def joint_command_from(message: JointState, vehicle: str, joints: Sequence[str]) -> JointCommand:
    """The command of a message.

    Args:
        message: names with the vehicle (``am1/joint1``) or without, and what is wanted of each.
        vehicle: its name.
        joints: names of all joints of the vehicle.

    Raises:
        ContractError: unknown joints, numbers that do not fit, or none at all.
    """
    names = [name.removeprefix(f"{vehicle}/") for name in message.name]
    if not names or len(set(names)) < len(names) or not set(names) <= set(joints):
        known = ", ".join(joints)
        raise ContractError(f"name: must be different joints of {known}, got {list(message.name)}.")
    columns = [list(joints).index(name) for name in names]

    def values(what: str) -> np.ndarray | None:
        given = np.array(getattr(message, what), float)
        if not len(given):
            return None
        if len(given) != len(names) or not (np.abs(given) < LARGEST).all():
            raise ContractError(
                f"{what}: must be {len(names)} finite numbers below {LARGEST:g}, got {given.tolist()}."
            )
        out = np.full(len(joints), np.nan)
        out[columns] = given
        return out

    command = JointCommand(values("position"), values("velocity"), values("effort"))
    if command.positions is None and command.velocities is None and command.efforts is None:
        raise ContractError("holds no position, velocity or effort.")
    return command


def joint_efforts_from(message: Float64MultiArray, n: int) -> np.ndarray:
    """Efforts of all ``n`` joints of a vehicle, N m or N.

    Raises:
        ContractError: they are others, or too large.
    """
    efforts = np.array(message.data, float)
    if efforts.shape != (n,) or not (np.abs(efforts) <= LARGEST_COMMAND).all():
        raise ContractError(
            f"must hold {n} finite efforts below {LARGEST_COMMAND:g}, got {efforts.tolist()}."
        )
    return efforts
