"""The error tree. Texts say: place: what is required, what was found; remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def printable(text: str) -> str:
    """A text whose foreign parts cannot steer a terminal or begin a line: what cannot be shown is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class RotorError(Exception):
    """Base of everything this suite raises on purpose."""

    @property
    def lines(self) -> list[str]:
        """All that it has to tell a user, mistake by mistake."""
        return [str(self)]


class ConfigError(RotorError):
    """A file or an option given by the user is wrong; the text, one line, names file, line and remedy."""

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))

    def within(self, place: str) -> ConfigError:
        """The same, told of what it is a part of: ``place`` comes before every line."""
        errors = [ConfigError(f"{place}: {line}") for line in self.lines]
        return errors[0] if len(errors) == 1 else ConfigErrors(errors)


MOST_MISTAKES = 20
"""Mistakes that are looked for in one place, and told."""


class ConfigErrors(ConfigError):
    """Several mistakes in what a user gave; the text is that of the first, and how many there are beside it.

    Args:
        errors: two or more.
    """

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        self._errors = tuple(errors)
        lines = list(dict.fromkeys(line for error in errors for line in error.lines))
        self._lines, more = lines[:MOST_MISTAKES], len(lines) - 1
        if len(lines) > MOST_MISTAKES:
            self._lines.append(f"and {len(lines) - MOST_MISTAKES} more.")
        super().__init__(lines[0] + (f" (And {more} more.)" if more else ""))

    def __reduce__(self) -> tuple:
        """Worker processes hand it on."""
        return type(self), (self._errors,)

    @property
    def lines(self) -> list[str]:
        """All of them, a line each."""
        return self._lines


class Mistakes:
    """Collects mistakes, so that a user hears of all at once."""

    def __init__(self) -> None:
        self._found: list[ConfigError] = []

    @property
    def are_many(self) -> bool:
        """True if it is no use to look for more."""
        return len(self._found) >= MOST_MISTAKES

    def add(self, error: ConfigError) -> None:
        """Keep one."""
        self._found.append(error)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what is wrong inside, and go on with what follows."""
        try:
            yield
        except ConfigError as error:
            self.add(error)

    def tell(self) -> None:
        """Raise what was kept.

        Raises:
            ConfigError: there was something.
        """
        if len(self._found) > 1:
            raise ConfigErrors(self._found) from self._found[0]
        if self._found:
            raise self._found[0]


class ModelError(RotorError):
    """A system cannot be built or started as described."""


class SolverError(RotorError):
    """The integration cannot go on; ``state`` is the last good state, ``time`` its instant."""

    def __init__(self, text: str, *, time: float = float("nan"), state: object = None) -> None:
        super().__init__(text)
        self.time = time
        self.state = state


class ContractError(RotorError):
    """A caller broke the contract of a function (shape, range, not finite)."""


class UnknownNameError(ContractError, KeyError):
    """There is nothing of this name; the text lists the known ones."""

    __str__ = Exception.__str__  # a KeyError shows its text in quotes
