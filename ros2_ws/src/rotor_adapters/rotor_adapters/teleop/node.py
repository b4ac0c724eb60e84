"""Push an entity by keyboard or gamepad: ``<entity>/wrench_external`` from keys of the terminal and from ``joy``."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import tty
from collections.abc import Iterator

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import Executor
from rclpy.node import Node
from sensor_msgs.msg import Joy

from rotor_adapters.teleop.keys import HELP, WrenchKeys, wrench_from_sticks
from rotor_core.errors import ConfigError
from rotor_core.messages.convert import WORLD_FRAME
from rotor_core.ros import qos
from rotor_core.ros.node import declare, run, spin

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
PERIOD = 0.05
"""Between messages, s of wall time: the simulator forgets a push after 0.5 s."""

PATIENCE = round(3.0 / PERIOD)
"""Messages after which a simulator must have been found, or the user is told that there is none."""


class WrenchTeleop(Node):
    """Sums what keys and sticks ask for, and publishes it while it is not zero (and once more when it becomes so)."""

    def __init__(self) -> None:
        super().__init__("wrench_teleop")
        entity = str(declare(self, "entity", "payload", "entity that is pushed"))
        if not NAME.match(entity):
            raise ConfigError(f"entity: must be a name like payload or quad1, got {entity!r}.")
        self._keys, self._sticks = WrenchKeys(), np.zeros(6)
        self._pushed = False
        self._ticks = 0
        self._publisher = self.create_publisher(
            WrenchStamped, f"{entity}/wrench_external", qos.COMMAND
        )
        self.create_subscription(Joy, "joy", self._on_joy, qos.COMMAND)
        self.create_timer(PERIOD, self._tick)
        self.get_logger().info(f"pushing {entity}; gamepad on /joy")
        if sys.stdin.isatty():
            self.get_logger().info(HELP)

    def _on_joy(self, message: Joy) -> None:
        self._sticks = wrench_from_sticks(message.axes)

    def _tick(self) -> None:
        while sys.stdin.isatty() and select.select([sys.stdin], [], [], 0.0)[0]:
            # not through the buffer of sys.stdin, which would hide keys from select
            keys = os.read(sys.stdin.fileno(), 64).decode(errors="replace")
            if not keys:
                break  # the terminal has gone
            if any([self._keys.press(key) for key in keys]):
                print(f"\r{self._keys.wrench.tolist()} N, N m   ", end="", flush=True)
        wrench = self._keys.wrench + self._sticks
        self._ticks += 1
        if self._ticks > PATIENCE and not self._publisher.get_subscription_count():
            text = f"nobody listens on {self._publisher.topic_name}: is the simulator running, with an entity so named?"
            self.get_logger().warning(text, throttle_duration_sec=5.0)
        if not wrench.any() and not self._pushed:
            return
        self._pushed = bool(wrench.any())
        message = WrenchStamped()
        message.header.frame_id = WORLD_FRAME
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.tolist()
        self._publisher.publish(message)


@contextlib.contextmanager
def keys_at_once() -> Iterator[None]:
    """The terminal gives every key without waiting for Enter; it is put back at the end."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _main(node: Node, executor: Executor) -> None:
    with keys_at_once():
        spin(node, executor)


def main(args: list[str] | None = None) -> int:
    """Entry point ``ros2 run rotor_adapters wrench_teleop``; returns the exit code."""
    return run(WrenchTeleop, args, _main)


if __name__ == "__main__":
    sys.exit(main())
