"""Soak of the node graph: a team flies for long and is recorded, viewed, ordered about, and loses its controller.

Looks at what must not grow or be left: memory of every process, late periods, gaps in the bag, processes, files.
Every minute the controller is killed and another one takes over; every 20 s the planner gets an order; a page of the
viewer is open, and the visualizer draws. Writes docs/results/soak.md and its picture where asked.

    ./rotor python validation/benchmarks/soak.py [--minutes 60] [--scenario six_dragonflies_box] [--report docs]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import msgspec
import numpy as np
import rclpy
import viser
from mcap.reader import make_reader
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rotor_msgs.srv import Circle, Hover
from std_srvs.srv import Trigger
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from rotor.graph.plan import STOP_ORDER, GraphOptions, NodePlan, ProgramPlan, graph_plan
from rotor.graph.processes import ProcessGroup, command_line, follow_parent
from rotor.graph.run import Watcher, environment
from rotor.graph.shared_memory import YOUNG, remove_dead
from rotor_core.config.loader import load_scenario
from rotor_flight.warm import warm

SAMPLE, ORDER, KILL, RESET = 10.0, 20.0, 60.0, 5.0
"""Wall time between two looks at the memory, two orders, two deaths of the controller, s; and from a death to a reset:
without a controller the team falls."""

SETTLE = 300.0
"""Memory counts from here on, s: before, buffers of the middleware and of the bag fill."""

MISSED = 1e-3
"""Share of control periods that may be late, of those in which the simulator had a core."""

GROWTH = 5.0
"""Growth of a process that is still flat, MB in an hour."""

SLACK = 0.2
"""A report may be heard this much after it was made, s."""

COUNTS = (
    "control_periods",
    "missed_deadlines",
    "late_own_work",
    "late_without_core",
    "late_waiting",
)

SHARED = Path("/dev/shm")
PORT = 8290
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, as by right."""

STANDBY = (
    "import sys; from rotor_control.ros.controller_node import main; sys.stdin.readline(); main()"
)
"""A controller that has imported everything and waits for a word to begin: that of a robot would be warm, too."""

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 3.0, 2.0], "fov": 1.0, "near": 0.1,
    "far": 100.0,
    "image_height": 480, "image_width": 640, "look_at": [0.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0],
}  # fmt: skip


def resident_mb(pid: int) -> float:
    """Memory that a process holds, MB; NaN where it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return float("nan")
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) / 1024.0 if found else float("nan")


def shared_files() -> set[str]:
    """Names of all files of shared memory."""
    return {p.name for p in SHARED.iterdir()} if SHARED.exists() else set()


def owners(names: set[str]) -> dict[str, set[int]]:
    """Processes that have files of shared memory open now, by file."""
    found: dict[str, set[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            maps = (entry / "maps").read_text()
            files = [os.readlink(fd) for fd in (entry / "fd").iterdir()]
        except OSError:
            continue
        for name in re.findall(r"/dev/shm/(\S+)", "\n".join([maps, *files])):
            if name in names:
                found.setdefault(name, set()).add(int(entry.name))
    return found


WATCH = """
import os, sys, time
core, file = int(sys.argv[1]), open(sys.argv[2], "w", buffering=1)
os.sched_setaffinity(0, {core})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
last = time.perf_counter()
while True:
    time.sleep(0.001)
    now = time.perf_counter()
    if now - last > 0.002:
        print(f"{now:.4f} {now - last - 0.001:.4f}", file=file)
    last = now
"""
"""Wakes every millisecond above all else on its core: where it comes late, the machine had no core for anybody."""


def watch_core(core: int, folder: Path) -> subprocess.Popen:
    """Begin to note when the machine stalls."""
    return subprocess.Popen([sys.executable, "-c", WATCH, str(core), str(folder / f"stalls{core}")])


def stalls(folder: Path) -> np.ndarray:
    """Ends and lengths of all stalls of more than a millisecond, (n, 2) s."""
    rows = [
        [float(word) for word in line.split()]
        for path in sorted(folder.glob("stalls*"))
        for line in path.read_text().splitlines()
        if len(line.split()) == 2
    ]
    return np.array(rows).reshape(-1, 2)


def without_stalls(ticks: list[tuple[float, int, int]], found: np.ndarray) -> tuple[int, int]:
    """Control periods and late ones between two reports of the simulator while which no core stalled."""
    periods = late = 0
    for (t0, n0, k0), (t1, n1, k1) in itertools.pairwise(ticks):
        if not ((found[:, 0] > t0 - SLACK) & (found[:, 0] < t1 + SLACK)).any():
            periods, late = periods + n1 - n0, late + k1 - k0
    return periods, late


class Page:
    """A page of the viewer that hears everything and draws nothing."""

    def __init__(self, port: int) -> None:
        self.heard = 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(port,), daemon=True)
        self._thread.start()

    def _listen(self, port: int) -> None:
        while not self._ends.is_set():
            try:
                with connect(
                    f"ws://127.0.0.1:{port}",
                    subprotocols=[f"viser-v{viser.__version__}"],
                    max_size=None,
                ) as page:
                    page.send(msgspec.msgpack.encode(CAMERA))
                    while not self._ends.is_set():
                        self.heard += len(page.recv(timeout=10.0))
            except (OSError, ConnectionClosed, TimeoutError):
                time.sleep(1.0)

    def close(self) -> None:
        """Close it."""
        self._ends.set()
        self._thread.join(15.0)


@dataclass
class Soak:
    """The run, and what was seen of it."""

    name: str
    folder: Path
    minutes: float
    times: list[float] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=dict)
    counts: list[dict[str, int]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    ticks: list[tuple[float, int, int]] = field(default_factory=list)
    """Times of reports of the simulator, with control periods and late ones with a core."""
    orders: int = 0
    refused: int = 0
    unanswered: int = 0
    killed: list[int] = field(default_factory=list)
    shared_owners: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Fly."""
        scenario = load_scenario(self.name)
        self._entity = scenario.model.entities[-1].name
        options = GraphOptions(
            self.name,
            pacing="realtime",
            bag=self.folder / "bag",
        )
        plans = graph_plan(options, scenario)
        self._controller = plans.pop("controller")
        env = environment(self.folder)
        context = Context()
        rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
        watcher, node = Watcher(context, "/simulator"), Node("soak", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(watcher)
        executor.add_node(node)
        self._circle = node.create_client(Circle, "planner/circle")
        self._hover = node.create_client(Hover, "planner/hover")
        self._reset, self._reset_at = node.create_client(Trigger, "simulator/reset"), math.inf
        self._answers: list = []
        words = (
            sys.executable,
            "-m",
            "rotor.cli",
            "view",
            self.name,
            "--live",
            "--port",
            str(PORT),
        )
        self._before, self._env = shared_files(), env
        with ProcessGroup(self.folder / "log", env, STOP_ORDER) as group:
            self._group = group
            for plan in plans.values():
                group.start(plan)
            group.start(ProgramPlan("viewer", words))
            self._standby = self._begin_standby()
            self._take_over()
            page = Page(PORT)
            probes = [watch_core(k, self.folder) for k in range(os.cpu_count() or 1)]
            self._began = self._ordered = self._died = time.monotonic()
            plant = group.children["simulator"]
            while time.monotonic() - self._began < 60.0 * self.minutes:
                executor.spin_once(timeout_sec=0.1)
                self._look(watcher)
                if not plant.running:
                    raise SystemExit(f"the simulator has ended: {plant.last_words()}")
            page.close()
            for probe in probes:
                probe.terminate()
                probe.wait()
            self.page_mb = page.heard / 1e6
        self._retire()  # not before the simulator, whose team would fall, which its exit code tells
        codes = {n: c.process.returncode for n, c in group.children.items()}
        self.ended = {n: 0 if (n, c) == ("viewer", INTERRUPTED) else c for n, c in codes.items()}
        executor.shutdown(timeout_sec=0.0)
        node.destroy_node()
        watcher.destroy_node()
        context.try_shutdown()

    # --- the controller -----------------------------------------------------------------------------

    def _begin_standby(self) -> subprocess.Popen:
        assert isinstance(self._controller, NodePlan)
        _, *arguments = command_line(self._controller)
        return subprocess.Popen(
            [*follow_parent(), sys.executable, "-c", STANDBY, *arguments],
            stdin=subprocess.PIPE, env=self._env, start_new_session=True,
            stdout=(self.folder / "log" / "controllers.log").open("a"), stderr=subprocess.STDOUT,
        )  # fmt: skip

    def _take_over(self) -> None:
        """The one that waits begins; another one waits from then on."""
        self._active, pipe = self._standby, self._standby.stdin
        assert pipe is not None
        pipe.write(b"\n")
        pipe.flush()
        self._standby = self._begin_standby()

    def _retire(self) -> None:
        self._standby.kill()
        self._active.send_signal(signal.SIGINT)
        for process in (self._standby, self._active):
            process.wait(20.0)

    # --- looking ------------------------------------------------------------------------------------

    def _look(self, watcher: Watcher) -> None:
        now = time.monotonic()
        if watcher.values != self.values:
            self.values = watcher.values
            late = int(self.values["late_own_work"]) + int(self.values["late_waiting"])
            self.ticks.append((time.perf_counter(), int(self.values["control_periods"]), late))
        for future, asked in list(self._answers):
            if future.done():
                self._answers.remove((future, asked))
                self.refused += not future.result().success
            elif now - asked > 15.0:
                self._answers.remove((future, asked))
                self.unanswered += 1
        running = watcher.text not in ("", "finished")
        if running and now - self._ordered > ORDER:
            self._ordered = now
            self._order()
        if running and now - self._died > KILL:
            self._died = now
            self.killed.append(self._active.pid)
            self._active.kill()
            self._active.wait()
            self._take_over()
            self._reset_at = now + RESET
        if now > self._reset_at and self._reset.service_is_ready():
            self._reset_at = math.inf
            self._answers.append((self._reset.call_async(Trigger.Request()), now))
        if not self.times or now - self._began - self.times[-1] >= SAMPLE:
            self._sample(now - self._began)

    def _sample(self, when: float) -> None:
        self.times.append(when)
        for name, child in self._group.children.items():
            self.memory.setdefault(name, []).append(resident_mb(child.process.pid))
        self.counts.append({k: int(self.values.get(k, "0")) for k in COUNTS})
        mine = {child.process.pid: name for name, child in self._group.children.items()}
        mine |= {
            self._active.pid: "controller",
            self._standby.pid: "controller",
            os.getpid(): "soak",
        }
        for name, pids in owners(shared_files() - self._before).items():
            for pid in pids & set(mine):
                self.shared_owners[name] = (
                    mine[pid] if pid not in self.killed else "killed controller"
                )
        held = "  ".join(f"{n} {m[-1]:.1f}" for n, m in self.memory.items())
        print(f"{when:7.0f} s  {self.counts[-1]}  {held}", flush=True)

    def _order(self) -> None:
        self.orders += 1
        if self.orders % 2:
            request = Circle.Request(
                entity=self._entity, radius_m=1.0, period_s=10.0, cruise_s=5.0, ramp_rad_s2=0.0
            )
            future = self._circle.call_async(request)
        else:
            future = self._hover.call_async(Hover.Request(entity=self._entity))
        self._answers.append((future, time.monotonic()))

    def growth(self, after: float = SETTLE) -> dict[str, float]:
        """Slope of the memory of every process from a time on, at the latest the middle, MB in an hour."""
        t = np.array(self.times)
        rows = t > min(after, t[-1] / 2.0)
        out = {}
        for name, m in self.memory.items():
            held = np.array(m)[: len(t)]
            known = rows & np.isfinite(held)  # one that has ended holds nothing
            slope = np.polyfit(t[known] / 3600.0, held[known], 1)[0] if known.sum() > 2 else np.inf
            out[name] = float(slope)
        return out


def bag_gaps(bag: Path, topic: str) -> tuple[int, float]:
    """Number of messages of a topic in a bag, and the longest time between two, s (read by another library)."""
    with next(bag.glob("*.mcap")).open("rb") as file:
        stamps = [m.log_time for _, _, m in make_reader(file).iter_messages(topics=[topic])]
    return len(stamps), float(np.max(np.diff(np.sort(stamps)))) * 1e-9


def steal_s() -> float:
    """Time that the host of a virtual machine has given to others, of all cores, s."""
    cells = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(cells[8]) / os.sysconf("SC_CLK_TCK")


def judge(name: str, minutes: float, folder: Path) -> tuple[dict[str, object], Soak]:
    """Fly ``name`` and judge."""
    soak = Soak(name, folder, minutes)
    remove_dead()  # what others left is not looked at
    before, steal = shared_files(), steal_s()
    soak.run()
    time.sleep(YOUNG + 1.0)
    by_killed = [n for n in sorted(shared_files() - before) if n in soak.shared_owners]
    removed = [n for n in remove_dead() if n not in before]
    left = sorted(shared_files() - before)
    count, gap = bag_gaps(folder / "bag", "/rotor/team_state")
    last = {k: int(soak.values[k]) for k in COUNTS}
    seen = stalls(folder)
    served, late = without_stalls(soak.ticks, seen)
    growth, later = soak.growth(), soak.growth(np.inf)
    result: dict[str, object] = {
        "scenario": name, "minutes": minutes, **last,
        "stalls": len(seen),
        "stalled_s": round(float(seen[:, 1].sum()), 2),
        "periods_without_stalls": served,
        "late_without_stalls": late,
        "late_share_with_core": late / max(served, 1),
        "steal_s": steal_s() - steal,
        "real_time_factor": float(soak.values["real_time_factor"]),
        "stale_commands": int(soak.values["stale_commands"]),
        "verdict": soak.values.get("verdict", ""),
        "orders": soak.orders, "orders_refused": soak.refused, "orders_unanswered": soak.unanswered,
        "controllers_killed": len(soak.killed),
        "memory_mb": {n: round(m[-1], 1) for n, m in soak.memory.items()},
        "growth_mb_per_hour": {n: round(g, 2) for n, g in growth.items()},
        "growth_of_second_half": {n: round(g, 2) for n, g in later.items()},
        "states_recorded": count, "longest_gap_s": gap,
        "bag_mb": round(sum(f.stat().st_size for f in (folder / "bag").iterdir()) / 1e6, 1),
        "page_mb": round(soak.page_mb, 1),
        "ended": soak.ended,
        "shared_memory_at_the_end": len(by_killed), "removed_as_dead": len(removed), "shared_memory_left": left,
        "whose": {n: soak.shared_owners.get(n, "?") for n in (*removed, *left)},
    }  # fmt: skip
    result["passed"] = bool(
        result["late_share_with_core"] <= MISSED  # type: ignore[operator]
        and max(growth.values()) <= GROWTH
        and not left
        and not soak.unanswered
        and all(code == 0 for code in soak.ended.values())
    )
    return result, soak


def report(docs: Path, result: dict, soak: Soak) -> None:
    """Write the page and its picture."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.0, 5.0), sharex=True)
    minutes = np.array(soak.times) / 60.0
    for name, memory in soak.memory.items():
        above.plot(minutes, memory, label=name)
    above.set_ylabel("resident memory [MB]")
    above.set_ylim(bottom=0.0)
    above.legend(ncols=3, fontsize=8)
    periods = np.maximum([c["control_periods"] for c in soak.counts], 1)
    for key, label in zip(COUNTS[2:], ("own work", "no core", "waiting"), strict=True):
        below.plot(minutes, 100.0 * np.array([c[key] for c in soak.counts]) / periods, label=label)
    below.axhline(100.0 * MISSED, color="0.5", linestyle="--")
    below.set_ylabel("late periods [%]")
    below.set_xlabel("time [min]")
    below.set_ylim(bottom=0.0)
    below.legend(ncols=3, fontsize=8)
    figure.tight_layout()
    figure.savefig(docs / "images" / "soak.png", dpi=120)
    nodes = "\n".join(
        f"| {n} | {result['memory_mb'][n]} | {result['growth_mb_per_hour'][n]} | {result['growth_of_second_half'][n]} |"
        for n in result["memory_mb"]
    )
    whose = ", ".join(sorted(set(result["whose"].values()) - {"?"})) or "nobody"
    text = f"""# Soak of the node graph

Made by `./rotor python validation/benchmarks/soak.py --minutes {result["minutes"]:g} --report docs`:
`{result["scenario"]}` in real time, recorded, drawn, with a page of the viewer open, a new order to the planner every
{ORDER:g} s, and its controller killed and replaced every {KILL:g} s, on {os.cpu_count()} cores.

| | measured | limit |
|---|---|---|
| control periods | {result["control_periods"]} | |
| late ones | {result["missed_deadlines"]} | |
| of them without a core | {result["late_without_core"]} | |
| of them with a core: own work, waiting | {result["late_own_work"]}, {result["late_waiting"]} | |
| stalls of the machine beyond 1 ms, in all | {result["stalls"]}, {result["stalled_s"]} s | |
| periods in seconds without a stall | {result["periods_without_stalls"]} | |
| late ones of these, with a core | {result["late_without_stalls"]} | |
| their share | {100.0 * result["late_share_with_core"]:.3f} % | {100.0 * MISSED:g} % |
| time that the host gave to others (steal), both cores | {result["steal_s"]:.0f} s | |
| real-time factor | {result["real_time_factor"]:.4f} | |
| commands that came too late | {result["stale_commands"]} | |
| controllers killed | {result["controllers_killed"]} | |
| verdict | {result["verdict"]} | |
| orders, refused | {result["orders"]}, {result["orders_refused"]} | |
| orders unanswered | {result["orders_unanswered"]} | 0 |
| states in the bag, longest gap | {result["states_recorded"]}, {1e3 * result["longest_gap_s"]:.1f} ms | |
| size of the bag | {result["bag_mb"]} MB | |
| heard by the page | {result["page_mb"]} MB | |
| processes that did not end with code 0 | {sum(c != 0 for c in result["ended"].values())} | 0 |
| files of shared memory of killed processes, removed | {result["removed_as_dead"]} | |
| files of shared memory left | {len(result["shared_memory_left"])} | 0 |

Who had the removed files of shared memory mapped was noted while it lived: {whose}. A file is removed when no process
has it mapped and the lock can be had that its owner holds as long as it lives.

| process | memory at the end [MB] | growth after five minutes [MB/h], at most {GROWTH:g} | in the second half [MB/h] |
|---|---|---|---|
{nodes}

![memory and late periods](../images/soak.png)
"""
    (docs / "results" / "soak.md").write_text(text)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="default: 60")
    parser.add_argument("--scenario", default="six_dragonflies_box")
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--report", type=Path, metavar="DOCS", help="write the page there")
    options = parser.parse_args()
    os.environ.setdefault("ROS_DOMAIN_ID", "94")
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    warm()
    with tempfile.TemporaryDirectory() as folder:
        result, soak = judge(options.scenario, options.minutes, Path(folder))
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2))
    if options.report:
        report(options.report, result, soak)
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
