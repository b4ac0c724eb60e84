"""Free motion of bodies.

What they do under gravity, inputs and external wrenches when no cable pulls.

Equations (D.n) are numbered in docs/theory/hybrid_dynamics.md.
"""

from __future__ import annotations

from math import sin

from rotor_core._jit import kernel
from rotor_core.lie import so3
from rotor_core.lie.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    get3,
    get9,
    put3,
    put9,
    scale,
    sub,
)
from rotor_sim.model import layout as at


@kernel
def sum_inputs(world, t):
    """Add up thrusts and moments of all members at time t to one wrench per body, in body axes (D.1)."""
    for b in range(world.head[at.N_BODIES]):
        put3(world.bodies[b], at.FORCE_B, (0.0, 0.0, 0.0))
        put3(world.bodies[b], at.MOMENT_B, (0.0, 0.0, 0.0))
    sinusoids = world.head[at.SINUSOIDS] != 0
    for k in range(world.head[at.N_INPUTS]):
        u = world.inputs[k]
        body = world.bodies[world.input_body[k]]
        for channel in range(4):
            value = u[at.BIAS + channel]
            if sinusoids and u[at.AMPLITUDE + channel] != 0.0:
                value += u[at.AMPLITUDE + channel] * sin(
                    u[at.ANGULAR_FREQUENCY + channel] * t + u[at.PHASE + channel]
                )
            for row in range(6):
                body[at.FORCE_B + row] += u[at.MAP + 4 * row + channel] * value


@kernel
def free_motion(world, state, slope, t):
    """Slope of every body without cable forces: Newton and Euler (D.2), external wrenches (D.3)."""
    if world.head[at.SINUSOIDS] != 0:
        sum_inputs(world, t)
    gravity = (0.0, 0.0, -world.scalars[at.GRAVITY])
    for b in range(world.head[at.N_BODIES]):
        body = world.bodies[b]
        s = state[b]
        d = slope[b]
        R = so3.matrix(so3.get4(s, at.Q))
        put9(body, at.ROTATION, R)
        put3(d, at.D_P, get3(s, at.V))
        f_W = apply(R, get3(body, at.FORCE_B))
        put3(d, at.D_V, add(gravity, scale(body[at.INV_MASS], f_W)))
        if body[at.ROTATES] != 0.0:
            omega = get3(s, at.OMEGA)
            gyroscopic = cross(omega, apply(get9(body, at.INERTIA), omega))
            put3(d, at.D_THETA, omega)
            put3(
                d,
                at.D_OMEGA,
                apply(get9(body, at.INV_INERTIA), sub(get3(body, at.MOMENT_B), gyroscopic)),
            )
    for k in range(world.head[at.N_ACTING]):
        b = world.external_body[k]
        body = world.bodies[b]
        e = world.externals[k]
        f_W = get3(e, at.FORCE_W)
        put3(slope[b], at.D_V, add(get3(slope[b], at.D_V), scale(body[at.INV_MASS], f_W)))
        if body[at.ROTATES] != 0.0:
            R = get9(body, at.ROTATION)
            moment = add(
                apply_transposed(R, get3(e, at.MOMENT_W)),
                cross(get3(e, at.POINT), apply_transposed(R, f_W)),
            )
            put3(
                slope[b],
                at.D_OMEGA,
                add(get3(slope[b], at.D_OMEGA), apply(get9(body, at.INV_INERTIA), moment)),
            )
