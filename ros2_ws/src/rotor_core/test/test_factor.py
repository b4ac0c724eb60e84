"""Large symmetric systems in groups: the envelope against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.kernels.jit import kernel
from rotor_core.math.factor import SMALL, factorize, solve


@kernel
def solved(A, L, n, b, x, residual, low):
    redundant = factorize(A, L, n, low)
    solve(A, L, n, redundant, b, x, residual, low)
    return redundant


def grouped(rng, sizes, shuffled):
    """A positive definite matrix whose groups know nothing of each other, and its envelope."""
    n = sum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    if shuffled:
        rng.shuffle(group)
    A = np.zeros((n, n))
    for g in range(len(sizes)):
        rows = np.flatnonzero(group == g)
        B = rng.normal(size=(len(rows), len(rows) + 3))
        A[np.ix_(rows, rows)] = B @ B.T + 0.1 * np.eye(len(rows))
    first = np.array([np.flatnonzero(group == g)[0] for g in group])
    low = np.minimum.accumulate(first[::-1])[::-1].astype(np.int64)
    return A, low


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=9), st.booleans(), st.integers(0, 2**32 - 1)
)
def test_groups_are_solved_within_their_envelope(sizes, shuffled, seed):
    rng = np.random.default_rng(seed)
    A, low = grouped(rng, sizes, shuffled)
    n = len(A)
    b, x = rng.normal(size=n), np.empty(n)
    L = np.full((n, n), np.nan)  # what lies outside the envelope must not be read
    lower = np.tril(A)
    assert not solved(lower, L, n, b, x, np.empty(n), low)
    np.testing.assert_allclose(A @ x, b, atol=1e-12 * np.linalg.cond(A) * np.abs(b).max())


@pytest.mark.parametrize("groups", [1, 4])
def test_dependent_rows_give_the_smallest_norm(groups):
    """Each group has one row twice: the solution is that of the pseudo-inverse."""
    rng = np.random.default_rng(3)
    size = 2 * SMALL // groups
    n = size * groups
    A, low = np.zeros((n, n)), np.zeros(n, np.int64)
    b = np.zeros(n)
    for g in range(groups):
        rows = slice(g * size, (g + 1) * size)
        J = rng.normal(size=(size, size + 5))
        J[-1] = J[0]
        A[rows, rows] = J @ J.T
        b[rows] = J @ rng.normal(size=size + 5)  # rows that agree with each other
        low[rows] = g * size
    x = np.empty(n)
    assert solved(np.tril(A), np.zeros((n, n)), n, b, x, np.empty(n), low)
    np.testing.assert_allclose(x, np.linalg.pinv(A, rcond=1e-9) @ b, rtol=1e-6, atol=1e-9)
