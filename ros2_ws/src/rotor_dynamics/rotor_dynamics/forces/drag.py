"""Drag of bodies in moving air, damping of their rates, and lifting surfaces.

Equations (R.7) and (R.8), docs/theory/rotors_and_air.md; (B.9), docs/theory/helicopter.md.
"""

from __future__ import annotations

from math import sqrt

from rotor_core.kernels.jit import inlined
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    scale,
    sub,
    times,
)
from rotor_core.numbers.derivatives import counts
from rotor_core.numbers.lanes import beside, possibly
from rotor_dynamics import memory


@inlined
def wake(world, b, k):
    """Velocity of the air in the wake of a rotor at lifting surface k on body b, in body axes."""
    disc = world.drag_int[k, memory.WAKE_OF]
    if disc < 0:
        return 0.0, 0.0, 0.0
    turn = get3(world.joints[world.disc_int[disc, memory.AZIMUTH_JOINT]], memory.S)
    d = world.discs[disc]
    speed = -world.drags[k, memory.WAKE_SHARE] * d[memory.TURNS] * d[memory.INFLOW]
    return apply_transposed(get9(world.bodies[b], memory.ROTATION), scale(speed, turn))


@inlined
def surface_force(d, air):
    """Force of the air on a lifting surface along its normal z (B.9), within what a flat plate can bear."""
    along = sqrt(air[0] * air[0] + air[1] * air[1])
    most = along * along + air[2] * air[2]
    lift = (d[memory.SURFACE_SLOPE] * along + abs(air[2])) * air[2]
    return -d[memory.SURFACE_LOAD] * min(max(lift, -most), most)


@inlined
def airspeed(body, s, R):
    """Velocity of a body in the state ``s`` against the air, in its axes, m/s."""
    return apply_transposed(R, sub(get3(s, memory.V), get3(body, memory.WIND)))


@inlined
def linear_drag(per_speed, air):
    """Force of drag along the axes of a member, N."""
    return scale(-1.0, times(per_speed, air))


@inlined
def own_linear_drag(world, b):
    """Coefficients of the one drag of body b, which lies along its axes at its centre of mass; zero without one."""
    k = world.body_int[b, memory.FIRST_DRAG]
    if k < world.body_int[b, memory.END_DRAG]:
        return get3(world.drags[k], memory.LINEAR)
    return 0.0, 0.0, 0.0


@inlined
def linear_drags_abreast(world, b):
    """:func:`own_linear_drag` of body b and those beside it."""
    p, q, r, s = (
        own_linear_drag(world, b),
        own_linear_drag(world, b + 1),
        own_linear_drag(world, b + 2),
        own_linear_drag(world, b + 3),
    )
    return (
        beside(p[0], q[0], r[0], s[0]),
        beside(p[1], q[1], r[1], s[1]),
        beside(p[2], q[2], r[2], s[2]),
    )


@inlined
def drag_wrench(world, state, b, R):
    """Force and moment of drag and rate damping on body b about its centre of mass, in body axes."""
    total_force = (0.0, 0.0, 0.0)
    total_moment = (0.0, 0.0, 0.0)
    rotates = world.body_int[b, memory.ROTATES] != memory.TURNLESS
    for k in range(world.body_int[b, memory.FIRST_DRAG], world.body_int[b, memory.END_DRAG]):
        d = world.drags[k]
        aligned = world.drag_int[k, memory.ALIGNED] != 0
        air = airspeed(world.bodies[b], state[b], R)
        omega = get3(state[b], memory.OMEGA)
        if not aligned:
            air = add(air, cross(omega, get3(d, memory.PLACE)))
            if possibly(counts(d[memory.SURFACE_LOAD])):
                air = sub(air, wake(world, b, k))
            air = apply_transposed(get9(d, memory.TURN), air)
        per_speed = get3(d, memory.LINEAR)
        only_linear = world.drag_int[k, memory.ONLY_LINEAR] != 0
        if not only_linear:
            per_speed = add(per_speed, scale(sqrt(dot(air, air)), get3(d, memory.QUADRATIC)))
        force = linear_drag(per_speed, air)
        if possibly(counts(d[memory.SURFACE_LOAD])):
            force = (0.0, 0.0, surface_force(d, air))
        moment = (0.0, 0.0, 0.0)
        if rotates and not only_linear:
            rate = omega if aligned else apply_transposed(get9(d, memory.TURN), omega)
            cubic = times(get3(d, memory.RATE_CUBIC), times(rate, rate))
            moment = scale(-1.0, times(add(get3(d, memory.RATE_LINEAR), cubic), rate))
        if not aligned:
            force = apply(get9(d, memory.TURN), force)
            moment = add(apply(get9(d, memory.TURN), moment), cross(get3(d, memory.PLACE), force))
        total_force = add(total_force, force)
        total_moment = add(total_moment, moment)
    return total_force, total_moment
