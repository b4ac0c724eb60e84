"""Location and contents of the shipped configuration."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rotor_core.config.yaml.structure import describe, suggestion, word
from rotor_core.errors import ConfigError
from rotor_core.share import candidates

FOLDERS = (
    "scenarios", "vehicles", "payloads", "attachments", "controllers", "trajectories", "remaps",
    "studies", "tasks",
)  # fmt: skip


def _candidates() -> Iterator[Path]:
    if os.environ.get("ROTOR_CONFIG_DIR"):
        yield Path(os.environ["ROTOR_CONFIG_DIR"])
    yield from candidates("config")


def config_directory() -> Path:
    """Folder with scenarios/, vehicles/ and so on.

    ``ROTOR_CONFIG_DIR``, the installed share, or the repository.

    Raises:
        ConfigError: none of them exists.
    """
    for folder in _candidates():
        if (folder / "scenarios").is_dir():
            return folder
    raise ConfigError(
        "configuration folder: not found. Build the workspace, or set ROTOR_CONFIG_DIR to the folder config/."
    )


def rviz_configuration(name: str) -> Path:
    """File of a shipped RViz configuration (overview, wide, tuning) or of a path.

    Raises:
        ConfigError: there is no such file.
    """
    folder = config_directory().parent / "rviz"
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # as in :func:`locate`
        for path in (folder / f"{name}.rviz", Path(name).expanduser()):
            if path.is_file():
                return path
    names = sorted(p.stem for p in folder.glob("*.rviz"))
    raise ConfigError(
        f"{describe(name)}: no RViz configuration of this name{suggestion(name, names)}"
    )


def shipped(folder: str) -> list[str]:
    """Names of the shipped files of a folder, sorted."""
    return sorted(p.stem for p in (config_directory() / folder).glob("*.yaml"))


def locate(folder: str, name: str, *, place: str = "") -> Path:
    """File of a shipped name or of a path (relative to the working directory).

    Raises:
        ConfigError: there is no such file; the nearest shipped name is suggested.
    """
    is_path = name.endswith((".yaml", ".yml")) or "/" in name
    other = ""
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # no names of files; no such user
        path = Path(name).expanduser() if is_path else config_directory() / folder / f"{name}.yaml"
        if path.is_file():
            return path
        there = Path(name).expanduser()
        other = "is a folder" if there.is_dir() else "is no .yaml" if there.is_file() else ""
    if is_path or other:
        where = "" if Path(name).is_absolute() else f" (from {Path.cwd()})"
        found = other or f"there is no such file{where}"
        raise ConfigError(
            f"{place}{word(name)}: {found}. Check the path, or use one of the shipped {folder}."
        )
    names = shipped(folder)
    kind = "study" if folder == "studies" else folder.rstrip("s")
    raise ConfigError(
        f"{place}{describe(name)}: no shipped {kind} of this name{suggestion(name, names)}"
    )
