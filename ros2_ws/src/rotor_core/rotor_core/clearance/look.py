"""Distances of many pairs of solids over many states, compiled."""

from __future__ import annotations

from math import inf, sqrt

from rotor_core.clearance.gjk import distance, support
from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, dot, get3, put3, scale, sub
from rotor_core.state import Q, V

FIRST, END, AXIS_BODY = 0, 1, 2
"""Columns of the integers of a solid: its points, the body of its axis."""

OWNER_BODY, OWNER_FIRST, OWNER_END, OWNER_CABLE = 0, 1, 2, 3
"""Columns of an owner: the row of its body, its solids, its cable or -1."""

STANDS, STRETCHED_OUT = -1, -2
"""In place of the body of an owner: of an obstacle, and of a cable between bodies."""

DISC, BALL, SHORT_FIRST, SHORT_LAST = 3, 4, 5, 6
"""Columns of the numbers of a solid, behind its axis; the last two draw in the ends of a line."""

CENTRE, RADIUS, AXIS = 0, 3, 4
"""Columns of a solid in place: middle and radius of a ball about it, its axis in W."""


@inlined
def put_in_place(solid, numbers, points, bodies, poses, placed, where):
    """Points of a solid in W, and the ball about it."""
    first, end = solid[FIRST], solid[END]
    middle = (0.0, 0.0, 0.0)
    for i in range(first, end):
        p, b = get3(points[i], 0), bodies[i]
        if b >= 0:
            p = add(get3(poses[b], 0), apply(so3.matrix(so3.get4(poses[b], 3)), p))
        put3(placed[i], 0, p)
    if end - first == 2:
        p, q = get3(placed[first], 0), get3(placed[end - 1], 0)
        way = sub(q, p)
        put3(placed[first], 0, add(p, scale(numbers[SHORT_FIRST], way)))
        put3(placed[end - 1], 0, sub(q, scale(numbers[SHORT_LAST], way)))
    for i in range(first, end):
        middle = add(middle, get3(placed[i], 0))
    middle = scale(1.0 / (end - first), middle)
    reach = 0.0
    for i in range(first, end):
        apart = sub(get3(placed[i], 0), middle)
        reach = max(reach, dot(apart, apart))
    axis = get3(numbers, 0)
    b = solid[AXIS_BODY]
    if b >= 0:
        axis = apply(so3.matrix(so3.get4(poses[b], 3)), axis)
    put3(where, CENTRE, middle)
    where[RADIUS] = sqrt(reach) + numbers[DISC] + numbers[BALL]
    put3(where, AXIS, axis)


@kernel
def place_all(solids, numbers, points, bodies, poses, first, end, placed, where):
    """Put solids ``first`` to ``end`` in place; see :func:`look`."""
    for i in range(first, end):
        put_in_place(solids[i], numbers[i], points, bodies, poses, placed, where[i])


@inlined
def apart(solids, numbers, placed, where, i, j, work, nearest):
    """Distance of two solids, m; where their hulls overlap, minus the radii of their balls."""
    a, b = solids[i], solids[j]
    found = distance(
        placed, a[FIRST], a[END], get3(where[i], AXIS), numbers[i, DISC],
        b[FIRST], b[END], get3(where[j], AXIS), numbers[j, DISC], work, nearest,
    )  # fmt: skip
    return found - numbers[i, BALL] - numbers[j, BALL]


@inlined
def apart_along(solids, numbers, placed, where, i, j, along):
    """Distance of two solids along a unit vector from the second to the first, m: they are no nearer than that."""
    a, b = solids[i], solids[j]
    near = support(
        placed, a[FIRST], a[END], get3(where[i], AXIS), numbers[i, DISC], scale(-1.0, along)
    )
    far = support(placed, b[FIRST], b[END], get3(where[j], AXIS), numbers[j, DISC], along)
    return dot(sub(near, far), along) - numbers[i, BALL] - numbers[j, BALL]


@inlined
def ball_about(owner, owner_ball, solids, numbers, points, bodies, pose, placed, where, ball):
    """Ball about all solids of an owner: one body, something that stands still, or the parts of a cable."""
    b = owner[OWNER_BODY]
    if b >= 0:
        put3(ball, CENTRE, get3(pose[b], 0))
        ball[RADIUS] = owner_ball[RADIUS]
    elif b == STANDS:
        put3(ball, CENTRE, get3(owner_ball, CENTRE))
        ball[RADIUS] = owner_ball[RADIUS]
    else:
        first, end = owner[OWNER_FIRST], owner[OWNER_END]
        middle = (0.0, 0.0, 0.0)
        for i in range(first, end):
            put_in_place(solids[i], numbers[i], points, bodies, pose, placed, where[i])
            middle = add(middle, get3(where[i], CENTRE))
        middle = scale(1.0 / (end - first), middle)
        reach = 0.0
        for i in range(first, end):
            way = sub(get3(where[i], CENTRE), middle)
            reach = max(reach, sqrt(dot(way, way)) + where[i, RADIUS])
        put3(ball, CENTRE, middle)
        ball[RADIUS] = reach


@kernel
def look(
    poses, pulls, solids, numbers, points, bodies, owners, owner_balls, groups, first_row,
    placed, where, balls, is_placed, ways, work, nearest, best, best_row, out,
):  # fmt: skip
    """Distances of groups of pairs in a row of states.

    A distance that is neither below the smallest so far nor touches is only bounded from below.

    Args:
        poses: (N, n, 7), position and attitude of every body.
        pulls: (N, n_cables), whether a cable is taut; slack ones have no shape.
        solids, numbers, points, bodies: of all solids; see :class:`rotor_core.clearance.clearances.Clearances`.
        owners, owner_balls: (n_owners, 4) and (n_owners, 4): bodies, cables and obstacles, with their solids.
        groups: (n_groups, 3): two owners, all of whose solids are pairs, and the row of the first in ``ways``.
        first_row: number of the first state.
        placed, where, balls, is_placed, work, nearest: scratch; obstacles are in place.
        ways: (n_pairs, 3), a direction that kept each pair apart, changed.
        best, best_row: (n_groups,), smallest distance so far and its state, changed. Zeros: only what touches counts.
        out: (N, n_groups), written: distances, m; ``inf`` where nothing is to be seen.
    """
    for s in range(poses.shape[0]):
        for o in range(owners.shape[0]):
            ball_about(
                owners[o],
                owner_balls[o],
                solids,
                numbers,
                points,
                bodies,
                poses[s],
                placed,
                where,
                balls[o],
            )
            is_placed[o] = 1 if owners[o, OWNER_BODY] < 0 else 0
        for g in range(groups.shape[0]):
            a, b = groups[g, 0], groups[g, 1]
            out[s, g] = inf
            cable = owners[a, OWNER_CABLE]
            if cable >= 0 and not pulls[s, cable]:
                continue
            way = sub(get3(balls[a], CENTRE), get3(balls[b], CENTRE))
            least = sqrt(dot(way, way)) - balls[a, RADIUS] - balls[b, RADIUS]
            if least > 0.0 and least >= best[g]:
                out[s, g] = least
                continue
            for o in (a, b):
                if is_placed[o] == 0:
                    is_placed[o] = 1
                    for i in range(owners[o, OWNER_FIRST], owners[o, OWNER_END]):
                        put_in_place(
                            solids[i], numbers[i], points, bodies, poses[s], placed, where[i]
                        )
            n_b = owners[b, OWNER_END] - owners[b, OWNER_FIRST]
            for k in range((owners[a, OWNER_END] - owners[a, OWNER_FIRST]) * n_b):
                i, j = owners[a, OWNER_FIRST] + k // n_b, owners[b, OWNER_FIRST] + k % n_b
                p = groups[g, 2] + k
                way = sub(get3(where[i], CENTRE), get3(where[j], CENTRE))
                least = sqrt(dot(way, way)) - where[i, RADIUS] - where[j, RADIUS]
                if least >= out[s, g]:
                    continue
                if least > 0.0 and least >= best[g]:
                    out[s, g] = least
                    continue
                least = apart_along(solids, numbers, placed, where, i, j, get3(ways[p], 0))
                if least > 0.0 and least >= best[g]:
                    out[s, g] = min(out[s, g], least)
                    continue
                found = apart(solids, numbers, placed, where, i, j, work, nearest)
                out[s, g] = min(out[s, g], found)
                way = sub(get3(nearest[0], 0), get3(nearest[1], 0))
                if dot(way, way) > 0.0:
                    put3(ways[p], 0, scale(1.0 / sqrt(dot(way, way)), way))
                if found < best[g]:
                    best[g], best_row[g] = found, first_row + s


@kernel
def nearest_of_group(
    poses, solids, numbers, points, bodies, owners, a, b, placed, where, work, nearest, found
):
    """Smallest distance of the solids of two owners in one state, m, and its nearest points into ``found`` (2, 3)."""
    for o in (a, b):
        if owners[o, OWNER_BODY] != STANDS:
            for i in range(owners[o, OWNER_FIRST], owners[o, OWNER_END]):
                put_in_place(solids[i], numbers[i], points, bodies, poses, placed, where[i])
    least = inf
    for i in range(owners[a, OWNER_FIRST], owners[a, OWNER_END]):
        for j in range(owners[b, OWNER_FIRST], owners[b, OWNER_END]):
            way = sub(get3(where[i], CENTRE), get3(where[j], CENTRE))
            if sqrt(dot(way, way)) - where[i, RADIUS] - where[j, RADIUS] >= least:
                continue
            d = apart(solids, numbers, placed, where, i, j, work, nearest)
            if d < least:
                least = d
                for k in range(2):
                    put3(found[k], 0, get3(nearest[k], 0))
    return least


@inlined
def put_between(share, step, start, end, turns, poses):
    """Poses at a share of the time between two states: places by cubics, attitudes by constant rates."""
    rest = 1.0 - share
    from_start, from_end = (1.0 + 2.0 * share) * rest * rest, share * share * (3.0 - 2.0 * share)
    start_speed, end_speed = step * share * rest * rest, -step * share * share * rest
    for b in range(start.shape[0]):
        for i in range(3):
            poses[b, i] = (
                from_start * start[b, i]
                + from_end * end[b, i]
                + start_speed * start[b, V + i]
                + end_speed * end[b, V + i]
            )
        turn = so3.exp(scale(share, get3(turns[b], 0)))
        so3.put4(poses[b], Q, so3.product(so3.get4(start[b], Q), turn))


@kernel
def find_meeting(
    start, end, step, turns, begins, bisections, poses, solids, numbers, points, bodies, owners, a, b, placed, where,
    work, nearest, found,
):  # fmt: skip
    """Share of the time between two states at which two owners begin (``begins``) or cease to overlap, by bisection.

    Args:
        start, end: states, (n, 13).
        step: time between them, s.
        turns: rotation vectors from the attitudes of one to those of the other, body axes, (n, 3) rad.
        begins, bisections: which change, and how often the time is halved.
        poses: (n, 7), written: poses at that time.
        solids, numbers, points, bodies, owners, a, b, placed, where, work, nearest: see :func:`look`.
        found: (2, 3), written: nearest points then.
    """
    low, high = 0.0, 1.0
    for k in range(bisections + 1):  # the last look is at the share that is returned
        share = 0.5 * (low + high) if k < bisections else high
        put_between(share, step, start, end, turns, poses)
        d = nearest_of_group(
            poses,
            solids,
            numbers,
            points,
            bodies,
            owners,
            a,
            b,
            placed,
            where,
            work,
            nearest,
            found,
        )
        if (d <= 0.0) == begins:
            high = share
        else:
            low = share
    return high
