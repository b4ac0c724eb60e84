"""`./rotor warm`."""

from __future__ import annotations

import argparse

from rotor.verb import VERBS, Verb


def _warm(_: argparse.Namespace) -> int:
    from rotor_flight.warm import warm

    warm()
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    pass


VERBS.register("warm", Verb("Compile the kernels now.", "./rotor warm", _arguments, _warm))
