"""Contacts between bodies as events: once per control period, because touching is not located in time."""

from __future__ import annotations

import numpy as np

from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import WORLD


class ContactEvents:
    """Pairs of bodies that touched at the last look."""

    def __init__(self) -> None:
        self._pairs: set[tuple[str, str]] = set()

    def look(self, engine: Engine, names: list[str]) -> list[Event]:
        """Contacts that have begun or ended since the last call; ``names`` of the bodies."""
        pairs: set[tuple[str, str]] = set()
        for k in np.flatnonzero(engine.touching):
            one, other = engine.system.contacts[k].probe, engine.system.contacts[k].surface
            pairs.add(
                (
                    one.name if one.body == WORLD else names[one.body],
                    other.name if other.body == WORLD else names[other.body],
                )
            )
        changed = [("touch", pair) for pair in sorted(pairs - self._pairs)]
        changed += [("leave", pair) for pair in sorted(self._pairs - pairs)]
        self._pairs = pairs
        return [Event(engine.time, kind, (), bodies=pair) for kind, pair in changed]
