"""Which sources end up in a compiled kernel: its file, and all that this file imports, one through the other.

A cached kernel holds copies of the kernels that it calls, so that it is old as soon as one of their files changes. What
no kernel imports may change without a compiler.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rotor_core.registry import REGISTRIES, points_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PACKAGES = (
    "rotor_core", "rotor_dynamics", "rotor_sim", "rotor_control", "rotor_planning", "rotor_flight", "rotor_adapters",
)  # fmt: skip
"""Packages with kernels."""

GROUPS = ("rotor.forces", "rotor.integrators")
"""Groups of entry points whose kernels become part of ours."""

WITHOUT_KERNELS = {"ros", "messages", "config"}
"""Folders of these packages in which there is none, and nothing that a kernel names."""

TABLES = "rotor_core.config.extensions"
"""Module there with the tables of these groups: who imports it names what they hold."""

IN_EVERY = ("rotor_core.kernels", "rotor_core.numbers")
"""What says how any kernel is compiled, and what its numbers are."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.M
)


@functools.cache
def _points() -> list[EntryPoint]:
    return [point for group in GROUPS for point in points_of(group)]


@functools.cache
def _modules_in_tables() -> set[str]:
    importlib.import_module(TABLES)
    places = {place.partition(":")[0] for g in GROUPS for place in REGISTRIES[g].builtin.values()}
    return places.union(point.module for point in _points())


def _packages() -> set[str]:
    """Packages that may have kernels: ours, and those of entry points."""
    return {*PACKAGES, *(point.module.partition(".")[0] for point in _points())}


@functools.cache
def _folder(package: str) -> Path | None:
    """Folder of a package of kernels, ours or of an entry point; the file of one that is a single module."""
    spec = importlib.util.find_spec(package) if package in _packages() else None
    if spec is None:
        return None  # not a package with kernels, or its use will say that it is missing
    for folder in spec.submodule_search_locations or []:
        return Path(folder)
    return Path(spec.origin) if spec.origin and Path(spec.origin).is_file() else None


@functools.cache
def file_of(module: str) -> Path | None:
    """File of a module in which a kernel may be; None elsewhere. Nothing is imported."""
    package, *inside = module.split(".")
    folder = _folder(package)
    if folder is None or folder.is_file():
        return folder
    if package in PACKAGES and WITHOUT_KERNELS & set(inside) and module != TABLES:
        return None
    for file in (
        folder.joinpath(*inside).with_suffix(".py"),
        folder.joinpath(*inside, "__init__.py"),
    ):
        if file.is_file():
            return file
    return None


def _modules_in(package: str) -> Iterator[str]:
    """Modules of a package, or below a part of one, in which a kernel may be."""
    first = file_of(package)
    if first is None:
        return
    yield package
    if first.name == "__init__.py":
        for file in sorted(first.parent.rglob("*.py")):
            inside = file.relative_to(first.parent).with_suffix("").parts
            module = ".".join((package, *inside)).removesuffix(".__init__")
            if module != package and file_of(module):
                yield module


def _named_in(text: str, module: str, file: Path) -> set[str]:
    """Modules that a source imports, and those in a table that it imports."""
    around = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for dots, start, names, whole in _IMPORT.findall(text):
        words = re.findall(r"[\w.]+", re.sub(r"#.*", "", names or whole))
        if whole:
            found.update(words)
            continue
        above = around[: len(around) - len(dots) + 1] if dots else []
        start = ".".join([*above, *filter(None, [start])])
        found.add(start)
        found.update(f"{start}.{word}" for word in words)
    if TABLES in found:
        found |= _modules_in_tables()
    return {name for name in found if file_of(name)}


@functools.cache
def _read(module: str, file: Path) -> tuple[bytes, frozenset[str]]:
    """Digest of a source, and the modules that it names."""
    text = file.read_bytes()
    named = _named_in(text.decode(errors="replace"), module, file)
    return hashlib.sha256(text).digest(), frozenset(named)


@functools.cache
def _named_by(module: str, file: Path) -> dict[str, Path]:
    """A module and all that it names, one through the other."""
    seen, open_ = {module: file}, [module]
    while open_:
        module = open_.pop()
        for named in _read(module, seen[module])[1]:
            if named not in seen and (found := file_of(named)):
                seen[named] = found
                open_.append(named)
    return seen


def _digest(modules: dict[str, Path]) -> str:
    """Fingerprint of modules and of all that they name.

    Where the files lie does not count: a clone, a workspace and a wheel of the same sources share their kernels.
    """
    seen: dict[str, Path] = {}
    for module, file in modules.items():
        if module not in seen:
            seen = _named_by(module, file) | seen
    digest = hashlib.sha256()
    for module in sorted(seen):
        digest.update(module.encode() + b"\0" + _read(module, seen[module])[0])
    for point in _points():  # their numbers are their places in a table
        digest.update(f"{point.group} {point.name} {point.value}\n".encode())
    return digest.hexdigest()[:16]


def _files(modules: Iterable[str]) -> dict[str, Path]:
    return {module: file for module in modules if (file := file_of(module))}


@functools.cache
def _in_every() -> dict[str, Path]:
    return _files(m for part in IN_EVERY for m in _modules_in(part))


@functools.cache
def stamp_of(module: str, file: str) -> str:
    """Fingerprint of all sources that may be in the kernels of a file.

    Args:
        module: its name.
        file: where it lies.
    """
    return _digest({module: Path(file)} | _in_every())


@functools.cache
def stamp_of_kernels() -> str:
    """Fingerprint of all sources that may be in any kernel of ours."""
    makers = ("kernels.jit", "kernels.link")
    modules = _files(m for package in PACKAGES for m in _modules_in(package))
    return _digest(
        {m: f for m, f in modules.items() if any(w.endswith(makers) for w in _read(m, f)[1])}
    )


@functools.cache
def stamp_of_packages() -> str:
    """Fingerprint of all sources of the packages with kernels, of those that run uncompiled as well."""
    return _digest(_files(m for package in sorted(_packages()) for m in _modules_in(package)))
