"""Hybrid multibody simulation of aerial vehicles that carry things."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation

__all__ = ["Simulation"]


def __getattr__(name: str) -> object:
    """Loaded when it is asked for: the engine behind it loads the forces of all packages, which may import this one."""
    if name != "Simulation":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rotor_sim.simulation import Simulation

    return Simulation
