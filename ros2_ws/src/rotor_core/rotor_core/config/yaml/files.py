"""Files that a scenario points to: where they are looked for, and waypoints from a table."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rotor_core.config.catalog import config_directory
from rotor_core.config.yaml.tree import MAX_BYTES, Tree
from rotor_core.errors import ConfigError

SHOWN = 60
"""Characters of a foreign text that messages repeat."""


def shown(text: str) -> str:
    """A foreign text for messages, quoted and short."""
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def locate_file(name: Tree, key: str, folder: str) -> Path:
    """File of a key: beside the YAML file, in the working directory, or in a folder of config/.

    Raises:
        ConfigError: there is no such file.
    """
    text = name.value
    if not isinstance(text, str):
        raise ConfigError(f"{name.place}: {key}: must be the name of a file.")
    for path in (Path(name.file).parent / text, Path(text), config_directory() / folder / text):
        with contextlib.suppress(OSError, ValueError):  # names that cannot be those of files
            if path.is_file():
                return path
    raise ConfigError(
        f"{name.place}: {key}: there is no file {shown(text)}; looked beside this file, in the working directory "
        f"and in {config_directory() / folder}."
    )


def words_of(line: str, place: str) -> list[str]:
    """Numbers of a line of a table, between blanks, commas or semicolons; behind # is a remark.

    Raises:
        ConfigError: it has both, as where commas are decimal, or nothing between two; ``place`` begins the message.
    """
    line = line.split("#")[0]
    if "," in line and ";" in line:
        raise ConfigError(
            f"{place}: {shown(line.strip())} has commas and semicolons. Write decimal points, and one of them between "
            "numbers."
        )
    cells = line.strip().rstrip(",;").replace(";", ",").split(",")
    if len(cells) > 1 and not all(cell.strip() for cell in cells):
        raise ConfigError(
            f"{place}: {shown(line.strip())} has an empty cell. Write a number there, or what follows moves to "
            "the left."
        )
    return " ".join(cells).split()


def waypoints_from_table(name: Tree) -> Tree:
    """Waypoints of a text file: x, y, z per line, by commas or spaces; ``#`` begins a comment.

    A first line ``x, y, z`` is passed over.

    Raises:
        ConfigError: unreadable, or a line that is not three numbers, with file and line.
    """
    path = locate_file(name, "waypoints_file", "trajectories")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(
                f"{path}: is larger than {MAX_BYTES} bytes. This is not a list of points."
            )
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text ({error}).") from error
    points: list[Tree] = []
    header = True
    for number, line in enumerate(lines, 1):
        words = words_of(line, f"{path}:{number}")
        if not words:
            continue
        try:
            numbers = [float(word) for word in words]
        except ValueError as error:
            if header and [word.lower() for word in words] == ["x", "y", "z"]:
                header = False
                continue
            raise ConfigError(
                f"{path}:{number}: {shown(line.strip())} is not three numbers x, y, z in m."
            ) from error
        header = False
        if len(numbers) != 3:
            raise ConfigError(
                f"{path}:{number}: needs three numbers x, y, z in m, got {len(numbers)}."
            )
        place = Tree(None, str(path), number)
        points.append(place.with_value([place.with_value(x) for x in numbers]))
    if not points:
        raise ConfigError(f"{path}: holds no point. Write x, y, z in m, one point per line.")
    return name.with_value(points)
