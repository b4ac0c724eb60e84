"""Speed of the engine and of the closed loop, measured.

CPU time of this process, medians of interleaved rounds, one core. Writes JSON where asked.

    ./rotor python benchmarks/engine.py [--out bench.json]
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

import numpy as np

from rotor_core.config.loader import load_scenario
from rotor_lab.fly import fly
from rotor_sim.engine import Engine
from rotor_sim.model.from_scenario import system_from_scenario
from rotor_sim.simulation import Simulation

SYSTEMS = {
    "1 vehicle": "hover",
    "1 vehicle, point mass": "dragonfly_point_mass",
    "3 vehicles, plate": "three_dragonflies_triangular_1m",
    "6 vehicles, box": "six_dragonflies_box",
}
ROUNDS, STEPS = 11, 2000


def hovering(name: str) -> Engine:
    """An engine of a scenario in its initial state with about the thrust that carries it."""
    scenario = load_scenario(name)
    engine = Engine(system_from_scenario(scenario), step=1e-3, time=1.0)
    engine.set_state(Simulation(scenario).motion)
    model = scenario.model
    thrust = sum(e.mass_kg for e in model.entities) * 9.81 / len(model.vehicles)
    engine.set_wrenches(np.tile([1.002 * thrust, 0.0, 0.0, 0.0], (len(model.vehicles), 1)))
    return engine


def microseconds(engine: Engine, chunk: int) -> float:
    """CPU time per step, microseconds, with ``chunk`` steps per Python call."""
    began = time.process_time()
    for _ in range(STEPS // chunk):
        engine.run(chunk)
    return (time.process_time() - began) / STEPS * 1e6


def step_times() -> dict[str, dict[str, float]]:
    """Medians per system, of a rollout and with one Python call per step; rounds interleaved."""
    samples: dict[str, dict[str, list[float]]] = {
        k: {"rollout": [], "one_call": []} for k in SYSTEMS
    }
    for _ in range(ROUNDS):
        for label, name in SYSTEMS.items():
            engine = hovering(name)
            engine.run(50)
            samples[label]["rollout"].append(microseconds(engine, STEPS))
            engine = hovering(name)
            samples[label]["one_call"].append(microseconds(engine, 1))
    return {k: {kind: statistics.median(v) for kind, v in s.items()} for k, s in samples.items()}


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
            command = [sys.executable, "-m", "rotor_lab.cli", "warm"]
            subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
            if label == "cached":
                code = "from rotor_lab.warm import warm_engine; warm_engine()"
                began = time.perf_counter()
                subprocess.run([sys.executable, "-c", code], env=env, check=True)
            out[label] = time.perf_counter() - began
    return out


def main() -> None:
    """Measure and print; with --out also write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON file")
    options = parser.parse_args()
    steps, loops, starts = step_times(), closed_loop_factors(), start_times()
    print(
        f"\n{platform.machine()}, Python {platform.python_version()}, 1 core of {os.cpu_count()}\n"
    )
    print("| us per RK4 step of 1 ms, guards and projection on | rollout | one call per step |")
    print("|---|---|---|")
    for label, row in steps.items():
        print(f"| {label} | {row['rollout']:.2f} | {row['one_call']:.2f} |")
    print("\n| closed loop without ROS, three vehicles, 1 ms | times real time |\n|---|---|")
    for label, factor in loops.items():
        print(f"| {label} | {factor:.0f} |")
    print(
        f"\nkernels: {starts['cold']:.1f} s to compile all, {starts['cached']:.2f} s to be ready when cached"
    )
    if options.out:
        options.out.write_text(
            json.dumps({"steps_us": steps, "closed_loop": loops, "start_s": starts}, indent=1)
        )


if __name__ == "__main__":
    main()
