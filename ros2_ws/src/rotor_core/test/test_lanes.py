"""Numbers side by side: every lane is what the number alone would be, bit for bit."""

from math import cos, exp, isfinite, sin, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.kernels.jit import COMPILED, kernel
from rotor_core.kernels.tables import Place, Size, make_views
from rotor_core.numbers.derivatives import counts
from rotor_core.numbers.lanes import WIDTH, bits, certainly, choose, possibly

pytestmark = pytest.mark.skipif(not COMPILED, reason="lanes are of compiled kernels")

RESULTS = 23
VIEWS = make_views(
    lambda head, given, out: (head, given, out),
    {
        "head": Place(True, -1, (2,)),
        "given": Place(False, -1, (2,)),
        "out": Place(False, 1, (RESULTS, Size(0))),
    },
)


@kernel
def work(ints, floats):
    """Everything that numbers and lanes can do."""
    world = VIEWS(ints, floats)
    out = world.out
    x, y = world.given[0], world.given[1]
    results = (
        x + y, x - y, x * y, x / y, -x, abs(x), sqrt(abs(x)), exp(sin(x)), sin(x), cos(y),
        min(x, y), max(x, y), 2.0 * x, x / 3, 1.0 - y,
        choose(x < y, x, 1.0), choose(x >= y, 0.0, y), choose(x == y, 1.0, 2.0), choose(x != y, 3, 4),
        choose(isfinite(x / y), 1.0, 0.0),
    )  # fmt: skip
    for i in range(20):
        out[i, 0] = results[i]
    total = 0.0
    for i in range(4):
        total += out[i, 0] * i
    out[20, 0] = total
    out[21, 0] = 1.0
    out[21, 0] *= y
    out[22, 0] = choose(counts(x), 1.0, 0.0)
    return bits(x < y), certainly(x < y), possibly(x < y)


NUMBERS = st.one_of(
    st.floats(-1e3, 1e3), st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan])
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=WIDTH, max_size=WIDTH))
def test_lanes_are_numbers(pairs):
    ints = np.array([1, 2])
    pack = np.zeros((2 + RESULTS, WIDTH))
    pack[:2] = np.array(pairs).T
    alone, answers = [], []
    for pair in pairs:
        floats = np.zeros(2 + RESULTS)
        floats[:2] = pair
        answers.append(work(ints, floats))
        alone.append(floats)
    some, every, any_of_them = work(ints, pack)
    np.testing.assert_array_equal(pack.T, alone)
    assert [bool(some >> i & 1) for i in range(WIDTH)] == [bool(a[0]) for a in answers]
    assert every == all(a[1] for a in answers) and any_of_them == any(a[2] for a in answers)
