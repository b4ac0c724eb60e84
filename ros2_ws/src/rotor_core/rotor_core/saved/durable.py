"""Files that a loss of power leaves whole: the new one, or the former one."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO


def sync(file: IO) -> None:
    """Return when what was written to an open file is on the disk.

    Raises:
        OSError: the disk is full or fails.
    """
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk: a file without its name is lost too.

    Raises:
        OSError: the disk fails.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(path: Path) -> None:
    """Return when a path is on the disk: its name and those of all folders above it on the same disk.

    Raises:
        OSError: the disk fails.
    """
    for folder in path.absolute().parents:
        try:
            sync_folder(folder)
        except PermissionError:  # not ours to read, so nothing of ours is new in it
            break
        if folder.is_mount():
            break


def write_durably(path: Path, data: bytes) -> None:
    """Write a file in place of what is there; folders above it that are new are safe then, too.

    Processes that write the same file do so in turn. What a killed one has left, the next one takes.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    part = path.with_name(f"{path.name}.part")
    with _locked(part) as file:
        try:
            file.truncate(0)
            file.write(data)
            sync(file)
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
    sync_names(path)


def _locked(part: Path) -> IO[bytes]:
    """Open a file that no other process writes, until it is closed.

    Raises:
        OSError: it cannot be opened.
    """
    while True:
        file = part.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file.fileno()), part.stat()):
                return file
        except FileNotFoundError:
            pass  # the process that had it has given the file its name
        except BaseException:
            file.close()
            raise
        file.close()
