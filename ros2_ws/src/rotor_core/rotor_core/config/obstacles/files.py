"""Meshes and height fields that obstacles name by their files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.config.obstacles.obstacle import MOST_TRIANGLES
from rotor_core.config.yaml.files import locate_file, shown, words_of
from rotor_core.config.yaml.structure import mapping_of
from rotor_core.config.yaml.tree import MAX_BYTES, Tree
from rotor_core.errors import ConfigError

MESH_FILES = (".stl", ".obj", ".ply")

FOLDER = "scenarios"
"""Folder of config/ in which such files are looked for, beside the scenario and the working directory."""


def with_obstacle_files(environment: Tree) -> Tree:
    """An environment with what the files of its obstacles hold in place of their names.

    Raises:
        ConfigError: with the place of the key, or with file and line.
    """
    fields = mapping_of(environment, "environment")
    obstacles = fields.get("obstacles")
    if obstacles is None or not isinstance(obstacles.value, list):
        return environment
    fields["obstacles"] = obstacles.with_value([_read(o) for o in obstacles.value])
    return environment.with_value(fields)


def _read(obstacle: Tree) -> Tree:
    """An obstacle with numbers in place of a file."""
    shape = obstacle.value.get("shape") if isinstance(obstacle.value, dict) else None
    if shape is None or not isinstance(shape.value, dict):
        return obstacle
    keys = dict(shape.value)
    for file_key, key, read in (
        ("mesh_file", "triangles_m", _mesh),
        ("heights_file", "heights_m", _heights),
    ):
        if file_key not in keys:
            continue
        if key in keys:
            raise ConfigError(
                f"{keys[file_key].place}: {file_key}: give {file_key} or {key}, not both."
            )
        name = keys.pop(file_key)
        keys[key] = _tree(name, read(locate_file(name, file_key, FOLDER)).tolist())
    return obstacle.with_value({**obstacle.value, "shape": shape.with_value(keys)})


def _tree(place: Tree, value: Any) -> Tree:
    """Nested lists as a tree."""
    if isinstance(value, list):
        return place.with_value([_tree(place, entry) for entry in value])
    return place.with_value(value)


def _mesh(path: Path) -> np.ndarray:
    """Triangles of a mesh, (n, 3, 3) m."""
    if path.suffix.lower() not in MESH_FILES:
        raise ConfigError(f"{path}: a mesh must be one of {', '.join(MESH_FILES)}.")
    if path.stat().st_size > MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_BYTES} bytes. Simplify the mesh.")
    trimesh: Any = import_module("trimesh")  # only who names a mesh needs it
    try:
        triangles = np.array(trimesh.load(path, force="mesh", process=False).triangles)
    except Exception as error:  # whatever its readers stumble over
        raise ConfigError(
            f"{path}: cannot be read as a mesh ({type(error).__name__}: {error})."
        ) from error
    if triangles.shape[1:] != (3, 3) or not np.isfinite(triangles).all():
        raise ConfigError(f"{path}: does not hold triangles with finite corners.")
    if len(triangles) > MOST_TRIANGLES:
        raise ConfigError(
            f"{path}: has {len(triangles)} triangles, at most {MOST_TRIANGLES} are allowed. Simplify the mesh."
        )
    return triangles


def _heights(path: Path) -> np.ndarray:
    """Rows of heights, m."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_BYTES} bytes.")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text ({error}).") from error
    rows = []
    for number, line in enumerate(lines, 1):
        words = words_of(line, f"{path}:{number}")
        if not words:
            continue
        try:
            rows.append([float(word) for word in words])
        except ValueError as error:
            raise ConfigError(
                f"{path}:{number}: {shown(line.strip())} is not a row of heights in m."
            ) from error
        if len(rows[-1]) != len(rows[0]):
            raise ConfigError(
                f"{path}:{number}: has {len(rows[-1])} heights, the first row {len(rows[0])}."
            )
    if not rows:
        raise ConfigError(f"{path}: holds no heights. Write a row of numbers in m per line.")
    return np.array(rows)
