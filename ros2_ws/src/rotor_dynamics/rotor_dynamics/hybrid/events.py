"""Hybrid events as plain data, read from the log of the compiled engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.hybrid import impact

_BOTH = {1: "snap", 2: "slack", 3: "settle", 4: "cut", 5: "release"}
EVENT_TYPES = {**_BOTH, 6: "break", 7: "touch", 8: "leave", 9: "stick", 10: "slip"}
"""Types by their codes in the compiled log."""

EVENT_NAMES = {**_BOTH, 6: "attach", 7: "touch", 8: "leave", 9: "break", 10: "stick", 11: "slip"}
"""Types by their codes in messages."""

WRAPS = "wraps"
"""Cause of a cable that begins or ceases to lie on a peg."""

END = "end_of_cable"
"""Cause of a drum that comes to the end of its cable, or leaves it."""

PLACED = tuple(int(i) for i in (impact.TOUCH, impact.LEAVE, impact.STICK, impact.SLIP))
"""Codes of the log that have a place."""

EVENT_CAUSES = {
    0: "",
    1: "tension_zero",
    2: "impact",
    3: "acceleration",
    4: "input_jump",
    5: WRAPS,
}

PASSES_THROUGH = "passes_through"
"""Cause of touches and leaves of what nothing holds apart."""

PARTS = ("cut", "break")
"""Types of events after which a cable is no more."""


@dataclass(frozen=True)
class Event:
    """A change of the taut set (or a settled cascade, a cut, a release).

    Attributes:
        time: s.
        type: snap, slack, settle, cut, break, release or attach; touch or leave where a joint reaches or leaves a
            stop and no cable takes part.
        cables: the cables it happened to.
        joints: the joints whose stops took part.
        bodies: for attach and release: holder and held; for touch and leave: the two.
        sheave: what the cable begins or ceases to lie on, a number on its way, from 0; -1: none.
        place: of a touch or leave of a cable, or of what passes through each other, m in W.
        cause: for ``slack``: tension_zero, impact, acceleration or input_jump; for ``touch`` and ``leave``:
            passes_through where nothing holds the two apart, wraps where a cable begins or ceases to lie on a peg,
            end_of_cable where a drum comes to the end of its cable or leaves it.
        at_length: cables that took part in an impact.
        impulses: N s, per cable of ``at_length``; of an impact of bodies the one between the two.
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
    joints: tuple[int, ...] = ()
    bodies: tuple[str, ...] = ()
    place: tuple[float, ...] = ()
    sheave: int = -1

    @property
    def energy_change(self) -> float:
        """Change of kinetic energy in an impact, J.

        ``-p . (d_dot- + d_dot+) / 2``, never positive. Of cables; 0 for an impact of bodies.
        """
        if self.bodies:
            return 0.0
        return -0.5 * sum(
            p * (before + after)
            for p, before, after in zip(
                self.impulses, self.closing_speeds, self.closing_speeds_after, strict=True
            )
        )


def events_from_log(
    world: memory.World,
    rows: np.ndarray,
    n_cables: int,
    first_stop: int,
    solids: Sequence[str] = (),
) -> list[Event]:
    """Events that rows of the log of a world tell; ``solids``: names of the bodies of its solids.

    Its first ``n_cables`` constraints are cables, then come the inner pieces of heavy ones, which are not told, from
    ``first_stop`` on stops.
    """
    end = len(world.constraint_int) - int(world.head[memory.N_CAPSTANS])
    stops = world.constraint_int[first_stop:end]
    sides = [(int(row[memory.STOP_JOINT]), int(row[memory.STOP_SIDE])) for row in stops]
    drums = {
        int(j) - 1: k for k, j in enumerate(world.constraint_int[:n_cables, memory.DRUM_JOINT])
    }
    joints = {
        k: int(world.joint_int[joint, memory.JOINT_NUMBER])
        for k, (joint, _) in enumerate(sides)
        if joint not in drums
    }
    events = []
    for row in rows:
        event = _event(row, n_cables)
        if sheave := int(row[memory.EVENT_SHEAVE]):
            route = world.sheave_int[:, memory.SHEAVE_ROUTE]
            first = int(np.argmax(route == route[sheave - 1]))
            events.append(replace(event, sheave=sheave - 1 - first))
            continue
        if meeting := int(row[memory.EVENT_MEETING]):
            hulls = world.meeting_int[meeting - 1, [memory.HULL_ON_A, memory.HULL_ON_B]]
            impulse = float(row[memory.EVENT_IMPULSE])
            events.append(
                replace(
                    event,
                    bodies=tuple(solids[int(h)] for h in hulls),
                    impulses=(impulse,) if impulse else (),
                )
            )
            continue
        involved = row[memory.EVENT_HEAD :].reshape(-1, memory.EVENT_PER_CONSTRAINT)[
            first_stop:end, memory.INVOLVED
        ]
        stopped = np.flatnonzero(involved == 1.0).tolist()
        touched = tuple(joints[k] for k in stopped if k in joints)
        ends = tuple(drums[sides[k][0]] for k in stopped if k not in joints)
        if not (event.cables or stopped) and first_stop > n_cables:
            continue
        if not event.cables and stopped:
            kind = "leave" if event.type == "slack" else "touch"
            event = replace(event, type=kind, cables=ends, cause=END if ends else event.cause)
        events.append(replace(event, joints=touched) if touched else event)
    return events


def _event(row: np.ndarray, n_cables: int) -> Event:
    table = row[memory.EVENT_HEAD :].reshape(-1, memory.EVENT_PER_CONSTRAINT)[:n_cables]
    kind = int(row[memory.EVENT_TYPE])
    involved = table[:, memory.INVOLVED]
    impact_happened = kind in (int(impact.SNAP), int(impact.SETTLE))
    at_length = np.flatnonzero(involved) if impact_happened else np.array([], int)
    return Event(
        time=float(row[memory.EVENT_TIME]),
        type=EVENT_TYPES[kind],
        cables=tuple(int(k) for k in np.flatnonzero(involved == 1.0)),
        cause=EVENT_CAUSES[int(row[memory.EVENT_CAUSE])],
        at_length=tuple(int(k) for k in at_length),
        impulses=tuple(table[at_length, memory.LOG_IMPULSE].tolist()),
        closing_speeds=tuple(table[at_length, memory.LOG_RATE_BEFORE].tolist()),
        closing_speeds_after=tuple(table[at_length, memory.LOG_RATE_AFTER].tolist()),
        tensions_before=tuple(table[:, memory.LOG_TENSION_BEFORE].tolist()),
        tensions_after=tuple(table[:, memory.LOG_TENSION_AFTER].tolist()),
        place=tuple(row[memory.EVENT_PLACE : memory.EVENT_PLACE + 3].tolist())
        if kind in PLACED
        else (),
    )
