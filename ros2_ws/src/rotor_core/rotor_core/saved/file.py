"""A file of saved state: named arrays and plain values, whole or refused, of one version.

Nothing in it is executed. It belongs to the version that wrote it, since another one may give other bits.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.errors import ConfigError
from rotor_core.kernels.sources import stamp_of_packages
from rotor_core.saved.arrays import read_arrays
from rotor_core.saved.durable import write_durably

HEAD = "head"
"""Array of the file that holds everything but arrays, as JSON."""


def version() -> bytes:
    """Version on which bit-identical results depend: the sources of the packages with kernels."""
    return stamp_of_packages().encode() + b"\n"


def write_saved(path: Path, magic: bytes, head: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write a file.

    Args:
        path: of the file.
        magic: its first line: what kind of state this is.
        head: plain values.
        arrays: by name.

    Raises:
        ConfigError: it cannot be written; what was there stays.
    """
    stream = io.BytesIO()
    np.savez(stream, **{HEAD: np.frombuffer(json.dumps(head).encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
    data = stream.getvalue()
    digest = hashlib.sha256(data).hexdigest().encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, magic + version() + digest + data)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror}).") from error


def read_saved(path: Path, magic: bytes, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Plain values and arrays of a file; ``what``: its kind in words.

    Raises:
        ConfigError: no such file, not whole, of another version, or of another kind.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from error
    if not raw.startswith(magic):
        raise ConfigError(f"{path}: is not {what}.")
    stream = io.BytesIO(raw[len(magic) :])
    written_by, digest, data = stream.readline(), stream.readline().strip(), stream.read()
    if hashlib.sha256(data).hexdigest().encode() != digest:
        raise ConfigError(f"{path}: is damaged or incomplete. Fly it again.")
    if written_by != version():
        raise ConfigError(
            f"{path}: was written by another version of the simulator, which may give other bits. Fly it again."
        )
    try:
        arrays = read_arrays(io.BytesIO(data))
        return json.loads(arrays.pop(HEAD).tobytes()), arrays
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{path}: is not {what} ({error}).") from error
