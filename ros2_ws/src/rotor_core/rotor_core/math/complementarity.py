"""Linear complementarity.

Find z >= 0 with w = A z - b >= 0 and z_i w_i = 0, A symmetric positive (semi)definite; for rows that are equations z
with w_i = 0.

Block principal pivoting with a single-index fall-back, which cannot cycle where A is positive
definite. Source: Judice and Pires,
A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems, 1994. Equation (H.3).
"""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.kernels.link import FLOAT, FLOATS, INT, INTS, ROWS, linked
from rotor_core.math.factor import DEPENDENT_SHIFT, factorize, substitute

(NONE_YET,) = constants(0)

PATIENCE = 3
"""Block exchanges without progress before one index at a time is exchanged."""

RELATIVE_ZERO = 1e-12
"""Entries of z and w below this fraction of the right side count as zero."""


SOLVED = 1e-6
"""Residual of active rows below which they count as solved, relative to the right side."""

PROXIMAL_STEPS = 30
"""Most solutions of the problem with a raised diagonal, each nearer to one of the problem itself."""

(ALWAYS,) = constants(2)
"""Mark of a row that is an equation."""

DEPENDENT = -2
"""Result of :func:`pivot` where active rows are dependent."""


@linked(
    ROWS,
    FLOATS,
    INT,
    FLOAT,
    FLOATS,
    FLOAT,
    FLOATS,
    FLOATS,
    INTS,
    INTS,
    INTS,
    INTS,
    ROWS,
    ROWS,
    ROWS,
    returns=INT,
)
def pivot(A, b, n, shift, before, zero, z, w, inside, place, low, low_block, block, L, vectors):
    """Block principal pivoting from the active set ``inside``, for ``A + D`` and ``b + D before``.

    D is the diagonal of A times ``shift``; without a shift the attempt ends where active rows are
    dependent. ``w`` is that of the problem that is solved.

    Returns:
        Number of exchanges, -1 (no solution found) or DEPENDENT.
    """
    best = n + 1
    patience = PATIENCE
    for exchange in range(20 + 10 * n * n):
        m = NONE_YET
        for i in range(n):
            if inside[i] != 0:
                place[m] = i
                m += 1
        for i in range(m):
            p = place[i]
            for j in range(i + 1):
                block[i, j] = A[p, place[j]]
            vectors[0, i] = b[p]
            if shift != 0.0:
                block[i, i] *= 1.0 + shift
                vectors[0, i] += shift * A[p, p] * before[p]
            first = i
            while first > 0 and place[first - 1] >= low[p]:
                first -= 1
            low_block[i] = first
        redundant = factorize(block, L, m, low_block)
        if redundant and shift == 0.0:
            return DEPENDENT
        if m > 0:
            substitute(L, m, vectors[0], low_block)
        for i in range(n):
            z[i] = 0.0
        for i in range(m):
            z[place[i]] = vectors[0, i]
        wrong = 0
        last = -1
        for i in range(n):
            value = -b[i]
            for j in range(m):
                value += A[max(i, place[j]), min(i, place[j])] * z[place[j]]
            if shift != 0.0:
                value += shift * A[i, i] * (z[i] - before[i])
            w[i] = value
            if (inside[i] == 1 and z[i] < -zero) or (inside[i] == 0 and value < -zero):
                wrong += 1
                last = i
        if wrong == 0:
            return exchange
        single = False
        if wrong < best:
            best = wrong
            patience = PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            single = True
        for i in range(n):
            if (inside[i] == 1 and z[i] < -zero) or (inside[i] == 0 and w[i] < -zero):
                if not single or i == last:
                    inside[i] = 1 - inside[i]
    return -1


@linked(ROWS, FLOATS, INT, FLOATS, FLOATS, INTS, INTS, INTS, INTS, ROWS, ROWS, ROWS, returns=INT)
def solve_complementarity(A, b, n, z, w, inside, place, low, low_block, block, L, vectors):
    """Solve the problem for the first n rows of A (lower triangle).

    Where rows are dependent, pulls are not unique: the diagonal is raised, which makes them so, and the
    solution is refined by proximal steps (Rockafellar 1976), which lead to one of the problem itself,
    near the one of smallest norm.

    Args:
        A: (>= n, >= n), lower triangle and diagonal.
        b: right side, (>= n,).
        n: size.
        z, w: solution and slack, written.
        inside: (>= n,); ALWAYS where z may have any sign and w is zero (an equation); ends as 0 where the constraint is
            not active.
        place: integer scratch, (>= n,).
        low: envelope of A (:mod:`rotor_core.math.factor`), (>= n,).
        low_block: integer scratch, (>= n,).
        block, L: scratch of the shape of A.
        vectors: scratch, three rows of length >= n.

    Returns:
        Number of exchanges, or -1 if none of them led to a solution.
    """
    largest = 0.0
    before = vectors[2]
    for i in range(n):
        inside[i] = ALWAYS if inside[i] == ALWAYS else 1
        before[i] = 0.0
        largest = max(largest, abs(b[i]))
    zero = RELATIVE_ZERO * largest
    exchanges = pivot(
        A, b, n, 0.0, before, zero, z, w, inside, place, low, low_block, block, L, vectors
    )
    if exchanges == DEPENDENT:
        for i in range(n):
            inside[i] = max(inside[i], 1)
        exchanges = 0
        for _ in range(PROXIMAL_STEPS):
            found = pivot(
                A, b, n, DEPENDENT_SHIFT, before, zero, z, w, inside, place, low, low_block,
                block, L, vectors,
            )  # fmt: skip
            if found < 0:
                return -1
            exchanges += found
            moved = 0.0
            for i in range(n):
                moved = max(moved, DEPENDENT_SHIFT * A[i, i] * abs(z[i] - before[i]))
                before[i] = z[i]
            if moved <= zero:
                break
        for i in range(n):  # of the problem itself
            value = -b[i]
            for j in range(n):
                value += A[max(i, j), min(i, j)] * z[j]
            w[i] = value
    if exchanges < 0:
        return exchanges
    for i in range(n):
        if inside[i] != 0 and abs(w[i]) > SOLVED * largest:
            return -1  # dependent rows that contradict each other
    for i in range(n):
        if inside[i] != 0:
            w[i] = 0.0
            if inside[i] != ALWAYS:
                z[i] = max(z[i], 0.0)
    return exchanges
