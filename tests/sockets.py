"""Sockets of a process, as Linux shows them; no library needed."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
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
