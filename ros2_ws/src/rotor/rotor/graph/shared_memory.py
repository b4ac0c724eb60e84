"""Shared memory of Fast DDS whose owners were killed: half a megabyte each that nobody else gives back.

Who owns a file of it has it mapped, and holds a lock on the file beside it whose name ends in ``_el``, for as long as
the process lives, however it ends. A file of ours that no process has mapped and whose lock can be had is dead.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path

FOLDER = Path("/dev/shm")
FILE = re.compile(r"(?:sem\.)?(fastrtps_(?:[0-9a-f]{16}|port\d+))(?:_el|_sl|_mutex)?")
YOUNG = 5.0
"""Files that have just been made are left: their owner may be about to map them, s."""


def remove_dead(folder: Path = FOLDER) -> list[str]:
    """Remove the files of dead owners, and return their names; those of other users stay."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if found := FILE.fullmatch(path.name):
            groups.setdefault(found[1], []).append(path)
    if not groups:
        return []
    mapped = _mapped(folder)
    removed = []
    for paths in groups.values():
        if any(str(p) in mapped for p in paths) or not all(_is_dead(p) for p in paths):
            continue
        for path in paths:
            try:
                path.unlink()
            except OSError:  # gone meanwhile
                continue
            removed.append(path.name)
    return removed


def _mapped(folder: Path) -> set[str]:
    """Files of a folder that a process of this user has mapped; root sees those of all."""
    found: set[str] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            maps = (entry / "maps").read_text()
        except OSError:  # ended meanwhile, or somebody else's, whose files are not ours
            continue
        found.update(re.findall(rf"{re.escape(str(folder))}/\S+", maps))
    return found


def _is_dead(path: Path) -> bool:
    """True for a file of this user that is not young, and that nobody has locked."""
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < YOUNG:
            return False
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
