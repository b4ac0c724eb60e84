"""A stretch of a flight under commands: flown, and noted piece by piece, so that it can be gone back through."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from rotor_core.kernels.reverse import NO_CODE
from rotor_dynamics import memory
from rotor_dynamics.hybrid.stepper import OK
from rotor_dynamics.sensitivities.backward import tapes
from rotor_dynamics.sensitivities.backward.pieces import FULL, Pieces, fly_pieces
from rotor_dynamics.sensitivities.backward.tape_codes import Image, TapeCodes

WORTH_A_TAPE = 50
"""Pieces alike for which a tape is compiled; fewer are differentiated forward."""

MOST_KEPT = 64_000_000
"""Bytes of worlds that a stretch keeps, one after every piece that is not smooth; the period that has more is the last.
"""


class Stretch:
    """Some periods of a flight: as many as there are commands, or fewer where much is to be kept.

    Args:
        codes: of the world; what they hand on is noted.
        structure: of the world.
        begin: the world at the start.
        steps: of a period.
        commands: of all periods, (N, n_commands).
        readings: states, tensions and joints at the start and the ends of all periods, written.
        fail: called with a status, integers and numbers of a world that cannot go on.

    Attributes:
        commands: of the periods that were flown.
        end: the world at the end.
        pieces: what was flown.
        cells: numbers of the memory that are noted, (n_cells,).
    """

    def __init__(
        self,
        codes: TapeCodes,
        structure: tapes.Structure,
        begin: Image,
        steps: int,
        commands: np.ndarray,
        readings: tuple[np.ndarray, np.ndarray, np.ndarray],
        fail: Callable[[int, np.ndarray, np.ndarray], None],
    ) -> None:
        self.cells, self._codes = codes.cells, codes
        of_period = steps + 3
        n = 1 + len(commands) * of_period
        pieces = Pieces.room(n, len(self.cells))
        self._images = [Image(0, begin.ints, begin.floats)]
        ints, floats = begin.ints.copy(), begin.floats.copy()
        most = MOST_KEPT // (ints.nbytes + floats.nbytes)
        saved, parts = (ints.copy(), floats.copy()), structure.commands.split(commands)
        place, piece = 0, 0
        while place < n:
            place, piece, status = fly_pieces(
                ints, floats, *saved, place, n, piece, steps, parts, structure.commands.commanded, self.cells,
                structure.member_body, structure.member_pose, pieces, *readings,
            )  # fmt: skip
            if status == FULL:
                pieces = pieces.with_room()
                continue
            if status != OK:
                fail(int(status), ints, floats)
            self._images.append(Image(piece, ints.copy(), floats.copy()))
            if len(self._images) > most:  # this period is the last
                n = min(n, 1 + -(-(place - 1) // of_period) * of_period)
        self.commands = commands[: (n - 1) // of_period]
        self.pieces, self.end = pieces.first(piece), Image(0, ints, floats)

    def key(self, piece: int) -> tuple[int, int]:
        """Kind of a piece, and a number for what was decided before it."""
        return int(self.pieces.kinds[piece]), int(self.pieces.decisions[piece])

    def image(self, piece: int) -> Image:
        """The world before a piece."""
        base = next(image for image in reversed(self._images) if image.piece <= piece)
        ints, floats = base.ints.copy(), base.floats.copy()
        floats[self.cells] = self.pieces.rows[piece]
        ints[memory.STEP] = int(floats[memory.STEP_NUMBER])
        if base.piece != piece:  # nobody has noted what hulls were far from each other since
            world = memory.world_of(ints, floats)
            world.scalars[memory.NEXT_LOOK] = -np.inf
            world.meetings[:, memory.LOOK_AT] = -np.inf
        return Image(piece, ints, floats)

    def record(self) -> None:
        """Record tapes of what happens here often, where there are none yet, and what else is handed on."""
        self._codes.hand_on([image.floats for image in (*self._images, self.end)])
        _, first, counts = self._alike
        for at, count in zip(first.tolist(), counts.tolist(), strict=True):
            kind, _ = key = self.key(at)
            cheap = kind in (tapes.READING, tapes.COMMAND)
            if key not in self._codes and (cheap or count >= WORTH_A_TAPE):
                self._codes.record(kind, self.image(at), float(self.pieces.shares[at]))

    def addresses(self) -> np.ndarray:
        """Of the code of every piece, (n_pieces,); NO_CODE where something happens, or there is no tape."""
        which, first, _ = self._alike
        found = np.full(len(which), NO_CODE)
        smooth = self.pieces.smooth != 0
        codes = [self._codes.address(self.key(at)) for at in first.tolist()]
        found[smooth] = np.array(codes, np.int64)[which[smooth]]
        return found

    def beginnings(self) -> list[int]:
        """Pieces that read the members at the start of every period."""
        readings = np.flatnonzero(self.pieces.kinds == tapes.READING)
        return readings[: len(self.commands)].tolist()

    def like(self, piece: int) -> np.ndarray:
        """True for smooth pieces of the same key, not after this one, (piece + 1,)."""
        kind, decisions = self.key(piece)
        p, until = self.pieces, slice(piece + 1)
        return (p.kinds[until] == kind) & (p.decisions[until] == decisions) & (p.smooth[until] != 0)

    @cached_property
    def _alike(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of the key of every smooth piece (n_pieces,); first piece of each key, and how many there are."""
        smooth = np.flatnonzero(self.pieces.smooth)
        _, first, which, counts = np.unique(
            4 * self.pieces.decisions[smooth] + self.pieces.kinds[smooth],
            return_index=True, return_inverse=True, return_counts=True,
        )  # fmt: skip
        keys = np.zeros(len(self.pieces.smooth), np.int64)
        keys[smooth] = which
        return keys, smooth[first], counts

    def given(self, told: np.ndarray, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers from outside, and where those of every piece begin.

        A row per reading: the commands of the period that begins there, what is read, and what else those who decide
        are given; then shares of steps.

        Args:
            told: readings, (N + 1, n_told).
            more: what else, (N, n_more).
        """
        pieces, (n, n_commands) = self.pieces, self.commands.shape
        rows = np.zeros((n + 1, n_commands + told.shape[1] + more.shape[1]))
        rows[:n, :n_commands] = self.commands
        rows[:, n_commands : n_commands + told.shape[1]] = told
        rows[:n, n_commands + told.shape[1] :] = more
        begins, end = pieces.nodes * rows.shape[1], rows.size
        at = np.zeros(len(pieces.kinds), np.int64)
        for kind, places in (
            (tapes.COMMAND, begins),
            (tapes.READING, begins + n_commands),
            (tapes.STEP, end + np.arange(len(at))),
        ):
            at = np.where(pieces.kinds == kind, places, at)
        return np.concatenate([rows.ravel(), pieces.shares]), at
