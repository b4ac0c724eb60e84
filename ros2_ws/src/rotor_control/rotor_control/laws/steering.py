"""Inner law of all teams on cables: each vehicle pulls along its cable and steers the direction of the cable.

RotorTM eqs 65, 68 and the perpendicular parts of 73, with the feed-forward terms that the paper
leaves at zero. Equations (C.8), (C.14), (C.26).
"""

from __future__ import annotations

from rotor_control.gains import (
    ATTITUDE_GAIN,
    CABLE_LENGTH,
    CABLE_RATE_GAIN,
    COS_MAX_TILT,
    DIRECTION_GAIN,
    INERTIA,
    MASS,
    RATE_GAIN,
)
from rotor_control.laws.attitude import desired_rotation, heading_rate, tracking_moment
from rotor_control.laws.flatness import (
    CABLE_ACCELERATION,
    CABLE_RATE,
    NOMINAL_ACCELERATION,
    NOMINAL_RATE,
)
from rotor_control.laws.limits import limit_tilt
from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, column, cross, dot, get3, get9, norm, put3, scale, sub, times
from rotor_core.reference import YAW_ANGLE, YAW_RATE
from rotor_core.state import OMEGA, Q

SMALLEST_DISTANCE = 1e-3
"""Vehicle and load closer than this have no cable direction, m; it then counts as hanging."""


@kernel
def direction_and_rate(gap, gap_rate):
    """Unit vector from a vehicle to where its cable ends, and its rate, from how these are apart."""
    d = norm(gap)
    if d <= SMALLEST_DISTANCE:
        return (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)
    xi = scale(1.0 / d, gap)
    return xi, scale(1.0 / d, sub(gap_rate, scale(dot(xi, gap_rate), xi)))


@kernel
def cable_steering(xi, xi_dot, omega, xi_des, vehicle, ahead, k):
    """Angular acceleration asked of a cable, its sign turned: feedback, and feed-forward where ``ahead`` has rows.

    ``ahead``: (n, 12) of :mod:`rotor_control.laws.flatness`, or (0, 12).
    """
    e_xi = cross(xi_des, xi)
    if ahead.shape[0] == 0:
        return add(
            times(get3(vehicle, DIRECTION_GAIN), e_xi), times(get3(vehicle, CABLE_RATE_GAIN), omega)
        )
    omega_des = get3(ahead[k], CABLE_RATE)
    e_omega = add(omega, cross(xi, cross(xi, omega_des)))
    feedback = add(
        times(get3(vehicle, DIRECTION_GAIN), e_xi), times(get3(vehicle, CABLE_RATE_GAIN), e_omega)
    )
    transport = scale(dot(xi, omega_des), xi_dot)
    turning = cross(xi, cross(xi, get3(ahead[k], CABLE_ACCELERATION)))
    return add(feedback, add(transport, turning))  # (C.26)


@kernel
def wanted_direction(share):
    """Direction of a cable that pulls with a force on the payload; hanging where that is nothing."""
    size = norm(share)
    return scale(-1.0 / size, share) if size > 1e-9 else (0.0, 0.0, -1.0)


@kernel
def pulling_force(xi, omega, share, a, steer, vehicle):
    """Force of a vehicle in W that pulls with ``share`` along its cable and steers it (C.13), (C.14).

    ``a``: specific force of where the cable ends; ``steer``: of :func:`cable_steering`.
    """
    m, l = vehicle[MASS], vehicle[CABLE_LENGTH]
    along = scale(dot(xi, share) + m * dot(xi, a) + m * l * dot(omega, omega), xi)
    across = sub(scale(-m * l, cross(xi, steer)), scale(m, cross(xi, cross(xi, a))))
    return add(along, across)


@kernel
def thrust_and_moment(force, state, vehicle, reference, ahead, k, out):
    """Write thrust and moment that give a vehicle a force in W: (C.9) with its nominal turning where known.

    It leans as far as it may at most, and never turns over to push its load down.

    Returns the attitude that it should have, nine entries.
    """
    R = so3.matrix(so3.get4(state, Q))
    force = limit_tilt(force, vehicle[COS_MAX_TILT], vehicle[MASS])
    R_des = desired_rotation(force, reference[YAW_ANGLE])
    rate, acceleration = heading_rate(R_des, reference[YAW_RATE]), (0.0, 0.0, 0.0)
    if ahead.shape[0] > 0:
        rate, acceleration = get3(ahead[k], NOMINAL_RATE), get3(ahead[k], NOMINAL_ACCELERATION)
    out[k, 0] = dot(force, column(R, 2))
    tau = tracking_moment(
        R, get3(state, OMEGA), R_des, rate, acceleration,
        get9(vehicle, INERTIA), get3(vehicle, ATTITUDE_GAIN), get3(vehicle, RATE_GAIN),
    )  # fmt: skip
    put3(out[k], 1, tau)
    return R_des
