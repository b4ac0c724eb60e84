"""Child processes of a run: start, watch, stop in order, leave none behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from rotor.graph.plan import NodePlan, ProgramPlan
from rotor_core.errors import ConfigError

GRACE = 5.0
"""After SIGINT a process has this long before SIGTERM, and then again before SIGKILL, s."""

HURRY = 1.0
"""The same after another Ctrl-C, s."""

FOLLOW = ("setpriv", "--pdeathsig", "INT", "--")
"""In front of a command line: the process gets SIGINT when its parent dies, whatever killed that (util-linux)."""


def how_ended(code: int) -> str:
    """End of a process in words, by its exit code."""
    if code == 0:
        return "was ended from outside (code 0)"
    if code > 0:
        return f"ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed ({name})"


def remedy(name: str, code: int) -> str:
    """Remedy where a recorder was killed before its bag was closed; else nothing."""
    if name != "recorder" or code >= 0:
        return ""
    return " What it had recorded is on the disk: ./rotor recover BAG closes the bag."


def parameter_text(text: str) -> str:
    """A text as value of a parameter on a command line: quoted, so that 1 or true do not become numbers."""
    return "'" + text.replace("'", "''") + "'"


def executable(plan: NodePlan) -> Path:
    """File that a node is started with.

    Raises:
        ConfigError: its package is not installed, or not whole.
    """
    try:
        prefix = Path(get_package_prefix(plan.package))
    except PackageNotFoundError as error:
        raise ConfigError(
            f"{plan.name}: the package {plan.package} is not installed here. Source a ROS 2 distribution or a "
            "workspace that has it, or leave it out."
        ) from error
    path = prefix / "lib" / plan.package / plan.executable
    if not os.access(path, os.X_OK):
        raise ConfigError(
            f"{plan.name}: {path} is missing. Build the workspace again: colcon build --packages-select {plan.package}"
        )
    return path


def interpreter(plan: NodePlan) -> str:
    """Python that runs a node, from the first line of its script; empty for a binary.

    It need not be ours: `ros2` runs in the distribution's Python, nodes in that of the `colcon` that built them.
    """
    with executable(plan).open("rb") as file:
        line = file.readline(512)
    return line[2:].decode().split()[0] if line.startswith(b"#!") and line[2:].split() else ""


def missing_module(plan: NodePlan) -> str:
    """First module that a node needs and its Python does not find; empty if it finds all."""
    python = interpreter(plan)
    if not plan.needs or not python:
        return ""
    code = "import importlib.util as u, sys; print(next((m for m in sys.argv[1:] if u.find_spec(m) is None), ''))"
    found = subprocess.run(
        [python, "-c", code, *plan.needs], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() if found.returncode == 0 else plan.needs[0]


def check(plans: Iterable[NodePlan | ProgramPlan]) -> None:
    """Check that everything of a run is there, before its first process starts.

    Raises:
        ConfigError: a package, an executable or a program is missing, or a module in the Python of its node.
    """
    for plan in plans:
        if isinstance(plan, ProgramPlan):
            if shutil.which(plan.command[0]) is None:
                raise ConfigError(f"{plan.name}: there is no program {plan.command[0]!r} here.")
        elif missing := missing_module(plan):
            raise ConfigError(
                f"{plan.name}: needs the package {missing}, which is not installed. {plan.remedy}"
            )


def command_line(plan: NodePlan | ProgramPlan) -> tuple[str, ...]:
    """Command line that executes a plan.

    Raises:
        ConfigError: the package is not installed, or not whole.
    """
    if isinstance(plan, ProgramPlan):
        return plan.command
    command = [str(executable(plan)), *plan.arguments, "--ros-args"]
    if plan.log_level:
        # one name, so that the middleware does not become chatty too
        command += ["--log-level", f"{plan.logger}:={plan.log_level}"]
    if plan.namespace:
        command += ["-r", f"__ns:={plan.namespace}"]
    for ours, theirs in plan.remaps:
        command += ["-r", f"{ours}:={theirs}"]
    for key, value in plan.parameters.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, str):
            text = parameter_text(value)
        command += ["-p", f"{key}:={text}"]
    return tuple(command)


@dataclass
class Child:
    """A running process and the file that gets its output."""

    name: str
    process: subprocess.Popen
    log: Path
    stopped: bool = field(default=False)

    @property
    def running(self) -> bool:
        """True if the process has not ended."""
        return self.process.poll() is None

    def last_words(self, lines: int = 6) -> str:
        """The end of its output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def follow_parent() -> tuple[str, ...]:
    """Words in front of a command line that let a process end with its parent; none where `setpriv` is missing."""
    return FOLLOW if shutil.which(FOLLOW[0]) else ()


@contextmanager
def uninterrupted() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM do not interrupt the block: their numbers are kept in the list that it gets.

    A mask would not do: another thread of the process takes the signal then, and Python interrupts the main one.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # Python interrupts the main one alone
        return
    before = {
        number: signal.signal(number, lambda number, _: came.append(number)) or signal.SIG_DFL
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class ProcessGroup:
    """Processes of one run.

    Leaving the ``with`` block stops them in the order given by ``stop_order``.
    """

    def __init__(
        self, log_directory: Path, environment: dict[str, str], stop_order: tuple[str, ...]
    ) -> None:
        self._log_directory = log_directory
        self._environment = environment
        self._stop_order = stop_order
        self.children: dict[str, Child] = {}
        log_directory.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, plan: NodePlan | ProgramPlan) -> Child:
        """Start a process in a session of its own, so that Ctrl-C reaches only the parent."""
        command = command_line(plan)
        log = self._log_directory / f"{plan.name}.log"
        # a Ctrl-C between start and registration would leave a process that nobody stops
        with uninterrupted() as came, log.open("w") as file:
            process = subprocess.Popen(
                (*follow_parent(), *command),
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,
            )
            child = self.children[plan.name] = Child(plan.name, process, log)
        for number in came[:1]:
            signal.raise_signal(number)
        return child

    def ended(self) -> list[Child]:
        """Processes that ended without having been asked to."""
        return [c for c in self.children.values() if not c.running and not c.stopped]

    def stop(self) -> None:
        """SIGINT, then SIGTERM, then SIGKILL; one process after the other. Ctrl-C meanwhile shortens the waits."""
        rest = [name for name in self.children if name not in self._stop_order]
        with uninterrupted() as came:
            for name in (*self._stop_order, *rest):
                child = self.children.get(name)
                if child is None or child.stopped:
                    continue
                child.stopped = True
                for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                    if not child.running:
                        break
                    os.killpg(child.process.pid, sig)
                    _wait(child.process, came)
                came.clear()  # it hurried this one


def _wait(process: subprocess.Popen, came: list[int]) -> None:
    """Wait for the end of a process, less long once a signal has come."""
    begin = time.monotonic()
    while process.poll() is None and time.monotonic() < begin + (HURRY if came else GRACE):
        time.sleep(0.02)
