"""Events at which derivatives of a flight may not exist: those that graze, nearly happen, or happen together.

An event whose guard can be moved by as little as :data:`CLOSE` and is gone then, one that is missed by as little, and
two that come as close to each other: beyond such a state the flight is another one, and a derivative tells only of one
side. Kernels call these functions where numbers have derivatives, and go on; the first doubt is kept. Equation (D.15),
docs/theory/sensitivities.md.
"""

from __future__ import annotations

from rotor_core.kernels.jit import constants, inlined
from rotor_core.numbers.derivatives import without_derivatives
from rotor_dynamics import memory
from rotor_dynamics.hybrid.guards import (
    BREAKS,
    NO_CABLE,
    REACHES_LENGTH,
    TURNS,
    breaking_load,
    guard_at_start,
)

NO_DOUBT, GRAZES, NEARLY, TOGETHER, FLUSH, ANCHORED, PRESSES, AT_END, BEGINS = constants(*range(9))
"""Values of DOUBT: an event that grazes, that nearly happens, two that happen together, bodies that meet flush, contact
with friction springs that begins, a cable that goes slack because bodies come to press, an event just where a step
ends, restitution that is varied from zero."""

CLOSE = 1e-9
"""A guard this near decides by rounding of inputs: m, rad, or a share of the largest tension of the step."""


@inlined
def note_doubt(world, doubt, cable, t):
    """Keep the first doubt."""
    if world.head[memory.DOUBT] == NO_DOUBT:
        world.head[memory.DOUBT], world.head[memory.DOUBTED] = doubt, cable
        world.scalars[memory.DOUBT_AT] = without_derivatives(t)


@inlined
def doubt_flush(world, n, near, t):
    """Doubt an impact of bodies of which more than one of the first n touches comes fast within ``near`` m."""
    count = 0
    for i in range(n):
        row = world.touches[i]
        fast = row[memory.CLOSING] > world.scalars[memory.REST_SPEED]
        if fast and row[memory.TOUCH_GAP] <= near:
            count += 1
    if count > 1:
        note_doubt(world, FLUSH, NO_CABLE, t)


@inlined
def rough_touches(world):
    """Number of compliant contacts with friction that touch."""
    count = 0
    for k in range(world.head[memory.N_CONTACTS]):
        if world.contact_int[k, memory.TOUCHES] != 0 and world.contacts[k, memory.STATIC] > 0.0:
            count += 1
    return count


@inlined
def doubt_anchors(world, before, t):
    """Doubt steps that end with more rough touches than ``before``: their anchors leap with the ends of steps."""
    if rough_touches(world) > before:
        note_doubt(world, ANCHORED, NO_CABLE, t)


@inlined
def scale_of(world, kind, k):
    """Scale of a guard: 1 m, 1 rad, or a tension, N."""
    if kind == REACHES_LENGTH or kind == TURNS:
        return 1.0 + 0.0 * world.constraints[k, memory.GAP]
    if kind == BREAKS:
        return breaking_load(world, k)
    c = world.constraints[k]
    return max(c[memory.TENSION_0], c[memory.TENSION_MID], c[memory.TENSION])


@inlined
def doubt_event(world, kind, cable, t, h, value, rate):
    """Doubt an event that grazes, or that others happen together with.

    Args:
        kind, cable: the event.
        t, h: start of the step, and time from there, s.
        value, rate: of the guard at the event, which is zero, and what it rises with, 1/s.
    """
    # the parabola through both ends with this rate at its end; its peak is rate^2 / (2 bend) above the limit
    begin, nearest = guard_at_start(world, kind, cable), CLOSE * scale_of(world, kind, cable)
    bent = abs(begin - value + rate * h)
    # what comes back from as near was there before, as in the last of ever shorter leaps: it will come back
    if begin < -nearest and rate * rate * h * h <= 4.0 * bent * nearest:
        note_doubt(world, GRAZES, cable, t + h)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        alive = world.constraint_int[k, memory.ALIVE]
        if k == cable or alive != memory.HOLDS:
            continue
        c = world.constraints[k]
        if world.constraint_int[k, memory.TAUT] == 0:
            meets = abs(c[memory.GAP]) <= CLOSE and c[memory.RATE] > 0.0
        else:
            most = max(c[memory.TENSION_0], c[memory.TENSION_MID], c[memory.TENSION])
            meets = (
                world.constraint_int[k, memory.IGNORED] == 0
                and abs(c[memory.TENSION]) <= CLOSE * most
            )
        if meets:
            note_doubt(world, TOGETHER, k, t + h)


@inlined
def doubt_miss(world, kind, cable, t, value):
    """Doubt that a guard whose peak has this value stays below its limit."""
    nearest = -CLOSE * scale_of(world, kind, cable)
    if value >= nearest and guard_at_start(world, kind, cable) < nearest:
        note_doubt(world, NEARLY, cable, t)
