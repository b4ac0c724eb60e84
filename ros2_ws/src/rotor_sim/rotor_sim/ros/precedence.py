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


def _schedule(policy: int, priority: int) -> bool:
    """Let all threads of this process have a policy; False where the system does not allow it.

    Threads and processes that begin later are ordinary; only the privileged may take that back, so it stays.
    """
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setscheduler(
                int(task.name), policy | os.SCHED_RESET_ON_FORK, os.sched_param(priority)
            )
        except ProcessLookupError:  # a thread that has ended meanwhile
            continue
        except OSError:  # no right to it, or no such policy in this container
            return False
    return True


def take_precedence() -> bool:
    """Let all threads of this process run before ordinary ones; False where the system does not allow it."""
    if not hasattr(os, "sched_setscheduler") or len(os.sched_getaffinity(0)) < LEAST_CORES:
        return False
    if _schedule(os.SCHED_FIFO, PRIORITY):
        return True
    give_back()
    return False


def give_back() -> None:
    """Let all threads of this process be ordinary again."""
    _schedule(os.SCHED_OTHER, 0)
