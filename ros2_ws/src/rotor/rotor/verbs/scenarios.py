"""`./rotor scenarios`."""

from __future__ import annotations

import argparse
import re
from itertools import takewhile

from rotor.verb import VERBS, Verb

PARTS = ("vehicles", "payloads", "attachments", "controllers", "trajectories")
"""Folders of what scenarios are made of."""

Groups = dict[str, list[tuple[str, str]]]
"""Names and descriptions by group."""


def _scenarios(options: argparse.Namespace) -> int:
    from rotor_core.config.catalog import config_directory

    words = [word.lower() for word in options.search]
    groups = _found(words, _parts() if options.parts else _by_group())
    what = "part" if options.parts else "scenario"
    if not groups:
        wanted = " and ".join(repr(w) for w in options.search)
        print(f"no shipped {what} has {wanted} in its name or description")
        return 1
    width = max(len(name) for found in groups.values() for name, _ in found)
    for group, found in groups.items():
        print(f"{group}:")
        for name, description in found:
            print(f"  {name:<{width}}  {description}")
        print()
    folder = config_directory()
    if options.parts:
        print(
            f"files: {folder}; in a scenario: {{use: NAME}}, with what shall be otherwise beside it"
        )
    else:
        print(f"files: {folder / 'scenarios'}; fly one: ./rotor fly NAME")
    return 0


def _by_group() -> Groups:
    """Shipped scenarios; the largest group first."""
    from rotor_core.config.catalog import shipped
    from rotor_core.config.loader import scenario_heading

    groups: Groups = {}
    for name in shipped("scenarios"):
        group, description = scenario_heading(name)
        groups.setdefault(group or "others", []).append((name, description))
    order = sorted(groups, key=lambda g: (g == "others", -len(groups[g]), g))
    return {group: groups[group] for group in order}


def _parts() -> Groups:
    """Shipped files that a scenario can use, with the first sentence that each begins with."""
    from rotor_core.config.catalog import config_directory, shipped

    def about(folder: str, name: str) -> str:
        lines = (config_directory() / folder / f"{name}.yaml").read_text().splitlines()
        comment = takewhile(lambda line: line.startswith("#"), lines)
        text = " ".join(line.lstrip("# ") for line in comment)
        return re.split(r"(?<! al)\. ", text)[0].rstrip(".")

    return {folder: [(name, about(folder, name)) for name in shipped(folder)] for folder in PARTS}


def _found(words: list[str], groups: Groups) -> Groups:
    """What has all the words in its group, name or description."""
    kept = {
        group: [e for e in found if all(w in f"{group} {' '.join(e)}".lower() for w in words)]
        for group, found in groups.items()
    }
    return {group: found for group, found in kept.items() if found}


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--parts",
        action="store_true",
        help="what they are made of: vehicles, payloads, attachments, controllers, trajectories",
    )
    sub.add_argument(
        "--search", nargs="+", default=[], metavar="WORD", help="only those with all of these words"
    )


VERBS.register(
    "scenarios",
    Verb(
        "List the shipped scenarios by groups, or what they are made of.",
        "./rotor scenarios --search helicopter",
        _arguments,
        _scenarios,
    ),
)
