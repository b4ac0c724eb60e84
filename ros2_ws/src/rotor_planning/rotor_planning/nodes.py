"""Entry points of the nodes; they import nothing, so that a signal finds a handler before the long imports."""

from __future__ import annotations

from rotor_core.ros.start import start


def planner() -> None:
    """``ros2 run rotor_planning planner``."""
    start("rotor_planning.ros.planner_node")
