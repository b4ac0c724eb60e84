"""A live run: the nodes as processes over DDS, watched until it ends or is interrupted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown
from std_srvs.srv import Trigger

from rotor.blas import take_one_thread
from rotor.graph.plan import MAY_END, PLANTS, STOP_ORDER, NodePlan, ProgramPlan
from rotor.graph.processes import Child, ProcessGroup, how_ended, remedy
from rotor.graph.shared_memory import remove_dead
from rotor_core.errors import RotorError
from rotor_core.ros import qos
from rotor_core.ros.loopback import keep_to_loopback
from rotor_sim.ros.session import FINISHED

STATUSES = tuple(f"rotor: {name}" for name in PLANTS)
LISTEN = 0.7
"""Duration of the search for another simulator in the domain, s."""


class Watcher(Node):
    """Listens to the diagnostics of a plant, by the full name of its node: other worlds may be in the domain."""

    def __init__(self, context: Context, plant: str) -> None:
        super().__init__(
            "rotor_watcher", context=context, enable_rosout=False, start_parameter_services=False
        )
        self._plant = plant
        self.values: dict[str, str] = {}
        self.text = ""
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, qos.STATE)
        self._pause = self.create_client(Trigger, f"{plant}/pause")

    def pause(self, executor: SingleThreadedExecutor) -> None:
        """Let time stand while the nodes are stopped one after the other; nothing happens where nobody answers."""
        if self._pause.service_is_ready():
            answer = self._pause.call_async(Trigger.Request())
            executor.spin_until_future_complete(answer, timeout_sec=1.0)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name in STATUSES and status.hardware_id == self._plant:
                self.text = status.message
                self.values = {v.key: v.value for v in status.values}


def environment(out: Path) -> dict[str, str]:
    """Environment of the nodes.

    Loopback only unless the user says otherwise, logs in the result folder.
    """
    env = dict(os.environ)
    keep_to_loopback(env)
    env["ROS_LOG_DIR"] = str((out / "log").resolve())
    env["PYTHONUNBUFFERED"] = "1"
    take_one_thread(env)
    return env


def run_graph(
    plans: dict[str, NodePlan | ProgramPlan],
    out: Path,
    *,
    on_progress: Callable[[dict[str, str], str], None],
    on_start: Callable[[Child], object] = lambda _: None,
) -> bool:
    """Run the nodes until the simulator ends or Ctrl-C.

    Args:
        plans: the nodes in the order of their start.
        out: result folder; logs go to ``out/log``.
        on_progress: called about once a second with the diagnostics of the simulator.
        on_start: called with every process that has been started.

    Returns:
        Whether the run came to its end (False: interrupted).

    Raises:
        RotorError: another simulator runs in this domain and namespace, or a node ended with an error; its last
            lines are shown.
    """
    plant = next(plan for name, plan in plans.items() if name in PLANTS)
    assert isinstance(plant, NodePlan)
    with _domain_to_ourselves(plant.namespace):
        return _run(plans, plant, out, on_progress, on_start)


def _run(
    plans: dict[str, NodePlan | ProgramPlan],
    plant: NodePlan,
    out: Path,
    on_progress: Callable[[dict[str, str], str], None],
    on_start: Callable[[Child], object],
) -> bool:
    env = environment(out)
    keep_to_loopback(os.environ)
    os.environ["ROS_LOG_DIR"] = env["ROS_LOG_DIR"]
    context = Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    watcher = Watcher(context, f"{plant.namespace}/{plant.name}")
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(watcher)
    try:
        _refuse_company(watcher, executor, plant.namespace)
        with ProcessGroup(out / "log", env, STOP_ORDER) as group:
            try:
                for plan in plans.values():
                    on_start(group.start(plan))
                return _watch(group, watcher, executor, on_progress)
            except KeyboardInterrupt:
                print("\ninterrupted: stopping the nodes ...", flush=True)
                return False
    finally:
        executor.shutdown(timeout_sec=0.0)
        watcher.destroy_node()
        try_shutdown(context=context)
        remove_dead()  # of nodes that had to be killed, now or in another run


@contextlib.contextmanager
def _domain_to_ourselves(namespace: str) -> Iterator[None]:
    """Hold a lock on a namespace of the ROS domain, so that two runs that start together do not mix."""
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    place = f"{domain}{namespace.replace('/', '-')}"
    path = Path(tempfile.gettempdir()) / f"rotor-domain-{place}-{os.getuid()}.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RotorError(_occupied(namespace)) from error
        yield


def refuse_occupied_domain(namespace: str = "") -> None:
    """Say so before anything is written if another run holds this namespace of the ROS domain.

    Raises:
        RotorError: with a free domain to choose.
    """
    with _domain_to_ourselves(namespace):
        pass


def _occupied(namespace: str) -> str:
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    free = (int(domain) + 1) % 102
    where = f", namespace {namespace}" if namespace else ""
    return (
        f"ROS domain {domain}{where}: another simulator runs there. Stop it, or choose a domain: "
        f"ROS_DOMAIN_ID={free} ./rotor ..."
    )


def _refuse_company(watcher: Watcher, executor: SingleThreadedExecutor, namespace: str) -> None:
    end = time.monotonic() + LISTEN
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
        if watcher.count_publishers(f"{namespace}/rotor/team_state"):
            raise RotorError(_occupied(namespace))


def _check(group: ProcessGroup) -> None:
    for child in group.ended():
        code = child.process.returncode
        if code == 0 and child.name in MAY_END:
            continue
        raise RotorError(
            f"the {child.name} {how_ended(code)}.{remedy(child.name, code)} Its last lines ({child.log}):\n"
            f"{child.last_words()}"
        )


def _watch(
    group: ProcessGroup,
    watcher: Watcher,
    executor: SingleThreadedExecutor,
    on_progress: Callable[[dict[str, str], str], None],
) -> bool:
    seen: dict[str, str] = {}
    plant = next(child for name, child in group.children.items() if name in PLANTS)
    while plant.running and watcher.text != FINISHED:
        executor.spin_once(timeout_sec=0.2)
        try:
            _check(group)
        except RotorError:
            watcher.pause(executor)  # nobody flies any more: what falls is not recorded for seconds
            raise
        if watcher.values != seen:
            seen = watcher.values
            on_progress(seen, watcher.text)
    _check(group)
    return True


def progress_printer(total: float, control: float) -> Callable[[dict[str, str], str], None]:
    """A printer of one line per second: flown time, real-time factor, missed deadlines, events."""
    live = sys.stdout.isatty()

    def show(values: dict[str, str], text: str) -> None:
        flown = int(values.get("step", "0")) * control
        share = min(1.0, flown / total) if total > 0.0 else 0.0
        bar = (
            f"[{'#' * round(24 * share):<24}] {flown:6.2f} / {total:.2f} s"
            if total > 0.0
            else f"{flown:8.2f} s"
        )
        line = (
            f"{bar}  real-time factor {values.get('real_time_factor', '-')}  missed "
            f"{values.get('missed_deadlines', '-')}  events {values.get('hybrid_events', '-')}"
        )
        if text not in ("running", FINISHED, ""):
            line += f"  ({text})"
        print(f"\r{line:<110}" if live else line, end="" if live else "\n", flush=True)

    return show
