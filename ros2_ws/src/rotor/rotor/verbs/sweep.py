"""`./rotor sweep STUDY`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError


def _sweep(options: argparse.Namespace) -> int:
    from rotor_flight.reports.table import format_table
    from rotor_flight.studies.report import write_report
    from rotor_flight.studies.run import sweep
    from rotor_sim.judging.verdict import EXIT_CODES

    if bool(options.study) == bool(options.resume):
        raise ConfigError("sweep: needs either a study or --resume DIR.")
    if options.resume and (options.out or options.flights):
        raise ConfigError(
            "--resume: keeps the folder and the number of flights. Leave out --out and --flights."
        )
    done = sweep(
        options.study or "",
        out=options.out,
        flights=options.flights,
        workers=options.workers,
        scheduler=options.scheduler,
        resume=options.resume,
    )
    summary = write_report(done)
    rows = [("flights", f"{summary['flights']} flown, {summary['failed']} ended early")]
    if summary["step_error_max_m"] is not None:
        rows.append(("error of the step", f"{summary['step_error_max_m']:.1e} m"))
    for name, found in summary["metrics"].items():
        rows.append(
            (name, f"{found['0.5']:.4g}  (5 %: {found['0.05']:.4g}, 95 %: {found['0.95']:.4g})")
        )
    print(format_table(rows))
    print(f"{done.folder}/: report.html, flights.parquet, summary.json, worst/, plots")
    good = sum(n for kind, n in summary["verdicts"].items() if EXIT_CODES.get(kind, 1) == 0)
    counts = ", ".join(f"{n} {kind}" for kind, n in summary["verdicts"].items())
    bad = summary["flights"] - good
    allowed = done.job.loaded.study.bad_share_max * summary["flights"]
    print(f"{'flown' if bad <= allowed else 'lost'}: {counts}")
    return int(bad > allowed)


def _whole(least: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be >= {least}, got {text}")
        return value

    return convert


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("study", nargs="?", help="shipped study or file (docs/how-to/sweep.md)")
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    sub.add_argument("--flights", type=_whole(1), help="in place of the study's number")
    sub.add_argument(
        "--workers", type=_whole(0), help="processes (default: one per core; 0: in this process)"
    )
    sub.add_argument(
        "--scheduler", default="", metavar="ADDRESS", help="of Dask, such as tcp://host:8786"
    )
    sub.add_argument("--resume", default="", metavar="DIR", help="resume a sweep that was stopped")


VERBS.register(
    "sweep",
    Verb(
        "Fly a study: many flights of a scenario whose numbers differ, measured and compared.",
        "./rotor sweep payload_mass --flights 1000 --out /tmp/study",
        _arguments,
        _sweep,
        ("studies",),
    ),
)
