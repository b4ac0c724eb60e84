"""Putting a growing file on the disk beside the work: a slow disk takes seconds for it."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO


class DiskSync:
    """Syncs one file in a thread of its own, at most once at a time.

    Args:
        file: open for writing, without a buffer that holds anything back when :meth:`ask` is called.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="disk")
        self._running: Future | None = None
        self._asked = self._waiting = 0.0

    def ask(self) -> None:
        """Ask that what has been written up to now be on the disk soon.

        Raises:
            OSError: an earlier attempt failed.
        """
        now = time.monotonic()
        if self._running is not None and not self._running.done():
            self._waiting = self._waiting or now
            return
        self._finished()
        self._asked, self._waiting = now, 0.0
        self._running = self._thread.submit(os.fsync, self._file.fileno())

    @property
    def behind(self) -> float:
        """Age of the oldest data that a loss of power would cost, s, besides what has not been asked for."""
        if self._running is None or (self._running.done() and not self._waiting):
            return 0.0
        return time.monotonic() - (self._waiting if self._running.done() else self._asked)

    def close(self) -> None:
        """Wait for what is under way.

        Raises:
            OSError: it failed.
        """
        self._thread.shutdown()
        self._finished()

    def _finished(self) -> None:
        done, self._running = self._running, None
        if done is not None:
            done.result()
