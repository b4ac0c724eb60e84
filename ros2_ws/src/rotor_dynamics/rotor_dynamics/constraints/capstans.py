"""Friction of cables in rings and on sheaves: Euler's law of the capstan, sticking and sliding.

A capstan is a place at which a cable rubs. Its row of constraints measures how fast the cable slides over it. While
the cable sticks, that row is an equation of the taut set; while it slides, its force follows from the tension before
it. Equations (W.13)-(W.16), docs/theory/routes.md.
"""

from __future__ import annotations

from math import atan2, exp, log, sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, INT, WORLD, linked
from rotor_core.math.factor import eliminate, solve
from rotor_core.math.vec3 import cross, dot, get3, scale, sub
from rotor_core.numbers.derivatives import counts
from rotor_dynamics import memory
from rotor_dynamics.constraints.routes import (
    cable_routes,
    clear_grips,
    follow,
    hold,
    pull_route,
    respond_grips,
)
from rotor_dynamics.constraints.sheave_rows import last_contact, next_contact
from rotor_dynamics.constraints.sheaves import NEVER, over

PART = "cables that rub"

NONE_YET, NOWHERE = constants(0, -1)

PULLS, FORCES = constants(1, 6)
"""Rows of ``world.small``: multipliers of the taut set, forces where cables slide."""

STRAIGHT = 1e-11
"""A cable bends on a capstan from this sum of friction times bend on: where one comes down on an edge, its bend is
zero at the instant that is found, and rounding."""

ONE_SIDED = 1.0
"""Measure of a capstan that nothing but push on one side could hold: beyond its limit, rad."""


@inlined
def cable_on(world, c):
    """Constraint of the cable that rubs on capstan c."""
    return world.route_int[world.route_int[c, memory.RUBBED_BY] - 1, memory.ROUTE_CONSTRAINT]


@inlined
def bend_at(world, p):
    """Angle between the directions in which a cable comes to the ring at point p and goes on (W.13)."""
    before, after = last_contact(world, p), next_contact(world, p)
    here = get3(world.pins[p], memory.PIN_PLACE)
    come = sub(here, get3(world.pins[before], memory.PIN_PLACE))
    go = sub(get3(world.pins[after], memory.PIN_PLACE), here)
    across = cross(come, go)
    return atan2(sqrt(dot(across, across)), dot(come, go))


@inlined
def grasp(world, c, state, slope):
    """Logarithm of the largest ratio of tensions on both sides of capstan c: the sum of friction times bend (W.13)."""
    total = 0.0
    for p in range(world.route_int[c, memory.CAPSTAN_PIN], world.route_int[c, memory.LAST_PIN] + 1):
        friction, i = world.pins[p, memory.PIN_FRICTION], world.pin_int[p, memory.PIN_SHEAVE] - 1
        if not counts(friction):
            continue
        if i < 0:
            total += friction * bend_at(world, p)
        elif world.pin_int[p, memory.IN_ROW] != 0:
            lies = world.sheave_int[i, memory.LIES_ON]
            total += friction * lies * world.sheaves[i, memory.BENDS]
        elif world.sheave_int[i, memory.LIES_ON] == 0:
            continue
        elif world.sheave_int[i, memory.POLYHEDRON_AT] != 0:
            b = world.sheave_int[i, memory.POLYHEDRON_AT] - 1
            total += friction * world.polyhedra[b, memory.WAY_ANGLE]
        else:
            _, _, _, _, _, _, _, share = over(world, i, p - 1, state, slope)
            total += friction * share * world.sheaves[i, memory.WRAP_ANGLE]
    return total


@inlined
def rubbing_pin(world, c):
    """The first point of capstan c at which the cable rubs: a ring, or of a sheave on which it lies; or -1.

    It slides over all of them alike.
    """
    for p in range(world.route_int[c, memory.CAPSTAN_PIN], world.route_int[c, memory.LAST_PIN] + 1):
        i = world.pin_int[p, memory.PIN_SHEAVE] - 1
        if world.pins[p, memory.PIN_FRICTION] == 0.0:
            continue
        if i < 0 or world.sheave_int[i, memory.LIES_ON] != 0:
            return p
    return NOWHERE


@inlined
def given_off(world, i, p, state, slope):
    """Direction in which the cable goes on from sheave i, on which it lies from point p on; what it gives off there."""
    b = world.sheave_int[i, memory.POLYHEDRON_AT] - 1
    if b >= 0:
        row = world.polyhedra[b]
        return get3(row, memory.GOES), row[memory.GIVEN_OFF], row[memory.GIVEN_FREE]
    _, _, _, _, goes, rate, free, _ = over(world, i, p - 1, state, slope)
    return goes, rate, free


@inlined
def measure_capstan(world, c, state, slope):
    """Sliding speed of the cable over capstan c, its free acceleration, grips, and what holds it (W.13)."""
    r, p = world.route_int[c, memory.RUBBED_BY] - 1, rubbing_pin(world, c)
    shift = world.route_int[c, memory.FIRST_GRIP] - world.route_int[r, memory.FIRST_GRIP]
    row = world.constraints[world.route_int[c, memory.ROUTE_CONSTRAINT]]
    clear_grips(world, c)
    rate, free = 0.0, 0.0
    if p >= 0:
        i = world.pin_int[p, memory.PIN_SHEAVE] - 1
        if i >= 0 and world.pin_int[p, memory.IN_ROW] != 0:
            p += 1
        elif i >= 0:
            goes, rate, free = given_off(world, i, p, state, slope)
            hold(world, p + 1, scale(-1.0, goes), shift)
            hold(world, p + 2, goes, shift)
            p += 2
        _, more, more_free = follow(world, r, p, shift, state, slope)
        rate, free = rate + more, free + more_free
    respond_grips(world, c)
    row[memory.RATE], row[memory.FREE] = rate, free
    world.routes[c, memory.HOLDS_RATIO] = grasp(world, c, state, slope)


@linked(*WORLD, INT, INT, part=PART)
def measure_capstans(ints, floats, which_state, which_slope):
    """Measure all capstans in a state, after the routes that rub on them."""
    world = memory.views(ints, floats)
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        measure_capstan(world, c, world.states[which_state], world.slopes[which_slope])


@linked(*WORLD, INT, INT, returns=INT, part=PART)
def list_sliding(ints, floats, n, mark):
    """List behind n constraints the capstans over which cables slide that have the integer ``mark``; how many."""
    world = memory.views(ints, floats)
    m = NONE_YET
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k = world.route_int[c, memory.ROUTE_CONSTRAINT]
        slides = world.constraint_int[k, memory.SLIDES] != 0
        if slides and world.constraint_int[cable_on(world, c), mark] != 0:
            world.order[0, n + m] = k
            m += 1
    return m


@inlined
def gain(world, c, way):
    """Force of capstan c over the tension before it, where the cable slides one way (W.14)."""
    return exp(way * world.routes[c, memory.HOLDS_RATIO]) - 1.0


@inlined
def comes_before(world, k, c):
    """True if constraint k is the cable on capstan c, or a capstan of it before c."""
    other = world.constraint_int[k, memory.ROUTED] - 1
    if other < 0:
        return False
    r = world.route_int[c, memory.RUBBED_BY] - 1
    return other == r or (world.route_int[other, memory.RUBBED_BY] - 1 == r and other < c)


@linked(*WORLD, INT, INT, FLAG, part=PART)
def rub(ints, floats, n, m, redundant):
    """Forces of m capstans over which cables slide, listed behind n constraints (W.15).

    A over all of them is assembled and its first n rows are factorized. ``world.small[PULLS]`` holds what they would
    pull without friction, and then what they do; ``world.small[FORCES]`` gets the forces.
    """
    world = memory.views(ints, floats)
    pulls, forces, x, work = (
        world.small[PULLS],
        world.small[FORCES],
        world.small[7],
        world.small[2],
    )
    responses = world.block  # row j: A^-1 times the column of capstan j; then the small system
    for j in range(m):
        for i in range(n):
            x[i] = world.matrix[n + j, i]
        solve(
            world.matrix,
            world.factor,
            n,
            redundant,
            x,
            responses[j],
            work,
            world.order[3],
        )
    for j in range(m):
        k = world.order[0, n + j]
        c = world.constraint_int[k, memory.ROUTED] - 1
        ratio = gain(world, c, 1.0 * world.constraint_int[k, memory.SLIDES])
        total = 0.0
        for i in range(n):
            if comes_before(world, world.order[0, i], c):
                total += pulls[i]
        forces[j] = ratio * total
        for h in range(m):
            total = 0.0
            for i in range(n):
                if comes_before(world, world.order[0, i], c):
                    total += responses[h, i]
            if h != j and comes_before(world, world.order[0, n + h], c):
                total -= 1.0
            responses[j, n + h] = ratio * total + (1.0 if h == j else 0.0)
    eliminate(responses, n, m, forces)
    for j in range(m):
        for i in range(n):
            pulls[i] -= responses[j, i] * forces[j]


@linked(*WORLD, INT, INT, INT, part=PART)
def pull_sliding(ints, floats, n, m, which_slope):
    """Let the forces of m sliding cables, listed behind n constraints, act on the slope, and count their power."""
    world = memory.views(ints, floats)
    for j in range(m):
        k = world.order[0, n + j]
        force = world.small[FORCES, j]
        world.constraints[k, memory.TENSION] = force
        world.scalars[memory.POWER_NOW] -= force * world.constraints[k, memory.RATE]
        pull_route(ints, floats, k, force, world.slopes[which_slope], memory.D_V, memory.D_OMEGA)


@linked(*WORLD, part=PART)
def watch_capstans(ints, floats):
    """Measure of the next change of every capstan, of the tensions now: it rises through zero (W.16)."""
    world = memory.views(ints, floats)
    before = 0.0
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k, cable = world.route_int[c, memory.ROUTE_CONSTRAINT], cable_on(world, c)
        row = world.constraints[k]
        if c == world.route_int[world.route_int[c, memory.RUBBED_BY] - 1, memory.FIRST_CAPSTAN]:
            before = world.constraints[cable, memory.TENSION]
        way, after = world.constraint_int[k, memory.SLIDES], before + row[memory.TENSION]
        if world.constraint_int[cable, memory.TAUT] == 0:
            row[memory.NEXT_TURN] = NEVER
        elif way != 0:
            row[memory.NEXT_TURN] = -way * row[memory.RATE]
        elif world.constraint_int[k, memory.TAUT] == 0:
            row[memory.NEXT_TURN] = world.routes[c, memory.HOLDS_RATIO] - STRAIGHT
        elif before <= 0.0:
            row[memory.NEXT_TURN] = NEVER
        elif after <= 0.0:
            row[memory.NEXT_TURN] = ONE_SIDED
        else:
            row[memory.NEXT_TURN] = abs(log(after / before)) - world.routes[c, memory.HOLDS_RATIO]
        before = after
