"""Rotations: group axioms, exponential against the matrix exponential, dexp against differences."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import qmult, quat2mat

from rotor_core.kernels.jit import COMPILED
from rotor_core.math import small_angle as small_angle_module
from rotor_core.math import so3 as so3_module
from rotor_core.math import vec3 as vec3_module
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.math.rotations import body_axes, rotation_matrices


class Reachable:
    """The functions of a module: what is always inlined has no entry from Python of its own."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        function = getattr(self._module, name)
        if COMPILED and hasattr(function, "py_func"):
            import numba

            inner = function
            function = numba.njit(lambda *a: inner(*a), error_model="numpy")
            setattr(self, name, function)
        return function


small_angle, so3, vec3 = map(Reachable, (small_angle_module, so3_module, vec3_module))

settings.register_profile("kernels", deadline=None)  # a kernel compiles at its first call
settings.load_profile("kernels")
vectors = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def unit(q):
    return tuple(np.array(q) / np.linalg.norm(q))


@given(vectors, vectors, vectors)
def test_group_axioms(a, b, c):
    p, q, r = so3.exp(a), so3.exp(b), so3.exp(c)
    np.testing.assert_allclose(
        so3.product(so3.product(p, q), r), so3.product(p, so3.product(q, r)), atol=1e-14
    )
    np.testing.assert_allclose(
        so3.product(p, so3.exp(tuple(-x for x in a))), so3.IDENTITY, atol=1e-14
    )
    np.testing.assert_allclose(so3.product(p, q), qmult(p, q), atol=1e-15)
    R = np.array(so3.matrix(p)).reshape(3, 3)
    np.testing.assert_allclose(R, quat2mat(p), atol=1e-14)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)


@pytest.mark.parametrize(
    "angle", [0.0, 1e-12, 1e-8, 1e-4, 0.1, 0.399, 0.4, 0.401, 1.0, 3.0, np.pi - 1e-9, np.pi, 5.0]
)
def test_exponential_on_both_sides_of_the_switch(angle):
    """The series ends at a half angle of 0.2, an angle of 0.4."""
    axis = np.array([0.6, -0.48, 0.64])
    q = so3.exp(tuple(angle * axis))
    expected = scipy.linalg.expm(skew(angle * axis))
    np.testing.assert_allclose(np.array(so3.matrix(q)).reshape(3, 3), expected, atol=5e-15)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=4e-16)


@given(vectors, st.sampled_from([1e-12, 1e-6, 1.0]), st.sampled_from([1.0, -1.0]))
def test_logarithm_is_that_of_scipy(theta, share, sign):
    """Of a quaternion and its negative, which is the same rotation; near half a turn its sign is rounding."""
    q = sign * np.array(so3.exp(tuple(share * x for x in theta)))
    assume(abs(q[0]) > 1e-6)
    expected = rotation_from(q).as_rotvec()
    np.testing.assert_allclose(so3.log(tuple(q)), expected, atol=1e-14, rtol=1e-14)


@given(st.floats(0.0, 0.3))
def test_series_equals_functions(s):
    c, k = small_angle.cos_sinc(s * s)
    assert c == pytest.approx(np.cos(s), abs=2e-16)
    assert k == pytest.approx(np.sinc(s / np.pi), abs=3e-16)


@pytest.mark.parametrize("size", [1e-3, 3e-3, 1e-2])
def test_dexp_inverse_is_the_rate_of_the_rotation_vector(size):
    """q0 exp(theta(t)) with theta_dot = dexp_inverse(theta, omega) turns with body rate omega.

    Error of order size^4.
    """
    theta, omega = size * np.array([0.3, -0.9, 0.4]), np.array([1.2, 0.7, -0.5])
    rate = np.array(so3.dexp_inverse(tuple(theta), tuple(omega)))
    h = 1e-6
    before, after = (np.array(so3.exp(tuple(theta + s * h * rate))) for s in (-1, 1))
    conjugate = np.array(so3.exp(tuple(-theta)))
    body_rate = 2.0 * np.array(qmult(conjugate, (after - before) / (2 * h)))[1:]
    np.testing.assert_allclose(body_rate, omega, atol=size**4 + 3e-10)


@given(vectors, vectors)
def test_vector_tuples_agree_with_numpy(a, b):
    np.testing.assert_allclose(vec3.cross(a, b), np.cross(a, b), atol=1e-15)
    assert vec3.dot(a, b) == pytest.approx(np.dot(a, b), abs=1e-14)
    m = tuple(np.arange(9.0) - 4.0)
    M = np.array(m).reshape(3, 3)
    np.testing.assert_allclose(vec3.apply(m, a), M @ a, atol=1e-13)
    np.testing.assert_allclose(vec3.apply_transposed(m, a), M.T @ a, atol=1e-13)
    np.testing.assert_allclose(
        np.array(vec3.transposed_product(m, m)).reshape(3, 3), M.T @ M, atol=1e-12
    )
    np.testing.assert_allclose(vec3.column(m, 1), M[:, 1])


@given(st.lists(st.tuples(*[st.floats(-10.0, 10.0)] * 7), max_size=5))
def test_rotations_of_many_bodies_are_those_of_scipy(rows):
    rows = np.array(rows).reshape(-1, 7)
    rows = rows[np.linalg.norm(rows[:, :4], axis=1) > 1e-3]  # need not be unit quaternions
    q, v = rows[:, :4], rows[:, 4:]
    R = rotation_from(q).as_matrix() if len(q) else np.zeros((0, 3, 3))
    assert np.allclose(rotation_matrices(q), R, atol=1e-14)
    assert np.allclose(body_axes(q, v), np.einsum("nji,nj->ni", R, v), atol=1e-13)
