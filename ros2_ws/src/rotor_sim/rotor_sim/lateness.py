"""Cause of a late control period: own work, a core that others had, or a wait."""

from __future__ import annotations

import os
import time as wall

OWN_WORK, NO_CORE, WAITING = "late_own_work", "late_without_core", "late_waiting"
CAUSES = {OWN_WORK: "own work", NO_CORE: "without a core", WAITING: "waiting"}
"""In words: integrating and publishing took too long; the thread was ready, but others had the core; it waited for the
middleware.
"""

REMEDIES = {
    OWN_WORK: "this machine is too slow for it in real time: a lower real-time factor, pacing lockstep, or a longer "
    "control_s or step_s",
    NO_CORE: "other processes had the cores: end them, or let the simulator take precedence (a line "
    "'@users - rtprio 10' in /etc/security/limits.conf; now: sudo chrt -a -f -p 10 PID)",
    WAITING: "it waited for the middleware: fewer subscribers, or topics_hz lower",
}
"""What helps, by cause."""

MANY = 0.01
"""Share of late periods from which it is said what helps."""

_STATISTICS = "/proc/thread-self/schedstat"
"""Of Linux: nanoseconds on a core, nanoseconds ready without one, turns."""


class Lateness:
    """Shares of the time of a control period; of the thread that makes it."""

    def __init__(self) -> None:
        try:
            self._file = os.open(_STATISTICS, os.O_RDONLY)
        except OSError:  # another system: without a core is not told from waiting
            self._file = -1
        self.begin()

    def close(self) -> None:
        """Read no more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _read(self) -> tuple[float, float, float]:
        """Wall time, time on a core and time without one, s."""
        now = wall.perf_counter()
        if self._file < 0:
            return now, wall.thread_time(), 0.0
        worked, waited, _ = os.pread(self._file, 96, 0).split()
        return now, int(worked) * 1e-9, int(waited) * 1e-9

    def begin(self) -> None:
        """A period begins."""
        self._begun = self._read()

    def cause(self) -> str:
        """Cause that took most of the time since then."""
        whole, worked, without = (
            now - then for now, then in zip(self._read(), self._begun, strict=True)
        )
        shares = {OWN_WORK: worked, NO_CORE: without, WAITING: whole - worked - without}
        return max(shares, key=lambda cause: shares[cause])
