"""Compile a tape backward: the derivative of one number with everything that the tape read, at the cost of a few runs.

Operations of a tape (:mod:`rotor_core.numbers.tape`) become straight machine code that computes them forward, and then
backward what each contributes (Griewank and Walther, Evaluating Derivatives, SIAM 2008, ch. 3.2). Values come from
arrays, derivatives are added to arrays beside them; a driver runs such code over a list of rows from its end.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from llvmlite import ir

from rotor_core.kernels.jit import cache_directory
from rotor_core.numbers import tape as t
from rotor_core.numbers.tape import Operation, Tape

ROW, HELD, GIVEN = range(3)
"""Arrays: what changes from row to row; what stays; what comes from outside, or goes there, at one row."""

NO_CODE = 0
"""Address in the place of a function: the driver stops there."""

DOUBLE, WORD, FLAG = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
NUMBERS, WORDS = DOUBLE.as_pointer(), WORD.as_pointer()
BACKWARD = ir.FunctionType(FLAG, [NUMBERS] * 6)
"""Values in the three arrays, then derivatives; true where the conditions of the tape hold."""

FAST = ("contract",)

DIGEST = hashlib.sha256().digest_size


class Place(NamedTuple):
    """A number of one of the arrays."""

    array: int
    number: int


class _Backward:
    """Code of one tape.

    Args:
        function: to be filled.
        tape: of it.
        reads: place of every input, by its key.
        writes: place and operand of every output: of rows, or GIVEN.
    """

    def __init__(
        self,
        function: ir.Function,
        tape: Tape,
        reads: Mapping[Any, Place],
        writes: Sequence[tuple[Place, int | float]],
    ) -> None:
        self._builder: Any = ir.IRBuilder(function.append_basic_block())
        self._values, self._slopes = function.args[:3], function.args[3:]
        self._operations, self._reads, self._writes = tape.operations, reads, writes
        self._functions: dict[str, ir.Function] = {}
        self._made: dict[int, ir.Value] = {}
        self._to: dict[int, ir.Value] = {}  # derivative of the one number with each operation
        outputs = {o for _, o in writes if type(o) is int}
        order = sorted(tape.needed_for(outputs | set(tape.conditions)))
        for at in order:
            self._made[at] = self._forward(self._operations[at])
        holds = ir.Constant(FLAG, True)
        for at in tape.conditions:
            holds = self._builder.and_(holds, self._made[at])
        with self._builder.if_then(self._builder.not_(holds), likely=False):
            self._builder.ret(ir.Constant(FLAG, False))
        for place, operand in writes:
            self._add(operand, self._load(self._slopes, place))
        for at in reversed(order):
            if at in self._to:
                self._backward(at, self._operations[at], self._to[at])
        self._store(order)
        self._builder.ret(ir.Constant(FLAG, True))

    def _pointer(self, arrays: Sequence[ir.Value], place: Place) -> ir.Value:
        return self._builder.gep(arrays[place.array], [ir.Constant(WORD, place.number)])

    def _load(self, arrays: Sequence[ir.Value], place: Place) -> ir.Value:
        return self._builder.load(self._pointer(arrays, place))

    def _of(self, operand: int | float) -> ir.Value:
        return self._made[operand] if type(operand) is int else ir.Constant(DOUBLE, operand)

    def _call(self, name: str, *given: ir.Value) -> ir.Value:
        """A function of the compiler, or of the mathematical library."""
        if name not in self._functions:
            kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(given))
            symbol = name if name in (t.TAN, t.TANH, t.ATAN2, t.ACOS) else f"llvm.{name}.f64"
            self._functions[name] = ir.Function(self._builder.module, kind, symbol)
        return self._builder.call(self._functions[name], given)

    def _forward(self, operation: Operation) -> ir.Value:
        build, name = self._builder, operation.name
        if name == t.INPUT:
            return self._load(self._values, self._reads[operation.key])
        of: list[Any] = [self._of(o) for o in operation.operands]
        if name in t.COMPARISONS:
            compare = build.fcmp_unordered if name == "!=" else build.fcmp_ordered
            return compare(name, *of)
        if name in (t.ADD, t.SUB, t.MUL, t.DIV):
            return getattr(build, f"f{name}")(*of, flags=FAST)
        if name in (t.AND, t.OR):
            return getattr(build, f"{name}_")(*of)
        if name == t.NOT:
            return build.not_(*of)
        if name == t.NEG:
            return build.fneg(*of)
        if name == t.VALUE:
            return of[0]
        if name == t.CHOOSE:
            return build.select(*of)
        return self._call("fabs" if name == t.ABS else name, *of)

    def _times(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._builder.fmul(a, b, flags=FAST)

    def _over(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._builder.fdiv(a, b, flags=FAST)

    def _add(self, operand: int | float, slope: ir.Value) -> None:
        if type(operand) is int:
            known = self._to.get(operand)
            self._to[operand] = (
                self._builder.fadd(known, slope, flags=FAST) if known is not None else slope
            )

    def _backward(self, at: int, operation: Operation, slope: ir.Value) -> None:
        """Add what an operation contributes, whose derivative is known, to those of its operands."""
        build, name, operands = self._builder, operation.name, operation.operands
        if name == t.ADD:
            self._add(operands[0], slope)
            self._add(operands[1], slope)
        elif name == t.SUB:
            self._add(operands[0], slope)
            self._add(operands[1], build.fneg(slope))
        elif name == t.MUL:
            for mine, other in (operands, reversed(operands)):
                if type(mine) is int:
                    self._add(mine, self._times(slope, self._of(other)))
        elif name == t.DIV:
            share = self._over(slope, self._of(operands[1]))
            self._add(operands[0], share)
            if type(operands[1]) is int:
                self._add(operands[1], build.fneg(self._times(share, self._made[at])))
        elif name == t.NEG:
            self._add(operands[0], build.fneg(slope))
        elif name == t.CHOOSE:
            condition, zero = self._of(operands[0]), ir.Constant(DOUBLE, 0.0)
            self._add(operands[1], build.select(condition, slope, zero))
            self._add(operands[2], build.select(condition, zero, slope))
        elif name not in (t.INPUT, t.VALUE):
            self._through_function(name, operands, self._made[at], slope)

    def _through_function(
        self, name: str, operands: tuple[int | float, ...], made: ir.Value, slope: ir.Value
    ) -> None:
        """:meth:`_backward` of functions."""
        build = self._builder
        x, zero, one = self._of(operands[0]), ir.Constant(DOUBLE, 0.0), ir.Constant(DOUBLE, 1.0)
        times, over = self._times, self._over
        if name == t.ABS:
            below = build.fcmp_ordered("<", x, zero)
            self._add(operands[0], build.select(below, build.fneg(slope), slope))
        elif name == t.SQRT:
            # the root of a sum of squares at rest stands: as for derivatives forward, its slope is zero there
            moves = build.fcmp_ordered(">", made, zero)
            half = over(times(slope, ir.Constant(DOUBLE, 0.5)), made)
            self._add(operands[0], build.select(moves, half, zero))
        elif name == t.EXP:
            self._add(operands[0], times(slope, made))
        elif name == t.LOG:
            self._add(operands[0], over(slope, x))
        elif name == t.SIN:
            self._add(operands[0], times(slope, self._call(t.COS, x)))
        elif name == t.COS:
            self._add(operands[0], build.fneg(times(slope, self._call(t.SIN, x))))
        elif name == t.TAN:
            self._add(operands[0], times(slope, build.fadd(one, times(made, made), flags=FAST)))
        elif name == t.TANH:
            self._add(operands[0], times(slope, build.fsub(one, times(made, made), flags=FAST)))
        elif name == t.ACOS:
            sine = self._call(t.SQRT, build.fsub(one, times(x, x), flags=FAST))
            self._add(operands[0], build.fneg(over(slope, sine)))
        elif name == t.ATAN2:
            y, x = x, self._of(operands[1])
            share = over(slope, build.fadd(times(x, x), times(y, y), flags=FAST))
            self._add(operands[0], times(share, x))
            self._add(operands[1], build.fneg(times(share, y)))
        else:
            raise NotImplementedError(f"derivative of {name}")

    def _store(self, order: Sequence[int]) -> None:
        """Derivatives with what was read; what a row had before it was written is of no account."""
        written = {place for place, _ in self._writes if place.array == ROW}
        for at in order:
            if self._operations[at].name != t.INPUT or at not in self._to:
                continue
            place, slope = self._reads[self._operations[at].key], self._to[at]
            pointer = self._pointer(self._slopes, place)
            if place in written:
                written.discard(place)
            else:
                slope = self._builder.fadd(self._builder.load(pointer), slope, flags=FAST)
            self._builder.store(slope, pointer)
        for place in written:
            self._builder.store(ir.Constant(DOUBLE, 0.0), self._pointer(self._slopes, place))


class Code:
    """Machine code that stays where it is as long as this object lives.

    Args:
        module: with one function of that name.
    """

    def __init__(self, module: ir.Module, name: str) -> None:
        text = str(module)
        binding = llvmlite.binding
        parsed = binding.parse_assembly(text)
        parsed.verify()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=1
        )  # fmt: skip
        self._engine = binding.create_mcjit_compiler(parsed, machine)
        said = f"{llvmlite.__version__} {binding.get_host_cpu_name()} {text}"
        file = cache_directory() / "reverse" / hashlib.sha256(said.encode()).hexdigest()

        def keep(_: Any, code: bytes) -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            scratch = file.with_suffix(f".{os.getpid()}-{id(self)}")
            scratch.write_bytes(hashlib.sha256(code).digest() + code)
            scratch.replace(file)

        def kept(_: Any) -> bytes | None:
            # the linker ends the process where code is damaged
            whole = file.read_bytes() if file.is_file() else b""
            digest, code = whole[:DIGEST], whole[DIGEST:]
            return code if hashlib.sha256(code).digest() == digest else None

        self._engine.set_object_cache(keep, kept)
        self._engine.finalize_object()
        self.address = self._engine.get_function_address(name)


def compile_backward(
    tape: Tape, reads: Mapping[Any, Place], writes: Sequence[tuple[Place, int | float]]
) -> Code:
    """Code that runs a tape and then backward.

    Args:
        tape: of a kernel.
        reads: place of every input that the outputs and conditions need, by its key.
        writes: place and operand of every output.
    """
    module = ir.Module()
    function = ir.Function(module, BACKWARD, "backward")
    for argument in function.args:
        argument.add_attribute("noalias")
    _Backward(function, tape, reads, writes)
    return Code(module, "backward")


def _driver() -> ir.Module:
    """Code of :class:`Sweep`: call the functions of rows from ``last`` down to the first; the row at which it stops."""
    module = ir.Module()
    # last, addresses, given_at, width, arrays; of what is before: addresses, rows, given_at, width, arrays
    first = [WORD, WORDS, WORDS, WORD, *[NUMBERS] * 6]
    second = [WORDS, WORDS, WORDS, WORD, *[NUMBERS] * 4]
    function = ir.Function(module, ir.FunctionType(WORD, [*first, *second]), "sweep")
    last, addresses, given_at, width, *arrays = function.args[: len(first)]
    first_codes, before_rows, before_at, before_width, *others = function.args[len(first) :]
    entry = function.append_basic_block()
    looks, asks, prepares, begins, calls, goes_on, ends = (
        function.append_basic_block() for _ in range(7)
    )
    build = ir.IRBuilder(entry)
    build.branch(looks)
    build.position_at_end(looks)
    row = build.phi(WORD)
    row.add_incoming(last, entry)

    def of_row(table: ir.Value) -> ir.Value:
        return build.load(build.gep(table, [row]))

    def is_code(address: ir.Value) -> ir.Value:
        return build.icmp_signed("!=", address, ir.Constant(WORD, NO_CODE))

    def call(address: ir.Value, *places: ir.Value) -> ir.Value:
        return build.call(build.inttoptr(address, BACKWARD.as_pointer()), places)

    build.cbranch(build.icmp_signed(">=", row, ir.Constant(WORD, 0)), asks, ends)
    build.position_at_end(asks)
    address = of_row(addresses)
    build.cbranch(is_code(address), prepares, ends)
    build.position_at_end(prepares)
    before = of_row(first_codes)
    build.cbranch(is_code(before), begins, calls)
    build.position_at_end(begins)
    rows, held, along, with_held = others
    own = build.gep(rows, [build.mul(of_row(before_rows), before_width)])
    at = of_row(before_at)
    values, slopes = (build.gep(arrays[i], [at]) for i in (GIVEN, 3 + GIVEN))
    build.cbranch(call(before, own, held, values, along, with_held, slopes), calls, ends)
    build.position_at_end(calls)
    given = of_row(given_at)
    values = build.gep(arrays[ROW], [build.mul(row, width)])
    places = [values, arrays[HELD], build.gep(arrays[GIVEN], [given])]
    places += [arrays[3], arrays[4], build.gep(arrays[5], [given])]
    build.cbranch(call(address, *places), goes_on, ends)
    build.position_at_end(goes_on)
    next_row = build.sub(row, ir.Constant(WORD, 1))
    row.add_incoming(next_row, goes_on)
    build.branch(looks)
    build.position_at_end(ends)
    build.ret(row)
    return module


class Before(NamedTuple):
    """Code of something else that is run before that of some rows, with arrays of its own but for GIVEN.

    Attributes:
        addresses: of the code, by row, (n_rows,) int64; NO_CODE: none.
        rows: which of its own rows it belongs to, (n_rows,) int64.
        given_at: at which number of GIVEN that of it begins, (n_rows,) int64.
        values: its rows (n, width), and held.
        slopes: derivatives with the row (width,), and with held, changed.
    """

    addresses: np.ndarray
    rows: np.ndarray
    given_at: np.ndarray
    values: tuple[np.ndarray, np.ndarray]
    slopes: tuple[np.ndarray, np.ndarray]

    @classmethod
    def nothing(cls, n: int) -> Before:
        """None, before n rows."""
        words, numbers = np.zeros(n, np.int64), np.zeros((1, 1))
        return cls(words, words, words, (numbers, numbers), (numbers, numbers))


class Sweep:
    """Runs code of tapes backward over rows."""

    def __init__(self) -> None:
        self._code = Code(_driver(), "sweep")
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        kinds = [word, pointer, pointer, word, *[pointer] * 6, *[pointer] * 3, word, *[pointer] * 4]
        self._call: Callable = ctypes.CFUNCTYPE(word, *kinds)(self._code.address)

    def __call__(
        self,
        last: int,
        addresses: np.ndarray,
        given_at: np.ndarray,
        values: tuple[np.ndarray, np.ndarray, np.ndarray],
        slopes: tuple[np.ndarray, np.ndarray, np.ndarray],
        before: Before | None = None,
    ) -> int:
        """From row ``last`` down to the first.

        Args:
            last: row, -1: there is none.
            addresses: of the code of every row, (n_rows,) int64; NO_CODE: it stops there.
            given_at: at which number of GIVEN that of every row begins, (n_rows,) int64.
            values: rows (n_rows, width), held (n_held,) and given (n_given,).
            slopes: derivatives with the row (width,), with held and with given, changed.
            before: what is run before some rows.

        Returns:
            The row that was not done, because there is no code or conditions do not hold, its own or of what is before
            it; -1: all are.
        """
        b = before or Before.nothing(len(addresses))
        return self._call(
            last, addresses.ctypes.data, given_at.ctypes.data, values[ROW].shape[1],
            *(a.ctypes.data for a in values), *(a.ctypes.data for a in slopes),
            b.addresses.ctypes.data, b.rows.ctypes.data, b.given_at.ctypes.data, b.values[0].shape[1],
            *(a.ctypes.data for a in (*b.values, *b.slopes)),
        )  # fmt: skip
