"""Scenarios of a study: what is the same in all flights, and the numbers of one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.parameters import prepared, read, write
from rotor_core.config.yaml.tree import Tree, tree_of
from rotor_flight.studies.study import Study, Variable

Document = dict[str, Any]


def settled(document: Document, name: str, study: Study) -> Document:
    """A copy with what is the same in all flights, and entries for what differs.

    Raises:
        ConfigError: there is no such place, or the settings make no valid scenario.
    """
    document = _prepared(document, name, [s.at for s in study.settings])
    for setting in study.settings:
        read(document, setting.at)
        write(document, setting.at, setting.value)
    places, late = [p for v in study.vary for p in v.at], _late(study.vary)
    return _prepared(document, name, [p for p in places if p not in late])


def varied(
    document: Document, name: str, variables: Sequence[Variable], numbers: Sequence[float]
) -> Document:
    """A copy of a settled one with the numbers of one flight.

    Raises:
        ConfigError: there is no such place, or the numbers make no valid scenario.
    """
    document, late = copy.deepcopy(document), _late(variables)
    changes = [
        (place, variable.how, number)
        for variable, number in zip(variables, numbers, strict=True)
        for place in variable.at
    ]
    for change in changes:
        if change[0] not in late:
            _change(document, *change)
    if late:
        document = _prepared(document, name, sorted(late))
        for change in changes:
            if change[0] in late:
                _change(document, *change)
    return document


def _change(document: Document, place: str, how: str, number: float) -> None:
    now = read(document, place)
    write(document, place, {"set": number, "scale": now * number, "add": now + number}[how])


def _late(variables: Sequence[Variable]) -> set[str]:
    """Places of the plant whose numbers, where the scenario has none, follow from nominal ones that differ too."""
    places = {place for variable in variables for place in variable.at}
    plant = {place for place in places if place.startswith("plant.")}
    return plant if any(place.startswith("model.") for place in places) else set()


def _prepared(document: Document, name: str, places: Sequence[str]) -> Document:
    scenario = scenario_from_tree(tree_of(document, Tree(None, "scenario", 0)), name)
    return prepared(document, scenario, list(places))
