"""Several pulleys or pegs in one part of a cable, between two rings: the shortest way over all of them.

Where the cable meets each cylinder, and leaves it, is unknown: two angles and two heights per sheave on which it lies.
There it is tangent to the cylinder and as steep as on it (Newton's method, from where they were last). Equations
(W.17), (W.18), docs/theory/routes.md.
"""

from __future__ import annotations

from math import atan2, cos, nan, sin, sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import INT, WORLD, linked
from rotor_core.math.factor import eliminate
from rotor_core.math.vec3 import (
    add,
    apply,
    column,
    cross,
    dot,
    get3,
    get9,
    put3,
    scale,
    sub,
)
from rotor_dynamics import memory
from rotor_dynamics.constraints.sheaves import (
    NEVER,
    TANGENT,
    WHOLE_TURN,
    local,
    move_pin,
    off_the_end,
    passes_within,
    tangent,
    watch,
)

PART = "pulleys in a row"

NONE_YET, NO_SHEAVE, ON_SHEAVE = constants(0, -1, 2)

NEWTON_STEPS = 60
"""Most steps of Newton's method; two to four are usual."""

CONVERGED = 1e-9
"""Steps below this are the last one, rad and m: the next would be its square."""

LONGEST = 0.3
"""Largest step of an unknown, rad and m."""


@inlined
def next_contact(world, p):
    """The point of the path behind p to which the cable is straight: on a sheave on which it lies, a ring or an end."""
    if world.pin_int[p, memory.IN_ROW] != 0:
        return world.pin_int[p, memory.NEXT_PIN]
    i = world.pin_int[p + 1, memory.PIN_SHEAVE] - 1
    if i >= 0 and world.sheave_int[i, memory.LIES_ON] == 0:
        return p + 3
    return p + 1


@inlined
def last_contact(world, p):
    """The point of the path before p, a ring or an end, to which the cable is straight."""
    q = p - 1
    if q > 0 and world.pin_int[q, memory.IN_ROW] == ON_SHEAVE:
        while world.pin_int[q, memory.IN_ROW] != 1:
            q -= 1
        while world.pin_int[q, memory.NEXT_PIN] != p:
            q = world.pin_int[q, memory.NEXT_PIN] + 1
        return q
    if q > 0:
        i = world.pin_int[q - 1, memory.PIN_SHEAVE] - 1
        if i >= 0 and world.sheave_int[i, memory.LIES_ON] == 0:
            return p - 3
    return q


@inlined
def begin_row(world, first):
    """The cable lies on the pulleys behind point ``first``, in their order, and on no peg."""
    p, q = first, first + 1
    while world.pin_int[q, memory.PIN_SHEAVE] != 0:
        if world.sheave_int[world.pin_int[q, memory.PIN_SHEAVE] - 1, memory.LIES_ON] != 0:
            world.pin_int[p, memory.NEXT_PIN] = q
            p = q + 1
        q += 2
    world.pin_int[p, memory.NEXT_PIN] = q


@inlined
def row_before(world, first, wanted, comes):
    """The point of a row from which the cable goes on to ``wanted`` (``comes``), or ``wanted`` itself; or -1."""
    p = first
    for _ in range(world.head[memory.N_SHEAVES] + 1):
        after = world.pin_int[p, memory.NEXT_PIN]
        if (comes and after == wanted) or (not comes and p == wanted):
            return p
        if world.pin_int[after, memory.PIN_SHEAVE] == 0:
            return NO_SHEAVE
        p = after + 1
    return NO_SHEAVE


@inlined
def relink(world, i):
    """Put sheave i, which the cable begins to lie on, or ceases to, into its row, or take it out."""
    number = world.sheave_int[i]
    q = number[memory.SHEAVE_PIN]
    first = q - 1
    while world.pin_int[first, memory.IN_ROW] != 1:
        first -= 1
    there = row_before(world, first, q, True)
    if number[memory.LIES_ON] == 0:
        if there >= 0:
            world.pin_int[there, memory.NEXT_PIN] = world.pin_int[q + 1, memory.NEXT_PIN]
        return
    p = row_before(world, first, number[memory.BEHIND_PIN], False)
    if there >= 0 or p < 0:  # it has been taken in, or its part is gone: another look decides
        number[memory.LIES_ON] = 1 if there >= 0 else 0
        return
    world.pin_int[q + 1, memory.NEXT_PIN] = world.pin_int[p, memory.NEXT_PIN]
    world.pin_int[p, memory.NEXT_PIN] = q


@inlined
def place_contacts(world, i, state):
    """Put the two points of sheave i where its unknowns say."""
    sheave, b = world.sheaves[i], world.sheave_int[i, memory.SHEAVE_BODY]
    axes, R = get9(sheave, memory.SHEAVE_AXES), get9(world.bodies[b], memory.ROTATION)
    radius = sheave[memory.SHEAVE_RADIUS]
    for side in range(2):
        angle, height = (
            sheave[memory.CONTACTS + 2 * side],
            sheave[memory.CONTACTS + 2 * side + 1],
        )
        on = (radius * cos(angle), radius * sin(angle), height)
        point = add(get3(sheave, memory.SHEAVE_CENTRE), apply(axes, on))
        pin = world.pins[world.sheave_int[i, memory.SHEAVE_PIN] + side]
        put3(pin, memory.PIN_POINT, point)
        put3(pin, memory.PIN_PLACE, add(get3(state[b], memory.P), apply(R, point)))


@inlined
def slopes_at(world, i, side):
    """Slopes of a point of contact per angle and height, and the radial vector, times the radius, in W.

    Zero for no sheave (-1).
    """
    if i < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    sheave = world.sheaves[i]
    R = get9(world.bodies[world.sheave_int[i, memory.SHEAVE_BODY]], memory.ROTATION)
    axes, radius = get9(sheave, memory.SHEAVE_AXES), sheave[memory.SHEAVE_RADIUS]
    angle = sheave[memory.CONTACTS + 2 * side]
    c, s = radius * cos(angle), radius * sin(angle)
    around = apply(R, apply(axes, (-s, c, 0.0)))
    return around, apply(R, column(axes, 2)), apply(R, apply(axes, (c, s, 0.0)))


@inlined
def axis_in_world(world, i):
    """Direction of the axis of sheave i in W."""
    _, Z, _ = slopes_at(world, i, 1)
    return Z


@inlined
def turning(world, i, state):
    """Angular velocity of the body of sheave i in W; zero for no sheave."""
    if i < 0:
        return (0.0, 0.0, 0.0)
    b = world.sheave_int[i, memory.SHEAVE_BODY]
    return apply(get9(world.bodies[b], memory.ROTATION), get3(state[b], memory.OMEGA))


@inlined
def project(world, row, factor, w, part, i, j):
    """Derivatives of ``factor u . w`` along the unknowns of both ends of a straight part, into a row (w held)."""
    u, d, T_i, Z_i, T_j, Z_j = part
    across = scale(factor / d, sub(w, scale(dot(u, w), u)))
    if i >= 0:
        x = world.sheave_int[i, memory.WAY_AT] + 2
        world.ways[row, x] -= dot(across, T_i)
        world.ways[row, x + 1] -= dot(across, Z_i)
    if j >= 0:
        y = world.sheave_int[j, memory.WAY_AT]
        world.ways[row, y] += dot(across, T_j)
        world.ways[row, y + 1] += dot(across, Z_j)


@inlined
def arc_of(world, i):
    """Way on sheave i around it, with the sign of its sense, and along it, m."""
    sheave = world.sheaves[i]
    angle = sheave[memory.CONTACTS + 2] - sheave[memory.CONTACTS]
    around = sheave[memory.SHEAVE_RADIUS] * world.sheave_int[i, memory.SIDE] * angle
    return around, sheave[memory.CONTACTS + 3] - sheave[memory.CONTACTS + 1]


@inlined
def leaves(world, n, i, part, j, known, omega):
    """Equations where the cable leaves sheave i: tangent, and as steep as where it comes."""
    u, changes, moving = known
    x, radius = world.sheave_int[i, memory.WAY_AT], world.sheaves[i, memory.SHEAVE_RADIUS]
    T, Z, N = slopes_at(world, i, 1)
    if radius > 0.0:
        normal = scale(1.0 / radius, N)
        project(world, x + 2, 1.0, normal, part, i, j)
        world.ways[x + 2, x + 2] += dot(u, T) / radius
        world.ways[n, x + 2] += (
            dot(changes, normal) + dot(u, cross(omega, normal)) if moving else dot(u, normal)
        )
    else:
        world.ways[x + 2, x + 2] = 1.0
    project(world, x + 3, -1.0, Z, part, i, j)
    world.ways[n, x + 3] -= dot(changes, Z) + dot(u, cross(omega, Z)) if moving else dot(u, Z)


@inlined
def comes(world, n, j, part, i, known, omega):
    """Equations where the cable comes to sheave j: tangent, and as steep as it lies; on an edge both points are one."""
    u, changes, moving = known
    y, radius = world.sheave_int[j, memory.WAY_AT], world.sheaves[j, memory.SHEAVE_RADIUS]
    T, Z, N = slopes_at(world, j, 0)
    rise, rise_dot = dot(u, Z), dot(changes, Z) + dot(u, cross(omega, Z))
    project(world, y + 3, 1.0, Z, part, i, j)
    world.ways[n, y + 3] += rise_dot if moving else rise
    around, along = arc_of(world, j)
    if radius == 0.0:
        world.ways[y, y] = 1.0
        world.ways[y + 1, y + 1], world.ways[y + 1, y + 3] = -1.0, 1.0
        world.ways[n, y + 1] += 0.0 if moving else along
        return
    normal = scale(1.0 / radius, N)
    project(world, y, 1.0, normal, part, i, j)
    world.ways[y, y] += dot(u, T) / radius
    flat = sqrt(1.0 - rise * rise)
    factor = -(around + along * rise / flat)
    project(world, y + 1, factor, Z, part, i, j)
    lever = rise * radius * world.sheave_int[j, memory.SIDE]
    world.ways[y + 1, y] += lever
    world.ways[y + 1, y + 2] -= lever
    world.ways[y + 1, y + 1] -= flat
    world.ways[y + 1, y + 3] += flat
    if moving:
        world.ways[n, y] += dot(changes, normal) + dot(u, cross(omega, normal))
        world.ways[n, y + 1] += factor * rise_dot
    else:
        world.ways[n, y] += dot(u, normal)
        world.ways[n, y + 1] += along * flat - around * rise


@inlined
def straight(world, a, b):
    """Direction and length of the straight part from point a to b, and the difference of their velocities."""
    pin_a, pin_b = world.pins[a], world.pins[b]
    D = sub(get3(pin_b, memory.PIN_PLACE), get3(pin_a, memory.PIN_PLACE))
    d = sqrt(dot(D, D))
    return scale(1.0 / d, D), d, sub(get3(pin_b, memory.PIN_SPEED), get3(pin_a, memory.PIN_SPEED))


@inlined
def derive(world, first, last, n, state, moving):
    """Residuals of the equations of the way from point ``first`` to ``last``, and their derivatives (W.17).

    ``moving``: how fast that changes by the motion of the bodies, instead of what is left.
    """
    for x in range(n + 1):
        for y in range(n):
            world.ways[x, y] = 0.0
    p, i = first, NO_SHEAVE
    while p != last:
        after = next_contact(world, p)
        j = world.pin_int[after, memory.PIN_SHEAVE] - 1
        u, d, apart = straight(world, p, after)
        changes = scale(1.0 / d, sub(apart, scale(dot(u, apart), u)))
        T_i, Z_i, _ = slopes_at(world, i, 1)
        T_j, Z_j, _ = slopes_at(world, j, 0)
        part, known = (u, d, T_i, Z_i, T_j, Z_j), (u, changes, moving)
        if i >= 0:
            leaves(world, n, i, part, j, known, turning(world, i, state))
        if j >= 0:
            comes(world, n, j, part, i, known, turning(world, j, state))
        p = after if j < 0 else after + 1
        i = j


@inlined
def seen_place(world, p, i, state):
    """Place of point p in W, of a sheave that the cable is just laid on (i) its centre instead."""
    if i >= 0:
        if world.sheave_int[i, memory.FRESH] != 0:
            b = world.sheave_int[i, memory.SHEAVE_BODY]
            R = get9(world.bodies[b], memory.ROTATION)
            centre = get3(world.sheaves[i], memory.SHEAVE_CENTRE)
            return add(get3(state[b], memory.P), apply(R, centre))
    return get3(world.pins[p], memory.PIN_PLACE)


@inlined
def begin_contacts(world, first, last, state):
    """Guess where the cable meets the sheaves that it is just laid on, from tangents to their neighbours."""
    p, i = first, NO_SHEAVE
    while p != last:
        at = next_contact(world, p)
        j = world.pin_int[at, memory.PIN_SHEAVE] - 1
        if j < 0:
            break
        fresh = world.sheave_int[j, memory.FRESH]
        if fresh != 0:
            sheave, side = world.sheaves[j], 1.0 * world.sheave_int[j, memory.SIDE]
            radius = sheave[memory.SHEAVE_RADIUS]
            behind = next_contact(world, at + 1)
            before = local(world, j, seen_place(world, p, i, state), state)
            after = local(
                world,
                j,
                seen_place(world, behind, world.pin_int[behind, memory.PIN_SHEAVE] - 1, state),
                state,
            )
            (px, py), free_p = tangent(before, side, radius, True)
            (qx, qy), free_q = tangent(after, side, radius, False)
            begins, angle = atan2(py, px), side * (atan2(qy, qx) - atan2(py, px))
            if fresh == memory.FROM_START:
                while angle < 0.0:
                    angle += WHOLE_TURN
                while angle >= WHOLE_TURN:
                    angle -= WHOLE_TURN
            else:
                angle -= WHOLE_TURN * round(angle / WHOLE_TURN)
            whole = free_p + free_q + radius * angle
            climb = (after[2] - before[2]) / whole if whole > 0.0 else 0.0
            sheave[memory.CONTACTS] = begins
            sheave[memory.CONTACTS + 1] = before[2] + climb * free_p
            sheave[memory.CONTACTS + 2] = begins + side * angle
            sheave[memory.CONTACTS + 3] = after[2] - climb * free_q
        p, i = at + 1, j
    p = first
    while p != last:
        at = next_contact(world, p)
        j = world.pin_int[at, memory.PIN_SHEAVE] - 1
        if j >= 0:
            world.sheave_int[j, memory.FRESH] = 0
        p = at if j < 0 else at + 1


@inlined
def edge_angle(world, i, before, after, state):
    """Angle by which the cable turns about an edge, from the points before and behind: it goes on from before."""
    pin = world.sheave_int[i, memory.SHEAVE_PIN]
    here = local(world, i, get3(world.pins[pin], memory.PIN_PLACE), state)
    come = sub(here, local(world, i, get3(world.pins[before], memory.PIN_PLACE), state))
    go = sub(local(world, i, get3(world.pins[after], memory.PIN_PLACE), state), here)
    turned = atan2(come[0] * go[1] - come[1] * go[0], come[0] * go[0] + come[1] * go[1])
    angle = turned * world.sheave_int[i, memory.SIDE]
    return angle + WHOLE_TURN * round((world.sheaves[i, memory.WRAP_ANGLE] - angle) / WHOLE_TURN)


@inlined
def read_row(world, first, last, n, state):
    """Rates and free accelerations of straight parts, arcs, bends, next changes of a way that is solved (W.18)."""
    p, i, before = first, NO_SHEAVE, first
    while p != last:
        after = next_contact(world, p)
        j = world.pin_int[after, memory.PIN_SHEAVE] - 1
        pin_a, pin_b = world.pins[p], world.pins[after]
        u, d, apart = straight(world, p, after)
        pulled = sub(get3(pin_b, memory.PIN_ACCELERATION), get3(pin_a, memory.PIN_ACCELERATION))
        shift_a, shift_b = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if i >= 0:
            T, Z, _ = slopes_at(world, i, 1)
            x = world.sheave_int[i, memory.WAY_AT] + 2
            shift_a = add(scale(-world.ways[n, x], T), scale(-world.ways[n, x + 1], Z))
        if j >= 0:
            T, Z, _ = slopes_at(world, j, 0)
            x = world.sheave_int[j, memory.WAY_AT]
            shift_b = add(scale(-world.ways[n, x], T), scale(-world.ways[n, x + 1], Z))
        moved = add(apart, sub(shift_b, shift_a))
        free = dot(u, pulled) + (dot(moved, apart) - dot(u, moved) * dot(u, apart)) / d
        free += dot(u, cross(turning(world, j, state), shift_b))
        free -= dot(u, cross(turning(world, i, state), shift_a))
        pin_a[memory.PART_RATE], pin_a[memory.PART_FREE] = dot(u, apart), free
        if i >= 0:
            sheave = world.sheaves[i]
            angle = sheave[memory.CONTACTS + 2] - sheave[memory.CONTACTS]
            angle *= world.sheave_int[i, memory.SIDE]
            sheave[memory.ARC], steep = 0.0, dot(u, axis_in_world(world, i))
            share = sqrt(1.0 - steep * steep)  # a helix, also on the thinnest cylinder
            if sheave[memory.SHEAVE_RADIUS] == 0.0:
                angle = edge_angle(world, i, before, after, state)
            else:
                around, along = arc_of(world, i)
                sheave[memory.ARC] = share * around + steep * along
            off = off_the_end(sheave[memory.CONTACTS + 1], sheave[memory.CONTACTS + 3])
            sheave[memory.WRAP_ANGLE] = angle
            sheave[memory.CHANGE_ANGLE] = max(-angle - TANGENT, off - sheave[memory.SHEAVE_REACH])
            sheave[memory.BENDS] = share * angle
        before = p
        p = after if j < 0 else after + 1
        i = j


@inlined
def watch_row(world, first, last, state):
    """Distance of sheaves on which the cable does not lie from that, and the largest measure of a change.

    Each is looked at from the straight part that passes its axis, of several the one that is nearest to it.
    """
    most = NEVER
    for q in range(first + 1, last, 2):
        i = world.pin_int[q, memory.PIN_SHEAVE] - 1
        number, sheave = world.sheave_int[i], world.sheaves[i]
        if number[memory.LIES_ON] == 0:
            nearest, before, side, found = NEVER, number[memory.SIDE], 0, False
            p = first
            while p != last:
                after = next_contact(world, p)
                here = local(world, i, get3(world.pins[p], memory.PIN_PLACE), state)
                there = local(world, i, get3(world.pins[after], memory.PIN_PLACE), state)
                if passes_within(here, there, sheave[memory.SHEAVE_REACH]):
                    number[memory.SIDE] = before
                    watch(world, i, here, there)
                    if not found or sheave[memory.CHANGE_ANGLE] > nearest:
                        nearest, side = sheave[memory.CHANGE_ANGLE], number[memory.SIDE]
                        number[memory.BEHIND_PIN], found = p, True
                j = world.pin_int[after, memory.PIN_SHEAVE] - 1
                p = after if j < 0 else after + 1
            number[memory.SIDE] = side  # 0, not known, where no part passes it
            sheave[memory.CHANGE_ANGLE] = nearest
        most = max(most, sheave[memory.CHANGE_ANGLE])
    return most


@linked(*WORLD, INT, INT, INT, part=PART)
def lay_row(ints, floats, first, which_state, which_slope):
    """Find the shortest way over the sheaves behind point ``first`` of a route, and all that is read from it."""
    world = memory.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    n, last = NONE_YET, first + 1
    while world.pin_int[last, memory.PIN_SHEAVE] != 0:
        i = world.pin_int[last, memory.PIN_SHEAVE] - 1
        if world.sheave_int[i, memory.LIES_ON] != 0:
            world.sheave_int[i, memory.WAY_AT] = n
            n += 4
            if world.sheave_int[i, memory.FRESH] == 0:
                place_contacts(world, i, state)
        last += 2
    begin_contacts(world, first, last, state)
    left = 1.0
    for _ in range(NEWTON_STEPS if n > 0 else 0):
        for q in range(first + 1, last, 2):
            i = world.pin_int[q, memory.PIN_SHEAVE] - 1
            if world.sheave_int[i, memory.LIES_ON] != 0:
                place_contacts(world, i, state)
        if left < CONVERGED:
            break
        derive(world, first, last, n, state, False)
        eliminate(world.ways, 0, n, world.ways[n])
        left = 0.0
        for q in range(first + 1, last, 2):
            i = world.pin_int[q, memory.PIN_SHEAVE] - 1
            if world.sheave_int[i, memory.LIES_ON] != 0:
                for c in range(4):
                    step = world.ways[n, world.sheave_int[i, memory.WAY_AT] + c]
                    step = min(max(step, -LONGEST), LONGEST)
                    world.sheaves[i, memory.CONTACTS + c] -= step
                    left = max(left, abs(step))
    for q in range(first + 1, last, 2):
        i = world.pin_int[q, memory.PIN_SHEAVE] - 1
        if world.sheave_int[i, memory.LIES_ON] != 0:
            move_pin(world, q, state, slope)
            move_pin(world, q + 1, state, slope)
    if n > 0:
        derive(world, first, last, n, state, True)
        eliminate(world.ways, 0, n, world.ways[n])
    read_row(world, first, last, n, state)
    i = world.pin_int[first + 1, memory.PIN_SHEAVE] - 1
    c = world.route_int[world.sheave_int[i, memory.SHEAVE_ROUTE], memory.ROUTE_CONSTRAINT]
    most = watch_row(world, first, last, state)
    world.constraints[c, memory.NEXT_TURN] = max(world.constraints[c, memory.NEXT_TURN], most)
    if n > 0 and not left < CONVERGED:  # an end has come to a sheave: there is no way
        world.head[memory.ARRIVED] = 1 + c
        world.pins[first, memory.PART_FREE] = nan
