"""Command lines of ``./rotor``, drawn from its own parser: right and wrong values for every option of every command."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from fuzz import nasty

STAYS = {
    "demo",
    "up",
    "push",
    "put",
    "save",
    "play",
    "view",
    "bench",
    "reproduce",
    "warm",
    "scenarios",
    "doctor",
}
"""Commands that start a graph, a server or long work: they get something that they must refuse."""

DESTINATIONS = {"out", "html", "png", "gif", "save", "folder"}
SOURCES = {"scenario", "recording", "sim", "real", "bag", "what"}
GOOD_NUMBERS = ["0", "0.1", "0.2", "0.5", "1", "2", "10", "100"]
NUMBERS = [
    "nan", "inf", "-inf", "-1", "-0", "0", "1e-320", "1e-9", "1e6", "1e9", "1e300", "1e999", "", " 1 ", "1_0", "0x10", "١", "1e", "--", "x",
    "9" * 30, "9" * 5000, "1,5", "1.", "+1", "\x00", "\ud800",
]  # fmt: skip
MISSING = [
    "nowhere.yaml", "nowhere/x.yaml", "slalmo", "fifo.yaml", "folder.yaml", "folder.csv", "empty", "cut.yaml", "file", "x.npz",
    "no\ud800where",
]  # fmt: skip
PAIRS = [
    "quad1=quad1",
    "payload=quad1",
    "=",
    "a=",
    "=b",
    "quad1=1,2,3",
    "quad1=nan,0,0",
    "quad1=1,2",
    "quad1=a,b,c",
    "x=1,2,3",
    "quad1=/quad1/odom",
]
NAMES = [
    "payload.mass_kg",
    "thrust_gain",
    "latency_s",
    "cable1.length_m",
    "cable9.length_m",
    "quad1.mass_kg",
    "/rotor/plan",
    "rotortm",
    "overview",
]


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Parsers of all commands, by name."""
    (choices,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(choices)


class CommandLines:
    """Draws command lines.

    Args:
        parser: of `./rotor`.
        folder: where everything happens.
        scenarios, recordings: files that can be read.
        broken: files that may be read or not.
    """

    def __init__(
        self, parser: argparse.ArgumentParser, folder: Path, scenarios: list[str], recordings: list[str], broken: list[str]
    ) -> None:  # fmt: skip
        self._commands, self._folder = commands(parser), folder
        self._scenarios, self._recordings, self._broken = scenarios, recordings, broken
        self._names = sorted(self._commands)

    def draw(self, rng: np.random.Generator, number: int) -> list[str]:
        """One command line, of what a shell can pass: no NUL, and lone surrogates only for bytes that are no text."""
        words = self._drawn(rng, number)
        return [w.replace("\x00", "").replace("\ud800", "\udcff") for w in words]

    def _drawn(self, rng: np.random.Generator, number: int) -> list[str]:
        name = nasty.pick(rng, self._names)
        if rng.random() < 0.02:
            return [nasty.text(rng)]
        actions = [
            a for a in self._commands[name]._actions if not isinstance(a, argparse._HelpAction)
        ]
        words: list[str] = []
        for action in actions:
            if action.option_strings and rng.random() < 0.85:
                continue
            words += self._given(rng, action, number, must_fail=name in STAYS)
        if rng.random() < 0.05:
            words.insert(
                int(rng.integers(len(words) + 1)),
                nasty.pick(rng, ["--nosuch", "-h", "", "--", "-x", *nasty.TEXTS[:30]]),
            )
        if name in STAYS and not self._refused(words, actions):
            words.append("--no-such-option")
        if name == "fly":  # the last one counts
            words += ["--duration", nasty.pick(rng, ["0.02", "0.05", "nan", "1e300", "-1"])]
        return [name, *words]

    def _refused(self, words: list[str], actions: list[argparse.Action]) -> bool:
        """True if a command that stays takes a source and gets none that works."""
        sources = [
            a for a in actions if a.dest in SOURCES and not a.option_strings and a.nargs != "?"
        ]
        return bool(sources) and not any(w in (*self._scenarios, *self._recordings) for w in words)

    def _given(
        self, rng: np.random.Generator, action: argparse.Action, number: int, *, must_fail: bool
    ) -> list[str]:
        """An option with its values, or the values of a position."""
        head = [nasty.pick(rng, list(action.option_strings))] if action.option_strings else []
        if action.nargs == 0:
            return head
        if action.nargs == "?" and rng.random() < 0.3:
            return head
        n = action.nargs if isinstance(action.nargs, int) else 1
        if action.nargs in ("+", "*"):
            n = int(rng.integers(1, 4))
        if rng.random() < 0.03:
            n += int(rng.choice([-1, 1]))
        return head + [self._value(rng, action, number, must_fail=must_fail) for _ in range(n)]

    def _value(
        self, rng: np.random.Generator, action: argparse.Action, number: int, *, must_fail: bool
    ) -> str:
        if action.choices and rng.random() < 0.9:
            return str(nasty.pick(rng, list(action.choices)))
        if action.dest in DESTINATIONS:
            return self._destination(rng, number)
        if action.dest in SOURCES:
            return self._source(rng, action.dest, must_fail=must_fail)
        if action.type is not None:
            return nasty.pick(rng, GOOD_NUMBERS if rng.random() < 0.75 else NUMBERS)
        return nasty.pick(rng, PAIRS + NAMES) if rng.random() < 0.8 else nasty.text(rng)

    def _source(self, rng: np.random.Generator, dest: str, *, must_fail: bool) -> str:
        kind = rng.random()
        if must_fail:
            return nasty.pick(rng, MISSING)
        if kind < 0.25:
            return nasty.pick(rng, MISSING + self._broken)
        if kind < 0.3:
            return nasty.pick(rng, [f for f in nasty.FILES if f not in ("/dev/zero", "..", "/")])
        right = self._scenarios if dest == "scenario" else self._recordings
        wrong = self._recordings if dest == "scenario" else self._scenarios
        return nasty.pick(rng, right if rng.random() < 0.9 else wrong)

    def _destination(self, rng: np.random.Generator, number: int) -> str:
        """Inside the folder, or where nothing can be written."""
        inside = self._folder / "out"
        if rng.random() < 0.1:
            return str(inside / f"{number}-{int(rng.integers(1000))}")
        return nasty.pick(rng, [
            "", ".", str(self._folder), str(inside / "taken" / "x.npz"), str(self._folder / "file"), str(self._folder / "file" / "below"),
            "/proc/nothing", "/dev/null", "/dev/null/x", "/proc/self/mem", "x" * 300, "a\x00b", "\ud800", str(inside / "deep" / "er" / "x.html"),
            "~nosuchuser/x", "x.png", "x.gif", "x.html", "x.npz", "\u202ex", "a\nb",
        ])  # fmt: skip
