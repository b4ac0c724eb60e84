"""Speed of the node graph: CPU of the nodes, real-time factor, command latency, speed in lockstep.

Real processes over DDS on this machine; CPU time from /proc, shares of one core, after a start-up that
is left out. Writes JSON where asked.

    ./rotor python validation/benchmarks/graph.py [--seconds 60] [--out graph.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from rotor.graph.plan import GraphOptions, graph_plan
from rotor.graph.processes import Child
from rotor.graph.run import run_graph
from rotor_core.config.loader import load_scenario
from rotor_flight.warm import warm

REALTIME, LOCKSTEP = "six_dragonflies_box", "sixteen_dragonflies_four_boxes"
SETTLE = 3.0
"""Wall time after the first step that does not count, s."""

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Meter:
    """CPU time of all nodes between two reports of the simulator."""

    children: dict[str, Child] = field(default_factory=dict)
    began: float = 0.0
    first: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    until: float = 0.0
    values: dict[str, str] = field(default_factory=dict)

    def cpu(self) -> dict[str, float]:
        """CPU time of every node so far, s."""
        out = {}
        for name, child in self.children.items():
            words = Path(f"/proc/{child.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            out[name] = (int(words[11]) + int(words[12])) / TICKS
        return out

    def report(self, values: dict[str, str], text: str) -> None:
        """Called about once a second with the diagnostics of the simulator."""
        if int(values.get("step", "0")) == 0:
            return
        now = time.perf_counter()
        self.began = self.began or now
        if now - self.began < SETTLE or text != "running":
            self.values = values
            return
        self.last, self.until, self.values = self.cpu(), now, values
        if not self.first:
            self.first, self.began_measuring = dict(self.last), now

    began_measuring: float = 0.0

    def shares(self) -> dict[str, float]:
        """Share of one core of every node."""
        wall = self.until - self.began_measuring
        return {n: round((self.last[n] - self.first[n]) / wall, 4) for n in self.first}


def run(name: str, pacing: str, seconds: float, *, record: bool = False) -> dict[str, object]:
    """Fly ``name`` for ``seconds`` of simulation."""
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / "bag" if record else None
        options = GraphOptions(name, pacing=pacing, duration=seconds, linger=True, bag=bag)
        run_graph(
            graph_plan(options, load_scenario(name)),
            Path(folder),
            on_progress=meter.report,
            on_start=lambda child: meter.children.__setitem__(child.name, child),
        )
    kept = ("real_time_factor", "missed_deadlines", "stale_commands", "control_periods")
    kept += ("command_latency_ms_median", "command_latency_ms_p99")
    out: dict[str, object] = {
        "scenario": name,
        "pacing": pacing,
        "seconds": seconds,
        "recorded": record,
    }
    out |= {key: float(meter.values[key]) for key in kept}
    if meter.first and meter.until > meter.began_measuring:
        out["cpu_share"] = meter.shares()
    return out


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of the real-time run (default: 60)"
    )
    parser.add_argument("--out", type=Path, help="JSON file")
    options = parser.parse_args()
    os.environ.setdefault("ROS_DOMAIN_ID", "93")
    for name in (REALTIME, LOCKSTEP):
        warm(load_scenario(name))
    results = [
        run(REALTIME, "realtime", options.seconds),
        run(REALTIME, "realtime", options.seconds / 2.0, record=True),
        run(LOCKSTEP, "lockstep", 60.0),
    ]
    for result in results:
        print(json.dumps(result, indent=2))
    if options.out:
        machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
        options.out.write_text(json.dumps({"machine": machine, "runs": results}, indent=2))


if __name__ == "__main__":
    main()
