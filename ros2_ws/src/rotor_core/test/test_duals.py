"""Duals: values are those of numbers, derivatives those of complex steps."""

import cmath
from math import (
    acos,
    asin,
    atan,
    atan2,
    ceil,
    copysign,
    cos,
    exp,
    floor,
    hypot,
    isfinite,
    isnan,
    log,
    sin,
    sqrt,
    tan,
    tanh,
)  # fmt: skip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.kernels.jit import COMPILED, kernel
from rotor_core.numbers.derivatives import counts
from rotor_core.numbers.duals import DIRECTIONS, WIDTH, constant_duals, duals, empty_duals
from rotor_core.numbers.lanes import choose
from rotor_core.numbers.packing import Packed

pytestmark = pytest.mark.skipif(not COMPILED, reason="duals are of compiled kernels")


@kernel
def smooth(x, y, out):
    """Everything that has a derivative everywhere in the quadrant of the test."""
    results = (
        x + y, x - y, x * y, x / y, -x, sqrt(x), exp(-x), log(x), sin(x), cos(y), tan(0.3 * x), tanh(y), atan(x),
        asin(0.1 * x), acos(0.1 * y), atan2(x, y), hypot(x, y), x**y, x**2, 2.0 * x, x / 3, 1.0 - y, 3 - x, 2.0**x,
    )  # fmt: skip
    for i in range(24):
        out[i] = results[i]
    out[24] = 1.0
    out[24] *= y
    out[25] = 0.0
    for i in range(4):
        out[25] += out[i] * i


def by_complex_steps(x, y):
    """The same of complex numbers, with the functions of ``cmath``."""
    c = cmath
    out = [
        x + y, x - y, x * y, x / y, -x, c.sqrt(x), c.exp(-x), c.log(x), c.sin(x), c.cos(y), c.tan(0.3 * x), c.tanh(y),
        c.atan(x), c.asin(0.1 * x), c.acos(0.1 * y), c.atan(x / y), c.sqrt(x * x + y * y), c.exp(y * c.log(x)), x * x,
        2.0 * x, x / 3.0, 1.0 - y, 3.0 - x, c.exp(x * c.log(2.0)), y,
    ]  # fmt: skip
    return [*out, sum(out[i] * i for i in range(4))]


@kernel
def smooth_duals(given, out):
    given, out = duals((given, out))
    smooth(given[0], given[1], out)


POSITIVE = st.floats(0.05, 5.0)


@settings(max_examples=200, deadline=None)
@given(
    POSITIVE,
    POSITIVE,
    st.lists(st.floats(-3.0, 3.0), min_size=2 * DIRECTIONS, max_size=2 * DIRECTIONS),
)
def test_derivatives_are_those_of_complex_steps(x, y, along):
    given_, out, alone = constant_duals(np.array([x, y])), empty_duals((26,)), np.zeros(26)
    given_[:, 1:] = np.reshape(along, (2, -1))
    smooth_duals(given_, out)
    smooth(x, y, alone)
    # numbers may be contracted to fused products where duals are not
    np.testing.assert_allclose(out[:, 0], alone, rtol=1e-14, atol=1e-14)
    step = 1e-30
    for k in range(1, WIDTH):
        there = by_complex_steps(x + 1j * step * given_[0, k], y + 1j * step * given_[1, k])
        true = np.imag(there) / step
        np.testing.assert_allclose(
            out[:, k], true, rtol=2e-13, atol=1e-13 * (1.0 + np.abs(alone).max())
        )


@kernel
def decide(x, y, out):
    """What is decided by values, and the derivative of what was chosen."""
    flags = (
        x < y, x <= y, x > y, x >= y, x == y, x != y, isfinite(x / y), isnan(x - x),
    )  # fmt: skip
    for i in range(8):
        out[i] = 1.0 if flags[i] else 0.0
    results = (
        abs(x), min(x, y), max(x, y), max(x, y, 1.0), min(1.0, x), copysign(x, y), choose(x < y, x, 2.0),
        choose(x < y, 1, y),
    )  # fmt: skip
    for i in range(8):
        out[8 + i] = results[i]
    if isfinite(x) and isfinite(y):
        out[16], out[17], out[18], out[19] = ceil(x), floor(y), int(x), round(y)


@kernel
def decide_duals(given, out):
    given, out = duals((given, out))
    decide(given[0], given[1], out)


@kernel
def ask(given, out):
    given, out = duals((given, out))
    for i in range(4):
        out[i] = 1.0 if counts(given[i]) else 0.0


@pytest.mark.parametrize("direction", range(1, WIDTH))
def test_a_zero_with_a_derivative_counts(direction):
    given_, out = empty_duals((4,)), empty_duals((4,))
    given_[1, 0], given_[2, direction], given_[3, direction] = 2.0, -1e-300, np.nan
    ask(given_, out)
    assert out[:, 0].tolist() == [0.0, 1.0, 1.0, 1.0]


@settings(max_examples=200, deadline=None)
@given(*[st.one_of(st.floats(-5.0, 5.0), st.sampled_from([0.0, 1.0, np.inf, np.nan]))] * 2)
def test_decisions_are_those_of_numbers(x, y):
    given_, out, alone = constant_duals(np.array([x, y])), empty_duals((20,)), np.zeros(20)
    given_[0, 1], given_[1, 2] = 1.0, 1.0
    decide_duals(given_, out)
    decide(x, y, alone)
    np.testing.assert_array_equal(out[:, 0], alone)
    if not (np.isfinite([x, y]).all() and x and y and x != y and 1.0 not in (x, y)):
        return
    along_x = np.array([
        np.sign(x), x < y, x > y, x > max(y, 1.0), x < 1.0, np.sign(x) * np.sign(y), x < y, 0, 0, 0, 0, 0,
    ])  # fmt: skip
    along_y = np.array([0, y < x, y > x, y > max(x, 1.0), 0, 0, 0, not x < y, 0, 0, 0, 0])
    np.testing.assert_array_equal(out[8:, 1], along_x)
    np.testing.assert_array_equal(out[8:, 2], along_y)
    assert not out[8:, 3:].any()


@kernel
def norm_times_itself(given, out):
    given, out = duals((given, out))
    x, y = given[0], given[1]
    out[0] = x * sqrt(x * x + y * y)
    out[1] = sqrt(x)


def test_what_stands_still_has_a_drag_whose_slope_is_zero():
    """The root of zero: no derivative of something that changes, zero of |v| v."""
    given_, out = empty_duals((2,)), empty_duals((2,))
    given_[0, 1] = given_[1, 2] = 1.0
    norm_times_itself(given_, out)
    np.testing.assert_array_equal(out[0], 0.0)
    assert out[1, 1] == np.inf and not out[1, 2:].any()


def test_arrays_that_share_memory_share_it_as_duals():
    whole, other, flags = np.arange(12.0).reshape(4, 3), np.ones(2), np.array([1, 2])
    tree = (whole, (whole[1:3], 5, flags), other, np.zeros((0, 3)))
    packed = Packed(tree)
    part = packed.of(whole[1:3, 1:])  # what is looked at may be cut in any way
    np.testing.assert_array_equal(part[..., 0], whole[1:3, 1:])
    packed.tree[0][2, 1, 3] = 7.0
    assert part[1, 0, 3] == 7.0 and packed.of(whole[2])[1, 3] == 7.0
    packed.tree[0][2, 1, 0] = -1.0
    packed.copy_of(flags)[0] = 9
    assert whole[2, 1] == 7.0 and flags[0] == 1
    packed.put_back()
    assert whole[2, 1] == -1.0 and flags[0] == 9
    there = np.zeros((4, 3)), (np.zeros((2, 3)), 5, np.zeros(2, int))
    packed.put_into(there, 3, 0.5)
    assert there[0][2, 1] == there[1][0][1, 1] == -1.0 + 0.5 * 7.0
    assert there[0][3, 2] == 11.0 and there[1][2].tolist() == [9, 2]
    assert packed.tree[3].shape == (0, 3, WIDTH)


@pytest.mark.parametrize(
    "cut", [lambda rows: rows.T, lambda rows: rows[:, 1:], lambda rows: rows[::2]]
)
def test_arrays_that_kernels_would_read_in_another_order_are_refused(cut):
    """Times of several plans came as columns, and were read as rows: derivatives were those of another flight."""
    with pytest.raises(ValueError, match="must be contiguous"):
        Packed((cut(np.arange(12.0).reshape(4, 3)),))
