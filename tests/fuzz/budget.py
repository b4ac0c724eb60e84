"""Number of inputs for each border and random stream of every input, all of it from the environment.

``ROTOR_FUZZ_INPUTS``: inputs of all borders together. ``ROTOR_FUZZ_SEED``: another seed, other inputs.
``ROTOR_FUZZ_ONLY=SUITE:NUMBER``: this input alone, to see a failure again.
"""

from __future__ import annotations

import os
import zlib

import numpy as np

SHARES = {
    "yaml": 0.30, "urdf": 0.12, "studies": 0.10, "meshes": 0.10, "autopilots": 0.12, "recordings": 0.08, "messages": 0.08, "browser": 0.05,
    "command_line": 0.03, "services": 0.015, "libraries": 0.005,
}  # fmt: skip
"""Part of all inputs that a border gets."""

LEAST = {"command_line": 100, "services": 80, "messages": 120, "libraries": 20}
"""Inputs of borders whose part of a short run would say little."""

TOTAL = int(os.environ.get("ROTOR_FUZZ_INPUTS", "1000"))
SEED = int(os.environ.get("ROTOR_FUZZ_SEED", "0"))
ONLY = os.environ.get("ROTOR_FUZZ_ONLY", "")

TIME_LIMIT = 900.0 + 0.05 * TOTAL
"""Of one test, s: its share of the long mode takes minutes."""


def numbers(suite: str) -> list[int]:
    """Numbers of the inputs of a suite."""
    if ONLY:
        name, _, number = ONLY.partition(":")
        return [int(number)] if name == suite else []
    return list(range(max(LEAST.get(suite, 1), round(TOTAL * SHARES[suite]))))


def stream(suite: str, number: int) -> np.random.Generator:
    """The random stream of an input: the same for the same seed, suite and number."""
    return np.random.default_rng([SEED, zlib.crc32(suite.encode()), number])
