"""Make a bag whole again that was cut off while it was written: read what is there, write it anew."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import time as wall
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcap.records import Channel, Chunk, McapRecord, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from rotor_core.config.yaml.structure import word
from rotor_core.errors import ConfigError, RotorError
from rotor_recordings.formats.bags import FIGURES, custom_data
from rotor_recordings.formats.message_store import STORAGE_VERSION, add_checksums
from rotor_recordings.formats.own_topics import TOPICS
from rotor_recordings.live.bag import BESIDE

NANO = 1e-9
DAMAGED = ".damaged"
"""Added to the name of the folder that was cut off, which is kept."""

MAGIC = b"\x89MCAP0\r\n"
"""First and last bytes of an MCAP file."""

FRESH = 1.5
"""What has changed within this time may still be written from elsewhere, s: recorders write at least once a second."""

LARGEST = 2**30
"""Records beyond this are taken for damage, bytes."""


@dataclass(frozen=True)
class Recovered:
    """Messages recovered from a damaged bag.

    Attributes:
        path: of the bag that is whole.
        kept: of the damaged one; None: it was whole.
        messages: how many there are.
        span: from the first to the last of them, s.
        lost: bytes that are part of no whole record.
        nameless: whole messages of which nothing tells the topic any more.
        skipped: topics whose type cannot be read, which are left out.
    """

    path: Path
    kept: Path | None
    messages: int
    span: float
    lost: int
    nameless: int = 0
    skipped: tuple[str, ...] = ()


def recover(path: Path, out: Path | None = None) -> Recovered:
    """Make a bag whole.

    Args:
        path: its folder, a folder with one bag, or its .mcap file.
        out: where to write the new bag; default in place of the damaged one, which is kept beside it.

    Raises:
        ConfigError: there is no bag, it has no message, it is still being written, or ``out`` exists.
        RotorError: the disk is full; the damaged bag is as it was then.
    """
    folder, file = _find(path)
    if out is None and (folder / "metadata.yaml").exists() and _is_complete(file):
        messages, span, lost = _count(file)
        if not lost:
            return Recovered(folder, None, messages, span, 0)
    _refuse_growing(file)
    if out is None:
        _refuse_written(file)
        _refuse_company(folder, file)
    kept = None if out is not None else folder.with_name(folder.name + DAMAGED)
    target = folder.with_name(folder.name + ".recovering") if out is None else out
    for other in (kept, target):
        if other is not None and other.exists():
            raise ConfigError(f"{other}: exists already. Remove it, or name another place: --out.")
    try:
        found = _rewrite(file, target, folder.name if out is None else target.name)
    except BaseException as error:
        if target.exists():
            shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise RotorError(
                f"{target}: cannot be written ({error.strerror}). {folder} is as it was. Recover it elsewhere: --out."
            ) from error
        raise
    if kept is not None:
        os.rename(folder, kept)
        os.rename(target, folder)
    return Recovered(folder if out is None else out, kept, *found)


def _find(path: Path) -> tuple[Path, Path]:
    """Folder and file of a bag."""
    try:
        if path.is_file():
            file = path
        else:
            files = sorted(path.glob("*.mcap")) or sorted(path.glob("*/*.mcap"))
            if not path.is_dir():
                raise ConfigError(
                    f"{word(str(path))}: there is no such file or folder. Name a bag."
                )
            if len(files) != 1:
                what = "no .mcap file" if not files else f"{len(files)} .mcap files"
                raise ConfigError(f"{path}: holds {what}. Give the folder of one bag (MCAP).")
            file = files[0]
        with file.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise ConfigError(f"{word(str(file))}: is not an MCAP file, whole or damaged.")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{word(str(path))}: cannot be read ({getattr(error, 'strerror', None) or error})."
        ) from error
    return file.parent, file


def _refuse_company(folder: Path, file: Path) -> None:
    """In place only the folder of a bag is replaced, not one in which people keep other things.

    Raises:
        ConfigError: something else is there.
    """
    known = (file.name, "metadata.yaml", *BESIDE)
    other = sorted(p.name for p in folder.iterdir() if p.name not in known)
    if other:
        raise ConfigError(
            f"{folder}: holds more than a bag ({word(other[0])}). Name another folder for the recovered bag: --out."
        )


def _refuse_growing(file: Path) -> None:
    """What is still written has no end yet, whichever machine of a shared file system writes it.

    Raises:
        ConfigError: the file becomes longer.
    """
    before = file.stat()
    if _is_complete(file) or wall.time() - before.st_mtime > FRESH:
        return
    wall.sleep(FRESH)
    if file.stat().st_size != before.st_size:
        raise ConfigError(f"{file}: is still being written. Stop its recorder first.")


def _refuse_written(file: Path) -> None:
    """Whoever still writes a bag would lose it, however long there has been nothing to write.

    Linux leases a file to a reader only while no process of this machine has it open to write.

    Raises:
        ConfigError: one has.
    """
    with file.open("rb") as stream:
        # whoever opens it during the lease would have this process told by SIGIO, which ends it; SIGURG does nothing
        fcntl.fcntl(stream, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(stream, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                raise ConfigError(
                    f"{file}: a recorder still has it open. Stop that first."
                ) from error
            return  # another user's, or a file system without leases
        fcntl.fcntl(stream, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _is_complete(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        if stream.tell() < 2 * len(MAGIC):
            return False
        stream.seek(-len(MAGIC), os.SEEK_END)
        return stream.read() == MAGIC


class _Records:
    """Whole records of a file: up to where it is cut off, without chunks that are damaged.

    Attributes:
        lost: bytes of those chunks, and behind the last whole record.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.lost = 0

    def __iter__(self) -> Iterator[McapRecord]:
        good = self.lost = 0
        with self._file.open("rb") as stream:
            # readers of damaged records fail in many ways; behind a length that is wrong nothing has a place
            with suppress(Exception):
                reader = StreamReader(stream, emit_chunks=True, record_size_limit=LARGEST)
                for record in reader.records:
                    before, good = good, stream.tell()
                    if isinstance(record, Chunk):
                        try:
                            inner = breakup_chunk(record, validate_crc=True)
                        except Exception:  # the next one stands where the length of this one says
                            self.lost += good - before
                            continue
                        yield from inner
                    else:
                        yield record
        self.lost += self._file.stat().st_size - good
        if _is_complete(self._file) and self.lost >= len(MAGIC):
            self.lost -= len(MAGIC)  # which ends a whole file


def _count(file: Path) -> tuple[int, float, int]:
    """Messages of a file, the time that they span, s, and bytes that are part of no whole record."""
    records = _Records(file)
    stamps = [r.log_time for r in records if isinstance(r, Message)]
    span = (max(stamps) - min(stamps)) * NANO if stamps else 0.0
    return len(stamps), span, records.lost


def _rewrite(file: Path, target: Path, name: str) -> tuple[int, float, int, int, tuple[str, ...]]:
    """Copy all whole messages of ``file`` into a new bag whose file is called ``name``.mcap."""
    records = _Records(file)
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    # those of a damaged chunk stand behind it once more where the bag was closed
    for record in records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
    connections: dict[int, Connection] = {}
    made: dict[tuple[str, int], Connection] = {}
    """By topic and type: what was merged or split has several channels of one."""
    skipped: list[str] = []
    nameless = 0
    # the writer names its file by its folder
    target.mkdir(parents=True)
    inner = target / name
    writer = Writer(inner, version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    for key, text in _custom_data(file.parent).items():
        writer.set_custom_data(key, text)
    stamps: list[int] = []
    with writer:
        add_checksums(writer)
        for number, channel in channels.items():
            known = channel.topic, channel.schema_id
            try:
                if known not in made:
                    made[known] = _connection(writer, channel, schemas)
                connections[number] = made[known]
            except Exception:  # readers of definitions fail in many ways
                skipped.append(channel.topic)
        for record in records:
            if not isinstance(record, Message):
                continue
            nameless += record.channel_id not in channels
            if record.channel_id in connections:
                writer.write(connections[record.channel_id], record.log_time, record.data)
                stamps.append(record.log_time)
        if not stamps:
            raise ConfigError(f"{file}: holds no whole message; there is nothing to recover.")
    for part in inner.iterdir():
        part.rename(target / part.name)
    inner.rmdir()
    span = (max(stamps) - min(stamps)) * NANO
    return len(stamps), span, records.lost, nameless, tuple(sorted(skipped))


def _connection(writer: Writer, channel: Channel, schemas: dict[int, Schema]) -> Connection:
    """A topic as it was: its type as the bag defines it, which may be another one than today."""
    schema = schemas[channel.schema_id]
    store = get_typestore(Stores.ROS2_JAZZY)
    if schema.encoding == "ros2msg" and schema.data:
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(schema.data.decode(), schema.name))
    return writer.add_connection(
        channel.topic,
        schema.name,
        typestore=store,
        serialization_format=channel.message_encoding,
        offered_qos_profiles=_qos(channel),
    )


def _qos(channel: Channel) -> list[Qos]:
    text = channel.metadata.get("offered_qos_profiles", "")
    return parse_qos(text) if text else []


def _custom_data(folder: Path) -> dict[str, str]:
    """What a bag tells beside its messages, from its metadata or, where it was not closed, from files beside it."""
    found = {key: custom_data(folder, key) for key in ("scenario", FIGURES, TOPICS)}
    for name, key in BESIDE.items():
        if (folder / name).exists():
            found[key] = (folder / name).read_text()
    return {key: text for key, text in found.items() if text}
