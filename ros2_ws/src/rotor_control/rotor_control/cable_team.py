"""n vehicles with a rigid payload on cables (RotorTM eqs 69-73 with the attitude law of eq 66).

Equations (C.10)-(C.14), docs/theory/control.md. The payload wrench is distributed by a
pseudo-inverse, because P P^T has rank 5 for two vehicles (E-P7).
"""

from __future__ import annotations

from rotor_control.attitude import desired_rotation, heading_rate, rotation_error, tracking_moment
from rotor_control.gains import (
    ATTITUDE_GAIN,
    CABLE_LENGTH,
    CABLE_RATE_GAIN,
    DIRECTION_GAIN,
    INERTIA,
    LOAD_ATTITUDE_GAIN,
    LOAD_INERTIA,
    LOAD_MASS,
    LOAD_RATE_GAIN,
    MASS,
    POINT,
    RATE_GAIN,
)
from rotor_control.point_mass import SMALLEST_DISTANCE
from rotor_control.position import commanded_acceleration
from rotor_core._jit import constants, kernel
from rotor_core.interface.plan import (
    ANGULAR_ACCELERATION,
    ATTITUDE,
    RATE,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_core.lie import so3
from rotor_core.lie.vec3 import (
    add,
    apply,
    apply_transposed,
    column,
    cross,
    dot,
    get3,
    get9,
    norm,
    put3,
    scale,
    sub,
    times,
)

P, Q, V, OMEGA = constants(0, 3, 7, 10)


@kernel
def cable_team_command(states, reference, vehicles, load, who, distribution, memory, out):
    """Thrusts and moments of the team.

    Args:
        states: of all entities, (N, >= 13).
        reference: (28,), of the payload.
        vehicles: (n, VEHICLE) parameters with attachment points and cable lengths.
        load: (LOAD,) parameters of the payload.
        who: rows in ``states``: n vehicles, then the payload, (n + 1,).
        distribution: pseudo-inverse of P, (3 n, 6).
        memory: integral of the position error, (3,).
        out: (n, 4), written.
    """
    n = vehicles.shape[0]
    z = states[who[n]]
    R_L = so3.matrix(so3.get4(z, Q))
    Omega_L = get3(z, OMEGA)
    a_cmd = commanded_acceleration(reference, get3(z, P), get3(z, V), load, memory)
    F_L = apply_transposed(R_L, scale(load[LOAD_MASS], a_cmd))  # (C.10), in the payload
    R_des = so3.matrix(so3.get4(reference, ATTITUDE))
    omega_des = apply_transposed(R_L, apply(R_des, get3(reference, RATE)))
    alpha_des = apply_transposed(R_L, apply(R_des, get3(reference, ANGULAR_ACCELERATION)))
    J_L = get9(load, LOAD_INERTIA)
    M_L = add(
        times(get3(load, LOAD_ATTITUDE_GAIN), rotation_error(R_L, R_des)),
        times(get3(load, LOAD_RATE_GAIN), sub(omega_des, Omega_L)),
    )
    M_L = add(M_L, add(apply(J_L, alpha_des), cross(omega_des, apply(J_L, omega_des))))  # (C.11)
    for k in range(n):
        v = vehicles[k]
        s = states[who[k]]
        R = so3.matrix(so3.get4(s, Q))
        rho = get3(v, POINT)
        swing = cross(Omega_L, rho)
        D = sub(add(get3(z, P), apply(R_L, rho)), get3(s, P))
        D_dot = sub(add(get3(z, V), apply(R_L, swing)), get3(s, V))
        d = norm(D)
        xi, xi_dot = (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)
        if d > SMALLEST_DISTANCE:
            xi = scale(1.0 / d, D)
            xi_dot = scale(1.0 / d, sub(D_dot, scale(dot(xi, D_dot), xi)))
        omega = cross(xi, xi_dot)
        part = (
            dot(get3(distribution[3 * k], 0), F_L) + dot(get3(distribution[3 * k], 3), M_L),
            dot(get3(distribution[3 * k + 1], 0), F_L) + dot(get3(distribution[3 * k + 1], 3), M_L),
            dot(get3(distribution[3 * k + 2], 0), F_L) + dot(get3(distribution[3 * k + 2], 3), M_L),
        )
        mu = apply(R_L, part)  # (C.12)
        mu = (mu[0], mu[1], max(mu[2], 0.0))
        size = norm(mu)
        xi_des = scale(-1.0 / size, mu) if size > 1e-9 else (0.0, 0.0, -1.0)
        e_xi = cross(xi_des, xi)
        a = add(a_cmd, apply(R_L, cross(Omega_L, swing)))  # specific force of the attachment point
        m, l = v[MASS], v[CABLE_LENGTH]
        along = scale(dot(xi, mu) + m * dot(xi, a) + m * l * dot(omega, omega), xi)  # (C.13)
        steer = add(times(get3(v, DIRECTION_GAIN), e_xi), times(get3(v, CABLE_RATE_GAIN), omega))
        across = sub(scale(-m * l, cross(xi, steer)), scale(m, cross(xi, cross(xi, a))))  # (C.14)
        u = add(along, across)
        R_des_k = desired_rotation(u, reference[YAW_ANGLE])
        out[k, 0] = dot(u, column(R, 2))
        tau = tracking_moment(
            R, get3(s, OMEGA), R_des_k, heading_rate(R_des_k, reference[YAW_RATE]), (0.0, 0.0, 0.0),
            get9(v, INERTIA), get3(v, ATTITUDE_GAIN), get3(v, RATE_GAIN),
        )  # fmt: skip
        put3(out[k], 1, tau)
