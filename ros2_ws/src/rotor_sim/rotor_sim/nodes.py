"""Entry points of the nodes; they import nothing, so that a signal finds a handler before the long imports."""

from __future__ import annotations

from rotor_core.ros.start import start


def simulator() -> None:
    """``ros2 run rotor_sim simulator``."""
    start("rotor_sim.ros.simulator_node")


def visualizer() -> None:
    """``ros2 run rotor_sim visualizer``."""
    start("rotor_sim.ros.visualizer_node")
