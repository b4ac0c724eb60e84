"""Messages with anything in them that their types allow, and bytes that are not a message."""

from __future__ import annotations

import copy
import importlib
import re
from typing import Any

import numpy as np
from fuzz import damage, nasty
from rclpy.serialization import serialize_message

LIMITS = {
    "int8": (-(2**7), 2**7 - 1), "uint8": (0, 2**8 - 1), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1),
}  # fmt: skip
FLOAT32 = 3.4e38
LENGTHS = [0, 0, 1, 2, 3, 4, 5, 17]
HUGE = 20000
"""Length of the lists and texts that are far too long."""

LEAST = 4
"""Fewer bytes do not leave a publisher."""

TEXTS = [t for t in nasty.TEXTS if "\ud800" not in t]


def interface(name: str) -> type:
    """The type of ``package/msg/Name`` (or srv, action)."""
    package, folder, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), kind)


def filled(rng: np.random.Generator, message: Any, words: list[str], depth: int = 0) -> Any:
    """Give every field of a message any value; ``words`` are texts that mean something there."""
    for name, kind in message.get_fields_and_field_types().items():
        setattr(message, name, _any(rng, kind, words, depth))
    return message


def _any(rng: np.random.Generator, kind: str, words: list[str], depth: int) -> Any:
    if listed := re.fullmatch(r"sequence<(.+?)(?:, (\d+))?>", kind):
        most = int(listed[2]) if listed[2] else HUGE
        plain = listed[1] in LIMITS or listed[1] in ("double", "float", "boolean")
        n = most if plain and rng.random() < 0.02 else nasty.pick(rng, LENGTHS)
        if n == HUGE:
            return [_any(rng, listed[1], words, depth + 1)] * n
        return [_any(rng, listed[1], words, depth + 1) for _ in range(min(n, most))]
    if fixed := re.fullmatch(r"(.+)\[(\d+)\]", kind):
        return [_any(rng, fixed[1], words, depth + 1) for _ in range(int(fixed[2]))]
    if kind in LIMITS:
        low, high = LIMITS[kind]
        return min(max(nasty.pick(rng, nasty.INTEGERS), low), high)
    if kind == "boolean":
        return bool(rng.random() < 0.5)
    if kind in ("octet", "byte"):
        return rng.bytes(1)
    if kind in ("double", "float"):
        number = nasty.number(rng)
        return (
            float(np.clip(number, -FLOAT32, FLOAT32))
            if kind == "float" and np.isfinite(number)
            else number
        )
    if kind.startswith(("string", "wstring")):
        return _text(rng, words, int(limit[1]) if (limit := re.search(r"<(\d+)>", kind)) else HUGE)
    made = interface(kind.replace("/", "/msg/"))()
    return filled(rng, made, words, depth + 1) if depth < 6 else made


def _text(rng: np.random.Generator, words: list[str], most: int) -> str:
    if words and rng.random() < 0.6:
        return nasty.pick(rng, words)[:most]
    return "x" * most if rng.random() < 0.02 else nasty.pick(rng, TEXTS)[:most]


def changed(rng: np.random.Generator, message: Any, words: list[str], *, most: int = 2) -> Any:
    """A copy of a good message with one to ``most`` fields of any value, at any depth."""
    out = copy.deepcopy(message)
    for _ in range(int(rng.integers(1, most + 1))):
        _change(rng, out, words)
    return out


def _change(rng: np.random.Generator, message: Any, words: list[str]) -> None:
    fields = message.get_fields_and_field_types()
    if not fields:
        return
    name = nasty.pick(rng, sorted(fields))
    value = getattr(message, name)
    if hasattr(value, "get_fields_and_field_types") and rng.random() < 0.9:
        _change(rng, value, words)
    elif isinstance(value, list) and value and hasattr(value[0], "get_fields_and_field_types"):
        match int(rng.integers(6)):
            case 0:
                value.pop(int(rng.integers(len(value))))
            case 1:
                value.append(copy.deepcopy(nasty.pick(rng, value)))
            case _:
                _change(rng, nasty.pick(rng, value), words)
    else:
        setattr(message, name, _any(rng, fields[name], words, 1))


def garbage(rng: np.random.Generator, message: Any) -> bytes:
    """Serialized bytes that were damaged, cut, or never were a message."""
    kind = rng.random()
    if kind < 0.1:
        return rng.bytes(int(rng.integers(LEAST, 200)))
    data = serialize_message(message)
    if kind < 0.3:
        return data[: int(rng.integers(LEAST, len(data) + 1))]
    if kind < 0.4:
        return bytes([0, int(rng.integers(256))]) + data[2:]  # another encapsulation
    damaged = damage.damaged(rng, data)
    return damaged if len(damaged) >= LEAST else data[:LEAST]


def draw(rng: np.random.Generator, kind: type, good: Any | None, words: list[str]) -> bytes | Any:
    """A message or bytes: near a good one where there is one."""
    message = kind() if good is None else good
    what = rng.random()
    if what < 0.25:
        return garbage(rng, message)
    if what < 0.6 and good is not None:
        return changed(rng, message, words)
    return filled(rng, kind(), words)
