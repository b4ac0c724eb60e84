"""Verbs: the commands of `./rotor`, one file each in ``rotor/verbs``, and those of other packages.

A file of a verb ends with ``VERBS.register("name", Verb(...))``; another package names a :class:`Verb` in its
entry points (group ``rotor.verbs``). Modules of verbs import what they need when they run, so that ``--help``
answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rotor.arguments import positive_number, seed
from rotor_core.errors import ConfigError
from rotor_core.registry import Registry

if TYPE_CHECKING:
    from rotor_core.config.schema import Scenario


@dataclass(frozen=True)
class Verb:
    """A command.

    Attributes:
        text: one sentence for ``--help``.
        example: of its use.
        arguments: adds its arguments to a parser.
        run: does it; returns the exit code.
        extras: that it needs (:mod:`rotor_core.extras`), installed before it first runs.
    """

    text: str
    example: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    extras: tuple[str, ...] = ()


def _check(name: str, entry: object) -> None:
    if not isinstance(entry, Verb):
        raise ConfigError(f"verb {name!r}: must be a rotor.verb.Verb, got {type(entry).__name__}.")


VERBS: Registry[Verb] = Registry("rotor.verbs", "verb", "Commands of `./rotor`.", check=_check)


def add_run_arguments(sub: argparse.ArgumentParser, scenario: str = "") -> None:
    """Add what commands have in common that fly one scenario; ``scenario`` is the default, if there is one."""
    if scenario:
        sub.add_argument(
            "scenario",
            nargs="?",
            default=scenario,
            help=f"shipped name or path (default: {scenario})",
        )
    else:
        sub.add_argument("scenario", help="shipped name (see `./rotor scenarios`) or path")
    sub.add_argument(
        "--seed", type=seed, help="seed of the random streams (default: the scenario's)"
    )
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    sub.add_argument("--duration", type=positive_number, metavar="S", help="simulated time")


def add_autopilot(sub: argparse.ArgumentParser) -> None:
    """Add the option that puts an autopilot in the place of the controller."""
    sub.add_argument(
        "--autopilot",
        metavar="NAME",
        help="fly under the firmware that will fly, running beside: px4, ardupilot or betaflight",
    )


def add_print_config(sub: argparse.ArgumentParser) -> None:
    """Add the option that prints the resolved scenario."""
    sub.add_argument(
        "--print-config", action="store_true", help="print the resolved scenario and stop"
    )


def print_notes(scenario: Scenario) -> None:
    """Print what in a scenario is possible but implausible."""
    from rotor_core.warnings import notes

    for note in notes(scenario):
        print(f"note: {note}", file=sys.stderr)


def conclude(summary: dict) -> int:
    """Print the verdict of a summary as the last line; its exit code."""
    print(summary["verdict"]["words"])
    return summary["verdict"]["exit_code"]


def print_config(
    name: str, seed: int | None, pacing: str = "", autopilot: str | None = None
) -> int:
    """Print a resolved scenario, without its name: who keeps it in a file calls it like that file."""
    from rotor_core.config.loader import dump_scenario, load_scenario

    scenario = load_scenario(name, seed=seed, pacing=pacing or None, autopilot=autopilot)
    text = dump_scenario(replace(scenario, name=""))
    print(text.replace("\nname: ''\n", "\n"), end="")
    return 0
