"""Cables as unilateral constraints d <= l: geometry, the matrix A = D M^-1 D^T, and the pulls.

A cable knows its mechanism only through three things: motion of its two attachment points, the
response of the mechanism to a unit pull there, and the free acceleration there. Everything else
(impact, complementarity, projection) works on A.
"""

from __future__ import annotations

from math import sqrt

from rotor_core._jit import constants, inlined, kernel
from rotor_core.lie import so3
from rotor_core.lie.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    put3,
    scale,
    sub,
)
from rotor_core.linear.factor import SMALL, factorize, solve, substitute, substitute_three
from rotor_sim.dynamics.articulated import tree_motion
from rotor_sim.dynamics.contact import contact_wrenches
from rotor_sim.dynamics.links import settle_trees
from rotor_sim.dynamics.motion import free_motion
from rotor_sim.dynamics.responses import assemble_trees, pull_trees
from rotor_sim.model import layout as at

NONE_YET, NO_ARM = constants(
    0, -1
)  # a literal 0 would make Numba compile everything below it twice
TAUT_ONLY, EVERYTHING, ALIGN = constants(0, 1, 2)
"""What :func:`evaluate` does.

Taut cables only (inside a step); all, with projection (at the end of a step); or only put the
positions of taut cables at their length (a state from outside).
"""

COINCIDENT = 1e-12
"""Distance, m, under which the direction of a cable is undefined.

It is slack there and any direction will do.
"""

PROJECTIONS = 4
"""Most projections at the end of a step."""

SMALL_DRIFT = 1e-6
"""Drift of a step above which one first-order projection is not enough, m: it leaves drift^2 / d."""

SEEN_DRIFT = 1e-14
"""Drift above which slack cables near their length are measured again after the projection, m."""

INCONSISTENT_GAP = 1e-11
"""Redundant taut cables whose gaps differ by more than this cannot all be taut, m."""


@inlined
def measure_stop(world, k, state, slope):
    """Geometry of a stop: a joint moves towards it as a cable gets longer (T.13)."""
    c = world.cables[k]
    row = world.joint_int[world.cable_int[k, at.STOP_JOINT], at.JOINT_ROW]
    side = 1.0 * world.cable_int[k, at.STOP_SIDE]
    c[at.DISTANCE] = side * state[row, at.P]
    c[at.GAP] = c[at.DISTANCE] - c[at.LENGTH]
    c[at.RATE] = side * state[row, at.V]
    c[at.FREE] = side * slope[row, at.D_V]


@inlined
def measure(world, k, state, slope, trees):
    """Geometry of cable k in ``state``.

    Direction, gap, gap rate, arms, and d_ddot without pulls (D.4), (D.5), (D.6).
    """
    c = world.cables[k]
    if trees and world.cable_int[k, at.STOP_JOINT] >= 0:
        measure_stop(world, k, state, slope)
        return
    a = world.cable_int[k, at.BODY_A]
    b = world.cable_int[k, at.BODY_B]
    body_a = world.bodies[a]
    body_b = world.bodies[b]
    D = sub(get3(state[b], at.P), get3(state[a], at.P))
    D_dot = sub(get3(state[b], at.V), get3(state[a], at.V))
    D_ddot = sub(get3(slope[b], at.D_V), get3(slope[a], at.D_V))
    if world.cable_int[k, at.HAS_ARM_B] != 0:
        R = get9(body_b, at.ROTATION)
        r = get3(c, at.R_B)
        omega = get3(state[b], at.OMEGA)
        v = cross(omega, r)
        D = add(D, apply(R, r))
        D_dot = add(D_dot, apply(R, v))
        D_ddot = add(D_ddot, apply(R, add(cross(get3(slope[b], at.D_OMEGA), r), cross(omega, v))))
    if world.cable_int[k, at.HAS_ARM_A] != 0:
        R = get9(body_a, at.ROTATION)
        r = get3(c, at.R_A)
        omega = get3(state[a], at.OMEGA)
        v = cross(omega, r)
        D = sub(D, apply(R, r))
        D_dot = sub(D_dot, apply(R, v))
        D_ddot = sub(D_ddot, apply(R, add(cross(get3(slope[a], at.D_OMEGA), r), cross(omega, v))))
    d = sqrt(dot(D, D))
    xi = (0.0, 0.0, -1.0)
    swing = 0.0
    along = dot(xi, D_dot)
    if d > COINCIDENT:
        inverse = 1.0 / d
        xi = scale(inverse, D)
        along = dot(xi, D_dot)
        swing = (dot(D_dot, D_dot) - along * along) * inverse
    put3(c, at.XI, xi)
    c[at.DISTANCE] = d
    c[at.GAP] = d - c[at.LENGTH]
    c[at.RATE] = along
    c[at.FREE] = dot(xi, D_ddot) + swing
    if world.cable_int[k, at.HAS_ARM_B] != 0:
        arm = cross(get3(c, at.R_B), apply_transposed(get9(body_b, at.ROTATION), xi))
        put3(c, at.ARM_B, arm)
        put3(c, at.INV_ARM_B, apply(get9(body_b, at.INV_INERTIA), arm))
    if world.cable_int[k, at.HAS_ARM_A] != 0:
        arm = cross(get3(c, at.R_A), apply_transposed(get9(body_a, at.ROTATION), xi))
        put3(c, at.ARM_A, arm)
        put3(c, at.INV_ARM_A, apply(get9(body_a, at.INV_INERTIA), arm))


@inlined
def find_envelope(world, n):
    """The envelope of A (:mod:`rotor_core.linear.factor`), into ``world.order[3]``."""
    for i in range(n):
        coupled_from = world.cable_int[world.order[0, i], at.COUPLED_FROM]
        first = i
        while first > 0 and world.order[0, first - 1] >= coupled_from:
            first -= 1
        world.order[3, i] = first
    for back in range(1, n):
        i = n - 1 - back
        world.order[3, i] = min(world.order[3, i], world.order[3, i + 1])


@inlined
def assemble(ints, floats, world, n, trees):
    """A over the n cables listed in ``world.order[0]`` (lower triangle and diagonal), (D.7)."""
    place = world.order[1]
    A = world.matrix
    if n > SMALL:
        find_envelope(world, n)
    for k in range(world.head[at.N_CABLES]):
        place[k] = -1
    for i in range(n):
        k = world.order[0, i]
        place[k] = i
        c = world.cables[k]
        for j in range(i):
            A[i, j] = 0.0
        A[i, i] = (
            world.bodies[world.cable_int[k, at.BODY_A], at.INV_MASS]
            + world.bodies[world.cable_int[k, at.BODY_B], at.INV_MASS]
            + dot(get3(c, at.ARM_A), get3(c, at.INV_ARM_A))
            + dot(get3(c, at.ARM_B), get3(c, at.INV_ARM_B))
        )  # arms that do not exist stay zero
    # pairs come sorted by their first cable: what belongs to it is loaded once
    last = NO_ARM
    i = NO_ARM
    xi = (0.0, 0.0, 0.0)
    arm = (0.0, 0.0, 0.0)
    for p in range(world.head[at.N_PAIRS]):
        pair = world.pairs[p]
        key = pair[at.PAIR_KEY]
        if key != last:
            last = key
            i = place[pair[at.PAIR_K]]
            c = world.cables[pair[at.PAIR_K]]
            xi = scale(
                pair[at.PAIR_SIGN] * world.bodies[pair[at.PAIR_BODY], at.INV_MASS], get3(c, at.XI)
            )
            arm = scale(pair[at.PAIR_SIGN] * 1.0, get3(c, pair[at.PAIR_ARM]))
        j = place[pair[at.PAIR_J]]  # below i, because cables are listed in their order
        if i >= 0 and j >= 0:
            e = world.cables[pair[at.PAIR_J]]
            A[i, j] += dot(xi, get3(e, at.XI)) + dot(arm, get3(e, pair[at.PAIR_RESPONSE]))
    if trees:
        assemble_trees(ints, floats, n)


@inlined
def pull(ints, floats, world, k, amount, target, linear, angular, trees):
    """Add ``-M^-1 D_k^T amount`` to columns ``linear`` and ``angular`` of ``target`` (D.8)."""
    c = world.cables[k]
    a = world.cable_int[k, at.BODY_A]
    b = world.cable_int[k, at.BODY_B]
    xi = get3(c, at.XI)
    put3(
        target[a],
        linear,
        add(get3(target[a], linear), scale(amount * world.bodies[a, at.INV_MASS], xi)),
    )
    put3(
        target[b],
        linear,
        sub(get3(target[b], linear), scale(amount * world.bodies[b, at.INV_MASS], xi)),
    )
    if world.cable_int[k, at.HAS_ARM_A] != 0:
        put3(
            target[a], angular, add(get3(target[a], angular), scale(amount, get3(c, at.INV_ARM_A)))
        )
    if world.cable_int[k, at.HAS_ARM_B] != 0:
        put3(
            target[b], angular, sub(get3(target[b], angular), scale(amount, get3(c, at.INV_ARM_B)))
        )
    if trees:
        pull_trees(ints, floats, k, amount, target, linear, angular)


@inlined
def clear_correction(world):
    """No correction of any body."""
    for b in range(world.head[at.N_BODIES] + world.head[at.N_JOINTS] + 1):
        for i in range(at.D_V):
            world.slopes[at.CORRECTION, b, i] = 0.0


@inlined
def move(world, state):
    """Move all bodies on the group by what the cables have put into the row CORRECTION."""
    for b in range(world.head[at.N_BODIES]):
        d = world.slopes[at.CORRECTION, b]
        put3(state[b], at.P, add(get3(state[b], at.P), get3(d, at.D_P)))
        theta = get3(d, at.D_THETA)
        turns = theta[0] != 0.0 or theta[1] != 0.0 or theta[2] != 0.0  # cables without arms do not
        if turns:
            q = so3.product(so3.get4(state[b], at.Q), so3.exp(theta))
            so3.put4(state[b], at.Q, q)


@inlined
def measure_all(world, state, slope, what, trees):
    """Measure what ``what`` asks for and list the taut cables in ``world.order[0]``; their number."""
    n = NONE_YET
    for k in range(world.head[at.N_CABLES]):
        taut = world.cable_int[k, at.TAUT] != 0
        if taut or what == EVERYTHING:
            measure(world, k, state, slope, trees)
        if taut:
            world.order[0, n] = k
            n += 1
        else:
            world.cables[k, at.TENSION] = 0.0
    return n


@inlined
def least_norm(world, n, x):
    """Solve A y = x for dependent rows, y of smallest norm, in place."""
    b = world.small[0]
    for i in range(n):
        b[i] = x[i]
    solve(world.matrix, world.factor, n, True, b, x, world.small[2], world.order[3])


@inlined
def note_inconsistency(world, n, gap):
    """Solve A x = gap for dependent rows, in place, and remember what it cannot close.

    The dependent cable that is shortest of its length where no motion can close all gaps cannot be
    taut. Where all are too long, no state is possible (negative mark).
    """
    least_norm(world, n, gap)
    b = world.small[0]
    shortest = -INCONSISTENT_GAP
    for i in range(n):
        left = b[i]
        for j in range(n):
            left -= world.matrix[max(i, j), min(i, j)] * gap[j]
        if left > INCONSISTENT_GAP and world.head[at.INCONSISTENT] == 0:
            world.head[at.INCONSISTENT] = -1
        if left < shortest:
            shortest = left
            world.head[at.INCONSISTENT] = world.order[0, i] + 1


@inlined
def anyone_near(world):
    """Whether a slack cable is so near its length that the projection of others may matter to it."""
    for k in range(world.head[at.N_CABLES]):
        if (
            world.cable_int[k, at.TAUT] == 0
            and world.cable_int[k, at.ALIVE] != 0
            and world.cables[k, at.GAP] > -10.0 * SMALL_DRIFT
        ):
            return True
    return False


@inlined
def evaluation(ints, floats, world, which_state, which_slope, t, what):
    """Slope of the whole mechanism with the taut cables pulling.

    ``A T = d_ddot of free motion`` (D.9).

    Args:
        ints, floats, world: the world and its views; the taut set is the integer column TAUT.
        which_state: row of ``states``.
        which_slope: row of ``slopes``, written.
        t: time, s, for inputs that are functions of time.
        what: TAUT_ONLY; or EVERYTHING, which also measures the slack cables and projects the state
            onto the taut constraints (position and velocity, mass-weighted) with the same factor
            (D.10), again where the drift of the step was large; or ALIGN, which only projects
            positions.
    """
    state = world.states[which_state]
    slope = world.slopes[which_slope]
    correction = world.slopes[at.CORRECTION]
    tension, gap, rate = world.small[1], world.small[3], world.small[4]
    trees = world.head[at.N_JOINTS] != 0
    n = NONE_YET
    for _ in range(1 if what == TAUT_ONLY else PROJECTIONS):
        if world.head[at.N_CONTACTS] != 0:
            contact_wrenches(ints, floats, which_state, t)
        free_motion(world, state, slope, t)
        if trees:
            tree_motion(ints, floats, which_state, which_slope, t)
        n = measure_all(world, state, slope, what, trees)
        if n == 0:
            return
        assemble(ints, floats, world, n, trees)
        redundant = factorize(world.matrix, world.factor, n, world.order[3])
        world.head[at.DEPENDENT] = 1 if redundant else 0
        world.head[at.INCONSISTENT] = 0
        if redundant:
            world.head[at.REDUNDANT] = 1
        drift = 0.0
        for i in range(n):
            c = world.cables[world.order[0, i]]
            tension[i] = c[at.FREE]
            gap[i] = c[at.GAP]
            rate[i] = c[at.RATE]
            drift = max(drift, abs(gap[i]))
        if redundant:
            least_norm(world, n, tension)
            if what != TAUT_ONLY:
                least_norm(world, n, rate)
                note_inconsistency(world, n, gap)
        elif what == TAUT_ONLY:
            substitute(world.factor, n, tension, world.order[3])
        else:
            substitute_three(world.factor, n, tension, gap, rate, world.order[3])
        if what != ALIGN:
            for i in range(n):
                k = world.order[0, i]
                world.cables[k, at.TENSION] = tension[i]
                pull(ints, floats, world, k, tension[i], slope, at.D_V, at.D_OMEGA, trees)
        if what == TAUT_ONLY:
            return
        clear_correction(world)
        for i in range(n):
            k = world.order[0, i]
            pull(ints, floats, world, k, gap[i], correction, at.D_P, at.D_THETA, trees)
            if what == EVERYTHING:
                pull(ints, floats, world, k, rate[i], state, at.V, at.OMEGA, trees)
        move(world, state)
        world.head[at.COARSE] = 1 if drift >= SMALL_DRIFT else 0
        if drift < SMALL_DRIFT and not (drift > SEEN_DRIFT and anyone_near(world)):
            break
    if what == EVERYTHING:
        for i in range(n):
            k = world.order[0, i]
            for side in range(2):
                b_row = world.cable_int[k, at.BODY_A + side]
                put3(slope[b_row], at.D_P, get3(state[b_row], at.V))
                put3(slope[b_row], at.D_THETA, get3(state[b_row], at.OMEGA))
        if trees:
            settle_trees(ints, floats, which_state, which_slope)


@kernel
def evaluate(ints, floats, which_state, which_slope, t, what):
    """:func:`evaluation` for callers outside the hot path."""
    evaluation(ints, floats, at.views(ints, floats), which_state, which_slope, t, what)
