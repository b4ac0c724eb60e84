"""Linked kernels: compiled once, at their first use, found by address; and tables cut where they are named."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rotor_core.kernels.jit import COMPILED, kernel
from rotor_core.kernels.link import FLAG, FLOAT, FLOATS, INT, ROWS, linked
from rotor_core.kernels.tables import Place, Size, make_views

compiled = pytest.mark.skipif(not COMPILED, reason="kernels are not compiled here")


@linked(ROWS, FLOATS, INT, FLOAT, FLAG, returns=FLOAT)
def weighted(rows, weights, n, factor, negative):
    """Touches every kind of argument, and writes."""
    total = 0.0
    for i in range(n):
        for j in range(rows.shape[1]):
            total += rows[i, j] * weights[j]
        rows[i, 0] = 2.0 * total
    total *= factor
    return -total if negative else total


@linked(INT, returns=INT)
def never(n):
    return n + 1


@kernel
def caller(rows, weights, n, other):
    if other:
        return float(never(n))
    return weighted(rows, weights, n, 3, True) + weighted(rows, weights, n, 0.5, n < 0)


def by_hand(rows, weights, n):
    f = getattr(weighted, "py_func", weighted)
    return f(rows, weights, n, 3.0, True) + f(rows, weights, n, 0.5, False)


def test_a_call_through_a_slot_is_the_call():
    """All kinds of arguments, literal ones and integers for floats among them; results and what is written."""
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(4, 3)), rng.normal(size=3)
    expected = rows.copy()
    assert caller(rows, weights, 4, False) == pytest.approx(
        by_hand(expected, weights, 4), rel=1e-15
    )
    np.testing.assert_allclose(rows, expected, rtol=1e-15)


@compiled
def test_what_is_not_called_is_not_compiled():
    caller(np.ones((1, 3)), np.ones(3), 1, False)
    assert not never._compiled.overloads
    assert caller(np.ones((1, 3)), np.ones(3), 7, True) == 8.0
    assert len(never._compiled.overloads) == 1


@linked(INT, returns=INT)
def double(n):
    return 2 * n


@kernel
def ask_double(n):
    return double(n)


@compiled
def test_many_threads_may_meet_at_the_first_call():
    found = []
    threads = [
        threading.Thread(target=lambda i=i: found.append(ask_double(i) == 2 * i)) for i in range(8)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 8 and len(double._compiled.overloads) == 1


@linked(INT, returns=INT)
def triple(n):
    return 3 * n


@kernel
def ask_triple(n):
    return triple(n)


@compiled
def test_an_interrupt_of_the_compiler_comes_after_the_call(monkeypatch):
    """Nothing can be raised through compiled code: the kernel is compiled, the call made, then Ctrl-C is heard."""

    resolve, tries = triple.resolve, []

    def interrupted():
        tries.append(1)
        if len(tries) == 1:
            raise KeyboardInterrupt
        resolve()

    monkeypatch.setattr(triple, "resolve", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            assert ask_triple(2) == 6
            time.sleep(5.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(tries) == 2 and ask_triple(3) == 9


@compiled
def test_a_wrong_declaration_is_refused():
    @linked(INT, returns=FLOAT)
    def whole(n):
        return n

    with pytest.raises(TypeError, match="is declared to return float64, returns int64"):
        whole.resolve()


PROBE = """
import sys
import numpy as np
from rotor_core.kernels.jit import when_compiling
began = []
when_compiling(lambda begins: began.append(1) if begins else None)
from rotor_core.math.complementarity import solve_complementarity
from rotor_core.math.factor import factorize_large

def solved(n):
    A, b = np.eye(n), np.linspace(-1.0, 1.0, n)
    z, w = np.zeros(n), np.zeros(n)
    whole = [np.zeros(n, np.int64) for _ in range(4)]
    tables = [np.zeros((n, n)), np.zeros((n, n)), np.zeros((3, n))]
    assert solve_complementarity(A, b, n, z, w, *whole, *tables) >= 0
    assert np.abs(z - np.maximum(b, 0.0)).max() < 1e-12, z

solved(4)
few = len(factorize_large._compiled.overloads)
solved(20)
print(len(began), few, len(factorize_large._compiled.overloads))
"""


@compiled
def test_a_part_is_compiled_once_with_a_line_and_then_found_in_the_cache(tmp_path):
    """A small problem does without the kernels of large ones, from the cache too; those come with a line of their own."""

    def probe():
        environment = {**os.environ, "ROTOR_CACHE_DIR": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        return [int(word) for word in run.stdout.split()], run.stderr

    (began, few, many), said = probe()
    assert began > 0 and few == 0 and many == 1
    assert said.startswith("compiling large teams, once for these sources ... done in ")
    assert probe() == ([0, 0, 1], "")


VIEWS = make_views(
    lambda *tables: dict(zip(("head", "marks", "places", "table"), tables, strict=True)),
    {
        "head": Place(True, -1, (4,)),
        "marks": Place(True, 2, (Size(0),)),
        "places": Place(False, -1, (Size(0), 3)),
        "table": Place(False, 3, (Size(1), Size(0), 2)),
    },
)


@kernel
def mark(ints, floats):
    world = VIEWS(ints, floats)
    for i in range(world.marks.shape[0]):
        world.marks[i] = 10 + i
        world.places[i, 2] = 0.5 + i
    for i in range(world.table.shape[0]):
        for j in range(world.table.shape[1]):
            world.table[i, j, 1] = 10.0 * i + j
    return world.head[1]


@compiled
def test_tables_of_kernels_are_those_of_python():
    ints, floats = np.array([2, 3, 4, 6, 0, 0]), np.zeros(6 + 12)
    assert mark(ints, floats) == 3
    views = VIEWS(ints, floats)
    assert views["marks"].tolist() == [10, 11] and views["places"][:, 2].tolist() == [0.5, 1.5]
    assert views["table"][:, :, 1].tolist() == [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]


OUTSIDE = """
import numpy as np
from rotor_core.kernels.jit import kernel
from rotor_core.kernels.tables import Place, Size, make_views

views = make_views(
    lambda head, table: (head, table), {"head": Place(True, -1, (2,)), "table": Place(False, -1, (Size(0), 2))}
)

@kernel
def read(ints, floats, i, j):
    return views(ints, floats).table[i][j]

def caught(i, j):
    try:
        return read(np.array([3, 0]), np.arange(6.0), i, j)
    except IndexError as error:
        return str(error)

print(caught(2, 1), caught(3, 0), caught(0, -1), sep="; ")

@kernel
def divide(ints, floats, a, b):
    views(ints, floats).table[1, 0] = a / b

@kernel
def mark(ints, floats):
    views(ints, floats).table[2, 1] = np.nan

ints, floats = np.array([3, 0]), np.arange(6.0)
divide(ints, floats, 1.0, 0.0)  # infinity is a number to compare with: limits are infinite
mark(ints, floats)
print(floats)
try:
    divide(ints, floats, 0.0, 0.0)
except FloatingPointError as error:
    print(error, floats)
"""


@compiled
def test_a_checked_kernel_says_which_index_is_outside_and_which_table_got_a_nan(tmp_path):
    script = tmp_path / "outside.py"
    script.write_text(OUTSIDE)
    environment = {**os.environ, "ROTOR_CHECKED": "nan", "ROTOR_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    wrong = "index 0 of the table table is outside"
    held = "[ 0.  1. inf  3.  4. nan]"
    assert run.stdout.splitlines() == [
        f"5.0; {wrong}; {wrong}",
        held,
        f"a NaN is written to the table table {held}",
    ], run.stderr
