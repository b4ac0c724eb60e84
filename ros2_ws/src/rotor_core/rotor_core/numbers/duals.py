"""Dual numbers: a value and its derivatives in several directions, carried through the kernels.

A kernel whose tables hold duals computes what it computes with numbers, and at each operation the derivatives by the
chain rule. It decides by values alone: what is an ``if`` for numbers is one here.

Source: forward differentiation by operator overloading (Griewank and Walther, Evaluating Derivatives, SIAM 2008,
ch. 3). Where the square root is zero its slope is infinite; a derivative of zero stays zero there, as that of |v| v.
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from rotor_core.kernels.jit import COMPILED

DIRECTIONS = 7
"""Derivatives that a dual carries: with the value they fill a register of AVX-512, or two of AVX2."""

WIDTH = 1 + DIRECTIONS
ALIGNED = 64
"""Bytes at a multiple of which a vector may be expected."""

SEEN = 1e-3
"""Share of derivatives that counts where kernels ask how large a number is: an iteration ends when they rest, too."""


duals: Any = None
"""In kernels: an argument, or nested tuples of them, with duals in the place of arrays of :func:`empty_duals`.

A single dual, of the shape (WIDTH,), becomes a number.
"""


def empty_duals(shape: tuple[int, ...]) -> np.ndarray:
    """Room for duals, (..., WIDTH) float64, zero; the value comes first."""
    n = math.prod(shape) * WIDTH
    raw = np.zeros(n + ALIGNED // 8)
    skip = -raw.ctypes.data % ALIGNED // 8
    return raw[skip : skip + n].reshape(*shape, WIDTH)


def constant_duals(values: np.ndarray) -> np.ndarray:
    """Duals of numbers that depend on nothing, (..., WIDTH)."""
    duals = empty_duals(values.shape)
    duals[..., 0] = values
    return duals


if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, lower_builtin, type_callable
    from numba.np.arrayobj import populate_array

    from rotor_core.kernels.link import add_kind
    from rotor_core.numbers.derivatives import (
        as_variable,
        counts,
        has_derivatives,
        rate_between,
        root_of,
        size_of,
        without_derivatives,
    )
    from rotor_core.numbers.lanes import choose
    from rotor_core.numbers.vectors import (
        DOUBLE,
        INDEX,
        VectorNumber,
        as_kind,
        in_all,
        make_known,
        plain_call,
        teach,
    )

    VALUE, FIRST = ir.Constant(INDEX, 0), ir.Constant(INDEX, 1)
    ZERO, HALF, ONE = (ir.Constant(DOUBLE, x) for x in (0.0, 0.5, 1.0))

    class Dual(VectorNumber):
        """A value and its derivatives."""

        def __init__(self) -> None:
            super().__init__("dual", WIDTH)

        def promoted(self, context: Any, builder: Any, value: Any) -> Any:
            """See :class:`VectorNumber`."""
            return _with_value(builder, NOTHING, value)

    DUAL = Dual()
    VECTOR = DUAL.vector
    NOTHING = ir.Constant(VECTOR, [0.0] * WIDTH)
    make_known(DUAL)
    add_kind(DUAL)

    def _value(builder: Any, a: Any) -> Any:
        return builder.extract_element(a, VALUE)

    def _with_value(builder: Any, a: Any, value: Any) -> Any:
        return builder.insert_element(a, value, VALUE)

    def _slopes(builder: Any, a: Any) -> Any:
        """Derivatives alone."""
        return _with_value(builder, a, ZERO)

    def _times(builder: Any, a: Any, factor: Any) -> Any:
        return builder.fmul(a, in_all(builder, VECTOR, factor), flags=["contract"])

    def _plus(builder: Any, a: Any, b: Any) -> Any:
        return builder.fadd(a, b, flags=["contract"])

    def _intrinsic(builder: Any, name: str, *values: Any) -> Any:
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(values))
        called = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.f64")
        return builder.call(called, list(values))

    # --- arithmetic -------------------------------------------------------------------------------

    def _add(context: Any, builder: Any, a: Any, b: Any) -> Any:
        return builder.fadd(a, b, flags=["contract"])

    def _subtract(context: Any, builder: Any, a: Any, b: Any) -> Any:
        return builder.fsub(a, b, flags=["contract"])

    def _multiply(context: Any, builder: Any, a: Any, b: Any) -> Any:
        whole = _times(builder, a, _value(builder, b))
        return _plus(builder, whole, _times(builder, _slopes(builder, b), _value(builder, a)))

    def _divide(context: Any, builder: Any, a: Any, b: Any) -> Any:
        below = _value(builder, b)
        quotient = builder.fdiv(_value(builder, a), below)
        rest = builder.fsub(a, _times(builder, _slopes(builder, b), quotient), flags=["contract"])
        slopes = _times(builder, rest, builder.fdiv(ONE, below))
        return _with_value(builder, slopes, quotient)

    for _name, _emit in (
        ("add", _add),
        ("sub", _subtract),
        ("mul", _multiply),
        ("truediv", _divide),
    ):
        teach(DUAL, getattr(operator, _name), 2, DUAL, _emit)
        teach(DUAL, getattr(operator, "i" + _name), 2, DUAL, _emit)

    teach(DUAL, operator.neg, 1, DUAL, lambda context, builder, a: builder.fneg(a))
    teach(DUAL, operator.pos, 1, DUAL, lambda context, builder, a: a)

    # --- decisions, by values ---------------------------------------------------------------------

    def _compare(symbol: str) -> Callable:
        how = "fcmp_unordered" if symbol == "!=" else "fcmp_ordered"
        return lambda context, builder, a, b: getattr(builder, how)(
            symbol, _value(builder, a), _value(builder, b)
        )

    for _symbol, _name in (
        ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq"), ("!=", "ne"),
    ):  # fmt: skip
        teach(DUAL, getattr(operator, _name), 2, types.boolean, _compare(_symbol))

    def _extreme(symbol: str) -> Callable:
        def emit(context: Any, builder: Any, *numbers: Any) -> Any:
            best = numbers[0]
            for other in numbers[1:]:  # as Python: the first of equals
                better = builder.fcmp_ordered(symbol, _value(builder, other), _value(builder, best))
                best = builder.select(better, other, best)
            return best

        return emit

    for _count in (2, 3):
        teach(DUAL, max, _count, DUAL, _extreme(">"))
        teach(DUAL, min, _count, DUAL, _extreme("<"))

    def _is_finite(context: Any, builder: Any, a: Any) -> Any:
        size = _intrinsic(builder, "fabs", _value(builder, a))
        return builder.fcmp_ordered("<", size, ir.Constant(DOUBLE, math.inf))

    def _is_nan(context: Any, builder: Any, a: Any) -> Any:
        return builder.fcmp_unordered("uno", _value(builder, a), _value(builder, a))

    teach(DUAL, math.isfinite, 1, types.boolean, _is_finite)
    teach(DUAL, math.isnan, 1, types.boolean, _is_nan)

    def _sign(context: Any, builder: Any, a: Any, b: Any) -> Any:
        signed = _intrinsic(builder, "copysign", _value(builder, a), _value(builder, b))
        turned = builder.fcmp_unordered("!=", signed, _value(builder, a))
        return _with_value(builder, builder.select(turned, builder.fneg(a), a), signed)

    def _size(context: Any, builder: Any, a: Any) -> Any:
        below = builder.fcmp_ordered("<", _value(builder, a), ZERO)
        return _with_value(
            builder,
            builder.select(below, builder.fneg(a), a),
            _intrinsic(builder, "fabs", _value(builder, a)),
        )

    teach(DUAL, math.copysign, 2, DUAL, _sign)
    teach(DUAL, abs, 1, DUAL, _size)

    # --- whole numbers: constant between their steps ----------------------------------------------

    def _stair(name: str) -> Callable:
        return lambda context, builder, a: _with_value(
            builder, NOTHING, _intrinsic(builder, name, _value(builder, a))
        )

    for _function, _name in ((math.ceil, "ceil"), (math.floor, "floor")):
        teach(DUAL, _function, 1, DUAL, _stair(_name))

    for _function, _name in ((int, ""), (round, "rint")):

        @type_callable(_function)
        def _(context: Any) -> Callable:
            return lambda a: types.int64 if a == DUAL else None

        def _whole(
            context: Any, builder: Any, signature: Any, arguments: Any, name: str = _name
        ) -> Any:
            value = _value(builder, arguments[0])
            value = _intrinsic(builder, name, value) if name else value
            return builder.fptosi(value, ir.IntType(64))

        lower_builtin(_function, Dual)(_whole)

    # --- functions, by the chain rule -------------------------------------------------------------

    def _root(context: Any, builder: Any, a: Any) -> Any:
        root = _intrinsic(builder, "sqrt", _value(builder, a))
        slopes = _times(builder, a, builder.fdiv(HALF, root))
        still = builder.fcmp_ordered("==", a, NOTHING)
        return _with_value(builder, builder.select(still, NOTHING, slopes), root)

    teach(DUAL, math.sqrt, 1, DUAL, _root)

    def _chain(function: Any, slope: Callable) -> Callable:
        """``slope`` of a function: called with context, builder, argument and result."""

        def emit(context: Any, builder: Any, a: Any) -> Any:
            x = _value(builder, a)
            y = plain_call(context, builder, function, x)
            return _with_value(builder, _times(builder, a, slope(context, builder, x, y)), y)

        return emit

    def _one_plus_square(b: Any, x: Any) -> Any:
        return b.fadd(ONE, b.fmul(x, x))

    def _one_minus_square(b: Any, x: Any) -> Any:
        return b.fsub(ONE, b.fmul(x, x))

    SLOPES = {
        math.exp: lambda c, b, x, y: y,
        math.log: lambda c, b, x, y: b.fdiv(ONE, x),
        math.sin: lambda c, b, x, y: plain_call(c, b, math.cos, x),
        math.cos: lambda c, b, x, y: b.fneg(plain_call(c, b, math.sin, x)),
        math.tan: lambda c, b, x, y: _one_plus_square(b, y),
        math.tanh: lambda c, b, x, y: _one_minus_square(b, y),
        math.atan: lambda c, b, x, y: b.fdiv(ONE, _one_plus_square(b, x)),
        math.asin: lambda c, b, x, y: b.fdiv(ONE, _intrinsic(b, "sqrt", _one_minus_square(b, x))),
        math.acos: lambda c, b, x, y: b.fneg(
            b.fdiv(ONE, _intrinsic(b, "sqrt", _one_minus_square(b, x)))
        ),
    }
    """Slope of every function, from its argument x and its value y."""
    for _function, _slope in SLOPES.items():
        teach(DUAL, _function, 1, DUAL, _chain(_function, _slope))

    def _two(function: Any, slopes: Callable) -> Callable:
        """``slopes``: with each argument, from context, builder, arguments and result."""

        def emit(context: Any, builder: Any, a: Any, b: Any) -> Any:
            x, y = _value(builder, a), _value(builder, b)
            z = plain_call(context, builder, function, x, y)
            along_a, along_b = slopes(context, builder, x, y, z)
            sum_ = _plus(builder, _times(builder, a, along_a), _times(builder, b, along_b))
            return _with_value(builder, sum_, z)

        return emit

    def _angle_slopes(c: Any, b: Any, y: Any, x: Any, angle: Any) -> tuple:
        square = b.fadd(b.fmul(x, x), b.fmul(y, y))
        return b.fdiv(x, square), b.fneg(b.fdiv(y, square))

    def _distance_slopes(c: Any, b: Any, x: Any, y: Any, distance: Any) -> tuple:
        return b.fdiv(x, distance), b.fdiv(y, distance)

    teach(DUAL, math.atan2, 2, DUAL, _two(math.atan2, _angle_slopes))
    teach(DUAL, math.hypot, 2, DUAL, _two(math.hypot, _distance_slopes))

    def _power(context: Any, builder: Any, a: Any, b: Any) -> Any:
        x, y = _value(builder, a), _value(builder, b)
        less = plain_call(context, builder, math.pow, x, builder.fsub(y, ONE))
        power = plain_call(context, builder, math.pow, x, y)
        slopes = _times(builder, a, builder.fmul(y, less))
        varies = builder.fcmp_ordered("==", _slopes(builder, b), NOTHING)
        log = plain_call(context, builder, math.log, x)
        by_exponent = _times(builder, b, builder.fmul(power, log))
        slopes = _plus(builder, slopes, builder.select(varies, NOTHING, by_exponent))
        return _with_value(builder, slopes, power)

    teach(DUAL, operator.pow, 2, DUAL, _power)

    # --- what kernels ask -------------------------------------------------------------------------

    @type_callable(choose)
    def _(context: Any) -> Callable:
        def typer(condition: Any, yes: Any, no: Any) -> Any:
            return DUAL if isinstance(condition, types.Boolean) and DUAL in (yes, no) else None

        return typer

    def _choose(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = zip(signature.args[1:], arguments[1:], strict=True)
        yes, no = (as_kind(DUAL, context, builder, k, v) for k, v in given)
        return builder.select(arguments[0], yes, no)

    for _pattern in ((Dual, Dual), (Dual, types.Number), (types.Number, Dual)):
        lower_builtin(choose, types.Boolean, *_pattern)(_choose)

    @lower_builtin(has_derivatives, Dual)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.boolean, True)

    @lower_builtin(without_derivatives, Dual)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _with_value(builder, NOTHING, _value(builder, arguments[0]))

    @lower_builtin(as_variable, Dual)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ones = ir.Constant(VECTOR, [1.0] * WIDTH)
        return _with_value(builder, ones, _value(builder, arguments[0]))

    @lower_builtin(size_of, Dual)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        largest = ZERO
        for k in range(1, WIDTH):
            slope = builder.extract_element(arguments[0], ir.Constant(INDEX, k))
            size = _intrinsic(builder, "fabs", slope)
            largest = builder.select(builder.fcmp_ordered(">", size, largest), size, largest)
        value = _intrinsic(builder, "fabs", _value(builder, arguments[0]))
        return builder.fadd(value, builder.fmul(ir.Constant(DOUBLE, SEEN), largest))

    def _counts(context: Any, builder: Any, a: Any) -> Any:
        flags = builder.fcmp_unordered("!=", a, NOTHING)
        word = builder.bitcast(flags, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))

    teach(DUAL, counts, 1, types.boolean, _counts)

    @lower_builtin(rate_between, Dual, Dual)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        before, after = (builder.extract_element(a, FIRST) for a in arguments)
        return builder.fsub(after, before)

    @lower_builtin(root_of, Dual, Dual, types.Float)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        variable, before, rate = arguments
        slopes = _times(builder, before, builder.fneg(builder.fdiv(ONE, rate)))
        return _with_value(builder, slopes, _value(builder, variable))

    def _seen_as_duals(kind: Any) -> Any:
        """Type of what :func:`duals` makes of an argument."""
        if hasattr(kind, "types"):
            return types.Tuple([_seen_as_duals(k) for k in kind.types])
        if isinstance(kind, types.Array) and kind.dtype == types.float64:
            return types.Array(DUAL, kind.ndim - 1, "C") if kind.ndim > 1 else DUAL
        return kind

    def _see(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        wanted = _seen_as_duals(kind)
        if hasattr(kind, "types"):
            parts = [
                _see(context, builder, k, builder.extract_value(value, i))
                for i, k in enumerate(kind.types)
            ]
            return context.make_tuple(builder, wanted, parts)
        if wanted == kind:
            return value
        given = context.make_array(kind)(context, builder, value)
        if wanted == DUAL:
            place = builder.bitcast(given.data, context.get_data_type(DUAL).as_pointer())
            return builder.load(place, align=8)
        seen = context.make_array(wanted)(context, builder)
        shape = [builder.extract_value(given.shape, i) for i in range(wanted.ndim)]
        strides = [builder.extract_value(given.strides, i) for i in range(wanted.ndim)]
        size = context.get_constant(types.intp, WIDTH * 8)
        place = builder.bitcast(given.data, context.get_data_type(DUAL).as_pointer())
        populate_array(seen, place, shape, strides, size, meminfo=None)
        return seen._getvalue()

    @intrinsic
    def _duals(typingctx: Any, arguments: Any) -> Any:

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _see(context, builder, signature.args[0], values[0])

        return _seen_as_duals(arguments)(arguments), codegen

    duals = _duals
