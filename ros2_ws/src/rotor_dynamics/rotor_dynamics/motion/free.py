"""Free motion of bodies.

What they do under gravity, inputs, rotors, drag and external wrenches when no cable pulls.

Equations (D.n) are numbered in docs/theory/hybrid_dynamics.md.
"""

from __future__ import annotations

from math import sin

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.tables import abreast, number_abreast
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
from rotor_core.numbers.derivatives import counts
from rotor_core.numbers.lanes import possibly
from rotor_dynamics import memory
from rotor_dynamics.forces.drag import airspeed, drag_wrench, linear_drag, linear_drags_abreast
from rotor_dynamics.forces.rotors import air_wrench, set_speeds

ROUNDED = (0.0, 0.0, 0.0)
"""Added to products that are to be rounded before they are added to others: the compiler contracts (fused multiply-add)
within what no branch interrupts, and bodies that are moved abreast shall get the same bits as one after the other."""


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
            if sinusoids and possibly(counts(u[memory.AMPLITUDE + channel])):
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
def inner_wrench(world, b, has_rotors):
    """Force and moment on body b by inputs, contacts, registered forces, and rotors in air at rest, in its axes."""
    body = world.bodies[b]
    force = get3(body, memory.COMMAND)
    moment = get3(body, memory.COMMAND + 3)
    if world.head[memory.IS_PUSHED] != 0:
        force = add(force, get3(body, memory.OUTER_WRENCH))
        moment = add(moment, get3(body, memory.OUTER_WRENCH + 3))
    if has_rotors:
        force = add(force, get3(body, memory.ROTOR_WRENCH))
        moment = add(moment, get3(body, memory.ROTOR_WRENCH + 3))
    return force, moment


@inlined
def body_wrench(world, state, b, R, has_rotors, has_drags):
    """Force and moment on a body by all but gravity, cables and what pushes from outside, in its axes.

    And the momentum that its rotors store.
    """
    body = world.bodies[b]
    force, moment = inner_wrench(world, b, has_rotors)
    spin = (0.0, 0.0, 0.0)
    if has_rotors:
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
def through(body, at, diagonal, a):
    """The matrix of a body that begins at column ``at`` times a vector."""
    return principal(body, at, a) if diagonal else apply(get9(body, at), a)


@inlined
def body_momentum(world, b, omega):
    """Angular momentum of a body about its centre, in its axes, without that of rotors."""
    diagonal = world.body_int[b, memory.ROTATES] == memory.DIAGONAL_INERTIA
    return through(world.bodies[b], memory.INERTIA, diagonal, omega)


@inlined
def set_slope(body, s, d, R, gravity, wrench, rotates, diagonal):
    """Slope ``d`` of a body in the state ``s``: Newton and Euler (D.2), (R.3); the power of the wrench.

    Args:
        body, s, d: rows of the body.
        R: its rotation matrix.
        gravity: m/s^2.
        wrench: force and moment, and the momentum that its rotors store, in its axes.
        rotates: it is no point.
        diagonal: its principal axes are along its own.
    """
    force, moment, spin = wrench
    put3(d, memory.D_P, get3(s, memory.V))
    f_W = apply(R, force)
    power = dot(f_W, get3(s, memory.V))
    put3(d, memory.D_V, sub(scale(body[memory.INV_MASS], f_W), (0.0, 0.0, gravity)))
    if rotates:
        omega = get3(s, memory.OMEGA)
        power += dot(moment, omega)
        momentum = add(add(ROUNDED, through(body, memory.INERTIA, diagonal, omega)), spin)
        put3(d, memory.D_THETA, omega)
        total = sub(moment, cross(omega, momentum))
        put3(d, memory.D_OMEGA, through(body, memory.INV_INERTIA, diagonal, total))
    return power


@inlined
def move_several(world, which_state, which_slope, b, has_rotors, has_drags):
    """Slopes of body b and those beside it, and the power that each is given, into its row."""
    wide = abreast(world)
    body, s, d = wide.bodies[b], wide.states[which_state, b], wide.slopes[which_slope, b]
    R = so3.matrix(so3.get4(s, memory.Q))
    put9(body, memory.ROTATION, R)
    force, moment = inner_wrench(wide, b, has_rotors)
    spin = (0.0, 0.0, 0.0)
    if has_rotors:
        spin = get3(body, memory.SPIN)
        moment = sub(moment, get3(body, memory.SPIN_DOT))
    if has_drags:
        air = airspeed(body, s, R)
        drag = add(ROUNDED, linear_drag(linear_drags_abreast(world, b), air))
        force = add(force, drag)
    wrench = force, moment, spin
    gravity = world.scalars[memory.GRAVITY]
    body[memory.BODY_POWER] = set_slope(body, s, d, R, gravity, wrench, True, True)


@inlined
def prepare_motion(world, t):
    """Inputs and speeds of rotors at time t."""
    if world.head[memory.SINUSOIDS] != 0:
        sum_inputs(world, t)
    if world.head[memory.N_ROTORS] != 0:
        set_speeds(world, t)


@inlined
def end_motion(world, which_state, which_slope, power):
    """Add what pushes from outside (D.3); ``power`` is that of all else but gravity, W."""
    if world.head[memory.N_ACTING] != 0:
        power += external_wrenches(world, world.states[which_state], world.slopes[which_slope])
    world.scalars[memory.POWER_NOW] = power


@inlined
def move_freely(world, which_state, which_slope, t):
    """Slope of every free body without cable forces (D.2), (R.3), external wrenches (D.3).

    And the power of all forces but gravity, into POWER_NOW (E.1).
    """
    prepare_motion(world, t)
    has_rotors = world.head[memory.N_ROTORS] != 0
    has_drags = world.head[memory.N_DRAGS] != 0
    gravity = world.scalars[memory.GRAVITY]
    state, slope = world.states[which_state], world.slopes[which_slope]
    power = 0.0
    for b in range(world.head[memory.N_FREE]):
        body = world.bodies[b]
        R = so3.matrix(so3.get4(state[b], memory.Q))
        put9(body, memory.ROTATION, R)
        wrench = body_wrench(world, state, b, R, has_rotors, has_drags)
        how = world.body_int[b, memory.ROTATES]
        power += set_slope(
            body, state[b], slope[b], R, gravity, wrench,
            how != memory.TURNLESS, how == memory.DIAGONAL_INERTIA,
        )  # fmt: skip
    end_motion(world, which_state, which_slope, power)


@inlined
def move_abreast(world, which_state, which_slope, t):
    """:func:`move_freely`, several bodies at once."""
    prepare_motion(world, t)
    has_rotors = world.head[memory.N_ROTORS] != 0
    has_drags = world.head[memory.N_DRAGS] != 0
    n, width = world.head[memory.N_FREE], number_abreast(world)
    for i in range(0, n, width):
        move_several(world, which_state, which_slope, min(i, n - width), has_rotors, has_drags)
    power = 0.0
    for b in range(n):
        power += world.bodies[b, memory.BODY_POWER]
    end_motion(world, which_state, which_slope, power)
