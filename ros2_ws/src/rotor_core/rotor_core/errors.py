"""The error tree. Texts say: place: what is required, what was found; remedy."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text whose foreign parts cannot steer a terminal or begin a line: what cannot be shown is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class RotorError(Exception):
    """Base of everything this suite raises on purpose."""


class ConfigError(RotorError):
    """A file or an option given by the user is wrong; the text, one line, names file, line and remedy."""

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))


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
