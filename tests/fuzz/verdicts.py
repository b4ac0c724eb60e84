"""Verdicts on an input: it is accepted, or refused in one clear line. All else is a failure."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fuzz import budget

from rotor_core.errors import RotorError

PATIENCE = 20
"""An input that takes more processor time than this hangs, s."""

LARGEST_GROWTH = 2_000_000_000
"""An input may not ask for more memory than this, bytes."""

LONGEST_LINE = 8000
"""Characters of a message that somebody still reads."""

SHOWN = 20
"""Failures that the test prints."""

KNOWN: dict[str, str] = {}
"""Defects that wait for their repair: a pattern of their failure, and what it is. Such inputs are counted apart."""

ACCEPTED, REFUSED = "accepted", "refused"


class HangError(Exception):
    """An input took too long."""


class UnclearError(Exception):
    """A message that a user cannot read."""


def check_line(text: str) -> None:
    """A message is one readable line, without parts of the program's inside.

    Raises:
        UnclearError: it is not.
    """
    bad = [what for what in ("Traceback", "Tree(", " object at 0x", "dtype=") if what in text]
    if not text.strip() or len(text.splitlines()) != 1 or not text.isprintable() or bad:
        raise UnclearError(f"not one clear line: {text[:300]!r}")
    if len(text) > LONGEST_LINE:
        raise UnclearError(f"{len(text)} characters: {text[:300]!r}")


@contextmanager
def limited(seconds: float = PATIENCE) -> Iterator[None]:
    """Interrupt what takes more processor time than this, and refuse it more memory than :data:`LARGEST_GROWTH`."""

    def stop(*_: object) -> None:
        raise HangError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    most = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(
        resource.RLIMIT_AS, (pages * resource.getpagesize() + LARGEST_GROWTH, most[1])
    )
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        resource.setrlimit(resource.RLIMIT_AS, most)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Tally:
    """Verdicts of a suite."""

    suite: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    known: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)

    def count(self, verdict: str, n: int = 1) -> None:
        """Add inputs with a verdict."""
        self.inputs += n
        if verdict == ACCEPTED:
            self.accepted += n
        else:
            self.refused += n

    def fail(self, number: int, why: str) -> None:
        """Add an input that broke something."""
        self.inputs += 1
        if any(re.search(pattern, why) for pattern in KNOWN):
            self.known += 1
        else:
            self.failures.append((number, why))

    def close(self) -> None:
        """Write the report, where one is asked for; fail the test if an input failed."""
        self._report()
        kinds: dict[str, list[int]] = {}
        for number, why in self.failures:
            kinds.setdefault(why, []).append(number)
        lines = [
            f"ROTOR_FUZZ_SEED={budget.SEED} ROTOR_FUZZ_ONLY={self.suite}:{numbers[0]} ({len(numbers)} times): {why}"
            for why, numbers in list(kinds.items())[:SHOWN]
        ]
        assert not self.failures, f"{len(self.failures)} of {self.inputs} inputs:\n" + "\n".join(
            lines
        )

    def _report(self) -> None:
        name = os.environ.get("ROTOR_FUZZ_REPORT")
        if not name:
            return
        path = Path(name)
        told = json.loads(path.read_text()) if path.exists() else {}
        told[self.suite] = {
            "seed": budget.SEED, "inputs": self.inputs, "accepted": self.accepted, "refused": self.refused, "known": self.known,
            "failures": [[self.suite, number, why] for number, why in self.failures],
        }  # fmt: skip
        path.write_text(json.dumps(told, indent=1) + "\n")


def _reason(error: BaseException) -> str:
    """Type, text and innermost places of an error: the same for the same defect."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    notes = "".join(f" ({note[:300]})" for note in getattr(error, "__notes__", []))
    return f"{type(error).__name__}: {str(error)[:200]!r} at {places}{notes}"


def judge(suite: str, attempt: Callable[[np.random.Generator, int], str]) -> None:
    """Give every input of a suite to ``attempt``, which returns its verdict or raises.

    A RotorError with clear lines, one a mistake, is a refusal; everything else that is raised is a failure.
    """
    tally = Tally(suite)
    for number in budget.numbers(suite):
        try:
            with limited():
                try:
                    verdict = attempt(budget.stream(suite, number), number)
                except RotorError as error:
                    for line in (str(error), *error.lines):
                        check_line(line)
                    verdict = REFUSED
        except (Exception, SystemExit) as error:  # whatever it is, it is told
            tally.fail(number, _reason(error))
        else:
            tally.count(verdict)
    tally.close()
