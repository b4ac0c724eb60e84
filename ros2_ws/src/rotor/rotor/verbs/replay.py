"""`./rotor replay CASE|BAG`."""

from __future__ import annotations

import argparse

from rotor.arguments import finite_number, positive_number
from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError


def _replay(options: argparse.Namespace) -> int:
    from rotor_recordings.predict.run import replay_case, replay_recording

    if not options.recording.lower().endswith(".json"):
        if options.step is not None:
            raise ConfigError(f"--step: is of cases (.json); {options.recording} is a recording.")
        return replay_recording(options)
    given = {
        "--at": options.at != 0.0, "--for": options.duration, "--feed": options.feed != "commands",
        "--windows": options.windows, "--scenario": options.scenario,
    }  # fmt: skip
    if of_recordings := [name for name, value in given.items() if value]:
        raise ConfigError(
            f"{', '.join(of_recordings)}: of recordings; {options.recording} is a case, which is flown from its start "
            "to its t_end."
        )
    return replay_case(options)


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("recording", help="bag, logs of Crazyflies (.npz), or JSON file of a case")
    sub.add_argument(
        "--out",
        metavar="PATH",
        help="result folder; of a case: FILE.npz (the events go beside it as .json)",
    )
    sub.add_argument(
        "--at",
        type=finite_number,
        default=0.0,
        metavar="S",
        help="begin, since the start of the recording",
    )
    sub.add_argument(
        "--for", dest="duration", type=positive_number, metavar="S", help="default: to its end"
    )
    sub.add_argument(
        "--feed",
        choices=["commands", "reference"],
        default="commands",
        help="input of the prediction: the recorded commands, or the recorded reference with our controller",
    )
    sub.add_argument(
        "--windows",
        type=positive_number,
        nargs="+",
        metavar="S",
        help="many predictions of these lengths in place of one",
    )
    sub.add_argument(
        "--scenario", default="", help="in place of that of the recording: shipped name or path"
    )
    sub.add_argument(
        "--step",
        type=positive_number,
        metavar="S",
        help="fixed step of a case (default: adaptive steps)",
    )


VERBS.register(
    "replay",
    Verb(
        "Predict a recorded flight from one of its states, or replay an open-loop case.",
        "./rotor replay results/demo/bag --at 3 --for 2 --feed reference",
        _arguments,
        _replay,
    ),
)
