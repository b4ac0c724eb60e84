"""Pairs that may touch in a trial step, and the share of it before they do (N.4), (N.5).

An odometer counts more than any two points have come nearer. Two hulls that were d apart cannot meet before it has
gone on by d: until then nobody looks at them. Those that may meet are followed along the trial step by conservative
advancement (Mirtich 1996): d over the most that they can come nearer is a share of the step in which they do not
meet.
"""

from __future__ import annotations

from math import inf, sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import add, dot, get3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.collisions.features import (
    PART,
    core_gap,
    corner_along,
    hull_gap,
    place_hull,
    sphere_gap,
)

(NONE_YET,) = constants(0)

SPARE = 1.25
"""Travel in a step over that at the larger speed of its two ends: what is between them is smooth."""

SEEN = 1e-7
"""Conservative advancement ends this far before the surfaces meet, m; trial steps go on from there."""

MOST_LOOKS = 100
"""Of conservative advancement in one step. Where they are not enough it ends there, if the two overlap at its end."""

GRAZES = 2e-3
"""Of two hulls that come nearer by less than this in a step it is enough to know whether they overlap at its end, m."""


@inlined
def squares_of(world, i):
    """Squares of the larger speed, and of the larger rate times arm, of hull i at the two ends of the trial step."""
    b = world.hull_int[i, memory.HULL_BODY]
    arm = world.hulls[i, memory.HULL_ARM]
    start, end = world.states[memory.START, b], world.states[memory.END, b]
    v, w = get3(start, memory.V), get3(start, memory.OMEGA)
    v_end, w_end = get3(end, memory.V), get3(end, memory.OMEGA)
    turn = max(dot(w, w), dot(w_end, w_end))
    return max(dot(v, v), dot(v_end, v_end)), arm * arm * turn


@inlined
def most_travel(world, h):
    """More than any two points can come nearer in a trial step of length h, m (N.4)."""
    speed, rim = 0.0, 0.0
    for i in range(world.head[memory.N_HULLS]):
        squared, around = squares_of(world, i)
        speed, rim = max(speed, squared), max(rim, around)
    return 2.0 * SPARE * h * (sqrt(speed) + sqrt(rim))


@inlined
def note_travels(world, h):
    """Farthest way of any point of each hull in a trial step of length h."""
    for i in range(world.head[memory.N_HULLS]):
        squared, around = squares_of(world, i)
        world.hulls[i, memory.HULL_TRAVEL] = SPARE * h * (sqrt(squared) + sqrt(around))


@inlined
def place_at(world, h, share):
    """Place a hull where its body is after a share of the trial step: a cubic in place, a constant rate of turning."""
    b = world.hull_int[h, memory.HULL_BODY]
    start, end = world.states[memory.START, b], world.states[memory.END, b]
    p, q = get3(start, memory.P), so3.get4(start, memory.Q)
    if share >= 1.0:
        p, q = get3(end, memory.P), so3.get4(end, memory.Q)
    elif share > 0.0:
        p = add(p, scale(share, sub(get3(end, memory.P), p)))
        w, x, y, z = so3.product((q[0], -q[1], -q[2], -q[3]), so3.get4(end, memory.Q))
        if w < 0.0:
            x, y, z = -x, -y, -z
        q = so3.product(q, so3.exp((2.0 * share * x, 2.0 * share * y, 2.0 * share * z)))
    place_hull(world, h, p, q)


@inlined
def gap_between(world, a, b):
    """Distance of two placed hulls, m; where they overlap it is not above 0."""
    if world.hull_int[b, memory.IS_GROUND] == 0:
        return hull_gap(world, a, b)
    lowest = corner_along(world, a, (0.0, 0.0, -1.0))
    return lowest[2] - world.hulls[a, memory.HULL_BALL] - world.hulls[b, memory.HULL_CENTRE_W + 2]


@linked(*WORLD, INT, FLOAT, returns=FLOAT, part=PART)
def gap_after(ints, floats, m, share):
    """Distance of the hulls of meeting m after a share of the trial step, m."""
    world = memory.views(ints, floats)
    a, b = world.meeting_int[m, memory.HULL_ON_A], world.meeting_int[m, memory.HULL_ON_B]
    place_at(world, a, share)
    place_at(world, b, share)
    return gap_between(world, a, b)


@inlined
def first_meeting(ints, floats, world, m, gap, most):
    """Share of the trial step, at most ``most``, after which meeting m may have closed from ``gap`` (N.5)."""
    a, b = world.meeting_int[m, memory.HULL_ON_A], world.meeting_int[m, memory.HULL_ON_B]
    reach = world.hulls[a, memory.HULL_TRAVEL] + world.hulls[b, memory.HULL_TRAVEL]
    if reach < GRAZES:
        return most
    if gap <= SEEN:  # a bit of overlap at the end tells when
        return min(most, (max(gap, 0.0) + SEEN) / reach)
    share = 0.0
    for _ in range(MOST_LOOKS):
        if gap <= SEEN:
            return share
        share += gap / reach
        if share >= most:
            return most
        gap = gap_after(ints, floats, m, share)
    return share if gap_after(ints, floats, m, most) <= 0.0 else most


@linked(*WORLD, FLOAT, returns=FLOAT, part=PART)
def look(ints, floats, h):
    """Mark the meetings that may touch in the trial step of length h; the share of it in which none closes anew."""
    world = memory.views(ints, floats)
    travel = most_travel(world, h)
    world.scalars[memory.TRAVEL] = travel
    odometer = world.scalars[memory.ODOMETER]
    share, near = 1.0, NONE_YET
    if odometer + travel < world.scalars[memory.NEXT_LOOK]:
        if world.head[memory.N_NEAR] != 0:
            for m in range(world.head[memory.N_MEETINGS]):
                world.meeting_int[m, memory.IS_NEAR] = world.meeting_int[m, memory.WARM_POINTS] = 0
        world.head[memory.N_NEAR] = 0
        return share
    note_travels(world, h)
    next_look = inf
    for m in range(world.head[memory.N_MEETINGS]):
        number, row = world.meeting_int[m], world.meetings[m]
        number[memory.IS_NEAR] = 1 if number[memory.IN_TOUCH] != 0 else 0
        if number[memory.IN_TOUCH] == 0 and odometer + travel >= row[memory.LOOK_AT]:
            a, b = number[memory.HULL_ON_A], number[memory.HULL_ON_B]
            place_at(world, a, 0.0)
            place_at(world, b, 0.0)
            gap = sphere_gap(world, a, b)
            if gap <= travel:
                gap = gap_between(world, a, b)
            row[memory.LOOK_AT] = odometer + max(gap, 0.0)
            if gap <= world.hulls[a, memory.HULL_TRAVEL] + world.hulls[b, memory.HULL_TRAVEL]:
                number[memory.IS_NEAR] = 1
                share = first_meeting(ints, floats, world, m, gap, share)
        near += number[memory.IS_NEAR]
        next_look = min(next_look, row[memory.LOOK_AT])
        if number[memory.IN_TOUCH] != 0:
            next_look = -inf
    world.head[memory.N_NEAR] = near
    world.scalars[memory.NEXT_LOOK] = next_look
    return share


@linked(*WORLD, FLOAT, returns=INT, part=PART)
def find_overlap(ints, floats, most):
    """A meeting whose hulls overlap by more than ``most`` m (sharp ones: than their cores hide) at the start, or -1."""
    world = memory.views(ints, floats)
    for m in range(world.head[memory.N_MEETINGS]):
        a, b = world.meeting_int[m, memory.HULL_ON_A], world.meeting_int[m, memory.HULL_ON_B]
        place_at(world, a, 0.0)
        place_at(world, b, 0.0)
        if sphere_gap(world, a, b) > 0.0:
            continue
        balls = world.hulls[a, memory.HULL_BALL] + world.hulls[b, memory.HULL_BALL]
        if world.hull_int[b, memory.IS_GROUND] != 0 or balls > 0.0:
            overlaps = gap_between(world, a, b) < -most
        else:
            overlaps = core_gap(world, a, b) <= 0.0
        if overlaps:
            return m
    return -1
