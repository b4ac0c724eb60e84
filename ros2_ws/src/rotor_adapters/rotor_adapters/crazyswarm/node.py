"""Crazyswarm's face: ``<vehicle>/cmd_full_state`` and ``<vehicle>/cmd_position`` in, ``<vehicle>/pose`` out.

Needs the package crazyflie_interfaces. Topics: docs/swap.md.
"""

from __future__ import annotations

import sys

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped

from rotor_adapters.autopilot_node import Adapter
from rotor_adapters.autopilots import Autopilot, reference_of
from rotor_core.config.yaml.units import rpy_from_wxyz
from rotor_core.errors import ConfigError, ContractError
from rotor_core.messages.convert import pose_message, vector_from, wxyz_from
from rotor_core.ros import qos
from rotor_core.ros.node import run
from rotor_core.state import State

try:
    from crazyflie_interfaces.msg import FullState, Position
except ImportError:  # said when the node starts
    FullState = None


class CrazyswarmNode(Adapter):
    """Vehicles that answer to setpoints of Crazyswarm."""

    def __init__(self) -> None:
        if FullState is None:
            raise ConfigError(
                "crazyswarm_adapter: needs the package crazyflie_interfaces of Crazyswarm. Build it in a workspace."
            )
        super().__init__("crazyswarm_adapter")
        self._poses = {}
        for name in self.autopilots:
            self._poses[name] = self.create_publisher(PoseStamped, f"{name}/pose", qos.STATE)
            self.listen(name, FullState, "cmd_full_state", self._on_full_state, qos.COMMAND)
            self.listen(name, Position, "cmd_position", self._on_position, qos.COMMAND)

    def tell(self, vehicle: str, stamp: Time, state: np.ndarray) -> None:
        """Publish ``pose``."""
        self._poses[vehicle].publish(
            pose_message(stamp, State(state).position, State(state).attitude)
        )

    def _on_full_state(self, name: str, message: FullState) -> None:
        q = wxyz_from(message.pose.orientation)
        position, velocity = vector_from(message.pose.position), vector_from(message.twist.linear)
        acceleration, rate = vector_from(message.acc), float(message.twist.angular.z)

        def act(autopilot: Autopilot, state: np.ndarray) -> np.ndarray:
            size = float(np.linalg.norm(q))
            if not abs(size - 1.0) < 1e-2:
                raise ContractError(
                    f"cmd_full_state: orientation must have length 1, got {size:g}."
                )
            yaw = float(rpy_from_wxyz(q / size)[2])
            return _follow(autopilot, state, position, velocity, acceleration, yaw, rate)

        self.set(name, act)

    def _on_position(self, name: str, message: Position) -> None:
        position = np.array([message.x, message.y, message.z], float)
        yaw = np.radians(float(message.yaw))
        zero = np.zeros(3)
        self.set(name, lambda a, s: _follow(a, s, position, zero, zero, yaw))


def _follow(
    autopilot: Autopilot, state: np.ndarray, position: np.ndarray, velocity: np.ndarray,
    acceleration: np.ndarray, yaw: float, rate: float = 0.0,
) -> np.ndarray:  # fmt: skip
    # before they are a reference, in which NaN means that nothing is asked for
    if not np.isfinite([*position, *velocity, *acceleration, yaw, rate]).all():
        raise ContractError("setpoint: every number must be finite.")
    return autopilot.follow(state, reference_of(position, velocity, acceleration, yaw, rate))


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_adapters crazyswarm_adapter``."""
    sys.exit(run(CrazyswarmNode, args))


if __name__ == "__main__":
    main()
