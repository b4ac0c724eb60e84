"""Offsets of the numbers in a serialized message, in bytes.

Rules: OMG CDR (XCDR1), as every RMW of ROS 2 and every bag uses it. What messages are made of is told by whoever
serialized them, so that this needs no ROS.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

ENCAPSULATION = 4
"""Bytes before the data; alignment counts from their end."""

TEXT = "text"


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        name: of the field.
        item: code of :mod:`struct` for a number, :data:`TEXT`, or None: a message.
        is_list: holds any number of items; ``is_counted``: and says how many.
    """

    name: str
    item: str | None
    is_list: bool = False
    is_counted: bool = False


class Layout:
    """Places of the numbers in the bytes of a message, and of what tells its shape.

    Args:
        message: of the shape: its texts and lists count, its numbers do not.
        fields_of: tells what a message is made of.

    Attributes:
        size: bytes with the encapsulation.
        places: offset and :mod:`struct` code of numbers by their paths, such as ``bodies[0].pose.position.x``.
        counts: numbers in the lists of numbers, by their paths.
        shape: indices of the bytes that two messages of one shape have in common: byte order, texts, lengths.
    """

    def __init__(self, message: object, fields_of: Callable[[object], Iterable[Field]]) -> None:
        self._fields_of, self._at = fields_of, 0
        self.places: dict[str, tuple[int, str]] = {}
        self.counts: dict[str, int] = {}
        self._fixed: list[np.ndarray] = [np.array([1])]
        self._message("", message)
        self.size = ENCAPSULATION + self._at
        self.shape = np.concatenate(self._fixed)

    def _number(self, path: str, code: str) -> None:
        size = struct.calcsize(code)
        self._at += -self._at % size
        self.places[path] = (self._at + ENCAPSULATION, code)
        self._at += size

    def _keep(self, size: int) -> None:
        """Take bytes into the shape."""
        first = self._at + ENCAPSULATION
        self._fixed.append(np.arange(first, first + size))
        self._at += size

    def _length(self) -> None:
        self._at += -self._at % 4
        self._keep(4)

    def _item(self, path: str, kind: str | None, value: object) -> None:
        if kind is None:
            self._message(path, value)
        elif kind == TEXT:
            self._length()
            self._keep(len(str(value).encode()) + 1)
        else:
            self._number(path, kind)

    def _message(self, path: str, message: object) -> None:
        for field in self._fields_of(message):
            value = getattr(message, field.name)
            here = f"{path}.{field.name}" if path else field.name
            if not field.is_list:
                self._item(here, field.item, value)
                continue
            if field.is_counted:
                self._length()
            if field.item not in (None, TEXT):
                self.counts[here] = len(value)
            for i, element in enumerate(value):
                self._item(f"{here}[{i}]", field.item, element)
