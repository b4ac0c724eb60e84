"""Medians of interleaved rounds in CPU time of this process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

Maker = Callable[[], Callable[[], None]]
"""Makes a fresh world (not timed) and returns what is timed."""


def medians(tasks: dict[str, Maker], rounds: int) -> dict[str, float]:
    """CPU seconds of every task: each round runs all of them once, so that slow moments hit all alike."""
    samples: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, make in tasks.items():
            task = make()
            began = time.process_time()
            task()
            samples[name].append(time.process_time() - began)
    return {name: statistics.median(values) for name, values in samples.items()}


def wall_median(make: Maker, rounds: int) -> float:
    """Wall seconds of one task, for work in many threads."""
    samples = []
    for _ in range(rounds):
        task = make()
        began = time.perf_counter()
        task()
        samples.append(time.perf_counter() - began)
    return statistics.median(samples)
