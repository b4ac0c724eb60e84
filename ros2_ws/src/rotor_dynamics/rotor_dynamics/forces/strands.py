"""Drag of heavy cables: the air pushes across them, not along."""

from __future__ import annotations

from math import sqrt

from rotor_core._jit import inlined
from rotor_core.math.vec3 import dot, get3, scale, sub
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
