"""n vehicles with a rigid payload on cables (RotorTM eqs 69-73 with the attitude law of eq 66).

Equations (C.10)-(C.14), docs/theory/control.md.
"""

from __future__ import annotations

from rotor_control.allocation.tension import TENSION, distribute
from rotor_control.gains import (
    LOAD_ATTITUDE_GAIN,
    LOAD_INERTIA,
    LOAD_MASS,
    LOAD_RATE_GAIN,
    POINT,
)
from rotor_control.laws.attitude import rotation_error
from rotor_control.laws.position import commanded_acceleration
from rotor_control.laws.steering import (
    cable_steering,
    direction_and_rate,
    pulling_force,
    thrust_and_moment,
    wanted_direction,
)
from rotor_core.kernels.jit import kernel
from rotor_core.kernels.link import FLOATS, INTS, ROWS, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    get3,
    get9,
    scale,
    sub,
    times,
)
from rotor_core.reference import ANGULAR_ACCELERATION, ATTITUDE, BODY_RATE
from rotor_core.state import OMEGA, P, Q, V


@kernel
def payload_forces(states, reference, load, who, tension, memory, mu):
    """Forces that the cables should pull with, written into ``mu`` (n, 3) in W; returns the specific force wanted.

    Args:
        states: of all entities, (N, >= 13).
        reference: (28,), of the payload.
        load: (LOAD,) parameters of the payload.
        who: rows in ``states``: n vehicles, then the payload, (n + 1,).
        tension: of :class:`rotor_control.allocation.tension.Tension`.
        memory: integral of the position error, (3,).
        mu: written.
    """
    z = states[who[mu.shape[0]]]
    R_L = so3.matrix(so3.get4(z, Q))
    a_cmd = commanded_acceleration(reference, get3(z, P), get3(z, V), load, memory)
    F = scale(load[LOAD_MASS], a_cmd)  # (C.10)
    R_des = so3.matrix(so3.get4(reference, ATTITUDE))
    omega_des = apply_transposed(R_L, apply(R_des, get3(reference, BODY_RATE)))
    alpha_des = apply_transposed(R_L, apply(R_des, get3(reference, ANGULAR_ACCELERATION)))
    J_L = get9(load, LOAD_INERTIA)
    M = add(
        times(get3(load, LOAD_ATTITUDE_GAIN), rotation_error(R_L, R_des)),
        times(get3(load, LOAD_RATE_GAIN), sub(omega_des, get3(z, OMEGA))),
    )
    M = add(M, add(apply(J_L, alpha_des), cross(omega_des, apply(J_L, omega_des))))  # (C.11)
    distribute(F, M, R_L, tension, mu)
    return a_cmd


@kernel
def pull(states, reference, vehicles, who, a_cmd, mu, ahead, out):
    """Thrusts and moments with which the cables pull with ``mu`` (n, 3) in W.

    ``a_cmd``: specific force of the payload that goes with them; ``ahead``: (n, 12) of
    :mod:`rotor_control.laws.flatness`, or (0, 12).
    """
    n = vehicles.shape[0]
    z = states[who[n]]
    R_L = so3.matrix(so3.get4(z, Q))
    Omega_L = get3(z, OMEGA)
    R_des = so3.matrix(so3.get4(reference, ATTITUDE))
    alpha_des = apply_transposed(R_L, apply(R_des, get3(reference, ANGULAR_ACCELERATION)))
    for k in range(n):
        v = vehicles[k]
        s = states[who[k]]
        rho = get3(v, POINT)
        swing = cross(Omega_L, rho)
        D = sub(add(get3(z, P), apply(R_L, rho)), get3(s, P))
        D_dot = sub(add(get3(z, V), apply(R_L, swing)), get3(s, V))
        xi, xi_dot = direction_and_rate(D, D_dot)
        omega = cross(xi, xi_dot)
        share = get3(mu[k], 0)
        xi_des = wanted_direction(share)
        turn = cross(Omega_L, swing)
        if ahead.shape[0] > 0:  # the paper leaves this part out
            turn = add(turn, cross(alpha_des, rho))
        a = add(a_cmd, apply(R_L, turn))  # specific force of the attachment point
        steer = cable_steering(xi, xi_dot, omega, xi_des, v, ahead, k)
        force = pulling_force(xi, omega, share, a, steer, v)
        thrust_and_moment(force, s, v, reference, ahead, k, out)


@linked(ROWS, FLOATS, ROWS, FLOATS, INTS, TENSION, FLOATS, ROWS, ROWS, ROWS)
def cable_team_command(states, reference, vehicles, load, who, tension, memory, mu, ahead, out):
    """Thrusts and moments of the team: :func:`payload_forces`, then :func:`pull`."""
    a_cmd = payload_forces(states, reference, load, who, tension, memory, mu)
    pull(states, reference, vehicles, who, a_cmd, mu, ahead, out)


@kernel
def pull_as_told(states, reference, vehicles, load, who, mu, ahead, out):
    """Thrusts and moments for forces from elsewhere; the payload's specific force is their sum over its mass."""
    x = y = z = 0.0
    for k in range(mu.shape[0]):
        x += mu[k, 0]
        y += mu[k, 1]
        z += mu[k, 2]
    a_cmd = scale(1.0 / load[LOAD_MASS], (x, y, z))
    pull(states, reference, vehicles, who, a_cmd, mu, ahead, out)
