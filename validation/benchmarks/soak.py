"""Soak of the node graph: a team flies for long, is told something new all the time, and is recorded.

Looks at what must not grow or be left: memory of every node, missed deadlines, gaps in the bag, processes and files
of shared memory. Writes docs/results/soak.md and its picture where asked.

    ./rotor python validation/benchmarks/soak.py [--minutes 30] [--scenario six_dragonflies_box] [--report docs]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rclpy
from mcap.reader import make_reader
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rotor_msgs.srv import Circle, Hover

from rotor.graph.plan import GraphOptions, graph_plan
from rotor.graph.processes import Child
from rotor.graph.run import run_graph
from rotor_core.config.loader import load_scenario
from rotor_flight.warm import warm

SAMPLE = 10.0
"""Wall time between two looks at the memory, s."""

ORDER = 20.0
"""Wall time between two orders to the planner, s."""

SETTLE = 300.0
"""Memory counts from here on, s: before, buffers of the middleware and of the bag fill."""

MISSED = 1e-3
"""Share of control periods that may be late."""

GROWTH = 5.0
"""Growth of a node that is still flat, MB in an hour."""

SHARED = Path("/dev/shm")


def resident_mb(pid: int) -> float:
    """Memory that a process holds, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024.0
    return float("nan")


def shared_files() -> set[str]:
    """Names of all files of shared memory."""
    return {p.name for p in SHARED.iterdir()} if SHARED.exists() else set()


@dataclass
class Soak:
    """Observations during the run."""

    entity: str
    children: dict[str, Child] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=dict)
    missed: list[int] = field(default_factory=list)
    periods: list[int] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    orders: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self._began = self._ordered = time.monotonic()
        self._context = Context()
        options = SignalHandlerOptions.NO
        rclpy.init(context=self._context, args=[], signal_handler_options=options)
        self._node = Node("soak", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._circle = self._node.create_client(Circle, "planner/circle")
        self._hover = self._node.create_client(Hover, "planner/hover")
        self._answers: list = []

    def look(self, values: dict[str, str], text: str) -> None:
        """Called about once a second with the diagnostics of the simulator."""
        self.values = values
        now = time.monotonic()
        self._executor.spin_once(timeout_sec=0.0)
        for answer in [a for a in self._answers if a.done()]:
            self._answers.remove(answer)
            self.refused += not answer.result().success
        if now - self._ordered > ORDER and text == "running":
            self._ordered = now
            self._order()
        if not self.times or now - self._began - self.times[-1] >= SAMPLE:
            self.times.append(now - self._began)
            for name, child in self.children.items():
                self.memory.setdefault(name, []).append(resident_mb(child.process.pid))
            self.missed.append(int(values.get("missed_deadlines", "0")))
            self.periods.append(int(values.get("control_periods", "0")))
            print(
                f"{self.times[-1]:7.0f} s  missed {self.missed[-1]} of {self.periods[-1]}  "
                + "  ".join(f"{n} {m[-1]:.1f} MB" for n, m in self.memory.items()),
                flush=True,
            )

    def _order(self) -> None:
        self.orders += 1
        if self.orders % 2:
            request = Circle.Request(
                entity=self.entity, radius_m=1.0, period_s=10.0, cruise_s=5.0, ramp_rad_s2=0.0
            )
            self._answers.append(self._circle.call_async(request))
        else:
            self._answers.append(self._hover.call_async(Hover.Request(entity=self.entity)))

    def close(self) -> None:
        """End the node that gives orders."""
        self._executor.shutdown(timeout_sec=0.0)
        self._node.destroy_node()
        self._context.try_shutdown()

    def growth(self) -> dict[str, float]:
        """Slope of the memory of every node after settling, MB in an hour."""
        t = np.array(self.times)
        rows = t > min(SETTLE, t[-1] / 2.0)
        return {
            name: float(np.polyfit(t[rows] / 3600.0, np.array(m)[: len(t)][rows], 1)[0])
            for name, m in self.memory.items()
        }


def bag_gaps(bag: Path, topic: str) -> tuple[int, float]:
    """Number of messages of a topic in a bag, and the longest time between two, s (read by another library)."""
    with next(bag.glob("*.mcap")).open("rb") as file:
        stamps = [m.log_time for _, _, m in make_reader(file).iter_messages(topics=[topic])]
    return len(stamps), float(np.max(np.diff(np.sort(stamps)))) * 1e-9


def run(name: str, minutes: float, folder: Path) -> tuple[dict[str, object], Soak]:
    """Fly ``name`` and judge."""
    scenario = load_scenario(name)
    entity = scenario.model.entities[-1].name
    before = shared_files()
    soak = Soak(entity)
    options = GraphOptions(
        name, pacing="realtime", duration=60.0 * minutes, linger=True, bag=folder / "bag"
    )
    finished = run_graph(
        graph_plan(options, scenario),
        folder,
        on_progress=soak.look,
        on_start=lambda child: soak.children.__setitem__(child.name, child),
    )
    soak.close()
    time.sleep(1.0)
    left = sorted(shared_files() - before)
    alive = [n for n, c in soak.children.items() if Path(f"/proc/{c.process.pid}").exists()]
    count, gap = bag_gaps(folder / "bag", "/rotor/team_state")
    missed, periods = int(soak.values["missed_deadlines"]), int(soak.values["control_periods"])
    growth = soak.growth()
    result: dict[str, object] = {
        "scenario": name,
        "minutes": minutes,
        "finished": finished,
        "missed_deadlines": missed,
        "control_periods": periods,
        "missed_share": missed / periods,
        "real_time_factor": float(soak.values["real_time_factor"]),
        "stale_commands": int(soak.values["stale_commands"]),
        "orders": soak.orders,
        "orders_refused": soak.refused,
        "memory_mb": {n: round(m[-1], 1) for n, m in soak.memory.items()},
        "growth_mb_per_hour": {n: round(g, 2) for n, g in growth.items()},
        "states_recorded": count,
        "longest_gap_s": gap,
        "bag_mb": round(sum(f.stat().st_size for f in (folder / "bag").iterdir()) / 1e6, 1),
        "processes_left": alive,
        "shared_memory_left": left,
    }
    result["passed"] = bool(
        finished
        and missed / periods <= MISSED
        and max(growth.values()) <= GROWTH
        and not alive
        and not left
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
    above.legend(ncols=4, fontsize=8)
    below.plot(minutes, 100.0 * np.array(soak.missed) / np.maximum(soak.periods, 1))
    below.axhline(100.0 * MISSED, color="0.5", linestyle="--")
    below.set_ylabel("late periods [%]")
    below.set_xlabel("time [min]")
    below.set_ylim(bottom=0.0)
    figure.tight_layout()
    figure.savefig(docs / "images" / "soak.png", dpi=120)
    nodes = "\n".join(
        f"| {n} | {result['memory_mb'][n]} | {result['growth_mb_per_hour'][n]} |"
        for n in result["memory_mb"]
    )
    text = f"""# Soak of the node graph

Made by `./rotor python validation/benchmarks/soak.py --minutes {result["minutes"]:g} --report docs`:
`{result["scenario"]}` in real time, recorded, with a new order to the planner every {ORDER:g} s,
on {os.cpu_count()} cores.

| | measured | limit |
|---|---|---|
| control periods | {result["control_periods"]} | |
| late ones | {result["missed_deadlines"]} ({100.0 * result["missed_share"]:.3f} %) | {100.0 * MISSED:g} % |
| real-time factor | {result["real_time_factor"]:.4f} | |
| commands that came too late | {result["stale_commands"]} | |
| orders, refused ones | {result["orders"]}, {result["orders_refused"]} | |
| states in the bag, longest gap | {result["states_recorded"]}, {1e3 * result["longest_gap_s"]:.1f} ms | |
| size of the bag | {result["bag_mb"]} MB | |
| processes left | {len(result["processes_left"])} | 0 |
| files of shared memory left | {len(result["shared_memory_left"])} | 0 |

| node | memory at the end [MB] | growth after five minutes [MB/h], at most {GROWTH:g} |
|---|---|---|
{nodes}

![memory and late periods](../images/soak.png)
"""
    (docs / "results" / "soak.md").write_text(text)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="default: 30")
    parser.add_argument("--scenario", default="six_dragonflies_box")
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--report", type=Path, metavar="DOCS", help="write the page there")
    options = parser.parse_args()
    os.environ.setdefault("ROS_DOMAIN_ID", "94")
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    warm()
    with tempfile.TemporaryDirectory() as folder:
        result, soak = run(options.scenario, options.minutes, Path(folder))
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2))
    if options.report:
        report(options.report, result, soak)
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
