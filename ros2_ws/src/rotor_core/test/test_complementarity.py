"""Block pivoting against enumeration of all active sets."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.math.complementarity import solve_complementarity


def pivot(A, b):
    n = len(b)
    z, w = np.zeros(n), np.zeros(n)
    inside, place, low, low_block = np.zeros((4, n), np.int64)
    exchanges = solve_complementarity(
        np.tril(A),
        b,
        n,
        z,
        w,
        inside,
        place,
        low,
        low_block,
        np.zeros((n, n)),
        np.zeros((n, n)),
        np.zeros((3, n)),
    )
    return exchanges, z, w


def enumerate_sets(A, b):
    n = len(b)
    for size in range(n + 1):
        for active in itertools.combinations(range(n), size):
            z = np.zeros(n)
            if active:
                z[list(active)] = np.linalg.solve(A[np.ix_(active, active)], b[list(active)])
            w = A @ z - b
            if np.all(z >= -1e-11) and np.all(w >= -1e-11):
                return z
    raise AssertionError("no solution")


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(-0.9, 3.0))
def test_agrees_with_enumeration(n, seed, coupling):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n + 2)) + coupling
    A = B @ B.T + 0.05 * np.eye(n)
    b = rng.normal(0.3, 1.0, n)
    exchanges, z, w = pivot(A, b)
    assert exchanges >= 0
    assert np.all(z >= 0.0) and np.all(w >= -1e-12 * np.max(np.abs(b)))
    np.testing.assert_allclose(z, enumerate_sets(A, b), atol=1e-9 * (1.0 + np.max(np.abs(z))))


def test_twelve_cables():
    rng = np.random.default_rng(0)
    for _ in range(200):
        G = rng.normal(size=(12, 6))
        A = np.diag(rng.uniform(1, 4, 12)) + G @ G.T
        b = rng.normal(0.5, 1.0, 12)
        exchanges, z, w = pivot(A, b)
        assert 0 <= exchanges <= 40
        np.testing.assert_allclose(A @ z - b, w, atol=1e-11)
        assert abs(z @ w) < 1e-10


def test_dependent_rows_give_equal_shares():
    A = np.ones((3, 3))
    exchanges, z, _ = pivot(A, np.full(3, 2.0))
    assert exchanges >= 0
    np.testing.assert_allclose(z, 2.0 / 3.0, rtol=1e-8)
