"""Verdict on a flight: one word, its reason, and an exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

EXIT_CODES = {"flown": 0, "landed": 0, "lost": 1, "unfinished": 1, "limits": 4}
"""Exit codes of commands by kind of verdict; 2 is a user's mistake, 3 a simulation that could not go on."""


SLOW = 0.3
"""Speed of a vehicle below which it rests at the end of a mission, m/s."""


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


def with_mission(
    verdict: Verdict, mission: Mapping[str, str], vehicles: Sequence[str], velocities: np.ndarray
) -> Verdict:
    """A verdict that also says how a mission has ended.

    Args:
        verdict: on everything else.
        mission: its ``status`` and ``message`` at the end of the flight.
        vehicles: names.
        velocities: of the vehicles at the end, (n_vehicles, 3) m/s.
    """
    if verdict.kind == "lost":
        return verdict
    if mission["status"] in ("failed", "unfinished"):
        return Verdict("unfinished", f"mission {mission['status']}: {mission['message']}")
    speeds = np.linalg.norm(velocities, axis=1)
    if speeds.max(initial=0.0) > SLOW:
        fastest = int(speeds.argmax())
        text = f"{vehicles[fastest]} still moves at {speeds[fastest]:.2f} m/s at the end"
        return Verdict("unfinished", text)
    return verdict
