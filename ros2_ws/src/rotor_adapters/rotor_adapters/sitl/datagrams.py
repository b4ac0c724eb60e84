"""A connection to an autopilot that talks in datagrams."""

from __future__ import annotations

import contextlib
import socket
import time as wall

from rotor_adapters.sitl.link import Link, listening


class DatagramLink(Link):
    """A link over UDP; nobody has to connect.

    Args:
        period: of control, s.
        host, port: on which the autopilot is waited for.
    """

    def __init__(self, period: float, host: str, port: int) -> None:
        super().__init__(period)
        self._host, self._port = host, port
        self.where = f"UDP {host}:{port}"
        self._socket: socket.socket | None = None
        self._was_malformed = False

    def open(self) -> None:
        """Listen."""
        self._socket = listening(socket.SOCK_DGRAM, self._host, self._port)

    def poll(self) -> None:
        """Nothing: datagrams need no connection."""

    def send(self, data: bytes, address: tuple) -> None:
        """Send a datagram; nothing happens where nobody is there yet, or any more."""
        assert self._socket is not None
        with contextlib.suppress(OSError):
            self._socket.sendto(data, address)

    def next_datagram(self, patience: float) -> tuple[bytes, tuple] | None:
        """The next message and its sender; None where nothing comes within ``patience`` s."""
        assert self._socket is not None
        end = wall.monotonic() + patience
        while True:
            try:
                return self.receive(self._socket, end - wall.monotonic())
            except ConnectionError:  # told of a datagram of ours that nobody took
                continue

    def tell_malformed(self, text: str) -> None:
        """Tell of the first datagram that is none of the protocol."""
        if not self._was_malformed:
            self._was_malformed = True
            self.news.append(text)

    def close(self) -> None:
        """Let go."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self.connected = None, False
