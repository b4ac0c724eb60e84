"""A flight that is saved in the middle and resumed later with the same bits.

The file holds the scenario and the state of the whole closed loop as named arrays and plain values: bodies, joints,
rotors, the taut set, inflow and batteries, memory of controllers and filters, random streams, the position in the
plans. Nothing in it is executed. It belongs to the version that wrote it.
"""

from __future__ import annotations

from pathlib import Path

from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_core.saved.capture import Keep
from rotor_core.saved.file import read_saved, write_saved
from rotor_flight.loop import ClosedLoop
from rotor_sim.saving import CAPTURE, check_size, described, rebuild, scenario_of

MAGIC = b"rotor flight 5\n"


def check_place(scenario: Scenario, path: Path) -> None:
    """Check before anything is flown that a flight can be saved there.

    Raises:
        ConfigError: it flies a mission, or under a program of others, whose state cannot be saved; or the file exists.
    """
    if scenario.mission is not None:
        raise ConfigError(
            "a flight with a mission cannot be saved: its steps are a running program. Fly it again from the start, "
            "which gives the same bits."
        )
    if isinstance(scenario.controller, Counterpart):
        raise ConfigError(
            "a flight under a shared library or an autopilot cannot be saved: nobody knows what that keeps. Fly it "
            "again from the start."
        )
    if path.exists():
        raise ConfigError(
            f"{path}: exists already. Name a new file, so that nothing is overwritten."
        )


def save(loop: ClosedLoop, path: Path) -> None:
    """Save a loop; it can go on at once, too.

    Raises:
        ConfigError: it flies a mission, whose steps cannot be saved; or the file exists or cannot be written.
    """
    check_place(loop.simulation.scenario, path)
    arrays: Keep = {}
    state = CAPTURE.take(loop, arrays)
    write_saved(path, MAGIC, described(loop.simulation) | {"state": state}, arrays)


def load(path: Path) -> ClosedLoop:
    """A loop that was saved.

    Raises:
        ConfigError: no such file, not whole, of another version, or not a saved flight.
    """
    head, arrays = read_saved(path, MAGIC, "a saved flight (./rotor fly --save)")
    try:
        loop = ClosedLoop(scenario_of(head))
        rebuild(loop.simulation, head)
        check_size(loop.simulation, arrays)
        CAPTURE.put(loop, head["state"], arrays)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ConfigError(f"{path}: is not a flight ({error}).") from error
    return loop
