"""A library in a process of its own: what it does wrong ends that process and nothing else."""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from rotor_adapters.library.instance import Instance, LibraryFault
from rotor_adapters.library.interface import Block, size_of
from rotor_flight.child import end_with

READY, STEP, REFUSED = b"r", b"s", b"x"


class IsolatedInstance:
    """As :class:`~rotor_adapters.library.instance.Instance`, beside this process.

    Args:
        path, parameters, latency: as of the instance.
        n_team: rows of the team.
        patience: longest call, s of wall time.

    Attributes:
        block: memory that both share.
    """

    def __init__(
        self, path: Path, n_team: int, parameters: dict[str, float], latency: float, patience: float
    ) -> None:
        self._file = tempfile.TemporaryFile(prefix="rotor-library-")
        self._file.truncate(size_of(n_team))
        self._map = mmap.mmap(self._file.fileno(), size_of(n_team))
        self.block = Block(n_team, self._map)
        self._patience = patience
        self._words = json.dumps([os.getpid(), str(path), n_team, parameters, latency])
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        """Load the library; the constants of the block have been written.

        Raises:
            LibraryFault: it cannot be used.
        """
        theirs, self._ask = os.pipe()
        self._hear, answer = os.pipe()
        fds = (self._file.fileno(), theirs, answer)
        code = "import sys; from rotor_adapters.library.isolated import serve; serve(*sys.argv[1:])"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, self._words, *map(str, fds)],
            pass_fds=fds,
            start_new_session=True,
        )
        os.close(theirs)
        os.close(answer)
        self._poll = select.poll()
        self._poll.register(self._hear, select.POLLIN)
        word = self._answer(max(self._patience, 10.0), "while it was loaded")
        if word == REFUSED:
            text = self.block.text(self.block.pointer.message)
            self.close()
            raise LibraryFault(text)

    def step(self) -> None:
        """One control period.

        Raises:
            LibraryFault: the process has ended, or does not return.
        """
        try:
            os.write(self._ask, STEP)
        except BrokenPipeError:
            self._ended("before its step")
        self._answer(self._patience, "in its step")

    def read_logs(self) -> None:
        """They are in the block after every step."""

    def _answer(self, patience: float, when: str) -> bytes:
        if not self._poll.poll(1000.0 * patience):
            self.close()
            raise LibraryFault(f"has not returned for {patience:g} s {when}; its process was ended")
        word = os.read(self._hear, 1)
        if not word:
            self._ended(when)
        return word

    def _ended(self, when: str) -> None:
        assert self._process is not None
        code = self._process.wait()
        self.close()
        try:
            why = (
                f"crashed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
            )
        except ValueError:
            why = f"crashed (signal {-code})"
        raise LibraryFault(f"{why} {when}")

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None
        os.close(self._ask)
        os.close(self._hear)


def serve(words: str, memory: str, ask: str, answer: str) -> None:
    """Work of the process: load, then a step per word until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: whoever started this ends it
    parent, path, n_team, parameters, latency = json.loads(words)
    end_with(parent)
    block = Block(n_team, mmap.mmap(int(memory), size_of(n_team)))
    hear, say = int(ask), int(answer)
    try:
        instance = Instance(Path(path), block, parameters, latency)
    except LibraryFault as fault:
        block.pointer.message = str(fault).encode()[:511]
        os.write(say, REFUSED)
        return
    os.write(say, READY)
    while os.read(hear, 1):
        instance.step()
        instance.read_logs()
        os.write(say, READY)
    os._exit(0)  # without what the library does at exit
