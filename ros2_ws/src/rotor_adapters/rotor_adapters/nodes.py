"""Entry points of the nodes; they import nothing, so that a signal finds a handler before the long imports."""

from __future__ import annotations

from rotor_core.ros.start import start


def recorder() -> None:
    """``ros2 run rotor_adapters recorder``."""
    start("rotor_adapters.recorder.node")


def player() -> None:
    """``ros2 run rotor_adapters player``."""
    start("rotor_adapters.player.node")


def px4_adapter() -> None:
    """``ros2 run rotor_adapters px4_adapter``."""
    start("rotor_adapters.px4.node")


def crazyswarm_adapter() -> None:
    """``ros2 run rotor_adapters crazyswarm_adapter``."""
    start("rotor_adapters.crazyswarm.node")


def wrench_teleop() -> None:
    """``ros2 run rotor_adapters wrench_teleop``."""
    start("rotor_adapters.teleop.node")
