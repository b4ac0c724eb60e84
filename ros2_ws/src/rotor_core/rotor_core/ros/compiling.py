"""Tell people that a node compiles its kernels, and let signals end it meanwhile.

The first start after a change of the sources compiles for minutes. Handlers of signals in Python wait for the compiler,
which runs in C for seconds at a time; here a thread hears of them at once.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from rotor_core.kernels.jit import when_compiling
from rotor_core.ros import qos

PATIENCE = 0.5
"""What compiles faster is not worth a word, s."""

PERIOD = 1.0
"""Between two reports on /diagnostics, s."""

COMPILING = "compiling kernels"
"""Message on /diagnostics meanwhile."""

QUIET = 2.0
"""Without a further kernel for this long, all are compiled, s."""


class CompileWatch:
    """A thread that sleeps unless kernels are compiled or a signal comes; see :func:`watch_compiling`.

    Attributes:
        node: in whose name it speaks.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self._active = False
        self._began = self._last = 0.0
        self._signalled = False
        self._ear, self._bell = socket.socketpair()
        for end in (self._ear, self._bell):
            end.setblocking(False)
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True, name="compiling").start()

    def report(self, begins: bool) -> None:
        """Hear from the compiler (:func:`rotor_core.kernels.jit.when_compiling`)."""
        self._active = begins
        self._last = time.monotonic()
        if begins:
            self._bell.send(b"\0")
            if self._signalled:
                self._leave()

    def _leave(self) -> None:
        self.node.get_logger().info("stopped while kernels were compiled; the next start goes on")
        os._exit(0)

    def _hear(self, timeout: float | None) -> None:
        """Wait for a signal or for the compiler, at most so long."""
        ready, _, _ = select.select([self._ear], [], [], timeout)
        heard = self._ear.recv(4096) if ready else b""
        self._signalled |= any(number in heard for number in (signal.SIGINT, signal.SIGTERM))
        if self._signalled and self._active:
            self._leave()

    def _watch(self) -> None:
        while True:
            self._hear(None)
            if not self._active:
                continue
            self._began = time.monotonic()
            while self._active and time.monotonic() - self._began < PATIENCE:
                self._hear(PATIENCE)
            if self._active:
                self._tell()

    def _tell(self) -> None:
        """Say that kernels are compiled, until they are."""
        log = self.node.get_logger()
        log.info("compiling kernels, once for these sources (up to a minute; Ctrl-C ends it) ...")
        publisher = self.node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        while self._active or time.monotonic() - self._last < QUIET:
            self._publish(publisher, DiagnosticStatus.WARN, COMPILING)
            self._hear(PERIOD)
        took = self._last - self._began
        log.info(f"kernels compiled in {took:.0f} s")
        self._publish(publisher, DiagnosticStatus.OK, "kernels compiled")
        self.node.destroy_publisher(publisher)

    def _publish(self, publisher: object, level: bytes, text: str) -> None:
        status = DiagnosticStatus(
            level=level,
            name=f"rotor: {self.node.get_name()}",
            message=f"{text} ({time.monotonic() - self._began:.0f} s)",
            hardware_id=self.node.get_fully_qualified_name(),
        )
        publisher.publish(DiagnosticArray(status=[status]))  # stamp 0: there is no time yet


_watch: list[CompileWatch] = []
"""The one of this process, which has one compiler."""


def watch_compiling(node: Node) -> None:
    """While this process compiles kernels: a line in the log, a status on /diagnostics, and signals end it at once.

    Call it first in the constructor of a node; one that is made in the place of another takes its watch over. Elsewhere
    than in the main thread it does nothing, because signals are heard there only.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if _watch:
        _watch[0].node = node
        return
    _watch.append(CompileWatch(node))
    when_compiling(_watch[0].report)
