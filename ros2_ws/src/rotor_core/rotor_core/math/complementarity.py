"""Linear complementarity.

Find z >= 0 with w = A z - b >= 0 and z_i w_i = 0, A symmetric positive (semi)definite.

Block principal pivoting with a single-index fall-back, which cannot cycle where A is positive
definite. Source: Judice and Pires,
A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems, 1994. Equation (H.3).
"""

from __future__ import annotations

from rotor_core._jit import kernel
from rotor_core.math.factor import factorize, solve

PATIENCE = 3
"""Block exchanges without progress before one index at a time is exchanged."""

RELATIVE_ZERO = 1e-12
"""Entries of z and w below this fraction of the right side count as zero."""


SOLVED = 1e-6
"""Residual of active rows below which they count as solved, relative to the right side."""


@kernel
def solve_complementarity(A, b, n, z, w, inside, place, low, low_block, block, L, vectors):
    """Solve the problem for the first n rows of A (lower triangle).

    Args:
        A: (>= n, >= n), lower triangle and diagonal.
        b: right side, (>= n,).
        n: size.
        z, w: solution and slack, written.
        inside, place: integer scratch, (>= n,); ``inside[i]`` ends as 1 where the constraint is
            active.
        low: envelope of A (:mod:`rotor_core.math.factor`), (>= n,).
        low_block: integer scratch, (>= n,).
        block, L: scratch of the shape of A.
        vectors: scratch, three rows of length >= n.

    Returns:
        Number of exchanges, or -1 if none of them led to a solution.
    """
    largest = 0.0
    for i in range(n):
        inside[i] = 1
        largest = max(largest, abs(b[i]))
    zero = RELATIVE_ZERO * largest
    best = n + 1
    patience = PATIENCE
    for exchange in range(20 + 10 * n * n):
        m = 0
        for i in range(n):
            if inside[i] != 0:
                place[m] = i
                m += 1
        for i in range(m):
            for j in range(i + 1):
                block[i, j] = A[place[i], place[j]]
            vectors[0, i] = b[place[i]]
            first = i
            while first > 0 and place[first - 1] >= low[place[i]]:
                first -= 1
            low_block[i] = first
        redundant = factorize(block, L, m, low_block)
        if m > 0:
            solve(block, L, m, redundant, vectors[0], vectors[1], vectors[2], low_block)
        for i in range(n):
            z[i] = 0.0
        for i in range(m):
            z[place[i]] = vectors[1, i]
        wrong = 0
        last = -1
        for i in range(n):
            value = -b[i]
            for j in range(m):
                value += A[max(i, place[j]), min(i, place[j])] * z[place[j]]
            w[i] = value
            if (inside[i] != 0 and z[i] < -zero) or (inside[i] == 0 and value < -zero):
                wrong += 1
                last = i
        if wrong == 0:
            for i in range(n):
                if inside[i] != 0 and abs(w[i]) > SOLVED * largest:
                    return -1  # dependent rows that contradict each other
            for i in range(n):
                if inside[i] != 0:
                    w[i] = 0.0
                    z[i] = max(z[i], 0.0)
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
            if (inside[i] != 0 and z[i] < -zero) or (inside[i] == 0 and w[i] < -zero):
                if not single or i == last:
                    inside[i] = 1 - inside[i]
    return -1
