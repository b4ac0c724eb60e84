"""Forces along heavy cables: the air pushes across them, and they resist bending."""

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
    put3,
    scale,
    sub,
)
from rotor_dynamics import memory


@inlined
def strand_drag(world, state, k):
    """Force of the air on the mass of force k, in W (S.4); the cable runs there from the mass before to that after."""
    row = world.force_int[k]
    b = row[memory.FORCE_BODY]
    chord = sub(
        get3(state[row[memory.NODE_AFTER]], memory.P),
        get3(state[row[memory.NODE_BEFORE]], memory.P),
    )
    air = sub(get3(state[b], memory.V), get3(world.bodies[b], memory.WIND))
    squared = dot(chord, chord)
    if squared > 0.0:
        air = sub(air, scale(dot(air, chord) / squared, chord))
    return scale(-world.forces[k, memory.FORCE_PARAMETERS] * sqrt(dot(air, air)), air)


@inlined
def push_at(world, b, point, force):
    """Let a force in W act on body b at a point in its axes."""
    body = world.bodies[b]
    pushed = apply_transposed(get9(body, memory.ROTATION), force)
    put3(body, memory.OUTER_WRENCH, add(get3(body, memory.OUTER_WRENCH), pushed))
    at = memory.OUTER_WRENCH + 3
    put3(body, at, add(get3(body, at), cross(point, pushed)))


@inlined
def place_of(world, state, b, point):
    """Place in W of a point of body b."""
    R = get9(world.bodies[b], memory.ROTATION)
    return add(get3(state[b], memory.P), apply(R, point))


@inlined
def strand_bend(world, state, k):
    """Forces of the bend of a cable at the mass of force k on it and its two neighbours (S.5)."""
    row, numbers = world.force_int[k], world.forces[k]
    for side in range(2):  # a piece that is cut does not bend
        piece = int(numbers[memory.FORCE_PARAMETERS + 7 + side])
        if world.constraint_int[piece, memory.ALIVE] == 0:
            return
    b, before, after = row[memory.FORCE_BODY], row[memory.NODE_BEFORE], row[memory.NODE_AFTER]
    point_a = get3(numbers, memory.FORCE_PARAMETERS + 1)
    point_b = get3(numbers, memory.FORCE_PARAMETERS + 4)
    here = get3(state[b], memory.P)
    come = sub(here, place_of(world, state, before, point_a))
    go = sub(place_of(world, state, after, point_b), here)
    d_come, d_go = sqrt(dot(come, come)), sqrt(dot(go, go))
    if d_come == 0.0 or d_go == 0.0:
        return
    u, v = scale(1.0 / d_come, come), scale(1.0 / d_go, go)
    c, stiff = dot(u, v), numbers[memory.FORCE_PARAMETERS]
    on_before = scale(-stiff / d_come, sub(v, scale(c, u)))
    on_after = scale(stiff / d_go, sub(u, scale(c, v)))
    push_at(world, before, point_a, on_before)
    push_at(world, after, point_b, on_after)
    push_at(world, b, (0.0, 0.0, 0.0), scale(-1.0, add(on_before, on_after)))
