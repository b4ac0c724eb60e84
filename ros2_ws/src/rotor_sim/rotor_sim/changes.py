"""Changes that a scenario makes during the flight: grips, cuts, faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rotor_core.config.schema import Change
from rotor_core.config.yaml.units import SAME_TIME


class Schedule:
    """Changes that are still to come after ``elapsed`` seconds, in the order of time.

    Attributes:
        past: those before, in the order of time.
    """

    def __init__(self, changes: Iterable[Change], elapsed: float) -> None:
        ordered = sorted(changes, key=lambda change: change.at_s)
        self.past = [c for c in ordered if c.at_s < elapsed - SAME_TIME]
        self._coming = ordered[len(self.past) :]
        self._next = 0

    @property
    def made(self) -> list[Change]:
        """Those that are past, or have been made since."""
        return [*self.past, *self._coming[: self._next]]

    def skip(self, made: list[Change], elapsed: float) -> None:
        """Leave out those that are due now and have been made by somebody else."""
        while self._next < len(self._coming):
            change = self._coming[self._next]
            if change.at_s > elapsed + SAME_TIME or change not in made:
                return
            self._next += 1

    def places(self, elapsed: np.ndarray) -> list[int]:
        """Where among times in ascending order, (n,) s after the beginning, something will be due, each once."""
        found = np.searchsorted(elapsed + SAME_TIME, [c.at_s for c in self._coming[self._next :]])
        return [int(i) for i in np.unique(found) if i < len(elapsed)]

    def due(self, elapsed: float) -> Iterator[Change]:
        """Changes that are due ``elapsed`` seconds after the beginning, each once."""
        while self._next < len(self._coming):
            change = self._coming[self._next]
            if change.at_s > elapsed + SAME_TIME:
                return
            self._next += 1
            yield change
