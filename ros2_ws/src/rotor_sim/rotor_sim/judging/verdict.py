"""Verdict on a flight: one word, its reason, and an exit code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EXIT_CODES = {"flown": 0, "landed": 0, "lost": 1, "unfinished": 1, "limits": 4}
"""Exit codes of commands by kind of verdict; 2 is a user's mistake, 3 a simulation that could not go on."""


@dataclass(frozen=True)
class Verdict:
    """Verdict on a flight.

    Attributes:
        kind: flown; landed (motors off at the end); limits (the rotors could not give what was asked for); unfinished
            (a mission that did not reach its end); lost.
        text: reason or figures; may be empty.
        time: of the loss since the start, s; None where nothing was lost.
    """

    kind: Literal["flown", "landed", "limits", "unfinished", "lost"]
    text: str = ""
    time: float | None = None

    @property
    def exit_code(self) -> int:
        """Exit code of a command that ends with this verdict."""
        return EXIT_CODES[self.kind]

    @property
    def is_good(self) -> bool:
        """True if the flight did what was asked of it."""
        return self.exit_code == 0

    def __str__(self) -> str:
        when = "" if self.time is None else f" at {self.time:.1f} s"
        return f"{self.kind}{when}" + (f": {self.text}" if self.text else "")

    @staticmethod
    def kind_of(words: str) -> str:
        """The kind in the words of a verdict."""
        return words.split(maxsplit=1)[0].rstrip(":")

    def summary(self) -> dict:
        """Plain data, for files."""
        return {
            "words": str(self),
            "kind": self.kind,
            "text": self.text,
            "time_s": self.time,
            "exit_code": self.exit_code,
        }
