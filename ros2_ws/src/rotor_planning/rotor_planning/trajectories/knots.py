"""Plans through given states: a goal from where the reference is now, and trajectories from elsewhere."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial
from scipy.interpolate import BPoly, CubicSpline, PPoly

from rotor_core.errors import ContractError
from rotor_core.plans.plan import AXES, YAW, Plan
from rotor_core.reference import (
    ACCELERATION,
    POSITION,
    VELOCITY,
    YAW_ACCELERATION,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_planning.trajectories.timing import QUINTIC, line_times

SAMPLES = 64
"""Points at which limits of a goal's trajectory are checked."""

LONGER = 1.15
"""Factor by which a trajectory beyond its limits is slowed down."""

LEEWAY = 1.01
"""Limits may be exceeded by this factor where motions add."""

STANDSTILL = 0.1
"""Shortest time to brake, and of a trajectory to a goal, s."""

FARTHEST = 1e6
"""Plans stay within this distance, m."""

BRAKING = 2.0
"""Acceleration with which what moves comes to rest where nothing else is said, m/s^2."""

TURN_RATE, TURN_BRAKING = 0.5, 10.0
"""Mean rate of turns, rad/s, and what brakes one that is under way, rad/s^2."""

SHORTEST = 1e-9
"""Segments shorter than this are left out, s."""


def _pieces(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Hermite pieces in normalised time (m, d, degree + 1) of values (n, derivatives, d) at ``times`` (P.9)."""
    polynomial = PPoly.from_bernstein_basis(BPoly.from_derivatives(times, list(values)))
    ascending = polynomial.c[::-1]  # (degree + 1, m, d), powers of the time since the knot
    powers = np.arange(len(ascending))[:, None, None]
    return (ascending * np.diff(times)[None, :, None] ** powers).transpose(1, 2, 0)


def through_knots(
    times: np.ndarray,
    positions: np.ndarray,
    velocities: np.ndarray | None = None,
    accelerations: np.ndarray | None = None,
    yaws: np.ndarray | None = None,
) -> Plan:
    """Polynomials through knots: quintic through position, velocity and acceleration.

    Args:
        times: of the knots, strictly increasing from 0, (n,) s with n >= 2.
        positions: (n, 3) m.
        velocities: (n, 3) m/s; None: those of the cubic spline at rest at both ends.
        accelerations: (n, 3) m/s^2; None: cubic pieces.
        yaws: (n,) rad, taken the short way round; at rest in every knot.

    Raises:
        ContractError: too few knots, times that do not increase from 0, or numbers that are not finite.
    """
    times, positions = np.asarray(times, float), np.asarray(positions, float)
    if len(times) < 2:
        raise ContractError(f"trajectory: needs at least 2 points, got {len(times)}.")
    given = [positions, velocities, accelerations, yaws]
    if not all(np.isfinite(v).all() for v in (times, *(g for g in given if g is not None))):
        raise ContractError("trajectory: every number must be finite.")
    if times[0] != 0.0 or (np.diff(times) <= 0.0).any():
        raise ContractError(
            f"trajectory: time_from_start must increase from 0 s, got {times.tolist()}."
        )
    if velocities is None:
        velocities = CubicSpline(times, positions, bc_type="clamped")(times, 1)
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


def _peaks(position: list[Polynomial], length: float) -> tuple[float, float]:
    """Largest speed and acceleration of x, y, z over 0..length."""
    t = np.linspace(0.0, length, SAMPLES)
    v = np.array([p.deriv(1)(t) for p in position[:3]])
    a = np.array([p.deriv(2)(t) for p in position[:3]])
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
    """From a reference in motion (28,) to rest at ``goal`` (3,) m and heading ``yaw`` rad.

    Two motions at once (P.10): one brakes what moves now, the other is the quintic from where that
    would end to the goal.

    Args:
        reference: position, velocity and acceleration (and heading) go on from there.
        goal: m; None: where braking ends.
        yaw: rad, reached the short way round; None: the same.
        speed: peak, m/s, unless braking alone is faster.
        acceleration: peak, m/s^2, unless braking alone needs more.
        braking: acceleration with which what moves now brakes, m/s^2; None: ``acceleration``.
        turn_rate: largest mean rate of the turn, rad/s.
        least_duration: s.

    Raises:
        ContractError: the goal is not finite, or farther away than :data:`FARTHEST`.
    """
    now = np.array(
        [
            [*reference[POSITION : POSITION + 3], reference[YAW_ANGLE]],
            [*reference[VELOCITY : VELOCITY + 3], reference[YAW_RATE]],
            [*reference[ACCELERATION : ACCELERATION + 3], reference[YAW_ACCELERATION]],
        ]
    )
    p, v, a = now
    brake, stop = [Polynomial([x]) for x in p], p
    halt = 0.0
    if v.any() or a.any():
        halt = 1.5 * float(np.linalg.norm(v[:3])) / (acceleration if braking is None else braking)
        halt = max(halt, 1.5 * abs(v[3]) / TURN_BRAKING, STANDSTILL)
        rates = _pieces(np.array([0.0, halt]), np.array([[v, a], [v * 0.0, a * 0.0]]))[0]
        real_time = Polynomial([0.0, 1.0 / halt])
        brake = [Polynomial(c)(real_time).integ(k=[x]) for c, x in zip(rates, p, strict=True)]
        stop = np.array([b(halt) for b in brake])
    goal = stop[:3] if goal is None else np.asarray(goal, float)
    turn = 0.0 if yaw is None else np.remainder(yaw - stop[3] + np.pi, 2.0 * np.pi) - np.pi
    way = np.array([*(goal - stop[:3]), turn])
    if not (np.abs(way) < FARTHEST).all():
        raise ContractError(
            f"goal: must be within {FARTHEST:g} m of where the vehicle is, got {np.asarray(goal).tolist()}."
        )
    v_brake, a_brake = _peaks(brake, halt)
    fastest, hardest = max(speed, LEEWAY * v_brake), max(acceleration, LEEWAY * a_brake)
    legs = line_times(np.array([np.linalg.norm(way[:3])]), speed, acceleration)
    duration = max(float(legs[0]), STANDSTILL, abs(turn) / turn_rate, halt, least_duration)
    while True:
        rise = Polynomial(QUINTIC)(Polynomial([0.0, 1.0 / duration]))
        both = [b + w * rise for b, w in zip(brake, way, strict=True)]
        after = [Polynomial([s]) + w * rise for s, w in zip(stop, way, strict=True)]
        v_peak, a_peak = _peaks(both, halt)
        if v_peak <= LEEWAY * fastest and a_peak <= LEEWAY * hardest:
            break
        duration *= LONGER  # the quintic fades with its length, braking alone is within the limits
    parts = [(0.0, halt, both), (halt, duration, after)]
    parts = [part for part in parts if part[1] - part[0] > SHORTEST]
    coefficients = np.zeros((len(parts), AXES, len(QUINTIC)))
    for i, (begin, end, polynomials) in enumerate(parts):
        for axis, polynomial in zip((0, 1, 2, YAW), polynomials, strict=True):
            c = polynomial(Polynomial([begin, end - begin])).coef
            coefficients[i, axis, : len(c)] = c
    return Plan(np.array([end - begin for begin, end, _ in parts]), coefficients)


def come_to_rest(reference: np.ndarray) -> Plan:
    """From a reference in motion (28,) to rest as soon as it gently can, wherever that is (P.10)."""
    return go_to(reference, None, None, speed=1.0, acceleration=BRAKING)
