"""Registry: named things of one kind, ours and those of other packages.

Whatever a user may add to the suite stands in such a table: control laws, trajectories, sensors, force
elements, attachments, integrators, metrics, recording formats, adapters, verbs of the command line. Ours are
registered where they are defined, or named by their place in the code; another package names its own in its metadata::

    [project.entry-points."rotor.metrics"]
    swing_max_deg = "my_package.metrics:swing_max"

and each is loaded when it is first asked for. Documentation, ``--help`` and tests go through the tables.
"""

from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rotor_core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """A kind of thing that a scenario names by ``type``.

    Attributes:
        config: frozen dataclass of its keys, with a field ``type``.
        make: makes it, or the place of the function, ``"module:name"``, which is imported at the first use. Its
            arguments are those that the table names.
    """

    config: type
    make: Callable[..., Any] | str

    @property
    def maker(self) -> Callable[..., Any]:
        """The function that makes it."""
        return resolve(self.make) if isinstance(self.make, str) else self.make


@functools.cache
def _all_points() -> Any:
    from importlib.metadata import entry_points  # its import takes longer than most commands

    return entry_points()


def points_of(group: str) -> list[EntryPoint]:
    """Entry points of other packages, by name; nothing is imported."""
    return sorted(_all_points().select(group=group), key=lambda p: p.name)


@functools.cache
def guests() -> frozenset[str]:
    """Packages of others that add something to the suite, by the first part of their modules' names."""
    groups = (group for group in _all_points().groups if group.startswith("rotor."))
    return frozenset(p.module.partition(".")[0] for group in groups for p in points_of(group))


def resolve(place: str) -> Any:
    """The object at ``module:name``."""
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


def check_kind(name: str, entry: object) -> None:
    """Refuse anything but a :class:`Kind` of a dataclass and a function.

    Raises:
        ConfigError: it is something else.
    """
    if (
        not isinstance(entry, Kind)
        or not is_dataclass(entry.config)
        or not (callable(entry.make) or isinstance(entry.make, str))
    ):
        raise ConfigError(
            f"{name!r}: must be a rotor_core.registry.Kind of a dataclass and a function, got {entry!r}."
        )


REGISTRIES: dict[str, Registry] = {}
"""All tables of this process, by their group of entry points."""


class Registry(Generic[T]):
    """Named things of one kind, in the order of their registration.

    Args:
        group: of entry points, such as ``rotor.metrics``.
        kind: of its entries, for messages: "metric".
        meaning: one line for the documentation.
        builtin: places of the suite's own by name, ``"module:name"``; each is imported at its first use.
        check: called with (name, entry) of another package; raises ConfigError for what does not fit.
    """

    def __init__(
        self,
        group: str,
        kind: str,
        meaning: str,
        *,
        builtin: Mapping[str, str] | None = None,
        check: Callable[[str, object], None] | None = None,
    ) -> None:
        self.group, self.kind, self.meaning = group, kind, meaning
        self._entries: dict[str, T] = {}
        self.builtin: Mapping[str, str] = builtin or {}
        self._places: dict[str, str | EntryPoint] = dict(self.builtin)
        self._origins: dict[str, str] = dict.fromkeys(self._places, "")
        self._check = check
        self._complete = False
        REGISTRIES[group] = self

    def register(self, name: str, entry: T, *, origin: str = "", again: bool = False) -> None:
        """Add an entry.

        Args:
            name: by which it is asked for.
            entry: the thing itself.
            origin: package that brings it; empty: this suite.
            again: it takes the place of one of the same name and origin.

        Raises:
            ConfigError: the name is taken.
        """
        if not (again and self._origins.get(name) == origin):
            self._claim(name, origin)
        self._entries[name] = entry

    def _claim(self, name: str, origin: str) -> None:
        if name in self._origins:
            owner = self._origins[name] or "this suite"
            raise ConfigError(
                f"{self.kind} {name!r}: is registered twice, by {owner} and by {origin or 'this suite'}. "
                "Rename one of them."
            )
        self._origins[name] = origin

    def _find(self) -> None:
        """Find the entry points of other packages, once; each is loaded at its first use."""
        if self._complete:
            return
        self._complete = True
        for point in points_of(self.group):
            self._claim(point.name, point.dist.name if point.dist is not None else point.value)
            self._places[point.name] = point

    def _load(self, name: str) -> T:
        place = self._places[name]
        if isinstance(place, str):
            return resolve(place)
        package = self._origins[name]
        try:
            entry = place.load()
        except Exception as error:
            raise ConfigError(
                f"{self.kind} {name!r} of {package}: cannot be loaded from {place.value} "
                f"({type(error).__name__}: {error}). Repair or uninstall {package}."
            ) from error
        if self._check is not None:
            self._check(name, entry)
        return entry

    def __getitem__(self, name: str) -> T:
        """The entry of this name.

        Raises:
            ConfigError: the name is unknown (the nearest one is suggested), or its package cannot be loaded.
        """
        self._find()
        if name not in self._origins:
            near = difflib.get_close_matches(name, self._origins, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ConfigError(
                f"{self.kind} {name!r}: does not exist{hint} Known: {', '.join(self)}."
            )
        if name not in self._entries:
            self._entries[name] = self._load(name)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        self._find()
        return name in self._origins

    def __iter__(self) -> Iterator[str]:
        self._find()
        return iter(tuple(self._origins))

    def __len__(self) -> int:
        self._find()
        return len(self._origins)

    def items(self) -> Iterator[tuple[str, T]]:
        """Names and entries; loads all."""
        return ((name, self[name]) for name in self)

    def values(self) -> Iterator[T]:
        """Entries; loads all."""
        return (self[name] for name in self)

    def origin(self, name: str) -> str:
        """Package that brings an entry; empty: this suite."""
        self._find()
        return self._origins[name]
