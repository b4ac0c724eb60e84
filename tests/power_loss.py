"""A disk that keeps after a loss of power only what was synced, and nothing else.

Contents of a file are what they were at its last fsync; a name is what it was at the last fsync of its folder. That is
the least that POSIX promises, and more than any file system loses.

As a program, ``power_loss.py SHADOW MODULE ...`` runs a module on such a disk: SHADOW holds at any time what a loss of
power would leave.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import stat
import sys
import threading
from pathlib import Path

NAMES = "names.json"


class Disk:
    """Watches ``os.fsync`` of this process, and keeps what is safe in a folder of its own.

    Args:
        shadow: where safe contents are kept.
        below: files elsewhere are not looked at.
        delay: seconds that every sync of a file takes.
    """

    def __init__(self, shadow: Path, below: Path, delay: float = 0.0) -> None:
        self._shadow, self._below, self._delay = shadow, str(below.resolve()), delay
        shadow.mkdir(parents=True, exist_ok=True)
        self._names: dict[str, dict[str, list]] = {}
        self._lock = threading.Lock()
        self._fsync = os.fsync

    def __enter__(self) -> Disk:
        os.fsync = self._sync  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync = self._fsync

    def _sync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        found = os.fstat(descriptor)
        self._fsync(descriptor)
        if not f"{path}/".startswith(f"{self._below}/"):
            return
        if stat.S_ISDIR(found.st_mode):
            entries = {e.name: [e.inode(), e.is_dir()] for e in os.scandir(path)}
            with self._lock:
                self._names[path] = entries
                part = self._shadow / "names.part"
                part.write_text(json.dumps(self._names))
                os.replace(part, self._shadow / NAMES)
            return
        data = Path(f"/proc/self/fd/{descriptor}").read_bytes()
        if self._delay:
            threading.Event().wait(self._delay)
        part = self._shadow / f"{found.st_ino}.part"
        part.write_bytes(data)
        os.replace(part, self._shadow / str(found.st_ino))


def after_power_loss(shadow: Path, folder: Path, out: Path) -> Path:
    """What is left of a folder, written to ``out``: names that were safe with contents that were safe."""
    names = json.loads((shadow / NAMES).read_text())

    def restore(path: str, to: Path) -> None:
        to.mkdir(parents=True)
        for name, (inode, is_folder) in names.get(path, {}).items():
            if is_folder:
                restore(f"{path}/{name}", to / name)
            elif (shadow / str(inode)).exists():
                shutil.copy(shadow / str(inode), to / name)
            else:
                (to / name).touch()  # a name without contents

    top = folder.resolve()
    assert top.name in names.get(str(top.parent), {}), f"{top} itself is lost"
    restore(str(top), out)
    return out


if __name__ == "__main__":
    place, below, delay, module, *rest = sys.argv[1:]
    sys.argv[:] = [module, *rest]
    with Disk(Path(place), Path(below), float(delay)):
        runpy.run_module(module, run_name="__main__", alter_sys=True)
