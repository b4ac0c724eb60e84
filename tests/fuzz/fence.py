"""A fence around a folder: what the program writes elsewhere is stopped and remembered."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2, "os.truncate": 1, "os.chmod": 1,
    "os.mkfifo": 1, "shutil.rmtree": 1, "sqlite3.connect": 1,
}  # fmt: skip
"""Events of the interpreter, and how many paths begin their arguments."""

FREE = ("/dev/", "/proc/")
"""Nothing stays there."""

_fences: list[Fence] = []
_watching = False


class Fence:
    """A folder, and what was tried outside."""

    def __init__(self, *folders: Path) -> None:
        self.folders = [os.path.realpath(f) for f in folders]
        self.tried: list[str] = []

    def check(self, event: str, path: object) -> None:
        """Refuse a write outside.

        Raises:
            PermissionError: it is outside.
        """
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # a file that is open already
        real = os.path.realpath(os.fsdecode(path))
        if f"{real}/".startswith(FREE) or any(f"{real}/".startswith(f"{f}/") for f in self.folders):
            return
        self.tried.append(f"{event} {real}")
        raise PermissionError(13, "outside of the fence", real)


def _audit(event: str, arguments: tuple) -> None:
    if not _fences:
        return
    if event == "open":
        path, mode, flags = arguments
        if (isinstance(flags, int) and flags & WRITES) or set(mode or "r") & set("wax+"):
            _fences[-1].check(event, path)
    elif event in CHANGES:
        for path in arguments[: CHANGES[event]]:
            _fences[-1].check(event, path)


@contextmanager
def fenced(*folders: Path) -> Iterator[Fence]:
    """Nothing is written outside of these folders meanwhile."""
    global _watching
    if not _watching:
        sys.addaudithook(_audit)  # it stays until the process ends
        _watching = True
    fence = Fence(*folders)
    _fences.append(fence)
    try:
        yield fence
    finally:
        _fences.remove(fence)
