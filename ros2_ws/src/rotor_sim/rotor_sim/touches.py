"""Who touches whom, as events: once per control period, because touching is not located in time."""

from __future__ import annotations

import numpy as np

from rotor_sim.engine import Engine
from rotor_sim.events import Event
from rotor_sim.model.body import WORLD


class Touches:
    """Pairs of bodies that touched at the last look."""

    def __init__(self) -> None:
        self._pairs: set[tuple[int, int]] = set()

    def look(self, engine: Engine, names: list[str]) -> list[Event]:
        """What has begun or ended since the last look; ``names`` of the bodies."""
        pairs: set[tuple[int, int]] = set()
        for k in np.flatnonzero(engine.touching):
            contact = engine.system.contacts[k]
            pairs.add((contact.probe.body, contact.surface.body))
        changed = [("touch", pair) for pair in sorted(pairs - self._pairs)]
        changed += [("leave", pair) for pair in sorted(self._pairs - pairs)]
        self._pairs = pairs
        return [
            Event(
                engine.time,
                kind,
                (),
                bodies=tuple("world" if i == WORLD else names[i] for i in pair),
            )
            for kind, pair in changed
        ]
