"""Plans.

Piecewise polynomials of position, attitude angles and a circle phase, and their exact evaluation.

Planner and controller share this file, so a controller evaluates the plan itself at the stamp of
the state it answers. Equations (P.n), docs/theory/planning.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, factorial, sin

import numpy as np
import scipy

from rotor_core.errors import ContractError
from rotor_core.given import increasing, numbers
from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.reference import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ATTITUDE,
    BODY_RATE,
    JERK,
    POSITION,
    REFERENCE,
    SNAP,
    VELOCITY,
    YAW_ACCELERATION,
    YAW_ANGLE,
    YAW_RATE,
    Reference,
)

X, Y, Z, ROLL, PITCH, YAW, PHASE = range(7)
AXES = 7
"""Rows of coefficients: position m, fixed-axis roll, pitch, yaw rad, phase of the circle rad."""


@dataclass(frozen=True)
class Plan:
    """A trajectory of one entity from time 0 to :attr:`duration`; it rests at its ends outside.

    Position is ``polynomial + radius (cos phase, sin phase, 0)``, each angle is ``polynomial +
    amplitude sin(phase)``.

    Attributes:
        durations: of the segments, (m,) s.
        coefficients: (m, 7, degree + 1), ascending powers of the segment's normalised time 0..1.
        radius: of the circle, m.
        rotation: amplitudes of roll, pitch, yaw, (3,) rad.
        motors: False: who follows this plan stands with its motors off.
    """

    durations: np.ndarray
    coefficients: np.ndarray
    radius: float = 0.0
    rotation: np.ndarray = None  # type: ignore[assignment]
    motors: bool = True

    def __post_init__(self) -> None:
        durations = numbers("plan: durations", self.durations, None)
        if not (len(durations) and np.all(durations > 0.0)):
            raise ContractError(
                f"plan: needs at least one segment, and durations > 0 s, got {durations.tolist()}."
            )
        coefficients = numbers("plan: coefficients", self.coefficients, len(durations), AXES, None)
        rotation = numbers(
            "plan: rotation", (0.0,) * 3 if self.rotation is None else self.rotation, 3
        )
        radius = numbers("plan: radius", self.radius)
        for name, value in (
            ("durations", durations),
            ("coefficients", coefficients),
            ("rotation", rotation),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "radius", float(radius))

    @property
    def duration(self) -> float:
        """Total time, s."""
        return float(self.durations.sum())

    @classmethod
    def from_samples(
        cls, t: np.ndarray, positions: np.ndarray, yaw: np.ndarray | None = None
    ) -> Plan:
        """Plan through samples, from rest to rest: the quintic spline with four continuous derivatives (SciPy).

        Args:
            t: increasing times; the plan starts at the first, (m,) s.
            positions: (m, 3) m.
            yaw: headings, (m,) rad, from each to the next the short way round; default zero.

        Raises:
            ContractError: fewer than two samples, times that do not increase, or shapes that do not fit.
        """
        t = increasing("plan: times", t)
        if len(t) < 2:
            raise ContractError(f"plan: needs at least two samples, got {len(t)}.")
        positions = numbers("plan: positions", positions, len(t), 3)
        heading = np.zeros(len(t)) if yaw is None else np.unwrap(numbers("plan: yaw", yaw, len(t)))
        values = np.column_stack([positions, heading])
        at_rest = [(order, np.zeros(4)) for order in (1, 2)]
        spline = scipy.interpolate.make_interp_spline(t, values, k=5, bc_type=(at_rest, at_rest))
        durations = np.diff(t)
        coefficients = np.zeros((len(durations), AXES, 6))
        for power in range(6):  # ascending, of the normalised time of each segment
            scaled = spline(t[:-1], nu=power) * (durations**power / factorial(power))[:, None]
            coefficients[:, [X, Y, Z, YAW], power] = scaled
        return cls(durations, coefficients)

    def at(self, t: float) -> Reference:
        """Reference at time t after the start, with names; a controller that gets it may look at the plan around t.

        Raises:
            ContractError: t is no finite number.
        """
        t = float(numbers("plan.at: t", t))
        return PlannedReference(self.sample(t), self, t)

    def sample(self, t: float, out: np.ndarray | None = None) -> np.ndarray:
        """Reference at time t after the start, (28,); columns: :mod:`rotor_core.reference`."""
        out = np.empty(REFERENCE) if out is None else out
        sample_plan(self.durations, self.coefficients, self.radius, self.rotation, float(t), out)
        return out

    def around(self, t: float, spacing: float, out: np.ndarray) -> None:
        """References ``spacing`` apart with time t in their middle, into ``out`` (an odd number, 28).

        All are of the segment at t, continued beyond its ends: what is differentiated knows no joints.
        """
        sample_around(
            self.durations, self.coefficients, self.radius, self.rotation, float(t), spacing, out
        )


class PlannedReference(Reference):
    """Reference that knows the plan and the time that it is from.

    Attributes:
        plan: that was sampled.
        time: after its start, s.
    """

    def __init__(self, array: np.ndarray, plan: Plan, time: float) -> None:
        super().__init__(array)
        self.plan, self.time = plan, time


@kernel
def sample_plan(durations, coefficients, radius, rotation, t, out):
    """Evaluate a plan at time t; before its start and after its end it rests."""
    segment, start = segment_at(durations, t)
    s = (t - start) / durations[segment]
    rests = s < 0.0 or s > 1.0
    s = min(max(s, 0.0), 1.0)
    sample_segment(coefficients[segment], durations[segment], s, rests, radius, rotation, out)


@kernel
def segment_at(durations, t):
    """Segment at time t, and the time of its start."""
    segment = 0
    start = 0.0
    while segment < durations.shape[0] - 1 and t >= start + durations[segment]:
        start += durations[segment]
        segment += 1
    return segment, start


@kernel
def sample_segment(segment, length, s, rests, radius, rotation, out):
    """Evaluate one segment (7, degree + 1) at its normalised time s, which may lie outside 0..1.

    (P.1) polynomials, (P.2) circle, (P.3) body rate of fixed-axis angles.
    """
    degree = segment.shape[1] - 1
    # angles first: value, first and second derivative of roll, pitch, yaw stay in registers
    phi = phi_d = phi_dd = theta = theta_d = theta_dd = psi = psi_d = psi_dd = 0.0
    p0 = p1 = p2 = p3 = p4 = 0.0
    for axis in range(AXES):
        c = segment[axis]
        d0 = d1 = d2 = d3 = d4 = 0.0
        for i in range(degree + 1):
            power = degree - i
            # Horner for the value and four derivatives at once (each divided by its factorial)
            d4 = d4 * s + d3
            d3 = d3 * s + d2
            d2 = d2 * s + d1
            d1 = d1 * s + d0
            d0 = d0 * s + c[power]
        if rests:
            d1 = d2 = d3 = d4 = 0.0
        d1 = d1 / length
        d2 = 2.0 * d2 / (length * length)
        d3 = 6.0 * d3 / (length * length * length)
        d4 = 24.0 * d4 / (length * length * length * length)
        if axis < 3:
            out[POSITION + axis] = d0
            out[VELOCITY + axis] = d1
            out[ACCELERATION + axis] = d2
            out[JERK + axis] = d3
            out[SNAP + axis] = d4
        elif axis == ROLL:
            phi, phi_d, phi_dd = d0, d1, d2
        elif axis == PITCH:
            theta, theta_d, theta_dd = d0, d1, d2
        elif axis == YAW:
            psi, psi_d, psi_dd = d0, d1, d2
        else:
            p0, p1, p2, p3, p4 = d0, d1, d2, d3, d4
    c, k = cos(p0), sin(p0)
    if radius != 0.0:
        # derivatives of radius exp(i phase): (real + i imaginary) factors
        zx, zy = radius * c, radius * k
        out[POSITION] += zx
        out[POSITION + 1] += zy
        out[VELOCITY] += -p1 * zy
        out[VELOCITY + 1] += p1 * zx
        re, im = -p1 * p1, p2
        out[ACCELERATION] += re * zx - im * zy
        out[ACCELERATION + 1] += re * zy + im * zx
        re, im = -3.0 * p1 * p2, p3 - p1 * p1 * p1
        out[JERK] += re * zx - im * zy
        out[JERK + 1] += re * zy + im * zx
        re, im = -3.0 * p2 * p2 - 4.0 * p1 * p3 + p1 * p1 * p1 * p1, p4 - 6.0 * p1 * p1 * p2
        out[SNAP] += re * zx - im * zy
        out[SNAP + 1] += re * zy + im * zx
    k_d = c * p1
    k_dd = c * p2 - k * p1 * p1
    phi, phi_d, phi_dd = (
        phi + rotation[0] * k,
        phi_d + rotation[0] * k_d,
        phi_dd + rotation[0] * k_dd,
    )
    theta, theta_d, theta_dd = (
        theta + rotation[1] * k,
        theta_d + rotation[1] * k_d,
        theta_dd + rotation[1] * k_dd,
    )
    psi, psi_d, psi_dd = (
        psi + rotation[2] * k,
        psi_d + rotation[2] * k_d,
        psi_dd + rotation[2] * k_dd,
    )
    cp, sp, ct, st = cos(phi), sin(phi), cos(theta), sin(theta)
    q = so3.product(
        so3.exp((0.0, 0.0, psi)), so3.product(so3.exp((0.0, theta, 0.0)), so3.exp((phi, 0.0, 0.0)))
    )
    so3.put4(out, ATTITUDE, q)
    out[BODY_RATE] = phi_d - psi_d * st
    out[BODY_RATE + 1] = theta_d * cp + psi_d * sp * ct
    out[BODY_RATE + 2] = -theta_d * sp + psi_d * cp * ct
    out[ANGULAR_ACCELERATION] = phi_dd - psi_dd * st - psi_d * theta_d * ct
    out[ANGULAR_ACCELERATION + 1] = (
        theta_dd * cp
        - theta_d * phi_d * sp
        + psi_dd * sp * ct
        + psi_d * (phi_d * cp * ct - theta_d * sp * st)
    )
    out[ANGULAR_ACCELERATION + 2] = (
        -theta_dd * sp
        - theta_d * phi_d * cp
        + psi_dd * cp * ct
        - psi_d * (phi_d * sp * ct + theta_d * cp * st)
    )
    out[YAW_ANGLE], out[YAW_RATE], out[YAW_ACCELERATION] = psi, psi_d, psi_dd


@kernel
def sample_around(durations, coefficients, radius, rotation, t, spacing, out):
    """:func:`sample_plan` at several times; see :meth:`Plan.around`."""
    middle = out.shape[0] // 2
    segment, start = segment_at(durations, t)
    length = durations[segment]
    s = (t - start) / length
    rests = s < 0.0 or s > 1.0
    for i in range(out.shape[0]):
        if rests:
            sample_plan(durations, coefficients, radius, rotation, t, out[i])
        else:
            there = s + (i - middle) * spacing / length
            sample_segment(coefficients[segment], length, there, False, radius, rotation, out[i])


HALF_TURN = np.pi * (1.0 + 1e-9)
"""Bound of roll and pitch, rad."""


def hold(
    position: np.ndarray,
    yaw: float = 0.0,
    *,
    roll: float = 0.0,
    pitch: float = 0.0,
    duration: float = 1.0,
    motors: bool = True,
) -> Plan:
    """A plan that rests at a pose; position (3,) m, angles rad.

    Raises:
        ContractError: a position that is none, or a roll or pitch of more than half a turn.
    """
    for name, angle in (("roll", roll), ("pitch", pitch)):
        if not abs(angle) <= HALF_TURN:
            raise ContractError(
                f"plan: {name} must be within half a turn, +-pi rad, got {angle}. Angles are in rad."
            )
    coefficients = np.zeros((1, AXES, 1))
    coefficients[0, X : Z + 1, 0] = numbers("plan: position", position, 3)
    coefficients[0, ROLL, 0], coefficients[0, PITCH, 0], coefficients[0, YAW, 0] = roll, pitch, yaw
    return Plan(np.array([duration]), coefficients, motors=motors)
