"""Nearest features of two hulls: distance, normal, and corners of what they show each other (N.1)-(N.3).

A hull is round by its ball. Hulls that touch have no distance that tells a direction, so the direction is looked
for between their cores, which are a little smaller, and then made exact: that of the face, or of the two edges,
which they show each other along it. What a hull shows is a corner, an edge or a face. Two of these are laid over
each other as seen along the normal; the corners of what they have in common are the points that touch.
Equations (N.n), docs/theory/rigid_contact.md.
"""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

from rotor_core.clearance.gjk import distance, support
from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLOAT, INT, ROWS, linked, together
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, cross, dot, get3, norm, put3, scale, sub
from rotor_dynamics import memory

PART = "rigid contact"

APART = 1e-10
"""Cores closer than this overlap: the normal is then that of before, m."""

UPRIGHT, LYING = 0.999, 1e-3
"""Cosines between the axis of a disc and the normal: above the first its face is shown, below the second its side."""

RIM = 16
"""Points that stand for the rim of a disc which stands flat."""

PARALLEL = 0.02
"""Sine of the angle below which two edges touch along their length."""

OVER_FACE = 1.0 - 1e-12
"""Cosine from which on a round surface is over a face and not beside it: distances tell directions to 1e-6 rad."""

SAME_POINT = 1e-9
"""Corners closer than this are one, m."""

ASKEW = 0.2371
"""First direction in which thinned faces reach far, in steps between directions: no axis of a common polygon."""

VECTOR = together(FLOAT, FLOAT, FLOAT)


@linked(
    ROWS, INT, INT, VECTOR, FLOAT, INT, INT, VECTOR, FLOAT, ROWS, ROWS, returns=FLOAT, part=PART
)
def gap_of(points, a, a_end, a_axis, a_disc, b, b_end, b_axis, b_disc, work, nearest):
    """:func:`rotor_core.clearance.gjk.distance`, compiled once."""
    return distance(points, a, a_end, a_axis, a_disc, b, b_end, b_axis, b_disc, work, nearest)


@inlined
def place_hull(world, h, p, q):
    """Corners, centre and axis of a hull in W, of a body at p with attitude q."""
    R = so3.matrix(q)
    row = world.hulls[h]
    for i in range(world.hull_int[h, memory.FIRST_CORNER], world.hull_int[h, memory.END_CORE]):
        corner = world.corners[i]
        put3(corner, memory.CORNER_W, add(p, apply(R, get3(corner, memory.CORNER_B))))
    put3(row, memory.HULL_CENTRE_W, add(p, apply(R, get3(row, memory.HULL_CENTRE))))
    put3(row, memory.HULL_AXIS_W, apply(R, get3(row, memory.HULL_AXIS)))


@inlined
def tangents(n):
    """Two unit vectors that make a right-handed frame with n as the third."""
    least = (1.0, 0.0, 0.0)
    if abs(n[1]) <= abs(n[0]) and abs(n[1]) <= abs(n[2]):
        least = (0.0, 1.0, 0.0)
    elif abs(n[2]) <= abs(n[0]) and abs(n[2]) <= abs(n[1]):
        least = (0.0, 0.0, 1.0)
    x = cross(least, n)
    x = scale(1.0 / norm(x), x)
    return x, cross(n, x)


@inlined
def corner_along(world, h, n):
    """Foremost point of a hull, without its ball, along a direction."""
    row, number = world.hulls[h], world.hull_int[h]
    return support(
        world.corners, number[memory.FIRST_CORNER], number[memory.END_CORNER],
        get3(row, memory.HULL_AXIS_W), row[memory.HULL_DISC], n,
    )  # fmt: skip


@inlined
def gap_of_rows(world, a, b, first, end, disc):
    """Distance of two placed hulls by the points between two of their integers and a disc, m."""
    rows, numbers = world.hulls, world.hull_int
    return gap_of(
        world.corners,
        numbers[a, first], numbers[a, end], get3(rows[a], memory.HULL_AXIS_W), rows[a, disc],
        numbers[b, first], numbers[b, end], get3(rows[b], memory.HULL_AXIS_W), rows[b, disc],
        world.gjk, world.nearest,
    )  # fmt: skip


@inlined
def hull_gap(world, a, b):
    """Distance of two placed hulls, m; 0 where they overlap without their balls. Nearest points in ``nearest``."""
    far = gap_of_rows(world, a, b, memory.FIRST_CORNER, memory.END_CORNER, memory.HULL_DISC)
    return far - world.hulls[a, memory.HULL_BALL] - world.hulls[b, memory.HULL_BALL]


@inlined
def core_gap(world, a, b):
    """Distance of the cores of two placed hulls, m; nearest points in ``nearest``."""
    return gap_of_rows(world, a, b, memory.END_CORNER, memory.END_CORE, memory.CORE_DISC)


@inlined
def show_disc(world, h, n, first):
    """Corners that a hull with a disc shows along n, into ``scratch`` from ``first``; their number."""
    row, number = world.hulls[h], world.hull_int[h]
    axis, radius = get3(row, memory.HULL_AXIS_W), row[memory.HULL_DISC]
    along = dot(axis, n)
    best, end = number[memory.FIRST_CORNER], number[memory.END_CORNER]
    for i in range(best + 1, end):
        if dot(sub(get3(world.corners[i], 0), get3(world.corners[best], 0)), n) > 0.0:
            best = i
    middle = get3(world.corners[best], 0)
    side = sub(n, scale(along, axis))
    length = norm(side)
    if abs(along) > UPRIGHT:
        x, y = tangents(axis)
        if length > SAME_POINT:  # the foremost point is among them
            x = scale(1.0 / length, side)
            y = cross(axis, x)
        for i in range(RIM):
            angle = 2.0 * pi * i / RIM
            point = add(scale(radius * cos(angle), x), scale(radius * sin(angle), y))
            put3(world.scratch[first + i], 0, add(middle, point))
        return RIM
    side = scale(radius / length, side)
    count = 0
    for i in range(number[memory.FIRST_CORNER], end):
        corner = get3(world.corners[i], 0)
        if i == best or dot(sub(middle, corner), n) < LYING * row[memory.HULL_REACH]:
            if count < memory.MOST_CORNERS:
                put3(world.scratch[first + count], 0, add(corner, side))
                count += 1
    return count


@inlined
def show(world, h, n, first):
    """Corners that a hull shows along n, counter-clockwise about n, into ``scratch``; their number."""
    row, number = world.hulls[h], world.hull_int[h]
    count = 0
    if row[memory.HULL_DISC] > 0.0:
        count = show_disc(world, h, n, first)
    else:
        most = dot(corner_along(world, h, n), n) - row[memory.HULL_FLUSH]
        for i in range(number[memory.FIRST_CORNER], number[memory.END_CORNER]):
            corner = get3(world.corners[i], 0)
            if dot(corner, n) >= most and count < memory.MOST_CORNERS:
                put3(world.scratch[first + count], 0, corner)
                count += 1
    if count > 2:
        put_in_order(world, n, first, count)
    return count


@inlined
def put_in_order(world, n, first, count):
    """Sort corners by their angle about their middle, counter-clockwise about n; the angle in the fourth column."""
    middle = (0.0, 0.0, 0.0)
    for i in range(first, first + count):
        middle = add(middle, scale(1.0 / count, get3(world.scratch[i], 0)))
    x, y = tangents(n)
    for i in range(first, first + count):
        out = sub(get3(world.scratch[i], 0), middle)
        world.scratch[i, 3] = atan2(dot(out, y), dot(out, x))
    for i in range(first + 1, first + count):
        point, angle = get3(world.scratch[i], 0), world.scratch[i, 3]
        j = i - 1
        while j >= first and world.scratch[j, 3] > angle:
            put3(world.scratch[j + 1], 0, get3(world.scratch[j], 0))
            world.scratch[j + 1, 3] = world.scratch[j, 3]
            j -= 1
        put3(world.scratch[j + 1], 0, point)
        world.scratch[j + 1, 3] = angle


@inlined
def clip_by_side(world, source, count, closed, target, corner, inward):
    """Cut what lies beyond a line off a polygon or (not ``closed``) a segment; number of corners that are left.

    ``corner``: on the line; ``inward``: across it. Source: Sutherland and Hodgman 1974.
    """
    kept = 0
    last = count - 1
    for i in range(count):
        here = get3(world.scratch[source + i], 0)
        inside = dot(sub(here, corner), inward)
        if closed or i > 0:
            before = get3(world.scratch[source + last], 0)
            was = dot(sub(before, corner), inward)
            if (inside > 0.0 and was < 0.0) or (inside < 0.0 and was > 0.0):
                cut = add(before, scale(was / (was - inside), sub(here, before)))
                put3(world.scratch[target + kept], 0, cut)
                kept += 1
        if inside >= 0.0:
            put3(world.scratch[target + kept], 0, here)
            kept += 1
        last = i
    return kept


@inlined
def face_direction(world, first, count):
    """Normal of a face, of any length: the sum of the areas of its triangles."""
    total = (0.0, 0.0, 0.0)
    start = get3(world.scratch[first], 0)
    for i in range(1, count - 1):
        a = sub(get3(world.scratch[first + i], 0), start)
        b = sub(get3(world.scratch[first + i + 1], 0), start)
        total = add(total, cross(a, b))
    return total


@inlined
def height_over(world, first, count, point, n):
    """Way from a point along n to the plane of a face, or to an edge that is parallel to the other."""
    start = get3(world.scratch[first], 0)
    if count == 2:
        way = sub(get3(world.scratch[first + 1], 0), start)
        across = sub(way, scale(dot(way, n), n))
        if norm(across) <= PARALLEL * norm(way):  # seen from its end
            return dot(sub(start, point), n)
        share = dot(sub(point, start), across) / dot(across, across)
        return dot(sub(add(start, scale(share, way)), point), n)
    upward = face_direction(world, first, count)
    steep = dot(upward, n)
    if abs(steep) <= PARALLEL * norm(upward):
        return dot(sub(start, point), n)
    return dot(sub(start, point), upward) / steep


@inlined
def lay_over(world, subject, n_subject, other, n_other, n):
    """Cut a face or edge by another face, or by a parallel edge, seen along n, about which both go round.

    Returns:
        (first row in ``scratch``, number of corners).
    """
    source, target = memory.CLIPPED, memory.CLIPPED_NEXT
    count = n_subject
    for i in range(n_subject):
        put3(world.scratch[source + i], 0, get3(world.scratch[subject + i], 0))
    for i in range(n_other):
        here = get3(world.scratch[other + i], 0)
        there = get3(world.scratch[other + (i + 1) % n_other], 0)
        side = sub(there, here)
        inward = cross(n, side)
        if n_other == 2:
            inward = sub(side, scale(dot(side, n), n))
        count = clip_by_side(world, source, count, n_subject > 2, target, here, inward)
        source, target = target, source
        if count == 0:
            break
    return source, count


@inlined
def edges_cross(world, a, b, n):
    """True if two edges are not parallel as seen along n: they touch at one point."""
    one = sub(get3(world.scratch[a + 1], 0), get3(world.scratch[a], 0))
    two = sub(get3(world.scratch[b + 1], 0), get3(world.scratch[b], 0))
    return abs(dot(cross(one, two), n)) > PARALLEL * norm(one) * norm(two)


@inlined
def thin(world, first, count, n):
    """Leave of a face the corners that reach farthest in MOST_POINTS directions across n, in their order; their number.

    By place alone: how deep each is changes from trial to trial of a step, and which are left must not.
    """
    if count <= memory.MOST_POINTS:
        return count
    x, y = tangents(n)
    for i in range(first, first + count):
        world.scratch[i, 3] = 0.0
    for k in range(memory.MOST_POINTS):
        angle = 2.0 * pi * (k + ASKEW) / memory.MOST_POINTS
        way = add(scale(cos(angle), x), scale(sin(angle), y))
        best, farthest = first, dot(get3(world.scratch[first], 0), way)
        for i in range(first + 1, first + count):
            far = dot(get3(world.scratch[i], 0), way)
            if far > farthest:
                best, farthest = i, far
        world.scratch[best, 3] = 1.0
    kept = 0
    for i in range(first, first + count):
        if world.scratch[i, 3] != 0.0:
            put3(world.scratch[first + kept], 0, get3(world.scratch[i], 0))
            kept += 1
    return kept


@inlined
def append(world, m, n, count, place, normal, gap, owner):
    """One more point of a meeting, which moves with ``owner``, as row ``n + count`` of the touches; their number."""
    at = n + count
    if count == memory.MOST_POINTS or at >= world.touches.shape[0]:
        return count
    for i in range(count):
        away = sub(get3(world.touches[n + i], memory.TOUCH_PLACE), place)
        if dot(away, away) < SAME_POINT * SAME_POINT:
            return count
    put3(world.touches[at], memory.TOUCH_PLACE, place)
    put3(world.touches[at], memory.DIRECTIONS, normal)
    world.touches[at, memory.TOUCH_GAP] = gap
    world.touch_int[at, memory.TOUCH_MEETING] = m
    world.touch_int[at, memory.OWNER] = owner
    return count + 1


@inlined
def meet_ground(world, m, a, b, n):
    """Points of hull a over the ground b (N.3); their number."""
    down = (0.0, 0.0, -1.0)
    first, height = memory.FEATURE_A, world.hulls[b, memory.HULL_CENTRE_W + 2]
    ball = world.hulls[a, memory.HULL_BALL]
    count = 0
    for i in range(thin(world, first, show(world, a, down, first), down)):
        corner = get3(world.scratch[first + i], 0)
        gap = corner[2] - ball - height
        place = (corner[0], corner[1], 0.5 * (corner[2] - ball + height))
        count = append(world, m, n, count, place, down, gap, memory.A_OWNS)
    return count


@inlined
def closer_normal(world, first, count, sign, n, best, found):
    """The normal of a face, if it is nearer to n than what was ``found`` so far with the cosine ``best``."""
    if count > 2:
        face = face_direction(world, first, count)
        length = norm(face)
        if length > 0.0:
            face = scale(sign / length, face)
            cosine = dot(face, n)
            if cosine > best:
                return cosine, face
    return best, found


@inlined
def exact_normal(world, a, b, n, best):
    """The normal of what two hulls show each other along about n; (normal, corners shown by a, by b) (N.2).

    ``best``: cosine between n and the normal of a face from which on that counts.
    """
    n_a = show(world, a, n, memory.FEATURE_A)
    n_b = show(world, b, scale(-1.0, n), memory.FEATURE_B)
    normal = n
    best, normal = closer_normal(world, memory.FEATURE_B, n_b, -1.0, n, best, normal)
    best, normal = closer_normal(world, memory.FEATURE_A, n_a, 1.0, n, best, normal)
    if n_a == 2 and n_b == 2 and best < 0.0:
        if edges_cross(world, memory.FEATURE_A, memory.FEATURE_B, n):
            one = sub(
                get3(world.scratch[memory.FEATURE_A + 1], 0),
                get3(world.scratch[memory.FEATURE_A], 0),
            )
            two = sub(
                get3(world.scratch[memory.FEATURE_B + 1], 0),
                get3(world.scratch[memory.FEATURE_B], 0),
            )
            normal = cross(one, two)
            normal = scale((1.0 if dot(normal, n) > 0.0 else -1.0) / norm(normal), normal)
    return normal, n_a, n_b


@inlined
def is_corner(world, first, count, point, n):
    """True if a point is one of the corners of a feature, as seen along n."""
    for i in range(count):
        away = sub(get3(world.scratch[first + i], 0), point)
        away = sub(away, scale(dot(away, n), n))
        if dot(away, away) < SAME_POINT * SAME_POINT:
            return True
    return False


@inlined
def owner_of(world, point, n_a, n_b, a_is_cut, n):
    """Whose corner a point of what two features have in common is."""
    if a_is_cut:
        if is_corner(world, memory.FEATURE_A, n_a, point, n):
            return memory.A_OWNS
        if is_corner(world, memory.FEATURE_B, n_b, point, n):
            return memory.B_OWNS
        return memory.NOBODY_OWNS
    if is_corner(world, memory.FEATURE_B, n_b, point, n):
        return memory.B_OWNS
    if is_corner(world, memory.FEATURE_A, n_a, point, n):
        return memory.A_OWNS
    return memory.NOBODY_OWNS


@inlined
def meet_hulls(world, m, a, b, n):
    """Points at which two placed hulls are nearest, with gaps, as rows of the touches from n on (N.2); their number."""
    row = world.meetings[m]
    ball_a, ball_b = world.hulls[a, memory.HULL_BALL], world.hulls[b, memory.HULL_BALL]
    balls = ball_a + ball_b
    # what is round has a hull that stays apart
    far = hull_gap(world, a, b) + balls if balls > 0.0 else core_gap(world, a, b)
    on_a, on_b = get3(world.nearest[0], 0), get3(world.nearest[1], 0)
    between = scale(0.5, add(on_a, on_b))
    normal = get3(row, memory.MEETING_NORMAL)
    if far > APART:
        normal = scale(1.0 / far, sub(on_b, on_a))
    else:
        world.head[memory.DEEP] = 1
        if dot(normal, normal) == 0.0:  # they have not met before: as their middles lie
            way = sub(
                get3(world.hulls[b], memory.HULL_CENTRE_W),
                get3(world.hulls[a], memory.HULL_CENTRE_W),
            )
            normal = scale(1.0 / norm(way), way) if dot(way, way) > 0.0 else (0.0, 0.0, 1.0)
    beside = normal
    normal, n_a, n_b = exact_normal(world, a, b, normal, OVER_FACE if balls > 0.0 else -1.0)
    shift = 0.5 * (ball_a - ball_b)
    backward = scale(-1.0, normal)
    round_a = ball_a + world.hulls[a, memory.HULL_DISC] > 0.0
    round_b = ball_b + world.hulls[b, memory.HULL_DISC] > 0.0
    rounder = memory.NOBODY_OWNS
    if round_a != round_b:
        rounder = memory.A_OWNS if round_a else memory.B_OWNS
    count = 0
    crossing = max(n_a, n_b) == 2 and edges_cross(world, memory.FEATURE_A, memory.FEATURE_B, normal)
    laid_over = min(n_a, n_b) > 1 and not crossing
    if laid_over:
        a_is_cut = n_b > 2 or n_a == 2
        if a_is_cut:
            first, cut = lay_over(world, memory.FEATURE_A, n_a, memory.FEATURE_B, n_b, backward)
        else:
            first, cut = lay_over(world, memory.FEATURE_B, n_b, memory.FEATURE_A, n_a, normal)
        for i in range(thin(world, first, cut, normal)):
            point = get3(world.scratch[first + i], 0)
            if a_is_cut:
                gap = height_over(world, memory.FEATURE_B, n_b, point, normal)
                middle = add(point, scale(0.5 * gap + shift, normal))
            else:
                gap = height_over(world, memory.FEATURE_A, n_a, point, backward)
                middle = add(point, scale(shift - 0.5 * gap, normal))
            owner = owner_of(world, point, n_a, n_b, a_is_cut, normal)
            if rounder != memory.NOBODY_OWNS:
                owner = rounder
            count = append(world, m, n, count, middle, normal, gap - balls, owner)
    if count == 0:
        if laid_over:  # nothing in common: they meet beside the face whose normal was taken
            normal, backward = beside, scale(-1.0, beside)
        on_a = corner_along(world, a, normal)
        on_b = corner_along(world, b, backward)
        gap = dot(sub(on_b, on_a), normal)
        owner = memory.NOBODY_OWNS
        if n_a == 1:
            middle, owner = add(on_a, scale(0.5 * gap + shift, normal)), memory.A_OWNS
        elif n_b == 1:
            middle, owner = add(on_b, scale(shift - 0.5 * gap, normal)), memory.B_OWNS
        elif crossing:
            middle = add(between_edges(world, normal), scale(shift, normal))
        else:
            middle = between
        if rounder != memory.NOBODY_OWNS:
            owner = rounder
        count = append(world, m, n, count, middle, normal, gap - balls, owner)
    put3(row, memory.MEETING_NORMAL, normal)
    return count


@inlined
def between_edges(world, n):
    """Point half way between two edges where they cross as seen along n."""
    p, r = get3(world.scratch[memory.FEATURE_A], 0), get3(world.scratch[memory.FEATURE_B], 0)
    one = sub(get3(world.scratch[memory.FEATURE_A + 1], 0), p)
    two = sub(get3(world.scratch[memory.FEATURE_B + 1], 0), r)
    turned = dot(cross(one, two), n)
    apart = sub(r, p)
    share = dot(cross(apart, two), n) / turned
    other = dot(cross(apart, one), n) / turned
    return scale(0.5, add(add(p, scale(share, one)), add(r, scale(other, two))))


@inlined
def sphere_gap(world, a, b):
    """Least distance of two placed hulls, by the spheres around them."""
    centre = get3(world.hulls[a], memory.HULL_CENTRE_W)
    reach = world.hulls[a, memory.HULL_REACH]
    other = get3(world.hulls[b], memory.HULL_CENTRE_W)
    if world.hull_int[b, memory.IS_GROUND] != 0:
        return centre[2] - other[2] - reach
    away = sub(other, centre)
    return sqrt(dot(away, away)) - reach - world.hulls[b, memory.HULL_REACH]
