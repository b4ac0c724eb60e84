"""Flights beside one, each with another number in its scenario: how that number enters what a compiled call takes.

They are not flown. Where the flight stops for a change, they are put where it would be with their number, and changed
with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rotor_core.config.parameters import Variations
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_core.numbers.packing import Packed
from rotor_flight.compiled.flights import Call, Stretch
from rotor_flight.sensitivities.settings import ROUNDING, SEARCHED, slopes_with


class Companions:
    """Flights that differ from one in the number at a place.

    Args:
        variations: scenarios that differ there.
        place: of the number.
        begin: starts the flight of a scenario.

    Attributes:
        number: as the scenario has it.
    """

    def __init__(
        self, variations: Variations, place: str, begin: Callable[[Scenario], Call]
    ) -> None:
        self._variations, self._place, self._begin = variations, place, begin
        self.number = variations.value(place)
        self._calls: dict[float, Call] = {}
        self._trees: dict[float, Any] = {}
        """What their next calls begin with: asked for once, because it draws from random streams."""

    def slopes(self, stretch: Stretch, middle: Any, presses: bool) -> list[np.ndarray]:
        """Derivatives of what the next call begins with, of all arrays of float64 in it, in their order.

        Args:
            stretch: the call.
            middle: what the flight itself begins it with.
            presses: whether bodies in rigid contact press each other then.

        Raises:
            ConfigError: the neighbours of the number make no scenario.
            ContractError: they begin otherwise, such as with a cable that is not taut there.
        """

        def settings(number: float) -> Any:
            if number not in self._calls:
                if stretch.drawn > 0:  # a flight under way: none begins now
                    raise ConfigError(f"{self._place}: no flight began at {number:g}.")
                varied = self._variations.changed(self._place, number)
                self._calls[number] = self._begin(varied)
            if number not in self._trees:
                self._trees[number] = self._calls[number].arguments(stretch)[:-1]
            return self._trees[number]

        rounding = SEARCHED if presses and stretch.drawn == 0 else ROUNDING
        return slopes_with(self._place, self.number, settings, middle, rounding)

    def end(self, stretch: Stretch, packed: Packed, k: int) -> None:
        """Put all where the flight has come to at the end of a stretch, but for its derivative k, and change them.

        Args:
            stretch: at whose end the scenario changes something.
            packed: arguments of its call.
            k: of the direction of this number.
        """
        self._calls = {number: self._calls[number] for number in self._trees}
        for number, call in self._calls.items():
            packed.put_into(self._trees[number], k, number - self.number)
            call.end(stretch)
        self._trees.clear()
