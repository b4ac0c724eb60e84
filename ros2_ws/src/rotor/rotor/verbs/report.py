"""`./rotor report RECORDING`."""

from __future__ import annotations

import argparse

from rotor.arguments import pairs
from rotor.verb import VERBS, Verb


def _report(options: argparse.Namespace) -> int:
    from rotor.report import report
    from rotor_core.config.loader import load_scenario

    topics = pairs("--reference", options.reference, "ENTITY=TOPIC")
    scenario = load_scenario(options.scenario) if options.scenario else None
    return report(options.recording, options.out, scenario=scenario, topics=topics)


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("recording", help="a bag, a result folder, or logs of Crazyflies (.npz)")
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    sub.add_argument("--scenario", help="what flew, where the recording does not say")
    sub.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="ENTITY=TOPIC",
        help="where an entity should be, in a recording of somebody else (default: what is named like a reference)",
    )


VERBS.register(
    "report",
    Verb(
        "Write the verdict, figures and linked plots of one recorded flight.",
        "./rotor report results/demo/bag --out /tmp/report",
        _arguments,
        _report,
        ("compare",),
    ),
)
