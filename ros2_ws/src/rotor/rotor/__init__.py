"""Simulate aerial vehicles that carry and handle things.

The names here are the stable face of the suite; ``docs/api.md`` lists them with examples. They are imported when
they are first used, so that ``import rotor`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rotor import trajectories
    from rotor.flying import (
        compare,
        fly,
        initial_states,
        open_flight,
        scenarios,
        sensitivities,
        view,
    )
    from rotor.laws import control_law
    from rotor.study import Study, choice, normal, uniform
    from rotor_control.controller import make_controller
    from rotor_core.command import Command, Wrench
    from rotor_core.config.loader import load_scenario
    from rotor_core.config.schema import Scenario
    from rotor_core.errors import ConfigError, ContractError, RotorError, SolverError
    from rotor_core.plans.plan import Plan
    from rotor_core.reference import Reference
    from rotor_core.state import State, States
    from rotor_flight.flight import Flight
    from rotor_recordings.compare.comparison import CompareOptions
    from rotor_sim.simulation import Simulation

__version__ = "0.1.0"

PLACES = {
    "Command": "rotor_core.command",
    "CompareOptions": "rotor_recordings.compare.comparison",
    "ConfigError": "rotor_core.errors",
    "ContractError": "rotor_core.errors",
    "Flight": "rotor_flight.flight",
    "Plan": "rotor_core.plans.plan",
    "Reference": "rotor_core.reference",
    "RotorError": "rotor_core.errors",
    "Scenario": "rotor_core.config.schema",
    "Simulation": "rotor_sim.simulation",
    "SolverError": "rotor_core.errors",
    "State": "rotor_core.state",
    "States": "rotor_core.state",
    "Study": "rotor.study",
    "Wrench": "rotor_core.command",
    "choice": "rotor.study",
    "compare": "rotor.flying",
    "control_law": "rotor.laws",
    "fly": "rotor.flying",
    "initial_states": "rotor.flying",
    "load_scenario": "rotor_core.config.loader",
    "make_controller": "rotor_control.controller",
    "normal": "rotor.study",
    "open_flight": "rotor.flying",
    "scenarios": "rotor.flying",
    "sensitivities": "rotor.flying",
    "trajectories": "",
    "uniform": "rotor.study",
    "view": "rotor.flying",
}
"""Module that defines every name; empty for a name that is a module itself."""

__all__ = [*PLACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'rotor' has no attribute {name!r}")
    if not PLACES[name]:
        return importlib.import_module(f"rotor.{name}")
    value = getattr(importlib.import_module(PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *PLACES])
