"""Symplectic splitting with constraints: kick, drift, kick, for long smooth runs.

Velocities are kicked by half a step of forces, bodies drift freely, and are kicked again
(Stormer-Verlet). The free drift of a rigid body is split into turns about its principal axes, each
solved exactly: momentum is kept to rounding (Dullweber, Leimkuhler and McLachlan, J. Chem. Phys.
107, 1997). Momentum stored in internal rotors only shifts the rate of each turn. Taut cables are
kept by impulses along their direction at the start, found by Newton's method (RATTLE; Andersen
1983), and velocities are projected at the end. Order two; time-reversible. Equation (L.6).
"""

from __future__ import annotations

import numpy as np

from rotor_core._jit import inlined, kernel
from rotor_core.lie import so3
from rotor_core.lie.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    norm,
    put3,
    scale,
    sub,
)
from rotor_core.linear.factor import solve
from rotor_sim.dynamics.constraints import EVERYTHING, NONE_YET, TAUT_ONLY, evaluate
from rotor_sim.dynamics.rotors import set_speeds, stored_spin
from rotor_sim.integrators.classical import note_tensions
from rotor_sim.model import layout as at

ITERATIONS = 30
CLOSED = 1e-14
"""Taut cables are this close to their length after a drift, m; what is left is projected."""


@inlined
def turned(axis, angle, momentum, q):
    """Body momentum and attitude after a turn of the body by ``angle`` about a unit ``axis`` of its own."""
    turn = so3.exp(scale(angle, axis))
    return apply_transposed(so3.matrix(turn), momentum), so3.product(q, turn)


@inlined
def drifted(body, momentum, spin, q, h):
    """Momentum and attitude of a free body after h: turns about axes 1, 2, 3, 2, 1 (L.6)."""
    for part in range(5):
        i = min(part, 4 - part)
        axis = (body[at.PRINCIPAL + i], body[at.PRINCIPAL + 3 + i], body[at.PRINCIPAL + 6 + i])
        rate = (dot(axis, momentum) - dot(axis, spin)) / body[at.MOMENTS + i]
        momentum, q = turned(axis, rate * (h if part == 2 else 0.5 * h), momentum, q)
    return momentum, q


@inlined
def body_momentum(body, omega):
    """Angular momentum in body axes, with that of internal rotors."""
    return add(apply(get9(body, at.INERTIA), omega), get3(body, at.SPIN))


@inlined
def body_torque(body, omega, alpha):
    """Torque of everything that acts on a body which accelerates by alpha: Euler's equation (R.3) read backwards."""
    rate = add(apply(get9(body, at.INERTIA), alpha), get3(body, at.SPIN_DOT))
    return add(rate, cross(omega, body_momentum(body, omega)))


@inlined
def kick(world, state, slope, h):
    """Kick velocities and momenta by the forces behind ``slope``; momenta go where the rates were."""
    for b in range(world.head[at.N_BODIES]):
        s = state[b]
        body = world.bodies[b]
        put3(s, at.V, add(get3(s, at.V), scale(h, get3(slope[b], at.D_V))))
        if body[at.ROTATES] != 0.0:
            omega = get3(s, at.OMEGA)
            torque = body_torque(body, omega, get3(slope[b], at.D_OMEGA))
            put3(s, at.OMEGA, add(body_momentum(body, omega), scale(h, torque)))


@inlined
def drift(world, h):
    """From the kicked state of the start (row STAGE) to the end."""
    for b in range(world.head[at.N_BODIES]):
        s = world.states[at.STAGE, b]
        y = world.states[at.END, b]
        body = world.bodies[b]
        put3(y, at.V, get3(s, at.V))
        put3(y, at.P, add(get3(s, at.P), scale(h, get3(s, at.V))))
        if body[at.ROTATES] != 0.0:
            momentum, q = drifted(
                body, get3(s, at.OMEGA), get3(body, at.SPIN), so3.get4(s, at.Q), h
            )
            so3.put4(y, at.Q, so3.normalized(q))
            put3(y, at.OMEGA, momentum)


@inlined
def gap_at_end(world, k):
    """Gap of cable k in the row END."""
    c = world.cables[k]
    a = world.states[at.END, world.cable_int[k, at.BODY_A]]
    b = world.states[at.END, world.cable_int[k, at.BODY_B]]
    D = sub(get3(b, at.P), get3(a, at.P))
    D = add(D, apply(so3.matrix(so3.get4(b, at.Q)), get3(c, at.R_B)))
    D = sub(D, apply(so3.matrix(so3.get4(a, at.Q)), get3(c, at.R_A)))
    return norm(D) - c[at.LENGTH]


@inlined
def hold_lengths(world, n, redundant, h):
    """Drift with impulses of the n listed taut cables so that they end at their length."""
    b, x = world.small[0], world.small[1]
    for _ in range(ITERATIONS):
        drift(world, h)
        worst = 0.0
        for i in range(n):
            gap = gap_at_end(world, world.order[0, i])
            worst = max(worst, abs(gap))
            b[i] = gap / h
        if n == 0 or worst <= CLOSED:
            return
        solve(world.matrix, world.factor, n, redundant, b, x, world.small[2], world.order[3])
        for i in range(n):
            k = world.order[0, i]
            c = world.cables[k]
            ia, ib = world.cable_int[k, at.BODY_A], world.cable_int[k, at.BODY_B]
            xi = get3(c, at.XI)
            sa, sb = world.states[at.STAGE, ia], world.states[at.STAGE, ib]
            pull_a = x[i] * world.bodies[ia, at.INV_MASS]
            pull_b = x[i] * world.bodies[ib, at.INV_MASS]
            put3(sa, at.V, add(get3(sa, at.V), scale(pull_a, xi)))
            put3(sb, at.V, sub(get3(sb, at.V), scale(pull_b, xi)))
            # the row holds momenta, so the arms themselves act
            if ia != world.head[at.N_BODIES]:  # the ground stays
                put3(sa, at.OMEGA, add(get3(sa, at.OMEGA), scale(x[i], get3(c, at.ARM_A))))
            if ib != world.head[at.N_BODIES]:
                put3(sb, at.OMEGA, sub(get3(sb, at.OMEGA), scale(x[i], get3(c, at.ARM_B))))


@inlined
def store_spin(world, t):
    """Momentum of internal rotors at time t into the column SPIN."""
    if world.head[at.N_ROTORS] != 0:
        set_speeds(world, t)
        for b in range(world.head[at.N_BODIES]):
            put3(world.bodies[b], at.SPIN, stored_spin(world, b)[0])


@inlined
def momenta_to_rates(world):
    """Body rates from the momenta in the row END."""
    for b in range(world.head[at.N_BODIES]):
        body = world.bodies[b]
        if body[at.ROTATES] != 0.0:
            y = world.states[at.END, b]
            inner = sub(get3(y, at.OMEGA), get3(body, at.SPIN))
            put3(y, at.OMEGA, apply(get9(body, at.INV_INERTIA), inner))


@kernel
def splitting(ints, floats, t, h):
    """A trial step."""
    world = at.views(ints, floats)
    for b in range(world.head[at.N_BODIES]):
        for i in range(at.STATE):
            world.states[at.STAGE, b, i] = world.states[at.START, b, i]
    # directions, arms and A at the start; slope 1 is that of the start once more
    evaluate(ints, floats, at.STAGE, np.int64(1), t, TAUT_ONLY)
    n = NONE_YET
    for k in range(world.head[at.N_CABLES]):
        n += world.cable_int[k, at.TAUT]
    kick(world, world.states[at.STAGE], world.slopes[1], 0.5 * h)
    store_spin(world, t + 0.5 * h)
    hold_lengths(world, n, world.head[at.DEPENDENT] != 0, h)
    store_spin(world, t + h)
    momenta_to_rates(world)
    evaluate(ints, floats, at.END, np.int64(2), t + h, TAUT_ONLY)
    note_tensions(world, True)
    kick(world, world.states[at.END], world.slopes[2], 0.5 * h)
    momenta_to_rates(world)
    evaluate(ints, floats, at.END, at.LAST_SLOPE, t + h, EVERYTHING)
    note_tensions(world, False)
