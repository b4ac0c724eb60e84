"""`./rotor bench`: measure, print, write JSON and a plot."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import matplotlib.pyplot as plt

from validation.speed.compile import cpu_seconds
from validation.speed.peers import installed, peer_times
from validation.speed.precision import Point, work_precision
from validation.speed.speed import (
    batch_rates,
    call_costs,
    closed_loop_rates,
    event_cost,
    simd_rates,
    step_times,
)
from validation.speed.systems import CASES

ROOT = Path(__file__).parents[2]


def draw(points: list[Point], out: Path) -> None:
    """Error against cost."""
    figure, axes = plt.subplots(figsize=(7.5, 5.0), layout="constrained")
    for solver in dict.fromkeys(p.solver for p in points):
        rows = [p for p in points if p.solver == solver]
        axes.loglog(
            [p.us_per_second for p in rows], [p.error_m for p in rows],
            "o--" if solver.startswith("MuJoCo") else "o-", label=solver,
        )  # fmt: skip
    axes.set(
        xlabel="CPU time per simulated second (us)",
        ylabel="largest position error after 2 s (m)",
        title="3 quadrotors, plate, 3 taut cables",
    )
    axes.legend()
    axes.grid(True, which="major", alpha=0.4)
    figure.savefig(out, dpi=110)
    plt.close(figure)


def setup_figures() -> dict[str, float]:
    """What preparing the clone took, as `./rotor` noted it, and the second start of a verb, s; printed."""
    noted = ROOT / ".ros" / "setup.json"
    out: dict[str, float] = json.loads(noted.read_text()) if noted.exists() else {}
    command = [sys.executable, "-m", "rotor.cli", "scenarios"]
    spent = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        spent.append(time.perf_counter() - began)
    out["scenarios_s"] = statistics.median(spent)
    print("\n| setting up | |\n|---|---|")
    for what, figure in out.items():
        print(f"| {what} | {figure:.3g} |")
    return out


def bench(out: Path | None, *, peers: bool) -> dict:
    """Measure everything; JSON to ``out`` and the plot beside it as .png."""
    others = peer_times(500, 5) if peers else {}
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n",
        flush=True,
    )
    times = step_times()
    print(
        "| us per RK4 step of 1 ms, guards on | engine | C++ -O2 | ratio | more per Python call |"
    )
    print("|---|---|---|---|---|")
    for name, row in times.items():
        ours = f"{row['rotor_us']:.2f} | {row['cpp_us']:.2f} | {row['ratio']:.2f}"
        print(f"| {CASES[name].label} | {ours} | {row['call_extra_us']:.2f} |")
    for peer, row in others.items():
        text = ", ".join(f"{CASES[name].label} {us:.1f}" for name, us in row.items())
        print(f"\n{peer}, us per step: {text}")
    calls = call_costs()
    print(
        f"\nA Python call that integrates nothing: {calls['engine_us']:.2f} us; of an empty C function by ctypes: "
        f"{calls['ctypes_us']:.2f} us"
    )
    simd = simd_rates()
    print("\n| us per step and world, smooth stretch of case (c), one core |\n|---|---|")
    print(f"| side by side in lanes | {simd['lanes_us']:.2f} |")
    print(f"| one world after the other | {simd['single_us']:.2f} |")
    print(f"| C++ -O2 | {simd['cpp_us']:.2f} ({simd['times_cpp']:.2f} times the lanes) |")
    rates = batch_rates()
    print("\n| batch of case (c), threads | steps per second |\n|---|---|")
    for threads, rate in rates.items():
        print(f"| {threads} | {rate:.3g} |")
    flights = closed_loop_rates()
    print("\n| flight of the slalom | times real time |\n|---|---|")
    print(f"| `fly` | {flights['fly']:.0f} |\n| step by step | {flights['step_by_step']:.0f} |")
    compiling, _ = cpu_seconds()
    print("\n| compiled, cold | CPU, s |\n|---|---|")
    for what, seconds in compiling.items():
        print(f"| {what} | {seconds:.1f} |")
    events = event_cost()
    often = f"snapping {events['snaps_per_second']:.0f} times a second"
    print(f"\n{often} costs {events['ratio']:.2f} times the smooth motion\n", flush=True)
    prepared = setup_figures()
    points = work_precision(peers=peers and installed("mujoco"))
    print("| solver | step ms | error m | us per step | us per second |\n|---|---|---|---|---|")
    for p in points:
        cost = f"{p.us_per_step:.2f} | {p.us_per_second:.0f}"
        print(f"| {p.solver} | {1e3 * p.step:g} | {p.error_m:.1e} | {cost} |")
    result = {
        **times,
        "batch_steps_per_second": rates,
        "calls": calls,
        "simd": simd,
        "closed_loop": flights,
        "compile_cpu_s": compiling,
        "setup": prepared,
        "events": events,
        "work_precision": [asdict(p) for p in points],
        "peers": others,
    }
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1) + "\n")
        draw(points, out.with_suffix(".png"))
        print(f"\n{out}, {out.with_suffix('.png')}")
    return result
