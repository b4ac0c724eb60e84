"""State of a tree of objects as named arrays and plain values, and back into a tree that was built anew.

What an object is made of stays what its constructor made it; only arrays, numbers, texts, random streams and
collections of these are taken, of our objects and of those of packages that add something to the suite.
Names are paths of attributes, such as ``simulation.engine.floats``.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rotor_core import registry
from rotor_core.errors import ConfigError

PLAIN = (bool, int, float, str, type(None))
CONSTANT = ("rotor_core.config.", "rotor_dynamics.model.")
"""Modules of what a scenario says and what a system is made of: never changed in place."""

Keep = dict[str, np.ndarray]


class Foreign(Protocol):
    """Writes objects of others as text, such as messages."""

    def text(self, value: Any) -> str | None:
        """Text of an object; None where it is none of theirs."""
        ...

    def value(self, text: str) -> Any:
        """The object again."""
        ...


class Capture:
    """Take the state out of objects, or put it back.

    Args:
        ours: prefix of the modules whose objects are gone through.
        values: classes of small records in collections, by name; they are made anew from their fields.
        foreign: for objects of others; None: those are no state.
    """

    def __init__(
        self, ours: str, values: Mapping[str, type], foreign: Foreign | None = None
    ) -> None:
        self._ours, self._values, self._foreign = ours, values, foreign

    def _is_ours(self, value: Any) -> bool:
        module = type(value).__module__
        ours = module.startswith(self._ours) and not module.startswith(CONSTANT)
        return (ours or _is_guest(value)) and hasattr(value, "__dict__")

    def take_parts(
        self, parts: Mapping[str, Any], arrays: Keep, aside: Iterable[object] = ()
    ) -> dict:
        """Content of several values by name; what an earlier one holds is not taken again, nor what is ``aside``."""
        seen = {id(value) for value in aside}
        return {name: self._encoded(value, arrays, name, seen) for name, value in parts.items()}

    def put_parts(
        self, parts: Mapping[str, Any], kept: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> dict[str, Any]:
        """The values of :meth:`take_parts` again: objects and arrays are changed in place, all else is made anew.

        Raises:
            ValueError: it does not fit.
        """
        if set(parts) != set(kept):
            raise ValueError(f"it holds {', '.join(kept)} in place of {', '.join(parts)}")
        return {
            name: value if kept[name] is None else self._decoded(kept[name], value, arrays)
            for name, value in parts.items()
        }

    def take(self, owner: Any, arrays: Keep, path: str = "", seen: set[int] | None = None) -> dict:
        """Plain values of an object by attribute; arrays go into ``arrays`` under their path.

        Raises:
            ConfigError: an object of another package keeps what cannot be taken.
        """
        seen = set() if seen is None else seen
        seen.add(id(owner))
        out = {}
        for name, value in vars(owner).items():
            if isinstance(getattr(type(owner), name, None), cached_property):
                continue  # follows from the rest
            kept = self._encoded(value, arrays, f"{path}.{name}" if path else name, seen)
            if kept is not None:
                out[name] = kept
            elif _is_guest(owner) and not (callable(value) or _is_constant(value)):
                raise ConfigError(
                    f"{type(owner).__name__} cannot be saved: its {name!r} is of {type(value).__name__}. Numbers, "
                    "texts, arrays, random streams, collections and objects of these can be."
                )
        return out

    def _encoded(self, value: Any, arrays: Keep, path: str, seen: set[int]) -> list | None:
        """Kind and content of a value; None: it is no state."""
        if isinstance(value, PLAIN):
            return ["plain", value]
        if isinstance(value, np.generic):
            return ["plain", value.item()]
        if isinstance(value, bytes):
            return ["bytes", value.hex()]
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in "biuf":
                return None
            arrays[path] = value
            return ["array", path]
        if isinstance(value, np.random.Generator):
            return ["random", value.bit_generator.state]
        for name, cls in self._values.items():
            if type(value) is cls:
                fields = [getattr(value, f) for f in _fields(cls)]
                parts = [
                    self._encoded(v, arrays, f"{path}.{i}", seen) for i, v in enumerate(fields)
                ]
                return ["value", name, parts]
        if hasattr(value, "_fields"):
            return None  # views of memory
        if self._foreign is not None and (text := self._foreign.text(value)) is not None:
            return ["foreign", text]
        if isinstance(value, (list, tuple, deque)):
            kind = type(value).__name__
            return [
                kind,
                [self._encoded(v, arrays, f"{path}.{i}", seen) for i, v in enumerate(value)],
            ]
        if isinstance(value, set):
            members = [self._encoded(v, arrays, path, seen) for v in sorted(value)]
            if None in members:
                raise TypeError(f"{path}: members of this set cannot be saved: {value!r}")
            return ["set", members]
        if isinstance(value, dict):
            parts = [
                [
                    self._encoded(k, arrays, path, seen),
                    self._encoded(v, arrays, f"{path}.{k}", seen),
                ]
                for k, v in value.items()
            ]
            return ["dict", parts]
        if self._is_ours(value) and id(value) not in seen:
            return ["object", self.take(value, arrays, path, seen)]
        return None

    def put(self, owner: Any, plain: dict, arrays: Mapping[str, np.ndarray]) -> None:
        """Give an object the state that was taken from one like it.

        Raises:
            ValueError: it does not fit.
        """
        for name, kept in plain.items():
            if name not in vars(owner):
                raise ValueError(f"{type(owner).__name__} has no {name!r}")
            now = vars(owner)[name]
            new = self._decoded(kept, now, arrays)
            if new is not now:
                object.__setattr__(owner, name, new)

    def _decoded(self, kept: list, now: Any, arrays: Mapping[str, np.ndarray]) -> Any:
        """A value from its content; ``now``: what stands there, which is changed in place where it can be."""
        kind, content = kept[0], kept[1]
        if kind == "plain":
            return content
        if kind == "bytes":
            return bytes.fromhex(content)
        if kind == "foreign":
            if self._foreign is None:
                raise ValueError("an object of others stands where nobody can read it")
            return self._foreign.value(content)
        if kind == "array":
            array = arrays[content]
            if (
                isinstance(now, np.ndarray)
                and now.shape == array.shape
                and now.dtype == array.dtype
            ):
                if now.flags.writeable:
                    now[...] = array
                return now
            return array.copy()
        if kind == "random":
            if not isinstance(now, np.random.Generator):
                raise ValueError("a random stream stands where there is none")
            now.bit_generator.state = content
            return now
        if kind == "value":
            fields = [self._decoded(part, None, arrays) for part in kept[2]]
            return self._values[content](*fields)
        if kind == "object":
            if self._is_ours(now):
                self.put(now, content, arrays)
            return now
        old = _members(now)
        if kind == "dict":
            made: dict = {}
            for key, value in content:
                name = self._decoded(key, None, arrays)
                found = now.get(name) if isinstance(now, dict) else None
                made[name] = found if value is None else self._decoded(value, found, arrays)
            return made
        parts = []
        for i, part in enumerate(content):
            found = old[i] if i < len(old) else None
            parts.append(found if part is None else self._decoded(part, found, arrays))
        make: Callable = {"list": list, "tuple": tuple, "deque": deque, "set": set}[kind]
        return make(parts)


def _is_guest(value: Any) -> bool:
    """True for objects of packages that add something to the suite: a law may have a memory."""
    return type(value).__module__.partition(".")[0] in registry.guests()


def _is_constant(value: Any) -> bool:
    return type(value).__module__.startswith(CONSTANT)


def _members(value: Any) -> list:
    return list(value) if isinstance(value, (list, tuple, deque)) else []


def _fields(cls: type) -> list[str]:
    if dataclasses.is_dataclass(cls):
        return [f.name for f in dataclasses.fields(cls) if f.init]
    if hasattr(cls, "_fields"):
        return list(cls._fields)  # type: ignore[attr-defined]
    return list(inspect.signature(cls).parameters)
