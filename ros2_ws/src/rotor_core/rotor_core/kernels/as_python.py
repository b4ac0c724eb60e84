"""Run a compiled kernel as the Python that it was written in, with other functions in the place of some that it calls.

The functions that a kernel names are those of its module; a copy of the module's names, with the replacements and with
copies of the kernels in it, is what the copy of the kernel sees. Nothing is changed for anybody else.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

OURS, COMPILERS = "rotor_", "numba"


class AsPython:
    """Kernels as Python.

    Args:
        replaced: by the function that kernels name.
        constants: other values of constants, by module and name.
    """

    def __init__(
        self, replaced: Mapping[Any, Callable], constants: Mapping[tuple[str, str], Any]
    ) -> None:
        self._replaced, self._constants = replaced, constants
        self._scopes: dict[int, dict[str, Any]] = {}

    def __call__(self, kernel: Any) -> Callable:
        """The kernel as Python."""
        return self._seen(kernel)

    def _seen(self, value: Any) -> Any:
        """What a kernel sees in the place of a value of its module."""
        if isinstance(value, ModuleType):
            names = value.__dict__
            ours = value.__name__.startswith(OURS)  # others hold no kernels
            return _Names(self._scope(names)) if ours or self._replaces(names) else value
        if callable(value) and _is_hashable(value) and value in self._replaced:
            return self._replaced[value]
        python = getattr(value, "py_func", None)
        if not isinstance(python, FunctionType) or python is value:
            return value
        if str(python.__module__).startswith(COMPILERS):
            return value
        scope = self._scope(python.__globals__)
        return FunctionType(
            python.__code__, scope, python.__name__, python.__defaults__, python.__closure__
        )

    def _replaces(self, names: dict[str, Any]) -> bool:
        """True if one of the functions of a module is replaced, as of ``math``."""
        return any(names.get(getattr(f, "__name__", "")) is f for f in self._replaced)

    def _scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """Names of a module, or of generated code, as its kernels see them."""
        if id(names) in self._scopes:  # which a function of it holds
            return self._scopes[id(names)]
        scope = self._scopes[id(names)] = dict(names)
        for name, value in names.items():
            scope[name] = self._seen(value)
        for function, other in self._replaced.items():  # what is built in is in no module
            if getattr(builtins, getattr(function, "__name__", ""), None) is function:
                scope[function.__name__] = other
        for (where, name), value in self._constants.items():
            if where == names.get("__name__"):
                scope[name] = value
        return scope


class _Names:
    """A module whose names are those of a scope, which may still grow."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.__dict__ = scope


def _is_hashable(value: Any) -> bool:
    return type(value).__hash__ is not None
