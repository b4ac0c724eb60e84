"""Plans through given states: a goal from where the reference is now, and trajectories from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy
from numpy.polynomial import Polynomial
from transforms3d.euler import quat2euler

from rotor_core.errors import ContractError
from rotor_core.given import increasing, numbers
from rotor_core.plans.plan import AXES, ROLL, YAW, Plan, X
from rotor_core.reference import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ATTITUDE,
    BODY_RATE,
    POSITION,
    VELOCITY,
    YAW_ACCELERATION,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_planning.trajectories.bounds import FARTHEST
from rotor_planning.trajectories.timing import QUINTIC, line_times

SAMPLES = 64
"""Points at which limits of a goal's trajectory are checked."""

LONGER = 1.15
"""Factor by which a trajectory beyond its limits is slowed down."""

LEEWAY = 1.01
"""Limits may be exceeded by this factor where motions add."""

STANDSTILL = 0.1
"""Shortest time to brake, and of a trajectory to a goal, s."""

BRAKING = 2.0
"""Acceleration with which what moves comes to rest where nothing else is said, m/s^2."""

TURN_RATE, TURN_BRAKING = 0.5, 2.0
"""Mean rate of turns, rad/s, and what brakes one that is under way, rad/s^2."""

FADE = 1.0
"""Longest time in which the acceleration of what brakes fades away, s: over a long braking it would make it faster."""

SHORTEST = 1e-9
"""Segments shorter than this are left out, s."""


def _pieces(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Hermite pieces in normalised time (m, d, degree + 1) of values (n, derivatives, d) at ``times`` (P.9)."""
    polynomial = scipy.interpolate.PPoly.from_bernstein_basis(
        scipy.interpolate.BPoly.from_derivatives(times, list(values))
    )
    ascending = polynomial.c[::-1]  # (degree + 1, m, d), powers of the time since the knot
    powers = np.arange(len(ascending))[:, None, None]
    return (ascending * np.diff(times)[None, :, None] ** powers).transpose(1, 2, 0)


def through_knots(
    times: np.ndarray,
    positions: np.ndarray,
    velocities: np.ndarray | None = None,
    accelerations: np.ndarray | None = None,
    yaws: np.ndarray | None = None,
    *,
    begin: np.ndarray | None = None,
) -> Plan:
    """Polynomials through knots: quintic through position, velocity and acceleration.

    Args:
        times: of the knots, strictly increasing from 0, (n,) s with n >= 2.
        positions: (n, 3) m.
        velocities: (n, 3) m/s; None: those of the cubic spline at rest at its end, and at its start but for ``begin``.
        accelerations: (n, 3) m/s^2; None: cubic pieces.
        yaws: (n,) rad, taken the short way round; at rest in every knot.
        begin: velocity at the start of a spline, (3,) m/s; default at rest.

    Raises:
        ContractError: too few knots, times that do not increase from 0, or numbers that are not finite.
    """
    times = increasing("trajectory: time_from_start", times)
    if len(times) < 2:
        raise ContractError(f"trajectory: needs at least 2 points, got {len(times)}.")
    if times[0] != 0.0:
        raise ContractError(f"trajectory: time_from_start must begin at 0 s, got {times[0]:g} s.")
    n = len(times)
    positions = numbers("trajectory: positions", positions, n, 3)
    if velocities is not None:
        velocities = numbers("trajectory: velocities", velocities, n, 3)
    if accelerations is not None:
        accelerations = numbers("trajectory: accelerations", accelerations, n, 3)
    if yaws is not None:
        yaws = numbers("trajectory: yaws", yaws, n)
    if velocities is None:
        start = np.zeros(3) if begin is None else numbers("trajectory: begin", begin, 3)
        ends = ((1, start), (1, np.zeros(3)))
        velocities = scipy.interpolate.CubicSpline(times, positions, bc_type=ends)(times, 1)
        accelerations = None
    rows = (
        [positions, velocities] if accelerations is None else [positions, velocities, accelerations]
    )
    pieces = _pieces(times, np.stack(rows, axis=1))
    angles = np.unwrap(np.zeros(len(times)) if yaws is None else yaws)
    turns = _pieces(times, np.stack([angles, np.zeros(len(times))], axis=1)[:, :, None])
    coefficients = np.zeros((len(times) - 1, AXES, max(pieces.shape[2], turns.shape[2])))
    coefficients[:, :3, : pieces.shape[2]] = pieces
    coefficients[:, YAW, : turns.shape[2]] = turns[:, 0]
    return Plan(np.diff(times), coefficients)


def wound(start: np.ndarray, way: float, yaw: float, *, speed: float, acceleration: float) -> Plan:
    """Up or down by ``way`` m as a winch goes: with full acceleration, at its rate, with full braking (P.13).

    Args:
        start: (3,) m, at rest.
        way: along z, m, not zero.
        yaw: rad.
        speed, acceleration: of the winch, m/s and m/s^2.
    """
    peak = min(speed, np.sqrt(abs(way) * acceleration))
    ramp, cruise = peak / acceleration, abs(way) / peak - peak / acceleration
    knots = [0.0, ramp, ramp + cruise, 2.0 * ramp + cruise]
    ways = np.array([0.0, 0.5 * peak * ramp, abs(way) - 0.5 * peak * ramp, abs(way)])
    rates = np.array([0.0, peak, peak, 0.0])
    kept = [i for i in range(4) if i != 2 or cruise > SHORTEST]
    along = np.array([0.0, 0.0, np.sign(way)])
    return through_knots(
        np.array(knots)[kept],
        start + np.outer(ways[kept], along),
        np.outer(rates[kept], along),
        yaws=np.full(len(kept), yaw),
    )


def pose_of(reference: np.ndarray) -> np.ndarray:
    """Position m and fixed-axis angles rad of a reference (28,), with two derivatives, (3, 6): (P.3) inverted."""
    roll, pitch, yaw = quat2euler(reference[ATTITUDE : ATTITUDE + 4], "sxyz")
    if np.cos(reference[YAW_ANGLE] - yaw) < 0.0:  # pitched beyond 90 degrees
        roll, pitch = np.remainder(roll, 2.0 * np.pi) - np.pi, np.pi - pitch
    rate = reference[BODY_RATE : BODY_RATE + 3]
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    to_body = np.array([[1.0, 0.0, -sp], [0.0, cr, sr * cp], [0.0, -sr, cr * cp]])
    angular = np.linalg.solve(to_body, rate)
    by_roll = np.array([[0.0, 0.0, 0.0], [0.0, -sr, cr * cp], [0.0, -cr, -sr * cp]])
    by_pitch = np.array([[0.0, 0.0, -cp], [0.0, 0.0, -sr * sp], [0.0, 0.0, -cr * sp]])
    moving = (by_roll * angular[0] + by_pitch * angular[1]) @ angular
    angular_acceleration = reference[ANGULAR_ACCELERATION : ANGULAR_ACCELERATION + 3]
    faster = np.linalg.solve(to_body, angular_acceleration - moving)
    return np.array(
        [
            [*reference[POSITION : POSITION + 3], roll, pitch, reference[YAW_ANGLE]],
            [*reference[VELOCITY : VELOCITY + 3], *angular[:2], reference[YAW_RATE]],
            [*reference[ACCELERATION : ACCELERATION + 3], *faster[:2], reference[YAW_ACCELERATION]],
        ]
    )


def _halt(motion: np.ndarray, braking: float) -> float:
    """Time in which velocity and acceleration (2, 3) come to rest, s; ``braking``: m/s^2 or rad/s^2."""
    if not motion.any():
        return 0.0
    return max(1.5 * float(np.linalg.norm(motion[0])) / braking, STANDSTILL)


@dataclass(frozen=True)
class _Braking:
    """Position in time of what comes to rest.

    Attributes:
        early, late: until its first acceleration has faded away, and from then on.
        fade, halt: when it has, and when it rests, s.
    """

    early: Polynomial
    late: Polynomial
    fade: float
    halt: float

    def moved(self, way: Polynomial) -> _Braking:
        """On the way of another motion."""
        return replace(self, early=self.early + way, late=self.late + way)

    def derivative(self, order: int, t: np.ndarray) -> np.ndarray:
        """At times within the braking."""
        return np.where(t <= self.fade, self.early.deriv(order)(t), self.late.deriv(order)(t))


def _brake(p: float, v: float, a: float, halt: float) -> _Braking:
    """Comes to rest in ``halt`` s: its velocity is cubic, and that from its acceleration fades sooner (P.10)."""
    fade = min(halt, FADE)
    if halt == 0.0:
        return _Braking(Polynomial([p]), Polynomial([p]), fade, halt)
    late = _cubic_velocity(p, v, a if fade == halt else 0.0, halt)
    if fade == halt:
        return _Braking(late, late, fade, halt)
    by_acceleration = _cubic_velocity(0.0, 0.0, a, fade)
    return _Braking(late + by_acceleration, late + by_acceleration(fade), fade, halt)


def _cubic_velocity(p: float, v: float, a: float, halt: float) -> Polynomial:
    rate = _pieces(np.array([0.0, halt]), np.array([[[v], [a]], [[0.0], [0.0]]]))[0, 0]
    return Polynomial(rate)(Polynomial([0.0, 1.0 / halt])).integ(k=[p])


def _peaks(position: list[_Braking], length: float) -> tuple[float, float]:
    """Largest speed and acceleration of x, y, z over 0..length."""
    t = np.linspace(0.0, length, SAMPLES)
    v, a = (np.array([p.derivative(order, t) for p in position[:3]]) for order in (1, 2))
    return float(np.linalg.norm(v, axis=0).max()), float(np.linalg.norm(a, axis=0).max())


def go_to(
    reference: np.ndarray,
    goal: np.ndarray | None,
    yaw: float | None,
    *,
    speed: float,
    acceleration: float,
    braking: float | None = None,
    turn_rate: float = TURN_RATE,
    least_duration: float = 0.0,
) -> Plan:
    """From a reference in motion (28,) to rest at ``goal`` (3,) m and heading ``yaw`` rad, level.

    Two motions at once (P.10): one brakes what moves now, the other is the quintic from where that
    would end to the goal. Where that is sooner there within the limits, the second begins when the first has ended (a
    goal behind what moves). Turning is braked by itself.

    Args:
        reference: position and attitude, velocities and accelerations go on from there.
        goal: m; None: where braking ends.
        yaw: rad, reached the short way round; None: the same.
        speed: peak, m/s, unless braking alone is faster.
        acceleration: peak, m/s^2, unless braking alone needs more.
        braking: acceleration with which what moves now brakes, m/s^2; None: ``acceleration``.
        turn_rate: largest mean rate of the turn, rad/s.
        least_duration: s.

    Raises:
        ContractError: the goal is not finite, or farther away than :data:`rotor_planning.trajectories.bounds.FARTHEST`.
    """
    now = pose_of(reference)
    p, v, a = now
    halts = np.repeat(
        [
            _halt(now[1:, :3], acceleration if braking is None else braking),
            _halt(now[1:, 3:], TURN_BRAKING),
        ],
        3,
    )
    brake = [_brake(*motion) for motion in zip(p, v, a, halts, strict=True)]
    stop = np.array([float(b.late(b.halt)) for b in brake])
    goal = stop[:3] if goal is None else numbers("goal", goal, 3)
    turn = 0.0 if yaw is None else np.remainder(yaw - stop[YAW] + np.pi, 2.0 * np.pi) - np.pi
    way = np.array([*(goal - stop[:3]), *-stop[ROLL:YAW], turn])  # what is tilted comes level
    if not (np.abs(way) < FARTHEST).all():
        raise ContractError(
            f"goal: must be within {FARTHEST:g} m of where the vehicle is, got {np.asarray(goal).tolist()}."
        )
    v_brake, a_brake = _peaks(brake, halts[X])
    fastest, hardest = max(speed, LEEWAY * v_brake), max(acceleration, LEEWAY * a_brake)
    legs = line_times(np.array([np.linalg.norm(way[:3])]), speed, acceleration)
    turning = np.abs(way[ROLL:]).max() / turn_rate
    alone = max(float(legs[0]), STANDSTILL, turning)
    duration, delay = max(alone, halts.max(), least_duration), 0.0
    last = max(alone + halts.max(), least_duration)
    while True:
        rise = Polynomial(QUINTIC)(Polynomial([0.0, 1.0 / duration]))
        both = [b.moved(w * rise) for b, w in zip(brake, way, strict=True)]
        v_peak, a_peak = _peaks(both, halts[X])
        if v_peak <= LEEWAY * fastest and a_peak <= LEEWAY * hardest:
            break
        duration *= LONGER  # the quintic fades with its length, braking alone is within the limits
        if duration > last:  # one after the other is sooner there
            duration, delay, both = last, halts.max(), brake
            break
    rise = Polynomial(QUINTIC)(Polynomial([-delay, 1.0]) / (duration - delay))
    after = [Polynomial([s]) + w * rise for s, w in zip(stop, way, strict=True)]
    cuts = np.unique([0.0, *(b.fade for b in brake), *halts, delay, duration])
    parts = [(begin, end) for begin, end in pairwise(cuts) if end - begin > SHORTEST]
    coefficients = np.zeros((len(parts), AXES, len(QUINTIC)))
    for i, (begin, end) in enumerate(parts):
        for axis, moving in enumerate(both):
            if end <= moving.fade:
                motion = moving.early
            elif end <= max(moving.halt, delay):
                motion = moving.late if end <= moving.halt else Polynomial([stop[axis]])
            else:
                motion = after[axis]
            c = motion(Polynomial([begin, end - begin])).coef
            coefficients[i, axis, : len(c)] = c
    return Plan(np.array([end - begin for begin, end in parts]), coefficients)


def come_to_rest(reference: np.ndarray) -> Plan:
    """From a reference in motion (28,) to rest as soon as it gently can, wherever that is (P.10)."""
    return go_to(reference, None, None, speed=1.0, acceleration=BRAKING)
