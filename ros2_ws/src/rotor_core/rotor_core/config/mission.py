"""Missions, as scenarios give them: steps one after the other, and guards that watch meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded

LONGEST = 86400.0
"""Steps and plans end within a day, s."""


@dataclass(frozen=True)
class Condition:
    """Holds when everything that it names holds; about the entity of its step, or ``entity``.

    ``slack``, ``taut``: all its cables. ``landed``: it stands, for half a second, whatever on.
    """

    entity: str = ""
    height_below_m: float | None = None
    height_above_m: float | None = None
    speed_below_m_s: float | None = bounded(None, gt=0.0)
    tilt_above_deg: float | None = bounded(None, gt=0.0)
    error_below_m: float | None = bounded(None, gt=0.0)
    error_above_m: float | None = bounded(None, gt=0.0)
    near_m: Vector | None = None
    within_m: float = bounded(0.1, gt=0.0)
    taut: bool = False
    slack: bool = False
    landed: bool = False
    battery_below: float | None = bounded(None, gt=0.0, lt=1.0)
    battery_below_v: float | None = bounded(None, gt=0.0)

    def __post_init__(self) -> None:
        names = [f.name for f in fields(self) if f.name not in ("entity", "within_m")]
        if all(getattr(self, name) is None or getattr(self, name) is False for name in names):
            raise ValueError(f"a condition needs at least one of {', '.join(names)}.")


@dataclass(frozen=True)
class TakeOff:
    """Motors on, and straight up by ``height_m``; in ``duration_s``, or at ``speed_m_s``."""

    type: Literal["take_off"]
    height_m: float = bounded(gt=0.0)
    duration_s: float | None = bounded(None, gt=0.0, le=LONGEST)
    speed_m_s: float = bounded(1.0, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)
    entity: str = ""


@dataclass(frozen=True)
class GoTo:
    """Straight to a place, from the one before where ``relative``; and to a heading, where given."""

    type: Literal["go_to"]
    position_m: Vector
    yaw_deg: float | None = None
    relative: bool = False
    duration_s: float | None = bounded(None, gt=0.0, le=LONGEST)
    speed_m_s: float = bounded(1.0, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)
    entity: str = ""


@dataclass(frozen=True)
class Turn:
    """To a heading, the short way round."""

    type: Literal["turn"]
    yaw_deg: float
    duration_s: float | None = bounded(None, gt=0.0, le=LONGEST)
    rate_deg_s: float = bounded(30.0, gt=0.0)
    entity: str = ""


@dataclass(frozen=True)
class HoverStep:
    """Stay for a while."""

    type: Literal["hover"]
    duration_s: float = bounded(gt=0.0, le=LONGEST)
    entity: str = ""


@dataclass(frozen=True)
class WaitUntil:
    """Go on when a condition holds; the mission fails when that takes longer than ``timeout_s``."""

    type: Literal["wait_until"]
    condition: Condition
    timeout_s: float = bounded(10.0, gt=0.0, le=LONGEST)
    entity: str = ""


@dataclass(frozen=True)
class Land:
    """Straight down to the ground; motors off below ``cut_off_m`` over where it stands.

    ``height_m``: of the entity when it stands; left out, the ground of the scenario and its feet or
    corners say. A payload on cables is set down, and its vehicles stay in the air (``slacken``).
    """

    type: Literal["land"]
    height_m: float | None = None
    cut_off_m: float = bounded(0.05, gt=0.0)
    duration_s: float | None = bounded(None, gt=0.0, le=LONGEST)
    speed_m_s: float = bounded(0.5, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)
    entity: str = ""


@dataclass(frozen=True)
class Tighten:
    """Vehicles of a team climb alone until all cables of their payload are taut; then the team flies it."""

    type: Literal["tighten"]
    speed_m_s: float = bounded(0.3, gt=0.0)
    timeout_s: float = bounded(20.0, gt=0.0, le=LONGEST)
    entity: str = ""


@dataclass(frozen=True)
class Slacken:
    """Vehicles of a team fly alone, and descend by ``by_m``, so that the cables of a standing payload hang."""

    type: Literal["slacken"]
    by_m: float = bounded(0.15, gt=0.0)
    speed_m_s: float = bounded(0.3, gt=0.0)
    timeout_s: float = bounded(20.0, gt=0.0, le=LONGEST)
    entity: str = ""


@dataclass(frozen=True)
class Wind:
    """The winch of a cable (from 1) goes to ``length_m``, at most at ``rate_m_s``: lower, or reel in.

    A payload that hangs on this cable alone goes down or up with it, and its vehicle stays.
    """

    type: Literal["wind"]
    cable: int = bounded(ge=1)
    length_m: float = bounded(gt=0.0)
    rate_m_s: float | None = bounded(None, gt=0.0)
    timeout_s: float = bounded(60.0, gt=0.0, le=LONGEST)


@dataclass(frozen=True)
class AttachStep:
    """Fix a payload to a body where both are."""

    type: Literal["attach"]
    payload: str
    to: str


@dataclass(frozen=True)
class HookStep:
    """Wait until a hook (an entity, such as a small payload on a winch) is at a payload, and fix it there.

    ``within_m``: of their middles.
    """

    type: Literal["hook"]
    payload: str
    to: str
    within_m: float = bounded(0.1, gt=0.0)
    timeout_s: float = bounded(20.0, gt=0.0, le=LONGEST)


@dataclass(frozen=True)
class ReleaseStep:
    """Let go of a payload: what holds it is opened, its cables are cut. Vehicles of a team then fly alone."""

    type: Literal["release"]
    payload: str


Step = (
    TakeOff
    | GoTo
    | Turn
    | HoverStep
    | WaitUntil
    | Land
    | Tighten
    | Slacken
    | Wind
    | AttachStep
    | HookStep
    | ReleaseStep
)


@dataclass(frozen=True)
class Guard:
    """Watched through all steps: when its condition holds, the mission is over and this is done instead.

    ``hold_s``: for how long it must hold.
    """

    when: Condition
    do: Literal["land", "hover"] = "land"
    hold_s: float = bounded(0.0, ge=0.0)
    speed_m_s: float = bounded(0.5, gt=0.0)


@dataclass(frozen=True)
class Mission:
    """Steps, one after the other, and guards; the first one whose condition holds counts.

    ``limit_s``: how long the flight without ROS waits for its end.
    """

    steps: tuple[Step, ...]
    guards: tuple[Guard, ...] = ()
    limit_s: float = bounded(600.0, gt=0.0)

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("steps must hold at least one step.")
