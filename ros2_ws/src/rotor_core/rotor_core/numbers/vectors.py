"""Kinds of numbers that fill a vector register, as compiled kernels see them.

A kernel is written for numbers. It is compiled once more for each kind of number that its tables hold: worlds side by
side (:mod:`rotor_core.numbers.lanes`), or values with derivatives (:mod:`rotor_core.numbers.duals`).
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from rotor_core.kernels.jit import COMPILED

if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.core.typeconv.castgraph import Conversion
    from numba.extending import lower_builtin, lower_cast, models, register_model, type_callable

    DOUBLE, INDEX = ir.DoubleType(), ir.IntType(32)

    class VectorNumber(types.Type):
        """A kind of number that is a vector of float64; a plain number can take its place.

        Args:
            name: of the kind.
            width: float64s of one.
        """

        def __init__(self, name: str, width: int) -> None:
            super().__init__(name=f"{name}({width})")
            self.width = width
            self.vector = ir.VectorType(DOUBLE, width)

        def can_convert_from(self, typingctx: Any, other: Any) -> Any:
            """Fitness of a value of another type to stand for one."""
            return Conversion.safe if isinstance(other, types.Number) else None

        def unify(self, typingctx: Any, other: Any) -> Any:
            """Type of a variable that holds the one or the other."""
            return self if other == self or isinstance(other, types.Number) else None

        def promoted(self, context: Any, builder: Any, value: Any) -> Any:
            """Code of a number of this kind from a float64."""
            raise NotImplementedError

    def in_all(builder: Any, kind: Any, value: Any) -> Any:
        """Vector with one value everywhere."""
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, value, ir.Constant(INDEX, 0))
        zeros = ir.Constant(ir.VectorType(INDEX, kind.count), None)
        return builder.shuffle_vector(first, undefined, zeros)

    def as_kind(kind: VectorNumber, context: Any, builder: Any, given: Any, value: Any) -> Any:
        """Code of a number of this kind from one of this kind or a plain number."""
        if given == kind:
            return value
        return kind.promoted(context, builder, context.cast(builder, value, given, types.float64))

    def make_known(kind: VectorNumber) -> None:
        """Say how a kind lies in registers and memory, and how it is made of plain numbers."""

        @register_model(type(kind))
        class _(models.PrimitiveModel):
            def __init__(self, manager: Any, fe_type: Any) -> None:
                super().__init__(manager, fe_type, kind.vector)

        @lower_cast(types.Number, type(kind))
        def _(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
            return as_kind(kind, context, builder, given, value)

    def teach(
        kind: VectorNumber, function: Any, count: int, result: Any, emit: Callable[..., Any]
    ) -> None:
        """Type and code of a function of ``count`` arguments of which one at least is of this kind.

        Args:
            kind: of the arguments; plain ones are promoted.
            function: as kernels name it.
            count: of its arguments, at most three.
            result: type of the result.
            emit: called with context, builder and the arguments.
        """

        def fit(*kinds: Any) -> Any:
            known = all(k == kind or isinstance(k, types.Number) for k in kinds)
            return result if known and kind in kinds else None

        typers = {1: lambda a: fit(a), 2: lambda a, b: fit(a, b), 3: lambda a, b, c: fit(a, b, c)}
        type_callable(function)(lambda context: typers[count])

        def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = zip(signature.args, arguments, strict=True)
            return emit(
                context, builder, *(as_kind(kind, context, builder, k, v) for k, v in given)
            )

        for pattern in itertools.product((type(kind), types.Number), repeat=count):
            if type(kind) in pattern:
                lower_builtin(function, *pattern)(lowered)

    def plain_call(context: Any, builder: Any, function: Any, *values: Any) -> Any:
        """Code of a function of float64 that gives one."""
        signature = types.float64(*[types.float64] * len(values))
        known = context.typing_context.resolve_value_type(function)
        known.get_call_type(context.typing_context, signature.args, {})
        return context.get_function(known, signature)(builder, list(values))
