"""`./rotor demo`."""

from __future__ import annotations

import argparse

from rotor.verb import VERBS, Verb, add_print_config, add_run_arguments, print_config


def _demo(options: argparse.Namespace) -> int:
    if options.print_config:
        return print_config(options.scenario, options.seed, options.pacing)
    from rotor.graph.demo import demo

    return demo(
        options.scenario,
        out=options.out,
        seed=options.seed,
        pacing=options.pacing,
        duration=options.duration,
    )


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_run_arguments(sub, "slalom")
    sub.add_argument(
        "--pacing", choices=["realtime", "lockstep"], default="", help="default: the scenario's"
    )
    add_print_config(sub)


VERBS.register(
    "demo",
    Verb(
        "Fly a team as ROS 2 nodes, record it and show the result.",
        "./rotor demo --out /tmp/slalom",
        _arguments,
        _demo,
    ),
)
