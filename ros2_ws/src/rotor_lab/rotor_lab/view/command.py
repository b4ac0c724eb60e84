"""`./rotor view` and `./rotor export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rotor_lab.arguments import positive_number


def _view(options: argparse.Namespace) -> int:
    from rotor_lab.view.serve import view

    return view(
        options.what, live=options.live, host=options.host, port=options.port, seed=options.seed
    )


def _export(options: argparse.Namespace) -> int:
    from rotor_lab.view.export import export

    return export(options)


def add_view_commands(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands to a parser; ``add`` as in :func:`rotor_lab.cli.parser`."""
    sub = add(
        "view",
        _view,
        "Show a flight in the browser: a scenario that flies, a recording, or the running graph.",
        "./rotor view slalom",
    )
    sub.add_argument("what", help="shipped scenario, path of a scenario, bag or flight (.npz)")
    sub.add_argument(
        "--live", action="store_true", help="show the nodes that run the scenario (./rotor up)"
    )
    sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback)")
    sub.add_argument("--port", type=int, default=8080, help="default: 8080, or the next free one")
    sub.add_argument("--seed", type=int, default=None, help="of the random streams")
    sub = add(
        "export",
        _export,
        "Write a recorded flight as a page, a picture or a film.",
        "./rotor export results/demo/bag --html flight.html --gif flight.gif",
    )
    sub.add_argument("recording", help="bag or flight (.npz)")
    sub.add_argument("--html", metavar="FILE", help="a page that replays it by itself")
    sub.add_argument("--png", metavar="FILE", help="a picture of one instant")
    sub.add_argument("--gif", metavar="FILE", help="a film")
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
