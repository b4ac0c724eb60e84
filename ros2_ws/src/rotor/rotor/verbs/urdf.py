"""`./rotor urdf`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError


def _urdf(options: argparse.Namespace) -> int:
    from rotor_core.config.loader import load_scenario
    from rotor_core.config.vehicles.urdf_export import scenario_urdf
    from rotor_flight.reports.folder import check_new_file

    text = scenario_urdf(load_scenario(options.scenario), bodies=True)
    if options.out is None:
        print(text, end="")
        return 0
    out = Path(options.out)
    check_new_file(out)
    try:
        out.write_text(text)
    except OSError as error:
        raise ConfigError(f"--out {options.out}: cannot be written ({error.strerror}).") from error
    print(options.out)
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("scenario", help="shipped name or path")
    sub.add_argument("--out", metavar="FILE.urdf", help="new; default: print it")


VERBS.register(
    "urdf",
    Verb(
        "Write a scenario as URDF, for RViz, Pinocchio, MuJoCo and others.",
        "./rotor urdf pick_and_place --out pick.urdf",
        _arguments,
        _urdf,
    ),
)
