"""A flight that is saved in the middle and resumed later with the same bits.

The file holds the scenario and the state of the whole closed loop as named arrays and plain values: bodies, joints,
rotors, the taut set, inflow and batteries, memory of controllers and filters, random streams, the position in the
plans. Nothing in it is executed. It belongs to the version that wrote it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from rotor_core._jit import cache_directory
from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.loader import dump_scenario, scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.plans.plan import Plan
from rotor_dynamics.accuracy import Accuracy
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.system import Weld
from rotor_flight.loop import ClosedLoop
from rotor_flight.named_arrays import Capture

MAGIC = b"rotor flight 2\n"
CAPTURE = Capture("rotor_", {"Accuracy": Accuracy, "Event": Event, "Plan": Plan})
HEAD = "head"
"""Array of the file that holds everything but arrays, as JSON."""


def _version() -> bytes:
    """Version on which bit-identical results depend: the sources of all kernels."""
    return cache_directory().name.encode() + b"\n"


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
    arrays: dict[str, np.ndarray] = {}
    plain = CAPTURE.take(loop, arrays)
    simulation = loop.simulation
    system = simulation.engine.system
    text = json.dumps(
        {
            "scenario": dump_scenario(simulation.scenario),
            "seed": simulation.seed,
            "welds": [[w.parent, w.child, list(w.p), list(w.q)] for w in system.welds],
            "lengths": [c.length for c in system.cables],
            "state": plain,
        }
    )
    stream = io.BytesIO()
    np.savez(stream, **{HEAD: np.frombuffer(text.encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
    data = stream.getvalue()
    head = MAGIC + _version() + hashlib.sha256(data).hexdigest().encode() + b"\n"
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(head + data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written ({error.strerror}).") from error


def load(path: Path) -> ClosedLoop:
    """A loop that was saved.

    Raises:
        ConfigError: no such file, not whole, of another version, or not a saved flight.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from error
    if not raw.startswith(MAGIC):
        raise ConfigError(f"{path}: is not a saved flight (./rotor fly --save).")
    stream = io.BytesIO(raw[len(MAGIC) :])
    version, digest, data = stream.readline(), stream.readline().strip(), stream.read()
    if hashlib.sha256(data).hexdigest().encode() != digest:
        raise ConfigError(f"{path}: is damaged or incomplete. Fly it again.")
    if version != _version():
        raise ConfigError(
            f"{path}: was written by another version of the simulator, which may give other bits. Fly it again."
        )
    try:
        return _rebuilt(data)
    except (ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path}: is not a flight ({error}).") from error


def _rebuilt(data: bytes) -> ClosedLoop:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    head = json.loads(arrays.pop(HEAD).tobytes())
    scenario = scenario_from_tree(parse_tree(head["scenario"], "saved flight"))
    loop = ClosedLoop(replace(scenario, seed=head["seed"]))
    simulation = loop.simulation
    welds = tuple(Weld(int(a), int(b), np.array(p), np.array(q)) for a, b, p, q in head["welds"])
    simulation.restructure(welds, head["lengths"])
    engine = simulation.engine
    for name, own in (("ints", engine.ints), ("floats", engine.floats)):
        if arrays[f"simulation.engine.{name}"].shape != own.shape:
            raise ValueError(f"its {name} are those of another world")
    CAPTURE.put(loop, head["state"], arrays)
    return loop
