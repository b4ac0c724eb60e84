"""Scenarios of a study: what is the same in all flights, and the numbers of one."""

from __future__ import annotations

import copy
from typing import Any

from rotor_core.config.parameters import prepared, read, write
from rotor_flight.studies.study import Setting, Variable

__all__ = ["prepared", "read", "settled", "varied", "write"]


def settled(document: dict[str, Any], settings: tuple[Setting, ...]) -> dict[str, Any]:
    """A copy with what is the same in all flights."""
    document = copy.deepcopy(document)
    for setting in settings:
        read(document, setting.at)
        write(document, setting.at, setting.value)
    return document


def varied(
    document: dict[str, Any], variables: tuple[Variable, ...], numbers: list[float]
) -> dict[str, Any]:
    """A copy with the numbers of one flight."""
    document = copy.deepcopy(document)
    for variable, number in zip(variables, numbers, strict=True):
        for place in variable.at:
            now = read(document, place)
            new = {"set": number, "scale": now * number, "add": now + number}[variable.how]
            write(document, place, new)
    return document
