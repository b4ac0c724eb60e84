"""A bag that is being written and may be cut off at any time: by a kill, a full disk, a loss of power.

An MCAP file holds messages in chunks; what is in a chunk that has reached the file can be read
without the index at its end (``./rotor recover``). So chunks are closed by time, not only by size.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys.store import Typestore

from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND
from rotor_core.errors import RotorError
from rotor_core.saved.durable import sync, sync_folder, write_durably
from rotor_recordings.formats.message_store import STORAGE_VERSION, add_checksums
from rotor_recordings.formats.own_topics import TOPICS, OwnTopics
from rotor_recordings.live.chunk_index import ChunkIndex
from rotor_recordings.live.disk import DiskSync

CHUNK_NS = NANOSECONDS_PER_SECOND // 2
"""A chunk holds at most this much simulated time, and is written at the latest after as much wall time."""

RESERVE = 16 * 2**20
"""A bag is closed while this much of the disk is free, bytes: index and metadata must fit."""

SCENARIO_FILE, TOPICS_FILE = "scenario.yaml", "topics.json"

BESIDE = {SCENARIO_FILE: "scenario", TOPICS_FILE: TOPICS}
"""Beside the messages until the bag is closed, with their names as custom data: the metadata are written last."""


def free_space(path: Path) -> int:
    """Bytes that can still be written beside ``path``."""
    return shutil.disk_usage(path).free


class LiveBag:
    """A bag of which a crash costs at most the last second.

    Args:
        path: folder of the bag; must not exist.
        scenario: its YAML, kept as custom data.
        topics: names of the topics, kept where they are not ours.
        free: how much can be written; another one for tests.

    Raises:
        RotorError: the folder cannot be made.
    """

    def __init__(
        self,
        path: Path,
        scenario: str,
        free: Callable[[Path], int] = free_space,
        *,
        topics: OwnTopics | None = None,
    ) -> None:
        self._free = free
        self._writer: Writer | None = None
        self.path = path
        writer = Writer(path, version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP)
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        names = topics.text() if topics is not None else ""
        beside = {SCENARIO_FILE: scenario} | ({TOPICS_FILE: names} if names else {})
        for name, text in beside.items():
            writer.set_custom_data(BESIDE[name], text)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if free(path.parent) < RESERVE:
                raise RotorError(self._full("nothing was recorded"))
            writer.open()
            for name, text in beside.items():
                write_durably(path / name, text.encode())
        except OSError as error:
            raise RotorError(f"{path}: cannot be written ({error.strerror}).") from error
        add_checksums(writer)
        assert isinstance(writer.storage, McapWriter)
        self._storage = writer.storage
        self._writer = writer
        self._storage.chunks = ChunkIndex(path)  # type: ignore[assignment]
        self._disk = DiskSync(self._storage.bio)
        self._since = time.monotonic()
        self._first: int | None = None

    def add(self, topic: str, kind: str, store: Typestore, offered: Sequence[Qos]) -> Connection:
        """Announce a topic."""
        assert self._writer is not None
        return self._writer.add_connection(
            topic, kind, typestore=store, offered_qos_profiles=offered
        )

    def write(self, connection: Connection, stamp: int, data: bytes) -> None:
        """Append a serialised message of time ``stamp``, ns; does nothing once the bag is closed.

        Raises:
            RotorError: the disk is full or fails. The bag is closed then, whole if that was possible.
        """
        if self._writer is None:
            return
        if self._first is None:
            self._first = stamp
        try:
            self._writer.write(connection, stamp, data)
            if abs(stamp - self._first) >= CHUNK_NS:
                self._flush()
        except OSError as error:
            self._give_up(error)

    def flush_if_due(self) -> None:
        """Write what waits since :data:`CHUNK_NS` of wall time; call this now and then.

        Raises:
            RotorError: as of :meth:`write`.
        """
        due = (time.monotonic() - self._since) * NANOSECONDS_PER_SECOND >= CHUNK_NS
        if self._writer is None or not due:
            return
        try:
            self._flush()
        except OSError as error:
            self._give_up(error)

    def _flush(self) -> None:
        self._since, self._first = time.monotonic(), None
        if not self._storage.chunk.bio.tell():
            return
        self._storage.close_chunk()
        self._storage.bio.flush()
        self._disk.ask()
        if self._free(self.path) < RESERVE:
            self.close()
            raise RotorError(self._full("recording ended; the bag is whole up to here"))

    @property
    def behind(self) -> float:
        """Age of the oldest messages in the file that are not on the disk yet, s; of a fast disk below a chunk's."""
        return self._disk.behind

    def _full(self, consequence: str) -> str:
        left = f"less than {RESERVE // 2**20} MB of disk space are left"
        return f"{self.path}: {left}, so {consequence}. Free some space, or record elsewhere."

    def _give_up(self, error: OSError) -> None:
        writer, self._writer = self._writer, None
        assert writer is not None
        for end in (self._disk.close, writer.abort):
            with contextlib.suppress(OSError):  # what waits in buffers is lost, and has been said
                end()
        raise RotorError(
            f"{self.path}: writing failed ({error.strerror}), so recording ended. Recover what was written: "
            f"./rotor recover {self.path}"
        ) from error

    def close(self) -> None:
        """Write index and metadata; does nothing once it is closed.

        Raises:
            RotorError: the disk is full or fails.
        """
        if self._writer is None:
            return
        try:
            self._disk.close()
            self._writer.close()
            for path in self.path.iterdir():
                with path.open("rb") as file:
                    sync(file)
            for name in BESIDE:
                (self.path / name).unlink(missing_ok=True)
            sync_folder(self.path)
        except OSError as error:
            self._give_up(error)
        self._writer = None
