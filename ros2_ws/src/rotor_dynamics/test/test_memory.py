"""Memory is declared once: rows without gaps, tables that tile both arrays, a page that says the same."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.kernels.jit import kernel
from rotor_core.rows import Field, Row
from rotor_dynamics import memory
from rotor_dynamics.memory import world

ROOT = Path(__file__).parents[4]
SCRIPT = ROOT / "docs" / "scripts" / "make_memory_page.py"


def script():
    spec = importlib.util.spec_from_file_location("make_memory_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROWS = [(row, names) for module in script().FILES for row, names in script().rows_of(module)]


@pytest.mark.parametrize("row, names", ROWS, ids=[row.name for row, _ in ROWS])
def test_fields_fill_their_row(row, names):
    end = 0
    for field in row.fields:
        assert int(field) == end
        end += field.width
    assert end == row.width
    assert len(names) == len(row.fields), "a field has two names, or none"
    assert all(field.meaning for field in row.fields)


def test_names_are_unique_across_files():
    """Kernels read all of them from one namespace."""
    names = [name for _, row in ROWS for name in row.values()]
    assert len(names) == len(set(names))
    for name in names:
        assert isinstance(getattr(memory, name), Field)


sizes = st.lists(st.integers(0, 4), min_size=len(world.SIZES), max_size=len(world.SIZES))


@settings(deadline=None)
@given(shape=sizes)
def test_tables_tile_both_arrays(shape):
    """Every number of the two arrays belongs to exactly one table."""
    ints, floats = memory.blank(shape)
    views = memory.world_of(ints, floats)
    ints_seen, floats_seen = np.zeros(ints.size, int), np.zeros(floats.size, int)
    for view in views:
        flat, seen = (ints, ints_seen) if view.dtype == np.int64 else (floats, floats_seen)
        first = (view.ctypes.data - flat.ctypes.data) // flat.itemsize
        if view.size:
            seen[first : first + view.size] += 1
    assert (ints_seen == 1).all() and (floats_seen == 1).all()


@kernel
def stamp(ints, floats):
    world = memory.views(ints, floats)
    world.constraints[1, memory.TENSION] = 1.0
    world.joints[1, memory.D_INV] = 2.0
    world.histories[0, 5, memory.SAMPLE_INFLOW] = 3.0
    world.disc_int[0, memory.SAMPLES] = 4


def test_compiled_views_are_the_same():
    """A kernel that writes through its views writes what Python reads through its own."""
    shape = [
        3,
        2,
        1,
        2,
        2,
        4,
        1,
        3,
        1,
        2,
        1,
        1,
        2,
        2,
        1,
        2,
        1,
        2,
        2,
        1,
        2,
        5,
        7,
        1,
        4,
        2,
        9,
        1,
        8,
        4,
    ]
    ints, floats = memory.blank(shape)
    stamp(ints, floats)
    views = memory.world_of(ints, floats)
    assert views.constraints[1, memory.TENSION] == 1.0
    assert views.joints[1, memory.D_INV] == 2.0
    assert views.histories[0, 5, memory.SAMPLE_INFLOW] == 3.0
    assert views.disc_int[0, memory.SAMPLES] == 4


def test_page_is_current():
    module = script()
    assert module.PAGE.read_text() == module.page(), f"run ./rotor python {SCRIPT.name}"


def test_a_row_counts_its_columns():
    row = Row("example", "An example.")
    a, b = row("m", "a vector", shape=(3,)), row("", "a number")
    assert (int(a), int(b), int(row.width), a.width) == (0, 3, 4, 3)
