"""Processes that work for another one and end with it."""

from __future__ import annotations

import os
import threading
import time

LOOK = 0.5
"""Between two looks of a process at its parent, s."""


def end_with(parent: int) -> None:
    """End this process when its parent has ended, whatever ended that, also from within a call that never returns."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
