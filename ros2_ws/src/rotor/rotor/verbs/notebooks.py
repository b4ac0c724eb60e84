"""`./rotor notebooks`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError


def _notebooks(options: argparse.Namespace) -> int:
    from rotor_core.config.catalog import config_directory

    folder = (
        Path(options.folder) if options.folder else config_directory().parent / "docs/notebooks"
    )
    if not folder.is_dir():
        raise ConfigError(
            f"{folder}: there is no such folder. The notebooks are in docs/notebooks of a clone of the repository."
        )
    import_module("jupyterlab")  # where it is missing, the command line says what brings it

    return subprocess.run([sys.executable, "-m", "jupyterlab", folder]).returncode


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("folder", nargs="?", help="default: the shipped ones")


VERBS.register(
    "notebooks",
    Verb(
        "Open the notebooks in JupyterLab: a snap, own vehicles and laws, identification, studies, trim.",
        "./rotor notebooks",
        _arguments,
        _notebooks,
        ("notebooks",),
    ),
)
