"""Changes of the way of a cable around a polyhedron: it touches, crosses an edge more or less, slips over a corner.

At an event the list of edges is changed as the event says, and then, until it fits, as the shortest way near it says.
A convex corner holds no cable: one that comes there passes it on the other side, and its way is shorter then. Equations
(W.22), (W.23), docs/theory/routes.md.
"""

from __future__ import annotations

from math import cos, inf, pi, sin

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.math.vec3 import add, cross, dot, get3, norm, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.constraints.polyhedra import (
    COMES_OFF,
    ONE_LESS_AT_P,
    ONE_LESS_AT_Q,
    ONE_MORE_AT_P,
    ONE_MORE_AT_Q,
    PART,
    SLIPS_LEFT,
    SLIPS_RIGHT,
    TOUCHES,
    bend_place,
    crossed,
    face_before,
    face_beyond,
    height,
    look_at_corners,
    look_at_ends,
    look_at_line,
    unfold,
    unfolded_ends,
)

TRIES = 400
"""Most changes that one event brings: a way from the other side of a fine mesh slips over many corners."""

VIOLATED = 1e-9
"""A measure beyond this calls for its change, m."""

SHORTER = 1e-8
"""Share by which another way must be shorter to be taken."""

(N_SECTIONS,) = constants(24)
"""Sections that a cable that is laid on may begin with: of twelve planes through both ends, both ways round."""

MEET = 1e-9
"""Ends closer than this share of their distance from the middle have no direction from one to the other."""


@inlined
def take_out(number, at, count):
    """Take ``count`` edges out of the way."""
    n = number[memory.N_BENDS]
    for j in range(at, n - count):
        number[memory.CROSSED + j] = number[memory.CROSSED + j + count]
    number[memory.N_BENDS] = n - count


@inlined
def put_in(number, at, h):
    """Put an edge into the way."""
    n = number[memory.N_BENDS]
    if n >= memory.MOST_BENDS:
        number[memory.WAY_LOST] = memory.TOO_MANY_BENDS
        return
    for back in range(n - at):
        j = n - back
        number[memory.CROSSED + j] = number[memory.CROSSED + j - 1]
    number[memory.CROSSED + at] = h
    number[memory.N_BENDS] = n + 1


@inlined
def fold(world, number):
    """A way that crosses an edge and comes back over it does neither."""
    j = 0
    while j + 1 < number[memory.N_BENDS]:
        if crossed(number, j + 1) == world.edge_int[crossed(number, j), memory.EDGE_TWIN]:
            take_out(number, j, 2)
            j = 0
        else:
            j += 1


@inlined
def one_more(world, b, at_q):
    """The straight part to an end has come down on its face: it crosses the edge by which it leaves that face."""
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    n = number[memory.N_BENDS]
    start, _, u, _ = unfolded_ends(world, b)
    end = get3(row, memory.END_Q if at_q else memory.END_P)
    here = bend_place(world, b, n - 1 if at_q else 0, start, u)
    used = world.edge_int[crossed(number, n - 1), memory.EDGE_TWIN] if at_q else crossed(number, 0)
    way = sub(end, here)
    f = world.edge_int[used, memory.EDGE_FACET]
    nearest, out = inf, -1
    for h in range(world.facet_int[f, memory.FIRST_EDGE], world.facet_int[f, memory.END_EDGE]):
        if h == used:
            continue
        outward = cross(
            get3(world.edges[h], memory.EDGE_ALONG), get3(world.facets[f], memory.FACET_NORMAL)
        )
        towards = dot(way, outward)
        if towards > 0.0:
            t = dot(sub(get3(world.edges[h], memory.EDGE_FROM), here), outward) / towards
            if t < nearest:
                nearest, out = t, h
    if out < 0 or nearest >= 1.0:  # the end lies on the polyhedron
        number[memory.WAY_LOST] = memory.END_INSIDE
        return
    if at_q:
        put_in(number, n, out)
    else:
        put_in(number, 0, world.edge_int[out, memory.EDGE_TWIN])


@inlined
def corner_of(world, h, on_left):
    """Number of the corner at the left or right end of an edge, for one who crosses it."""
    end = world.edge_int[h, memory.EDGE_NEXT] if on_left else h
    return world.edge_int[end, memory.EDGE_CORNER]


@inlined
def edges_at(world, h, on_left):
    """Number of edges that meet at the left or right end of edge h, for one who crosses it."""
    side = memory.EDGE_NEXT if on_left else memory.EDGE_BEFORE
    count, at = 1, world.edge_int[world.edge_int[h, side], memory.EDGE_TWIN]
    while at != h:
        count, at = count + 1, world.edge_int[world.edge_int[at, side], memory.EDGE_TWIN]
    return count


@inlined
def slip(world, number, j, on_left):
    """The way passes a corner of the edge of bend j on its other side: over the other edges that meet there (W.22)."""
    corner = corner_of(world, crossed(number, j), on_left)
    first = last = j
    while first > 0 and corner_of(world, crossed(number, first - 1), on_left) == corner:
        first -= 1
    while (
        last + 1 < number[memory.N_BENDS]
        and corner_of(world, crossed(number, last + 1), on_left) == corner
    ):
        last += 1
    around = edges_at(world, crossed(number, first), on_left)
    if last + 1 - first > around:  # it goes round the corner more than once: once less
        take_out(number, first, around)
        return
    # the other edges, from the face before to the face beyond, the other way round the corner
    h, goal = crossed(number, first), face_beyond(world, crossed(number, last))
    side = memory.EDGE_NEXT if on_left else memory.EDGE_BEFORE
    take_out(number, first, last + 1 - first)
    while world.edge_int[h, memory.EDGE_FACET] != goal and number[memory.WAY_LOST] == 0:
        over = world.edge_int[h, side]
        put_in(number, first, over)
        first += 1
        h = world.edge_int[over, memory.EDGE_TWIN]


@inlined
def end_of_edge(row, j, n, q, on_left):
    """The left or right end of the unfolded edge of bend j; behind the last one the end of the way."""
    at = memory.UNFOLDED + 4 * j + (2 if on_left else 0)
    return (row[at], row[at + 1]) if j < n else q


@inlined
def turns_left(a, b, p):
    """Above zero where b is to the left of a, seen from p."""
    return (a[0] - p[0]) * (b[1] - p[1]) - (a[1] - p[1]) * (b[0] - p[0])


@inlined
def first_corner(row, n, p, q):
    """The first corner at which the taut way through the unfolded edges bends: its bend, and whether it is on the left.

    A funnel from p, which every edge makes narrower. Source: Lee and Preparata 1984. The bend is n where there is none.
    """
    left, right = 0, 0
    for j in range(1, n + 1):
        on_left, on_right = (
            end_of_edge(row, left, n, q, True),
            end_of_edge(row, right, n, q, False),
        )
        next_left, next_right = (
            end_of_edge(row, j, n, q, True),
            end_of_edge(row, j, n, q, False),
        )
        if turns_left(on_right, next_right, p) >= 0.0:
            if turns_left(on_left, next_right, p) > 0.0:
                return left, True
            right, on_right = j, next_right
        if turns_left(on_left, next_left, p) <= 0.0:
            if turns_left(on_right, next_left, p) < 0.0:
                return right, False
            left = j
    return n, False


@inlined
def straighten(world, b):
    """Change a way until it is the shortest of all near it; True if it is, or has left the polyhedron.

    Changes beside ends come first: unless they are done a way is not where its unfolding says. Then it slips over the
    corner at which the shortest way between these edges bends first, and is shorter then.
    """
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    for _ in range(TRIES):
        fold(world, number)
        if number[memory.WAY_LOST] != 0:
            return False
        n = number[memory.N_BENDS]
        if n == 0:
            return True
        unfold(world, b)
        look_at_ends(world, b)
        if not row[memory.WAY_CHANGE] > VIOLATED:
            p, q, u, length = unfolded_ends(world, b)
            if length == 0.0:
                return False
            look_at_corners(world, b, p, u)
            if not row[memory.WAY_CHANGE] > VIOLATED:
                return True
            j, on_left = first_corner(row, n, p, q)
            if j < n:
                number[memory.CHANGE_BEND] = j
                number[memory.CHANGE_RULE] = SLIPS_LEFT if on_left else SLIPS_RIGHT
        change(world, b)
    return False


@inlined
def change(world, b):
    """The change of a way over edges that has the largest measure (W.23)."""
    number = world.polyhedron_int[b]
    rule, n = number[memory.CHANGE_RULE], number[memory.N_BENDS]
    if rule == COMES_OFF:
        number[memory.N_BENDS] = 0
    elif rule == ONE_MORE_AT_P or rule == ONE_MORE_AT_Q:
        one_more(world, b, rule == ONE_MORE_AT_Q)
    elif rule == ONE_LESS_AT_P:
        take_out(number, 0, 1)
    elif rule == ONE_LESS_AT_Q:
        take_out(number, n - 1, 1)
    elif rule == SLIPS_LEFT or rule == SLIPS_RIGHT:
        slip(world, number, number[memory.CHANGE_BEND], rule == SLIPS_LEFT)


@inlined
def is_beyond(world, h, place, normal):
    """True if an edge begins beyond the plane through ``place`` across ``normal``."""
    return dot(sub(get3(world.edges[h], memory.EDGE_FROM), place), normal) > 0.0


@inlined
def way_out(world, f, p, normal):
    """The edge by which the section of face f with the plane through p leaves it, or -1 where there is none."""
    for h in range(world.facet_int[f, memory.FIRST_EDGE], world.facet_int[f, memory.END_EDGE]):
        after = world.edge_int[h, memory.EDGE_NEXT]
        if is_beyond(world, after, p, normal) and not is_beyond(world, h, p, normal):
            return h
    return -1


@inlined
def middle_of(world, b):
    """A place inside a polyhedron."""
    number = world.polyhedron_int[b]
    begin = world.facet_int[number[memory.FIRST_FACET], memory.FIRST_EDGE]
    end = world.facet_int[number[memory.END_FACET] - 1, memory.END_EDGE]
    total = (0.0, 0.0, 0.0)
    for h in range(begin, end):
        total = add(total, get3(world.edges[h], memory.EDGE_FROM))
    return scale(1.0 / (end - begin), total)


@inlined
def section_normal(world, b, k):
    """Normal of section k of a polyhedron: all go through both ends, or through one and the middle where they meet."""
    row = world.polyhedra[b]
    p, q = get3(row, memory.END_P), get3(row, memory.END_Q)
    inwards = sub(middle_of(world, b), p)
    along = sub(q, p)
    if norm(along) <= MEET * norm(inwards):
        along = inwards
    along = scale(1.0 / norm(along), along)
    x = cross(along, inwards)
    if norm(x) <= MEET * norm(inwards):  # any one
        x = cross(along, (1.0, 0.0, 0.0) if abs(along[0]) < 0.8 else (0.0, 1.0, 0.0))
    x = scale(1.0 / norm(x), x)
    turned = 2.0 * pi * k / N_SECTIONS
    return add(scale(cos(turned), x), scale(sin(turned), cross(along, x)))


@linked(*WORLD, INT, INT, returns=FLOAT, part=PART)
def lay_section(ints, floats, b, k):
    """Lay a cable along section k of polyhedron b, and shorten that.

    From the last face of which p is in front the way goes on to the first behind it of which q is; with the opposite
    normal it goes around the other way.

    Returns:
        its length, m; infinity where there is none.
    """
    world = memory.views(ints, floats)
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    p, q = get3(row, memory.END_P), get3(row, memory.END_Q)
    normal = section_normal(world, b, k)
    number[memory.N_BENDS] = number[memory.WAY_LOST] = 0
    first, end = number[memory.FIRST_FACET], number[memory.END_FACET]
    out, at = -1, first
    while at < end and out < 0:
        if height(world, at, p) > 0.0:
            out = way_out(world, at, p, normal)
        at += 1
    if out < 0:
        return inf
    f = face_beyond(world, out)
    for _ in range(first, end):
        if not height(world, f, p) > 0.0:
            break
        out = way_out(world, f, p, normal)
        f = face_beyond(world, out)
    before = face_before(world, out)
    while not height(world, f, q) > 0.0 or height(world, before, q) > 0.0:
        if number[memory.N_BENDS] >= memory.MOST_BENDS:
            number[memory.WAY_LOST] = memory.TOO_MANY_BENDS
            return inf
        put_in(number, number[memory.N_BENDS], out)
        out, before = way_out(world, f, p, normal), f
        f = face_beyond(world, out)
    put_in(number, number[memory.N_BENDS], out)
    if not straighten(world, b) or number[memory.N_BENDS] == 0:
        return inf
    _, _, _, length = unfolded_ends(world, b)
    return length


@inlined
def shared_edge(world, first, last):
    """The edge by which one crosses from one face to another, or -1."""
    for h in range(
        world.facet_int[first, memory.FIRST_EDGE], world.facet_int[first, memory.END_EDGE]
    ):
        if face_beyond(world, h) == last:
            return h
    return -1


@linked(*WORLD, INT, part=PART)
def lay_on(ints, floats, b):
    """Lay a cable on polyhedron b whose straight line touches it, or passes through it: on the shortest way.

    As :func:`look_at_line` has found it.
    """
    world = memory.views(ints, floats)
    number = world.polyhedron_int[b]
    first, last = number[memory.GOES_DOWN], number[memory.RISES]
    if first == last:
        return
    shortest = inf
    # where the line only touches, it does so at the edge of the two faces, and the way is the line itself
    h = shared_edge(world, first, last)
    if h >= 0:
        number[memory.N_BENDS], number[memory.CROSSED] = 1, h
        if straighten(world, b):
            if number[memory.N_BENDS] == 0:
                return
            _, _, _, shortest = unfolded_ends(world, b)
    best, reason = -1, memory.NO_WAY
    for k in range(N_SECTIONS):
        length = lay_section(ints, floats, b, k)
        if number[memory.WAY_LOST] == memory.TOO_MANY_BENDS:
            reason = memory.TOO_MANY_BENDS
        if length < shortest * (1.0 - SHORTER):
            shortest, best = length, k
    if best >= 0:
        lay_section(ints, floats, b, best)
        return
    number[memory.N_BENDS], number[memory.CROSSED], number[memory.WAY_LOST] = 1, max(h, 0), 0
    if h < 0 or not straighten(world, b):
        number[memory.WAY_LOST] = reason


@linked(*WORLD, INT, part=PART)
def turn_polyhedron(ints, floats, i):
    """The way of a cable over the polyhedron of sheave i changes, as it was looked at last (W.23)."""
    world = memory.views(ints, floats)
    b = world.sheave_int[i, memory.POLYHEDRON_AT] - 1
    number = world.polyhedron_int[b]
    if number[memory.CHANGE_RULE] == TOUCHES:
        lay_on(ints, floats, b)
    else:
        change(world, b)
        if not straighten(world, b) and number[memory.WAY_LOST] == 0:
            number[memory.WAY_LOST] = memory.NO_WAY
        if number[memory.N_BENDS] == 0 and number[memory.WAY_LOST] == 0:
            look_at_line(ints, floats, b)  # an end may have gone under its face in the same step
            if world.polyhedra[b, memory.WAY_CHANGE] > VIOLATED:
                lay_on(ints, floats, b)
    world.sheave_int[i, memory.LIES_ON] = 1 if number[memory.N_BENDS] != 0 else 0
