"""`./rotor topics`."""

from __future__ import annotations

import argparse

from rotor.arguments import positive_number, positive_whole
from rotor.verb import VERBS, Verb


def _topics(options: argparse.Namespace) -> int:
    from rotor.graph import topics

    if options.what == "echo":
        return topics.echo(options.topic, options.count)
    if options.what == "hz":
        return topics.rate(options.topic, options.duration)
    return topics.list_topics()


def _arguments(sub: argparse.ArgumentParser) -> None:
    kinds = sub.add_subparsers(dest="what", metavar="WHAT", required=True)
    kinds.add_parser("list", help="all topics, their types, how many publish and listen")
    echo = kinds.add_parser("echo", help="print the messages of a topic")
    echo.add_argument("topic")
    echo.add_argument(
        "--count",
        type=positive_whole,
        default=0,
        metavar="N",
        help="end after so many (default: Ctrl-C ends it)",
    )
    hz = kinds.add_parser("hz", help="measure how often messages of a topic arrive")
    hz.add_argument("topic")
    hz.add_argument(
        "--duration",
        type=positive_number,
        default=0.0,
        metavar="S",
        help="wall time (default: Ctrl-C ends it)",
    )


VERBS.register(
    "topics",
    Verb(
        "List topics of the running nodes, print their messages, measure their rates, where `ros2` is not installed.",
        "./rotor topics echo /cables --count 1",
        _arguments,
        _topics,
    ),
)
