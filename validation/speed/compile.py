"""CPU time of compiling, cold: what a team of cables needs, and what each further feature adds.

``./rotor python -m validation.speed.compile [--profile]``. Each row is a process of its own with the cache of the rows
before it; a second start with a full cache is taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROWS = {
    "team of cables: engine": ("engine", "slalom"),
    "team of cables: law and plan": ("laws", "slalom"),
    "joints (an arm)": ("engine", "arm_uncoupled"),
    "contacts (a vehicle on the ground)": ("engine", "lift_and_set_down"),
    "rotor blades (a helicopter)": ("engine", "helicopter_hover"),
}
"""What is compiled, by its name in the table; the scenario of each."""

CODE = """
import json, sys, time
names, stack, spent = [], [], {}
from rotor_core.kernels.jit import follow_compiling
def follow(name, begins):
    now = time.process_time()
    if begins:
        stack.append([now, 0.0])
        return
    began, inside = stack.pop()
    spent[name] = spent.get(name, 0.0) + now - began - inside
    if stack:
        stack[-1][1] += now - began
follow_compiling(follow)
from rotor_core.config.loader import load_scenario
from rotor_flight.warm import warm_engine, warm_laws
scenario = load_scenario(sys.argv[2])
warm_engine(scenario) if sys.argv[1] == "engine" else warm_laws([scenario])
print("\\n" + json.dumps({"cpu": time.process_time(), "kernels": spent}))
"""


def compiled(part: str, scenario: str, cache: str) -> dict:
    """CPU seconds of a process that compiles a part into a cache, and those of every kernel by itself."""
    run = subprocess.run(
        [sys.executable, "-c", CODE, part, scenario],
        env={**os.environ, "ROTOR_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def cpu_seconds() -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds of compiling by row of :data:`ROWS`, and by kernel."""
    rows: dict[str, float] = {}
    kernels: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache:
        for name, (part, scenario) in ROWS.items():
            cold, warm = (compiled(part, scenario, cache) for _ in range(2))
            rows[name] = cold["cpu"] - warm["cpu"]
            for kernel, seconds in cold["kernels"].items():
                kernels[kernel] = kernels.get(kernel, 0.0) + seconds
    return rows, kernels


def main() -> None:
    """Print the table, and with ``--profile`` the kernels that take longest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", action="store_true", help="kernels too")
    options = parser.parse_args()
    rows, kernels = cpu_seconds()
    print("| compiled, cold | CPU, s |\n|---|---|")
    for name, seconds in rows.items():
        print(f"| {name} | {seconds:.1f} |")
    if options.profile:
        print("\n| kernel, without those that it calls | CPU, s |\n|---|---|")
        for name, seconds in sorted(kernels.items(), key=lambda item: -item[1])[:40]:
            print(f"| {name} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
