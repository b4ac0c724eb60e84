"""`./rotor put`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rotor.arguments import add_namespace
from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError

if TYPE_CHECKING:  # the command line answers `--help` without NumPy
    import numpy as np

    from rotor_flight.flight import Flight

NEAR = 0.05
"""A recording has a state at a time where it has one this close to it, s."""


def state_at(flight: Flight, t: float) -> dict[str, np.ndarray]:
    """States (13,) of all entities, at the sample nearest to ``t`` from the start of a recording, s.

    Raises:
        ConfigError: the recording holds no state near it.
    """
    times = flight.time - flight.time[0]
    i = int(abs(times - t).argmin())
    if not abs(times[i] - t) <= NEAR:
        raise ConfigError(f"--at: must be within the recording, 0 to {times[-1]:.3f} s, got {t:g}.")
    names = [e.name for e in flight.scenario.model.entities]
    return dict(zip(names, flight.states[i], strict=True))


def _put(options: argparse.Namespace) -> int:
    from rotor_adapters.player.put_state import put_state
    from rotor_recordings.formats.bag_flights import read_flight
    from rotor_recordings.motion.names import bag_in, existing

    kinds = "the folder of a bag"
    states = state_at(read_flight(bag_in(existing(options.bag, kinds), kinds)), options.at)
    namespace = options.namespace
    print(put_state(states, project=not options.exact, play=options.play, namespace=namespace))
    return 0


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "bag", help="folder of a recording of this suite, or of the results that hold it"
    )
    sub.add_argument(
        "--at", type=float, default=0.0, metavar="S", help="time from its start (default: 0)"
    )
    sub.add_argument(
        "--exact", action="store_true", help="refuse a state that cables forbid; default: move it"
    )
    sub.add_argument(
        "--play",
        action="store_true",
        help="then play: the planner begins its trajectory anew, from there",
    )
    add_namespace(sub)


VERBS.register(
    "put",
    Verb(
        "Pause a running simulator and put it into a recorded state.",
        "./rotor put results/demo/bag --at 3.5 --play",
        _arguments,
        _put,
    ),
)
