"""Verbs of the evidence: `./rotor reproduce` and `./rotor bench`, in a clone of the repository."""

from __future__ import annotations

import argparse
from pathlib import Path

from rotor.verb import VERBS, Verb


def _reproduce(options: argparse.Namespace) -> int:
    from rotor_flight.reports.folder import new_folder
    from rotor_flight.warm import warm
    from validation.papers.reproduce import reproduce

    warm()
    folder = new_folder(options.out, f"reproduce-{options.paper}")
    agrees = reproduce(options.paper, folder)
    print(f"{folder}/: report.html, report.md, plots")
    return 0 if agrees else 1


def _bench(options: argparse.Namespace) -> int:
    from rotor_core.config.loader import load_scenario
    from rotor_flight.warm import warm
    from validation.speed.report import bench

    warm(load_scenario("slalom"))
    bench(Path(options.out) if options.out else None, peers=not options.no_peers)
    return 0


def _reproduce_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "paper", choices=["fiori", "kremer", "palacios", "pappalardo", "rotortm"], help="whose"
    )
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")


def _bench_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--out", metavar="FILE.json", help="figures as JSON, a plot beside it")
    sub.add_argument("--no-peers", action="store_true", help="leave other simulators out")


VERBS.register(
    "reproduce",
    Verb(
        "Run the systems of a paper and put its figures beside ours.",
        "./rotor reproduce rotortm --out /tmp/rotortm",
        _reproduce_arguments,
        _reproduce,
    ),
)
VERBS.register(
    "bench",
    Verb(
        "Time the engine against compiled C++ (and other simulators where installed).",
        "./rotor bench --out bench.json",
        _bench_arguments,
        _bench,
    ),
)
