"""The result folder of a run: a new folder, the scenario, plain data."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

from rotor_core.config.loader import dump_scenario
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.structure import describe
from rotor_core.errors import ConfigError


def new_folder(out: str | None, name: str) -> Path:
    """Folder for results: ``out``, or ``results/NAME-DATE`` in the working directory.

    Raises:
        ConfigError: it exists and is not empty, or cannot be made.
    """
    folder = Path(out or Path("results") / f"{name}-{datetime.datetime.now():%Y%m%d-%H%M%S}")
    try:
        folder = folder.expanduser()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(
                f"--out {folder}: exists and is not empty. Name a new folder, so that nothing is overwritten."
            )
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {folder}: cannot be made ({error.strerror}).") from error
    except RuntimeError as error:  # the home of an unknown user
        raise ConfigError(f"--out {folder}: cannot be made ({error}).") from error
    return folder


def check_new_file(out: Path) -> None:
    """Refuse a file that is there, or that cannot be; its folder is made.

    Raises:
        ConfigError: it exists, its name cannot be one, or its folder cannot be made.
    """
    try:
        taken = out.exists()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"--out {describe(str(out))}: cannot be used ({why}).") from error
    if taken:
        raise ConfigError(
            f"--out {out}: exists already. Name a new file, so that nothing is overwritten."
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written ({error.strerror}).") from error


def write_scenario(folder: Path, scenario: Scenario) -> None:
    """Store the resolved scenario."""
    (folder / "scenario.yaml").write_text(dump_scenario(scenario))


def write_json(path: Path, value: object) -> None:
    """Store plain data; NaN and infinity become null, because JSON has neither."""
    path.write_text(json.dumps(_known(value), indent=1) + "\n")


def _known(value: object) -> object:
    """The same with null for NaN and infinity."""
    if isinstance(value, dict):
        return {k: _known(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_known(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
