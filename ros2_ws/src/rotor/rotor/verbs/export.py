"""`./rotor export`."""

from __future__ import annotations

import argparse

from rotor.arguments import positive_number
from rotor.verb import VERBS, Verb


def _export(options: argparse.Namespace) -> int:
    from rotor_viewer.export.export import export

    return export(options)


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("recording", help="bag or logs of Crazyflies (.npz)")
    sub.add_argument("--scenario", help="what flew, where the recording does not say")
    sub.add_argument("--html", metavar="FILE", help="a page that replays it by itself")
    sub.add_argument("--png", metavar="FILE", help="a picture of one instant")
    sub.add_argument("--gif", metavar="FILE", help="a film in lines and shades, by Matplotlib")
    sub.add_argument(
        "--film", metavar="FILE", help="a film as in the viewer, .gif or .webp (needs chromium)"
    )
    sub.add_argument(
        "--at", type=float, metavar="S", help="instant of the picture (default: the middle)"
    )
    sub.add_argument(
        "--rate",
        type=positive_number,
        default=20.0,
        metavar="HZ",
        help="pictures per second (default: 20)",
    )


VERBS.register(
    "export",
    Verb(
        "Write a recorded flight as a page, a picture or a film.",
        "./rotor export results/demo/bag --html flight.html --gif flight.gif",
        _arguments,
        _export,
        ("view",),
    ),
)
