"""Derivatives of a world carried through its motion: events, impacts and all.

The kernels are those of the engine, with duals in the place of numbers (:mod:`rotor_core.numbers.duals`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import COMPILED, WHY_UNCOMPILED, kernel
from rotor_core.numbers.duals import DIRECTIONS, constant_duals, duals
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import TAUT_ONLY, evaluate
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid import doubts, impact, stepper
from rotor_dynamics.sensitivities.coordinates import Seed, parts_lags


@kernel
def run_duals(ints, rows, n_steps):
    """:func:`rotor_dynamics.hybrid.stepper.run` of a world with derivatives."""
    return stepper.run(ints, duals(rows), n_steps)


@kernel
def evaluate_duals(ints, rows, t):
    """Accelerations and tensions of a world with derivatives, with the taut set as it is."""
    evaluate(ints, duals(rows), memory.START, memory.FIRST_SLOPE, t, TAUT_ONLY)


WHY_DOUBTED = {
    int(doubts.GRAZES): "grazes its limit",
    int(doubts.NEARLY): "nearly happens",
    int(doubts.TOGETHER): "happens together with another",
    int(doubts.FLUSH): "bodies hit at several points at once: which is first decides how they turn",
    int(
        doubts.ANCHORED
    ): "contact with friction begins, whose spring is anchored where a step ends",
    int(
        doubts.PRESSES
    ): "goes slack because bodies come to press each other, whose instant has no derivative",
    int(
        doubts.AT_END
    ): "something happens just where a step ends, so that its instant has no derivative",
    int(doubts.BEGINS): "bodies hit without restitution, which is varied: beside zero they bounce",
}


@dataclass(frozen=True)
class Doubt:
    """Place at which a derivative may not exist: an event that decides which way the flight goes on.

    Attributes:
        time: s.
        cable: its number, from 0; -1 where bodies meet or touch.
        why: in words.
    """

    time: float
    cable: int
    why: str

    def __str__(self) -> str:
        if self.cable < 0:
            return f"at t = {self.time:.6g} s {self.why}"
        return f"at t = {self.time:.6g} s an event of cable {self.cable + 1} {self.why}"


def doubt_of(world: memory.World) -> Doubt | None:
    """First doubt of a run."""
    code = int(world.head[memory.DOUBT])
    if not code:
        return None
    at = float(world.scalars[memory.DOUBT_AT])
    return Doubt(at, int(world.head[memory.DOUBTED]), WHY_DOUBTED[code])


def logged(ints: np.ndarray, log: np.ndarray) -> np.ndarray:
    """The rows of a log that tell of events, with their derivatives, (n_events, EVENT_WIDTH, WIDTH).

    Args:
        ints: of the world.
        log: its table of events as duals.
    """
    return log[: int(ints[memory.N_LOGGED])].copy()


def check_differentiable() -> None:
    """Refuse to differentiate without compiled kernels.

    Raises:
        ContractError: kernels that are not compiled.
    """
    if not COMPILED:
        raise ContractError(f"derivatives need compiled kernels: {WHY_UNCOMPILED}.")


class Variations:
    """A world with derivatives in any number of directions.

    Args:
        engine: the world as it stands; it is left as it is.
        seeds: derivatives of its memory, one per direction.
        what: the change from outside that is taken up at the next run.

    Raises:
        ContractError: kernels are not compiled.
    """

    def __init__(
        self, engine: Engine, seeds: Sequence[Seed], what: int = int(impact.INPUT_CHANGED)
    ) -> None:
        check_differentiable()
        self._engine, self.n = engine, len(seeds)
        self._parts: list[tuple[np.ndarray, np.ndarray, int]] = []
        for first in range(0, max(self.n, 1), DIRECTIONS):
            part = seeds[first : first + DIRECTIONS]
            ints, rows = engine.ints.copy(), constant_duals(engine.floats)
            ints[memory.WHAT], ints[memory.DOUBT] = what, 0
            if parts_lags(engine, part):
                memory.world_of(ints, engine.floats).rotor_int[:, memory.SAME_LAG] = 0
            for k, (where, values) in enumerate(part, start=1):
                np.add.at(rows[:, k], where, values)
            self._parts.append((ints, rows, len(part)))

    def run(self, n_steps: int) -> None:
        """Take up what was changed, and integrate so many fixed steps.

        Raises:
            SolverError: the integration cannot go on.
        """
        for ints, rows, _ in self._parts:
            status = run_duals(ints, rows, 0)
            ints[memory.N_LOGGED] = 0
            while status == stepper.OK and n_steps > 0:
                status = run_duals(ints, rows, n_steps)
                if status != stepper.LOG_FULL:
                    break
                ints[memory.N_LOGGED] = 0
                n_steps -= int(ints[memory.STEPS_DONE])
                status = stepper.OK
            if status != stepper.OK:
                self._engine.ints[:], self._engine.floats[:] = ints, rows[:, 0]
                self._engine._fail(int(status))

    def accelerate(self) -> None:
        """Accelerations and tensions of the state as it is, without a change of the taut set."""
        for ints, rows, _ in self._parts:
            ints[memory.SINUSOIDS] = 1  # inputs are read at every evaluation, not once per step
            ints[memory.WHAT] = impact.NOTHING
            rows[memory.SPEEDS_AT, 0] = np.nan  # nor are rotors
            evaluate_duals(ints, rows, self._engine.time)

    @property
    def value(self) -> memory.World:
        """The world itself, without derivatives; a copy."""
        ints, rows, _ = self._parts[0]
        return memory.world_of(ints, rows[:, 0].copy())

    def changes(self) -> list[memory.World]:
        """Derivative of the memory in every direction; copies."""
        return [
            memory.world_of(ints, rows[:, k].copy())
            for ints, rows, n in self._parts
            for k in range(1, n + 1)
        ]

    def jacobian(self, read: Callable[[memory.World, memory.World], np.ndarray]) -> np.ndarray:
        """Derivative of what ``read`` tells of a change, (n_read, n_directions); see :meth:`Coordinates.read`."""
        value = self.value
        return np.array([read(value, change) for change in self.changes()]).T

    @property
    def doubt(self) -> Doubt | None:
        """Reason for which the derivatives may not exist; None: nothing is known."""
        return doubt_of(memory.world_of(self._parts[0][0], self._parts[0][1][:, 0].copy()))
