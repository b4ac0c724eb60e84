"""Plans of every kind.

Hover, pose, circle with ramps, rotation in place, straight lines, waypoints. Each starts at a given position and yaw.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from rotor_core.config.trajectories import MOST_TURNS
from rotor_core.errors import ContractError
from rotor_core.given import numbers
from rotor_core.plans.plan import AXES, PHASE, YAW, Plan, hold
from rotor_planning.trajectories.corridor import Corridor
from rotor_planning.trajectories.keep_out import KeepOut
from rotor_planning.trajectories.polynomial import minimum_derivative
from rotor_planning.trajectories.timing import (
    QUINTIC,
    line_times,
    line_times_rotortm,
    waypoint_times,
)

SAME_POINT = 1e-9
"""Waypoints closer than this to the one before are left out, m."""

SWING_SAMPLES = 33
"""Points of every leg at which it is looked how far a path swings beyond its waypoints."""

SHORTEST_PERIOD, LARGEST_ANGLE = 0.1, np.radians(60.0) * (1.0 + 1e-9)
"""Bounds of periodic motions, s and rad, as in scenarios."""

SAMPLES_PER_TURN, SAMPLES_PER_RAMP = 64, 32
"""Samples of a figure eight: its spline keeps within 4e-7 of its size from it, with ramps of a hundredth of the period
within 3e-5, and shorter ones in inverse proportion."""

SHORTEST_PART = 1e-4
"""Of a period: a cruise shorter than this has no sample of its own."""

RAMP = Polynomial([0.0, 0.0, 0.0, 0.0, 2.5, -3.0, 1.0])
"""Phase of the ramp-up over (ramp time x angular rate): rate rises as 10 s^3 - 15 s^4 + 6 s^5."""


def check_tilt(angles: np.ndarray) -> None:
    """Refuse angles of roll, pitch, yaw (3,) rad beyond what a payload is turned by.

    Raises:
        ContractError: one is beyond 60 degrees, or not finite.
    """
    if not (np.abs(angles) <= LARGEST_ANGLE).all():
        raise ContractError(
            f"trajectory: angles must stay within {np.degrees(LARGEST_ANGLE):g} deg, got "
            f"{np.round(np.degrees(angles), 3).tolist()}."
        )


def _are_turns(turns: float) -> bool:
    """True of whole numbers from 1 to MOST_TURNS: else a motion would end elsewhere than it began."""
    return 1 <= turns <= MOST_TURNS and turns == round(turns)


def _pad(rows: list[np.ndarray]) -> np.ndarray:
    width = max(len(r) for r in rows)
    return np.array([np.pad(r, (0, width - len(r))) for r in rows])


def circle(
    start: np.ndarray,
    radius: float,
    period: float,
    cruise: float | None = None,
    *,
    yaw: float = 0.0,
    ramp: float = np.pi / 40.0,
    rotation: np.ndarray | None = None,
) -> Plan:
    """Circle with a smooth start and stop (RotorTM eq 58 with its ramps, signs corrected, E-R1).

    Args:
        start: first point, on the circle at its largest x, (3,) m.
        radius: m.
        period: of the cruise, s; negative turns clockwise.
        cruise: time at constant rate, s; default one period.
        yaw: heading, rad.
        ramp: mean angular acceleration of the ramps, rad/s^2; they take 2 pi / |period| / ramp.
        rotation: amplitudes of roll, pitch, yaw, rad, following the sine of the phase.

    Raises:
        ContractError: a number out of range.
    """
    cruise = abs(period) if cruise is None else cruise
    if not (radius > 0.0 and abs(period) >= SHORTEST_PERIOD and cruise >= 0.0 and ramp > 0.0):
        raise ContractError(
            f"circle: needs radius > 0 m, a period of at least {SHORTEST_PERIOD:g} s, cruise >= 0 s and ramp > 0 "
            f"rad/s^2, got {radius}, {period}, {cruise}, {ramp}."
        )
    rate = 2.0 * np.pi / period
    amplitudes = np.zeros(3) if rotation is None else numbers("circle: rotation", rotation, 3)
    check_tilt(amplitudes)
    centre = numbers("circle: start", start, 3) - [radius, 0.0, 0.0]
    return _phased(centre, rate, abs(rate) / ramp, cruise, radius, yaw, amplitudes)


def figure_eight(
    start: np.ndarray,
    width: float,
    height: float,
    period: float,
    turns: int = 1,
    *,
    yaw: float = 0.0,
    ramp: float | None = None,
) -> Plan:
    """Figure eight in the horizontal plane (lemniscate of Gerono) about its crossing, with a smooth start and stop.

    ``x = width/2 sin(phase)``, ``y = height/2 sin(2 phase)``; the phase ramps up and down like that of a
    circle. The plan is the quintic spline through :data:`SAMPLES_PER_TURN` samples per turn, and at least
    :data:`SAMPLES_PER_RAMP` in either ramp.

    Args:
        start: crossing, (3,) m.
        width, height: along x and y, m.
        period: of a turn at constant rate, s.
        turns: whole turns, with the ramps.
        yaw: heading, rad.
        ramp: time of each ramp, s; default half a period.

    Raises:
        ContractError: a number out of range.
    """
    ramp = 0.5 * period if ramp is None else ramp
    if not (
        width > 0.0 and height >= 0.0 and period >= SHORTEST_PERIOD and _are_turns(turns)
        and 0.0 < ramp <= turns * period
    ):  # fmt: skip
        raise ContractError(
            f"figure_eight: needs width > 0 m, height >= 0 m, a period of at least {SHORTEST_PERIOD:g} s, 1 to "
            f"{MOST_TURNS} whole turns and 0 < ramp <= {turns * period:g} s, got {width}, {height}, {period}, {turns}, "
            f"{ramp}."
        )
    rate, cruise = 2.0 * np.pi / period, turns * period - ramp
    total = 2.0 * ramp + cruise
    edges = np.array([0.0, ramp, ramp + cruise, total])
    per_part = SAMPLES_PER_TURN * np.diff(edges) / period
    per_part[[0, 2]] = np.maximum(per_part[[0, 2]], SAMPLES_PER_RAMP)
    parts = [
        np.linspace(begin, end, max(1, round(n)) + 1)[1:]
        for begin, end, n in zip(edges[:-1], edges[1:], per_part, strict=True)
        if end - begin > SHORTEST_PART * period
    ]
    t = np.concatenate([[0.0], *parts])
    up = ramp * rate * RAMP(np.clip(t / ramp, 0.0, 1.0))
    down = ramp * rate * RAMP(np.clip((total - t) / ramp, 0.0, 1.0))
    middle = rate * np.clip(t - ramp, 0.0, cruise)
    phase = up + middle + (ramp * rate / 2.0 - down)
    path = np.column_stack(
        [0.5 * width * np.sin(phase), 0.5 * height * np.sin(2.0 * phase), np.zeros(len(t))]
    )
    return Plan.from_samples(
        t, numbers("figure_eight: start", start, 3) + path, np.full(len(t), yaw)
    )


def _phased(
    centre: np.ndarray,
    rate: float,
    ramp_time: float,
    cruise: float,
    radius: float,
    yaw: float,
    amplitudes: np.ndarray,
) -> Plan:
    """A plan whose phase ramps up to ``rate``, cruises and ramps down."""
    up = ramp_time * rate * RAMP
    after_up = ramp_time * rate / 2.0
    total = ramp_time * rate + rate * cruise
    down = total - up(Polynomial([1.0, -1.0]))
    segments = [(ramp_time, up.coef)]
    if cruise > 0.0:
        segments.append((cruise, np.array([after_up, rate * cruise])))
    segments.append((ramp_time, down.coef))
    coefficients = np.zeros((len(segments), AXES, len(RAMP.coef)))
    coefficients[:, :3, 0] = centre
    coefficients[:, YAW, 0] = yaw
    coefficients[:, PHASE] = _pad([np.pad(c, (0, len(RAMP.coef) - len(c))) for _, c in segments])
    return Plan(np.array([d for d, _ in segments]), coefficients, radius, amplitudes)


def rotation(
    start: np.ndarray,
    amplitude: np.ndarray,
    period: float,
    turns: int = 1,
    *,
    yaw: float = 0.0,
) -> Plan:
    """Turn in place: each angle is its amplitude times the sine of a phase that makes whole turns.

    The phase ramps up and down over half a period each.

    Args:
        start: position, (3,) m.
        amplitude: of roll, pitch, yaw, (3,) rad.
        period: s.
        turns: whole periods.
        yaw: heading about which it turns, rad.

    Raises:
        ContractError: a number out of range.
    """
    if not (period >= SHORTEST_PERIOD and _are_turns(turns)):
        raise ContractError(
            f"rotation: needs a period of at least {SHORTEST_PERIOD:g} s and 1 to {MOST_TURNS} whole turns, "
            f"got {period} and {turns}."
        )
    amplitude = numbers("rotation: amplitude", amplitude, 3)
    check_tilt(amplitude)
    rate = 2.0 * np.pi / period
    ramp_time = 0.5 * period
    start = numbers("rotation: start", start, 3)
    return _phased(start, rate, ramp_time, turns * period - ramp_time, 0.0, yaw, amplitude)


def _legs(start: np.ndarray, waypoints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    points = [numbers("start", start, 3)]
    one = len(waypoints) > 0 and np.isscalar(waypoints[0])
    given = [waypoints] if one else waypoints if len(waypoints) else np.zeros((0, 3))
    for p in numbers("waypoints", given, None, 3):
        if np.linalg.norm(p - points[-1]) > SAME_POINT:
            points.append(p)
    array = np.array(points)
    return array, np.linalg.norm(np.diff(array, axis=0), axis=1)


def _check_limits(speed: float, acceleration: float) -> None:
    if not (0.0 < speed < np.inf and 0.0 < acceleration < np.inf):
        raise ContractError(
            f"trajectory: speed and acceleration must be above 0, got {speed:g} m/s and {acceleration:g} m/s^2."
        )


def line(
    start: np.ndarray,
    waypoints: np.ndarray,
    *,
    yaw: float = 0.0,
    speed: float = 1.0,
    acceleration: float = 1.0,
    rotortm_times: bool = False,
) -> Plan:
    """Straight legs, each a quintic from rest to rest; waypoints (m, 3) m.

    Raises:
        ContractError: limits or points that cannot be.
    """
    _check_limits(speed, acceleration)
    points, distances = _legs(start, waypoints)
    if len(points) == 1:
        return hold(points[0], yaw)
    times = (
        line_times_rotortm(distances)
        if rotortm_times
        else line_times(distances, speed, acceleration)
    )
    coefficients = np.zeros((len(times), AXES, 6))
    coefficients[:, :3] = np.diff(points, axis=0)[:, :, None] * np.array(QUINTIC)
    coefficients[:, :3, 0] = points[:-1]
    coefficients[:, YAW, 0] = yaw
    return Plan(times, coefficients)


def waypoints(
    start: np.ndarray,
    goals: np.ndarray,
    *,
    yaw: float = 0.0,
    derivative: int = 4,
    degree: int | None = None,
    continuity: int | None = None,
    rest: int | None = None,
    speed: float = 2.0,
    acceleration: float = 5.0,
    duration: float | None = None,
    corridor: Corridor | None = None,
    keep_out: KeepOut | None = None,
) -> Plan:
    """Minimum k-th derivative from ``start`` through ``goals`` (m, 3) m.

    See :func:`minimum_derivative`.

    Raises:
        ContractError: limits or points that cannot be; or a path that swings farther beyond its points than they are
            apart, as where a leg is far shorter than its neighbours.
    """
    _check_limits(speed, acceleration)
    if duration is not None and not 0.0 < duration < np.inf:
        raise ContractError(f"waypoints: duration must be > 0 s and finite, got {duration}.")
    points, distances = _legs(start, goals)
    if len(points) == 1:
        return hold(points[0], yaw, duration=duration or 1.0)
    times = waypoint_times(distances, speed, acceleration)
    if duration is not None:
        times = times * (duration / times.sum())
    pieces = minimum_derivative(
        points, times, derivative=derivative, degree=degree, continuity=continuity, rest=rest,
        corridor=corridor, keep_out=keep_out,
    )  # fmt: skip
    coefficients = np.zeros((len(times), AXES, pieces.shape[2]))
    coefficients[:, :3] = pieces
    coefficients[:, YAW, 0] = yaw
    _check_swing(pieces, points, distances)
    return Plan(times, coefficients)


def _check_swing(pieces: np.ndarray, points: np.ndarray, distances: np.ndarray) -> None:
    """Refuse a path (m, 3, degree + 1) that leaves the box of its points (m + 1, 3) by more than its longest leg."""
    powers = np.linspace(0.0, 1.0, SWING_SAMPLES)[:, None] ** np.arange(pieces.shape[2])
    way = np.einsum("mxk,sk->msx", pieces, powers)
    beyond = np.maximum(points.min(axis=0) - way, way - points.max(axis=0))
    farthest, longest = float(beyond.max()), float(distances.max())
    if farthest > longest:
        short = int(distances.argmin())
        raise ContractError(
            f"waypoints: the path would swing {farthest:.3g} m beyond its points, which are {longest:.3g} m apart at "
            f"most: leg {short + 1} of {len(distances)} is only {distances[short]:.3g} m long. Leave that point out, "
            "or fly straight legs (type: line)."
        )
