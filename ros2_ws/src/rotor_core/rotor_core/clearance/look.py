"""Distances of many pairs of solids over many states, compiled."""

from __future__ import annotations

from math import inf, sqrt

from rotor_core._jit import inlined, kernel
from rotor_core.clearance.gjk import distance, support
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, dot, get3, put3, scale, sub

FIRST, END, AXIS_BODY, CABLE = 0, 1, 2, 3
"""Columns of the integers of a solid: its points, the body of its axis, its cable or -1."""

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


@kernel
def look(
    poses, pulls, solids, numbers, points, bodies, n_moving, pairs, first_row, placed, where, ways,
    work, nearest, best, best_row, out,
):  # fmt: skip
    """Distances of groups of pairs in a row of states.

    A distance that is neither below the smallest so far nor touches is only bounded from below.

    Args:
        poses: (N, n, 7), position and attitude of every body.
        pulls: (N, n_cables), whether a cable is taut; slack ones have no shape.
        solids, numbers, points, bodies: of all solids; see :class:`rotor_core.clearance.clearances.Clearances`.
        n_moving: solids that move come first; the others are in place already.
        pairs: (n_pairs, 3): two solids and their group.
        first_row: number of the first state.
        placed, where, work, nearest: scratch.
        ways: (n_pairs, 3), a direction that kept each pair apart, changed.
        best, best_row: (n_groups,), smallest distance so far and its state, changed.
        out: (N, n_groups), written: distances, m; ``inf`` where nothing is to be seen.
    """
    for s in range(poses.shape[0]):
        for i in range(n_moving):
            put_in_place(solids[i], numbers[i], points, bodies, poses[s], placed, where[i])
        for g in range(out.shape[1]):
            out[s, g] = inf
        for p in range(pairs.shape[0]):
            i, j, g = pairs[p, 0], pairs[p, 1], pairs[p, 2]
            cable = solids[i, CABLE]
            if cable >= 0 and not pulls[s, cable]:
                continue
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
def nearest_of_group(solids, numbers, pairs, group, placed, where, work, nearest, found):
    """Distance of a group in place, m, and its nearest points on the hulls into ``found`` (2, 3)."""
    least = inf
    for p in range(pairs.shape[0]):
        if pairs[p, 2] != group:
            continue
        d = apart(solids, numbers, placed, where, pairs[p, 0], pairs[p, 1], work, nearest)
        if d < least:
            least = d
            for i in range(2):
                put3(found[i], 0, get3(nearest[i], 0))
    return least
