"""The header for controllers as cffi reads it, and the memory that one instance shares with its host."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI

HEADER = Path(__file__).with_name("rotor_controller.h")
"""What a library is written against."""

VERSION = 1
MOST_MOTORS = 16
MOST_LOGS = 64
"""Log variables beyond these are not read."""

LONGEST_NAME = 64
"""Characters of the name of a log variable."""

BLOCK = """
typedef struct {{
  rotor_vehicle vehicle;
  rotor_input in;
  rotor_member team[{n_team}];
  rotor_output out;
  int64_t status;
  int64_t n_logs;
  double logs[{logs}];
  char names[{logs}][{longest}];
  char message[512];
}} rotor_block;
"""


def declarations() -> str:
    """Types and functions of the header without what only a preprocessor reads."""
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", HEADER.read_text(), flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return text.replace("ROTOR_MOTORS", str(MOST_MOTORS))


@cache
def interface(n_team: int) -> FFI:
    """Types for a team of so many rows."""
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.cdef(BLOCK.format(n_team=n_team, logs=MOST_LOGS, longest=LONGEST_NAME))
    return ffi


class Block:
    """The memory of one instance, as C and NumPy see it.

    Args:
        n_team: rows of the team.
        memory: writable buffer of :func:`size_of` bytes; default: of its own.

    Attributes:
        floats, ints: all of it as doubles and as integers.
        pointer: ``rotor_block *``.
    """

    def __init__(self, n_team: int, memory: Any = None) -> None:
        self.ffi, self.n_team = interface(n_team), n_team
        self._memory = bytearray(size_of(n_team)) if memory is None else memory
        self.floats = np.frombuffer(self._memory, np.float64)
        self.ints = self.floats.view(np.int64)
        self.pointer: Any = self.ffi.cast("rotor_block *", self.ffi.from_buffer(self._memory))

    def text(self, words: Any) -> str:
        """The text of an array of characters."""
        found: Any = self.ffi.string(words)
        return found.decode(errors="replace")

    def at(self, *fields: str | int) -> int:
        """Place of a field among the doubles."""
        return self.ffi.offsetof("rotor_block", *fields) // 8


def size_of(n_team: int) -> int:
    """Bytes of a block, a whole number of doubles."""
    size = interface(n_team).sizeof("rotor_block")
    return size + -size % 8
