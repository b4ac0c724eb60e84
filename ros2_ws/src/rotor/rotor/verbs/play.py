"""`./rotor play`."""

from __future__ import annotations

import argparse

from rotor.arguments import positive_number
from rotor.verb import VERBS, Verb


def _play(options: argparse.Namespace) -> int:
    from rotor.graph.processes import parameter_text
    from rotor_adapters.player.node import main

    arguments = [
        "--ros-args",
        "-p",
        f"bag:={parameter_text(options.bag)}",
        "-p",
        f"rate:={options.rate}",
    ]
    arguments += ["-p", f"start_s:={options.start}"]
    if options.topics:
        arguments += ["-p", f"topics:={parameter_text(' '.join(options.topics))}"]
    return main(arguments)


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("bag", help="folder of a bag")
    sub.add_argument("--topics", nargs="+", metavar="TOPIC", help="default: all but /clock")
    sub.add_argument(
        "--rate", type=positive_number, default=1.0, metavar="F", help="recorded over wall time"
    )
    sub.add_argument("--start", type=float, default=0.0, metavar="S", help="begin there")


VERBS.register(
    "play",
    Verb(
        "Publish the messages of a bag, where `ros2 bag play` is not installed.",
        "./rotor play results/demo/bag --topics /rotor/plan",
        _arguments,
        _play,
    ),
)
