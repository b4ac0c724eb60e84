"""Real-time scheduling of the simulator, where the system allows it.

Control periods of a few milliseconds are late when other processes have the cores. The kernel gives threads of the
policy SCHED_FIFO precedence over all ordinary ones, for 95 % of the time at most (sched(7)).
"""

from __future__ import annotations

import os
from pathlib import Path

PRIORITY = 10
"""Above ordinary processes, below the kernel's own threads and what people set up for hardware."""

LEAST_CORES = 2
"""With a single core controllers would wait for a simulator that is behind, and never answer."""


def _threads() -> list[int]:
    return [int(task.name) for task in Path("/proc/self/task").iterdir()]


def take_precedence() -> bool:
    """Let all threads of this process run before ordinary ones; False where the system does not allow it.

    Threads and processes that begin later are ordinary.
    """
    if not hasattr(os, "sched_setscheduler") or len(os.sched_getaffinity(0)) < LEAST_CORES:
        return False
    try:
        for thread in _threads():
            os.sched_setscheduler(
                thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY)
            )
    except OSError:  # no right to it, or no such policy in this container
        return False
    return True


def give_back() -> None:
    """Let all threads of this process be ordinary again."""
    for thread in _threads():
        if os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO:
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
