"""Derivatives of what a flight begins with: how a number of the scenario enters the arrays of its compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rotor_core.config.parameters import Variations
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.numbers.packing import numbers_in
from rotor_dynamics.sensitivities.coordinates import difference

SHARE = 1e-3
"""Step of the differences over the number; of zero, the step itself."""

CENTRAL = ((2.0 / 3.0, 1), (-1.0 / 12.0, 2))
"""Weights and places of the difference of fourth order: a rational function keeps 1e-11 of its slope."""


def slopes_with(
    variations: Variations, place: str, settings: Callable[[Scenario], Any], middle: Any
) -> list[np.ndarray]:
    """Derivatives of all arrays of float64 in nested tuples with the number at a place, in their order.

    Args:
        variations: of what flies.
        place: as of :meth:`Scenario.changed`.
        settings: nested tuples of arrays that a scenario leads to.
        middle: those that the scenario itself leads to.

    Raises:
        ConfigError: there is no such place, or no number there, or its neighbours are no scenarios.
        ContractError: its neighbours begin otherwise, such as with a cable that is not taut there.
    """
    at = variations.value(place)
    step = SHARE * (abs(at) or 1.0)
    switches = _switches(middle)
    slopes: list[Any] = []
    for weight, k in CENTRAL:
        ends = []
        for sign in (1.0, -1.0):
            tree = settings(variations.changed(place, at + sign * k * step))
            for one, other in zip(switches, _switches(tree), strict=True):
                if not np.array_equal(one, other):
                    raise ContractError(
                        f"{place}: no derivative at {at:g}, because at {at + sign * k * step:g} the flight begins with "
                        "other switches: another set of taut cables, or other samples on their way. Begin elsewhere, "
                        "such as with cables that are slack (initial: ...)."
                    )
            ends.append([array.copy() for array in numbers_in(tree)])
        part = [weight * difference(a, b) / step for a, b in zip(*ends, strict=True)]
        slopes = part if not slopes else [a + b for a, b in zip(slopes, part, strict=True)]
    return slopes


def _switches(tree: Any) -> list[np.ndarray]:
    """Copies of what is no number: integers and truths."""
    if isinstance(tree, tuple):
        return [array for part in tree for array in _switches(part)]
    if isinstance(tree, np.ndarray):
        return [] if tree.dtype == np.float64 else [tree.copy()]
    return [np.array(tree)] if isinstance(tree, (bool, int, np.integer)) else []
