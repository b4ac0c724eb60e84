"""Common entries of two worlds, by name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def shared(here: Sequence[Hashable], there: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Places of what both have, in the one and in the other."""
    both = [name for name in here if name in there]
    return [here.index(name) for name in both], [there.index(name) for name in both]
