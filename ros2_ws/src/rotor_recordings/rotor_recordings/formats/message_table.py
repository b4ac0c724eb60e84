"""Messages of one topic as a table: a number of all of them at once, by the path of its field.

A flight of two minutes has some 200,000 messages. Their texts and the lengths of their lists hardly ever change, so
rosbags reads or makes one message of a shape, and NumPy the numbers of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.interfaces import Connection, Nodetype
from rosbags.typesys.store import Typestore

from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND
from rotor_core.messages.layout import TEXT, Field, Layout

AT_ONCE = 4096
"""Messages of a topic that are read at once, at most."""

CODES = {
    "bool": "?", "byte": "B", "char": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
    "int32": "i", "uint64": "Q", "int64": "q", "float32": "f", "float64": "d", "string": TEXT,
}  # fmt: skip


def _fields_of(store: Typestore) -> Callable[[object], Iterator[Field]]:
    def fields(message: Any) -> Iterator[Field]:
        for name, (kind, about) in store.fielddefs[message.__msgtype__][1]:
            is_list = kind in (Nodetype.ARRAY, Nodetype.SEQUENCE)
            item, what = about[0] if is_list else (kind, about)
            code = CODES[what[0]] if item == Nodetype.BASE else None
            yield Field(name, code, is_list, kind == Nodetype.SEQUENCE)

    return fields


class MessageTable:
    """Serialized messages of one shape: the same texts, lists of the same lengths.

    Args:
        message: one of them, as made by rosbags: its texts and lists are those of all.
        data: the serialized messages, (n, size) bytes.
        layout: of the shape.

    Attributes:
        first: that one message.
        data: as given; setting numbers changes it.
    """

    def __init__(self, message: Any, data: np.ndarray, layout: Layout) -> None:
        self.first, self.data, self._layout = message, data, layout
        self._order = "<" if not len(data) or data[0, 1] else ">"

    @classmethod
    def like(cls, store: Typestore, message: Any, n: int) -> MessageTable:
        """``n`` copies of a message, whose numbers are then set."""
        raw = store.serialize_cdr(message, message.__msgtype__, little_endian=True)
        data = np.tile(np.frombuffer(raw, np.uint8), (n, 1))
        return cls(message, data, Layout(message, _fields_of(store)))

    def __len__(self) -> int:
        return len(self.data)

    def where(self, kept: np.ndarray) -> MessageTable:
        """Only the messages at which ``kept``, (n,) bool."""
        return MessageTable(self.first, self.data[kept], self._layout)

    def _view(self, offset: int, code: str, count: int) -> np.ndarray:
        kind = np.dtype(self._order + code)
        return self.data[:, offset : offset + count * kind.itemsize].view(kind)

    def __getitem__(self, path: str) -> np.ndarray:
        """A number of all messages, (n,), or a list of numbers, (n, how many)."""
        if path in self._layout.places:
            return self._view(*self._layout.places[path], 1)[:, 0]
        if not (count := self._layout.counts[path]):
            return np.zeros((len(self), 0))
        return self._view(*self._layout.places[f"{path}[0]"], count)

    def __setitem__(self, path: str, values: np.ndarray) -> None:
        self[path][...] = values

    def vector(self, path: str, parts: Sequence[str] = "xyz") -> np.ndarray:
        """Numbers under one path side by side, (n, parts): of a vector; of a quaternion with ``wxyz``."""
        return np.stack([self[f"{path}.{part}"] for part in parts], axis=1).astype(float)

    def set_vector(self, path: str, values: np.ndarray, parts: Sequence[str] = "xyz") -> None:
        """Write what :meth:`vector` reads."""
        for part, column in zip(parts, np.transpose(values), strict=True):
            self[f"{path}.{part}"] = column

    def stamps(self, path: str = "header.stamp") -> np.ndarray:
        """Stamps, (n,) ns."""
        seconds = self[f"{path}.sec"].astype(np.int64)
        return seconds * NANOSECONDS_PER_SECOND + self[f"{path}.nanosec"]

    def set_stamps(self, stamps: np.ndarray, path: str = "header.stamp") -> None:
        """Write what :meth:`stamps` reads."""
        self[f"{path}.sec"], self[f"{path}.nanosec"] = np.divmod(stamps, NANOSECONDS_PER_SECOND)


class Rows:
    """Rows of numbers by their stamps; of two with one stamp, the later counts."""

    def __init__(self) -> None:
        self._stamps: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []

    def add(self, stamps: np.ndarray, rows: np.ndarray) -> None:
        """Take up rows (n, ...) with their stamps (n,) ns."""
        self._stamps.append(stamps)
        self._rows.append(rows)

    def __bool__(self) -> bool:
        return bool(self._stamps)

    @cached_property
    def _last_of(self) -> tuple[np.ndarray, np.ndarray]:
        stamps = np.concatenate([np.zeros(0, np.int64), *self._stamps])
        found, last = np.unique(stamps[::-1], return_index=True)
        return found, len(stamps) - 1 - last

    @property
    def stamps(self) -> np.ndarray:
        """Stamps in their order, ns."""
        return self._last_of[0]

    def at(self, stamps: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Rows of a shape at stamps, NaN where there is none, (n, ...)."""
        out = np.full((len(stamps), *shape), np.nan)
        if self:
            known, order = self._last_of
            at = np.searchsorted(known, stamps).clip(max=len(known) - 1)
            is_there = known[at] == stamps
            out[is_there] = np.concatenate(self._rows)[order[at[is_there]]]
        return out


class Heard(NamedTuple):
    """Messages of one topic and one shape.

    Attributes:
        connection: of the topic.
        order: their numbers in the bag, (n,), increasing.
        received: when, (n,) ns.
        table: the messages.
    """

    connection: Connection
    order: np.ndarray
    received: np.ndarray
    table: MessageTable

    def where(self, kept: np.ndarray) -> Heard:
        """Only the messages at which ``kept``, (n,) bool."""
        table = self.table.where(kept)
        return Heard(self.connection, self.order[kept], self.received[kept], table)


def tables(reader: AnyReader, connections: Iterable[Connection]) -> Iterator[Heard]:
    """Messages of these topics, some thousands of one topic and one shape at a time.

    Raises:
        SerdeError: one does not decode.
    """
    wanted = list(connections)
    kept: dict[int, list[tuple[int, int, bytes]]] = {c.id: [] for c in wanted}
    number = 0
    for connection, received, raw in reader.messages(wanted) if wanted else ():
        messages = kept[connection.id]
        messages.append((number, received, raw))
        number += 1
        if len(messages) == AT_ONCE:
            yield from _by_shape(reader, connection, messages)
            messages.clear()
    for connection in wanted:
        yield from _by_shape(reader, connection, kept[connection.id])


def _by_shape(
    reader: AnyReader, connection: Connection, messages: list[tuple[int, int, bytes]]
) -> Iterator[Heard]:
    kind, store = connection.msgtype, reader.typestore
    raws = [raw for _, _, raw in messages]
    if not reader.is2:  # ROS 1 serializes in another way
        raws = [bytes(store.serialize_cdr(store.deserialize_ros1(r, kind), kind)) for r in raws]
    order, received = np.array([entry[:2] for entry in messages], np.int64).reshape(-1, 2).T
    sizes = np.array([len(raw) for raw in raws])
    for size in dict.fromkeys(sizes.tolist()):
        left = np.flatnonzero(sizes == size)
        data = np.frombuffer(b"".join([raws[i] for i in left]), np.uint8).reshape(-1, size)
        while len(left):
            message = store.deserialize_cdr(raws[left[0]], kind)
            layout = Layout(message, _fields_of(store))
            same = (data[:, layout.shape] == data[0, layout.shape]).all(axis=1)
            those = left[same]
            table = MessageTable(message, data[same], layout)
            yield Heard(connection, order[those], received[those], table)
            left, data = left[~same], data[~same]
