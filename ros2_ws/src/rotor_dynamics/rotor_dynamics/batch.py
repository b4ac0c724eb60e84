"""Thousands of worlds at once, on all cores.

Every world is a pair of flat arrays like that of :class:`~rotor_dynamics.engine.Engine` and runs through the same
compiled steps, most of them side by side in the lanes of vector registers (:mod:`rotor_dynamics.side_by_side`).
Worlds may differ in all numbers (masses, lengths, states, commands, wind), not in what is connected to what.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rotor_core.errors import ContractError, ModelError, SolverError
from rotor_core.kernels.jit import unwritten
from rotor_core.state import MOTION
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine, counting_rows
from rotor_dynamics.hybrid.events import EVENT_TYPES
from rotor_dynamics.hybrid.failures import failure_text, lost_way
from rotor_dynamics.model.system import System
from rotor_dynamics.side_by_side.packs import Packs
from rotor_dynamics.side_by_side.periods import run_packs, run_worlds

if TYPE_CHECKING:
    from rotor_dynamics.sensitivities.linearization import Transition

CHUNKS_PER_THREAD = 4
"""Parts that each thread gets, so that none waits long for the last."""


@dataclass(frozen=True)
class Rollout:
    """Result of a rollout of all worlds.

    Attributes:
        motion: state and acceleration of every member at the end of recorded periods,
            (n_worlds, n_recorded, n_members, 19).
        tensions: (n_worlds, n_recorded, n_cables) N.
        times: at which the worlds stand, (n_worlds,) s.
        events: how many events of each type, by name, (n_worlds,) each.
        failures: worlds that could not go on, with the reason; they stand at their last good state.
        shared: share of all steps that worlds took side by side.
    """

    motion: np.ndarray
    tensions: np.ndarray
    times: np.ndarray
    events: dict[str, np.ndarray]
    failures: dict[int, str] = field(default_factory=dict)
    shared: float = 0.0

    def require(self) -> Rollout:
        """Itself, if every world went to its end.

        Raises:
            SolverError: naming the first world that did not.
        """
        for world, text in self.failures.items():
            text = f"world {world} of {len(self.motion)}: {text}"
            raise SolverError(text, time=self.times[world], state=self.motion[world, -1:])
        return self


class Batch:
    """Many worlds of the same structure.

    Args:
        systems: one for all worlds, or one per world (other numbers, same connections).
        states: initial states of the members, (n_worlds, n_members, 13).
        joints: angles and rates of the joints, (n_worlds, n_joints, 2); default zero.
        wrenches: that act from the very start, (n_inputs, 4) or (n_worlds, n_inputs, 4); default none.
        prepare: called with the engine of each world and its number before its state is set: start
            rotors, prescribe internal ones.
        step: s.
        integrator, tolerance: as for :class:`~rotor_dynamics.engine.Engine`.

    Raises:
        ContractError: shapes that do not fit, or systems of different structure.
        ModelError: a state that the cables or rigid links forbid; the text names the world.
    """

    def __init__(
        self,
        systems: System | Sequence[System],
        states: np.ndarray,
        *,
        joints: np.ndarray | None = None,
        wrenches: np.ndarray | None = None,
        prepare: Callable[[Engine, int], None] | None = None,
        step: float = 1e-3,
        integrator: str = "rkmk4",
        tolerance: float = 1e-10,
    ) -> None:
        self.size = len(states)
        shared = isinstance(systems, System)
        if not shared and len(systems) != self.size:
            raise ContractError(f"batch: {len(systems)} systems for {self.size} initial states.")
        if not self.size:
            raise ContractError("batch: needs at least one world.")
        options: dict[str, Any] = {"step": step, "integrator": integrator, "tolerance": tolerance}
        first = systems if isinstance(systems, System) else systems[0]
        # events are counted, not kept: rows of the log are used again
        options["log_rows"] = counting_rows(first)
        engine = Engine(first, **options)
        self._reference = engine
        self.ints = unwritten((self.size, len(engine.ints)), np.int64)
        self.floats = unwritten((self.size, len(engine.floats)))
        self._poses = unwritten((self.size, *engine.member_pose.shape))
        fresh = engine.ints.copy(), engine.floats.copy()
        for w in range(self.size):
            if shared:
                engine.ints[:], engine.floats[:] = fresh
            elif w > 0:
                engine = Engine(systems[w], **options)
                if not self._fits(engine):
                    raise ContractError(
                        f"batch: world {w} must have the same connections as world 0."
                    )
            if wrenches is not None:
                given = np.asarray(wrenches, float)
                engine.world.inputs[:, :4] = given if given.ndim == 2 else given[w]
            if prepare is not None:
                prepare(engine, w)
            try:
                engine.set_state(states[w], joints=None if joints is None else joints[w])
            except (ModelError, ContractError) as error:
                raise type(error)(f"world {w}: {error}") from error
            self._begin(engine)
            self.ints[w], self.floats[w] = engine.ints, engine.floats
            self._poses[w] = engine.member_pose
        self._systems = None if isinstance(systems, System) else systems
        self._options = options
        self._first = self.ints.copy(), self.floats.copy()
        self._packs = Packs.of(self._reference, self.ints)

    @staticmethod
    def _begin(engine: Engine) -> None:
        """From here on events are counted; those of the start do not."""
        engine.count_events()
        counts = slice(memory.EVENT_COUNTS, memory.EVENT_COUNTS + len(EVENT_TYPES))
        engine.ints[counts] = 0

    def _fits(self, engine: Engine) -> bool:
        mine, other = self._reference, engine
        return (
            len(mine.floats) == len(other.floats)
            and np.array_equal(mine.ints[: memory.SHAPE], other.ints[: memory.SHAPE])
            and np.array_equal(mine.world.constraint_int[:, :2], other.world.constraint_int[:, :2])
            and np.array_equal(mine.member_body, other.member_body)
        )

    @property
    def time(self) -> np.ndarray:
        """Times of all worlds, (n_worlds,) s."""
        return self.floats[:, memory.TIME]

    def restart(self, world: int, states: np.ndarray | None = None) -> None:
        """Put one world back to its start, or at the time of its start into other states (n_members, 13).

        Raises:
            ContractError: states of the wrong shape, or not finite.
            ModelError: states that the cables or rigid links forbid; the world is as it was then.
        """
        ints, floats = self._first[0][world], self._first[1][world]
        if states is not None:
            engine = self._reference
            if self._systems is not None:
                engine = Engine(self._systems[world], **self._options)
            engine.ints[:], engine.floats[:] = ints, floats
            engine.set_state(states)
            self._begin(engine)
            ints, floats = engine.ints, engine.floats
        self.ints[world], self.floats[world] = ints, floats

    def rollout(
        self,
        wrenches: np.ndarray,
        *,
        steps: int,
        rotor_speeds: np.ndarray | None = None,
        wind: np.ndarray | None = None,
        every: int = 1,
        threads: int | None = None,
        side_by_side: bool = True,
    ) -> Rollout:
        """Run all worlds through the same number of control periods.

        Args:
            wrenches: thrust and moment of every input in every period, (n_periods, n_inputs, 4), or
                with a leading axis of worlds.
            steps: fixed steps per period.
            rotor_speeds: commands, (n_periods, n_rotors) rad/s or with a leading axis; default none.
            wind: velocity of the air, (n_periods, 3) m/s or with a leading axis.
            every: record the end of every such period only.
            threads: default one per core.
            side_by_side: take smooth steps of worlds that are alike together, in the lanes of vector registers;
                the results agree to rounding with those of one world after the other.

        Returns:
            What became of them; a world that fails stays at its last good state.

        Raises:
            ContractError: shapes that do not fit, or numbers that are not finite.
        """
        shape = (len(self._reference.system.inputs), 4)
        wrenches = self._per_world(wrenches, shape, "wrenches")
        n_periods = wrenches.shape[1]
        n_rotors = len(self._reference.system.rotors)
        nothing = np.zeros((n_periods, 0))
        speeds = (
            self._per_world(nothing, (0,), "rotor_speeds")
            if rotor_speeds is None
            else self._per_world(rotor_speeds, (n_rotors,), "rotor_speeds")
        )
        air = self._per_world(*((nothing, (0,)) if wind is None else (wind, (3,))), "wind")
        if {speeds.shape[1], air.shape[1]} != {n_periods}:
            raise ContractError("batch: wrenches, rotor speeds and wind must have as many periods.")
        for name, number in (("steps", steps), ("every", every), ("threads", threads or 1)):
            if not isinstance(number, (int, np.integer)) or number < 1:
                raise ContractError(f"batch: {name} must be a whole number >= 1, got {number!r}.")
        rotors = self._reference.world.rotors
        stiff = (rotors[:, memory.LAG_RATE] == 0.0) & (rotors[:, memory.AXIAL_INERTIA] != 0.0)
        if rotor_speeds is not None and np.any(stiff):
            raise ContractError(
                "batch: rotors with inertia need a lag, because their speed cannot jump."
            )
        n_rows, members = n_periods // every, len(self._reference.system.bodies)
        motions = np.zeros((self.size, n_rows, members, MOTION))
        tensions = np.zeros((self.size, n_rows, self._reference.n_cables))
        counts = np.zeros((self.size, len(EVENT_TYPES)), np.int64)
        statuses, shared = np.zeros(self.size, np.int64), np.zeros(self.size, np.int64)
        threads = threads or os.cpu_count() or 1
        rest = (
            wrenches, speeds, air, steps, every,
            self._reference.member_body, self._poses, motions, tensions, counts, statuses,
        )  # fmt: skip
        packs = self._packs if side_by_side else None

        def work(first: int, last: int) -> None:
            if packs is None:
                run_worlds(self.ints, self.floats, first, last, *rest)
            else:
                room = packs.room()
                run_packs(
                    self.ints,
                    self.floats,
                    first,
                    last,
                    packs.members,
                    *room,
                    *packs.parts,
                    *rest,
                    shared,
                )

        n = self.size if packs is None else len(packs.members)
        edges = np.linspace(0, n, min(n, threads * CHUNKS_PER_THREAD) + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, edges[:-1], edges[1:]))
        failures = {int(w): self._why(int(w), int(statuses[w])) for w in np.flatnonzero(statuses)}
        events = {name: counts[:, code - 1] for code, name in EVENT_TYPES.items()}
        share = float(shared.sum()) / (self.size * n_periods * steps)
        return Rollout(motions, tensions, self.time.copy(), events, failures, share)

    def transition(self, world: int, steps: int) -> Transition:
        """Derivatives of one world after ``steps`` steps, with its state and its inputs now; the batch stays as it is.

        Raises:
            ContractError: fewer than one step, or rigid contact.
            SolverError: the integration cannot go on.
        """
        from rotor_dynamics.sensitivities.linearization import (
            linearize_steps,
        )  # brings numbers with derivatives

        engine = self._reference
        if self._systems is not None:
            engine = Engine(self._systems[world], **self._options)
        ints, floats = engine.ints.copy(), engine.floats.copy()
        engine.ints[:], engine.floats[:] = self.ints[world], self.floats[world]
        try:
            return linearize_steps(engine, steps)
        finally:
            engine.ints[:], engine.floats[:] = ints, floats

    def _per_world(self, given: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
        given = np.ascontiguousarray(given, float)
        if given.ndim == len(shape) + 1:
            given = np.broadcast_to(given, (self.size, *given.shape))
        if given.ndim != len(shape) + 2 or given.shape[0] != self.size or given.shape[2:] != shape:
            raise ContractError(
                f"{what}: must have the shape (worlds, periods, {', '.join(map(str, shape))}) or the "
                f"same without worlds, got {given.shape}."
            )
        if not np.isfinite(given).all():
            raise ContractError(f"{what}: must be finite.")
        return np.ascontiguousarray(given)

    def _why(self, w: int, status: int) -> str:
        head = self.ints[w]
        names = self._reference.names_of(int(head[memory.BAD_BODY]))
        world = memory.world_of(head, self.floats[w])
        taut = np.flatnonzero(world.constraint_int[: self._reference.n_cables, memory.TAUT])
        time = float(self.floats[w, memory.TIME])
        engine = self._reference
        return failure_text(
            status, time, names, taut, engine.tolerance, engine.adaptive, lost_way(world)
        )
