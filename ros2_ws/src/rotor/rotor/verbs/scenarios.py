"""`./rotor scenarios`."""

from __future__ import annotations

import argparse

from rotor.verb import VERBS, Verb


def _scenarios(_: argparse.Namespace) -> int:
    from rotor_core.config.catalog import config_directory, shipped
    from rotor_core.config.loader import scenario_description

    names = shipped("scenarios")
    width = max(len(n) for n in names)
    for name in names:
        print(f"{name:<{width}}  {scenario_description(name)}")
    print(f"\nfiles: {config_directory() / 'scenarios'}")
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    pass


VERBS.register(
    "scenarios", Verb("List the shipped scenarios.", "./rotor scenarios", _arguments, _scenarios)
)
