"""Nodes for tests, quickly: a process that has imported all of them once and forks itself for each.

Most of the time of a short graph goes into imports, the same ones for every node of every test. What is
forked is a process like any other: its own session, its own ROS context (the server never makes one), its own
log file; it hears signals, may be killed and ends with an exit code.
"""

from __future__ import annotations

import array
import ctypes
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MODULES = {
    ("rotor_sim", "simulator"): "rotor_sim.ros.simulator_node",
    ("rotor_sim", "visualizer"): "rotor_sim.ros.visualizer_node",
    ("rotor_planning", "planner"): "rotor_planning.ros.planner_node",
    ("rotor_control", "controller"): "rotor_control.ros.controller_node",
    ("rotor_adapters", "recorder"): "rotor_adapters.recorder.node",
}
"""Module with ``main`` of every executable."""

PDEATHSIG = 1


class Forked:
    """A child of the server, with the interface of ``subprocess.Popen`` as far as tests use it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._buffer = b""
        self.returncode: int | None = None
        self.pid = int(self._line())

    def _line(self) -> str:
        while b"\n" not in self._buffer:
            data = self._connection.recv(64)
            if not data:
                raise RuntimeError("the server of forked nodes is gone")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        with self._lock:
            if self.returncode is None:
                self._connection.setblocking(False)
                try:
                    self.returncode = int(self._line())
                except BlockingIOError:
                    pass
                finally:
                    self._connection.setblocking(True)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"node {self.pid}", timeout or 0.0)
            time.sleep(0.01)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


class Zygote:
    """The server, started once for all tests of a run."""

    _only: Zygote | None = None

    @classmethod
    def get(cls) -> Zygote:
        """The running server."""
        if cls._only is None:
            cls._only = cls()
        return cls._only

    def __init__(self) -> None:
        self._path = tempfile.mktemp(prefix="rotor-nodes-")
        log = Path(f"{self._path}.log")
        self._process = subprocess.Popen(
            [sys.executable, __file__, self._path],
            stdout=log.open("w"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL),
        )  # fmt: skip
        end = time.monotonic() + 120.0
        while not os.path.exists(self._path):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"nodes cannot be imported: {log.read_text()}")
            time.sleep(0.02)

    def start(self, command: tuple[str, ...], env: dict[str, str], log: Path) -> Forked:
        """Run an executable of :data:`MODULES`; ``command`` as for a process of its own."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        order = {"command": command, "env": env, "log": str(log), "cwd": os.getcwd()}
        data = json.dumps(order).encode()
        connection.sendall(len(data).to_bytes(8, "little") + data)
        return Forked(connection)


def knows(package: str, executable: str) -> bool:
    """True if an executable can be forked."""
    return (package, executable) in MODULES


# --- the server -------------------------------------------------------------------------------------


def _serve(path: str) -> None:
    for module in MODULES.values():
        importlib.import_module(module)
    _load_kernels()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)
    children: dict[int, socket.socket] = {}
    ended = array.array("b", [0])
    signal.signal(signal.SIGCHLD, lambda *_: ended.__setitem__(0, 1))
    listener.settimeout(0.05)
    while True:
        try:
            connection, _ = listener.accept()
        except (TimeoutError, InterruptedError):
            connection = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            held = children.pop(pid)
            with held:
                try:
                    held.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                except OSError:
                    pass  # nobody asks any more
        if connection is not None:
            connection.settimeout(None)
            order = json.loads(_receive(connection))
            pid = os.fork()
            if pid == 0:
                listener.close()
                for other in (*children.values(), connection):
                    other.close()
                _become(order)
            children[pid] = connection
            connection.sendall(f"{pid}\n".encode())


def _load_kernels() -> None:
    """Compiled code that every node loads: once, before the forks."""
    from rotor_flight.warm import warm_engine, warm_laws

    warm_engine()
    warm_laws()


def _receive(connection: socket.socket) -> bytes:
    def exactly(n: int) -> bytes:
        data = b""
        while len(data) < n:
            data += connection.recv(n - len(data))
        return data

    return exactly(int.from_bytes(exactly(8), "little"))


def _become(order: dict) -> None:
    """In the child: a session, an environment and a log of its own, then the node."""
    code = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGINT)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, null), (1, log), (2, log)):
            os.dup2(source, target)
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = list(order["command"])
        executable = Path(sys.argv[0])
        module = sys.modules[MODULES[(executable.parent.name, executable.name)]]
        code = module.main() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
