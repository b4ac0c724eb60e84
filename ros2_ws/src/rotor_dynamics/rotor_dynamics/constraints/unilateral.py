"""Cables as unilateral constraints d <= l: geometry, the matrix A = D M^-1 D^T, and the pulls.

A cable knows its mechanism only through three things: motion of its two attachment points, the
response of the mechanism to a unit pull there, and the free acceleration there. Everything else
(impact, complementarity, projection) works on A.
"""

from __future__ import annotations

from math import sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.factor import SMALL, factorize, solve, substitute, substitute_three
from rotor_core.math.vec3 import (
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
from rotor_core.numbers.derivatives import counts
from rotor_core.numbers.lanes import bits, certainly, choose, possibly
from rotor_dynamics import memory
from rotor_dynamics.constraints.capstans import (
    list_sliding,
    measure_capstans,
    pull_sliding,
    rub,
    watch_capstans,
)
from rotor_dynamics.constraints.responses import assemble_trees, pull_trees
from rotor_dynamics.constraints.routes import (
    assemble_routes,
    measure_routes,
    note_winding,
    pull_route,
    take_route_rates,
)
from rotor_dynamics.forces.registered import outer_wrenches
from rotor_dynamics.kinematics.trees import settle_trees
from rotor_dynamics.motion.articulated import motion_power, tree_motion
from rotor_dynamics.motion.free import move_freely

NONE_YET, NO_ARM = constants(
    0, -1
)  # a literal 0 would make Numba compile everything below it twice
TAUT_ONLY, EVERYTHING, ALIGN = constants(0, 1, 2)
"""Modes of :func:`find_slope`.

Taut cables only (inside a step); all, with projection (at the end of a step); or only put the
positions of taut cables at their length (a state from outside).
"""

TENSIONS, GAPS, RATES = constants(1, 3, 4)
"""Rows of ``world.small`` that hold them while they are solved for."""

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

SEEN_RATE = 1e-12
"""Rates of taut cables that a change of the taut set takes out count as drift above this, m/s."""

INCONSISTENT_GAP = 1e-11
"""Redundant taut cables whose gaps differ by more than this cannot all be taut, m."""

ONE_SIGN = 1e-3
"""Share of the largest gap below which gaps of the other sign are rounding."""


@inlined
def stop_geometry(world, k, state, slope):
    """Geometry of a stop: a joint moves towards it as a cable gets longer (T.13)."""
    c = world.constraints[k]
    row = world.joint_int[world.constraint_int[k, memory.STOP_JOINT], memory.JOINT_ROW]
    side = 1.0 * world.constraint_int[k, memory.STOP_SIDE]
    c[memory.DISTANCE] = side * state[row, memory.P]
    c[memory.GAP] = c[memory.DISTANCE] - c[memory.LENGTH]
    c[memory.RATE] = side * state[row, memory.V]
    c[memory.FREE] = side * slope[row, memory.D_V]


@inlined
def measure_line(c, end_a, end_b):
    """Geometry of a cable that is a line: direction, gap, gap rate, arms, and d_ddot without pulls (D.4), (D.5), (D.6).

    Args:
        c: its row.
        end_a, end_b: of the bodies at its ends: row, state, slope, and whether it is off the centre of mass.
    """
    body_a, state_a, slope_a, has_arm_a = end_a
    body_b, state_b, slope_b, has_arm_b = end_b
    D = sub(get3(state_b, memory.P), get3(state_a, memory.P))
    D_dot = sub(get3(state_b, memory.V), get3(state_a, memory.V))
    D_ddot = sub(get3(slope_b, memory.D_V), get3(slope_a, memory.D_V))
    if has_arm_b:
        R = get9(body_b, memory.ROTATION)
        r = get3(c, memory.R_B)
        omega = get3(state_b, memory.OMEGA)
        v = cross(omega, r)
        D = add(D, apply(R, r))
        D_dot = add(D_dot, apply(R, v))
        D_ddot = add(
            D_ddot, apply(R, add(cross(get3(slope_b, memory.D_OMEGA), r), cross(omega, v)))
        )
    if has_arm_a:
        R = get9(body_a, memory.ROTATION)
        r = get3(c, memory.R_A)
        omega = get3(state_a, memory.OMEGA)
        v = cross(omega, r)
        D = sub(D, apply(R, r))
        D_dot = sub(D_dot, apply(R, v))
        D_ddot = sub(
            D_ddot, apply(R, add(cross(get3(slope_a, memory.D_OMEGA), r), cross(omega, v)))
        )
    d = sqrt(dot(D, D))
    inverse = 1.0 / max(d, COINCIDENT)
    xi = scale(inverse, D)
    apart = d > COINCIDENT
    if not certainly(apart):
        inverse = choose(apart, inverse, 0.0)
        xi = choose(apart, xi[0], 0.0), choose(apart, xi[1], 0.0), choose(apart, xi[2], -1.0)
    along = dot(xi, D_dot)
    swing = (dot(D_dot, D_dot) - along * along) * inverse
    put3(c, memory.XI, xi)
    c[memory.DISTANCE] = d
    c[memory.GAP] = d - c[memory.LENGTH]
    c[memory.RATE] = along
    c[memory.FREE] = dot(xi, D_ddot) + swing
    if has_arm_b:
        arm = cross(get3(c, memory.R_B), apply_transposed(get9(body_b, memory.ROTATION), xi))
        put3(c, memory.ARM_B, arm)
        put3(c, memory.INV_ARM_B, apply(get9(body_b, memory.INV_INERTIA), arm))
    if has_arm_a:
        arm = cross(get3(c, memory.R_A), apply_transposed(get9(body_a, memory.ROTATION), xi))
        put3(c, memory.ARM_A, arm)
        put3(c, memory.INV_ARM_A, apply(get9(body_a, memory.INV_INERTIA), arm))


@inlined
def constraint_geometry(world, k, state, slope, more):
    """Geometry of cable k in ``state``, if it is a line between two points, or of a stop.

    ``more``: there are joints or routes.
    """
    c = world.constraints[k]
    if more:
        if world.constraint_int[k, memory.ROUTED] != 0:
            return  # measured with all routes
        if world.constraint_int[k, memory.STOP_JOINT] >= 0:
            stop_geometry(world, k, state, slope)
            return
    a = world.constraint_int[k, memory.BODY_A]
    b = world.constraint_int[k, memory.BODY_B]
    has_arm_a = world.constraint_int[k, memory.HAS_ARM_A] != 0
    has_arm_b = world.constraint_int[k, memory.HAS_ARM_B] != 0
    end_a = world.bodies[a], state[a], slope[a], has_arm_a
    end_b = world.bodies[b], state[b], slope[b], has_arm_b
    measure_line(c, end_a, end_b)


@linked(*WORLD, INT, part="large teams")
def find_envelope(ints, floats, n):
    """The envelope of A (:mod:`rotor_core.math.factor`), into ``world.order[3]``."""
    world = memory.views(ints, floats)
    for i in range(n):
        coupled_from = world.constraint_int[world.order[0, i], memory.COUPLED_FROM]
        first = i
        while first > 0 and world.order[0, first - 1] >= coupled_from:
            first -= 1
        world.order[3, i] = first
    for back in range(1, n):
        i = n - 1 - back
        world.order[3, i] = min(world.order[3, i], world.order[3, i + 1])


@inlined
def has_more(world):
    """True if there are joints or routes: more than lines between points of free bodies."""
    return world.head[memory.N_JOINTS] + world.head[memory.N_ROUTES] != 0


@inlined
def assemble(ints, floats, world, n, more):
    """A over the n cables listed in ``world.order[0]`` (lower triangle and diagonal), (D.7)."""
    if n > SMALL:
        find_envelope(ints, floats, n)
    couple_bodies(world, n)
    if more:
        if world.head[memory.N_JOINTS] != 0:
            assemble_trees(ints, floats, n)
        if world.head[memory.N_ROUTES] != 0:
            assemble_routes(ints, floats, n)


@inlined
def mobility(world, k):
    """Acceleration of cable k, a line between free bodies, by a unit pull of its own, 1/kg."""
    c = world.constraints[k]
    return (
        world.bodies[world.constraint_int[k, memory.BODY_A], memory.INV_MASS]
        + world.bodies[world.constraint_int[k, memory.BODY_B], memory.INV_MASS]
        + dot(get3(c, memory.ARM_A), get3(c, memory.INV_ARM_A))
        + dot(get3(c, memory.ARM_B), get3(c, memory.INV_ARM_B))
    )  # arms that do not exist stay zero


@inlined
def couple_bodies(world, n):
    """The part of A that free bodies make."""
    place = world.order[1]
    A = world.matrix
    for k in range(world.head[memory.N_CONSTRAINTS]):
        place[k] = -1
    for i in range(n):
        k = world.order[0, i]
        place[k] = i
        for j in range(i):
            A[i, j] = 0.0
        A[i, i] = mobility(world, k)
    # pairs come sorted by their first cable: what belongs to it is loaded once
    last = NO_ARM
    i = NO_ARM
    xi = (0.0, 0.0, 0.0)
    arm = (0.0, 0.0, 0.0)
    for p in range(world.head[memory.N_PAIRS]):
        pair = world.pairs[p]
        key = pair[memory.PAIR_KEY]
        if key != last:
            last = key
            i = place[pair[memory.PAIR_K]]
            c = world.constraints[pair[memory.PAIR_K]]
            xi = scale(
                pair[memory.PAIR_SIGN] * world.bodies[pair[memory.PAIR_BODY], memory.INV_MASS],
                get3(c, memory.XI),
            )
            arm = scale(pair[memory.PAIR_SIGN] * 1.0, get3(c, pair[memory.PAIR_ARM]))
        j = place[pair[memory.PAIR_J]]  # below i, because cables are listed in their order
        if i >= 0 and j >= 0:
            e = world.constraints[pair[memory.PAIR_J]]
            A[i, j] += dot(xi, get3(e, memory.XI)) + dot(arm, get3(e, pair[memory.PAIR_RESPONSE]))


@inlined
def pull(ints, floats, world, k, amount, target, linear, angular, more):
    """Add ``-M^-1 D_k^T amount`` to columns ``linear`` and ``angular`` of ``target`` (D.8)."""
    pull_bodies(world, k, amount, target, linear, angular)
    if more:
        if world.constraint_int[k, memory.ROUTED] != 0:
            pull_route(ints, floats, k, amount, target, linear, angular)
        elif world.head[memory.N_JOINTS] != 0:
            pull_trees(ints, floats, k, amount, target, linear, angular)


@inlined
def pull_bodies(world, k, amount, target, linear, angular):
    """:func:`pull` on free bodies."""
    c = world.constraints[k]
    a = world.constraint_int[k, memory.BODY_A]
    b = world.constraint_int[k, memory.BODY_B]
    xi = get3(c, memory.XI)
    put3(
        target[a],
        linear,
        add(get3(target[a], linear), scale(amount * world.bodies[a, memory.INV_MASS], xi)),
    )
    put3(
        target[b],
        linear,
        sub(get3(target[b], linear), scale(amount * world.bodies[b, memory.INV_MASS], xi)),
    )
    if world.constraint_int[k, memory.HAS_ARM_A] != 0:
        put3(
            target[a],
            angular,
            add(get3(target[a], angular), scale(amount, get3(c, memory.INV_ARM_A))),
        )
    if world.constraint_int[k, memory.HAS_ARM_B] != 0:
        put3(
            target[b],
            angular,
            sub(get3(target[b], angular), scale(amount, get3(c, memory.INV_ARM_B))),
        )


@inlined
def clear_correction(world):
    """No correction of any body."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS] + 1):
        for i in range(memory.D_V):
            world.slopes[memory.CORRECTION, b, i] = 0.0


@inlined
def move(world, state):
    """Move all bodies on the group by what the cables have put into the row CORRECTION."""
    for b in range(world.head[memory.N_BODIES]):
        d = world.slopes[memory.CORRECTION, b]
        put3(state[b], memory.P, add(get3(state[b], memory.P), get3(d, memory.D_P)))
        theta = get3(d, memory.D_THETA)
        if (
            possibly(counts(theta[0])) or possibly(counts(theta[1])) or possibly(counts(theta[2]))
        ):  # cables without arms do not turn it
            q = so3.product(so3.get4(state[b], memory.Q), so3.exp(theta))
            so3.put4(state[b], memory.Q, q)


@inlined
def update_geometry(world, state, slope, what, more):
    """Measure what ``what`` asks for and list the taut cables in ``world.order[0]``; their number."""
    n = NONE_YET
    for k in range(world.head[memory.N_CONSTRAINTS]):
        taut = world.constraint_int[k, memory.TAUT] != 0
        if taut or what == EVERYTHING:
            constraint_geometry(world, k, state, slope, more)
        if taut:
            world.order[0, n] = k
            n += 1
        elif world.constraint_int[k, memory.ALIVE] != memory.STRETCHES:
            world.constraints[k, memory.TENSION] = 0.0
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
    longest, shortest = INCONSISTENT_GAP, 0.0
    chosen, marked = NONE_YET, NONE_YET
    for i in range(n):
        left = b[i]
        for j in range(n):
            left -= world.matrix[max(i, j), min(i, j)] * gap[j]
        if abs(left) > longest:
            longest = abs(left)
            marked = -1
        holds = world.constraint_int[world.order[0, i], memory.ALIVE] == memory.HOLDS
        if left < shortest and holds:
            shortest = left
            chosen = world.order[0, i]
    # what no motion closes is a multiple of how dependent cables load each other: where it has both
    # signs, one that is shorter than the others lets go; where it has one, all are too long
    if marked < 0 and shortest < -ONE_SIGN * longest:
        marked = chosen + 1
    world.head[memory.INCONSISTENT] = marked


@linked(*WORLD, INT, INT, part="dependent cables")
def solve_redundant(ints, floats, n, what):
    """Tensions, and gap and rate unless ``what`` is TAUT_ONLY, of n dependent taut cables (``world.small``)."""
    world = memory.views(ints, floats)
    least_norm(world, n, world.small[TENSIONS])
    if what != TAUT_ONLY:
        least_norm(world, n, world.small[RATES])
        note_inconsistency(world, n, world.small[GAPS])


@inlined
def lay_right_sides(world, n):
    """Free accelerations, gaps and rates of the n taut cables, to be solved for; the largest gap and rate."""
    tension, gap, rate = world.small[TENSIONS], world.small[GAPS], world.small[RATES]
    drift, rushed = 0.0, 0.0
    for i in range(n):
        c = world.constraints[world.order[0, i]]
        tension[i] = c[memory.FREE]
        gap[i] = c[memory.GAP]
        rate[i] = c[memory.RATE]
        drift = max(drift, abs(gap[i]))
        rushed = max(rushed, abs(rate[i]))
    return drift, rushed


@inlined
def slack_cables_near(world):
    """Lanes in which a slack cable is so near its length that the projection of others may matter to it."""
    found = 0
    for k in range(world.head[memory.N_CONSTRAINTS]):
        slack = world.constraint_int[k, memory.TAUT] == 0
        if slack and world.constraint_int[k, memory.ALIVE] == memory.HOLDS:
            found |= bits(world.constraints[k, memory.GAP] > -10.0 * SMALL_DRIFT)
    return found


@inlined
def take_projected_rates(world, state, slope, n):
    """The slope of place and attitude of the bodies on the n taut cables is their speed, which was projected."""
    for i in range(n):
        k = world.order[0, i]
        for side in range(2):
            b = world.constraint_int[k, memory.BODY_A + side]
            put3(slope[b], memory.D_P, get3(state[b], memory.V))
            put3(slope[b], memory.D_THETA, get3(state[b], memory.OMEGA))


@linked(*WORLD, INT, INT, INT, part="joints")
def note_power(ints, floats, which_state, which_slope, n):
    """Power of all forces but gravity and the n taut constraints, from the motion that they allow (E.1).

    With the work that driven joints do against cables. Constraints that are not quite kept inside a step do
    some too, which is error and is taken out.
    """
    world = memory.views(ints, floats)
    power = motion_power(world, world.states[which_state], world.slopes[which_slope], NONE_YET)
    for i in range(n):
        c = world.constraints[world.order[0, i]]
        power += c[memory.TENSION] * c[memory.RATE]
    world.scalars[memory.POWER_NOW] = power


@inlined
def unpulled(ints, floats, world, which_state, which_slope, t):
    """Slope of the mechanism if no cable pulled."""
    if world.head[memory.IS_PUSHED] != 0:
        outer_wrenches(ints, floats, which_state, t)
    move_freely(world, which_state, which_slope, t)
    if world.head[memory.N_JOINTS] != 0:
        tree_motion(ints, floats, which_state, which_slope, t)


@linked(*WORLD, INT, INT, FLOAT)
def unpulled_again(ints, floats, which_state, which_slope, t):
    """:func:`unpulled`, after a projection: seldom, so it is not inlined there."""
    unpulled(ints, floats, memory.views(ints, floats), which_state, which_slope, t)


@inlined
def find_slope(ints, floats, which_state, which_slope, t, what):
    """Slope of the whole mechanism with the taut cables pulling.

    ``A T = d_ddot of free motion`` (D.9).

    Args:
        ints, floats: the world; the taut set is the integer column TAUT.
        which_state: row of ``states``.
        which_slope: row of ``slopes``, written.
        t: time, s, for inputs that are functions of time.
        what: TAUT_ONLY; or EVERYTHING, which also measures the slack cables and projects the state
            onto the taut constraints (position and velocity, mass-weighted) with the same factor
            (D.10), again where the drift of the step was large; or ALIGN, which only projects
            positions.
    """
    world = memory.views(ints, floats)
    unpulled(ints, floats, world, which_state, which_slope, t)
    if world.head[memory.N_CONSTRAINTS] != 0:
        constrain(ints, floats, which_state, which_slope, t, what)


@linked(*WORLD, INT, INT, FLOAT, INT)
def evaluate(ints, floats, which_state, which_slope, t, what):
    """:func:`find_slope`, for all but the stages of the method that most flights use."""
    find_slope(ints, floats, which_state, which_slope, t, what)


@linked(*WORLD, INT, INT, FLOAT, INT)
def constrain(ints, floats, which_state, which_slope, t, what):
    """The second part of :func:`find_slope`: what the taut cables do to the slope, and the projection."""
    world = memory.views(ints, floats)
    state = world.states[which_state]
    slope = world.slopes[which_slope]
    correction = world.slopes[memory.CORRECTION]
    tension, gap, rate = world.small[TENSIONS], world.small[GAPS], world.small[RATES]
    trees, routes = world.head[memory.N_JOINTS] != 0, world.head[memory.N_ROUTES] != 0
    more = trees or routes
    rubs = world.head[memory.N_CAPSTANS] != 0
    n, sliding = NONE_YET, NONE_YET
    for repeat in range(1 if what == TAUT_ONLY else PROJECTIONS):
        if repeat > 0:
            unpulled_again(ints, floats, which_state, which_slope, t)
        if routes:
            measure_routes(ints, floats, which_state, which_slope, t)
            if rubs:
                measure_capstans(ints, floats, which_state, which_slope)
            if trees:
                note_power(ints, floats, which_state, which_slope, NONE_YET)
        n = update_geometry(world, state, slope, what, more)
        if n == 0:
            if rubs:
                watch_capstans(ints, floats)
            return
        if rubs:
            sliding = list_sliding(ints, floats, n, memory.TAUT)
        assemble(ints, floats, world, n + sliding, more)
        redundant = factorize(world.matrix, world.factor, n, world.order[3])
        world.head[memory.DEPENDENT] = 1 if redundant else 0
        world.head[memory.INCONSISTENT] = 0
        if redundant:
            world.head[memory.REDUNDANT] = 1
        drift, rushed = lay_right_sides(world, n)
        if redundant:
            solve_redundant(ints, floats, n, what)
        elif what == TAUT_ONLY:
            substitute(world.factor, n, tension, world.order[3])
        else:
            substitute_three(world.factor, n, tension, gap, rate, world.order[3])
        if what != ALIGN:
            if sliding != 0:
                rub(ints, floats, n, sliding, redundant)
                pull_sliding(ints, floats, n, sliding, which_slope)
            for i in range(n):
                k = world.order[0, i]
                world.constraints[k, memory.TENSION] = tension[i]
                pull(ints, floats, world, k, tension[i], slope, memory.D_V, memory.D_OMEGA, more)
            if trees:
                note_power(ints, floats, which_state, which_slope, n)
            elif routes:
                note_winding(ints, floats, n)
            if rubs:
                watch_capstans(ints, floats)
        if what == TAUT_ONLY:
            return
        clear_correction(world)
        for i in range(n):
            k = world.order[0, i]
            pull(ints, floats, world, k, gap[i], correction, memory.D_P, memory.D_THETA, more)
            if what == EVERYTHING:
                pull(ints, floats, world, k, rate[i], state, memory.V, memory.OMEGA, more)
        move(world, state)
        world.head[memory.COARSE] = 1 if drift >= SMALL_DRIFT else 0
        # asked in this order: whether rounding is seen is no decision where no slack cable is near
        if drift < SMALL_DRIFT and not (
            n != world.head[memory.N_CONSTRAINTS]
            and slack_cables_near(world) != 0
            and (drift > SEEN_DRIFT or (which_state == memory.START and rushed > SEEN_RATE))
        ):
            break
    if what == EVERYTHING:
        take_projected_rates(world, state, slope, n)
        if routes:
            take_route_rates(ints, floats, which_state, which_slope, n)
        if trees:
            settle_trees(ints, floats, which_state, which_slope)
