"""Measure studies and write docs/results/studies.md with its pictures.

    ./rotor python docs/scripts/make_study_results.py

Flies the shipped study 10,000 times on all cores and 1,000 times on one, and looks at the scheduler with many workers
that wait instead of fly. Takes about five minutes; nothing else should run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, as_completed

from rotor_flight.studies.report import write_report
from rotor_flight.studies.run import _write, sweep

DOCS = Path(__file__).resolve().parents[1]
STUDY, MANY, FEW = "payload_mass", 10000, 1000
CHUNK = 50
WORKERS = (1, 4, 16)
CHUNKS_EACH = 4


def waiting(first: int, seconds: float) -> list[dict[str, Any]]:
    """As long as a chunk, and as large a result."""
    time.sleep(seconds)
    return [
        {"flight": first + i, **{f"column{j}": 0.1 * j for j in range(16)}} for i in range(CHUNK)
    ]


def scheduler_rate(workers: int, seconds: float) -> float:
    """Chunks a second over what that many workers would do if nobody had to hand out work and write results."""
    count = CHUNKS_EACH * workers
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False,
        dashboard_address=None, silence_logs=50,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, cluster, Client(cluster) as client:
        began = time.perf_counter()
        futures = [
            client.submit(waiting, CHUNK * i, seconds, pure=False, key=f"wait-{i}")
            for i in range(count)
        ]
        for i, (_, rows) in enumerate(as_completed(futures, with_results=True)):
            _write(Path(folder) / f"{i:08d}.parquet", rows)
        took = time.perf_counter() - began
    return CHUNKS_EACH * seconds / took


def main() -> None:
    """Measure and write."""
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        sweep(
            STUDY, out=f"{folder}/warm", flights=64, workers=cores
        )  # kernels, files of the system
        one = sweep(STUDY, out=f"{folder}/one", flights=FEW, workers=1)
        two = sweep(STUDY, out=f"{folder}/two", flights=FEW, workers=cores)
        began = time.perf_counter()
        all_of_them = sweep(STUDY, out=f"{folder}/all", flights=MANY, workers=cores)
        whole = time.perf_counter() - began
        summary = write_report(all_of_them)
        for name in ("distributions", "sensitivity"):
            shutil.copy(Path(folder) / "all" / f"{name}.png", DOCS / "images" / f"study_{name}.png")
        size = (Path(folder) / "all" / "flights.parquet").stat().st_size
    rate = MANY / all_of_them.wall_time
    seconds = CHUNK * one.wall_time / FEW
    shares = {n: scheduler_rate(n, seconds) for n in WORKERS}
    speedup = one.wall_time / two.wall_time
    rows = "\n".join(f"| {n} | {100.0 * share:.0f} % |" for n, share in shares.items())
    errors = all_of_them.step_errors
    flown = f"{all_of_them.wall_time:.0f} s ({whole:.0f} s with start and check of the step)"
    step = (
        f"error of the step of {1e3 * summary['step_s']:g} ms: largest difference of any position to a quarter of "
        f"the step, {len(errors)} flights"
    )
    faster = f"{one.wall_time:.1f} s, {two.wall_time:.1f} s: {speedup:.2f} times faster"
    text = f"""# Studies

Made by `./rotor python docs/scripts/make_study_results.py` on {cores} cores: `{STUDY}`, three Dragonflies with a plate
on cables under their controller, 20 s each, payload mass, thrust gains and a cable length drawn by Sobol points.

| | measured | goal |
|---|---|---|
| {MANY} flights of 20 s | {flown} | 300 s |
| flights a second | {rate:.0f} ({20.0 * rate:.0f} times real time) | |
| {step} | {np.nanmax(errors):.1e} m | 1e-5 m |
| {FEW} flights: one worker, {cores} workers | {faster} | {cores} |
| results | {size / 1e6:.1f} MB | |

Start of the workers is in these times (a few seconds). More workers than this machine has cores: workers that wait
{seconds:.2f} s a chunk, as long as one flies it, instead of flying. Share of the ideal that remains when one scheduler
hands out the work and one client writes the files:

| workers | of the ideal |
|---|---|
{rows}

![distributions of the metrics](../images/study_distributions.png)

![which number decides about which metric](../images/study_sensitivity.png)

A sensitivity is the share of the variance of a metric that is due to one number alone. How:
[fly ten thousand flights](../how-to/sweep.md).
"""
    (DOCS / "results" / "studies.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
