"""Archives of arrays that somebody gives us."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from rotor_core.config.yaml.structure import word


def read_arrays(file: Path | IO[bytes]) -> dict[str, np.ndarray]:
    """All arrays of an ``.npz`` by name; objects of Python are refused.

    Raises:
        ValueError: it cannot be read, whatever is wrong with it.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # readers of damaged files fail in many ways
        why = word(" ".join(str(error).split()))
        inside = not why or " object at 0x" in why  # says nothing to people
        raise ValueError(
            type(error).__name__ if inside else f"{type(error).__name__}: {why}"
        ) from error
