"""Distance of two convex solids, by the algorithm of Gilbert, Johnson and Keerthi.

A solid is the convex hull of points, widened: by a disc across an axis (a cylinder is the hull of the ends of its
axis with one), and by a ball (a ball is a point with one, a capsule a line). The algorithm looks for the shortest
vector between the hulls; balls are taken off at the end. Equations (G.n), docs/theory/clearance.md.
Source: Gilbert, Johnson, Keerthi, A fast procedure for computing the distance between complex objects in
three-dimensional space, 1988.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math.vec3 import add, cross, dot, get3, put3, scale, sub

MOST_ROUNDS = 200
"""Rounds of the algorithm; flat faces take fewer than ten, rims of cylinders some dozens."""

DUALITY_GAP = 1e-13
"""The distance is found to this share of its square (G.2)."""

ROUGH, RESTARTS, NEAR = 1e-8, 3, 1e-5
"""Where no round comes nearer although more than this share of the square is missing, the algorithm begins anew, so
often. Not nearer than this, m: there rounding lets little more be known, and nobody asks for a direction."""

TOUCHING = 1e-12
"""Hulls closer than this overlap, m."""

ON_AXIS = 1e-12
"""A direction is along the axis of a disc where less than this share of it is across: then the disc does not matter."""

FLAT = 1e-14
"""A tetrahedron whose volume is below this share of its size is flat: a smaller part spans it."""

SLIM = 1e-24
"""The same of triangles, of the square of their area."""


@inlined
def support(points, first, end, axis, disc, along):
    """The point of a hull that is farthest along a direction."""
    best, most = first, -1e300
    for i in range(first, end):
        reach = dot(get3(points[i], 0), along)
        if reach > most:
            best, most = i, reach
    p = get3(points[best], 0)
    if disc > 0.0:
        across = sub(along, scale(dot(along, axis), axis))
        across = sub(
            across, scale(dot(across, axis), axis)
        )  # what rounding has left along the axis
        length = sqrt(dot(across, across))
        if length > ON_AXIS * sqrt(dot(along, along)):
            p = add(p, scale(disc / length, across))
    return p


@inlined
def shares_of_two(p, q):
    """Weight of q in the point of the line through p and q that is nearest to the origin; -1 where they coincide."""
    way = sub(q, p)
    square = dot(way, way)
    return -dot(p, way) / square if square > 0.0 else -1.0


@inlined
def shares_of_three(p, q, r):
    """Weights of q and r in the point of their plane with p that is nearest to the origin; negative where flat."""
    a, b = sub(q, p), sub(r, p)
    # by areas: products of lengths cancel to the square of what areas do, and corners on a rim are slim triangles
    normal = cross(a, b)
    square = dot(normal, normal)
    if square <= SLIM * dot(a, a) * dot(b, b):
        return -1.0, -1.0
    return dot(cross(b, p), normal) / square, dot(cross(p, a), normal) / square


@inlined
def shares_of_four(p, q, r, s):
    """Weights of q, r and s in the origin, as a point of the tetrahedron with p; negative where it is flat."""
    a, b, c = sub(q, p), sub(r, p), sub(s, p)
    normal = cross(b, c)
    volume = dot(a, normal)
    size = sqrt(dot(a, a) * dot(b, b) * dot(c, c))
    if abs(volume) <= FLAT * size:
        return -1.0, -1.0, -1.0
    o = scale(-1.0, p)
    return dot(o, normal) / volume, dot(a, cross(o, c)) / volume, dot(a, cross(b, o)) / volume


@inlined
def weigh(simplex, trial, mask):
    """Weights of the corners in ``mask`` for the nearest point of their flat, into ``trial``.

    Square of its distance from the origin; -1 where it is not inside them.
    """
    first, second, third, fourth = -1, -1, -1, -1
    n = 0
    for i in range(4):
        trial[i] = 0.0
        if mask >> i & 1:
            if n == 0:
                first = i
            elif n == 1:
                second = i
            elif n == 2:
                third = i
            else:
                fourth = i
            n += 1
    p = get3(simplex[first], 0)
    if n == 2:
        trial[second] = shares_of_two(p, get3(simplex[second], 0))
    elif n == 3:
        u, v = shares_of_three(p, get3(simplex[second], 0), get3(simplex[third], 0))
        trial[second], trial[third] = u, v
    elif n == 4:
        u, v, w = shares_of_four(
            p, get3(simplex[second], 0), get3(simplex[third], 0), get3(simplex[fourth], 0)
        )
        trial[second], trial[third], trial[fourth] = u, v, w
    trial[first] = 1.0
    for i in range(4):
        if i != first:
            trial[first] -= trial[i]
    nearest = (0.0, 0.0, 0.0)
    for i in range(4):
        if mask >> i & 1:
            if trial[i] < 0.0:
                return -1.0
            nearest = add(nearest, scale(trial[i], get3(simplex[i], 0)))
    return dot(nearest, nearest)


@inlined
def nearest_part(simplex, n, weights, trial):
    """Weights of the point of a simplex of n corners that is nearest to the origin, over all of its parts (G.3)."""
    best = -1.0
    for mask in range(1, 1 << n):
        square = weigh(simplex, trial, mask)
        if square >= 0.0 and (best < 0.0 or square < best):
            best = square
            for i in range(4):
                weights[i] = trial[i]


@kernel
def distance(points, a_first, a_end, a_axis, a_disc, b_first, b_end, b_axis, b_disc, work, nearest):
    """Distance of two hulls, m; 0 where they overlap.

    Args:
        points: (n, 3) m, of all hulls.
        a_first, a_end, b_first, b_end: rows of each hull.
        a_axis, b_axis: unit vectors, tuples of three; of discs.
        a_disc, b_disc: radii across the axis, m.
        work: (14, 4), scratch.
        nearest: (2, 3), written: the nearest points.
    """
    simplex, of_a, weights, trial = work[:4], work[4:8], work[8], work[9]
    n = 1
    a, b = get3(points[a_first], 0), get3(points[b_first], 0)
    put3(simplex[0], 0, sub(a, b))
    put3(of_a[0], 0, a)
    for i in range(4):
        weights[i] = 0.0
    weights[0] = 1.0
    v = sub(a, b)
    square, restarts = dot(v, v), RESTARTS
    for _ in range(MOST_ROUNDS):
        if square <= TOUCHING * TOUCHING:
            break
        towards = scale(-1.0, v)
        a = support(points, a_first, a_end, a_axis, a_disc, towards)
        b = support(points, b_first, b_end, b_axis, b_disc, v)
        w = sub(a, b)
        missing = square - dot(v, w)
        if missing <= DUALITY_GAP * square:
            break
        known = False
        for i in range(n):
            corner = get3(simplex[i], 0)
            known = known or corner == w
        if known:
            break
        put3(simplex[n], 0, w)
        put3(of_a[n], 0, a)
        n += 1
        nearest_part(simplex, n, weights, trial)
        kept = 0
        v = (0.0, 0.0, 0.0)
        for i in range(n):
            if weights[i] > 0.0:
                corner = get3(simplex[i], 0)
                v = add(v, scale(weights[i], corner))
                put3(simplex[kept], 0, corner)
                put3(of_a[kept], 0, get3(of_a[i], 0))
                weights[kept] = weights[i]
                kept += 1
        n = kept
        before, square = square, dot(v, v)
        if n == 4:
            break
        if square >= before:
            if restarts == 0 or missing <= ROUGH * before or before <= NEAR * NEAR:
                break
            # rounding has spoilt the simplex: begin anew with its last corner, which is near the end
            restarts -= 1
            put3(simplex[0], 0, w)
            put3(of_a[0], 0, a)
            n, v, square, weights[0] = 1, w, dot(w, w), 1.0
    on_a = (0.0, 0.0, 0.0)
    total = 0.0
    for i in range(n):
        on_a = add(on_a, scale(weights[i], get3(of_a[i], 0)))
        total += weights[i]
    on_a = scale(1.0 / total, on_a)
    put3(nearest[0], 0, on_a)
    put3(nearest[1], 0, sub(on_a, v))
    if n == 4 or square <= TOUCHING * TOUCHING:
        return 0.0
    return sqrt(square)


def hull_distance(
    a: np.ndarray,
    b: np.ndarray,
    *,
    axis_a: tuple[float, float, float] = (0.0, 0.0, 1.0),
    axis_b: tuple[float, float, float] = (0.0, 0.0, 1.0),
    disc_a: float = 0.0,
    disc_b: float = 0.0,
) -> tuple[float, np.ndarray]:
    """Distance of the hulls of points a (n, 3) and b (m, 3) m, and nearest points (2, 3); see :func:`distance`."""
    nearest = np.zeros((2, 3))
    points = np.ascontiguousarray(np.vstack([a, b]), float)
    found = distance(
        points, 0, len(a), axis_a, disc_a, len(a), len(points), axis_b, disc_b, np.zeros((14, 4)), nearest,
    )  # fmt: skip
    return float(found), nearest
