"""Symplectic splitting with constraints: kick, drift, kick, for long smooth runs.

Velocities are kicked by half a step of forces, bodies drift freely, and are kicked again
(Stormer-Verlet). The free drift of a rigid body is split into turns about its principal axes, each
solved exactly: momentum is kept to rounding (Dullweber, Leimkuhler and McLachlan, J. Chem. Phys.
107, 1997). Momentum stored in internal rotors only shifts the rate of each turn. Taut cables are
kept by impulses along their direction at the start, found by Newton's method (RATTLE; Andersen
1983), and velocities are projected at the end. Order two; time-reversible. Forces that depend on velocities (drag) are
those at the velocity to which the second kick leads, found by one more evaluation: of order two, and no longer
reversible. Equation (L.6).
"""

from __future__ import annotations

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLOAT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.factor import solve
from rotor_core.math.vec3 import (
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
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import EVERYTHING, NONE_YET, TAUT_ONLY, evaluate
from rotor_dynamics.forces.rotors import set_speeds
from rotor_dynamics.integrators.classical import note_tensions
from rotor_dynamics.integrators.methods import Method

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
        axis = (
            body[memory.PRINCIPAL + i],
            body[memory.PRINCIPAL + 3 + i],
            body[memory.PRINCIPAL + 6 + i],
        )
        rate = (dot(axis, momentum) - dot(axis, spin)) / body[memory.MOMENTS + i]
        momentum, q = turned(axis, rate * (h if part == 2 else 0.5 * h), momentum, q)
    return momentum, q


@inlined
def body_momentum(body, omega):
    """Angular momentum in body axes, with that of internal rotors."""
    return add(apply(get9(body, memory.INERTIA), omega), get3(body, memory.SPIN))


@inlined
def body_torque(body, omega, alpha):
    """Torque of everything that acts on a body which accelerates by alpha: Euler's equation (R.3) read backwards."""
    rate = add(apply(get9(body, memory.INERTIA), alpha), get3(body, memory.SPIN_DOT))
    return add(rate, cross(omega, body_momentum(body, omega)))


@inlined
def kick(world, state, seen, slope, h):
    """Kick velocities and momenta by the forces behind ``slope``, of ``seen``; momenta go where the rates were."""
    for b in range(world.head[memory.N_BODIES]):
        s = state[b]
        body = world.bodies[b]
        put3(s, memory.V, add(get3(s, memory.V), scale(h, get3(slope[b], memory.D_V))))
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            omega = get3(s, memory.OMEGA)
            alpha = get3(slope[b], memory.D_OMEGA)
            torque = body_torque(body, get3(seen[b], memory.OMEGA), alpha)
            put3(s, memory.OMEGA, add(body_momentum(body, omega), scale(h, torque)))


@inlined
def drift(world, h):
    """From the kicked state of the start (row STAGE) to the end."""
    for b in range(world.head[memory.N_BODIES]):
        s = world.states[memory.STAGE, b]
        y = world.states[memory.END, b]
        body = world.bodies[b]
        put3(y, memory.V, get3(s, memory.V))
        put3(y, memory.P, add(get3(s, memory.P), scale(h, get3(s, memory.V))))
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            momentum, q = drifted(
                body, get3(s, memory.OMEGA), get3(body, memory.SPIN), so3.get4(s, memory.Q), h
            )
            so3.put4(y, memory.Q, so3.normalized(q))
            put3(y, memory.OMEGA, momentum)


@inlined
def gap_at_end(world, k):
    """Gap of cable k in the row END."""
    c = world.constraints[k]
    a = world.states[memory.END, world.constraint_int[k, memory.BODY_A]]
    b = world.states[memory.END, world.constraint_int[k, memory.BODY_B]]
    D = sub(get3(b, memory.P), get3(a, memory.P))
    D = add(D, apply(so3.matrix(so3.get4(b, memory.Q)), get3(c, memory.R_B)))
    D = sub(D, apply(so3.matrix(so3.get4(a, memory.Q)), get3(c, memory.R_A)))
    return norm(D) - c[memory.LENGTH]


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
            c = world.constraints[k]
            ia, ib = world.constraint_int[k, memory.BODY_A], world.constraint_int[k, memory.BODY_B]
            xi = get3(c, memory.XI)
            sa, sb = world.states[memory.STAGE, ia], world.states[memory.STAGE, ib]
            pull_a = x[i] * world.bodies[ia, memory.INV_MASS]
            pull_b = x[i] * world.bodies[ib, memory.INV_MASS]
            put3(sa, memory.V, add(get3(sa, memory.V), scale(pull_a, xi)))
            put3(sb, memory.V, sub(get3(sb, memory.V), scale(pull_b, xi)))
            # the row holds momenta, so the arms themselves act
            if ia != world.head[memory.N_BODIES]:  # the ground stays
                put3(
                    sa,
                    memory.OMEGA,
                    add(get3(sa, memory.OMEGA), scale(x[i], get3(c, memory.ARM_A))),
                )
            if ib != world.head[memory.N_BODIES]:
                put3(
                    sb,
                    memory.OMEGA,
                    sub(get3(sb, memory.OMEGA), scale(x[i], get3(c, memory.ARM_B))),
                )


@inlined
def store_spin(world, t):
    """Momentum of internal rotors at time t into the column SPIN."""
    if world.head[memory.N_ROTORS] != 0:
        set_speeds(world, t)


@inlined
def momenta_to_rates(world):
    """Body rates from the momenta in the row END."""
    for b in range(world.head[memory.N_BODIES]):
        body = world.bodies[b]
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            y = world.states[memory.END, b]
            inner = sub(get3(y, memory.OMEGA), get3(body, memory.SPIN))
            put3(y, memory.OMEGA, apply(get9(body, memory.INV_INERTIA), inner))


@inlined
def copy_states(world, source, target):
    """States of all bodies from one row to another."""
    for b in range(world.head[memory.N_BODIES]):
        for i in range(memory.STATE):
            world.states[target, b, i] = world.states[source, b, i]


@inlined
def feels_speed(world):
    """True if forces depend on velocities: those of the second kick are then taken where it leads."""
    if world.head[memory.N_DRAGS] + world.head[memory.N_FORCES] != 0:
        return True
    for b in range(world.head[memory.N_BODIES]):
        if world.body_int[b, memory.FEELS_AIR] != 0:
            return True
    return False


@linked(*WORLD, FLOAT, FLOAT, part="the integrator splitting")
def splitting(ints, floats, t, h):
    """A trial step."""
    world = memory.views(ints, floats)
    copy_states(world, memory.START, memory.STAGE)
    # directions, arms and A at the start; slope 1 is that of the start once more
    evaluate(ints, floats, memory.STAGE, np.int64(1), t, TAUT_ONLY)
    n = NONE_YET
    for k in range(world.head[memory.N_CONSTRAINTS]):
        n += world.constraint_int[k, memory.TAUT]
    start, end = world.states[memory.STAGE], world.states[memory.END]
    kick(world, start, start, world.slopes[1], 0.5 * h)
    store_spin(world, t + 0.5 * h)
    hold_lengths(world, n, world.head[memory.DEPENDENT] != 0, h)
    store_spin(world, t + h)
    momenta_to_rates(world)
    evaluate(ints, floats, memory.END, np.int64(2), t + h, TAUT_ONLY)
    note_tensions(world, True)
    if feels_speed(world):
        copy_states(world, memory.END, memory.STAGE)
        kick(world, end, end, world.slopes[2], 0.5 * h)
        momenta_to_rates(world)
        evaluate(ints, floats, memory.END, np.int64(2), t + h, TAUT_ONLY)
        kick(world, world.states[memory.STAGE], end, world.slopes[2], 0.5 * h)
        copy_states(world, memory.STAGE, memory.END)
    else:
        kick(world, end, end, world.slopes[2], 0.5 * h)
    momenta_to_rates(world)
    evaluate(ints, floats, memory.END, memory.LAST_SLOPE, t + h, EVERYTHING)
    note_tensions(world, False)
    ends = world.scalars[memory.POWER] + world.scalars[memory.POWER_NOW]
    world.scalars[memory.STEP_WORK] = 0.5 * h * ends


SPLITTING = Method(
    splitting,
    2,
    "symplectic splitting with constraints",
    "Dullweber, Leimkuhler and McLachlan 1997; Andersen 1983 (RATTLE)",
    symplectic=True,
)
