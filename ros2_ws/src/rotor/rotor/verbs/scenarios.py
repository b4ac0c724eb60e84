"""`./rotor scenarios`."""

from __future__ import annotations

import argparse

from rotor.verb import VERBS, Verb


def _scenarios(options: argparse.Namespace) -> int:
    from rotor_core.config.catalog import config_directory, shipped
    from rotor_core.config.loader import scenario_heading

    words = [word.lower() for word in options.search]
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in shipped("scenarios"):
        group, description = scenario_heading(name)
        text = f"{name} {group} {description}".lower()
        if all(word in text for word in words):
            groups.setdefault(group or "others", []).append((name, description))
    if not groups:
        print(
            f"no shipped scenario has {' and '.join(repr(w) for w in options.search)} in its name or description"
        )
        return 1
    width = max(len(name) for found in groups.values() for name, _ in found)
    for group in sorted(groups, key=lambda g: (g == "others", -len(groups[g]), g)):
        print(f"{group}:")
        for name, description in groups[group]:
            print(f"  {name:<{width}}  {description}")
        print()
    print(f"files: {config_directory() / 'scenarios'}; fly one: ./rotor fly NAME")
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--search", nargs="+", default=[], metavar="WORD", help="only those with all of these words"
    )


VERBS.register(
    "scenarios",
    Verb(
        "List the shipped scenarios by groups.",
        "./rotor scenarios --search helicopter",
        _arguments,
        _scenarios,
    ),
)
