"""Questions of a kernel to numbers that may carry derivatives (:mod:`rotor_core.numbers.duals`).

For plain numbers the answers are constants of the compiler: kernels that ask cost nothing then.
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import Any

from rotor_core.kernels.jit import COMPILED


def has_derivatives(number: Any) -> bool:
    """True if numbers of this kind carry derivatives."""
    return False


def without_derivatives(number: Any) -> Any:
    """The value, as a constant."""
    return number


def as_variable(number: Any) -> Any:
    """The value, with a derivative of one in every direction."""
    return number


def size_of(number: Any) -> float:
    """Size of a number, for those who ask whether they are done: with derivatives, also by a share of these."""
    return abs(number)


def counts(number: Any) -> Any:
    """True if a number is not zero, or a derivative of it is not: what it is a factor of cannot be left out."""
    return number != 0.0


def rate_between(before: Any, after: Any) -> float:
    """Rate of a quantity with a variable, from its derivatives without and with :func:`as_variable`."""
    return 0.0


def root_of(variable: Any, before: Any, rate: float) -> Any:
    """The variable that keeps a quantity at zero.

    Args:
        variable: where it is zero.
        before: the quantity there, with the derivatives it has while the variable stays.
        rate: of the quantity with the variable.
    """
    return variable


if COMPILED:
    from numba import types
    from numba.extending import lower_builtin, type_callable

    from rotor_core.numbers.vectors import VectorNumber

    def _like_first(*kinds: Any) -> Any:
        return kinds[0] if isinstance(kinds[0], (VectorNumber, types.Number)) else None

    type_callable(has_derivatives)(lambda context: lambda number: types.boolean)
    type_callable(without_derivatives)(lambda context: lambda number: _like_first(number))
    type_callable(as_variable)(lambda context: lambda number: _like_first(number))
    type_callable(size_of)(lambda context: lambda number: types.float64)
    type_callable(counts)(
        lambda context: lambda number: types.boolean if isinstance(number, types.Float) else None
    )
    type_callable(rate_between)(lambda context: lambda before, after: types.float64)
    type_callable(root_of)(lambda context: lambda variable, before, rate: _like_first(variable))

    @lower_builtin(has_derivatives, types.Number)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.boolean, False)

    @lower_builtin(size_of, types.Float)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.call(
            builder.module.declare_intrinsic("llvm.fabs", [arguments[0].type]), arguments
        )

    @lower_builtin(counts, types.Float)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = context.get_constant(signature.args[0], 0.0)
        return builder.fcmp_unordered("!=", arguments[0], zero)

    @lower_builtin(rate_between, types.Number, types.Number)
    def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.float64, 0.0)

    def _the_first(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[0], signature.args[0], signature.return_type)

    lower_builtin(without_derivatives, types.Number)(_the_first)
    lower_builtin(as_variable, types.Number)(_the_first)
    lower_builtin(root_of, types.Number, types.Number, types.Number)(_the_first)
