"""Planned motions, as scenarios give them."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded
from rotor_core.registry import Kind, Registry, check_kind

MOST_TURNS = 1000
"""Of a periodic motion."""

FEWEST_TIMED = 6
"""Rows that a path of quintic pieces needs."""


@dataclass(frozen=True)
class HoverPlan:
    """Stay where the start is, or at ``position_m``."""

    type: Literal["hover"]
    duration_s: float = bounded(10.0, gt=0.0)
    position_m: Vector | None = None
    yaw_deg: float = 0.0


@dataclass(frozen=True)
class StepPosePlan:
    """A constant pose at once."""

    type: Literal["step_pose"]
    position_m: Vector
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    duration_s: float = bounded(10.0, gt=0.0)


@dataclass(frozen=True)
class CirclePlan:
    """A circle with ramps of the angular rate.

    The start is on the circle, its centre one radius towards -x.

    ``ramp_rad_s2`` is the mean angular acceleration of the ramps; ``rotation_deg`` are the
    amplitudes of roll, pitch and yaw, which follow the sine of the phase.
    """

    type: Literal["circle"]
    radius_m: float = bounded(gt=0.0)
    period_s: float = bounded(ge=0.1)
    cruise_s: float = bounded(ge=0.0)
    ramp_rad_s2: float = bounded(float(np.pi / 40.0), gt=0.0)
    rotation_deg: Vector = bounded((0.0, 0.0, 0.0), ge=-60.0, le=60.0)


@dataclass(frozen=True)
class FigureEightPlan:
    """A figure eight in the horizontal plane about the start: ``width_m`` along x, ``height_m`` along y.

    ``period_s``: of a turn at constant rate; ``turns``: whole turns; ``ramp_s``: of each smooth ramp, half a
    period where it is left out.
    """

    type: Literal["figure_eight"]
    width_m: float = bounded(gt=0.0)
    height_m: float = bounded(ge=0.0)
    period_s: float = bounded(ge=0.1)
    turns: int = bounded(1, ge=1, le=MOST_TURNS)
    ramp_s: float | None = bounded(None, gt=0.0)


@dataclass(frozen=True)
class RotationPlan:
    """Turn the payload where it is: each angle follows a sine, ``turns`` whole periods, with smooth ramps.

    ``amplitude_deg``: of roll, pitch, yaw.
    """

    type: Literal["rotation"]
    amplitude_deg: Vector = bounded(ge=-60.0, le=60.0)
    period_s: float = bounded(ge=0.1)
    turns: int = bounded(1, ge=1, le=MOST_TURNS)


@dataclass(frozen=True)
class LinePlan:
    """Straight legs from rest to rest through the waypoints, quintic in time.

    ``timing: limits`` keeps peak speed and acceleration; ``rotortm`` uses the original's times (5 d
    up to 1 m, 10 sqrt(d) beyond). ``waypoints_file`` in place of ``waypoints_m``: a table of x, y, z.
    """

    type: Literal["line"]
    waypoints_m: tuple[Vector, ...]
    relative: bool = False
    timing: Literal["limits", "rotortm"] = "limits"
    speed_m_s: float = bounded(1.0, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)

    def __post_init__(self) -> None:
        check_points(self.waypoints_m)


@dataclass(frozen=True)
class WaypointsPlan:
    """Minimum k-th derivative through the waypoints, from rest to rest.

    ``degree`` of the polynomials and ``continuity`` default to the true minimiser (2k-1 and 2k-2);
    ``rest`` is the highest derivative that is zero at both ends (k-1). ``waypoints_file`` in place of
    ``waypoints_m``: a table of x, y, z. ``corridor_m``: every component of the distance from the
    straight line between two waypoints stays within this, at ``corridor_checks`` times per segment.
    ``speed_m_s`` and ``acceleration_m_s2`` allot times to the segments with a wide margin, so that flight is much
    slower than they say; ``duration_s`` sets the whole time. ``clearance_m``: the team as it hovers, with its vehicles
    and cables, keeps this distance from the obstacles of the scenario.
    """

    type: Literal["waypoints"]
    waypoints_m: tuple[Vector, ...]
    relative: bool = False
    derivative: int = bounded(4, ge=2, le=6)
    degree: int | None = bounded(None, ge=3, le=15)
    continuity: int | None = bounded(None, ge=1, le=14)
    rest: int | None = bounded(None, ge=1, le=5)
    speed_m_s: float = bounded(2.0, gt=0.0)
    acceleration_m_s2: float = bounded(5.0, gt=0.0)
    duration_s: float | None = bounded(None, gt=0.0)
    corridor_m: float | None = bounded(None, gt=0.0)
    corridor_checks: int = bounded(10, ge=1, le=100)
    clearance_m: float | None = bounded(None, gt=0.0)

    def __post_init__(self) -> None:
        check_points(self.waypoints_m)


@dataclass(frozen=True)
class Move:
    """One coordinate goes to a new value between two times and stays there: minimum jerk."""

    axis: Literal["x", "y", "z", "roll", "pitch", "yaw"]
    from_s: float = bounded(ge=0.0)
    to_s: float = bounded(ge=0.0)
    to_m: float | None = None
    to_deg: float | None = None

    def __post_init__(self) -> None:
        check_times(self.from_s, self.to_s)
        turns = self.axis in ("roll", "pitch", "yaw")
        if (self.to_deg is not None) != turns or (self.to_m is not None) == turns:
            raise ValueError(f"axis {self.axis} needs {'to_deg' if turns else 'to_m'} alone.")


@dataclass(frozen=True)
class MovesPlan:
    """Coordinates that move one by one or together, each from where the one before left it."""

    type: Literal["moves"]
    moves: tuple[Move, ...]
    duration_s: float = bounded(gt=0.0)

    def __post_init__(self) -> None:
        for axis in {m.axis for m in self.moves}:
            check_sequence([(m.from_s, m.to_s) for m in self.moves if m.axis == axis], axis)


@dataclass(frozen=True)
class JointMove:
    """One joint goes to a new angle (``to_deg``) or travel (``to_m``) between two times: minimum jerk."""

    joint: str
    from_s: float = bounded(ge=0.0)
    to_s: float = bounded(ge=0.0)
    to_deg: float | None = None
    to_m: float | None = None

    def __post_init__(self) -> None:
        check_times(self.from_s, self.to_s)
        if (self.to_deg is None) == (self.to_m is None):
            raise ValueError(f"joint {self.joint!r} needs either to_deg or to_m.")


@dataclass(frozen=True)
class ReachMove:
    """A point of a link goes to a place in the world between two times: inverse kinematics at its end.

    All joints between the base and the link move; the base is taken to be where it is planned, which nobody knows of a
    mission.
    """

    link: str
    target_m: Vector
    from_s: float = bounded(ge=0.0)
    to_s: float = bounded(ge=0.0)
    point_m: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_times(self.from_s, self.to_s)


@dataclass(frozen=True)
class JointMoves:
    """Moves of the arm of a vehicle: moves of single joints, and reaches of a point of a link."""

    vehicle: str
    moves: tuple[JointMove, ...] = ()
    reaches: tuple[ReachMove, ...] = ()

    def __post_init__(self) -> None:
        for joint in {m.joint for m in self.moves}:
            check_sequence([(m.from_s, m.to_s) for m in self.moves if m.joint == joint], joint)
        check_sequence([(m.from_s, m.to_s) for m in self.reaches], "reaches")


def check_points(points: tuple[Vector, ...]) -> None:
    """Raise ValueError where there is nowhere to go."""
    if not points:
        raise ValueError("waypoints_m must hold at least one point.")


def check_times(begin: float, end: float) -> None:
    """Raise ValueError where a move does not end after it begins."""
    if not begin < end:
        raise ValueError(f"to_s must be after from_s, got {begin:g} and {end:g}.")


def check_sequence(times: list[tuple[float, float]], what: str) -> None:
    """Raise ValueError where moves of one coordinate overlap or are out of order."""
    for (_, end), (begin, _) in pairwise(times):
        if begin < end:
            raise ValueError(
                f"moves of {what}: must follow each other, but one begins at {begin:g} s before {end:g} s."
            )


@dataclass(frozen=True)
class TimedPlan:
    """A smooth path through places at given times, from rest to rest: what `./rotor optimize` writes.

    ``points``: rows of time (s, from 0) and place (m), ``[t, x, y, z]``; ``relative``: the places count from the start.
    """

    type: Literal["timed"]
    points: tuple[tuple[float, float, float, float], ...]
    relative: bool = False

    def __post_init__(self) -> None:
        times = [row[0] for row in self.points]
        if len(times) < FEWEST_TIMED:
            raise ValueError(f"points must hold at least {FEWEST_TIMED} rows, got {len(times)}.")
        if times[0] != 0.0 or any(b <= a for a, b in pairwise(times)):
            raise ValueError("points must begin at time 0 and be in the order of increasing times.")


Plan = (
    HoverPlan
    | StepPosePlan
    | CirclePlan
    | FigureEightPlan
    | RotationPlan
    | LinePlan
    | WaypointsPlan
    | MovesPlan
    | TimedPlan
)

TRAJECTORIES: Registry[Kind] = Registry(
    "rotor.trajectories",
    "trajectory",
    "Trajectories by the ``type`` of a scenario's ``trajectory``; ``make(config, start, yaw)`` returns a Plan "
    "that begins at the position start, (3,) m, with the heading yaw, rad.",
    check=check_kind,
)
for _config in typing.get_args(Plan):
    _name = typing.get_args(typing.get_type_hints(_config)["type"])[0]
    TRAJECTORIES.register(_name, Kind(_config, f"rotor_planning.trajectories.from_config:{_name}"))
