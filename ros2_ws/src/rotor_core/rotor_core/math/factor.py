"""Small symmetric systems A x = b: one factor, several right sides, and dependent rows.

A is positive semidefinite, given by its lower triangle. Where unknowns come in groups that know nothing
of each other, rows have an envelope: ``low[i]``, which never falls with i, is a column before which row i
is zero. Larger systems are solved within it (Jennings 1966): with groups of equal size the cost grows with
the unknowns, not with their cube.
"""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLAG, FLOAT, FLOATS, INT, INTS, ROWS, linked
from rotor_core.numbers.lanes import possibly

SINGULAR_PIVOT = 1e-10
"""Relative pivot under which rows of A count as dependent (redundant taut cables).

Above it tensions lose at most ten of sixteen digits.
"""

REFINEMENTS = 8
"""Proximal iterations for redundant cables."""

DEPENDENT_SHIFT = 1e-6
"""Relative diagonal shift for dependent rows.

Rounding in the undetermined direction stays below 1e-16 / 1e-6.
"""


SMALL = 8
"""Up to so many unknowns the plain loops below are fastest, and envelopes are not looked at."""


@linked(ROWS, ROWS, INT, INTS, returns=FLAG, part="large teams")
def factorize_large(A, L, n, low):
    """As :func:`factorize`, within the envelope, with inner loops along rows, which run on vectors."""
    redundant = False
    for attempt in range(2):
        shift = DEPENDENT_SHIFT if attempt == 1 else 0.0
        redundant = attempt == 1
        broken = False
        end = 0
        for j in range(n):
            while end < n and low[end] <= j:
                end += 1
            for i in range(j, end):
                L[j, i] = A[i, j]
            L[j, j] = A[j, j] * (1.0 + shift)
            reach = j  # rows from here on do not begin by column m
            for m in range(low[j], j):
                entry = L[j, m]
                while reach < end and low[reach] <= m:
                    reach += 1
                for i in range(j, reach):
                    L[j, i] -= L[m, i] * entry
            if attempt == 0 and L[j, j] < SINGULAR_PIVOT * A[j, j]:
                broken = True
                break
            inverse = 1.0 / L[j, j]
            L[j, j] = inverse
            for i in range(j + 1, end):
                L[i, j] = L[j, i] * inverse
        if not broken:
            break
    return redundant


@linked(ROWS, INT, FLOATS, INTS, part="large teams")
def substitute_large(L, n, x, low):
    """As :func:`substitute`, within the envelope."""
    for i in range(n):
        value = x[i]
        for m in range(low[i], i):
            value -= L[i, m] * x[m]
        x[i] = value
    for i in range(n):
        x[i] *= L[i, i]
    for back in range(n):
        i = n - 1 - back
        value = x[i]
        for m in range(low[i], i):
            x[m] -= L[i, m] * value


@inlined
def factorize(A, L, n, low):
    """A = L D L^T from the lower triangle of A: L below the diagonal, 1/D on it, L D above.

    True where rows are dependent. (Square roots of a Cholesky factor would cost more than all else.)

    Dependent rows (two cables between the same points) get a small relative shift; :func:`solve`
    then refines, which gives the pulls of smallest norm.
    """
    return factorize_large(A, L, n, low) if n > SMALL else factorize_small(A, L, n)


@inlined
def factorize_small(A, L, n):
    """:func:`factorize` without a look at the envelope. In lanes: all of them are shifted where rows of one depend."""
    redundant = False
    for attempt in range(2):
        shift = DEPENDENT_SHIFT if attempt == 1 else 0.0
        redundant = attempt == 1
        broken = False
        for j in range(n):
            pivot = A[j, j] * (1.0 + shift)
            for m in range(j):
                pivot -= L[m, j] * L[j, m]
            if attempt == 0 and possibly(pivot < SINGULAR_PIVOT * A[j, j]):
                broken = True
                break
            inverse = 1.0 / pivot
            L[j, j] = inverse
            for i in range(j + 1, n):
                value = A[i, j]
                for m in range(j):
                    value -= L[m, i] * L[j, m]
                L[j, i] = value
                L[i, j] = value * inverse
        if not broken:
            break
    return redundant


@inlined
def substitute(L, n, x, low):
    """Solve L D L^T x = b in place. The newest entry stays in a register: the next one waits for it."""
    if n > SMALL:
        substitute_large(L, n, x, low)
    else:
        substitute_small(L, n, x)


@inlined
def substitute_small(L, n, x):
    """:func:`substitute` without a look at the envelope."""
    newest = x[0]
    for i in range(1, n):
        value = x[i]
        for m in range(i - 1):
            value -= L[i, m] * x[m]
        newest = value - L[i, i - 1] * newest
        x[i] = newest
    newest = x[n - 1] * L[n - 1, n - 1]
    x[n - 1] = newest
    for back in range(1, n):
        i = n - 1 - back
        value = x[i] * L[i, i]
        for m in range(i + 2, n):
            value -= L[m, i] * x[m]
        newest = value - L[i + 1, i] * newest
        x[i] = newest


@inlined
def substitute_three(L, n, x, y, z, low):
    """:func:`substitute` for three right sides at once: they do not wait for each other."""
    if n > SMALL:
        substitute_large(L, n, x, low)
        substitute_large(L, n, y, low)
        substitute_large(L, n, z, low)
    else:
        substitute_three_small(L, n, x, y, z)


@inlined
def substitute_three_small(L, n, x, y, z):
    """:func:`substitute_three` without a look at the envelope."""
    for i in range(1, n):
        p, q, r = x[i], y[i], z[i]
        for m in range(i):
            entry = L[i, m]
            p -= entry * x[m]
            q -= entry * y[m]
            r -= entry * z[m]
        x[i], y[i], z[i] = p, q, r
    for back in range(n):
        i = n - 1 - back
        p, q, r = x[i] * L[i, i], y[i] * L[i, i], z[i] * L[i, i]
        for m in range(i + 1, n):
            entry = L[m, i]
            p -= entry * x[m]
            q -= entry * y[m]
            r -= entry * z[m]
        x[i], y[i], z[i] = p, q, r


@inlined
def remainder(A, n, b, x, residual):
    """``b - A x``, from the lower triangle of A."""
    for i in range(n):
        value = b[i]
        for j in range(n):
            value -= A[max(i, j), min(i, j)] * x[j]
        residual[i] = value


@inlined
def solve(A, L, n, redundant, b, x, residual, low):
    """Solve A x = b with the factor of :func:`factorize`.

    X of smallest norm where rows are dependent.
    """
    for i in range(n):
        x[i] = b[i]
    substitute(L, n, x, low)
    if not redundant:
        return
    for _ in range(REFINEMENTS):
        remainder(A, n, b, x, residual)
        substitute(L, n, residual, low)
        for i in range(n):
            x[i] += residual[i]


@inlined
def eliminate(rows, first, n, x):
    """Solve a small system without symmetry, in place: Gauss with the largest pivot of each column.

    The matrix stands in columns ``first`` to ``first + n`` of the first n ``rows``; x is the right side, then the
    solution.
    """
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if abs(rows[i, first + j]) > abs(rows[best, first + j]):
                best = i
        if best != j:
            for m in range(j, n):
                rows[j, first + m], rows[best, first + m] = (
                    rows[best, first + m],
                    rows[j, first + m],
                )
            x[j], x[best] = x[best], x[j]
        for i in range(j + 1, n):
            share = rows[i, first + j] / rows[j, first + j]
            for m in range(j, n):
                rows[i, first + m] -= share * rows[j, first + m]
            x[i] -= share * x[j]
    for back in range(n):
        j = n - 1 - back
        for m in range(j + 1, n):
            x[j] -= rows[j, first + m] * x[m]
        x[j] /= rows[j, first + j]


@linked(ROWS, ROWS, ROWS, INT, FLOAT, FLOATS, FLOATS, FLOATS, INTS, part="settling cables")
def solve_shifted(A, L, block, n, shift, b, x, residual, low):
    """Solve A x = b with the diagonal raised by the share ``shift``, and refine.

    What the matrix hardly answers (eigenvalues far below the shift) stays as it is, in ``residual``.
    """
    for i in range(n):
        for j in range(i):
            block[i, j] = A[i, j]
        block[i, i] = A[i, i] * (1.0 + shift)
        x[i] = 0.0
        residual[i] = b[i]
    factorize(block, L, n, low)
    for _ in range(REFINEMENTS):
        substitute(L, n, residual, low)
        for i in range(n):
            x[i] += residual[i]
        remainder(A, n, b, x, residual)
