"""Large kernels that are compiled once and found by their address, as in C.

By itself Numba copies a kernel into every kernel that calls it, and optimizes and emits each copy: of the
engine, seven tenths of the work of the compiler. A linked kernel is called through a slot, a pointer with a
name that compiled callers refer to. A slot first points to a function that compiles the kernel (or loads it
from the cache), fills the slot, and calls it: what a world does not use is never compiled.

Callers whose numbers are of another kind (:mod:`rotor_core.numbers`) call a twin of the kernel, compiled from the same
source for that kind, through a slot of its own.
"""

# What is taken from Numba is used only where there is Numba.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import _thread
import ctypes
import inspect
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from rotor_core.kernels.jit import COMPILED, _compiled

if COMPILED:
    import llvmlite.binding
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils, event
    from numba.core.typing.templates import Signature
    from numba.extending import lower_builtin, type_callable

    from rotor_core.numbers.vectors import VectorNumber

    INT, FLOAT, FLAG = types.int64, types.float64, types.boolean
    INTS, FLOATS = types.int64[::1], types.float64[::1]
    ROWS, TABLES = types.float64[:, ::1], types.float64[:, :, ::1]
    WHOLE_ROWS = types.int64[:, ::1]
    NOTHING = types.none
    _WORDS = {INT: ctypes.c_int64, FLOAT: ctypes.c_double, FLAG: ctypes.c_uint8}
else:
    INT = FLOAT = FLAG = INTS = FLOATS = ROWS = TABLES = WHOLE_ROWS = NOTHING = None  # type: ignore[assignment]

WORLD = (INTS, FLOATS)
"""The two flat arrays of a world."""


def together(*kinds: Any) -> Any:
    """Type of a tuple."""
    return types.Tuple(kinds) if COMPILED else None


def _kind_of(given: Any) -> Any:
    """Kind of the numbers in a type of an argument; None where they are plain."""
    if hasattr(given, "types"):  # a tuple
        return next(filter(None, map(_kind_of, given.types)), None)
    number = given.dtype if isinstance(given, types.Array) else given
    return number if isinstance(number, VectorNumber) else None


def _of_kind(given: Any, kind: Any) -> Any:
    """A type with numbers of a kind in the place of plain ones."""
    if hasattr(given, "types"):  # a tuple
        return types.Tuple([_of_kind(part, kind) for part in given.types])
    if isinstance(given, types.Array) and given.dtype == FLOAT:
        return types.Array(kind, given.ndim, given.layout)
    return kind if given == FLOAT else given


LINKED: list[Linked] = []
"""All linked kernels of the modules that are imported."""


HEARD_LATER = 0.01
"""From the end of a compilation that was interrupted to the interruption, s."""


class Linked:
    """A kernel with its slot. Called from Python it is an ordinary compiled function."""

    def __init__(self, function: Callable, arguments: tuple, returns: Any, part: str) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self.__wrapped__ = self.py_func = function
        self.part = part
        self._compiled = _compiled(function, inline=False)
        self._arguments, self._returns = arguments, returns
        self._slot = ctypes.c_void_p()
        self._symbol = f"rotor.{function.__module__}.{function.__qualname__}"
        words = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p]  # status; result; exception
        for kind in arguments:
            words += _words(kind)
        self._prototype = ctypes.CFUNCTYPE(*words)
        self._first = self._prototype(self._first_call)
        self._slot.value = ctypes.cast(self._first, ctypes.c_void_p).value
        llvmlite.binding.add_symbol(self._symbol, ctypes.addressof(self._slot))
        self._twins = {kind: Twin(self, kind) for kind in _KINDS}
        self._teach_numba()
        LINKED.append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python."""
        return self._compiled(*arguments)

    @property
    def is_resolved(self) -> bool:
        """True if a call goes straight to the compiled kernel."""
        return self._slot.value != ctypes.cast(self._first, ctypes.c_void_p).value

    def resolve(self) -> None:
        """Compile it, or load it from the cache, and fill the slot."""
        self._slot.value = self.address_for(self._arguments, self._returns)

    def address_for(self, arguments: tuple, returns: Any) -> int:
        """Address of the kernel, compiled for these types or loaded from the cache."""
        self._compiled.compile(arguments)
        found = self._compiled.overloads[arguments]
        if found.signature.return_type != returns:
            raise TypeError(
                f"{self.__qualname__}: is declared to return {returns}, returns {found.signature.return_type}"
            )
        return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)

    def _first_call(self, *words: Any) -> int:
        """What the slot points to at first."""
        _while_compiled_code_waits(lambda: _resolve_part(self))
        return self._prototype(self._slot.value)(*words)  # pyright: ignore[reportCallIssue]

    def _teach_numba(self) -> None:
        """Type of the kernel, and the code of a call through the slot, for kernels that call it."""

        def typer(*given: Any) -> Any:
            kind = next(filter(None, map(_kind_of, given)), None)
            if kind in self._twins:
                return self._twins[kind].signature
            return Signature(self._returns, self._arguments, None)

        typer.pysig = typer.__signature__ = inspect.signature(self.py_func)  # type: ignore[attr-defined]
        type_callable(self)(lambda context: typer)

        @lower_builtin(self, types.VarArg(types.Any))
        def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = ir.PointerType(
                context.call_conv.get_function_type(signature.return_type, signature.args)
            )
            twin = self._twins.get(next(filter(None, map(_kind_of, signature.args)), None))
            if twin is not None:
                address = twin.load(builder, pointer)
            else:
                address = builder.load(_named(builder.module, pointer, self._symbol))
            status, result = context.call_conv.call_function(
                builder, address, signature.return_type, signature.args, arguments
            )
            with builder.if_then(status.is_error, likely=False):
                context.call_conv.return_status_propagate(builder, status)
            return result


class Twin:
    """The kernel for numbers of another kind: its slot is empty at first, and its callers have it filled.

    Args:
        kernel: as it is for plain numbers.
        kind: of the numbers of the twin.
    """

    def __init__(self, kernel: Linked, kind: Any) -> None:
        self._kernel = kernel
        arguments = tuple(_of_kind(a, kind) for a in kernel._arguments)
        self.signature = Signature(_of_kind(kernel._returns, kind), arguments, None)
        self.part = kernel.part or kernel.__module__.partition(".")[0]
        self._kind = kind
        self._symbol = f"{kernel._symbol}.{kind}"
        self._slot = ctypes.c_void_p()
        self._fill = ctypes.CFUNCTYPE(None)(self._first_call)
        llvmlite.binding.add_symbol(self._symbol, ctypes.addressof(self._slot))
        address = ctypes.cast(self._fill, ctypes.c_void_p).value
        llvmlite.binding.add_symbol(f"{self._symbol}.fill", address)

    def resolve(self) -> None:
        """Compile it, or load it from the cache, and fill the slot."""
        if not self._slot.value:
            self._slot.value = self._kernel.address_for(
                self.signature.args, self.signature.return_type
            )

    def _first_call(self) -> None:
        _while_compiled_code_waits(self._resolve_part)

    def _resolve_part(self) -> None:
        twins = [kernel._twins[self._kind] for kernel in LINKED]
        alike = [twin for twin in twins if twin.part == self.part]
        _resolve_together(alike, f"{self.part} for derivatives")

    def load(self, builder: Any, pointer: Any) -> Any:
        """Code that gives the address of the twin."""
        slot = _named(builder.module, pointer, self._symbol)
        empty = builder.icmp_unsigned("==", builder.load(slot), ir.Constant(pointer, None))
        with builder.if_then(empty, likely=False):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(
                cgutils.get_or_insert_function(builder.module, kind, f"{self._symbol}.fill"), []
            )
        return builder.load(slot)


_KINDS: list[Any] = []


def add_kind(kind: Any) -> None:
    """Let every linked kernel have a twin for numbers of this kind."""
    _KINDS.append(kind)
    for kernel in LINKED:
        kernel._twins[kind] = Twin(kernel, kind)


def _named(module: Any, kind: Any, symbol: str) -> Any:
    """The variable of a module with this name, which lies elsewhere."""
    return module.globals.get(symbol) or ir.GlobalVariable(module, kind, symbol)


def _while_compiled_code_waits(work: Callable[[], None]) -> None:
    """Do what compiled code that cannot hear of exceptions waits for."""
    interrupted = False
    while True:
        try:
            work()
            break
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            traceback.print_exc()
            os.abort()  # the caller could only go on with wrong numbers
    if interrupted:
        # to be raised where it can be: by the time that thread speaks, this call has ended
        threading.Timer(HEARD_LATER, _thread.interrupt_main).start()


class _Announcement:
    """A text on the terminal as soon as Numba compiles something."""

    def __init__(self, text: str) -> None:
        self._text, self.made = text, False

    def __enter__(self) -> _Announcement:
        announcement = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                if not announcement.made:
                    print(announcement._text, end="", file=sys.stderr, flush=True)
                announcement.made = True

            def on_end(self, event: Any) -> None:
                pass

        self._listener = Listener()
        event.register("numba:compile", self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self._listener)


def _words(kind: Any) -> list:
    """Arguments by which compiled code passes a value of a type."""
    if kind in _WORDS:
        return [_WORDS[kind]]
    if hasattr(kind, "types"):  # a tuple
        return [word for part in kind.types for word in _words(part)]
    extents = [ctypes.c_ssize_t] * (2 * kind.ndim)
    return [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_ssize_t,
        ctypes.c_ssize_t,
        ctypes.c_void_p,
        *extents,
    ]


def _resolve_part(kernel: Linked) -> None:
    """Resolve a kernel and what belongs with it; a line on the terminal where that takes a compiler."""
    if not kernel.part:
        kernel.resolve()
        return
    _resolve_together([other for other in LINKED if other.part == kernel.part], kernel.part)


def _resolve_together(kernels: Sequence[Linked | Twin], part: str) -> None:
    began = time.perf_counter()
    with _Announcement(f"compiling {part}, once for these sources ...") as announcement:
        for kernel in kernels:
            kernel.resolve()
    if announcement.made:
        print(f" done in {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


def entry(kernel: Any) -> Callable:
    """The compiled function of a kernel, for callers in Python that call it thousands of times per second."""
    return kernel._compiled if COMPILED else kernel


def resolve_all() -> None:
    """Compile every linked kernel, or load it from the cache."""
    for kernel in LINKED:
        kernel.resolve()


def linked(*arguments: Any, returns: Any = NOTHING, part: str = "") -> Callable[[Callable], Any]:
    """Compile a kernel once for all its callers, at its first use.

    For large kernels: a call costs a few nanoseconds, and nothing is inlined across it.

    Args:
        arguments: types of the arguments, of this module.
        returns: type of the result.
        part: name of what it belongs to, where not every world uses it: kernels of one part are compiled together,
            with a line that says so.
    """

    def decorate(function: Callable) -> Any:
        if not COMPILED:
            return _compiled(function, inline=False)
        return Linked(function, arguments, returns, part)

    return decorate
