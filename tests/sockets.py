"""Sockets of a process, as Linux shows them; no library needed."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path

LISTENING = "0A"
"""State of a TCP socket that takes connections, in /proc/PID/net/tcp."""


@dataclass(frozen=True)
class Socket:
    """One end of a connection, or one that waits for others."""

    kind: str
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    state: str

    @property
    def is_on_loopback(self) -> bool:
        return self.address.is_loopback

    @property
    def takes_connections(self) -> bool:
        return self.kind.startswith("tcp") and self.state == LISTENING


def _address(hexadecimal: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Words of 32 bit in the byte order of the machine, written as hexadecimal numbers."""
    words = [int(hexadecimal[k : k + 8], 16) for k in range(0, len(hexadecimal), 8)]
    return ipaddress.ip_address(b"".join(socket.htonl(w).to_bytes(4, "big") for w in words))


def sockets_of(process: int) -> list[Socket]:
    """All Internet sockets that a process has open."""
    numbers = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
        except FileNotFoundError:
            continue  # closed meanwhile
        if match:
            numbers.add(match[1])
    found = []
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        table = Path(f"/proc/{process}/net/{kind}")
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            cells = line.split()
            if cells[9] in numbers:
                address, port = cells[1].split(":")
                found.append(Socket(kind, _address(address), int(port, 16), cells[3]))
    return found


def those_that_are_read(found: list[Socket], process: int, patience: float = 1.0) -> list[Socket]:
    """The UDP sockets of a process whose datagrams it reads within a time.

    Fast DDS also opens sockets that only send. The kernel takes datagrams for these too, and they stay in the queue.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for one in found:
            target = "127.0.0.1" if one.address.is_unspecified else str(one.address)
            sender.sendto(b"?", (target, one.port))
    end, unread = time.monotonic() + patience, found
    while unread and time.monotonic() < end:
        time.sleep(0.05)
        unread = [one for one in unread if _queued(one, process)]
    return [one for one in found if one not in unread]


def _queued(found: Socket, process: int) -> int:
    """Bytes that wait in the receive queue."""
    for line in Path(f"/proc/{process}/net/{found.kind}").read_text().splitlines()[1:]:
        cells = line.split()
        address, port = cells[1].split(":")
        if (_address(address), int(port, 16)) == (found.address, found.port):
            return int(cells[4].split(":")[1], 16)
    return 0
