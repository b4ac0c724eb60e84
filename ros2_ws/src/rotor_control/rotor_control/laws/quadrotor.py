"""Position control of a single vehicle (RotorTM module QdCtrl, Geometric_control).

Equations (C.4), (C.5).
"""

from __future__ import annotations

from rotor_control.gains import (
    ATTITUDE_GAIN,
    COS_MAX_TILT,
    GRAVITY,
    INERTIA,
    MASS,
    RATE_GAIN,
)
from rotor_control.laws.attitude import desired_rotation, tracking_moment
from rotor_control.laws.limits import limit_tilt
from rotor_control.laws.position import commanded_acceleration
from rotor_core.kernels.link import FLOATS, INTS, ROWS, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import column, dot, get3, get9, norm, put3, scale, sub
from rotor_core.reference import JERK, YAW_ANGLE, YAW_RATE
from rotor_core.state import OMEGA, P, Q, V


@linked(ROWS, FLOATS, ROWS, FLOATS, INTS, FLOATS, ROWS)
def quadrotor_command(states, reference, vehicles, load, who, memory, out):
    """Thrust and moment of one free vehicle.

    Args:
        states: of all entities, (n, >= 13).
        reference: (28,).
        vehicles: (1, VEHICLE) parameters; load: (LOAD,) with gravity.
        who: row in ``states`` of the vehicle, (1,).
        memory: unused (3,).
        out: (n_vehicles of the team, 4), written: N, N m.
    """
    v = vehicles[0]
    s = states[who[0]]
    R = so3.matrix(so3.get4(s, Q))
    a = commanded_acceleration(reference, get3(s, P), get3(s, V), load, memory)
    F = scale(v[MASS], a)  # (C.4)
    F = limit_tilt(F, v[COS_MAX_TILT], v[MASS])
    R_des = desired_rotation(F, reference[YAW_ANGLE])
    b1, b2, b3 = column(R_des, 0), column(R_des, 1), column(R_des, 2)
    f = max(norm(F), 1e-3 * v[MASS] * load[GRAVITY])
    jerk = get3(reference, JERK)
    h = scale(v[MASS] / f, sub(jerk, scale(dot(b3, jerk), b3)))
    omega_des = (-dot(h, b2), dot(h, b1), reference[YAW_RATE] * b3[2])  # (C.5)
    out[0, 0] = dot(F, column(R, 2))
    tau = tracking_moment(
        R,
        get3(s, OMEGA),
        R_des,
        omega_des,
        (0.0, 0.0, 0.0),
        get9(v, INERTIA),
        get3(v, ATTITUDE_GAIN),
        get3(v, RATE_GAIN),
    )
    put3(out[0], 1, tau)
