"""Which worlds of a batch run side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.kernels.jit import COMPILED
from rotor_core.math.factor import SMALL
from rotor_core.numbers.lanes import WIDTH
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.integrators.trial import DEFAULT

ALIGNED = 64
"""Bytes: no row of a pack crosses a line of the cache."""


@dataclass(frozen=True)
class Packs:
    """Worlds in lanes.

    Attributes:
        members: worlds of each pack, (n, WIDTH), -1 in lanes without one.
        parts: of the numbers of a world, rows (first, end): its inputs; what a step changes for good; all.
    """

    members: np.ndarray
    parts: tuple[np.ndarray, np.ndarray, np.ndarray]
    _n_ints: int

    @classmethod
    def of(cls, engine: Engine, ints: np.ndarray) -> Packs | None:
        """Packs of worlds with the same integers, or None where only single worlds can run.

        Args:
            engine: any of the worlds.
            ints: integers of all worlds, (n_worlds, n_ints).
        """
        head, system = engine.ints, engine.system
        alone = (
            not COMPILED
            or len(ints) < 2
            or engine.integrator != DEFAULT
            or bool(system.joints or system.contacts or system.discs or system.solids)
            or head[memory.N_FORCES] != 0
            or head[memory.N_ROUTES] != 0
            or any(c.rod for c in system.cables)
            or head[memory.N_CONSTRAINTS] > SMALL
        )
        if alone:
            return None
        fixed = np.ones(ints.shape[1], bool)
        fixed[memory.SHAPE : memory.HEADER] = False  # counters
        fixed[[memory.SINUSOIDS, memory.N_ACTING, memory.CONTROLLED]] = True
        for table in (engine.world.constraint_int, engine.world.order):
            first = _begins(table, engine.ints)
            fixed[first : first + table.size] = False  # who is taut is asked at every period
        ends = engine.world.constraint_int
        for column in (memory.HAS_ARM_A, memory.HAS_ARM_B):
            fixed[_begins(ends, engine.ints) + column :: memory.CONSTRAINT_INT][: len(ends)] = True
        _, kind = np.unique(ints[:, fixed], axis=0, return_inverse=True)
        rows = []
        for k in range(kind.max() + 1):
            alike = np.flatnonzero(kind == k)
            full = np.full(-(-len(alike) // WIDTH) * WIDTH, -1)
            full[: len(alike)] = alike
            rows.append(full.reshape(-1, WIDTH))
        return cls(np.concatenate(rows), _parts(engine), len(head))

    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """Arrays for one pack: integers, and numbers (n, WIDTH)."""
        _, _, everything = self.parts
        n = int(everything[-1, 1]) * WIDTH
        raw = np.zeros(n + ALIGNED // 8)
        skip = -raw.ctypes.data % ALIGNED // 8
        return np.zeros(self._n_ints, np.int64), raw[skip : skip + n].reshape(-1, WIDTH)


def _begins(table: np.ndarray, array: np.ndarray) -> int:
    """Number of the array at which a table begins."""
    return (table.ctypes.data - array.ctypes.data) // 8


def _parts(engine: Engine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    world, floats = engine.world, engine.floats

    def part(table: np.ndarray) -> tuple[int, int]:
        first = _begins(table, floats)
        return first, first + table.size

    wind = slice(memory.WIND, memory.WIND + 3)
    brought = [part(world.inputs), part(world.rotors), *(part(row[wind]) for row in world.bodies)]
    settled = [
        part(world.scalars),
        part(world.states[memory.START]),
        part(world.slopes[memory.FIRST_SLOPE]),
        part(world.constraints),
    ]
    return _rows(brought), _rows(settled), _rows([(0, len(floats))])


def _rows(parts: list[tuple[int, int]]) -> np.ndarray:
    return np.array([p for p in parts if p[1] > p[0]], np.int64).reshape(-1, 2)
