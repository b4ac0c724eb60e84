"""Tables in two flat arrays, as kernels see them.

Of worlds side by side (:mod:`rotor_core.numbers.lanes`) the second array has a row for every number, and a column per
lane; its numbers may also carry derivatives (:mod:`rotor_core.numbers.duals`).

In Python the function that cuts two arrays into named tables returns a tuple of views. In a compiled kernel it
returns no more than the two addresses, and a table is cut where it is named: a record of forty views would be
three hundred words, which the compiler would have to carry through every call and every copy.
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rotor_core.kernels.jit import COMPILED


class Place(NamedTuple):
    """Place of a table in memory.

    Attributes:
        whole: the table is in the array of integers.
        first: where the integers say at which number it begins, or -1: at the first.
        shape: of its rows and columns: numbers, or (as ``Size``) where the integers say how many.
    """

    whole: bool
    first: int
    shape: tuple[int | Size, ...]


class Size(NamedTuple):
    """A dimension that stands in the array of integers, at ``at``."""

    at: int


def abreast(tables: Any) -> Any:
    """The same tables, of which a row of numbers stands for itself and those that follow it, one in each lane."""
    return tables


def number_abreast(tables: Any) -> int:
    """Rows that one of :func:`abreast` stands for; :func:`rotor_core.kernels.several.entries` are as many."""
    return 1


def make_views(record: Callable[..., Any], places: Mapping[str, Place]) -> Any:
    """Function of the two arrays that returns ``record`` with a view of every table, in kernels and outside.

    Args:
        record: takes the views in the order of ``places``.
        places: of all tables, by name. What the integers say of them must not change while a kernel runs.
    """
    said = [p.first for p in places.values()]
    said += [d.at for p in places.values() for d in p.shape if isinstance(d, Size)]
    header = max(said) + 1

    def views(ints: np.ndarray, floats: np.ndarray) -> Any:
        says = ints[:header].tolist()
        cut = []
        for whole, first, extents in places.values():
            shape = [says[d.at] if isinstance(d, Size) else d for d in extents]
            start = says[first] if first >= 0 else 0
            cut.append((ints if whole else floats)[start : start + prod(shape)].reshape(shape))
        return record(*cut)

    views.py_func = views  # type: ignore[attr-defined]
    if COMPILED:
        _teach_numba(views, dict(places))
    return views


if COMPILED:
    from numba import types
    from numba.core import cgutils
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import (
        infer_getattr,
        lower_builtin,
        lower_getattr_generic,
        models,
        register_model,
        type_callable,
    )
    from numba.np.arrayobj import populate_array

    from rotor_core.kernels.table_access import TableArray
    from rotor_core.numbers.lanes import LANES


def _teach_numba(views: Any, places: dict[str, Place]) -> None:
    class Tables(types.Type):
        """Of one world, or of worlds side by side: what is not whole are numbers of one kind."""

        def __init__(self, number: Any, abreast: bool = False) -> None:
            self.number, self.abreast = number, abreast
            super().__init__(name=f"Tables({number}{', abreast' * abreast})")

    def table_of(kind: Any, name: str) -> Any:
        place = places[name]
        n = len(place.shape)
        if place.whole:
            return None if kind.abreast and n > 1 else TableArray(name, types.int64, n)
        if kind.abreast:
            return TableArray(name, LANES, n, True) if n > 1 else TableArray(name, types.float64, n)
        return TableArray(name, kind.number, n)

    @type_callable(abreast)
    def _(context: Any) -> Callable:
        def typer(tables: Any) -> Any:
            if isinstance(tables, Tables):
                return Tables(types.float64, True) if tables.number == types.float64 else tables

        return typer

    @lower_builtin(abreast, Tables)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]

    @type_callable(number_abreast)
    def _(context: Any) -> Callable:
        return lambda tables: types.int64 if isinstance(tables, Tables) else None

    @lower_builtin(number_abreast, Tables)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        several = signature.args[0].number == types.float64
        return context.get_constant(types.int64, LANES.width if several else 1)

    @register_model(Tables)
    class _(models.StructModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            members = [
                ("ints", types.CPointer(types.int64)),
                ("floats", types.CPointer(kind.number)),
            ]
            super().__init__(manager, kind, members)

    @type_callable(views)
    def _(context: Any) -> Callable:
        return lambda ints, floats: Tables(LANES if floats.ndim == 2 else floats.dtype)

    @lower_builtin(views, types.Array, types.Array)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.return_type
        out = cgutils.create_struct_proxy(kind)(context, builder)
        ints, floats = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        out.ints = ints.data
        out.floats = builder.bitcast(
            floats.data, context.get_value_type(types.CPointer(kind.number))
        )
        return out._getvalue()

    @infer_getattr
    class _(AttributeTemplate):
        key = Tables

        def generic_resolve(self, kind: Any, name: str) -> Any:
            return table_of(kind, name) if name in places else None

    @lower_getattr_generic(Tables)
    def _(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
        place, table = places[name], table_of(kind, name)
        both = cgutils.create_struct_proxy(kind)(context, builder, value)

        def number(at: int) -> Any:
            """Of the integers; never written while a kernel runs, so that one read serves all."""
            read = builder.load(builder.gep(both.ints, [context.get_constant(types.intp, at)]))
            read.set_metadata("invariant.load", builder.module.add_metadata([]))
            return read

        lengths = [
            number(d.at) if isinstance(d, Size) else context.get_constant(types.intp, int(d))
            for d in place.shape
        ]
        stored = types.float64 if table.abreast else table.dtype
        size = context.get_abi_sizeof(context.get_data_type(stored))
        itemsize = context.get_constant(types.intp, size)
        strides = [itemsize]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        data = both.ints if place.whole else both.floats
        if place.first >= 0:
            data = builder.gep(data, [number(place.first)])
        out = context.make_array(table)(context, builder)
        if table.abreast:
            data = builder.bitcast(data, context.get_value_type(types.CPointer(LANES)))
        populate_array(out, data, lengths, strides, itemsize, meminfo=None)
        return out._getvalue()
