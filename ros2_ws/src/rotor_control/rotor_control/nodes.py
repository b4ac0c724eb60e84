"""Entry points of the nodes; they import nothing, so that a signal finds a handler before the long imports."""

from __future__ import annotations

from rotor_core.ros.start import start


def controller() -> None:
    """``ros2 run rotor_control controller``."""
    start("rotor_control.ros.controller_node")
