"""One vehicle with a cable-suspended point mass (RotorTM eqs 61-68, eq 63 with its sign corrected, E-P1).

Equations (C.6)-(C.9), docs/theory/control.md.
"""

from __future__ import annotations

from rotor_control.attitude import desired_rotation, heading_rate, tracking_moment
from rotor_control.gains import (
    ATTITUDE_GAIN,
    CABLE_LENGTH,
    CABLE_RATE_GAIN,
    DIRECTION_GAIN,
    INERTIA,
    LOAD_MASS,
    MASS,
    RATE_GAIN,
)
from rotor_control.position import commanded_acceleration
from rotor_core._jit import constants, kernel
from rotor_core.interface.plan import YAW_ANGLE, YAW_RATE
from rotor_core.lie import so3
from rotor_core.lie.vec3 import add, column, cross, dot, get3, get9, norm, put3, scale, sub, times

P, Q, V, OMEGA = constants(0, 3, 7, 10)
SMALLEST_DISTANCE = 1e-3
"""Vehicle and load closer than this have no cable direction, m; it then counts as hanging."""


@kernel
def point_mass_command(states, reference, vehicles, load, who, memory, out):
    """Thrust and moment of the vehicle.

    Arguments as :func:`rotor_control.quadrotor.quadrotor_command`, ``who`` is
    (vehicle, load).
    """
    v = vehicles[0]
    s = states[who[0]]
    z = states[who[1]]
    R = so3.matrix(so3.get4(s, Q))
    m, m_L = v[MASS], load[LOAD_MASS]
    D = sub(get3(z, P), get3(s, P))
    d = norm(D)  # the measured distance: the same law steers while the cable is slack
    l = v[CABLE_LENGTH]
    xi, xi_dot = (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)
    if d > SMALLEST_DISTANCE:
        xi = scale(1.0 / d, D)
        # as in the paper, eq 8: the part along xi is zero for a taut cable, and only |xi_dot|^2 in
        # (C.6) would see it
        xi_dot = scale(1.0 / d, sub(get3(z, V), get3(s, V)))
    omega = cross(xi, xi_dot)
    a_cmd = commanded_acceleration(reference, get3(z, P), get3(z, V), load, memory)
    F_des = add(scale(m + m_L, a_cmd), scale(m * l * dot(xi_dot, xi_dot), xi))  # (C.6)
    size = max(norm(F_des), 1e-9)
    xi_des = scale(-1.0 / size, F_des)  # (C.7)
    e_xi = cross(xi_des, xi)
    steer = add(times(get3(v, DIRECTION_GAIN), e_xi), times(get3(v, CABLE_RATE_GAIN), omega))
    F = sub(scale(dot(xi, F_des), xi), scale(m * l, cross(xi, steer)))  # (C.8)
    R_des = desired_rotation(F, reference[YAW_ANGLE])
    out[0, 0] = dot(F, column(R, 2))
    tau = tracking_moment(
        R, get3(s, OMEGA), R_des, heading_rate(R_des, reference[YAW_RATE]), (0.0, 0.0, 0.0),
        get9(v, INERTIA), get3(v, ATTITUDE_GAIN), get3(v, RATE_GAIN),
    )  # fmt: skip
    put3(out[0], 1, tau)
