"""Cables around boxes: the shortest way over their edges, and how far the next change of it is.

A cable on a box bends over one edge after the other. Where it crosses each of them is unknown: there it comes as
steep as it goes on (Newton's method on a convex length). Everything is in the axes of the box, so that the way is a
function of its two ends alone. Equations (W.21)-(W.23), docs/theory/routes.md.
"""

from __future__ import annotations

from math import atan2, inf, sqrt

from rotor_core._jit import constants, inlined
from rotor_core._link import FLAG, INT, WORLD, linked
from rotor_core.math.vec3 import add, apply, cross, dot, get3, get9, put3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.constraints.sheaves import NEVER, seen_from

PART = "cables around boxes"

(
    NO_RULE,
    TOUCHES,
    COMES_OFF,
    ONE_MORE_AT_P,
    ONE_MORE_AT_Q,
    ONE_LESS_AT_P,
    ONE_LESS_AT_Q,
    ENDS,
    CLOSES,
    PASSES_AT_P,
    PASSES_AT_Q,
) = constants(*range(11))
"""Changes: the straight line touches; the cable comes off; beside an end it bends over one edge more, or one less; a
bend comes to the end of its edge; two bends come to one corner; a bend at a corner passes it, towards an end."""

NEWTON_STEPS = 100
"""Most steps of Newton's method; one to three are usual."""

CONVERGED = 1e-9
"""Steps below this share of the box are the last one: the next would be its square."""

POINT = 1e-11
"""Two bends this near to a corner (share of the box) stand there: between them there is no direction."""

SEED = 1e-3
"""Size of a triangle that opens at a corner, share of the box: a start for Newton's method."""

SUFFICIENT = 0.1
"""Share of the decrease that the slope promises with which a step is content (Armijo)."""


@inlined
def pick(x, c):
    """Component c of a vector."""
    return x[0] if c == 0 else (x[1] if c == 1 else x[2])


@inlined
def facing(f):
    """+1 or -1: way of the normal of face f along its axis."""
    return 1.0 if f % 2 != 0 else -1.0


@inlined
def face_at(c, s):
    """The face across axis c on the side of s."""
    return 2 * c + (1 if s > 0.0 else 0)


@inlined
def height(box, f, place):
    """How far a place is above the plane of face f, m."""
    return facing(f) * pick(place, f // 2) - box[memory.HALF + f // 2]


@inlined
def along(f, g):
    """Axis of the edge that faces f and g share."""
    return 3 - f // 2 - g // 2


@inlined
def edge_point(box, f, g, s):
    """Point of the edge of faces f and g that is s from its middle."""
    at_f, at_g = facing(f) * box[memory.HALF + f // 2], facing(g) * box[memory.HALF + g // 2]
    x = at_f if f // 2 == 0 else (at_g if g // 2 == 0 else s)
    y = at_f if f // 2 == 1 else (at_g if g // 2 == 1 else s)
    z = at_f if f // 2 == 2 else (at_g if g // 2 == 2 else s)
    return x, y, z


@inlined
def stop(box, number, j):
    """Place of the j-th point of the way: an end, or bend j - 1."""
    if j == 0:
        return get3(box, memory.END_P)
    if j > number[memory.N_BENDS]:
        return get3(box, memory.END_Q)
    f, g = number[memory.FACES + j - 1], number[memory.FACES + j]
    return edge_point(box, f, g, box[memory.BEND_AT + j - 1])


@inlined
def edge_of(number, j):
    """Axis of the edge of bend j."""
    return along(number[memory.FACES + j], number[memory.FACES + j + 1])


@inlined
def from_to(a, b):
    """Direction from a to b, and distance; no direction where they coincide."""
    D = sub(b, a)
    d = sqrt(dot(D, D))
    if d == 0.0:
        return (0.0 * d, 0.0 * d, 0.0 * d), d
    return scale(1.0 / d, D), d


@inlined
def way_length(box, number):
    """Length of the way, m."""
    length = 0.0
    for j in range(number[memory.N_BENDS] + 1):
        _, d = from_to(stop(box, number, j), stop(box, number, j + 1))
        length += d
    return length


@inlined
def share_corner(number, j):
    """True if bends j and j + 1 are on edges that meet in a corner."""
    return number[memory.FACES + j] // 2 != number[memory.FACES + j + 2] // 2


@inlined
def room(box, number, j, f):
    """How far bend j is from the end of its edge that is on face f, m."""
    return box[memory.HALF + f // 2] - facing(f) * box[memory.BEND_AT + j]


@inlined
def put_off(box, number, j, f, distance):
    """Put bend j this far from the end of its edge that is on face f."""
    box[memory.BEND_AT + j] = facing(f) * (box[memory.HALF + f // 2] - distance)


@inlined
def opening(box, number, j):
    """How much the cable wants to cut the corner in which the edges of bends j and j + 1 meet (W.22).

    Above zero there is a shorter way than through the corner, over both edges at distances in the ratio of the other
    two numbers.
    """
    f, g, k = (
        number[memory.FACES + j],
        number[memory.FACES + j + 1],
        number[memory.FACES + j + 2],
    )
    corner = edge_point(box, f, g, facing(k) * box[memory.HALF + k // 2])
    u, _ = from_to(stop(box, number, j), corner)
    w, _ = from_to(corner, stop(box, number, j + 3))
    x, y = max(facing(k) * pick(u, k // 2), 0.0), max(-facing(f) * pick(w, f // 2), 0.0)
    return sqrt(x * x + y * y) - 1.0, x, y


@inlined
def is_free(number, j):
    """True if bend j moves along its edge: it stands at no corner."""
    closed = number[memory.CLOSED]
    return number[memory.AT_CORNER + j] == 0 and (closed == 0 or (closed - 1 != j and closed != j))


@inlined
def open_corners(box, number, size):
    """Bends that two edges have at one corner: apart where that is shorter, else they stay there."""
    number[memory.CLOSED] = 0
    for j in range(number[memory.N_BENDS] - 1):
        if not share_corner(number, j):
            continue
        f, k = number[memory.FACES + j], number[memory.FACES + j + 2]
        if max(room(box, number, j, k), room(box, number, j + 1, f)) >= POINT * size:
            continue
        wants, x, y = opening(box, number, j)
        if wants <= 0.0:
            number[memory.CLOSED] = j + 1
            x, y = 0.0, 0.0
        seed = SEED * size * min(max(wants, 1e-6), 1.0)
        put_off(box, number, j, k, seed * x)
        put_off(box, number, j + 1, f, seed * y)


@inlined
def derive(box, number):
    """Slopes and second derivatives of the length; True unless two points of the way coincide."""
    n = number[memory.N_BENDS]
    for j in range(n):
        box[memory.BEND_SLOPE + j] = 0.0
        box[memory.OWN_CURVE + j] = 1.0
        box[memory.NEXT_CURVE + j] = 0.0
        if not is_free(number, j):
            continue
        here, c = stop(box, number, j + 1), edge_of(number, j)
        u, d = from_to(stop(box, number, j), here)
        w, e = from_to(here, stop(box, number, j + 2))
        if d == 0.0 or e == 0.0:
            return False
        u_c, w_c = pick(u, c), pick(w, c)
        box[memory.BEND_SLOPE + j] = u_c - w_c
        box[memory.OWN_CURVE + j] = (1.0 - u_c * u_c) / d + (1.0 - w_c * w_c) / e
        if j + 1 < n:
            if is_free(number, j + 1):
                b = edge_of(number, j + 1)
                same = 1.0 if b == c else 0.0
                box[memory.NEXT_CURVE + j] = (w_c * pick(w, b) - same) / e
    return True


@inlined
def eliminate_bends(box, n):
    """Solve the tridiagonal system of second derivatives for BEND_STEP, in place, and keep its factor."""
    for j in range(1, n):
        factor = box[memory.NEXT_CURVE + j - 1] / box[memory.OWN_CURVE + j - 1]
        box[memory.OWN_CURVE + j] -= factor * box[memory.NEXT_CURVE + j - 1]
        box[memory.BEND_STEP + j] -= factor * box[memory.BEND_STEP + j - 1]
    for back in range(n):
        j = n - 1 - back
        value = box[memory.BEND_STEP + j]
        if back > 0:
            value -= box[memory.NEXT_CURVE + j] * box[memory.BEND_STEP + j + 1]
        box[memory.BEND_STEP + j] = value / box[memory.OWN_CURVE + j]


@inlined
def keep_open(box, number, size):
    """Share of a step that leaves triangles at corners open; -1 where one has none, and is closed."""
    share = 1.0
    for j in range(number[memory.N_BENDS] - 1):
        if not (share_corner(number, j) and is_free(number, j) and is_free(number, j + 1)):
            continue
        f, k = number[memory.FACES + j], number[memory.FACES + j + 2]
        a, b = room(box, number, j, k), room(box, number, j + 1, f)
        da = -facing(k) * box[memory.BEND_STEP + j]
        db = -facing(f) * box[memory.BEND_STEP + j + 1]
        closes = max(a, b) < POINT * size
        if not closes and (a + da <= 0.0 or b + db <= 0.0):
            wants, _, _ = opening(box, number, j)
            closes = wants <= 0.0
        if closes:
            number[memory.CLOSED] = j + 1
            put_off(box, number, j, k, 0.0)
            put_off(box, number, j + 1, f, 0.0)
            return -1.0
        for _ in range(60):
            if a + share * da > 0.1 * a and b + share * db > 0.1 * b:
                break
            share *= 0.5
    return share


@inlined
def step_bends(box, n, share):
    """Move the bends by a share of their step."""
    for j in range(n):
        box[memory.BEND_AT + j] += share * box[memory.BEND_STEP + j]


@linked(*WORLD, INT, returns=FLAG, part=PART)
def solve_box(ints, floats, b):
    """Find where the cable bends over the edges of box b; False where that is not found (W.21)."""
    world = memory.views(ints, floats)
    box, number = world.boxes[b], world.box_int[b]
    n = number[memory.N_BENDS]
    size = max(box[memory.HALF], box[memory.HALF + 1], box[memory.HALF + 2])
    open_corners(box, number, size)
    for _ in range(NEWTON_STEPS):
        if not derive(box, number):
            return False
        slope, largest = 0.0, 0.0
        for j in range(n):
            box[memory.BEND_STEP + j] = -box[memory.BEND_SLOPE + j]
        eliminate_bends(box, n)
        for j in range(n):
            slope += box[memory.BEND_SLOPE + j] * box[memory.BEND_STEP + j]
            largest = max(largest, abs(box[memory.BEND_STEP + j]))
        share = keep_open(box, number, size)
        if share < 0.0:
            continue
        if not largest < 1e9 * size:
            return False
        if share == 1.0 and largest < CONVERGED * size:
            step_bends(box, n, 1.0)
            return True
        before = way_length(box, number)
        step_bends(box, n, share)
        for _ in range(30):
            if way_length(box, number) <= before * (1.0 + 1e-14) + SUFFICIENT * share * slope:
                break
            step_bends(box, n, -0.5 * share)
            share *= 0.5
    return False


@inlined
def pierces(box, p, q):
    """How far the line from p to q goes through a box, share of the line (negative: how far it is from that).

    Returns:
        (that share, the face by which it enters, the one by which it leaves).
    """
    enters, leaves, first, last = -1.0, 2.0, -1, -1
    for f in range(6):
        a, b = height(box, f, p), height(box, f, q)
        if a > 0.0 and b > 0.0:
            return NEVER, -1, -1
        if a > 0.0:
            if a / (a - b) > enters:
                enters, first = a / (a - b), f
        elif b > 0.0:
            if a / (a - b) < leaves:
                leaves, last = a / (a - b), f
    if first < 0 or last < 0:
        return NEVER, -1, -1
    return leaves - enters, first, last


@inlined
def is_outside(box, place):
    """True if a place is above one face at least."""
    highest = -inf
    for f in range(6):
        highest = max(highest, height(box, f, place))
    return highest > 0.0


@inlined
def note(box, number, measure, rule, bend):
    """A change may come: keep it if none is nearer."""
    if measure > box[memory.BOX_CHANGE]:
        box[memory.BOX_CHANGE] = measure
        number[memory.BOX_RULE], number[memory.BOX_BEND] = rule, bend


@inlined
def corner_face(number, j):
    """The third face at the corner at which bend j stands."""
    return face_at(edge_of(number, j), number[memory.AT_CORNER + j])


@inlined
def look(box, number):
    """The nearest change of a way that is solved: its measure, which rises through zero, and what it is (W.23)."""
    n = number[memory.N_BENDS]
    p, q = get3(box, memory.END_P), get3(box, memory.END_Q)
    box[memory.BOX_CHANGE] = NEVER
    first, last = number[memory.FACES], number[memory.FACES + n]
    note(box, number, -height(box, first, p), ONE_MORE_AT_P, 0)
    note(box, number, -height(box, last, q), ONE_MORE_AT_Q, 0)
    if n > 1:
        second, second_last = number[memory.FACES + 1], number[memory.FACES + n - 1]
        note(box, number, height(box, second, p), ONE_LESS_AT_P, 0)
        note(box, number, height(box, second_last, q), ONE_LESS_AT_Q, 0)
    else:
        a, b = height(box, first, p), height(box, last, p)
        c, d = height(box, first, q), height(box, last, q)
        apart = sqrt((a - c) * (a - c) + (b - d) * (b - d))
        note(box, number, (a * d - b * c) / apart, COMES_OFF, 0)
    for j in range(n):
        if number[memory.CLOSED] == j + 1:
            wants, _, _ = opening(box, number, j)
            note(box, number, -wants, CLOSES, j)
        elif is_free(number, j):
            c, s = edge_of(number, j), box[memory.BEND_AT + j]
            f = face_at(c, s)
            rule, bend = ENDS, j
            if j + 1 < n:
                if number[memory.FACES + j + 2] == f:
                    rule = CLOSES
            if j > 0:
                if number[memory.FACES + j - 1] == f:
                    rule, bend = CLOSES, j - 1
            note(box, number, abs(s) - box[memory.HALF + c], rule, bend)
        elif number[memory.AT_CORNER + j] != 0:
            here, third = stop(box, number, j + 1), corner_face(number, j)
            f, g = number[memory.FACES + j], number[memory.FACES + j + 1]
            u, _ = from_to(stop(box, number, j), here)
            w, _ = from_to(here, stop(box, number, j + 2))
            over_p = j == 0 and height(box, third, p) > 0.0
            over_q = j == n - 1 and height(box, third, q) > 0.0
            if over_p and over_q:
                note(box, number, 1.0, COMES_OFF, 0)
            elif over_p:
                x = facing(f) * (pick(u, f // 2) - pick(w, f // 2))
                note(box, number, x, PASSES_AT_P, j)
            elif over_q:
                x = facing(g) * (pick(u, g // 2) - pick(w, g // 2))
                note(box, number, x, PASSES_AT_Q, j)


@inlined
def move_bends(box, number, p_dot, q_dot):
    """Rates of the bends by those of the ends of the way, into BEND_STEP (W.21)."""
    n = number[memory.N_BENDS]
    derive(box, number)
    for j in range(n):
        box[memory.BEND_STEP + j] = 0.0
        if is_free(number, j):
            here, c, turned = stop(box, number, j + 1), edge_of(number, j), 0.0
            if j == 0:
                u, d = from_to(stop(box, number, 0), here)
                turned -= (pick(p_dot, c) - pick(u, c) * dot(u, p_dot)) / d
            if j == n - 1:
                w, e = from_to(here, stop(box, number, n + 1))
                turned -= (pick(q_dot, c) - pick(w, c) * dot(w, q_dot)) / e
            box[memory.BEND_STEP + j] = -turned
    eliminate_bends(box, n)


@inlined
def bend_rate(box, number, j, p_dot, q_dot):
    """Velocity of the j-th point of the way in the axes of the box."""
    if j == 0:
        return p_dot
    if j > number[memory.N_BENDS]:
        return q_dot
    c, rate = edge_of(number, j - 1), box[memory.BEND_STEP + j - 1]
    return (
        rate if c == 0 else 0.0 * rate,
        rate if c == 1 else 0.0 * rate,
        rate if c == 2 else 0.0 * rate,
    )


@inlined
def read_box(world, i, p_dot, p_ddot, q_dot, q_ddot, state):
    """Length, rate, free acceleration, directions and bends of the way over the box of sheave i, which is solved."""
    b = world.sheave_int[i, memory.BOX_AT] - 1
    box, number = world.boxes[b], world.box_int[b]
    n = number[memory.N_BENDS]
    move_bends(box, number, p_dot, q_dot)
    u, _ = from_to(stop(box, number, 0), stop(box, number, 1))
    w, _ = from_to(stop(box, number, n), stop(box, number, n + 1))
    length, angle, free = 0.0, 0.0, dot(w, q_ddot) - dot(u, p_ddot)
    before = u
    for j in range(n + 1):
        t, d = from_to(stop(box, number, j), stop(box, number, j + 1))
        if d == 0.0:
            continue
        moved = sub(
            bend_rate(box, number, j + 1, p_dot, q_dot), bend_rate(box, number, j, p_dot, q_dot)
        )
        part = dot(t, moved)
        length += d
        free += (dot(moved, moved) - part * part) / d
        across = cross(before, t)
        angle += atan2(sqrt(dot(across, across)), dot(before, t))
        before = t
        if j == n:
            turned = scale(1.0 / d, sub(moved, scale(part, t)))
            box[memory.GIVEN_FREE] = dot(w, q_ddot) + dot(turned, q_dot)
    box[memory.BOX_ANGLE], box[memory.GIVEN_OFF] = angle, dot(w, q_dot)
    box[memory.BOX_LENGTH], box[memory.BOX_FREE] = length, free
    box[memory.BOX_RATE] = dot(w, q_dot) - dot(u, p_dot)
    body = world.sheave_int[i, memory.SHEAVE_BODY]
    axes, R = get9(world.sheaves[i], memory.SHEAVE_AXES), get9(world.bodies[body], memory.ROTATION)
    put3(box, memory.COMES, apply(R, apply(axes, u)))
    put3(box, memory.GOES, apply(R, apply(axes, w)))
    centre, place = get3(world.sheaves[i], memory.SHEAVE_CENTRE), get3(state[body], memory.P)
    for side in range(2):
        pin = world.pins[world.sheave_int[i, memory.SHEAVE_PIN] + side]
        point = add(centre, apply(axes, stop(box, number, 1 if side == 0 else n)))
        put3(pin, memory.PIN_POINT, point)
        put3(pin, memory.PIN_PLACE, add(place, apply(R, point)))


@linked(*WORLD, INT, INT, INT, part=PART)
def lay_box(ints, floats, i, which_state, which_slope):
    """The way of a cable over the box of sheave i, or how far the straight line is from it."""
    world = memory.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    b, first = world.sheave_int[i, memory.BOX_AT] - 1, world.sheave_int[i, memory.SHEAVE_PIN] - 1
    box, number = world.boxes[b], world.box_int[b]
    p, p_dot, p_ddot = seen_from(world, i, world.pins[first], state, slope)
    q, q_dot, q_ddot = seen_from(world, i, world.pins[first + 3], state, slope)
    put3(box, memory.END_P, p)
    put3(box, memory.END_Q, q)
    found = is_outside(box, p) and is_outside(box, q) and number[memory.WAY_LOST] == 0
    if world.sheave_int[i, memory.LIES_ON] == 0:
        box[memory.BOX_CHANGE], _, _ = pierces(box, p, q)
        number[memory.BOX_RULE] = TOUCHES
    else:
        found = solve_box(ints, floats, b) and found
        look(box, number)
        read_box(world, i, p_dot, p_ddot, q_dot, q_ddot, state)
    if not found:
        route = world.sheave_int[i, memory.SHEAVE_ROUTE]
        world.head[memory.ARRIVED] = 1 + world.route_int[route, memory.ROUTE_CONSTRAINT]
        world.scalars[memory.POWER_NOW] = inf  # ends the run, also of a slack cable
        box[memory.BOX_CHANGE] = NEVER
    world.sheaves[i, memory.CHANGE_ANGLE] = box[memory.BOX_CHANGE]
