"""`./rotor resume`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rotor.arguments import positive_number
from rotor.verb import VERBS, Verb
from rotor.verbs.fly import add_results, fly_and_write


def _resume(options: argparse.Namespace) -> int:
    from rotor_flight.checkpoint import load
    from rotor_sim.simulation import START_TIME

    loop = load(Path(options.file))
    scenario = loop.simulation.scenario
    print(f"{scenario.name}: resumed {loop.simulation.time - START_TIME:.3f} s after its start")
    return fly_and_write(options, scenario, loop)


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("file", help="file written by --save")
    sub.add_argument(
        "--duration", type=positive_number, metavar="S", help="simulated time from there"
    )
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    add_results(sub)


VERBS.register(
    "resume",
    Verb(
        "Resume a flight that was saved by --save, with the same bits.",
        "./rotor resume /tmp/half.flight --out /tmp/rest",
        _arguments,
        _resume,
    ),
)
