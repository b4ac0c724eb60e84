"""A connection to the autopilot of one vehicle."""

from __future__ import annotations

import errno
import select
import socket
import time as wall
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from rotor_adapters.sitl.senses import Sample
from rotor_core.errors import ConfigError

LAST_PORT = 65535

SLICE = 0.2
"""Longest wait before looking whether everything should end, s."""

NO_ADDRESS = (OSError, UnicodeError, TypeError)
"""What sockets raise for addresses that are none."""

LARGEST = 4096
"""Bytes that are read at once; datagrams of autopilots are smaller."""


class Link(ABC):
    """A connection to one autopilot; see the protocols in the folders of PX4, ArduPilot and Betaflight.

    Args:
        period: of control, s: by so much the clock of the autopilot goes on with every sample.

    Attributes:
        kind: name of the autopilot, for people.
        where: it is waited for, for people.
        connected: it has been heard of.
        armed: its motors may turn.
        in_lockstep: it waits for the next sample, and answers each.
        in_flight: simulated time passes.
        answers_each: it has begun to, and has not missed one since.
        clock: samples that it was sent.
        news: what people should be told, oldest first.
        spin_s: an answer is looked for without sleeping this long: being woken up costs more than most answers take.
    """

    kind: str
    where: str

    def __init__(self, period: float) -> None:
        self.period_us = round(1e6 * period)
        self.connected = self.armed = False
        self.in_lockstep = True
        self.in_flight = self.answers_each = False
        self.clock = 0
        self.news: list[str] = []
        self.spin_s = 0.0

    @property
    def clock_us(self) -> int:
        """Time of the autopilot, us."""
        return self.clock * self.period_us

    @abstractmethod
    def open(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: somebody else does.
        """

    @abstractmethod
    def poll(self) -> None:
        """Take up a connection, if there is a new one."""

    @abstractmethod
    def ask(self, sample: Sample) -> None:
        """Send a sample; nothing where nobody waits for one."""

    @abstractmethod
    def answer(self, patience: float) -> Sequence[float] | None:
        """Throttles of its motors; None where there is no answer within ``patience`` s of wall time."""

    def wait(self, patience: float, is_stopped: Callable[[], bool]) -> Sequence[float] | None:
        """The same, but None at once where all should end or the connection is lost."""
        end = wall.monotonic() + patience
        while True:
            left = end - wall.monotonic()
            answer = self.answer(max(0.0, min(SLICE, left)))
            if answer is not None or left <= SLICE or not self.connected or is_stopped():
                return answer

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection, and listen no more."""

    def receive(self, connection: socket.socket, patience: float) -> tuple[bytes, tuple] | None:
        """The next message and its sender; None where nothing comes within ``patience`` s.

        Raises:
            OSError: as of the socket, which does not block.
        """
        now = wall.perf_counter()
        awake, end = now + self.spin_s, now + patience
        while True:
            try:
                return connection.recvfrom(LARGEST)
            except BlockingIOError:
                now = wall.perf_counter()
            if now >= end:
                return None
            if now >= awake:
                select.select([connection], [], [], end - now)


def said_by(error: Exception) -> str:
    """Text of one of :data:`NO_ADDRESS`, without its number."""
    return getattr(error, "strerror", None) or str(error)


def listening(kind: socket.SocketKind, host: str, port: int) -> socket.socket:
    """A socket bound to an address, which does not block.

    Raises:
        ConfigError: it is taken, not one of this machine, or none.
    """
    name = "TCP" if kind == socket.SOCK_STREAM else "UDP"
    if port > LAST_PORT:
        raise ConfigError(
            f"controller: {name} {host}:{port}: there is no such port. Choose a lower controller.port or instance."
        )
    made = socket.socket(socket.AF_INET, kind)
    made.setblocking(False)
    if kind == socket.SOCK_STREAM:  # a port of a connection that has just ended is free again
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except NO_ADDRESS as error:
        made.close()
        remedy = (
            "Another simulation listens there: end it, or choose another controller.port or instance."
            if getattr(error, "errno", None) == errno.EADDRINUSE
            else "controller.listen must be an address of this machine."
        )
        raise ConfigError(
            f"controller: {name} {host}:{port}: {said_by(error)}. {remedy}"
        ) from error
    return made
