"""Reading and writing of tables in compiled kernels, as C does.

Numba's arrays count negative indices from the end, and of two arrays in one block of memory the compiler must
assume that they overlap, so that every store makes it read everything again. A table knows that an index is not
negative, and that other tables lie elsewhere: its name goes to the compiler with every access (type-based alias
analysis, https://llvm.org/docs/LangRef.html#tbaa-metadata).
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import operator
from typing import Any

from rotor_core.kernels.jit import CHECKED, COMPILED, TRAPS_NAN

if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import lower_builtin, lower_cast, models, register_model
    from numba.np.arrayobj import populate_array

    from rotor_core.numbers.lanes import LANES
    from rotor_core.numbers.vectors import DOUBLE, INDEX, VectorNumber

    class TableArray(types.Array):
        """A table, or some of its rows.

        Args:
            table: its name.
            dtype: of its entries.
            ndim: dimensions.
            abreast: an entry is that of a row and of those that follow it, one in each lane.
        """

        def __init__(self, table: str, dtype: Any, ndim: int, abreast: bool = False) -> None:
            self.table, self.abreast = table, abreast
            how = ", abreast" * abreast
            super().__init__(dtype, ndim, "C", name=f"table({table}, {dtype}, {ndim}d{how})")

        @property
        def key(self) -> tuple:
            """By which types are the same."""
            return self.table, self.dtype, self.ndim, self.abreast

        @property
        def mangling_args(self) -> tuple:
            """By which compiled functions of it are named."""
            return type(self).__name__, [self.table, self.dtype, self.ndim, int(self.abreast)]

        def copy(
            self, dtype: Any = None, ndim: Any = None, layout: Any = None, readonly: Any = None
        ) -> Any:
            """The same table with other dimensions, where that is all that differs; an ordinary array otherwise."""
            if layout in (None, "C") and dtype in (None, self.dtype) and not readonly:
                return TableArray(
                    self.table, self.dtype, self.ndim if ndim is None else ndim, self.abreast
                )
            return super().copy(dtype, ndim, layout, readonly)

        def unify(self, typingctx: Any, other: Any) -> Any:
            """The type of a variable that is once this and once the other."""
            return self if other == self else super().unify(typingctx, other)

    register_model(TableArray)(models.ArrayModel)

    @lower_cast(TableArray, types.Array)
    def _(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
        return value

    def _known(builder: Any, table: str) -> Any:
        """Metadata of an access: this table, and no other."""
        module = builder.module
        root = module.add_metadata(["rotor tables"])
        kind = module.add_metadata([table, root, ir.Constant(ir.IntType(64), 0)])
        return module.add_metadata([kind, kind, ir.Constant(ir.IntType(64), 0)])

    def place_of(
        context: Any, builder: Any, table: Any, value: Any, kind: Any, index: Any
    ) -> tuple:
        """The table as a structure, where the entry or the first of the rows lies, and how many indices are given."""
        array = context.make_array(table)(context, builder, value)
        several = isinstance(kind, types.BaseTuple)
        kinds = list(kind) if several else [kind]
        given = [builder.extract_value(index, i) for i in range(len(kind))] if several else [index]
        offset = context.get_constant(types.intp, 0)
        for axis in range(table.ndim):
            extent = builder.extract_value(array.shape, axis)
            if axis > 0:
                offset = builder.mul(offset, extent, flags=["nsw"])
            if axis < len(given):
                number = context.cast(builder, given[axis], kinds[axis], types.intp)
                if CHECKED:
                    check(context, builder, table.table, axis, number, extent)
                    if table.abreast and axis == table.ndim - 2:  # the last of the rows
                        more = ir.Constant(number.type, LANES.width - 1)
                        check(
                            context, builder, table.table, axis, builder.add(number, more), extent
                        )
                offset = builder.add(offset, number, flags=["nsw"])
        data = array.data
        if table.abreast:
            data = builder.bitcast(data, ir.PointerType(DOUBLE))
        return array, builder.gep(data, [offset], inbounds=True), len(given)

    def lanes_of(builder: Any, array: Any, table: Any, place: Any) -> list:
        """Places of an entry in the lanes: of this row, and of those that follow."""
        columns = builder.extract_value(array.shape, table.ndim - 1)
        at, places = ir.Constant(columns.type, 0), [place]
        for _ in range(1, LANES.width):
            at = builder.add(at, columns, flags=["nsw"])
            places.append(builder.gep(place, [at], inbounds=True))
        return places

    def load(builder: Any, table: Any, place: Any) -> Any:
        """Code that reads what lies at a place of a table."""
        read = builder.load(place, align=8)
        read.set_metadata("tbaa", _known(builder, table.table))
        return read

    def store(context: Any, builder: Any, table: Any, value: Any, place: Any) -> None:
        """Code that writes a value to a place of a table."""
        # not worlds side by side: lanes that hold none may hold anything
        is_plain = table.abreast or table.dtype == types.float64
        if TRAPS_NAN and is_plain and not isinstance(value, ir.Constant):
            _trap(context, builder, table.table, value)
        builder.store(value, place, align=8).set_metadata("tbaa", _known(builder, table.table))

    def check(context: Any, builder: Any, table: str, axis: int, number: Any, extent: Any) -> None:
        """Code that ends the kernel where an index is outside."""
        outside = builder.icmp_unsigned(">=", number, extent)  # negative ones are large
        with builder.if_then(outside, likely=False):
            text = f"index {axis} of the table {table} is outside"
            context.call_conv.return_user_exc(builder, IndexError, (text,))

    def _trap(context: Any, builder: Any, table: str, value: Any) -> None:
        """A kernel that writes what is no number ends there; ``nan`` itself, as a mark, may be written."""
        is_none = builder.fcmp_unordered("uno", value, value)
        if isinstance(value.type, ir.VectorType):
            in_lanes = builder.bitcast(is_none, ir.IntType(value.type.count))
            is_none = builder.icmp_unsigned("!=", in_lanes, ir.Constant(in_lanes.type, 0))
        with builder.if_then(is_none, likely=False):
            text = f"a NaN is written to the table {table}"
            context.call_conv.return_user_exc(builder, FloatingPointError, (text,))

    def _read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, kind = signature.args
        array, place, given = place_of(context, builder, table, arguments[0], kind, arguments[1])
        if given == table.ndim and table.abreast:
            out = ir.Constant(LANES.vector, ir.Undefined)
            for i, lane in enumerate(lanes_of(builder, array, table, place)):
                read = load(builder, table, lane)
                out = builder.insert_element(out, read, ir.Constant(INDEX, i))
            return out
        if given == table.ndim:
            return load(builder, table, place)
        rows = context.make_array(signature.return_type)(context, builder)
        shape = [builder.extract_value(array.shape, i) for i in range(given, table.ndim)]
        strides = [builder.extract_value(array.strides, i) for i in range(given, table.ndim)]
        place = builder.bitcast(place, array.data.type)
        populate_array(rows, place, shape, strides, array.itemsize, meminfo=None)
        return rows._getvalue()

    def _write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, kind, given = signature.args
        array, place, _ = place_of(context, builder, table, arguments[0], kind, arguments[1])
        value = context.cast(builder, arguments[2], given, table.dtype)
        if table.abreast:
            for i, lane in enumerate(lanes_of(builder, array, table, place)):
                entry = builder.extract_element(value, ir.Constant(INDEX, i))
                store(context, builder, table, entry, lane)
        else:
            store(context, builder, table, value, place)
        return context.get_dummy_value()

    for index in (types.Integer, types.BaseTuple):
        lower_builtin(operator.getitem, TableArray, index)(_read)
        lower_builtin(operator.setitem, TableArray, index, types.Number)(_write)
        lower_builtin(operator.setitem, TableArray, index, VectorNumber)(_write)
