"""Registry: named things of one kind, ours and those of other packages.

Whatever a user may add to the suite stands in such a table: control laws, trajectories, sensors, force
elements, attachments, integrators, metrics, recording formats, adapters, verbs of the command line. Ours are
registered where they are defined; another package names its own in its metadata::

    [project.entry-points."rotor.metrics"]
    swing_max_deg = "my_package.metrics:swing_max"

and they are loaded when the table is first used. Documentation, ``--help`` and tests go through the tables.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any, Generic, TypeVar

from rotor_core.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """A kind of thing that a scenario names by ``type``.

    Attributes:
        config: frozen dataclass of its keys, with a field ``type``.
        make: makes it; what it gets, its table says. None: the suite knows how.
    """

    config: type
    make: Callable[..., Any] | None = None


def check_kind(name: str, entry: object) -> None:
    """Refuse what is no :class:`Kind` with keys.

    Raises:
        ConfigError: it is something else, or cannot be made.
    """
    if not isinstance(entry, Kind) or not is_dataclass(entry.config) or entry.make is None:
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
        builtin: module whose import registers the suite's own, where that is not the module of the table.
        check: called with (name, entry) of another package; raises ConfigError for what does not fit.
    """

    def __init__(
        self,
        group: str,
        kind: str,
        meaning: str,
        *,
        builtin: str = "",
        check: Callable[[str, object], None] | None = None,
    ) -> None:
        self.group, self.kind, self.meaning = group, kind, meaning
        self._entries: dict[str, T] = {}
        self._origins: dict[str, str] = {}
        self._builtin, self._check = builtin, check
        self._complete = False
        REGISTRIES[group] = self

    def register(self, name: str, entry: T | None = None, *, origin: str = "") -> Callable:
        """Add an entry; without one, a decorator that does.

        Raises:
            ConfigError: the name is taken.
        """
        if entry is None:

            def decorate(decorated):  # type: ignore[no-untyped-def]
                self.register(name, decorated, origin=origin)
                return decorated

            return decorate
        if name in self._entries:
            owner = self._origins[name] or "this suite"
            raise ConfigError(
                f"{self.kind} {name!r}: is registered twice, by {owner} and by {origin or 'this suite'}. "
                "Rename one of them."
            )
        self._entries[name], self._origins[name] = entry, origin
        return lambda decorated: decorated

    def _load(self) -> None:
        """Load what other packages name, once."""
        if self._complete:
            return
        self._complete = True
        if self._builtin:
            importlib.import_module(self._builtin)
        from importlib.metadata import entry_points  # its import takes longer than most commands

        for point in sorted(entry_points(group=self.group), key=lambda p: p.name):
            package = point.dist.name if point.dist is not None else point.value
            try:
                entry = point.load()
            except Exception as error:
                raise ConfigError(
                    f"{self.kind} {point.name!r} of {package}: cannot be loaded from {point.value} "
                    f"({type(error).__name__}: {error}). Mend or uninstall {package}."
                ) from error
            if self._check is not None:
                self._check(point.name, entry)
            self.register(point.name, entry, origin=package)

    def __getitem__(self, name: str) -> T:
        """The entry of this name.

        Raises:
            ConfigError: there is none; the nearest name is suggested.
        """
        self._load()
        if name not in self._entries:
            near = difflib.get_close_matches(name, self._entries, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ConfigError(
                f"{self.kind} {name!r}: there is none of this name{hint} Known are {', '.join(self)}."
            )
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        self._load()
        return len(self._entries)

    def items(self) -> Iterator[tuple[str, T]]:
        """Names and entries."""
        self._load()
        return iter(tuple(self._entries.items()))

    def values(self) -> Iterator[T]:
        """Entries."""
        return (entry for _, entry in self.items())

    def origin(self, name: str) -> str:
        """Package that has brought an entry; empty: this suite."""
        self._load()
        return self._origins[name]
