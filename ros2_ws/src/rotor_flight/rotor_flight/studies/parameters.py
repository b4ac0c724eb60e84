"""Scenarios of a study: what is the same in all flights, and the numbers of one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.parameters import prepared, read, write
from rotor_core.config.yaml.tree import Tree, tree_of
from rotor_flight.studies.study import Study, Variable

Document = dict[str, Any]
Change = tuple[str, str, float]
"""A place, how its number changes (set, scale, add), and by what."""


def settled(document: Document, name: str, study: Study) -> Document:
    """A copy with what is the same in all flights, and entries for what differs.

    Raises:
        ConfigError: there is no such place, or the settings make no valid scenario.
    """
    varied_places = [p for v in study.vary for p in v.at]
    asked = [*(s.at for s in study.settings), *varied_places]
    settings = [(s.at, "set", s.value) for s in study.settings]
    document = _in_rounds(copy.deepcopy(document), name, settings, asked)
    late = _late(varied_places)
    return _prepared(document, name, [p for p in varied_places if p not in late], asked)


def varied(
    document: Document, name: str, variables: Sequence[Variable], numbers: Sequence[float]
) -> Document:
    """A copy of a settled one with the numbers of one flight.

    Raises:
        ConfigError: there is no such place, or the numbers make no valid scenario.
    """
    changes = [
        (place, variable.how, number)
        for variable, number in zip(variables, numbers, strict=True)
        for place in variable.at
    ]
    late, document = _late(place for place, _, _ in changes), copy.deepcopy(document)
    for change in changes:
        if change[0] not in late:
            _change(document, change)
    asked = [place for place, _, _ in changes]
    return _in_rounds(document, name, [c for c in changes if c[0] in late], asked)


def _in_rounds(
    document: Document, name: str, changes: Sequence[Change], asked: Sequence[str]
) -> Document:
    """Make changes, the plant after its model and starts after the plant: what is implied follows from those before."""
    written = document.get("model", {}).get("payloads") or ()
    payloads = {p["name"] for p in written if "name" in p}

    def order(change: Change) -> tuple[int, str]:
        section, entity, *_ = [*change[0].split("."), ""]
        if section == "initial":  # vehicles are above their payloads
            return 2 if entity in payloads else 3, entity
        return int(section == "plant"), ""

    for turn in sorted({order(change) for change in changes}):
        own = [change for change in changes if order(change) == turn]
        document = _prepared(document, name, [place for place, _, _ in own], asked)
        for change in own:
            _change(document, change)
    return document


def _change(document: Document, change: Change) -> None:
    place, how, number = change
    now = read(document, place)
    write(document, place, {"set": number, "scale": now * number, "add": now + number}[how])


def _late(places: Iterable[str]) -> set[str]:
    """Places whose numbers, where the scenario has none, follow from others that differ too."""
    by_section: dict[str, set[str]] = {}
    for place in places:
        by_section.setdefault(place.partition(".")[0], set()).add(place)
    model, plant, initial = (by_section.get(key, set()) for key in ("model", "plant", "initial"))
    late = plant if model else set()
    entities = {place.split(".")[1] for place in initial if place.count(".") > 0}
    return late | initial if model or plant or len(entities) > 1 else late


def _prepared(
    document: Document, name: str, places: Sequence[str], asked: Sequence[str]
) -> Document:
    if not places:
        return document
    scenario = scenario_from_tree(tree_of(document, Tree(None, "scenario", 0)), name)
    return prepared(document, scenario, list(places), asked=asked)
