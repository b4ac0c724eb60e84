"""`./rotor push`."""

from __future__ import annotations

import argparse

from rotor.arguments import add_namespace
from rotor.verb import VERBS, Verb


def _push(options: argparse.Namespace) -> int:
    from rotor.graph.processes import parameter_text
    from rotor_adapters.teleop.node import main

    there = ["-r", f"__ns:={options.namespace}"] if options.namespace else []
    return main(["--ros-args", "-p", f"entity:={parameter_text(options.entity)}", *there])


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "entity", nargs="?", default="payload", help="entity to push (default: payload)"
    )
    add_namespace(sub)


VERBS.register(
    "push",
    Verb(
        "Push an entity of a running simulator by keyboard or gamepad (topic joy).",
        "./rotor push payload",
        _arguments,
        _push,
    ),
)
