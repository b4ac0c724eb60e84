"""Numbers of several worlds side by side, one in each lane of a vector register.

A kernel that works on one world works on as many as there are lanes, if its tables hold lanes instead of numbers
(:mod:`rotor_core.kernels.tables`): arithmetic is done in all lanes at once, with the same roundings as for one. What a
lane must decide for itself is not an ``if``: :func:`choose` takes the one or the other, :func:`certainly` and
:func:`possibly` ask all lanes and any lane. For plain numbers the three are what they look like.
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from rotor_core.kernels.jit import COMPILED

WIDTH = 4
"""Lanes: what a register of AVX2 holds. Eight, with AVX-512, were no faster (docs/adr)."""


def certainly(condition: Any) -> bool:
    """True if it holds in every lane."""
    return bool(condition)


def possibly(condition: Any) -> bool:
    """True if it holds in some lane."""
    return bool(condition)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """``yes`` in lanes where the condition holds, ``no`` in the others; both are computed."""
    return yes if condition else no


def beside(first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Four plain numbers, one in each lane; of other numbers, which have no lanes, the first."""
    return first


def bits(condition: Any) -> int:
    """A number with bit i where the condition holds in lane i."""
    return int(condition)


if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.core.typeconv.castgraph import Conversion
    from numba.extending import lower_builtin, lower_cast, models, register_model, type_callable

    from rotor_core.numbers.derivatives import counts
    from rotor_core.numbers.vectors import (
        VectorNumber,
        as_kind,
        in_all,
        make_known,
        plain_call,
        teach,
    )

    class Lanes(VectorNumber):
        """A float64 in every lane."""

        def __init__(self) -> None:
            super().__init__("lanes", WIDTH)

        def promoted(self, context: Any, builder: Any, value: Any) -> Any:
            """See :class:`VectorNumber`."""
            return in_all(builder, VECTOR, value)

    class LaneFlags(types.Type):
        """A truth in every lane."""

        def __init__(self) -> None:
            super().__init__(name=f"lane flags({WIDTH})")

        def can_convert_from(self, typingctx: Any, other: Any) -> Any:
            """Fitness of a value of another type to stand for one."""
            return Conversion.safe if isinstance(other, types.Boolean) else None

        def unify(self, typingctx: Any, other: Any) -> Any:
            """Type of a variable that holds the one or the other."""
            return self if isinstance(other, (LaneFlags, types.Boolean)) else None

    LANES, LANE_FLAGS = Lanes(), LaneFlags()
    VECTOR = LANES.vector
    FLAGS = ir.VectorType(ir.IntType(1), WIDTH)

    make_known(LANES)

    @register_model(LaneFlags)
    class _(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, FLAGS)

    @lower_cast(types.Boolean, LaneFlags)
    def _(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
        return in_all(builder, FLAGS, value)

    def _arithmetic(name: str) -> Callable:
        return lambda context, builder, a, b: getattr(builder, name)(a, b)

    for _symbol, _name in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
        teach(LANES, getattr(operator, _symbol), 2, LANES, _arithmetic(_name))
        teach(LANES, getattr(operator, "i" + _symbol), 2, LANES, _arithmetic(_name))

    def _comparison(symbol: str) -> Callable:
        how = (
            "fcmp_unordered" if symbol == "!=" else "fcmp_ordered"
        )  # as of numbers: NaN differs from all
        return lambda context, builder, a, b: getattr(builder, how)(symbol, a, b)

    for _symbol, _name in (
        ("<", "lt"),
        ("<=", "le"),
        (">", "gt"),
        (">=", "ge"),
        ("==", "eq"),
        ("!=", "ne"),
    ):
        teach(LANES, getattr(operator, _name), 2, LANE_FLAGS, _comparison(_symbol))

    def _bits_of(builder: Any, flags: Any) -> Any:
        return builder.bitcast(flags, ir.IntType(WIDTH))

    def _in_every_lane(builder: Any, flags: Any) -> Any:
        word = _bits_of(builder, flags)
        return builder.icmp_unsigned("==", word, ir.Constant(word.type, (1 << WIDTH) - 1))

    def _in_some_lane(builder: Any, flags: Any) -> Any:
        word = _bits_of(builder, flags)
        return builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))

    def _intrinsic(name: str) -> Callable:
        def emit(context: Any, builder: Any, a: Any) -> Any:
            kind = ir.FunctionType(VECTOR, [VECTOR])
            called = cgutils.get_or_insert_function(builder.module, kind, f"{name}.v{WIDTH}f64")
            return builder.call(called, [a])

        return emit

    def _lane_by_lane(function: Any) -> Callable:
        """A function without vector instructions; once for all lanes where they are equal, as times are."""

        def emit(context: Any, builder: Any, a: Any) -> Any:
            places = [ir.Constant(ir.IntType(32), i) for i in range(WIDTH)]
            first = builder.extract_element(a, places[0])
            equal = builder.fcmp_ordered("==", a, in_all(builder, VECTOR, first))
            result = cgutils.alloca_once(builder, VECTOR)
            with builder.if_else(_in_every_lane(builder, equal)) as (alike, unlike):
                with alike:
                    builder.store(
                        in_all(builder, VECTOR, plain_call(context, builder, function, first)),
                        result,
                    )
                with unlike:
                    out = ir.Constant(VECTOR, ir.Undefined)
                    for at in places:
                        value = plain_call(
                            context, builder, function, builder.extract_element(a, at)
                        )
                        out = builder.insert_element(out, value, at)
                    builder.store(out, result)
            return builder.load(result)

        return emit

    @type_callable(beside)
    def _(context: Any) -> Callable:
        def typer(first: Any, second: Any, third: Any, fourth: Any) -> Any:
            return first if isinstance(first, VectorNumber) else LANES

        return typer

    @lower_builtin(beside, types.Any, types.Any, types.Any, types.Any)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if signature.return_type != LANES or signature.args[0] == LANES:
            return arguments[0]
        out = ir.Constant(VECTOR, ir.Undefined)
        for i, (kind, value) in enumerate(zip(signature.args, arguments, strict=True)):
            number = context.cast(builder, value, kind, types.float64)
            out = builder.insert_element(out, number, ir.Constant(ir.IntType(32), i))
        return out

    teach(LANES, operator.neg, 1, LANES, lambda context, builder, a: builder.fneg(a))
    teach(LANES, abs, 1, LANES, _intrinsic("llvm.fabs"))
    teach(LANES, math.sqrt, 1, LANES, _intrinsic("llvm.sqrt"))
    for _function in (math.exp, math.sin, math.cos):
        teach(LANES, _function, 1, LANES, _lane_by_lane(_function))

    def _extreme(symbol: str) -> Callable:
        def emit(context: Any, builder: Any, a: Any, b: Any) -> Any:
            return builder.select(
                builder.fcmp_ordered(symbol, b, a), b, a
            )  # as Python: the first of equals

        return emit

    teach(LANES, max, 2, LANES, _extreme(">"))
    teach(LANES, min, 2, LANES, _extreme("<"))

    def _is_finite(context: Any, builder: Any, a: Any) -> Any:
        size = _intrinsic("llvm.fabs")(context, builder, a)
        return builder.fcmp_ordered("<", size, ir.Constant(VECTOR, [math.inf] * WIDTH))

    teach(LANES, math.isfinite, 1, LANE_FLAGS, _is_finite)

    def _counts(context: Any, builder: Any, a: Any) -> Any:
        return builder.fcmp_unordered("!=", a, ir.Constant(VECTOR, [0.0] * WIDTH))

    teach(LANES, counts, 1, LANE_FLAGS, _counts)

    def _teach_question(function: Any, emit: Callable) -> None:
        @type_callable(function)
        def _(context: Any) -> Callable:
            return lambda condition: (
                types.boolean if isinstance(condition, (LaneFlags, types.Boolean)) else None
            )

        @lower_builtin(function, types.Boolean)
        def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return arguments[0]

        @lower_builtin(function, LaneFlags)
        def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

    _teach_question(certainly, _in_every_lane)
    _teach_question(possibly, _in_some_lane)

    @type_callable(bits)
    def _(context: Any) -> Callable:
        return lambda condition: (
            types.int64 if isinstance(condition, (LaneFlags, types.Boolean)) else None
        )

    @lower_builtin(bits, types.Boolean)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(arguments[0], ir.IntType(64))

    @lower_builtin(bits, LaneFlags)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(_bits_of(builder, arguments[0]), ir.IntType(64))

    @type_callable(choose)
    def _(context: Any) -> Callable:
        def typer(condition: Any, yes: Any, no: Any) -> Any:
            if isinstance(condition, types.Boolean):
                several = isinstance(yes, VectorNumber) or isinstance(no, VectorNumber)
                return None if several else types.float64
            return LANES if isinstance(condition, LaneFlags) else None

        return typer

    @lower_builtin(choose, types.Boolean, types.Number, types.Number)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        yes, no = (
            context.cast(builder, value, kind, types.float64)
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        )
        return builder.select(arguments[0], yes, no)

    @lower_builtin(choose, LaneFlags, types.Any, types.Any)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        yes, no = (
            as_kind(LANES, context, builder, kind, value)
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        )
        return builder.select(arguments[0], yes, no)
