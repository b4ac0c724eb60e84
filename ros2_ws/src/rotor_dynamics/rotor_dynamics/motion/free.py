"""Free motion of bodies.

What they do under gravity, inputs, rotors, drag and external wrenches when no cable pulls.

Equations (D.n) are numbered in docs/theory/hybrid_dynamics.md.
"""

from __future__ import annotations

from math import sin

from rotor_core.kernels.jit import inlined
from rotor_core.math import so3
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    put3,
    put9,
    scale,
    sub,
)
from rotor_core.numbers.lanes import possibly
from rotor_dynamics import memory
from rotor_dynamics.forces.drag import drag_wrench
from rotor_dynamics.forces.rotors import air_wrench, set_speeds


@inlined
def principal(body, at_column, a):
    """A diagonal matrix of a body times a vector."""
    return body[at_column] * a[0], body[at_column + 4] * a[1], body[at_column + 8] * a[2]


@inlined
def sum_inputs(world, t):
    """Add up thrusts and moments of all members at time t to one wrench per body, in body axes (D.1)."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]):
        for i in range(6):
            world.bodies[b, memory.COMMAND + i] = 0.0
    sinusoids = world.head[memory.SINUSOIDS] != 0
    for k in range(world.head[memory.N_INPUTS]):
        u = world.inputs[k]
        body = world.bodies[world.input_body[k]]
        for channel in range(4):
            value = u[memory.BIAS + channel]
            if sinusoids and possibly(u[memory.AMPLITUDE + channel] != 0.0):
                value += u[memory.AMPLITUDE + channel] * sin(
                    u[memory.ANGULAR_FREQUENCY + channel] * t + u[memory.PHASE + channel]
                )
            for row in range(6):
                body[memory.COMMAND + row] += u[memory.MAP + 4 * row + channel] * value


@inlined
def external_wrenches(world, state, slope):
    """Accelerations by wrenches that push from outside (D.3); their power."""
    power = 0.0
    for k in range(world.head[memory.N_ACTING]):
        b = world.external_body[k]
        body = world.bodies[b]
        e = world.externals[k]
        f_W = get3(e, memory.FORCE_W)
        if b < world.head[memory.N_FREE]:  # trees sum up theirs
            power += dot(f_W, get3(state[b], memory.V))
        put3(
            slope[b], memory.D_V, add(get3(slope[b], memory.D_V), scale(body[memory.INV_MASS], f_W))
        )
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            R = get9(body, memory.ROTATION)
            moment = add(
                apply_transposed(R, get3(e, memory.MOMENT_W)),
                cross(get3(e, memory.POINT), apply_transposed(R, f_W)),
            )
            if b < world.head[memory.N_FREE]:
                power += dot(moment, get3(state[b], memory.OMEGA))
            put3(
                slope[b],
                memory.D_OMEGA,
                add(get3(slope[b], memory.D_OMEGA), apply(get9(body, memory.INV_INERTIA), moment)),
            )
    return power


@inlined
def body_wrench(world, state, b, R, has_rotors, has_drags):
    """Force and moment on a body by all but gravity, cables and what pushes from outside, in its axes.

    And the momentum that its rotors store.
    """
    body = world.bodies[b]
    force = get3(body, memory.COMMAND)
    moment = get3(body, memory.COMMAND + 3)
    spin = (0.0, 0.0, 0.0)
    if world.head[memory.IS_PUSHED] != 0:
        force = add(force, get3(body, memory.OUTER_WRENCH))
        moment = add(moment, get3(body, memory.OUTER_WRENCH + 3))
    if has_rotors:
        force = add(force, get3(body, memory.ROTOR_WRENCH))
        moment = add(moment, get3(body, memory.ROTOR_WRENCH + 3))
        if world.body_int[b, memory.FEELS_AIR] != 0:
            more_force, more_moment = air_wrench(world, state, b, R)
            force = add(force, more_force)
            moment = add(moment, more_moment)
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            spin = get3(body, memory.SPIN)
            moment = sub(moment, get3(body, memory.SPIN_DOT))
    if has_drags:
        more_force, more_moment = drag_wrench(world, state, b, R)
        force = add(force, more_force)
        moment = add(moment, more_moment)
    return force, moment, spin


@inlined
def body_momentum(world, b, omega):
    """Angular momentum of a body about its centre, in its axes, without that of rotors."""
    body = world.bodies[b]
    if world.body_int[b, memory.ROTATES] == memory.DIAGONAL_INERTIA:
        return principal(body, memory.INERTIA, omega)
    return apply(get9(body, memory.INERTIA), omega)


@inlined
def move_freely(world, state, slope, t):
    """Slope of every free body without cable forces: Newton and Euler (D.2), (R.3), external wrenches (D.3).

    And the power of all forces but gravity, into POWER_NOW (E.1).
    """
    if world.head[memory.SINUSOIDS] != 0:
        sum_inputs(world, t)
    has_rotors = world.head[memory.N_ROTORS] != 0
    if has_rotors:
        set_speeds(world, t)
    has_drags = world.head[memory.N_DRAGS] != 0
    gravity = world.scalars[memory.GRAVITY]
    power = 0.0
    for b in range(world.head[memory.N_FREE]):
        body = world.bodies[b]
        s = state[b]
        d = slope[b]
        R = so3.matrix(so3.get4(s, memory.Q))
        put9(body, memory.ROTATION, R)
        force, moment, spin = body_wrench(world, state, b, R, has_rotors, has_drags)
        put3(d, memory.D_P, get3(s, memory.V))
        f_W = apply(R, force)
        power += dot(f_W, get3(s, memory.V))
        put3(d, memory.D_V, sub(scale(body[memory.INV_MASS], f_W), (0.0, 0.0, gravity)))
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            omega = get3(s, memory.OMEGA)
            diagonal = world.body_int[b, memory.ROTATES] == memory.DIAGONAL_INERTIA
            power += dot(moment, omega)
            momentum = body_momentum(world, b, omega)
            if has_rotors:
                momentum = add(momentum, spin)
            put3(d, memory.D_THETA, omega)
            total = sub(moment, cross(omega, momentum))
            alpha = (
                principal(body, memory.INV_INERTIA, total)
                if diagonal
                else apply(get9(body, memory.INV_INERTIA), total)
            )
            put3(d, memory.D_OMEGA, alpha)
    if world.head[memory.N_ACTING] != 0:
        power += external_wrenches(world, state, slope)
    world.scalars[memory.POWER_NOW] = power
