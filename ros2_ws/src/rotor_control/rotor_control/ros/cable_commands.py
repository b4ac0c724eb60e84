"""Forces of cables over ROS: those that a law wants, and those that somebody else asks for in their place."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, WrenchStamped
from rclpy.node import Node
from rotor_msgs.msg import CableCommand
from transforms3d.quaternions import quat2mat

from rotor_control.gains import POINT
from rotor_control.team_laws import CableLaw
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.messages.convert import WORLD_FRAME, seconds_between, set_vector, vector_from
from rotor_core.ros import qos
from rotor_core.state import State

LARGEST = 1e4
"""Forces beyond this are refused, N."""


def forces_from(message: CableCommand, payload: str, cables: list[str]) -> np.ndarray:
    """Forces of all cables of a team, (n, 3) N in W.

    Raises:
        ContractError: wrong frame, another payload, cables that are not all of the team's, or invalid forces.
    """
    if message.header.frame_id not in ("", WORLD_FRAME):
        raise ContractError(
            f"cmd/cables: frame must be {WORLD_FRAME}, got {message.header.frame_id!r}."
        )
    if message.entity not in ("", payload):
        raise ContractError(f"cmd/cables: is for {message.entity!r}, but came to {payload!r}.")
    names = list(message.cables) or cables
    if sorted(names) != sorted(cables) or len(message.forces) != len(names):
        raise ContractError(
            f"cmd/cables: needs one force for each of {', '.join(cables)}, got {len(message.forces)} for "
            f"{', '.join(names)}."
        )
    forces = np.array([vector_from(f) for f in message.forces])
    if not np.isfinite(forces).all() or np.abs(forces).max() > LARGEST:
        raise ContractError(f"cmd/cables: forces must be finite and below {LARGEST:g} N.")
    return forces[[names.index(name) for name in cables]]


class CableCommands:
    """``<payload>/cmd/cables`` in, ``<payload>/cable_forces`` and ``<payload>/wrench_wanted`` out, of one team."""

    def __init__(self, node: Node, scenario: Scenario, law: CableLaw) -> None:
        self._law, self._logger = law, node.get_logger()
        payload = law.team.payload or ""
        names = scenario.model.cable_names
        self._cables = [names[k] for k in law.team.cables]
        self._timeout = scenario.time.command_timeout_s
        self._period = 1.0 / scenario.time.topics_hz - 1e-6
        self._told: tuple[Time, np.ndarray] | None = None
        self._fresh = False
        self._sent: Time | None = None
        self._now: Time | None = None
        self._row = scenario.model.index(payload)
        node.create_subscription(
            CableCommand, f"{payload}/cmd/cables", self._on_command, qos.COMMAND
        )
        self._forces = node.create_publisher(CableCommand, f"{payload}/cable_forces", qos.STATE)
        self._wrench = node.create_publisher(WrenchStamped, f"{payload}/wrench_wanted", qos.STATE)
        self._message = CableCommand(entity=payload, cables=self._cables)
        self._message.header.frame_id = WORLD_FRAME

    def clear(self) -> None:
        """A new epoch: nothing has been told yet."""
        self._told = self._sent = self._now = None

    def _on_command(self, message: CableCommand) -> None:
        stamp = message.header.stamp
        if not (stamp.sec or stamp.nanosec):  # without a stamp it counts from now
            stamp = self._now
        if stamp is None:
            return
        try:
            self._told = (stamp, forces_from(message, self._law.team.payload or "", self._cables))
        except ContractError as error:
            self._logger.warning(f"ignored: {error}", throttle_duration_sec=1.0)

    def take_up(self, stamp: Time) -> None:
        """Let the law use the commanded forces if they are recent, else its own."""
        told, self._now = self._told, stamp
        fresh = told is not None and abs(seconds_between(told[0], stamp)) <= self._timeout
        if fresh != self._fresh:
            self._fresh = fresh
            who = "another node commands" if fresh else "the law computes"
            self._logger.info(f"{self._law.team.payload}: cables {self._law.DO_AS_TOLD} as {who}")
        self._law.told = told[1] if fresh and told is not None else None

    def publish(self, stamp: Time, states: np.ndarray) -> None:
        """Publish the forces in use and the wrench that they add up to, at the rate of topics, to whoever listens."""
        if self._sent is not None and seconds_between(self._sent, stamp) < self._period:
            return
        self._sent = stamp
        if not (self._forces.get_subscription_count() or self._wrench.get_subscription_count()):
            return
        forces = self._law.forces
        self._message.header.stamp = stamp
        self._message.forces = [Vector3(x=x, y=y, z=z) for x, y, z in forces.tolist()]
        self._forces.publish(self._message)
        R = quat2mat(State(states).attitude[self._row])
        arms = self._law.vehicles[:, POINT : POINT + 3] @ R.T
        wrench = WrenchStamped(header=self._message.header)
        set_vector(wrench.wrench.force, forces.sum(axis=0))
        set_vector(wrench.wrench.torque, np.cross(arms, forces).sum(axis=0))
        self._wrench.publish(wrench)
