"""Large kernels that are compiled once and found by their address, as in C.

By itself Numba copies a kernel into every kernel that calls it, and optimizes and emits each copy: of the
engine, seven tenths of the work of the compiler. A linked kernel is called through a slot, a pointer with a
name that compiled callers refer to. A slot first points to a function that compiles the kernel (or loads it
from the cache), fills the slot, and calls it: what a world does not use is never compiled.
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
from collections.abc import Callable
from typing import Any

from rotor_core._jit import COMPILED, _compiled

if COMPILED:
    import llvmlite.binding
    from llvmlite import ir
    from numba import types
    from numba.core import event
    from numba.core.typing.templates import Signature
    from numba.extending import lower_builtin, type_callable

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
        self._teach_numba()
        LINKED.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self._compiled(*arguments)

    @property
    def is_resolved(self) -> bool:
        """True if a call goes straight to the compiled kernel."""
        return self._slot.value != ctypes.cast(self._first, ctypes.c_void_p).value

    def resolve(self) -> None:
        """Compile it, or load it from the cache, and fill the slot."""
        self._compiled.compile(self._arguments)
        found = self._compiled.overloads[self._arguments]
        if found.signature.return_type != self._returns:
            raise TypeError(
                f"{self.__qualname__}: is declared to return {self._returns}, returns {found.signature.return_type}"
            )
        self._slot.value = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)

    def _first_call(self, *words: Any) -> int:
        """What the slot points to at first. Nothing may be raised from here: compiled code is waiting."""
        interrupted = False
        while True:
            try:
                _resolve_part(self)
                break
            except KeyboardInterrupt:
                interrupted = True
            except BaseException:
                traceback.print_exc()
                os.abort()  # the caller could only go on with wrong numbers
        if interrupted:
            # to be raised where it can be: by the time that thread speaks, this call has ended
            threading.Timer(HEARD_LATER, _thread.interrupt_main).start()
        return self._prototype(self._slot.value)(*words)  # pyright: ignore[reportCallIssue]

    def _teach_numba(self) -> None:
        """Type of the kernel, and the code of a call through the slot, for kernels that call it."""

        def typer(*given: Any) -> Any:
            return Signature(self._returns, self._arguments, None)

        typer.pysig = typer.__signature__ = inspect.signature(self.py_func)  # type: ignore[attr-defined]
        type_callable(self)(lambda context: typer)

        @lower_builtin(self, types.VarArg(types.Any))
        def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.call_conv.get_function_type(signature.return_type, signature.args)
            pointer = ir.PointerType(kind)
            slot = builder.module.globals.get(self._symbol)
            if slot is None:
                slot = ir.GlobalVariable(builder.module, pointer, self._symbol)
            status, result = context.call_conv.call_function(
                builder, builder.load(slot), signature.return_type, signature.args, arguments
            )
            with builder.if_then(status.is_error, likely=False):
                context.call_conv.return_status_propagate(builder, status)
            return result


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
    began = time.perf_counter()
    with _Announcement(f"compiling {kernel.part}, once for these sources ...") as announcement:
        for other in LINKED:
            if other.part == kernel.part:
                other.resolve()
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
