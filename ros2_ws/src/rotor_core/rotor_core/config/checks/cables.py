"""Cables that must reach, with the place of the entry that says otherwise."""

from __future__ import annotations

import numpy as np

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.checks.references import attachment_keys
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import cable_spans
from rotor_core.config.yaml.tree import Tree
from rotor_core.errors import ConfigError

REACH = 1e-6
"""Ends of a cable may begin this much farther apart than it is long, m: the engine puts them right."""


def check_cables(scenario: Scenario, states: np.ndarray, tree: Tree) -> None:
    """Check that every cable between entities reaches from one end to the other at the start.

    Args:
        scenario: what it was built from.
        states: of all entities at the start, (n, 13).
        tree: the file.

    Raises:
        ConfigError: a cable is too short, or what it joins too far apart.
    """
    lengths = {c.cable: c.length_m for c in scenario.plant if c.length_m is not None}
    spans = cable_spans(scenario.model, states)
    k = 0
    for i, item in enumerate(scenario.model.attachments):
        if not isinstance(item, CableAttachment):
            continue
        k += 1
        length, apart = lengths.get(k, item.length_m), float(spans[k - 1])
        if item.stiffness_n_per_m or not apart > length + REACH:  # also where it is not known
            continue
        keys = attachment_keys(tree, i)
        way = " through its rings" if item.through else ""
        raise ConfigError(
            f"{tree.at(*keys).place}: model.attachments[{i}]: cable{k} joins points of {item.a!r} and {item.b!r} that "
            f"are {apart:.4g} m apart at the start{way}, but it is only {length:g} m long. Write a longer length_m, or "
            f"move them together ({tree.at('initial').place}: initial)."
        )
