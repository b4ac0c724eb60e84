"""Tapes of the pieces of one world, with their code: by what was decided before, and by what is decided by numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.reverse import GIVEN, HELD, NO_CODE, ROW, Code, Place, compile_backward
from rotor_dynamics import memory
from rotor_dynamics.sensitivities.backward import tapes
from rotor_dynamics.sensitivities.backward.pieces import decided
from rotor_dynamics.sensitivities.coordinates import numbers_of

LASTING = ("contacts", "discs", "histories", "routes", "pins", "sheaves", "polyhedra")
"""Tables in which a piece may leave something to a later one that the states and inputs do not tell."""

MOST_TAPES = 8
"""Tapes of pieces with the same decisions before, which differ in what was decided by numbers."""

Key = tuple[int, int]
"""Kind of a piece, and a number for what was decided before it: which cables are taut, which points touch."""


class Image(NamedTuple):
    """A world before a piece, from which on nothing but what is noted changes until the next image."""

    piece: int
    ints: np.ndarray
    floats: np.ndarray


class TapeCodes:
    """All tapes of a world.

    Args:
        structure: of the world.
        start: it stands as pieces of every kind begin.
        states: numbers of the memory that are states of bodies and joints.

    Attributes:
        cells: numbers of the memory that pieces hand on to each other, (n_cells,), sorted.
        held: numbers that they only read, (n_held,), sorted.
        kept: numbers of ``cells`` from which a change of inputs finds all others.

    Raises:
        ContractError: what happens at the start cannot be told as a list of operations.
    """

    def __init__(self, structure: tapes.Structure, start: Image, states: Iterable[int]) -> None:
        self._structure = structure
        self._known = {*states, int(memory.TIME)}
        self._start = start
        self._lasts = np.zeros(len(start.floats), bool)
        world = memory.world_of(start.ints, start.floats)
        for name in LASTING:
            table = getattr(world, name)
            if table.size:
                self._lasts[numbers_of(start.floats, table)] = True
        self._recordings: dict[Key, list[tapes.Recording | None]] = {}
        self._codes: dict[tuple[Key, int], Code] = {}
        self.cells, self.held = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.kept = self.cells
        for piece in (tapes.READING, tapes.COMMAND, tapes.CHANGE, tapes.STEP):
            self.record(int(piece), start)
        if len(self._all()) < len(self._recordings):
            raise ContractError(
                "adjoint: a force of this world looks numbers up in a way that is differentiated forward only "
                "(rotor.sensitivities)."
            )

    def __contains__(self, key: Key) -> bool:
        return key in self._recordings

    def record(self, piece: int, image: Image, share: float = 1.0) -> None:
        """One more tape of a kind of piece; see :func:`rotor_dynamics.sensitivities.backward.tapes.record`."""
        world = memory.world_of(image.ints, image.floats)
        key = piece, int(tapes.PYTHON(decided)(world))  # inlined: no kernel of its own
        found = tapes.record(piece, image.ints, image.floats, self._structure, share)
        self._recordings.setdefault(key, []).append(found)
        if found is not None:
            self._lay_out()

    def hand_on(self, worlds: Iterable[np.ndarray]) -> None:
        """From here on also what has changed in these worlds (numbers of the memory), and is not found anew, is noted.

        Of pieces without a tape nothing else tells what they leave to others: anchors of friction, delayed air.
        """
        before = self._start.floats
        changed = np.zeros(len(before), bool)
        for floats in worlds:
            changed |= (floats != before) & ~(np.isnan(floats) & np.isnan(before))
        found = {*np.flatnonzero(changed & self._lasts).tolist()} - self._found_anew()
        if not found <= self._known:
            self._known |= found
            self._lay_out()

    def _found_anew(self) -> set[int]:
        """Numbers that every change of inputs writes."""
        changes = [
            set(r.written)
            for (piece, _), known in self._recordings.items()
            for r in known
            if r is not None and piece == tapes.CHANGE
        ]
        return set.intersection(*changes) if changes else set()

    def takes_more(self, key: Key) -> bool:
        """True if one more tape of such pieces may be of use."""
        known = self._recordings.get(key, [])
        return 0 < len(known) < MOST_TAPES and known[-1] is not None

    def address(self, key: Key, variant: int = 0) -> int:
        """Of the code of a tape, compiled now if it is not there; NO_CODE without a tape."""
        known = self._recordings.get(key, [])
        recording = known[variant] if variant < len(known) else None
        if recording is None:
            return NO_CODE
        if (key, variant) not in self._codes:
            rows = {int(c): Place(ROW, i) for i, c in enumerate(self.cells)}
            reads: dict[Any, Place] = rows | {
                int(c): Place(HELD, i) for i, c in enumerate(self.held)
            }
            n_given = max(1, len(self._structure.commands.names))
            reads |= {(tapes.GIVEN, j): Place(GIVEN, j) for j in range(n_given)}
            writes = [(rows[c], o) for c, o in recording.written.items() if c in rows]
            writes += [(Place(GIVEN, j), o) for j, o in enumerate(recording.told)]
            self._codes[key, variant] = compile_backward(recording.tape, reads, writes)
        return self._codes[key, variant].address

    def another(self, key: Key, tried: set[int]) -> int:
        """Address of the code of another tape of such pieces, which is added to those that were tried; or NO_CODE."""
        for variant in range(len(self._recordings.get(key, []))):
            address = self.address(key, variant)
            if address != NO_CODE and address not in tried:
                tried.add(address)
                return address
        return NO_CODE

    def left_out(self) -> set[int]:
        """Numbers of the memory that are zero, and with which tapes leave out what they are a factor of."""
        keys = (key for r in self._all() for key in r.tape.left_out())
        return {key for key in keys if isinstance(key, int)}

    def _all(self) -> list[tapes.Recording]:
        return [r for known in self._recordings.values() for r in known if r is not None]

    def _lay_out(self) -> None:
        """Places of all numbers; code that was compiled for others is of no use."""
        restored = {int(memory.STEP_NUMBER), int(memory.NEXT_STEP)}  # which have no derivative
        cells, held = tapes.places_of(self._all(), self._known | restored)
        if not (np.array_equal(cells, self.cells) and np.array_equal(held, self.held)):
            self.cells, self.held, self._codes = np.array(cells), np.array(held), {}
        anew = self._found_anew().difference(self._known) | restored
        self.kept = np.array([c for c in cells if c not in anew])
