"""The one place that knows Numba: compile a kernel, or leave it as plain Python.

A kernel is written once. With Numba it is compiled at its first call and kept in a cache on disk;
without Numba (or with the environment variable ``ROTOR_UNCOMPILED=1``) the same source runs as
ordinary Python, some hundred times slower.

Kernels never allocate: ``_nrt=False`` switches Numba's reference counting off, which halves the
cost of array views. Of fast-math only contraction (fused multiply-add) is on: nothing is reordered,
and NaN and infinity keep their meaning.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.kernels import sources

# measured (docs/adr): level 1 compiles a seventh faster than 3 and runs as fast; loops over bodies and cables are
# short, and their vector forms gather and scatter
os.environ.setdefault("NUMBA_OPT", "1")
os.environ.setdefault("NUMBA_LOOP_VECTORIZE", "0")

try:
    if os.environ.get("ROTOR_UNCOMPILED", "0") not in ("", "0"):
        raise ImportError("switched off by ROTOR_UNCOMPILED")
    import numba
except ImportError as error:
    numba = None
    WHY_UNCOMPILED = str(error)
else:
    WHY_UNCOMPILED = ""

COMPILED: bool = numba is not None
"""True if kernels are compiled in this process."""


CHECKED: bool = os.environ.get("ROTOR_CHECKED", "0") not in ("", "0")
"""True if compiled kernels check every index into a table or an array, and memory that nobody has written is poisoned:
the long mode of the tests (docs/results/sanitizers.md)."""

TRAPS_NAN: bool = os.environ.get("ROTOR_CHECKED", "0") == "nan"
"""True if a kernel also ends where it writes a NaN to a table: a mode of its own, because its branches keep the
compiler from contracting across them, so that worlds side by side get other last bits than alone."""

POISON_INT = -(2**62)


def unwritten(shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """An array to be written before it is read; in the long mode of the tests it holds no values."""
    made = np.empty(shape, dtype)
    if CHECKED:
        made.fill(np.nan if made.dtype.kind == "f" else POISON_INT)
    return made


def constants(*values: int) -> tuple[int, ...]:
    """Named integers for kernels: of NumPy's type, on purpose.

    Numba compiles a function once per *value* of a literal Python integer argument, but only once
    per type of these.
    """
    return tuple(np.int64(v) for v in values)  # type: ignore[misc]


def cache_directory() -> Path:
    """Folder of the compiled kernels, the same for `./rotor`, launched nodes and scripts.

    Under ``ROTOR_CACHE_DIR`` or the user's cache, one for each way to compile. In it every file of kernels has a folder
    for each state of the sources that are in them.
    """
    base = os.environ.get("ROTOR_CACHE_DIR") or Path.home() / ".cache" / "rotor"
    way = f"py{sys.version_info[0]}{sys.version_info[1]}-numpy{np.__version__}"
    if numba is not None:
        way += f"-numba{numba.__version__}"
    return Path(base) / "kernels" / (way + CHECKED * "-checked" + TRAPS_NAN * "-nan")


def _keep_kernels(folder: Path) -> None:
    """Let Numba keep kernels in this folder by the sources that are in them.

    By itself it looks only at the file that defines a function, not at those of the functions that it inlines: an edit
    in ``so3.py`` would leave stale machine code behind. And it files them by absolute paths, so that two places of the
    same sources would compile twice.
    """
    from numba.core.caching import CacheImpl

    class Locator(CacheImpl._locator_classes[0]):
        def __init__(self, py_func: Callable, py_file: str) -> None:
            self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
            name = py_func.__module__
            self._cache_path = f"{folder}/{name}-{sources.stamp_of(name, py_file)}"

        def ensure_cache_path(self) -> None:
            made_writable(self._cache_path)

        def get_source_stamp(self) -> str:
            return ""  # the name of the folder says it

        @classmethod
        def from_function(cls, py_func: Callable, py_file: str) -> Any:
            return super().from_function(py_func, py_file) if _has_our_kernels(py_file) else None

    @functools.cache  # some ten kernels share a folder
    def made_writable(path: str) -> None:
        os.makedirs(path, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()

    CacheImpl._locator_classes = [Locator, *CacheImpl._locator_classes]


@functools.cache
def _has_our_kernels(file: str) -> bool:
    """True if a source has kernels made here: ours, those of other packages, and of scripts."""
    return Path(file).is_file() and b"rotor_core" in Path(file).read_bytes()


if numba is not None and "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(cache_directory())  # type: ignore[attr-defined]
    _keep_kernels(cache_directory())


def follow_compiling(report: Callable[[str, bool], None]) -> None:
    """Report every kernel that this process compiles, with its name: True when that begins, False when it has ended.

    Kernels that a kernel calls begin and end inside it.
    """
    if numba is None:
        return
    from numba.core import event

    class Compiling(event.Listener):
        def on_start(self, event: Any) -> None:
            report(event.data["dispatcher"].py_func.__qualname__, True)

        def on_end(self, event: Any) -> None:
            report(event.data["dispatcher"].py_func.__qualname__, False)

    event.register("numba:compile", Compiling())


def when_compiling(report: Callable[[bool], None]) -> None:
    """Report to a caller: True when this process begins to compile what is not in the cache, False when it has."""
    depth = 0

    def follow(_: str, begins: bool) -> None:
        nonlocal depth
        depth += 1 if begins else -1
        if depth == int(begins):
            report(begins)

    follow_compiling(follow)


def kernel(function: Callable) -> Any:
    """Compile ``function`` at its first call; ``function.py_func`` stays the uncompiled form.

    Without Numba the function itself is returned.
    """
    return _compiled(function, inline=False)


def inlined(function: Callable) -> Any:
    """Like :func:`kernel`, and always copied into its callers: for all but the few large kernels.

    A large kernel that others call takes flat arrays and makes its views itself, because passing
    twenty views costs more than their use.
    """
    return _compiled(function, inline=True)


def kernel_without_gil(function: Callable) -> Any:
    """Like :func:`kernel`, for entries that run for long in threads beside each other."""
    return _compiled(function, inline=False, nogil=True)


def _compiled(function: Callable, *, inline: bool, nogil: bool = False) -> Any:
    if numba is None:
        function.py_func = function  # type: ignore[attr-defined]
        return function
    generated = function.__code__.co_filename.startswith("<")  # no file for a cache to watch
    return numba.njit(  # type: ignore[call-overload]
        cache=not generated,
        error_model="numpy",
        boundscheck=CHECKED,
        fastmath={"contract"},
        _nrt=False,
        nogil=nogil,
        no_cpython_wrapper=inline,
        no_cfunc_wrapper=True,
        forceinline=inline,  # said also where it is False: callees inherit it otherwise
    )(function)


def generated(source: str, name: str, scope: dict[str, Any]) -> Callable:
    """Function that a source text defines, for code that follows from a table.

    Args:
        source: of one function.
        name: of the text, in angle brackets, for tracebacks.
        scope: what it names.
    """
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    own = dict(scope)
    exec(compile(source, name, "exec"), own)
    return next(v for k, v in own.items() if k not in scope and k != "__builtins__")


def marker(of: str = "") -> Path:
    """File that says that everything is compiled (`rotor warm`), or what this names."""
    return cache_directory() / f"complete-{sources.stamp_of_kernels()}" / (of or "everything")


def how_cached() -> str:
    """Kernels of these sources on the disk, in words."""
    if marker().exists():
        return "in the cache"
    some = marker().parent.exists()
    return f"{'partly' if some else 'not'} in the cache yet (the first run compiles the rest)"
