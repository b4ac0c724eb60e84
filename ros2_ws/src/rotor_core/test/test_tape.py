"""Kernels as lists of operations, and these run backward: against closed forms and the chain rule by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.kernels.as_python import AsPython
from rotor_core.kernels.jit import COMPILED, inlined, kernel
from rotor_core.numbers.derivatives import counts, without_derivatives
from rotor_core.numbers.lanes import bits, certainly, choose, possibly
from rotor_core.numbers.tape import FUNCTIONS, NotOnTape, Number, Tape

if not COMPILED:
    pytest.skip("tapes are of compiled kernels", allow_module_level=True)

from rotor_core.kernels.reverse import (
    GIVEN,
    HELD,
    NO_CODE,
    ROW,
    Place,
    Sweep,
    compile_backward,
)

F = FUNCTIONS


def reverse(function, values, weights):
    """Value of a function of numbers by a tape, and derivative of its weighted results by compiled code."""
    tape = Tape()
    made = function(*(tape.input(i, v) for i, v in enumerate(values)))
    reads = {i: Place(HELD, i) for i in range(len(values))}
    writes = [(Place(GIVEN, i), getattr(y, "at", y)) for i, y in enumerate(made)]
    code = compile_backward(tape, reads, writes)
    slopes = np.zeros(len(values))
    stopped = Sweep()(
        0, np.array([code.address]), np.zeros(1, np.int64), (np.zeros((1, 1)), np.array(values), np.zeros(9)),
        (np.zeros(1), slopes, np.array(weights, float)),
    )  # fmt: skip
    assert stopped == -1
    return [y.value if isinstance(y, Number) else y for y in made], slopes


CLOSED = [
    (lambda x, y: x + y, lambda x, y: (1.0, 1.0)),
    (lambda x, y: x + 3.0, lambda x, y: (1.0, 0.0)),
    (lambda x, y: 3.0 - x * y, lambda x, y: (-y, -x)),
    (lambda x, y: -(x - y), lambda x, y: (-1.0, 1.0)),
    (lambda x, y: x / y, lambda x, y: (1.0 / y, -x / y**2)),
    (lambda x, y: 2.0 / (x + 9.0), lambda x, y: (-2.0 / (x + 9.0) ** 2, 0.0)),
    (lambda x, y: x**2 * y**3, lambda x, y: (2 * x * y**3, 3 * x * x * y * y)),
    (lambda x, y: abs(x) * y, lambda x, y: (math.copysign(y, x), abs(x))),
    (lambda x, y: F[math.sqrt](x * x + y), lambda x, y: (x / math.sqrt(x * x + y), 0.5 / math.sqrt(x * x + y))),
    (lambda x, y: F[math.exp](x * y), lambda x, y: (y * math.exp(x * y), x * math.exp(x * y))),
    (lambda x, y: F[math.log](y), lambda x, y: (0.0, 1.0 / y)),
    (lambda x, y: F[math.sin](x) * F[math.cos](y), lambda x, y: (math.cos(x) * math.cos(y), -math.sin(x) * math.sin(y))),
    (lambda x, y: F[math.tan](0.3 * x), lambda x, y: (0.3 / math.cos(0.3 * x) ** 2, 0.0)),
    (lambda x, y: x * F[without_derivatives](x), lambda x, y: (x, 0.0)),
    (lambda x, y: F[math.tanh](x - y), lambda x, y: (1 - math.tanh(x - y) ** 2, math.tanh(x - y) ** 2 - 1)),
    (lambda x, y: F[math.copysign](y, x), lambda x, y: (0.0, math.copysign(1.0, x))),
    (lambda x, y: F[math.acos](0.2 * x), lambda x, y: (-0.2 / math.sqrt(1.0 - 0.04 * x * x), 0.0)),
    (lambda x, y: F[math.atan2](x, y), lambda x, y: (y / (x * x + y * y), -x / (x * x + y * y))),
    (lambda x, y: F[max](x, y, 0.5), lambda x, y: (float(x > max(y, 0.5)), float(y >= max(x, 0.5)))),
    (lambda x, y: F[min](x, y), lambda x, y: (float(x <= y), float(y < x))),
    (lambda x, y: F[choose](x < y, x * y, y), lambda x, y: (y, x) if x < y else (0.0, 1.0)),
    (lambda x, y: F[choose]((x < y) & ~(x > 0.0), x, 4.0), lambda x, y: (float(x < y and x <= 0.0), 0.0)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CLOSED)))
def test_every_operation_against_its_closed_form(number):
    """At numbers of both signs and sizes; the code of the tape is of one place and used at others."""
    function, slope = CLOSED[number]
    tape = Tape()
    made = function(tape.input("x", 0.7), tape.input("y", 1.3))
    code = compile_backward(
        tape, {"x": Place(HELD, 0), "y": Place(HELD, 1)}, [(Place(GIVEN, 0), made.at)]
    )
    sweep, rng = Sweep(), np.random.default_rng(number)
    for _ in range(50):
        x, y = rng.uniform(-4.0, 4.0), rng.uniform(0.1, 4.0)
        slopes = np.array([10.0, 20.0])  # derivatives are added
        stopped = sweep(
            0, np.array([code.address]), np.zeros(1, np.int64), (np.zeros((1, 1)), np.array([x, y]), np.zeros(1)),
            (np.zeros(1), slopes, np.array([1.5])),
        )  # fmt: skip
        assert stopped == -1
        np.testing.assert_allclose(
            slopes - [10.0, 20.0], 1.5 * np.array(slope(x, y)), rtol=1e-12, atol=1e-13
        )


STEPS = (
    lambda a, b: 0.5 * (a + b),
    lambda a, b: a - 0.3 * b,
    lambda a, b: a * b / (1.0 + abs(b)),
    lambda a, b: F[math.sin](a),
    lambda a, b: F[math.exp](-a * a),
    lambda a, b: F[math.sqrt](1.0 + a * a),
)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_random_programs_have_the_chain_rule(seed):
    """Fifty operations on what was made before, several results: against central differences of plain numbers."""
    rng = np.random.default_rng(seed)
    plan = [(int(rng.integers(6)), *map(int, rng.integers(0, 4 + k, 2))) for k in range(50)]
    values, weights = rng.uniform(0.5, 1.5, 4), rng.normal(size=3)

    def program(*x):
        made = list(x)
        for what, a, b in plan:
            made.append(STEPS[what](made[a], made[b]))
        return made[-3:]

    def forward(direction):
        step, ends = 1e-6, []
        for sign in (1.0, -1.0):
            ends.append(np.array(program(*(values + sign * step * direction))))
        return (ends[0] - ends[1]) / (2.0 * step)

    told, slopes = reverse(program, values, weights)
    np.testing.assert_allclose(told, program(*values), rtol=1e-13)
    expected = [weights @ forward(e) for e in np.eye(4)]
    np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-7)


def test_what_is_decided_is_a_condition():
    def decides(x, y):
        z = x * y
        if z > 1.0:
            return [x]
        return [y]

    tape = Tape()
    made = decides(tape.input(0, 2.0), tape.input(1, 3.0))
    assert len(tape.conditions) == 1
    code = compile_backward(
        tape, {0: Place(HELD, 0), 1: Place(HELD, 1)}, [(Place(GIVEN, 0), made[0].at)]
    )
    for values, stopped in (((2.0, 1.0), -1), ((0.5, 1.0), 0)):
        slopes = np.zeros(2)
        assert (
            Sweep()(
                0, np.array([code.address]), np.zeros(1, np.int64),
                (np.zeros((1, 1)), np.array(values), np.zeros(1)), (np.zeros(1), slopes, np.ones(1)),
            ) == stopped
        )  # fmt: skip
        assert slopes.tolist() == ([1.0, 0.0] if stopped < 0 else [0.0, 0.0])


def test_an_operation_is_not_the_constant_of_its_number():
    """x 2.0 + x n, where n is operation 2: a sum of two products, not twice the first."""
    values = [3.0, 5.0, 7.0]
    told, slopes = reverse(lambda a, x, n: [x * 2.0 + x * n + 0.0 * a], values, [1.0])
    assert told == [45.0] and slopes.tolist() == [0.0, 9.0, 5.0]


def test_a_whole_number_is_noted_with_its_limits():
    tape = Tape()
    turns = tape.input("turns", 2.2)
    assert round(turns) == 2 and len(tape.conditions) == 2
    with pytest.raises(NotOnTape):
        round(turns, 1)


def test_answers_of_lanes():
    """Yes is noted of certainly, no of possibly; the other answers are always right."""
    tape = Tape()
    x = tape.input("x", 2.0)
    assert not F[certainly](x < 1.0) and F[possibly](x > 1.0) and not tape.conditions
    assert F[certainly](x > 1.0) and len(tape.conditions) == 1
    assert not F[possibly](x < 1.0) and len(tape.conditions) == 2
    assert F[certainly](x == x) and len(tape.conditions) == 2  # the same number: no question
    found = 0 | F[bits](x > 1.0)
    found &= 1
    assert (found != 0).value and (0 & F[bits](x > 1.0)) == 0 and (F[bits](x > 1.0) | -1) == -1
    assert F[certainly](True) and not F[possibly](False) and F[choose](False, 1, 2) == 2


def test_a_number_that_is_zero_leaves_out_what_it_is_a_factor_of():
    tape = Tape()
    x, nothing, more = tape.input("x", 2.0), tape.input("nothing", 0.0), tape.input("more", 0.1)
    assert not F[possibly](F[counts](nothing)) and F[possibly](F[counts](more))
    assert not F[possibly](nothing > 0.0)
    assert F[counts](x - x) is True  # computed: its derivatives may count
    assert F[counts](0.0) is False
    weight = tape.input("weight", 3.0)
    assert F[certainly](weight != 0.0) and not F[possibly](weight == 0.0) and bool(weight > 0.0)
    assert tape.left_out() == {"nothing"}  # that a number is not zero leaves nothing out


def test_the_root_of_nothing_stands():
    """As for derivatives forward: |v| v at rest has the slope zero."""
    _, slopes = reverse(lambda v: [v * F[math.sqrt](v * v)], [0.0], [1.0])
    assert slopes.tolist() == [0.0]


@pytest.mark.parametrize(
    "work", [int, float, lambda x: [1, 2][x], lambda x: x**0.5, lambda x: 2.0**x]
)
def test_what_is_no_operation_is_refused(work):
    with pytest.raises(NotOnTape):
        work(Tape().input(0, 1.0))


def test_rows_are_gone_through_from_the_end():
    """x' = a x^2 + u over rows: the chain rule by hand; what a row had before is of no account."""
    tape = Tape()
    x, a, u = tape.input("x", 0.5), tape.input("a", 0.9), tape.input("u", 0.1)
    made = a * x * x + u
    reads = {"x": Place(ROW, 1), "a": Place(HELD, 0), "u": Place(GIVEN, 0)}
    code = compile_backward(tape, reads, [(Place(ROW, 1), made.at)])
    n, rng = 7, np.random.default_rng(2)
    given, a = rng.normal(size=n), 0.9
    xs = [0.3]
    for k in range(n):
        xs.append(a * xs[-1] ** 2 + given[k])
    rows = np.column_stack([rng.normal(size=n), xs[:-1]])
    along, held, with_given = np.array([5.0, 1.0]), np.zeros(1), np.zeros(n)
    addresses, at = np.full(n, code.address), np.arange(n)
    sweep = Sweep()
    gap = addresses.copy()
    gap[3] = NO_CODE
    assert sweep(n - 1, gap, at, (rows, np.array([a]), given), (along, held, with_given)) == 3
    assert sweep(3, addresses, at, (rows, np.array([a]), given), (along, held, with_given)) == -1
    assert sweep(-1, addresses, at, (rows, np.array([a]), given), (along, held, with_given)) == -1
    slope, with_a, with_u = 1.0, 0.0, np.zeros(n)
    for k in reversed(range(n)):
        with_u[k], with_a = slope, with_a + slope * xs[k] ** 2
        slope *= 2.0 * a * xs[k]
    np.testing.assert_allclose(along, [5.0, slope], rtol=1e-14)
    np.testing.assert_allclose(held, [with_a], rtol=1e-14)
    np.testing.assert_allclose(with_given, with_u, rtol=1e-14)


def test_damaged_code_is_made_anew(tmp_path, monkeypatch):
    """A file of the cache that lost its end, as where the power failed."""
    monkeypatch.setenv("ROTOR_CACHE_DIR", str(tmp_path))
    assert reverse(lambda x: [x * x], [3.0], [1.0])[1].tolist() == [6.0]
    files = [f for f in tmp_path.rglob("reverse/*") if f.is_file()]
    assert files and not any(f.suffix for f in files)
    for file in files:
        file.write_bytes(file.read_bytes()[:300])
    assert reverse(lambda x: [x * x], [3.0], [1.0])[1].tolist() == [6.0]
    assert all(f.stat().st_size > 300 for f in files)


@inlined
def inner(x):
    return math.sin(x) if x > 0.0 else abs(max(x, -2.0))


@kernel
def outer(x):
    return inner(x) * inner(-x)


def test_a_kernel_runs_as_python_and_stays_what_it_is():
    told = []
    python = AsPython({**FUNCTIONS, math.sin: lambda x: told.append(x) or x}, {})
    assert python(outer)(0.5) == 0.25 and told == [0.5]
    assert outer(0.5) == pytest.approx(math.sin(0.5) * 0.5)
    doubled = AsPython({}, {(__name__, "inner"): lambda x: 2.0 * x})
    assert doubled(outer)(3.0) == -36.0
    tape = Tape()
    made = AsPython(FUNCTIONS, {})(outer)(tape.input(0, 0.5))
    assert made.value == pytest.approx(math.sin(0.5) * 0.5) and len(tape.conditions) == 2
