"""Common base of nodes that replace an autopilot: states in, one wrench per vehicle out, setpoints that expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rotor_msgs.msg import TeamState

from rotor_adapters.autopilots import Autopilot
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, ContractError
from rotor_core.messages.convert import frame_of, seconds_between
from rotor_core.messages.team_wire import Heading, TeamStateWire
from rotor_core.ros import qos
from rotor_core.ros.epochs import Epochs
from rotor_core.ros.node import scenario_parameter

PATIENCE = 0.5
"""A setpoint counts for this long, s of simulation time; then the vehicle gets no command any more."""

Act = Callable[[Autopilot, np.ndarray], np.ndarray]
"""The wrench (4,) for a state (13,), from a setpoint."""


class Adapter(Node):
    """A node that flies all vehicles of a scenario as their autopilots would.

    Attributes:
        autopilots: inner loops by vehicle.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        scenario: Scenario = scenario_parameter(self)
        if scenario.command_input != "wrench":
            raise ConfigError(
                f"{name}: the simulator must take wrenches of single vehicles. Write command_input: wrench into the "
                f"scenario (it says {scenario.command_input})."
            )
        vehicles = scenario.model.vehicles
        gravity = scenario.environment.gravity_m_s2
        self.autopilots = {v.name: Autopilot(v, gravity) for v in vehicles}
        entities = [e.name for e in scenario.model.entities]
        counts = [len(v.moving_joints) for v in vehicles] + [0] * len(scenario.model.payloads)
        self._wire = TeamStateWire(entities, scenario.model.cable_names, counts)
        self._states = np.zeros((len(entities), 13))
        self._epochs = Epochs()
        self._stamp: Time | None = None
        self._setpoints: dict[str, tuple[Time, Act]] = {}
        self._commands = {
            v.name: self.create_publisher(WrenchStamped, f"{v.name}/cmd/wrench", qos.COMMAND)
            for v in vehicles
        }
        self.create_subscription(TeamState, "rotor/team_state", self._on_state, qos.TEAM, raw=True)
        self.get_logger().info(f"stands in for the autopilots of {', '.join(self.autopilots)}")

    def listen(
        self,
        vehicle: str,
        kind: type,
        topic: str,
        take: Callable[[str, Any], None],
        profile: QoSProfile,
    ) -> None:
        """Let ``take(vehicle, message)`` have the messages of ``<vehicle>/<topic>``."""
        self.create_subscription(kind, f"{vehicle}/{topic}", lambda m: take(vehicle, m), profile)

    def set(self, vehicle: str, act: Act) -> None:
        """Take up a setpoint; what is wrong with it is said when it acts."""
        if self._stamp is not None:
            self._setpoints[vehicle] = (self._stamp, act)

    def forget(self) -> None:
        """Forget all setpoints: they were of another flight."""
        self._setpoints.clear()

    def tell(self, vehicle: str, stamp: Time, state: np.ndarray) -> None:
        """Publish what an autopilot tells about its vehicle."""
        raise NotImplementedError

    def _on_state(self, data: bytes) -> None:
        try:
            heading: Heading = self._wire.read(data, self._states)
        except ContractError as error:
            self.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        if not self._epochs.admits(heading.epoch):
            return
        if self._epochs.starts(heading.epoch, heading.step):
            self._epochs.begin(heading.epoch)
            self.forget()
        self._stamp = heading.stamp
        for state, (name, autopilot) in zip(self._states, self.autopilots.items(), strict=False):
            self.tell(name, heading.stamp, state)
            since, act = self._setpoints.get(name, (None, None))
            if since is None or act is None or seconds_between(since, heading.stamp) > PATIENCE:
                continue
            try:
                wrench = act(autopilot, state)
                if not np.isfinite(wrench).all():
                    raise ContractError(
                        f"setpoint: must give a finite wrench, got {wrench.tolist()}."
                    )
            except ContractError as error:
                self.get_logger().warning(f"ignored: {name}: {error}", throttle_duration_sec=1.0)
                continue
            self._send(name, heading.stamp, wrench)

    def _send(self, vehicle: str, stamp: Time, wrench: np.ndarray) -> None:
        message = WrenchStamped()
        message.header.stamp, message.header.frame_id = stamp, frame_of(vehicle)
        force, torque = message.wrench.force, message.wrench.torque
        force.z, torque.x, torque.y, torque.z = wrench.tolist()
        self._commands[vehicle].publish(message)
