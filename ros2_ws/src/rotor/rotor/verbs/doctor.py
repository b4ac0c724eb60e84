"""`./rotor doctor`."""

from __future__ import annotations

import argparse

from rotor.verb import VERBS, Verb


def _doctor(_: argparse.Namespace) -> int:
    from rotor.installation import report
    from rotor_flight.reports.table import format_table

    print(format_table(report()))
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    pass


VERBS.register(
    "doctor",
    Verb(
        "Show versions, middleware, cores and whether the kernels are compiled.",
        "./rotor doctor",
        _arguments,
        _doctor,
    ),
)
