"""`./rotor trim`: the steady flight of a scenario as a table, and as JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError

FAILED = 1
"""Exit code where there is no such flight."""


def _trim(options: argparse.Namespace) -> int:
    from rotor.trim_report import plain, rows
    from rotor_core.config.loader import load_scenario
    from rotor_flight.reports.table import format_table
    from rotor_flight.warm import warm
    from rotor_sim.analysis.trim import trim

    scenario = load_scenario(options.scenario)
    warm(scenario)
    found = trim(scenario, tuple(options.velocity))
    print(format_table(rows(scenario, found)))
    if options.out:
        try:
            Path(options.out).write_text(json.dumps(plain(scenario, found), indent=2) + "\n")
        except OSError as error:
            raise ConfigError(
                f"--out {options.out}: cannot be written ({error.strerror})."
            ) from error
        print(options.out)
    return 0 if found.exists else FAILED


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("scenario", help="shipped name or path")
    sub.add_argument(
        "--velocity", type=float, nargs=3, default=[0.0, 0.0, 0.0], metavar=("X", "Y", "Z"),
        help="in the world frame, m/s (default: hover)",
    )  # fmt: skip
    sub.add_argument("--out", metavar="FILE.json", help="all numbers")


VERBS.register(
    "trim",
    Verb(
        "Find the steady flight of a scenario: hover, or straight flight at a velocity; exit code 1 if there is none.",
        "./rotor trim helicopter_hover --velocity 10 0 0",
        _arguments,
        _trim,
    ),
)
