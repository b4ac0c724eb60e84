"""The state of a simulation to be saved: scenario, structure and, through a capture, everything that moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rotor_core.config.loader import dump_scenario, scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.plans.plan import Plan
from rotor_core.saved.capture import Capture
from rotor_dynamics.accuracy import Accuracy
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.system import Weld
from rotor_sim.simulation import Simulation

VALUES = {"Accuracy": Accuracy, "Event": Event, "Plan": Plan}
"""Small records in the state of simulations and loops."""

CAPTURE = Capture("rotor_", VALUES)


def described(simulation: Simulation) -> dict[str, Any]:
    """Parts from which a world like this one is built, as plain values."""
    scenario = {"scenario": dump_scenario(simulation.scenario), "seed": simulation.seed}
    return scenario | structure(simulation)


def structure(simulation: Simulation) -> dict[str, Any]:
    """Structure that may differ between worlds of one scenario, as plain values."""
    system = simulation.engine.system
    return {
        "welds": [[w.parent, w.child, list(w.p), list(w.q), w.follows] for w in system.welds],
        "lengths": [c.length for c in system.cables],
    }


def scenario_of(head: Mapping[str, Any]) -> Scenario:
    """The scenario of what :func:`described` gave.

    Raises:
        ConfigError: it is none.
    """
    scenario = scenario_from_tree(parse_tree(head["scenario"], "saved flight"))
    return replace(scenario, seed=head["seed"])


def rebuild(simulation: Simulation, head: Mapping[str, Any]) -> None:
    """Give a new world of the same scenario the :func:`structure` of another."""
    welds = tuple(
        Weld(int(a), int(b), np.array(p), np.array(q), bool(follows))
        for a, b, p, q, follows in head["welds"]
    )
    simulation.restructure(welds, head["lengths"])


def check_size(simulation: Simulation, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError where saved arrays are not those of this world."""
    engine = simulation.engine
    for name, own in (("ints", engine.ints), ("floats", engine.floats)):
        if arrays[f"simulation.engine.{name}"].shape != own.shape:
            raise ValueError(f"its {name} are those of another world")
