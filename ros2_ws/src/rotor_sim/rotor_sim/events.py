"""Hybrid events as plain data, read from the log of the compiled engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_sim.hybrid import impact
from rotor_sim.model import layout as at

EVENT_TYPES = {1: "snap", 2: "slack", 3: "settle", 4: "cut", 5: "release"}
EVENT_CAUSES = {0: "", 1: "tension_zero", 2: "impact", 3: "acceleration", 4: "input_jump"}


@dataclass(frozen=True)
class Event:
    """A change of the taut set (or a settled cascade, a cut, a release).

    Attributes:
        time: s.
        type: snap, slack, settle, cut or release.
        cables: the cables it happened to.
        cause: for ``slack``: tension_zero, impact, acceleration or input_jump.
        at_length: cables that took part in an impact.
        impulses: N s, per cable of ``at_length``.
        closing_speeds, closing_speeds_after: gap rates before and after, m/s, per cable of
            ``at_length``.
        tensions_before, tensions_after: N, per cable of the system.
    """

    time: float
    type: str
    cables: tuple[int, ...]
    cause: str = ""
    at_length: tuple[int, ...] = ()
    impulses: tuple[float, ...] = ()
    closing_speeds: tuple[float, ...] = ()
    closing_speeds_after: tuple[float, ...] = ()
    tensions_before: tuple[float, ...] = ()
    tensions_after: tuple[float, ...] = ()

    @property
    def energy_change(self) -> float:
        """Change of kinetic energy in an impact, J.

        ``-p . (d_dot- + d_dot+) / 2``, never positive.
        """
        return -0.5 * sum(
            p * (before + after)
            for p, before, after in zip(
                self.impulses, self.closing_speeds, self.closing_speeds_after, strict=True
            )
        )


def event_from_row(row: np.ndarray, n_cables: int) -> Event:
    """Event of a row of the log."""
    table = row[at.EVENT_HEAD :].reshape(n_cables, at.EVENT_PER_CABLE)
    kind = int(row[at.EVENT_TYPE])
    involved = table[:, at.INVOLVED]
    impact_happened = kind in (int(impact.SNAP), int(impact.SETTLE))
    at_length = np.flatnonzero(involved) if impact_happened else np.array([], int)
    return Event(
        time=float(row[at.EVENT_TIME]),
        type=EVENT_TYPES[kind],
        cables=tuple(int(k) for k in np.flatnonzero(involved == 1.0)),
        cause=EVENT_CAUSES[int(row[at.EVENT_CAUSE])],
        at_length=tuple(int(k) for k in at_length),
        impulses=tuple(table[at_length, at.LOG_IMPULSE].tolist()),
        closing_speeds=tuple(table[at_length, at.LOG_RATE_BEFORE].tolist()),
        closing_speeds_after=tuple(table[at_length, at.LOG_RATE_AFTER].tolist()),
        tensions_before=tuple(table[:, at.LOG_TENSION_BEFORE].tolist()),
        tensions_after=tuple(table[:, at.LOG_TENSION_AFTER].tolist()),
    )
