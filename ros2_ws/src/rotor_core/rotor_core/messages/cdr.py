"""Numbers in and out of serialized messages whose shape never changes.

A message of the graph keeps its texts and list lengths for a whole run; only numbers change. So it is
serialized once by rclpy, and from then on NumPy writes and reads the numbers at their places in the
bytes. Profile and decision: docs/adr/0005.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message

from rotor_core.messages.layout import ENCAPSULATION, TEXT, Field, Layout

LITTLE_ENDIAN = 1

STAMP = struct.Struct("<iI")
"""Seconds and nanoseconds of a stamp."""

PRIMITIVES = {
    "boolean": "?", "octet": "B", "char": "B", "byte": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h",
    "uint32": "I", "int32": "i", "uint64": "Q", "int64": "q", "float": "f", "double": "d",
}  # fmt: skip


def _fields_of(message: object) -> Iterator[Field]:
    for name, kind in message.get_fields_and_field_types().items():  # type: ignore[attr-defined]
        item, _, fixed = kind.partition("[")
        is_counted = kind.startswith("sequence<")
        if is_counted:
            item = kind[len("sequence<") : -1].partition(",")[0]
        code = TEXT if item.startswith("string") else PRIMITIVES.get(item)
        yield Field(name, code, is_counted or bool(fixed), is_counted)


class FrozenMessage:
    """The bytes of a message, with its numbers at known places.

    Args:
        message: of the final shape: every text and every list as long as it will ever be.

    Attributes:
        doubles: all float64 words of the message, to be indexed with :meth:`index`.
        octets: all bytes of the serialized message, to be indexed with :meth:`offset`.
    """

    def __init__(self, message: object) -> None:
        layout = Layout(message, _fields_of)
        # rclpy sizes its buffer by an upper bound: what is behind the last field means nothing
        self._bytes = bytearray(serialize_message(message)[: layout.size])
        self._places, self._shape_at = layout.places, layout.shape
        self.octets = np.frombuffer(self._bytes, np.uint8)
        self._shape = self.octets.take(self._shape_at).tobytes()
        self.doubles = doubles_of(self._bytes)

    def are_doubles(self, *paths: str) -> bool:
        """True if these fields are float64 words, so that :meth:`index` finds them."""
        return all(self._places[path][1] == "d" for path in paths)

    def index(self, *paths: str) -> np.ndarray:
        """Positions in :attr:`doubles` of fields such as ``bodies[0].pose.position.x``."""
        at = [self._places[path] for path in paths]
        assert all(code == "d" for _, code in at)
        return np.array([(offset - ENCAPSULATION) // 8 for offset, _ in at], int)

    def offset(self, path: str) -> int:
        """Offset of a number in the serialized message, in bytes."""
        return self._places[path][0]

    def put(self, path: str, value: float) -> None:
        """Write one number of any type."""
        offset, code = self._places[path]
        struct.pack_into(f"<{code}", self._bytes, offset, value)

    def put_stamp(self, stamp: Time, path: str = "header.stamp.sec") -> None:
        """Write a stamp."""
        STAMP.pack_into(self._bytes, self._places[path][0], stamp.sec, stamp.nanosec)

    def data(self) -> bytes:
        """The message, ready to be published."""
        return bytes(self._bytes)

    def fits(self, data: bytes) -> bool:
        """True if other bytes have this shape (same texts, same lengths, little-endian)."""
        if len(data) < len(self._bytes):
            return False
        return np.frombuffer(data, np.uint8).take(self._shape_at).tobytes() == self._shape


def doubles_of(data: bytes | bytearray) -> np.ndarray:
    """All aligned 8-byte words of serialized data as float64, without copying."""
    return np.frombuffer(data, "<f8", (len(data) - ENCAPSULATION) // 8, ENCAPSULATION)


def stamp_in(data: bytes) -> Time:
    """The stamp of a serialized message that begins with a header."""
    order = "<" if data[1] == LITTLE_ENDIAN else ">"
    sec, nanosec = struct.unpack_from(f"{order}iI", data, ENCAPSULATION)
    return Time(sec=sec, nanosec=nanosec)


def vector_paths(path: str) -> list[str]:
    """Paths of the components of a Vector3 or Point."""
    return [f"{path}.{c}" for c in "xyz"]


def quaternion_paths(path: str) -> list[str]:
    """Paths of the components of a Quaternion, w first as inside."""
    return [f"{path}.{c}" for c in "wxyz"]
