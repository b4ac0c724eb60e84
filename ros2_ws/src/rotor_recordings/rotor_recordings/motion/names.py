"""Paths that a user names: a file or folder that exists, and the bag in a result folder."""

from __future__ import annotations

from pathlib import Path

from rotor_core.config.yaml.structure import word
from rotor_core.errors import ConfigError


def existing(name: str, kinds: str) -> Path:
    """The file or folder of a name.

    Raises:
        ConfigError: there is none; the text says which ``kinds`` there are.
    """
    try:
        path = Path(name).expanduser()
        if name and path.exists():
            return path
    except (OSError, ValueError, RuntimeError):  # no names of files; no such user
        pass
    raise ConfigError(f"{word(name) or repr(name)}: there is no such file or folder. Give {kinds}.")


def bag_in(path: Path, kinds: str) -> Path:
    """A file as it is; of a folder the bag that it is, or the one bag in it (a result folder of `./rotor`).

    Raises:
        ConfigError: there is no bag, or more than one.
    """
    if not path.is_dir() or (path / "metadata.yaml").exists():
        return path
    inside = sorted(path.glob("*/metadata.yaml"))
    if len(inside) == 1:
        return inside[0].parent
    if any(path.glob("*.mcap")):
        return path  # a bag that was cut off
    if (path / "summary.json").exists():  # of ./rotor fly
        raise ConfigError(
            f"{word(str(path))}: holds the figures of a flight, but no recording of it. Fly it with --record, or give "
            f"{kinds}."
        )
    raise ConfigError(f"{word(str(path))}: is a folder without metadata.yaml. Give {kinds}.")
