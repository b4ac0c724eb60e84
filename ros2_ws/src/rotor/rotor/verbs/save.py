"""`./rotor save`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rotor.arguments import add_namespace
from rotor.verb import VERBS, Verb


def _save(options: argparse.Namespace) -> int:
    from rotor_adapters.player.save_nodes import save_nodes
    from rotor_core.errors import ConfigError

    folder = Path(options.folder).resolve()
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{options.folder}: is a file. Name a folder, new or not.")
    if any(folder.glob("*.saved")):
        raise ConfigError(
            f"{options.folder}: holds a saved run already. Name a new folder, so that nothing is overwritten."
        )
    for path in save_nodes(folder, play=options.play, namespace=options.namespace):
        print(path)
    where = options.namespace and f" --namespace {options.namespace}"
    print(f"go on from here: ./rotor up {folder / 'scenario.yaml'} --resume {folder}{where}")
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("folder", help="where simulator, planner and controller are saved")
    sub.add_argument("--play", action="store_true", help="then fly on; default: it stays paused")
    add_namespace(sub)


VERBS.register(
    "save",
    Verb(
        "Pause a running graph and save its nodes, to go on from there later.",
        "./rotor save my/half",
        _arguments,
        _save,
    ),
)
