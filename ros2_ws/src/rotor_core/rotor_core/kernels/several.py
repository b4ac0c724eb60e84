"""Several entries of a table at once, as a vector register takes them.

For kernels that move bodies of one world abreast (:func:`rotor_core.kernels.tables.abreast`), or add up rows.
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from rotor_core.kernels.jit import CHECKED, COMPILED


def entries(row: Any, at: int) -> Any:
    """As many numbers of a row, from a column on, as there are lanes; one, if they are not plain numbers."""
    return row[at]


def put_entries(row: Any, at: int, values: Any) -> None:
    """Store :func:`entries`."""
    row[at] = values


def pair(row: Any, at: int) -> tuple:
    """Two entries of a row, from a column on: of rows abreast faster than one after the other."""
    return row[at], row[at + 1]


def put_pair(row: Any, at: int, first: Any, second: Any) -> None:
    """Store :func:`pair`."""
    row[at], row[at + 1] = first, second


if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import lower_builtin, type_callable

    from rotor_core.kernels.table_access import TableArray, check, lanes_of, load, place_of, store
    from rotor_core.numbers.lanes import LANES
    from rotor_core.numbers.vectors import DOUBLE, INDEX

    def _kind_of_entries(row: Any) -> Any:
        """LANES, or the kind of one number of the row where it is not plain."""
        if not isinstance(row, TableArray) or row.ndim != 1:
            return None
        return LANES if row.dtype == types.float64 else row.dtype

    type_callable(entries)(lambda context: lambda row, at: _kind_of_entries(row))
    type_callable(put_entries)(
        lambda context: lambda row, at, values: types.none if _kind_of_entries(row) else None
    )

    def _entries(
        context: Any, builder: Any, row: Any, value: Any, kind: Any, at: Any, number: Any
    ) -> Any:
        """Place of :func:`entries`, as a pointer to their kind."""
        array, place, _ = place_of(context, builder, row, value, kind, at)
        if CHECKED and number == LANES:
            last = builder.add(at, ir.Constant(at.type, LANES.width - 1))
            check(context, builder, row.table, 0, last, builder.extract_value(array.shape, 0))
        return builder.bitcast(place, ir.PointerType(context.get_value_type(number)))

    @lower_builtin(entries, TableArray, types.Integer)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, kind = signature.args
        number = signature.return_type
        place = _entries(context, builder, row, arguments[0], kind, arguments[1], number)
        return load(builder, row, place)

    @lower_builtin(put_entries, TableArray, types.Integer, types.Any)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, kind, given = signature.args
        number = _kind_of_entries(row)
        place = _entries(context, builder, row, arguments[0], kind, arguments[1], number)
        value = context.cast(builder, arguments[2], given, number)
        store(context, builder, row, value, place)
        return context.get_dummy_value()

    @type_callable(pair)
    def _(context: Any) -> Callable:
        def typer(row: Any, at: Any) -> Any:
            of_one = isinstance(row, types.UniTuple) or getattr(row, "ndim", 0) == 1
            return types.UniTuple(row.dtype, 2) if of_one else None

        return typer

    @type_callable(put_pair)
    def _(context: Any) -> Callable:
        return lambda row, at, first, second: types.none if isinstance(row, types.Array) else None

    def _next(builder: Any, at: Any) -> Any:
        return builder.add(at, ir.Constant(at.type, 1), flags=["nsw"])

    def _call(context: Any, builder: Any, function: Any, signature: Any, *arguments: Any) -> Any:
        """Code of a function that Numba knows."""
        known = context.typing_context.resolve_value_type(function)
        known.get_call_type(context.typing_context, signature.args, {})
        return context.get_function(known, signature)(builder, arguments)

    def _halves(builder: Any, row: Any, lanes: list) -> list:
        two = ir.PointerType(ir.VectorType(DOUBLE, 2))
        return [builder.bitcast(lane, two) for lane in lanes]

    def _mask(*lanes: int) -> Any:
        return ir.Constant(ir.VectorType(INDEX, len(lanes)), list(lanes))

    @lower_builtin(pair, types.UniTuple, types.Integer)
    @lower_builtin(pair, types.Array, types.Integer)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, kind = signature.args
        value, at = arguments
        if not (isinstance(row, TableArray) and row.abreast):
            one = row.dtype(row, kind)
            both = [
                _call(context, builder, operator.getitem, one, value, i)
                for i in (at, _next(builder, at))
            ]
            return context.make_tuple(builder, signature.return_type, both)
        array, place, _ = place_of(context, builder, row, value, kind, at)
        a, b, c, d = (
            load(builder, row, p)
            for p in _halves(builder, row, lanes_of(builder, array, row, place))
        )
        even = builder.shuffle_vector(a, c, _mask(0, 1, 2, 3))
        odd = builder.shuffle_vector(b, d, _mask(0, 1, 2, 3))
        first = builder.shuffle_vector(even, odd, _mask(0, 4, 2, 6))
        second = builder.shuffle_vector(even, odd, _mask(1, 5, 3, 7))
        return context.make_tuple(builder, signature.return_type, [first, second])

    @lower_builtin(put_pair, types.Array, types.Integer, types.Any, types.Any)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, kind, *given = signature.args
        value, at, *numbers = arguments
        if not (isinstance(row, TableArray) and row.abreast):
            for i, k, number in zip((at, _next(builder, at)), given, numbers, strict=True):
                one = types.none(row, kind, k)
                _call(context, builder, operator.setitem, one, value, i, number)
            return context.get_dummy_value()
        array, place, _ = place_of(context, builder, row, value, kind, at)
        first, second = (
            context.cast(builder, number, k, LANES)
            for k, number in zip(given, numbers, strict=True)
        )
        for i, lane in enumerate(_halves(builder, row, lanes_of(builder, array, row, place))):
            both = builder.shuffle_vector(first, second, _mask(i, LANES.width + i))
            store(context, builder, row, both, lane)
        return context.get_dummy_value()
