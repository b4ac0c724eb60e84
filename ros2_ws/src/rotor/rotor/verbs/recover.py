"""`./rotor recover`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rotor.verb import VERBS, Verb


def _recover(options: argparse.Namespace) -> int:
    from rotor_recordings.live.recover import recover

    out = Path(options.out) if options.out else None
    found = recover(Path(options.bag), out)
    flown = f"{found.messages} messages, {found.span:.2f} s"
    if found.kept is None and out is None:
        print(f"{found.path}: is whole ({flown}); nothing was changed")
        return 0
    print(f"{found.path}: {flown}; {found.lost} bytes are part of no whole message")
    if found.nameless:
        print(f"{found.nameless} whole messages are left out: what tells their topics is damaged")
    if found.skipped:
        print(f"topics whose types cannot be read are left out: {', '.join(found.skipped)}")
    if found.kept is not None:
        print(f"{found.kept}: the damaged bag, as it was")
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("bag", help="folder of the bag, a result folder, or the .mcap file")
    sub.add_argument("--out", metavar="DIR", help="write the whole bag there; default: in place")


VERBS.register(
    "recover",
    Verb(
        "Make a bag whole that was cut off while it was recorded (MCAP).",
        "./rotor recover results/demo-slalom/bag",
        _arguments,
        _recover,
    ),
)
