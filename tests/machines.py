"""Machines for tests: network namespaces with a cable between them, or with a bad one."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


class Machines:
    """Two network namespaces with a cable between them; processes there share nothing else but files."""

    def __init__(self) -> None:
        tag = str(os.getpid())
        self.here, self.there = f"rotor-{tag}-a", f"rotor-{tag}-b"
        self.address = "10.77.0.1"

    def __enter__(self) -> Machines:
        ends = ((self.here, self.address), (self.there, "10.77.0.2"))
        for name, _ in ends:
            _ip("netns", "add", name)
        _ip("link", "add", "cable", "netns", self.here, "type", "veth", "peer", "name", "cable", "netns", self.there)  # fmt: skip
        for name, address in ends:
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", name, "link", "set", device, "up")
            _ip("-n", name, "route", "add", "239.0.0.0/8", "dev", "cable")
        return self

    def __exit__(self, *_: object) -> None:
        for name in (self.here, self.there):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)

    def command_here(self, *command: str) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.here, *command)

    def command_there(self, *command: str) -> tuple[str, ...]:
        """With a shared memory of its own, as another machine has."""
        alone = 'mount -t tmpfs none /dev/shm && exec "$@"'
        return ("ip", "netns", "exec", self.there, "unshare", "-m", "sh", "-c", alone, "sh", *command)  # fmt: skip


def _ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True)


def made(two: Machines) -> Iterator[Machines]:
    """Machines for one test, which is skipped where none can be made."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("unshare")):
        pytest.skip("needs root, ip and unshare to make network namespaces")
    try:
        two.__enter__()
        subprocess.run(two.command_there("true"), check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        two.__exit__()
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    yield two
    two.__exit__()


@pytest.fixture
def machines():
    yield from made(Machines())


# --- a bad cable ------------------------------------------------------------------------------------


class BadCable(Machines):
    """Two machines whose frames go through a program that loses, delays, reorders and doubles them (bad_cable.py)."""

    def __enter__(self) -> BadCable:
        self.middle = f"rotor-{os.getpid()}-m"
        ends = ((self.here, self.address, "a"), (self.there, "10.77.0.2", "b"))
        _ip("netns", "add", self.middle)
        for name, address, end in ends:
            _ip("netns", "add", name)
            _ip("link", "add", "cable", "netns", name, "type", "veth", "peer", "name", end, "netns", self.middle)  # fmt: skip
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", name, "link", "set", device, "up")
            _ip("-n", self.middle, "link", "set", "dev", end, "up")
            _ip("-n", name, "route", "add", "239.0.0.0/8", "dev", "cable")
            whole = (
                sys.executable,
                str(Path(__file__)),
                "cable",
            )  # what is handed on must have its checksums
            subprocess.run(("ip", "netns", "exec", name, *whole), check=True, capture_output=True)
        program = str(Path(__file__).with_name("bad_cable.py"))
        self._wire = subprocess.Popen(
            ("ip", "netns", "exec", self.middle, sys.executable, program),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._wire.stdout is not None
        if self._wire.stdout.readline() != "ready\n":
            raise subprocess.CalledProcessError(1, program, stderr=b"no raw sockets")
        return self

    def be(self, **faults: float) -> None:
        """From now on: ``loss``, ``duplicate`` and ``reorder`` as probabilities, ``delay`` and ``jitter`` in s; 1: cut."""
        assert self._wire.stdin is not None
        self._wire.stdin.write(" ".join(f"{k}={v}" for k, v in faults.items()) + "\n")
        self._wire.stdin.flush()

    def counts(self) -> dict[str, int]:
        """Take the cable away; what happened to the frames."""
        out, _ = self._wire.communicate(timeout=10.0)
        return {k: int(v) for k, v in (w.split("=") for w in out.split())}

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_wire"):
            self._wire.kill()
            self._wire.wait()
        super().__exit__()
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("netns", "del", self.middle)


@pytest.fixture
def bad_cable():
    yield from made(BadCable())


SIOCETHTOOL, SET_TX_CHECKSUM = 0x8946, 0x17


def compute_checksums(device: str) -> None:
    """Let the kernel of this namespace write checksums itself, which a real network card would do."""
    value = bytearray(struct.pack("II", SET_TX_CHECKSUM, 0))
    pointer = (ctypes.c_char * len(value)).from_buffer(value)
    request = struct.pack("16sP", device.encode(), ctypes.addressof(pointer))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


if __name__ == "__main__":
    compute_checksums(sys.argv[1])
