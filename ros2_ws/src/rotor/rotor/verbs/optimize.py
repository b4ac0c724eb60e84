"""`./rotor optimize`: the flight that a task asks for, through every snap, as a plan that can be flown."""

from __future__ import annotations

import argparse
import json
import sys
import time

from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError, ContractError

UNSOLVED = 1
"""Exit code where what must hold does not, or too few disturbed flights arrive."""

ENOUGH = 0.9
"""Share of the disturbed flights that must end near the goal."""


def _optimize(options: argparse.Namespace) -> int:
    from rotor_flight.optimal.planning import Planning
    from rotor_flight.optimal.results import figures, write
    from rotor_flight.optimal.task import load_task
    from rotor_flight.reports.folder import new_folder

    task, scenario, name = load_task(options.task)
    folder = new_folder(options.out, name) if options.out else None
    try:
        planning = Planning(task, scenario)
    except ContractError as error:
        raise ConfigError(
            f"{options.task}: scenario {scenario.name}: {error} Name a scenario of multirotors with cables."
        ) from error
    began = last = time.monotonic()

    def report(iteration: int, cost: float, violation: float, damping: float) -> None:
        nonlocal last
        if time.monotonic() - last > 1.0:
            last = time.monotonic()
            print(
                f"  {last - began:5.0f} s  cost {cost:.4g}  violation {violation:.2g}",
                file=sys.stderr,
            )

    solution = planning.solve(report)
    judged = planning.judge(solution)
    found = figures(planning, solution, judged, time.monotonic() - began)
    print(f"{name}: {task.description or scenario.description}")
    for key, value in found.items():
        if key != "shortfalls":
            print(f"  {key.replace('_', ' '):<34} {value}")
    for text in judged.shortfalls:
        print(f"between the ends of periods, at which it is asked for, {text}: give more periods")
    if folder is not None:
        try:
            for file in write(planning, solution, judged, found, folder, name):
                print(file)
        except OSError as error:
            raise ConfigError(f"--out {folder}: cannot be written ({error.strerror}).") from error
    else:
        print("nothing was kept: --out DIR writes solution, plan and figures")
    if options.json:
        print(json.dumps(found))
    solved = solution.violation <= task.tolerance and judged.within >= ENOUGH
    solved = solved and not judged.shortfalls
    print("solved" if solved else "not solved: see violation, shortfalls and disturbed flights")
    return 0 if solved else UNSOLVED


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("task", help="name of a task in config/tasks, or path")
    sub.add_argument(
        "--out",
        metavar="DIR",
        help="where solution, plan and figures are kept; must be new or empty",
    )
    sub.add_argument("--json", action="store_true", help="figures as JSON, too")


VERBS.register(
    "optimize",
    Verb(
        "Find the fastest or cheapest flight of a task, through slack and snap, and fly it from disturbed starts; exit "
        "code 1 if there is none.",
        "./rotor optimize throw --out results/throw",
        _arguments,
        _optimize,
    ),
)
