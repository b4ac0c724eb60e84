"""Speed of the closed loop without ROS, and of the start. The engine alone: `./rotor bench`.

CPU time of this process, medians. Writes JSON where asked.

    ./rotor python validation/benchmarks/closed_loop.py [--out bench.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rotor_core.config.loader import load_scenario
from rotor_flight.fly import fly


def closed_loop_factors() -> dict[str, float]:
    """Simulated over CPU time of the loop without ROS at a step of 1 ms, by control period."""
    out = {}
    base = load_scenario("three_dragonflies_triangular_1m")
    for period in (0.005, 0.01, 0.001):
        scenario = replace(base, time=replace(base.time, control_s=period))
        factors = []
        for _ in range(3):
            began = time.process_time()
            flight = fly(scenario, duration=20.0)
            factors.append((flight.time[-1] - flight.time[0]) / (time.process_time() - began))
        out[f"control {period * 1e3:g} ms"] = statistics.median(factors)
    return out


def start_times() -> dict[str, float]:
    """Wall time to compile all kernels from nothing, and to be ready with a filled cache, s."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "ROTOR_CACHE_DIR": cache}
        out = {}
        for label in ("cold", "cached"):
            began = time.perf_counter()
            command = [sys.executable, "-m", "rotor.cli", "warm"]
            subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
            if label == "cached":
                code = "from rotor_flight.warm import warm_engine; warm_engine()"
                began = time.perf_counter()
                subprocess.run([sys.executable, "-c", code], env=env, check=True)
            out[label] = time.perf_counter() - began
    return out


def main() -> None:
    """Measure and print; with --out also write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON file")
    options = parser.parse_args()
    loops, starts = closed_loop_factors(), start_times()
    print(
        f"\n{platform.machine()}, Python {platform.python_version()}, 1 core of {os.cpu_count()}\n"
    )
    print("\n| closed loop without ROS, three vehicles, 1 ms | times real time |\n|---|---|")
    for label, factor in loops.items():
        print(f"| {label} | {factor:.0f} |")
    print(
        f"\nkernels: {starts['cold']:.1f} s to compile all, {starts['cached']:.2f} s to be ready when cached"
    )
    if options.out:
        options.out.write_text(json.dumps({"closed_loop": loops, "start_s": starts}, indent=1))


if __name__ == "__main__":
    main()
