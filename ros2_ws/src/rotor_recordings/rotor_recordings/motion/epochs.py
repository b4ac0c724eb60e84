"""The flight in a recording: what came after the last reset, of one clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rotor_core.errors import ConfigError
from rotor_recordings.motion.track import NANO

LEAP = 1.0
"""Stamps of a topic that go back by more than this belong to another flight, s: messages overtake others by less."""

FEW, FEW_OF_MANY = 3, 0.01
"""So many messages, or this share of all, that are behind the others are single ones, and no flight."""


@dataclass(frozen=True)
class Epoch:
    """The newest epoch of a recording in which somebody flew.

    Attributes:
        number: as messages tell it; None: none does.
        since: stamp at which it begins, ns; what is earlier came before a reset or another jump of the state.
        before: stamps at which it and the ones before it began, ns, without the first.
    """

    number: int | None = None
    since: int = np.iinfo(np.int64).min
    before: tuple[int, ...] = ()


def newest_epoch(told: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Epoch:
    """The newest of some epochs.

    Args:
        told: epochs, stamps (ns) and control periods of messages, (n,) each.

    Raises:
        ConfigError: time was set back: stamps stand twice.
    """
    found: dict[int, tuple[int, int, int, int]] = {}
    """First and last stamp, smallest and largest control period, by epoch."""
    for epochs, stamps, steps in told:
        for epoch in np.unique(epochs).tolist():
            at = epochs == epoch
            first, last = int(stamps[at].min()), int(stamps[at].max())
            least, most = int(steps[at].min()), int(steps[at].max())
            before = found.get(epoch, (first, last, least, most))
            found[epoch] = (
                min(first, before[0]), max(last, before[1]), min(least, before[2]), max(most, before[3]),
            )  # fmt: skip
    # states are answered while time stands, too
    flown = sorted(epoch for epoch, (*_, least, most) in found.items() if most > least)
    if len(flown) < 2:
        return Epoch(flown[0] if flown else None)
    for earlier, later in pairwise(flown):
        if found[earlier][1] > found[later][0]:
            raise ConfigError(
                f"time was set back to {found[later][0] * NANO:.3f} s by a reset: what was flown before has the same "
                "stamps, and the two cannot be told apart. Record flights one by one, or reset the state alone."
            )
    begun = tuple(found[epoch][0] for epoch in flown[1:])
    return Epoch(flown[-1], begun[-1], begun)


class Clockwork:
    """Watches that the stamps of a topic go forward, as they come.

    Of single messages (one in a hundred, or three) it says which they are: such as a latched one of long ago.
    """

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def see(self, topic: str, stamps: np.ndarray) -> np.ndarray:
        """Take up stamps in the order of reception, (n,) ns; False for single ones of another time, (n,) bool.

        Raises:
            ConfigError: they go back, as in a recording of two flights.
        """
        if not len(stamps):
            return np.ones(0, bool)
        before = self._newest.get(topic, int(stamps[0]))
        highest = np.maximum.accumulate(np.maximum(stamps, before))
        back = highest - stamps
        worst = int(np.argmax(back))
        late = back * NANO > LEAP
        if late.sum() > max(FEW, FEW_OF_MANY * len(stamps)):
            raise ConfigError(
                f"{topic}: its stamps go back from {highest[worst] * NANO:.3f} to {stamps[worst] * NANO:.3f} s: it "
                "holds two flights, or its clock was set. Give one flight alone, or use the times of reception where "
                "there are only paths to compare (--clock receive)."
            )
        self._newest[topic] = int(highest[-1])
        return ~late
