"""`./rotor identify`."""

from __future__ import annotations

import argparse

from rotor.arguments import positive_number
from rotor.verb import VERBS, Verb


def _identify(options: argparse.Namespace) -> int:
    from rotor_recordings.identify.run import run

    return run(options)


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("recording", help="bag or logs of Crazyflies (.npz)")
    sub.add_argument(
        "--parameters",
        nargs="+",
        default=[],
        metavar="NAME",
        help="such as payload.mass_kg, cable1.length_m; without entity (thrust_gain) all of that kind; default: masses "
        "of payloads, lengths of cables, thrust gains, latency. A wrong name lists all",
    )
    sub.add_argument(
        "--scenario", default="", help="nominal model, in place of that of the recording"
    )
    sub.add_argument(
        "--states",
        choices=["odom", "ground_truth"],
        default="odom",
        help="states of a bag: as measured (default), or true ones",
    )
    sub.add_argument(
        "--horizon",
        type=positive_number,
        default=0.5,
        metavar="S",
        help="length of a prediction (default: 0.5)",
    )
    sub.add_argument(
        "--from",
        dest="start",
        type=float,
        default=0.0,
        metavar="S",
        help="leave out everything before",
    )
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")


VERBS.register(
    "identify",
    Verb(
        "Estimate from a recorded flight what the model does not know; writes a new scenario.",
        "./rotor identify results/demo/bag --parameters payload.mass_kg thrust_gain latency_s",
        _arguments,
        _identify,
    ),
)
