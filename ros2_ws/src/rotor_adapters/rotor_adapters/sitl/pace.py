"""The pace of the wall clock, for autopilots that do not wait."""

from __future__ import annotations

import time as wall

LATE = 0.2
"""What is late by more is not made up for, s."""


class Pace:
    """Periods of simulated time that take as long on the wall."""

    def __init__(self, period: float) -> None:
        self._period, self._next = period, 0.0

    def begin(self) -> None:
        """The next period begins now."""
        self._next = wall.monotonic()

    def keep(self) -> None:
        """Wait until the wall clock has caught up with the periods so far."""
        now = wall.monotonic()
        self._next = max(self._next, now - LATE)
        if self._next > now:
            wall.sleep(self._next - now)
        self._next += self._period
