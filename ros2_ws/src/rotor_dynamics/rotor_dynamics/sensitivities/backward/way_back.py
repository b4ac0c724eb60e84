"""Derivative of one number of a flight with what its pieces hand on, on the way back through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from transforms3d.quaternions import qmult

from rotor_core.kernels.jit import unwritten
from rotor_core.numbers.duals import DIRECTIONS, constant_duals, empty_duals
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED
from rotor_dynamics.hybrid.stepper import OK
from rotor_dynamics.sensitivities.backward.pieces import multiply_left, take_duals
from rotor_dynamics.sensitivities.backward.tape_codes import Image
from rotor_dynamics.sensitivities.coordinates import Seed, numbers_of
from rotor_dynamics.sensitivities.propagation import Doubt, doubt_of

LARGE, PER_FORCE = 1024.0, 1024.0
"""In a world of hulls directions are so many units; those of forces are so many times as many N.

Sweeps end when a thousandth of derivatives rests (:func:`rotor_core.numbers.derivatives.size_of`); here all shall.
"""


def searched(image: Image) -> np.ndarray:
    """Numbers of the memory in which rigid contact keeps what it has found: where a flight begins it searches anew."""
    world = memory.world_of(image.ints, image.floats)
    pushes = world.bodies[:, memory.CONTACT_PUSH : memory.CONTACT_PUSH + 6]
    parts = pushes, world.meetings[:, memory.MEETING_NORMAL :], world.touches
    return np.concatenate([numbers_of(image.floats, part) for part in parts])


def pressing(image: Image, world: memory.World) -> np.ndarray:
    """Numbers of the memory that tell with which forces bodies press each other: where the next step begins to search.

    Of forces that are not the only ones possible, as under a box with four corners, those are found that are nearest.
    """
    if image.ints[memory.PRESSED] == 0:
        return np.zeros(0, np.int64)
    points = world.meeting_int[:, memory.WARM_POINTS].tolist()
    of_points = [
        world.meetings[m, memory.WARM_FORCES : memory.WARM_FORCES + 3 * n]
        for m, n in enumerate(points)
        if n > 0
    ]
    pushes = world.bodies[:, memory.CONTACT_PUSH : memory.CONTACT_PUSH + 6]
    return np.concatenate([numbers_of(image.floats, part) for part in (*of_points, pushes)])


def attitudes(image: Image, world: memory.World, kept: np.ndarray) -> np.ndarray:
    """Numbers of the memory that are attitudes, all of them among ``kept``, (n, 4).

    Their four numbers are varied in the three ways in which they stay attitudes (D.16): what is none would stretch its
    body, whose points of contact then cannot all rest.
    """
    part = world.states[memory.START, : image.ints[memory.N_BODIES], memory.Q : memory.Q + 4]
    cells = numbers_of(image.floats, part).reshape(-1, 4)
    return cells[np.isin(cells, kept).all(axis=1)]


TURNS = np.array([[qmult(unit, (0.0, *axis)) for unit in np.eye(4)] for axis in 0.5 * np.eye(3)])
"""Derivatives of attitudes with a rotation vector in body axes (D.16), by their four numbers: at right angles to each
other, of length 1/2."""


class WayBack:
    """The derivative at a piece of the flight.

    Args:
        start: the world at the start.
        seeds: derivatives of the memory there with what else is asked.

    Attributes:
        along: with what is handed on, (n_cells,).
        with_memory: with numbers that stay, (n,).
        seeds: the part of each seed that stays.
        doubt: first one known.
        forward: pieces that were taken forward.
    """

    def __init__(self, start: Image, seeds: Sequence[Seed]) -> None:
        n, anew = len(start.floats), searched(start) if seeds else np.zeros(0, np.int64)
        self._asked: list[tuple[np.ndarray, np.ndarray]] = []
        for where, amounts in seeds:
            counts = ~np.isin(where, anew)
            self._asked.append((np.asarray(where)[counts], np.asarray(amounts, float)[counts]))
        self._cells = np.zeros(0, np.int64)
        self.along, self.with_memory = np.zeros(0), np.zeros(n)
        self._forces, self._along_forces = np.zeros(0, np.int64), np.zeros(0)
        self._forward_seeds = np.zeros(len(self._asked))
        self.seeds: list[tuple[np.ndarray, np.ndarray]] = []
        self.doubt: Doubt | None = None
        self.forward = 0

    def lay_out(self, cells: np.ndarray) -> None:
        """From here on these numbers are handed on: more than before, or the same."""
        along = self.with_memory[cells]
        along[np.searchsorted(cells, self._cells)] += self.along
        self.with_memory[cells] = 0.0
        self._cells, self.along = cells, along
        self.seeds = []
        for where, amounts in self._asked:
            stays = ~np.isin(where, cells)
            self.seeds.append((where[stays], amounts[stays]))

    def take_forward(
        self,
        image: Image,
        is_step: bool,
        share: float,
        kept: np.ndarray,
        fail: Callable[[int, np.ndarray, np.ndarray], None],
    ) -> None:
        """Back through one piece by derivatives forward, multiplied from the left.

        Args:
            image: the world before it.
            is_step: True: a step; False: a change of inputs.
            share: of what is left of the step.
            kept: numbers from which a change of inputs finds all others that are handed on.
            fail: called with a status, integers and numbers of a world that cannot go on.
        """
        world = memory.world_of(image.ints, image.floats)
        forces, turning = pressing(image, world), attitudes(image, world, kept)
        turned = np.einsum("bi,kij->bkj", image.floats[turning], TURNS)
        single = kept[~np.isin(kept, turning)]
        directions, n_single = np.concatenate([single, forces]), len(single)
        seeds = [
            *((at, turn) for at, three in zip(turning, turned, strict=True) for turn in three),
            *self.seeds,
        ]
        n_units, n = len(directions), len(directions) + len(seeds)
        sizes = np.ones(n)
        if image.ints[memory.N_MEETINGS]:
            sizes[:] = LARGE
            sizes[n_single:n_units] *= PER_FORCE
        cells = np.concatenate([self._cells, self._forces])
        along = np.concatenate([self.along, self._along_forces])
        out = unwritten(n)
        base, rows = constant_duals(image.floats), empty_duals(image.floats.shape)
        head, doubt = image.ints.copy(), None
        for first in range(0, n, DIRECTIONS):
            count = min(DIRECTIONS, n - first)
            head[:], rows[:] = image.ints, base
            head[memory.WHAT], head[memory.DOUBT] = INPUT_CHANGED, 0
            units = directions[first : first + count]
            rows[units, np.arange(1, 1 + len(units))] = sizes[first : first + len(units)]
            for k in range(len(units), count):
                where, amounts = seeds[first + k - n_units]
                np.add.at(rows[:, 1 + k], where, sizes[first + k] * amounts)
            status = take_duals(head, rows, is_step, share)
            if status != OK:
                fail(int(status), head, rows[:, 0].copy())
            multiply_left(cells, along, rows, count, out[first:])
            if doubt is None and head[memory.DOUBT]:
                doubt = doubt_of(memory.world_of(head, rows[:, 0].copy()))
        self.doubt = doubt or self.doubt
        self.forward += 1
        out /= sizes
        self.along = np.zeros(len(self._cells))
        self.along[np.searchsorted(self._cells, single)] = out[:n_single]
        self._forces, self._along_forces = forces, out[n_single:n_units]
        n_turned = n_units + 3 * len(turning)
        with_turns = out[n_units:n_turned].reshape(-1, 1, 3)
        self.along[np.searchsorted(self._cells, turning)] = (4.0 * with_turns @ turned)[:, 0]
        self._forward_seeds += out[n_turned:]

    def along_seeds(self, seeds: Sequence[Seed]) -> np.ndarray:
        """Derivatives with seeds of what is handed on at the start, (n_seeds,)."""
        everything = self._everything()
        return np.array([everything[where] @ amounts for where, amounts in seeds], float)

    def with_asked(self) -> np.ndarray:
        """Derivatives with what was asked, (n_seeds,)."""
        return self._forward_seeds + self.along_seeds(self._asked).reshape(-1)

    def _everything(self) -> np.ndarray:
        found = self.with_memory.copy()
        found[self._cells] = self.along
        return found
