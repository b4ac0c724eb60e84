"""A flight that is saved in the middle and resumed later with the same bits.

The file holds the whole closed loop: bodies, joints, rotors, the taut set, inflow and batteries, memory of controllers
and filters, random streams, the position in the plans. It is a pickle that may name only what a loop is made of, and
belongs to the version that wrote it.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path
from typing import Any

from rotor_core._jit import cache_directory
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_flight.loop import ClosedLoop

MAGIC = b"rotor flight 1\n"
OURS = (
    "rotor_core.",
    "rotor_dynamics.",
    "rotor_sim.",
    "rotor_control.",
    "rotor_planning.",
    "rotor_flight.loop",
)
"""Modules whose classes a file may name."""

OTHERS = {
    ("builtins", "slice"),
    ("collections", "deque"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.random._pcg64", "PCG64"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random.bit_generator", "SeedSequence"),
    ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    ("scipy._lib.array_api_compat.numpy._aliases", "asarray"),
    ("scipy.interpolate._interpolate", "BPoly"),
}
"""Foreign classes and functions in a stored flight: arrays, random streams, splines."""


def _method(owner: Any, name: str) -> Any:
    """In the place of ``getattr``, by which a pickle says "method of": of our objects only, and nothing deeper."""
    if not type(owner).__module__.startswith(OURS) or name.startswith("__"):
        raise pickle.UnpicklingError(f"asks for {name} of a {type(owner).__name__}")
    return getattr(owner, name)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _method
        if not module.startswith(OURS) and (module, name) not in OTHERS:
            raise pickle.UnpicklingError(f"names {module}.{name}, which no saved flight contains")
        if "." in name:  # a way into what a module has imported
            raise pickle.UnpicklingError(f"names {module}.{name}")
        found = super().find_class(module, name)
        if module.startswith(OURS) and not getattr(found, "__module__", "").startswith(OURS):
            raise pickle.UnpicklingError(f"names {module}.{name}, which is not of {module}")
        return found


def _version() -> bytes:
    """Version on which bit-identical results depend: the sources of all kernels."""
    return cache_directory().name.encode() + b"\n"


def check_place(scenario: Scenario, path: Path) -> None:
    """Check before anything is flown that a flight can be saved there.

    Raises:
        ConfigError: it flies a mission, whose steps cannot be saved; or the file exists.
    """
    if scenario.mission is not None:
        raise ConfigError(
            "a flight with a mission cannot be saved: its steps are a running program. Fly it again from the start, "
            "which gives the same bits."
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
    data = pickle.dumps(loop, protocol=pickle.HIGHEST_PROTOCOL)
    head = MAGIC + _version() + hashlib.sha256(data).hexdigest().encode() + b"\n"
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(head + data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written ({error.strerror}).") from error


def load(path: Path) -> ClosedLoop:
    """A loop that was saved.

    Raises:
        ConfigError: no such file, not whole, of another version, or it names something that no saved flight contains.
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
        loop = _Unpickler(io.BytesIO(data)).load()
    except Exception as error:
        raise ConfigError(f"{path}: is not a flight ({error}).") from error
    if not isinstance(loop, ClosedLoop):
        raise ConfigError(f"{path}: is not a flight.")
    return loop
