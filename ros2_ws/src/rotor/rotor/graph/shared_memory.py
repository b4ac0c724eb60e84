"""Shared memory of Fast DDS whose owner was killed: half a megabyte each that nobody else gives back.

Whoever owns a file of it holds a lock on the file beside it whose name ends in ``_el`` for as long as the process lives,
however it ends. A lock that can be had is therefore the proof that the owner is dead.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path

FOLDER = Path("/dev/shm")
LOCK = re.compile(r"(fastrtps_(?:[0-9a-f]{16}|port\d+))_el")
YOUNG = 5.0
"""Files that have just been made are left: their owner may be about to lock them, s."""


def remove_dead(folder: Path = FOLDER) -> list[str]:
    """Remove the files of dead owners, and return their names; those of other users stay."""
    removed = []
    for lock in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = LOCK.fullmatch(lock.name)
        if found is None or not _is_dead(lock):
            continue
        base = found[1]
        for path in (folder / base, folder / f"sem.{base}_mutex", lock):
            try:
                path.unlink()
            except OSError:  # gone meanwhile, or somebody else's
                continue
            removed.append(path.name)
    return removed


def _is_dead(lock: Path) -> bool:
    try:
        if time.time() - lock.stat().st_mtime < YOUNG:
            return False
        descriptor = os.open(lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
