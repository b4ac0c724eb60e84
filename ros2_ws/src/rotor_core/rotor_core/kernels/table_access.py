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

    from rotor_core.numbers.vectors import VectorNumber

    class TableArray(types.Array):
        """A table, or some of its rows.

        Args:
            table: its name.
            dtype: of its entries.
            ndim: dimensions.
        """

        def __init__(self, table: str, dtype: Any, ndim: int) -> None:
            self.table = table
            super().__init__(dtype, ndim, "C", name=f"table({table}, {dtype}, {ndim}d)")

        @property
        def key(self) -> tuple:
            """By which types are the same."""
            return self.table, self.dtype, self.ndim

        @property
        def mangling_args(self) -> tuple:
            """By which compiled functions of it are named."""
            return type(self).__name__, [self.table, self.dtype, self.ndim]

        def copy(
            self, dtype: Any = None, ndim: Any = None, layout: Any = None, readonly: Any = None
        ) -> Any:
            """The same table with other dimensions, where that is all that differs; an ordinary array otherwise."""
            if layout in (None, "C") and dtype in (None, self.dtype) and not readonly:
                return TableArray(self.table, self.dtype, self.ndim if ndim is None else ndim)
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

    def _place(context: Any, builder: Any, table: Any, value: Any, kind: Any, index: Any) -> tuple:
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
                    _check(context, builder, table.table, axis, number, extent)
                offset = builder.add(offset, number, flags=["nsw"])
        return array, builder.gep(array.data, [offset], inbounds=True), len(given)

    def _check(context: Any, builder: Any, table: str, axis: int, number: Any, extent: Any) -> None:
        outside = builder.icmp_unsigned(">=", number, extent)  # negative ones are large
        with builder.if_then(outside, likely=False):
            text = f"index {axis} of the table {table} is outside"
            context.call_conv.return_user_exc(builder, IndexError, (text,))

    def _trap(context: Any, builder: Any, table: str, value: Any) -> None:
        """A kernel that writes what is no number ends there; ``nan`` itself, as a mark, may be written."""
        with builder.if_then(builder.fcmp_unordered("uno", value, value), likely=False):
            text = f"a NaN is written to the table {table}"
            context.call_conv.return_user_exc(builder, FloatingPointError, (text,))

    def _read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, kind = signature.args
        array, place, given = _place(context, builder, table, arguments[0], kind, arguments[1])
        if given == table.ndim:
            read = builder.load(place, align=8)
            read.set_metadata("tbaa", _known(builder, table.table))
            return read
        rows = context.make_array(signature.return_type)(context, builder)
        shape = [builder.extract_value(array.shape, i) for i in range(given, table.ndim)]
        strides = [builder.extract_value(array.strides, i) for i in range(given, table.ndim)]
        populate_array(rows, place, shape, strides, array.itemsize, meminfo=None)
        return rows._getvalue()

    def _write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, kind, given = signature.args
        _, place, _ = _place(context, builder, table, arguments[0], kind, arguments[1])
        value = context.cast(builder, arguments[2], given, table.dtype)
        if (
            TRAPS_NAN
            and isinstance(table.dtype, types.Float)
            and not isinstance(value, ir.Constant)
        ):
            _trap(context, builder, table.table, value)
        builder.store(value, place, align=8).set_metadata("tbaa", _known(builder, table.table))
        return context.get_dummy_value()

    for index in (types.Integer, types.BaseTuple):
        lower_builtin(operator.getitem, TableArray, index)(_read)
        lower_builtin(operator.setitem, TableArray, index, types.Number)(_write)
        lower_builtin(operator.setitem, TableArray, index, VectorNumber)(_write)
