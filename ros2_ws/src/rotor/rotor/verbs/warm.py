"""`./rotor warm`."""

from __future__ import annotations

import argparse

from rotor.verb import VERBS, Verb


def _warm(options: argparse.Namespace) -> int:
    from rotor_core.config.loader import load_scenario
    from rotor_flight.warm import warm

    warm(load_scenario(options.scenario) if options.scenario else None)
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "scenario", nargs="?", help="compile what this one uses; default: all kernels there are"
    )


VERBS.register("warm", Verb("Compile the kernels now.", "./rotor warm slalom", _arguments, _warm))
