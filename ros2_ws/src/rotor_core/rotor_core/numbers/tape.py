"""Numbers that remember how they were made: a kernel that is run with them in Python leaves a list of operations.

A kernel whose loops depend on whole numbers alone does the same operations on whatever numbers it gets. Where it
decides by numbers, the answer of today is noted as a *condition* of the list, which is right wherever all of its
conditions hold. Where kernels say how lanes decide (:mod:`rotor_core.numbers.lanes`) there is no need for one: both
sides are computed, or one answer is always right.

Source: tracing with a tape (Griewank and Walther, Evaluating Derivatives, SIAM 2008, ch. 4).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotor_core.numbers import derivatives, lanes

INPUT, ADD, SUB, MUL, DIV, NEG, ABS, SQRT, EXP, LOG, SIN, COS, TAN, TANH, ATAN2, ACOS, CHOOSE, VALUE = (
    "input", "add", "sub", "mul", "div", "neg", "abs", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "atan2",
    "acos", "choose", "value",
)  # fmt: skip
AND, OR, NOT = "and", "or", "not"
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
"""Operations that tell a truth, besides AND, OR and NOT."""


class Operation(NamedTuple):
    """Origin of a number or a truth.

    Attributes:
        name: of this module.
        operands: numbers of earlier operations, or constants (float).
        key: of an input, which one.
    """

    name: str
    operands: tuple[int | float, ...] = ()
    key: Any = None


class Tape:
    """Operations in the order in which they were done; what was done before is not done again.

    Attributes:
        operations: each with operands before it.
        conditions: numbers of truths that must hold for the list to be what the kernel does.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.conditions: list[int] = []
        self._known: dict[tuple, int] = {}

    def note(self, operation: Operation) -> int:
        """Its number."""
        # operation 2 is not the constant 2.0
        known = operation, tuple(map(type, operation.operands))
        at = self._known.get(known)
        if at is None:
            at = self._known[known] = len(self.operations)
            self.operations.append(operation)
        return at

    def input(self, key: Any, value: float) -> Number:
        """A number from outside, with the value by which conditions are noted."""
        return Number(self, self.note(Operation(INPUT, (), key)), float(value))

    def left_out(self) -> set[Any]:
        """Keys of inputs that may be zero by a condition: nothing is known of derivatives with them."""
        found = set()
        for at in self.conditions:
            operation, denied = self.operations[at], False
            if operation.name == NOT:
                operation, denied = self.operations[int(operation.operands[0])], True
            of_zero = operation.name in COMPARISONS and operation.operands[1] == 0.0
            excludes = ("<=", ">=", "==") if denied else ("<", ">", "!=")
            if of_zero and operation.name not in excludes:
                found.add(self.operations[int(operation.operands[0])].key)
        return found - {None}

    def needed_for(self, numbers: set[int]) -> set[int]:
        """These operations and all on which they depend."""
        found, left = set(), list(numbers)
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left += [
                    o for o in self.operations[at].operands if type(o) is int and o not in found
                ]
        return found


def _operand(x: Any) -> int | float:
    return x.at if isinstance(x, (Number, Truth)) else float(x)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, (Number, Truth)) else x


def _quotient(a: float, b: float) -> float:
    """As kernels divide: infinite where b is zero."""
    with np.errstate(all="ignore"):
        return float(np.divide(a, b))


def _is_nothing(other: object) -> bool:
    return isinstance(other, (int, np.integer)) and int(other) == 0


class NotOnTape(TypeError):
    """A kernel does with a number of a tape what no list of operations holds: it looks it up in a table, say."""


class Truth:
    """A truth about numbers of a tape."""

    __slots__ = ("at", "tape", "value")

    def __init__(self, tape: Tape, at: int, value: bool) -> None:
        self.tape, self.at, self.value = tape, at, bool(value)

    def __bool__(self) -> bool:
        """Today's answer, a condition from here on."""
        (self if self.value else ~self).hold()
        return self.value

    def _with(self, other: Any, name: str, neutral: bool) -> Any:
        if not isinstance(other, Truth):  # bits of lanes: none, or any
            return self if bool(other) == neutral else other
        value = (self.value and other.value) if name == AND else (self.value or other.value)
        return Truth(self.tape, self.tape.note(Operation(name, (self.at, other.at))), value)

    def __and__(self, other: Any) -> Any:
        return self._with(other, AND, True)

    def __or__(self, other: Any) -> Any:
        return self._with(other, OR, False)

    __rand__, __ror__ = __and__, __or__

    __hash__ = None  # type: ignore[assignment]

    def __ne__(self, other: object) -> Any:
        """Of bits of lanes: whether there are any."""
        return self if _is_nothing(other) else NotImplemented

    def __eq__(self, other: object) -> Any:
        return ~self if _is_nothing(other) else NotImplemented

    def __invert__(self) -> Truth:
        return Truth(self.tape, self.tape.note(Operation(NOT, (self.at,))), not self.value)

    def hold(self) -> None:
        """From here on the tape is right only where this is true."""
        if self.at not in self.tape.conditions:
            self.tape.conditions.append(self.at)


class Number:
    """A number of a tape, with its value where it was made."""

    __slots__ = ("at", "tape", "value")
    __array_ufunc__ = None  # whole numbers of NumPy leave the operation to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tape: Tape, at: int, value: float) -> None:
        self.tape, self.at, self.value = tape, at, value

    def _new(self, name: str, value: float, *operands: Any) -> Number:
        at = self.tape.note(Operation(name, tuple(map(_operand, operands))))
        return Number(self.tape, at, float(value))

    def _compare(self, symbol: str, other: Any) -> Any:
        value = COMPARISONS[symbol](self.value, _value(other))
        if isinstance(other, Number) and other.at == self.at:
            return bool(value)
        return Truth(
            self.tape, self.tape.note(Operation(symbol, (self.at, _operand(other)))), value
        )

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Number) and other == 0.0:
            return self
        a, b = sorted((self, other), key=lambda x: x.at if isinstance(x, Number) else -1)
        return self._new(ADD, self.value + _value(other), a, b)

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, Number) and other == 0.0:
            return self
        return self._new(SUB, self.value - _value(other), self, other)

    def __rsub__(self, other: Any) -> Any:
        return -self if other == 0.0 else self._new(SUB, other - self.value, other, self)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Number):
            if other == 0.0:
                return 0.0
            if abs(other) == 1.0:
                return self if other > 0.0 else -self
        a, b = sorted((self, other), key=lambda x: x.at if isinstance(x, Number) else -1)
        return self._new(MUL, self.value * _value(other), a, b)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Number:
        return self._new(DIV, _quotient(self.value, _value(other)), self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._new(DIV, _quotient(other, self.value), other, self) if other != 0.0 else 0.0

    def __neg__(self) -> Number:
        return self._new(NEG, -self.value, self)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return self._new(ABS, abs(self.value), self)

    def __lt__(self, other: Any) -> Any:
        if not isinstance(other, Number) and other == -math.inf:  # a switch that is off
            return False
        return self._compare("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(">=", other)

    def __eq__(self, other: Any) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: Any) -> Any:
        return self._compare("!=", other)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, Number) or float(other) not in (2.0, 3.0):
            raise NotOnTape(f"a number of a tape to the power {other}")
        return self * self if float(other) == 2.0 else self * self * self

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def __round__(self, digits: int | None = None) -> int:
        """Today's whole number, with the conditions under which it is that."""
        if digits is not None:
            self._whole()
        whole = round(self.value)
        for condition in (self > whole - 0.5, self < whole + 0.5):
            condition.hold()
        return whole

    def _whole(self, *_: Any) -> Any:
        raise NotOnTape("a whole number, or a plain one, from a number of a tape")

    __float__ = __int__ = __index__ = __trunc__ = __floor__ = __ceil__ = __rpow__ = _whole


def _certainly(condition: Any) -> bool:
    """No is always right; yes is noted."""
    if isinstance(condition, Truth) and condition.value:
        condition.hold()
    return bool(_value(condition))


def _possibly(condition: Any) -> bool:
    """Yes is always right; no is noted."""
    if isinstance(condition, Truth) and not condition.value:
        (~condition).hold()
    return bool(_value(condition))


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    if not isinstance(condition, Truth):
        return yes if condition else no
    operands = condition.at, _operand(yes), _operand(no)
    at = condition.tape.note(Operation(CHOOSE, operands))
    return Number(condition.tape, at, float(_value(yes if condition.value else no)))


def _bits(condition: Any) -> Any:
    return condition if isinstance(condition, Truth) else int(condition)


def _counts(x: Any) -> Any:
    """True but of an input that is zero, which is noted: what was computed may have derivatives where it is zero."""
    if not isinstance(x, Number):
        return x != 0.0
    return x != 0.0 if x.tape.operations[x.at].name == INPUT else True


def _extreme(is_better: Callable[[Any, Any], Any], plain: Callable[..., Any]) -> Callable:
    """Largest or smallest of several; of equal ones the first, as for numbers."""

    def extreme(*given: Any) -> Any:
        if not any(isinstance(x, Number) for x in given):
            return plain(*given)
        best = given[0]
        for x in given[1:]:
            best = _choose(is_better(x, best), x, best)
        return best

    return extreme


def _function(name: str, plain: Callable[..., float]) -> Callable:
    def call(*given: Any) -> Any:
        known = next((x for x in given if isinstance(x, Number)), None)
        if known is None:
            return plain(*given)
        return known._new(name, plain(*map(_value, given)), *given)

    return call


def _copysign(size: Any, sign: Any) -> Any:
    if not isinstance(size, Number) and not isinstance(sign, Number):
        return math.copysign(size, sign)
    return _choose(sign < 0.0, -abs(size), abs(size))


FUNCTIONS: dict[Any, Callable] = {
    math.sqrt: _function(SQRT, math.sqrt),
    math.exp: _function(EXP, math.exp),
    math.sin: _function(SIN, math.sin),
    math.cos: _function(COS, math.cos),
    math.tan: _function(TAN, math.tan),
    math.tanh: _function(TANH, math.tanh),
    math.copysign: _copysign,
    math.log: _function(LOG, math.log),
    math.acos: _function(ACOS, math.acos),
    math.atan2: _function(ATAN2, math.atan2),
    # a flight with a number that is not has no derivative to ask for
    math.isfinite: lambda x: True,
    max: _extreme(operator.gt, max),
    min: _extreme(operator.lt, min),
    lanes.certainly: _certainly,
    lanes.possibly: _possibly,
    lanes.choose: _choose,
    lanes.bits: _bits,
    derivatives.counts: _counts,
    derivatives.without_derivatives: _function(VALUE, lambda x: x),
}
"""What stands in the place of these functions while a kernel runs with numbers of a tape."""
