"""Changes of the way of a cable around a box: it touches, bends over an edge more or less, slips over a corner.

At an event the list of faces is changed as the event says, and then, until it fits, as the shortest way near it says.
A convex corner holds no cable: one that comes there slips over it, and its way is shorter then. Equation (W.22),
(W.23), docs/theory/routes.md.
"""

from __future__ import annotations

from math import inf, sqrt

from rotor_core._jit import inlined
from rotor_core._link import INT, WORLD, linked
from rotor_core.math.vec3 import get3
from rotor_dynamics import memory
from rotor_dynamics.constraints.boxes import (
    CLOSES,
    COMES_OFF,
    ENDS,
    ONE_LESS_AT_P,
    ONE_LESS_AT_Q,
    ONE_MORE_AT_P,
    ONE_MORE_AT_Q,
    PART,
    PASSES_AT_P,
    PASSES_AT_Q,
    TOUCHES,
    along,
    corner_face,
    edge_of,
    face_at,
    facing,
    height,
    look,
    opening,
    pick,
    pierces,
    put_off,
    share_corner,
    solve_box,
    stop,
    way_length,
)

TRIES = 40
"""Most changes that one event brings."""

SWEEPS = 200
"""Of the bends, one after the other, before Newton's method."""

STANDS = 1e-8
"""A bend stands at a corner within this share of its edge: events are located to less."""

STILL = 1e-12
"""Bends that move by less than this have found their places, m."""

VIOLATED = 1e-9
"""A measure beyond this calls for its change, m."""


@inlined
def take_out(box, number, face, bend, count):
    """Take ``count`` faces and as many bends out of the way."""
    n = number[memory.N_BENDS]
    for j in range(face, n + 1 - count):
        number[memory.FACES + j] = number[memory.FACES + j + count]
    for j in range(bend, n - count):
        box[memory.BEND_AT + j] = box[memory.BEND_AT + j + count]
        number[memory.AT_CORNER + j] = number[memory.AT_CORNER + j + count]
    number[memory.N_BENDS] = n - count


@inlined
def put_in(box, number, face, bend, f, s):
    """Put face f, and a bend over its edge, into the way."""
    n = number[memory.N_BENDS]
    if n >= memory.MOST_BENDS:
        number[memory.WAY_LOST] = 1
        return
    number[memory.N_BENDS] = n + 1
    for back in range(n + 1 - face):
        j = n + 1 - back
        number[memory.FACES + j] = number[memory.FACES + j - 1]
    for back in range(n - bend):
        j = n - back
        box[memory.BEND_AT + j] = box[memory.BEND_AT + j - 1]
        number[memory.AT_CORNER + j] = number[memory.AT_CORNER + j - 1]
    number[memory.FACES + face] = f
    box[memory.BEND_AT + bend] = s
    number[memory.AT_CORNER + bend] = 0


@inlined
def one_more(box, number, at_q):
    """The straight part to an end has come down on its face: it bends over the edge by which it leaves that face."""
    n = number[memory.N_BENDS]
    end = get3(box, memory.END_Q if at_q else memory.END_P)
    here = stop(box, number, n if at_q else 1)
    face = number[memory.FACES + n] if at_q else number[memory.FACES]
    nearest, out = inf, -1
    for c in range(3):
        way = pick(end, c) - pick(here, c)
        if c == face // 2 or way == 0.0:
            continue
        f = face_at(c, way)
        t = (facing(f) * box[memory.HALF + c] - pick(here, c)) / way
        if t < nearest:
            nearest, out = t, f
    if out < 0 or nearest >= 1.0:  # the end lies on the box
        number[memory.WAY_LOST] = 1
        return
    c = along(face, out)
    s = pick(here, c) + nearest * (pick(end, c) - pick(here, c))
    limit = box[memory.HALF + c]
    s = min(max(s, -limit), limit)
    if at_q:
        put_in(box, number, n + 1, n, out, s)
    else:
        put_in(box, number, 0, 0, out, s)


@inlined
def over_one_edge(box, number, j, last):
    """Bends j to ``last`` stand at one corner: one over the edge from the first face to the last, or none."""
    f, k = number[memory.FACES + j], number[memory.FACES + last + 1]
    corner = stop(box, number, j + 1)
    if f == k:
        take_out(box, number, j + 1, j, last + 1 - j)
        return
    take_out(box, number, j + 1, j + 1, last - j)
    s = pick(corner, along(f, k))
    box[memory.BEND_AT + j] = s
    number[memory.AT_CORNER + j] = 1 if s > 0.0 else -1


@inlined
def pass_corner(box, number, j, at_p):
    """Bend j slips over its corner: over the edge on the other side of it, from where the end is."""
    f, g, third = number[memory.FACES + j], number[memory.FACES + j + 1], corner_face(number, j)
    number[memory.FACES + j + (0 if at_p else 1)] = third
    old = f if at_p else g
    put_off(box, number, j, old, 0.0)


@inlined
def fold(box, number):
    """A way that goes over an edge and comes back over it does neither."""
    j = 0
    while j + 1 < number[memory.N_BENDS]:
        if number[memory.FACES + j] == number[memory.FACES + j + 2]:
            take_out(box, number, j + 1, j, 2)
            j = 0
        else:
            j += 1


@inlined
def relax(box, number):
    """Shorten the way, bend after bend within its edge: each has a closed form between its neighbours."""
    for _ in range(SWEEPS):
        moved = 0.0
        for j in range(number[memory.N_BENDS]):
            c, here = edge_of(number, j), stop(box, number, j + 1)
            before, after = stop(box, number, j), stop(box, number, j + 2)
            a, b = 0.0, 0.0
            for i in range(3):
                if i != c:
                    a += (pick(before, i) - pick(here, i)) * (pick(before, i) - pick(here, i))
                    b += (pick(after, i) - pick(here, i)) * (pick(after, i) - pick(here, i))
            a, b = sqrt(a), sqrt(b)
            s = pick(before, c)
            if a + b > 0.0:
                s = (pick(before, c) * b + pick(after, c) * a) / (a + b)
            limit = box[memory.HALF + c]
            s = min(max(s, -limit), limit)
            moved = max(moved, abs(s - box[memory.BEND_AT + j]))
            box[memory.BEND_AT + j] = s
        if moved < STILL:
            break


@inlined
def stands_at(number, j, f):
    """True if bend j stands at the end of its edge that is on face f."""
    return number[memory.AT_CORNER + j] == (1 if f % 2 != 0 else -1)


@inlined
def put_at(box, number, j, f):
    """Put bend j to the end of its edge that is on face f."""
    put_off(box, number, j, f, 0.0)
    number[memory.AT_CORNER + j] = 1 if f % 2 != 0 else -1


@inlined
def shorten(box, number):
    """Find bends at corners; of several at one corner make one, or none, where that is as short. True if it did."""
    n = number[memory.N_BENDS]
    number[memory.CLOSED] = 0
    for j in range(n):
        limit, s = box[memory.HALF + edge_of(number, j)], box[memory.BEND_AT + j]
        stands = abs(s) >= limit * (1.0 - STANDS)
        number[memory.AT_CORNER + j] = (1 if s > 0.0 else -1) if stands else 0
    # where one bend of a pair stands at the corner of both, the other comes to it
    for j in range(n - 1):
        if share_corner(number, j):
            f, k = number[memory.FACES + j], number[memory.FACES + j + 2]
            if stands_at(number, j, k) != stands_at(number, j + 1, f):
                put_at(box, number, j, k)
                put_at(box, number, j + 1, f)
    for j in range(n - 1):
        if number[memory.AT_CORNER + j] == 0:
            continue
        here, last = stop(box, number, j + 1), j
        while last + 1 < n:
            there = stop(box, number, last + 2)
            if number[memory.AT_CORNER + last + 1] == 0 or not (
                here[0] * there[0] > 0.0 and here[1] * there[1] > 0.0 and here[2] * there[2] > 0.0
            ):
                break
            last += 1
        if last == j:
            continue
        if last == j + 1 and share_corner(number, j):
            wants, _, _ = opening(box, number, j)
            if wants > 0.0:
                number[memory.AT_CORNER + j] = number[memory.AT_CORNER + j + 1] = 0
                continue
        over_one_edge(box, number, j, last)
        return True
    return False


@inlined
def try_way(box, number, first, middle, last):
    """Lay a cable over two faces, or three (``middle`` not negative), and shorten that; its length, or infinity."""
    if middle < 0:
        if first // 2 == last // 2:
            return inf
        number[memory.N_BENDS], number[memory.FACES + 1] = 1, last
    else:
        if middle // 2 == first // 2 or middle // 2 == last // 2:
            return inf
        number[memory.N_BENDS] = 2
        number[memory.FACES + 1], number[memory.FACES + 2] = middle, last
    number[memory.FACES] = first
    box[memory.BEND_AT] = box[memory.BEND_AT + 1] = 0.0
    relax(box, number)
    return way_length(box, number)


@linked(*WORLD, INT, part=PART)
def lay_on(ints, floats, b):
    """Lay a cable on box b whose straight line touches it, or passes through it: on the nearer side."""
    world = memory.views(ints, floats)
    box, number = world.boxes[b], world.box_int[b]
    p, q = get3(box, memory.END_P), get3(box, memory.END_Q)
    _, first, last = pierces(box, p, q)
    if first < 0:
        return
    # where the line only touches, the first is the line itself
    middle, shortest = -1, try_way(box, number, first, -1, last)
    for attempt in range(252):
        f, g, k = attempt % 6, (attempt // 6) % 6, attempt // 36 - 1
        if height(box, f, p) > 0.0 and height(box, g, q) > 0.0:
            length = try_way(box, number, f, k, g)
            if length < shortest * (1.0 - STANDS):
                shortest, first, middle, last = length, f, k, g
    try_way(box, number, first, middle, last)


@inlined
def change_way(ints, floats, b, box, number):
    """The change that has the largest measure."""
    rule, j = number[memory.BOX_RULE], number[memory.BOX_BEND]
    n = number[memory.N_BENDS]
    if rule == TOUCHES:
        lay_on(ints, floats, b)
    elif rule == COMES_OFF:
        number[memory.N_BENDS] = 0
    elif rule == ONE_MORE_AT_P or rule == ONE_MORE_AT_Q:
        one_more(box, number, rule == ONE_MORE_AT_Q)
    elif rule == ONE_LESS_AT_P:
        take_out(box, number, 0, 0, 1)
    elif rule == ONE_LESS_AT_Q:
        take_out(box, number, n, n - 1, 1)
    elif rule == ENDS:
        put_at(box, number, j, face_at(edge_of(number, j), box[memory.BEND_AT + j]))
    elif rule == CLOSES:
        f, k = number[memory.FACES + j], number[memory.FACES + j + 2]
        put_at(box, number, j, k)
        put_at(box, number, j + 1, f)
        over_one_edge(box, number, j, j + 1)
    elif rule == PASSES_AT_P or rule == PASSES_AT_Q:
        pass_corner(box, number, j, rule == PASSES_AT_P)


@linked(*WORLD, INT, part=PART)
def turn_box(ints, floats, i):
    """The way of a cable over the box of sheave i changes, as it was looked at last (W.23)."""
    world = memory.views(ints, floats)
    b = world.sheave_int[i, memory.BOX_AT] - 1
    box, number = world.boxes[b], world.box_int[b]
    change_way(ints, floats, b, box, number)
    fits = False
    for _ in range(TRIES):
        fold(box, number)
        fits = number[memory.N_BENDS] == 0 or number[memory.WAY_LOST] != 0
        if fits:
            break
        relax(box, number)
        if shorten(box, number):
            continue
        if not solve_box(ints, floats, b):
            break
        look(box, number)
        fits = box[memory.BOX_CHANGE] <= VIOLATED
        if fits:
            break
        change_way(ints, floats, b, box, number)
    stands = False
    for j in range(number[memory.N_BENDS]):
        stands = stands or number[memory.AT_CORNER + j] != 0
        number[memory.AT_CORNER + j] = 0
    if fits and stands:  # beside a corner, not at it
        fits = solve_box(ints, floats, b)
        look(box, number)
        fits = fits and box[memory.BOX_CHANGE] <= VIOLATED
    if not fits:
        number[memory.WAY_LOST] = 1
    world.sheave_int[i, memory.LIES_ON] = 1 if number[memory.N_BENDS] != 0 else 0
