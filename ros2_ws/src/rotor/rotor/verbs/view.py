"""`./rotor view`."""

from __future__ import annotations

import argparse

from rotor.arguments import add_namespace
from rotor.verb import VERBS, Verb


def _view(options: argparse.Namespace) -> int:
    from rotor_viewer.browser.serve import view

    return view(
        options.what,
        live=options.live,
        host=options.host,
        port=options.port,
        seed=options.seed,
        namespace=options.namespace,
        scenario=options.scenario,
    )


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "what", help="shipped scenario, path of a scenario, bag or logs of Crazyflies (.npz)"
    )
    sub.add_argument(
        "--live", action="store_true", help="show the nodes that run the scenario (./rotor up)"
    )
    add_namespace(sub, "of the running nodes (--live), such as /lab2")
    sub.add_argument("--scenario", help="what flew, where a recording does not say")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback)")
    sub.add_argument("--port", type=int, default=8080, help="default: 8080, or the next free one")
    sub.add_argument("--seed", type=int, default=None, help="of the random streams")


VERBS.register(
    "view",
    Verb(
        "Show a flight in the browser: a scenario that flies, a recording, or the running graph.",
        "./rotor view slalom",
        _arguments,
        _view,
        ("view",),
    ),
)
