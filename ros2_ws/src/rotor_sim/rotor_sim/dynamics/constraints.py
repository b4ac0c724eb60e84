"""Cables as unilateral constraints d <= l: geometry, the matrix A = D M^-1 D^T, and the pulls.

A cable knows its mechanism only through three things: motion of its two attachment points, the
response of the mechanism to a unit pull there, and the free acceleration there. Everything else
(impact, complementarity, projection) works on A.
"""

from __future__ import annotations

from math import sqrt

from rotor_core._jit import constants, kernel
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
from rotor_sim.dynamics.motion import free_motion
from rotor_sim.model import layout as at

(NONE_YET,) = constants(0)  # a literal 0 would make Numba compile everything below it twice
TAUT_ONLY, EVERYTHING = constants(0, 1)
"""What :func:`evaluate` measures.

Taut cables only (inside a step), or all, with projection (at the end of a step).
"""

COINCIDENT = 1e-12
"""Distance, m, under which the direction of a cable is undefined.

It is slack there and any direction will do.
"""

SINGULAR_PIVOT = 1e-7
"""Relative pivot under which rows of A count as dependent (redundant taut cables)."""

REFINEMENTS = 8
"""Proximal iterations for redundant cables."""

PROJECTIONS = 4
"""Most projections at the end of a step."""

SMALL_DRIFT = 1e-6
"""Drift of a step above which one first-order projection is not enough, m: it leaves drift^2 / d."""

INCONSISTENT_GAP = 1e-7
"""Redundant taut cables whose gaps differ by more than this cannot all be taut, m."""

DEPENDENT_SHIFT = 1e-7
"""Relative diagonal shift for dependent rows.

Rounding in the undetermined direction stays below 1e-16 / 1e-7.
"""


@kernel
def measure(world, k, state, slope):
    """Geometry of cable k in ``state``.

    Direction, gap, gap rate, arms, and d_ddot without pulls (D.4), (D.5), (D.6).
    """
    c = world.cables[k]
    a = world.cable_int[k, at.BODY_A]
    b = world.cable_int[k, at.BODY_B]
    body_a = world.bodies[a]
    body_b = world.bodies[b]
    D = sub(get3(state[b], at.P), get3(state[a], at.P))
    D_dot = sub(get3(state[b], at.V), get3(state[a], at.V))
    D_ddot = sub(get3(slope[b], at.D_V), get3(slope[a], at.D_V))
    if body_b[at.ROTATES] != 0.0:
        R = get9(body_b, at.ROTATION)
        r = get3(c, at.R_B)
        omega = get3(state[b], at.OMEGA)
        v = cross(omega, r)
        D = add(D, apply(R, r))
        D_dot = add(D_dot, apply(R, v))
        D_ddot = add(D_ddot, apply(R, add(cross(get3(slope[b], at.D_OMEGA), r), cross(omega, v))))
    if body_a[at.ROTATES] != 0.0:
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
    if d > COINCIDENT:
        xi = scale(1.0 / d, D)
        along = dot(xi, D_dot)
        swing = (dot(D_dot, D_dot) - along * along) / d
    put3(c, at.XI, xi)
    c[at.DISTANCE] = d
    c[at.GAP] = d - c[at.LENGTH]
    c[at.RATE] = dot(xi, D_dot)
    c[at.FREE] = dot(xi, D_ddot) + swing
    if body_b[at.ROTATES] != 0.0:
        arm = cross(get3(c, at.R_B), apply_transposed(get9(body_b, at.ROTATION), xi))
        put3(c, at.ARM_B, arm)
        put3(c, at.INV_ARM_B, apply(get9(body_b, at.INV_INERTIA), arm))
    if body_a[at.ROTATES] != 0.0:
        arm = cross(get3(c, at.R_A), apply_transposed(get9(body_a, at.ROTATION), xi))
        put3(c, at.ARM_A, arm)
        put3(c, at.INV_ARM_A, apply(get9(body_a, at.INV_INERTIA), arm))


@kernel
def assemble(world, n):
    """A over the n cables listed in ``world.order[0]`` (lower triangle and diagonal), (D.7)."""
    place = world.order[1]
    A = world.matrix
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
        )
    for p in range(world.head[at.N_PAIRS]):
        pair = world.pairs[p]
        i = place[pair[at.PAIR_K]]
        j = place[pair[at.PAIR_J]]
        if i < 0 or j < 0:
            continue
        c = world.cables[pair[at.PAIR_K]]
        e = world.cables[pair[at.PAIR_J]]
        arm = get3(c, at.ARM_B) if pair[at.PAIR_SIDE_K] > 0 else get3(c, at.ARM_A)
        response = get3(e, at.INV_ARM_B) if pair[at.PAIR_SIDE_J] > 0 else get3(e, at.INV_ARM_A)
        shared = world.bodies[pair[at.PAIR_BODY], at.INV_MASS] * dot(
            get3(c, at.XI), get3(e, at.XI)
        ) + dot(arm, response)
        sign = pair[at.PAIR_SIDE_K] * pair[at.PAIR_SIDE_J]
        A[max(i, j), min(i, j)] += sign * shared


@kernel
def factorize(A, L, n):
    """Cholesky factor of the lower triangle of A with the inverse diagonal stored.

    True where rows are dependent.

    Dependent rows (two cables between the same points) get a small relative shift; :func:`solve`
    then refines, which gives the pulls of smallest norm.
    """
    redundant = False
    for attempt in range(2):
        shift = DEPENDENT_SHIFT if attempt == 1 else 0.0
        redundant = attempt == 1
        broken = False
        for j in range(n):
            pivot = A[j, j] * (1.0 + shift)
            for m in range(j):
                pivot -= L[j, m] * L[j, m]
            if attempt == 0 and pivot < SINGULAR_PIVOT * A[j, j]:
                broken = True
                break
            inverse = 1.0 / sqrt(pivot)
            L[j, j] = inverse
            for i in range(j + 1, n):
                value = A[i, j]
                for m in range(j):
                    value -= L[i, m] * L[j, m]
                L[i, j] = value * inverse
        if not broken:
            break
    return redundant


@kernel
def substitute(L, n, x):
    """Solve L L^T x = b in place."""
    for i in range(n):
        value = x[i]
        for m in range(i):
            value -= L[i, m] * x[m]
        x[i] = value * L[i, i]
    for back in range(n):
        i = n - 1 - back
        value = x[i]
        for m in range(i + 1, n):
            value -= L[m, i] * x[m]
        x[i] = value * L[i, i]


@kernel
def solve(A, L, n, redundant, b, x, residual):
    """Solve A x = b with the factor of :func:`factorize`.

    X of smallest norm where rows are dependent.
    """
    for i in range(n):
        x[i] = b[i]
    substitute(L, n, x)
    if not redundant:
        return
    for _ in range(REFINEMENTS):
        for i in range(n):
            value = b[i]
            for j in range(n):
                value -= A[max(i, j), min(i, j)] * x[j]
            residual[i] = value
        substitute(L, n, residual)
        for i in range(n):
            x[i] += residual[i]


@kernel
def pull(world, k, amount, target, linear, angular):
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
    if world.bodies[a, at.ROTATES] != 0.0:
        put3(
            target[a], angular, add(get3(target[a], angular), scale(amount, get3(c, at.INV_ARM_A)))
        )
    if world.bodies[b, at.ROTATES] != 0.0:
        put3(
            target[b], angular, sub(get3(target[b], angular), scale(amount, get3(c, at.INV_ARM_B)))
        )


@kernel
def turn(world, k, amount, state):
    """Move the two bodies of cable k by ``-M^-1 D_k^T amount`` on the group.

    The position part of a projection.
    """
    c = world.cables[k]
    a = world.cable_int[k, at.BODY_A]
    b = world.cable_int[k, at.BODY_B]
    xi = get3(c, at.XI)
    put3(
        state[a], at.P, add(get3(state[a], at.P), scale(amount * world.bodies[a, at.INV_MASS], xi))
    )
    put3(
        state[b], at.P, sub(get3(state[b], at.P), scale(amount * world.bodies[b, at.INV_MASS], xi))
    )
    if world.bodies[a, at.ROTATES] != 0.0:
        q = so3.product(so3.get4(state[a], at.Q), so3.exp(scale(amount, get3(c, at.INV_ARM_A))))
        so3.put4(state[a], at.Q, so3.normalized(q))
    if world.bodies[b, at.ROTATES] != 0.0:
        q = so3.product(so3.get4(state[b], at.Q), so3.exp(scale(-amount, get3(c, at.INV_ARM_B))))
        so3.put4(state[b], at.Q, so3.normalized(q))


@kernel
def measure_all(world, state, slope, what):
    """Measure what ``what`` asks for and list the taut cables in ``world.order[0]``; their number."""
    n = NONE_YET
    for k in range(world.head[at.N_CABLES]):
        taut = world.cable_int[k, at.TAUT] != 0
        if taut or what == EVERYTHING:
            measure(world, k, state, slope)
        if taut:
            world.order[0, n] = k
            n += 1
        else:
            world.cables[k, at.TENSION] = 0.0
    return n


@kernel
def note_inconsistency(world, n):
    """Remember a taut cable whose gap no motion can close: redundant cables of unequal lengths."""
    b = world.small[0]
    x = world.small[1]
    for i in range(n):
        left = b[i]
        for j in range(n):
            left -= world.matrix[max(i, j), min(i, j)] * x[j]
        if abs(left) > INCONSISTENT_GAP:
            world.head[at.INCONSISTENT] = world.order[0, i] + 1


@kernel
def evaluate(world, state, slope, t, what):
    """Slope of the whole mechanism with the taut cables pulling.

    ``A T = d_ddot of free motion`` (D.9).

    Args:
        world: views; the taut set is the integer column TAUT.
        state: (n_bodies + 1, STATE).
        slope: (n_bodies + 1, SLOPE), written.
        t: time, s, for inputs that are functions of time.
        what: TAUT_ONLY; or EVERYTHING, which also measures the slack cables and projects ``state``
            onto the taut constraints (position and velocity, mass-weighted) with the same factor
            (D.10), again where the drift of the step was large.
    """
    b = world.small[0]
    x = world.small[1]
    n = NONE_YET
    for _ in range(PROJECTIONS if what == EVERYTHING else 1):
        free_motion(world, state, slope, t)
        n = measure_all(world, state, slope, what)
        if n == 0:
            return
        assemble(world, n)
        redundant = factorize(world.matrix, world.factor, n)
        drift = 0.0
        for task in range(3 if what == EVERYTHING else 1):
            column = at.FREE if task == 0 else (at.GAP if task == 1 else at.RATE)
            for i in range(n):
                b[i] = world.cables[world.order[0, i], column]
                if task == 1:
                    drift = max(drift, abs(b[i]))
            solve(world.matrix, world.factor, n, redundant, b, x, world.small[2])
            if redundant and task == 1:
                note_inconsistency(world, n)
            for i in range(n):
                k = world.order[0, i]
                if task == 0:
                    world.cables[k, at.TENSION] = x[i]
                    pull(world, k, x[i], slope, at.D_V, at.D_OMEGA)
                elif task == 1:
                    turn(world, k, x[i], state)
                else:
                    pull(world, k, x[i], state, at.V, at.OMEGA)
        if drift < SMALL_DRIFT:
            break
    if what == EVERYTHING:
        for i in range(n):
            k = world.order[0, i]
            for side in range(2):
                b_row = world.cable_int[k, at.BODY_A + side]
                put3(slope[b_row], at.D_P, get3(state[b_row], at.V))
                put3(slope[b_row], at.D_THETA, get3(state[b_row], at.OMEGA))
