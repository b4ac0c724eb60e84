"""Commands that act on a simulator that is running: push an entity, put the world where a recording was."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rotor_core.interface.errors import ConfigError
from rotor_lab.arguments import positive_number

if TYPE_CHECKING:  # the command line answers `--help` without NumPy
    import numpy as np

    from rotor_lab.flight import Flight

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


def _push(options: argparse.Namespace) -> int:
    from rotor_lab.processes import parameter_text
    from rotor_lab.ros.wrench_teleop_node import main

    return main(["--ros-args", "-p", f"entity:={parameter_text(options.entity)}"])


def _put(options: argparse.Namespace) -> int:
    from rotor_lab.bag import read_flight
    from rotor_lab.ros.put_state import put_state

    states = state_at(read_flight(Path(options.bag)), options.at)
    print(put_state(states, project=not options.exact, play=options.play))
    return 0


def _play(options: argparse.Namespace) -> int:
    from rotor_lab.processes import parameter_text
    from rotor_lab.ros.player_node import main

    arguments = [
        "--ros-args",
        "-p",
        f"bag:={parameter_text(options.bag)}",
        "-p",
        f"rate:={options.rate}",
    ]
    arguments += ["-p", f"start_s:={options.start}"]
    if options.topics:
        arguments += ["-p", f"topics:={parameter_text(' '.join(options.topics))}"]
    return main(arguments)


def add_live_commands(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands to a parser; ``add`` as in :func:`rotor_lab.cli.parser`."""
    sub = add(
        "push",
        _push,
        "Push an entity of a running simulator by keyboard or gamepad (topic joy).",
        "./rotor push payload",
    )
    sub.add_argument("entity", nargs="?", default="payload", help="who (default: payload)")
    sub = add(
        "put",
        _put,
        "Pause a running simulator and put it into a recorded state.",
        "./rotor put results/demo/bag --at 3.5 --play",
    )
    sub.add_argument("bag", help="folder of a recording of this suite")
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
    sub = add(
        "play",
        _play,
        "Publish the messages of a bag, where `ros2 bag play` is not installed.",
        "./rotor play results/demo/bag --topics /rotor/plan",
    )
    sub.add_argument("bag", help="folder of a bag")
    sub.add_argument("--topics", nargs="+", metavar="TOPIC", help="default: all but /clock")
    sub.add_argument(
        "--rate", type=positive_number, default=1.0, metavar="F", help="recorded over wall time"
    )
    sub.add_argument("--start", type=float, default=0.0, metavar="S", help="begin there")
