"""Fly the hard worlds and say what became of them: `./rotor python -m validation.stress.report [FILE.md]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from tqdm import tqdm

from rotor_flight.warm import warm
from validation.stress.flight import Outcome, World, flown
from validation.stress.light_links import hook_world, thin_bar_world
from validation.stress.redundant import UNEQUAL, redundant_world

REDUNDANT, SECONDS, STEP = 500, 3.0, 1e-3
HEAD = (
    "| worlds | step | flights | given up | overlength, m | gain of energy | events | substeps |\n"
    "|---|---|---|---|---|---|---|---|"
)


def row(name: str, step: float, worlds: Iterable[World], seconds: float) -> str:
    """Fly all and put the worst of each figure into one row."""
    found: list[Outcome] = [flown(world, seconds, step) for world in worlds]
    lost = sum(bool(o.failure) for o in found)
    over, gain = max(o.overlength for o in found), max(o.gain for o in found)
    events, substeps = sum(o.events for o in found), sum(o.substeps for o in found)
    return (
        f"| {name} | {step * 1e3:g} ms | {len(found)} | {lost} | {over:.1e} | {gain:.1e} | {events} | "
        f"{substeps} |"
    )


def rows() -> Iterable[str]:
    """All rows of the table."""
    for ratio in (10, 30, 100, 1000, 10000):
        for step in (1e-3, 2e-3, 5e-3, 1e-2):
            worlds = [
                hook_world(ratio, bent=bent, seed=s) for s, bent in enumerate((0.3, 0.1, 0.6))
            ]
            yield row(f"hook, load {ratio} times its mass", step, worlds, 2.0)
    for step in (1e-3, 2e-3, 5e-3, 1e-2):
        yield row("thin bar", step, [thin_bar_world()], 5.0)
    for k, hung in enumerate(("the world", "one vehicle", "vehicles")):
        for j, unequal in enumerate(UNEQUAL):
            numbers = [s for s in range(REDUNDANT) if s % 3 == k and (s // 3) % 3 == j]
            name = f"redundant cables on {hung}, unequal by {unequal:g} m"
            yield row(name, STEP, map(redundant_world, numbers), SECONDS)


def main(arguments: list[str]) -> None:
    """Print the table, and write it where a file is named."""
    warm()
    table = "\n".join([HEAD, *tqdm(rows(), total=33)])
    print(table)
    if arguments:
        Path(arguments[0]).write_text(table + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
