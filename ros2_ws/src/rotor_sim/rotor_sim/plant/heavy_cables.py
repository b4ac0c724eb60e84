"""Cables with mass: their masses as bodies, their pieces as cables."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.strand import Strand, divided


def heavy_cables(
    model: Model, cables: tuple[Cable, ...], first_body: int, density: float
) -> tuple[tuple[Body, ...], tuple[Cable, ...], tuple[Strand, ...]]:
    """Divide the heavy ones among the cables of a model.

    Args:
        model: whose cables they are.
        cables: of the model, massless.
        first_body: index of the first mass.
        density: of the air, kg/m^3.

    Returns:
        The masses; the cables, then the inner pieces of heavy ones; what belongs together.
    """
    out, masses, strands = list(cables), [], []
    for k, keys in enumerate(model.cables):
        if not keys.mass_kg_per_m:
            continue
        first = first_body + len(masses)
        own, pieces = divided(cables[k], model.cable_names[k], keys.mass_kg, keys.segments, first)
        width = keys.diameter_m * keys.length_m / keys.segments
        strands.append(
            Strand(
                k, tuple(range(first, first + len(own))), tuple(range(len(out), len(out) + len(own))),
                0.5 * density * keys.drag_coefficient * width, 0.5 * keys.diameter_m, keys.bending_stiffness_n_m2,
            )
        )  # fmt: skip
        out[k] = pieces[0]
        out += pieces[1:]
        masses += own
    return tuple(masses), tuple(out), tuple(strands)


def lowest(scenario: Scenario) -> float:
    """Height below which nothing lies, m."""
    environment = scenario.environment
    return environment.ground_m if environment.contact is not None else -np.inf


def heavy_counts(model: Model) -> list[tuple[str, int]]:
    """Names of the heavy cables and how many masses they have, in the order of these."""
    pairs = zip(model.cable_names, model.cables, strict=True)
    return [(name, cable.segments) for name, cable in pairs if cable.mass_kg_per_m]


def heavy_names(model: Model) -> list[str]:
    """Names of the heavy cables, in the order of their masses."""
    return [name for name, _ in heavy_counts(model)]


def shape_topic(name: str) -> str:
    """Topic of the places of a heavy cable's masses, without namespace."""
    return f"{name}/shape"
