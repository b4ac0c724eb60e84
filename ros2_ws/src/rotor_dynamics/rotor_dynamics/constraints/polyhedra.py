"""Cables around convex polyhedra: the shortest way over their edges, and how far the next change of it is.

A cable on a polyhedron crosses one edge after the other. Unfolded into one plane its way is a straight line, so that
length, directions and bends have closed forms. Everything is in the axes of the polyhedron, a function of the two ends
alone. Equations (W.21)-(W.23), docs/theory/routes.md.
"""

from __future__ import annotations

from math import atan2, inf, sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import INT, ROWS, WORLD, linked
from rotor_core.math.vec3 import add, apply, cross, dot, get3, get9, put3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.constraints.sheaves import NEVER, seen_from

PART = "cables around polyhedra"

(
    NO_RULE,
    TOUCHES,
    COMES_OFF,
    ONE_MORE_AT_P,
    ONE_MORE_AT_Q,
    ONE_LESS_AT_P,
    ONE_LESS_AT_Q,
    SLIPS_LEFT,
    SLIPS_RIGHT,
) = constants(*range(9))
"""Changes: the straight line touches; the cable comes off; beside an end it bends over one edge more, or one less; a
bend comes to the corner on its left, or on its right."""

LEVEL = 1e-11
"""Every measure has to go by more than this, m, or rounding would make changes come and go: of ends that are level with
faces, of lines along edges. It is longer than rounding up to 300 km from the origin, and costs its square in length."""


@inlined
def height(world, f, place):
    """Height of a place above the plane of face f, m."""
    return (
        dot(get3(world.facets[f], memory.FACET_NORMAL), place)
        - world.facets[f, memory.FACET_HEIGHT]
    )


@inlined
def face_before(world, h):
    """The face from which edge h is crossed."""
    return world.edge_int[h, memory.EDGE_FACET]


@inlined
def face_beyond(world, h):
    """The face to which edge h is crossed."""
    return world.edge_int[world.edge_int[h, memory.EDGE_TWIN], memory.EDGE_FACET]


@inlined
def crossed(number, j):
    """The edge of bend j."""
    return number[memory.CROSSED + j]


@inlined
def plane_axes(row, j):
    """Right end of the unfolded edge of bend j, and the directions along it, to the left, and across it, onwards."""
    at = memory.UNFOLDED + 4 * j
    right, left = (row[at], row[at + 1]), (row[at + 2], row[at + 3])
    x, y = left[0] - right[0], left[1] - right[1]
    size = sqrt(x * x + y * y)
    return right, (x / size, y / size), (y / size, -x / size)


@inlined
def put_edge(row, j, right, left):
    """Note the unfolded edge of bend j."""
    at = memory.UNFOLDED + 4 * j
    row[at], row[at + 1], row[at + 2], row[at + 3] = right[0], right[1], left[0], left[1]


@inlined
def in_plane(world, h, place, right, along, across):
    """Unfolded place of one in the plane beyond edge h."""
    away = sub(place, get3(world.edges[h], memory.EDGE_FROM))
    s = dot(away, get3(world.edges[h], memory.EDGE_ALONG))
    t = dot(away, get3(world.edges[h], memory.EDGE_BEYOND))
    return right[0] + s * along[0] + t * across[0], right[1] + s * along[1] + t * across[1]


@inlined
def unfold(world, b):
    """Lay the faces that the cable crosses into one plane, from the first edge on."""
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    put_edge(row, 0, (0.0, 0.0), (0.0, world.edges[crossed(number, 0), memory.EDGE_LENGTH]))
    for j in range(1, number[memory.N_BENDS]):
        before, h = crossed(number, j - 1), crossed(number, j)
        right, along, across = plane_axes(row, j - 1)
        begin = get3(world.edges[h], memory.EDGE_FROM)
        way = scale(world.edges[h, memory.EDGE_LENGTH], get3(world.edges[h], memory.EDGE_ALONG))
        put_edge(
            row, j,
            in_plane(world, before, begin, right, along, across),
            in_plane(world, before, add(begin, way), right, along, across),
        )  # fmt: skip


@inlined
def off_line(world, h, place):
    """Place along the line of edge h from its beginning, distance from it, and the direction away from it."""
    away, along = (
        sub(place, get3(world.edges[h], memory.EDGE_FROM)),
        get3(world.edges[h], memory.EDGE_ALONG),
    )
    s = dot(away, along)
    out = sub(away, scale(s, along))
    far = sqrt(dot(out, out))
    if far == 0.0:
        return s, far, (0.0 * far, 0.0 * far, 0.0 * far)
    return s, far, scale(1.0 / far, out)


@inlined
def unfolded_ends(world, b):
    """The two ends of the way in the plane into which it is unfolded, its direction there, and its length (W.21)."""
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    last = number[memory.N_BENDS] - 1
    right, along, across = plane_axes(row, 0)
    s, far, _ = off_line(world, crossed(number, 0), get3(row, memory.END_P))
    p = (
        right[0] + s * along[0] - far * across[0],
        right[1] + s * along[1] - far * across[1],
    )
    right, along, across = plane_axes(row, last)
    s, far, _ = off_line(world, crossed(number, last), get3(row, memory.END_Q))
    q = (
        right[0] + s * along[0] + far * across[0],
        right[1] + s * along[1] + far * across[1],
    )
    x, y = q[0] - p[0], q[1] - p[1]
    length = sqrt(x * x + y * y)
    if length == 0.0:
        return p, q, (0.0 * length, 0.0 * length), length
    return p, q, (x / length, y / length), length


@inlined
def left_of(p, u, x, y):
    """Distance of a point to the left of the line from p along u."""
    return u[0] * (y - p[1]) - u[1] * (x - p[0])


@inlined
def bend_place(world, b, j, p, u):
    """Point at which the straight line crosses the edge of bend j, in the axes of the polyhedron."""
    row, h = world.polyhedra[b], crossed(world.polyhedron_int[b], j)
    at = memory.UNFOLDED + 4 * j
    right, left = left_of(p, u, row[at], row[at + 1]), left_of(p, u, row[at + 2], row[at + 3])
    edge, share = world.edges[h], 0.5
    if left - right > LEVEL:  # else the line runs along the edge: any place of it
        share = min(max(-right / (left - right), 0.0), 1.0)
    s = share * edge[memory.EDGE_LENGTH]
    return add(get3(edge, memory.EDGE_FROM), scale(s, get3(edge, memory.EDGE_ALONG)))


@inlined
def highest(world, b, place, way, onwards):
    """The face that a place is highest above, and how far; of those equally high the one from which ``way`` rises most.

    Without ``onwards`` the one from which it rises least.
    """
    number = world.polyhedron_int[b]
    most, face, rises = -inf, -1, 0.0
    for f in range(number[memory.FIRST_FACET], number[memory.END_FACET]):
        far = height(world, f, place)
        if far >= most:
            rise = dot(get3(world.facets[f], memory.FACET_NORMAL), way)
            if far > most or (rise > rises) == onwards:
                most, face, rises = far, f, rise
    return face, most, rises


@linked(*WORLD, INT, part=PART)
def look_at_line(ints, floats, b):
    """Depth of the straight line from p to q below the surface, m (negative: height above it) (W.23).

    The lowest point of the upper envelope of its heights above all faces, found from both sides, into WAY_CHANGE; the
    faces by which it goes down there and rises again into GOES_DOWN and RISES, one face where it is lowest at an end.
    """
    world = memory.views(ints, floats)
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    p, q = get3(row, memory.END_P), get3(row, memory.END_Q)
    way = sub(q, p)
    first, above, falls = highest(world, b, p, way, True)
    last, beyond, rises = highest(world, b, q, way, False)
    low = above
    if falls >= 0.0:
        last = first
    elif rises <= 0.0:
        first, low = last, beyond
    else:
        beyond -= rises  # over p, as far as the plane of that face is concerned
        for _ in range(number[memory.FIRST_FACET], number[memory.END_FACET]):
            t = (above - beyond) / (rises - falls)
            low = above + t * falls
            f, far, rise = highest(world, b, add(p, scale(t, way)), way, True)
            if f == first or f == last or far <= low:
                break
            if rise < 0.0:
                first, above, falls = f, far - t * rise, rise
            else:
                last, beyond, rises = f, far - t * rise, rise
    row[memory.WAY_CHANGE] = -low
    number[memory.CHANGE_RULE] = TOUCHES
    number[memory.GOES_DOWN], number[memory.RISES] = first, last


@inlined
def is_outside(world, b, place):
    """True if a place is above one face at least."""
    number = world.polyhedron_int[b]
    for f in range(number[memory.FIRST_FACET], number[memory.END_FACET]):
        if height(world, f, place) > 0.0:
            return True
    return False


@inlined
def note(row, number, measure, rule, bend):
    """A change may come: keep it if none is nearer."""
    if measure > row[memory.WAY_CHANGE]:
        row[memory.WAY_CHANGE] = measure
        number[memory.CHANGE_RULE], number[memory.CHANGE_BEND] = rule, bend


@inlined
def look_at_ends(world, b):
    """The nearest change beside the ends of a way: its measure, which rises through zero, and what it is (W.23)."""
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    n = number[memory.N_BENDS]
    p, q = get3(row, memory.END_P), get3(row, memory.END_Q)
    first, last = crossed(number, 0), crossed(number, n - 1)
    row[memory.WAY_CHANGE] = NEVER
    # an end that is level with a face, as one that is fixed so, is above it
    note(row, number, -LEVEL - height(world, face_before(world, first), p), ONE_MORE_AT_P, 0)
    note(row, number, -LEVEL - height(world, face_beyond(world, last), q), ONE_MORE_AT_Q, 0)
    if n > 1:
        note(row, number, height(world, face_beyond(world, first), p) - LEVEL, ONE_LESS_AT_P, 0)
        note(row, number, height(world, face_before(world, last), q) - LEVEL, ONE_LESS_AT_Q, 0)
    else:  # how far the edge is below the straight line, as seen along it; what has just touched has not come off
        along = get3(world.edges[first], memory.EDGE_ALONG)
        _, far, out_p = off_line(world, first, p)
        _, off, out_q = off_line(world, first, q)
        a, c = scale(far, out_p), scale(off, out_q)
        apart = sub(c, a)
        measure = dot(along, cross(a, c)) / sqrt(dot(apart, apart))
        note(row, number, measure - LEVEL, COMES_OFF, 0)
        # nor is there a bend where one end sees past the edge, which that measure does not tell beside it
        note(row, number, height(world, face_beyond(world, first), p) - LEVEL, COMES_OFF, 0)
        note(row, number, height(world, face_before(world, first), q) - LEVEL, COMES_OFF, 0)


@inlined
def look_at_corners(world, b, p, u):
    """Distance of the straight line from the corners between which it passes (W.22)."""
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    for j in range(number[memory.N_BENDS]):
        at = memory.UNFOLDED + 4 * j
        note(row, number, left_of(p, u, row[at], row[at + 1]) - LEVEL, SLIPS_RIGHT, j)
        note(row, number, -left_of(p, u, row[at + 2], row[at + 3]) - LEVEL, SLIPS_LEFT, j)


@inlined
def turned_off(place_dot, out, along, far):
    """Rates of an end in the plane: along its edge and away from it; what swinging about it adds to the second."""
    s_dot, far_dot = dot(place_dot, along), dot(place_dot, out)
    if far == 0.0:
        return s_dot, far_dot, 0.0 * far
    return s_dot, far_dot, (dot(place_dot, place_dot) - s_dot * s_dot - far_dot * far_dot) / far


@inlined
def read_way(world, b, i, p_dot, p_ddot, q_dot, q_ddot, state):
    """Length, rate, free acceleration, directions and bends of the way of a cable over sheave i (W.21)."""
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    last = number[memory.N_BENDS] - 1
    p, _, u, length = unfolded_ends(world, b)
    first_edge, last_edge = crossed(number, 0), crossed(number, last)

    _, along, across = plane_axes(row, 0)
    ahead, onward = u[0] * along[0] + u[1] * along[1], u[0] * across[0] + u[1] * across[1]
    e = get3(world.edges[first_edge], memory.EDGE_ALONG)
    _, far, out = off_line(world, first_edge, get3(row, memory.END_P))
    s_dot, far_dot, swing = turned_off(p_dot, out, e, far)
    come = add(scale(ahead, e), scale(-onward, out))
    x_dot = s_dot * along[0] - far_dot * across[0]
    y_dot = s_dot * along[1] - far_dot * across[1]
    free = onward * swing - dot(come, p_ddot)

    _, along, across = plane_axes(row, last)
    ahead, onward = u[0] * along[0] + u[1] * along[1], u[0] * across[0] + u[1] * across[1]
    e = get3(world.edges[last_edge], memory.EDGE_ALONG)
    _, far, out = off_line(world, last_edge, get3(row, memory.END_Q))
    s_dot, far_dot, swing = turned_off(q_dot, out, e, far)
    go = add(scale(ahead, e), scale(onward, out))
    gx = s_dot * along[0] + far_dot * across[0]
    gy = s_dot * along[1] + far_dot * across[1]
    given = dot(go, q_ddot) + onward * swing
    off = u[0] * gx + u[1] * gy

    x_dot, y_dot = gx - x_dot, gy - y_dot
    rate = u[0] * x_dot + u[1] * y_dot
    free += given + (x_dot * x_dot + y_dot * y_dot - rate * rate) / length
    given += ((x_dot - rate * u[0]) * gx + (y_dot - rate * u[1]) * gy) / length

    angle, before = 0.0, come
    for j in range(last + 1):
        h, after = crossed(number, j), go
        _, along, across = plane_axes(row, j)
        ahead, onward = u[0] * along[0] + u[1] * along[1], u[0] * across[0] + u[1] * across[1]
        if j < last:
            edge = world.edges[h]
            after = add(
                scale(ahead, get3(edge, memory.EDGE_ALONG)),
                scale(onward, get3(edge, memory.EDGE_BEYOND)),
            )
        bent = cross(before, after)
        # an edge is a cylinder of no radius: a helix bends by its turn about the axis, times the part across it
        turned = abs(dot(get3(world.edges[h], memory.EDGE_ALONG), bent))
        angle += onward * atan2(turned, dot(before, after) - ahead * ahead)
        before = after

    row[memory.WAY_LENGTH], row[memory.WAY_RATE], row[memory.WAY_FREE] = length, rate, free
    row[memory.WAY_ANGLE], row[memory.GIVEN_OFF], row[memory.GIVEN_FREE] = angle, off, given
    body = world.sheave_int[i, memory.SHEAVE_BODY]
    axes, R = get9(world.sheaves[i], memory.SHEAVE_AXES), get9(world.bodies[body], memory.ROTATION)
    put3(row, memory.COMES, apply(R, apply(axes, come)))
    put3(row, memory.GOES, apply(R, apply(axes, go)))
    centre, place = get3(world.sheaves[i], memory.SHEAVE_CENTRE), get3(state[body], memory.P)
    for side in range(2):
        pin = world.pins[world.sheave_int[i, memory.SHEAVE_PIN] + side]
        bend = bend_place(world, b, 0 if side == 0 else last, p, u)
        point = add(centre, apply(axes, bend))
        put3(pin, memory.PIN_POINT, point)
        put3(pin, memory.PIN_PLACE, add(place, apply(R, point)))


@linked(*WORLD, INT, ROWS, part=PART)
def write_bends(ints, floats, b, places):
    """Points at which a cable bends over the edges of polyhedron b, in its axes, m: one row per bend."""
    world = memory.views(ints, floats)
    p, _, u, _ = unfolded_ends(world, b)
    for j in range(world.polyhedron_int[b, memory.N_BENDS]):
        put3(places[j], 0, bend_place(world, b, j, p, u))


@linked(*WORLD, INT, INT, INT, part=PART)
def lay_polyhedron(ints, floats, i, which_state, which_slope):
    """The way of a cable over the polyhedron of sheave i, or how far the straight line is from it."""
    world = memory.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    b, first = (
        world.sheave_int[i, memory.POLYHEDRON_AT] - 1,
        world.sheave_int[i, memory.SHEAVE_PIN] - 1,
    )
    row, number = world.polyhedra[b], world.polyhedron_int[b]
    p, p_dot, p_ddot = seen_from(world, i, world.pins[first], state, slope)
    q, q_dot, q_ddot = seen_from(world, i, world.pins[first + 3], state, slope)
    put3(row, memory.END_P, p)
    put3(row, memory.END_Q, q)
    found = is_outside(world, b, p) and is_outside(world, b, q) and number[memory.WAY_LOST] == 0
    if world.sheave_int[i, memory.LIES_ON] == 0:
        look_at_line(ints, floats, b)
        row[memory.WAY_CHANGE] -= LEVEL
    else:
        start, _, u, length = unfolded_ends(world, b)
        if length > 0.0:
            look_at_ends(world, b)
            look_at_corners(world, b, start, u)
            read_way(world, b, i, p_dot, p_ddot, q_dot, q_ddot, state)
        else:
            found = False
    if not found:
        route = world.sheave_int[i, memory.SHEAVE_ROUTE]
        world.head[memory.ARRIVED] = 1 + world.route_int[route, memory.ROUTE_CONSTRAINT]
        world.scalars[memory.POWER_NOW] = inf  # ends the run, also of a slack cable
        row[memory.WAY_CHANGE] = NEVER
    world.sheaves[i, memory.CHANGE_ANGLE] = row[memory.WAY_CHANGE]
