"""Derivatives of the events of a flight with one number: of their times, and of all figures that the engine logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.hybrid.events import Event

FIGURES = (
    "impulses",
    "closing_speeds",
    "closing_speeds_after",
    "tensions_before",
    "tensions_after",
    "place",
)
"""Fields of an event that hold numbers."""

Log = tuple[Callable[[np.ndarray], list[Event]], np.ndarray, np.ndarray]
"""What reads events from rows of a log, the rows, (n, EVENT_ROW), and their derivatives."""


class EventChanges:
    """Derivatives of the events of a flight with one number.

    Args:
        events: of the flight.
        logs: of the engine, one after the other.
        changed_at: times of changes that the scenario makes, s: whatever is varied, they do not move.

    Attributes:
        times: derivatives of their times, (n_events,) s per unit; NaN where none is known.
    """

    def __init__(
        self, events: Sequence[Event], logs: Sequence[Log], changed_at: Sequence[float]
    ) -> None:
        self._events, self._logs = events, logs
        logged = [event for read, rows, _ in logs for event in read(rows)]
        self._places = [logged.index(event) if event in logged else -1 for event in events]
        """Of every event among the logged ones; -1: the log does not tell it."""
        slopes = [slope for log in logs for slope in _slopes_of_times(*log)]
        fixed = set(changed_at)
        self.times = np.array(
            [
                0.0 if event.time in fixed else slopes[place] if place >= 0 else np.nan
                for event, place in zip(events, self._places, strict=True)
            ]
        )

    def moved(self, by: float) -> list[Event]:
        """The events, to first order, with the number changed by ``by``; NaN where no derivative is known."""
        logged = [event for read, rows, slopes in self._logs for event in read(rows + by * slopes)]
        out = []
        for event, place, slope in zip(self._events, self._places, self.times, strict=True):
            there = logged[place] if place >= 0 else _unknown(event)
            out.append(replace(there, time=event.time + by * float(slope)))
        return out


def _slopes_of_times(
    read: Callable[[np.ndarray], list[Event]], rows: np.ndarray, slopes: np.ndarray
) -> list[float]:
    """Derivatives of the times of the events that rows tell, s per unit."""
    shifted = rows.copy()
    shifted[:, memory.EVENT_TIME] = slopes[:, memory.EVENT_TIME]
    return [event.time for event in read(shifted)]


def _unknown(event: Event) -> Event:
    """The event, with NaN for every figure."""
    figures = {field: (np.nan,) * len(getattr(event, field)) for field in FIGURES}
    return replace(event, **figures)
