"""Changes that a scenario makes during the flight: grips, cuts, faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rotor_core.config.schema import Change
from rotor_core.config.yaml.units import SAME_TIME


class Schedule:
    """Changes that are still to come after ``elapsed`` seconds, in the order of time."""

    def __init__(self, changes: Iterable[Change], elapsed: float) -> None:
        coming = [c for c in changes if c.at_s >= elapsed]
        self._coming = sorted(coming, key=lambda change: change.at_s)

    def due(self, elapsed: float) -> Iterator[Change]:
        """Take out what is due ``elapsed`` seconds after the beginning."""
        while self._coming and self._coming[0].at_s <= elapsed + SAME_TIME:
            yield self._coming.pop(0)
