"""Contacts between bodies as events: once per control period, because touching is not located in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.contact import Contact, Probe, Surface


class ContactEvents:
    """Pairs of names that touched at the last look: bodies in their order, before what stands in the world."""

    def __init__(self) -> None:
        self._pairs: set[tuple[str, str]] = set()

    def look(
        self, time: float, touching: np.ndarray, contacts: Sequence[Contact], names: Sequence[str]
    ) -> list[Event]:
        """Contacts that have begun or ended since the last call.

        Args:
            time: now, s.
            touching: of every contact, (n_contacts,) bool.
            contacts: what may touch.
            names: of the bodies.
        """
        pairs: set[tuple[str, str]] = set()
        for k in np.flatnonzero(touching).tolist():
            parts = sorted((contacts[k].probe, contacts[k].surface), key=_order)
            pairs.add((_name(parts[0], names), _name(parts[1], names)))
        changed = [("touch", pair) for pair in sorted(pairs - self._pairs)]
        changed += [("leave", pair) for pair in sorted(self._pairs - pairs)]
        self._pairs = pairs
        return [Event(time, kind, (), bodies=pair) for kind, pair in changed]


def _name(part: Probe | Surface, names: Sequence[str]) -> str:
    """Of the body that a part of a contact is of, or of what stands in the world."""
    return part.name if part.body == WORLD else names[part.body]


def _order(part: Probe | Surface) -> tuple[bool, int]:
    return part.body == WORLD, part.body
