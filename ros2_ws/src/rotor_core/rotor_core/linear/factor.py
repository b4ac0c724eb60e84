"""Small symmetric systems A x = b: one factor, several right sides, and dependent rows.

A is positive semidefinite, given by its lower triangle.
"""

from __future__ import annotations

from rotor_core._jit import inlined

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


@inlined
def factorize(A, L, n):
    """A = L D L^T from the lower triangle of A: L below the diagonal, 1/D on it, L D above.

    True where rows are dependent. (Square roots of a Cholesky factor would cost more than all else.)

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
                pivot -= L[m, j] * L[j, m]
            if attempt == 0 and pivot < SINGULAR_PIVOT * A[j, j]:
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
def substitute(L, n, x):
    """Solve L D L^T x = b in place. The newest entry stays in a register: the next one waits for it."""
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
def substitute_three(L, n, x, y, z):
    """:func:`substitute` for three right sides at once: they do not wait for each other."""
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
