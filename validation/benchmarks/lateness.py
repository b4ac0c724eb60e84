"""How late control periods are: six recorded vehicles, quiet and beside a busy loop, with and without precedence.

Real processes over DDS on this machine. Precedence and ``nice`` need the right to raise priorities (root); without it
the simulator runs as an ordinary process, and that row is left out.

    ./rotor python validation/benchmarks/lateness.py [--seconds 30] [--report docs/results/lateness.md]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tabulate import tabulate

from rotor.graph.plan import GraphOptions, graph_plan
from rotor.graph.processes import Child
from rotor.graph.run import run_graph
from rotor_core.config.loader import load_scenario
from rotor_flight.warm import warm

SCENARIO = "six_dragonflies_box"
NICENESS = -10
"""What the simulator gets in a row of its own."""

PAGE = """# How late control periods are

Made by `./rotor python validation/benchmarks/lateness.py --report docs/results/lateness.md`: `{scenario}` in real time
for {seconds:g} s of each row, recorded, with the visualizer, on a machine of two cores that are shared with others.
A period of 5 ms is late if it does not end on time; the columns in milliseconds count late periods by how much.

{table}

*Own work*: integrating and publishing took too long, which is also what time looks like that the host of a virtual
machine gives to others. *No core*: the simulator was ready, and other processes had the cores. *Waiting*: for the
middleware.

*As it is*: in real time the simulator takes precedence over ordinary processes where the system allows it
(SCHED_FIFO, priority 10; parameter `precedence`; `precedence` on `/diagnostics` tells). It may do so as root, or with
a line like `@users - rtprio 10` in `/etc/security/limits.conf`. The other rows took it away once it ran.

Linux may put each session into a group of its own (`/proc/sys/kernel/sched_autogroup_enabled`); `nice` then weighs only
inside a group and changes nothing here.
"""


def _threads(child: Child) -> list[int]:
    return [int(p.name) for p in Path(f"/proc/{child.process.pid}/task").iterdir()]


def _ordinary(child: Child) -> None:
    for thread in _threads(child):
        os.sched_setscheduler(thread, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))


def _nice(child: Child) -> None:
    _ordinary(child)
    for thread in _threads(child):
        os.setpriority(os.PRIO_PROCESS, thread, NICENESS)


FAVOURS: dict[str, Callable[[Child], None]] = {
    "as it is": lambda _: None,
    "without precedence": _ordinary,
    f"the same, nice {NICENESS}": _nice,
}


@contextlib.contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """A loop that never rests, on one core."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if loop is not None:
            loop.kill()
            loop.wait()


def fly(seconds: float, favour: Callable[[Child], None]) -> dict[str, str]:
    """Diagnostics at the end of a flight whose simulator is favoured from its first period on."""
    last: dict[str, str] = {}
    plant: list[Child] = []
    favoured: list[bool] = []

    def started(child: Child) -> None:
        if child.name == "simulator":
            plant.append(child)

    def progress(values: dict[str, str], _: str) -> None:
        if int(values.get("step", "0")) > 0 and not favoured:
            favour(plant[0])
            favoured.append(True)
        last.update(values)

    with tempfile.TemporaryDirectory() as folder:
        options = GraphOptions(
            SCENARIO, pacing="realtime", duration=seconds, linger=True, bag=Path(folder) / "bag"
        )
        plans = graph_plan(options, load_scenario(SCENARIO))
        run_graph(plans, Path(folder), on_progress=progress, on_start=started)
    return last


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="of each run (default: 30)")
    parser.add_argument("--report", type=Path, help="page to write")
    options = parser.parse_args()
    os.environ.setdefault("ROS_DOMAIN_ID", "92")
    warm(load_scenario(SCENARIO))
    rows = []
    for loaded in (False, True):
        for name, favour in FAVOURS.items():
            try:
                with busy(loaded):
                    found = fly(options.seconds, favour)
            except PermissionError:
                continue
            periods = int(found["control_periods"])
            bins = dict(part.split(":") for part in found["late_by_ms"].split())
            rows.append(
                {
                    "one core busy": "yes" if loaded else "no",
                    "simulator": name,
                    "late, %": f"{100.0 * int(found['missed_deadlines']) / periods:.2f}",
                    **{f">= {low} ms": n for low, n in bins.items()},
                    "own work": found["late_own_work"],
                    "no core": found["late_without_core"],
                    "waiting": found["late_waiting"],
                }
            )
            print(rows[-1], flush=True)
            time.sleep(1.0)
    table = tabulate(rows, headers="keys", tablefmt="github")
    print(table)
    if options.report is not None:
        options.report.write_text(
            PAGE.format(table=table, seconds=options.seconds, scenario=SCENARIO)
        )


if __name__ == "__main__":
    main()
