"""Data that comes with the suite: configuration, RViz files, definitions of messages.

It lies in the share folder of an installed workspace, in the repository, or in the wheel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rotor_core.errors import ConfigError

WHEEL = Path("rotor") / "share"
"""Folder of the data beside the packages of the wheel."""


def _prefixes() -> Iterator[Path]:
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix) / "share"


def candidates(name: str) -> Iterator[Path]:
    """Places where a folder of the repository (config, rviz, examples, launch) may lie."""
    for share in _prefixes():
        yield share / "rotor_bringup" / name
    for parent in Path(__file__).resolve().parents:
        yield parent / name
        yield parent / WHEEL / name


def message_folder(package: str) -> Path:
    """Folder of the .msg files of a package.

    Raises:
        ConfigError: the package is not installed.
    """
    places = [share / package for share in _prefixes()]
    for parent in Path(__file__).resolve().parents:
        places += [parent / "ros2_ws" / "src" / package, parent / WHEEL / package]
    for place in places:
        if (place / "msg").is_dir():
            return place / "msg"
    raise ConfigError(
        f"{package}: is not installed, so its messages are not known. Source the workspace that holds it."
    )
