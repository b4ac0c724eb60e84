"""A world through control periods of held inputs, with the derivatives of every period: what optimization asks for.

States are told by the coordinates of :mod:`rotor_dynamics.sensitivities.coordinates` for free bodies (12 each, 6 of a
point), then length and rate of every winch. Inputs are wrenches, then accelerations of winches (W.3). Every period is
linearized about the node at which it begins, in one compiled call for all.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rotor_core.errors import ContractError, SolverError
from rotor_core.kernels.jit import inlined, kernel_without_gil, unwritten
from rotor_core.kernels.link import entry
from rotor_core.math import so3
from rotor_core.numbers.duals import DIRECTIONS, WIDTH, empty_duals
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid import stepper
from rotor_dynamics.hybrid.impact import INPUT_CHANGED
from rotor_dynamics.kinematics.members import bodies_of_members, members_of_bodies
from rotor_dynamics.model.system import System
from rotor_dynamics.sensitivities.between import write_between, write_slopes
from rotor_dynamics.sensitivities.coordinates import indices
from rotor_dynamics.sensitivities.propagation import check_differentiable, run_duals

RUN = entry(stepper.run)

OFF_CENTRE = 1e-12
"""A centre of mass this near to the origin of its member is there, m."""

NO_WINCHES = np.zeros((0, 2))

LOG_ROWS = 8
"""Room for events beyond what one step needs: they are counted, not kept."""


@inlined
def sow(rows, ints, start, b, axis, direction):
    """Seed one coordinate of a body in one direction (D.16): axis 0 to 2 place, 3 to 5 attitude, then their rates."""
    first = start + b * memory.STATE
    if axis < 3:
        rows[first + memory.P + axis, direction] = 1.0
    elif axis < 6:
        q = (
            rows[first + memory.Q, 0],
            rows[first + memory.Q + 1, 0],
            rows[first + memory.Q + 2, 0],
            rows[first + memory.Q + 3, 0],
        )
        half = (
            0.0,
            0.5 if axis == 3 else 0.0,
            0.5 if axis == 4 else 0.0,
            0.5 if axis == 5 else 0.0,
        )
        dq = so3.product(q, half)
        for i in range(4):
            rows[first + memory.Q + i, direction] = dq[i]
    elif axis < 9:
        rows[first + memory.V + axis - 6, direction] = 1.0
    else:
        rows[first + memory.OMEGA + axis - 9, direction] = 1.0


@inlined
def reap(rows, start, b, axis, direction):
    """One coordinate of a body in one direction."""
    first = start + b * memory.STATE
    if axis < 3:
        return rows[first + memory.P + axis, direction]
    if axis < 6:
        i = first + memory.Q
        inverse = (rows[i, 0], -rows[i + 1, 0], -rows[i + 2, 0], -rows[i + 3, 0])
        dq = (
            rows[i, direction],
            rows[i + 1, direction],
            rows[i + 2, direction],
            rows[i + 3, direction],
        )
        theta = so3.product(inverse, dq)
        return 2.0 * (theta[1] if axis == 3 else (theta[2] if axis == 4 else theta[3]))
    if axis < 9:
        return rows[first + memory.V + axis - 6, direction]
    return rows[first + memory.OMEGA + axis - 9, direction]


@inlined
def reap_winch(rows, winch, is_rate, direction):
    """Length, or rate, of a winch now in one direction; its numbers begin at ``winch`` (W.3)."""
    s = rows[memory.TIME, 0] - rows[winch + memory.WINDS_FROM, 0]
    s_d = rows[memory.TIME, direction] - rows[winch + memory.WINDS_FROM, direction]
    rate, rate_d = rows[winch + memory.WOUND_RATE, 0], rows[winch + memory.WOUND_RATE, direction]
    a = rows[winch + memory.WOUND_ACCELERATION, 0]
    a_d = rows[winch + memory.WOUND_ACCELERATION, direction]
    if is_rate:
        return rate_d + s * a_d + s_d * a
    length_d = rows[winch + memory.WOUND_LENGTH, direction]
    return length_d + s * rate_d + 0.5 * s * s * a_d + s_d * (rate + s * a)


@kernel_without_gil
def linearize_nodes(
    ints, floats, first, last, steps, bodies, axes, winches, inputs, pulls, head, rows, A, B, C, D, E, F, doubts
):  # fmt: skip
    """Derivatives of periods ``first`` to ``last``.

    Args:
        ints, floats: worlds at the nodes, with the inputs of the period, (N, n_ints) and (N, n_floats).
        steps: of a period.
        bodies, axes: of every coordinate of a body, (n_moving,); n = n_moving + 2 n_winches.
        winches: number of the memory at which each begins, (n_winches,).
        inputs: numbers of the memory that hold the inputs, (m,).
        pulls: those that hold tensions, (n_cables,).
        head, rows: work: integers, and numbers with derivatives.
        A, B, C, D: written: of coordinates (N, n, n) and (N, n, m), of tensions (N, n_cables, n) and (N, n_cables, m).
        E, F: written: of coordinates (N, n) and tensions (N, n_cables) with the length of a step.
        doubts: written, (N,).

    Returns:
        A status, and the node that it is about.
    """
    n_moving, m = bodies.shape[0], inputs.shape[0]
    n = n_moving + 2 * winches.shape[0]
    for k in range(first, last):
        for begin in range(0, n + m + 1, DIRECTIONS):
            for i in range(head.shape[0]):
                head[i] = ints[k, i]
            for i in range(rows.shape[0]):
                rows[i, 0] = floats[k, i]
                for j in range(1, WIDTH):
                    rows[i, j] = 0.0
            start = head[memory.FIRST + STATES_TABLE]
            end = min(begin + DIRECTIONS, n + m + 1)
            for j in range(begin, end):
                if j < n_moving:
                    sow(rows, head, start, bodies[j], axes[j], 1 + j - begin)
                elif j < n:
                    winch, is_rate = winches[(j - n_moving) // 2], (j - n_moving) % 2
                    at = winch + (memory.WOUND_RATE if is_rate else memory.WOUND_LENGTH)
                    rows[at, 1 + j - begin] = 1.0
                elif j < n + m:
                    rows[inputs[j - n], 1 + j - begin] = 1.0
                else:
                    rows[memory.STEP_LENGTH, 1 + j - begin] = 1.0
            head[memory.WHAT] = INPUT_CHANGED
            head[memory.DOUBT] = 0
            status = run_duals(head, rows, 0)
            if status == stepper.OK:
                status = run_duals(head, rows, steps)
            if status != stepper.OK:
                return status, k
            doubts[k] = head[memory.DOUBT]
            for j in range(begin, end):
                direction = 1 + j - begin
                for i in range(n):
                    if i < n_moving:
                        slope = reap(rows, start, bodies[i], axes[i], direction)
                    else:
                        winch, is_rate = winches[(i - n_moving) // 2], (i - n_moving) % 2
                        slope = reap_winch(rows, winch, is_rate, direction)
                    if j < n:
                        A[k, i, j] = slope
                    elif j < n + m:
                        B[k, i, j - n] = slope
                    else:
                        E[k, i] = slope
                for i in range(pulls.shape[0]):
                    if j < n:
                        C[k, i, j] = rows[pulls[i], direction]
                    elif j < n + m:
                        D[k, i, j - n] = rows[pulls[i], direction]
                    else:
                        F[k, i] = rows[pulls[i], direction]
    return stepper.OK, 0


STATES_TABLE = memory.World._fields.index("states")


@dataclass(frozen=True)
class Periods:
    """Linear maps of all periods about a trajectory: ``x[k+1] = A[k] x[k] + B[k] u[k] + E[k] h[k]``.

    Attributes:
        A, B: (N, n, n) and (N, n, m); u are wrenches, four of each vehicle, then accelerations of winches.
        C, D: of the tensions at the end of each period, (N, n_cables, n) and (N, n_cables, m).
        E, F: of both with the length of a step, (N, n) and (N, n_cables).
        doubted: periods in which an event hangs by a thread, (N,) bool.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    E: np.ndarray
    F: np.ndarray
    doubted: np.ndarray


class Shooting:
    """A world of free bodies, points and cables, with or without winches, that is run again and again from one state.

    Args:
        system: without joints (drums of winches are such), rotors with speeds of their own, contact.
        states: of the members at the start, (n, 13).
        wrenches: that act at the start, (n_inputs, 4).
        step: s.
        steps: of a period.

    Raises:
        ContractError: the system has what is not shot.
        ModelError: the state cannot be.
    """

    compiled = False
    """Whether what several threads will call is there."""

    def __init__(
        self, system: System, states: np.ndarray, wrenches: np.ndarray, *, step: float, steps: int
    ) -> None:
        if system.joints or system.contacts or system.solids or system.rotors or system.discs:
            raise ContractError(
                "shooting: knows free bodies, points and cables, with wrenches as inputs; joints, contact and rotors "
                "with speeds of their own are not shot yet."
            )
        rows = int(stepper.EVENT_ROWS) + 2 * len(system.cables) + LOG_ROWS
        self.engine = engine = Engine(system, step=step, log_rows=rows)
        check_differentiable()
        self.steps, self.n_inputs = steps, len(system.inputs)
        self.winches = engine.winches.cables
        """Numbers of the cables that winches wind."""
        routes = engine.world.constraint_int[list(self.winches), memory.ROUTED] - 1
        first = indices(engine, engine.world.routes)[:: int(memory.ROUTE)]
        self._winches = first[routes] if len(routes) else np.zeros(0, np.int64)
        self.begin(states, wrenches)
        turnless = engine.world.body_int[:, memory.ROTATES] == memory.TURNLESS
        kept = [
            (b, axis)
            for b in range(engine.topology.n_bodies)
            for axis in range(12)
            if not (turnless[b] and axis % 6 >= 3)
        ]
        self.bodies, self.axes = np.array(kept, np.int64).T.copy()
        self.n_moving = len(kept)
        """Coordinates of bodies, which come first."""
        self.n = self.n_moving + 2 * len(self.winches)
        """Coordinates."""
        self.columns = np.full((engine.topology.n_bodies, 12), -1)
        """Column of every coordinate of every body, (n_bodies, 12); -1: it has none."""
        self.columns[self.bodies, self.axes] = np.arange(self.n_moving)
        self.turning = frozenset(self.bodies[self.axes == 3].tolist())
        """Rows of bodies that turn."""
        self._inputs = np.concatenate(
            [indices(engine, engine.world.inputs[k, :4]) for k in range(self.n_inputs)]
            + [self._winches + int(memory.WOUND_ACCELERATION)]
        )
        self._pulls = indices(engine, engine.world.constraints[: engine.n_cables, memory.TENSION_0])
        self._leaders = self._find_leaders()

    def begin(self, states: np.ndarray, wrenches: np.ndarray) -> None:
        """Start from other states of the members, (n, 13), with wrenches (n_inputs, 4) that act then.

        Raises:
            ModelError: the state cannot be.
        """
        engine = self.engine
        engine.world.inputs[:, :4] = wrenches
        engine.set_state(states)
        engine.take_events()
        engine.count_events()
        self.start = engine.ints.copy(), engine.floats.copy()
        """World at the start: integers and numbers."""

    def _find_leaders(self) -> np.ndarray:
        """Of every body the first member that has an attitude, else the first one, (n_bodies,)."""
        engine, groups = self.engine, {}
        for member, body in enumerate(engine.member_body):
            groups.setdefault(int(body), []).append(member)
        turning = [body.inertia_B is not None for body in engine.system.bodies]
        leaders = [
            next((m for m in groups[b] if turning[m]), groups[b][0])
            for b in range(engine.topology.n_bodies)
        ]
        return np.array(leaders, np.int64)

    def check_entities(self, n: int, what: str) -> None:
        """Refuse worlds with bodies that are no entities, whose states nobody tells.

        Args:
            n: entities, which are the first members.
            what: begins the text.

        Raises:
            ContractError: there are pieces of heavy cables.
        """
        if self._leaders.max(initial=0) >= n:
            raise ContractError(f"{what}: heavy cables are not known yet.")

    def check_plain(self, what: str) -> None:
        """Refuse worlds in which a member is not a body of its own about its centre of mass.

        Raises:
            ContractError: members on rigid links, or with a centre of mass elsewhere; ``what`` begins the text.
        """
        engine = self.engine
        shared = len(engine.system.bodies) != engine.topology.n_bodies
        if shared or np.abs(engine.member_pose[:, :3]).max(initial=0.0) > OFF_CENTRE:
            raise ContractError(
                f"{what}: takes the place of every entity for that of its centre of mass; rigid links, heavy cables "
                "and com_m are not known yet."
            )

    def row_of(self, member: int) -> int:
        """Row of the body that a member belongs to, in :meth:`state`."""
        return int(self.engine.member_body[member])

    def state(self, floats: np.ndarray) -> np.ndarray:
        """States of the bodies of a world, (n_bodies, 13): views."""
        first = int(self.start[0][memory.FIRST + STATES_TABLE])
        n = self.engine.topology.n_bodies
        return floats[first : first + n * int(memory.STATE)].reshape(n, int(memory.STATE))

    def ordered(self, states: np.ndarray) -> np.ndarray:
        """States of the bodies (n_bodies, 13) from those of their members (n_members, 13 or more); a copy (M.3)."""
        out = unwritten((len(self._leaders), int(memory.STATE)))
        states = np.ascontiguousarray(states[:, : int(memory.STATE)])
        bodies_of_members(states, self._leaders, self.engine.member_pose, out)
        return out

    def members(self, state: np.ndarray) -> np.ndarray:
        """States of the members, (n_members, 13), from those of the bodies (n_bodies, 13); a copy (M.3)."""
        engine = self.engine
        out = unwritten((len(engine.member_body), int(memory.STATE)))
        members_of_bodies(state, engine.member_body, engine.member_pose, out)
        return out

    def pose_of(self, member: int) -> np.ndarray:
        """Place and attitude of a member in its body, (7,)."""
        return self.engine.member_pose[member]

    def tensions(self, floats: np.ndarray) -> np.ndarray:
        """Tensions of the cables of a world, (n_cables,) N."""
        return floats[self._pulls]

    def period(
        self, ints: np.ndarray, floats: np.ndarray, inputs: np.ndarray, step: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """World after a period of held inputs.

        Args:
            ints, floats: world at its start.
            inputs: wrenches of all vehicles, then accelerations of winches, (m,); of a world without winches also
                (n_vehicles, 4).
            step: length of a step, s; default that of the engine.

        Raises:
            SolverError: the integration cannot go on.
        """
        ints, floats = ints.copy(), floats.copy()
        self._begin(ints, floats, inputs, self.engine.step_length if step is None else step)
        status = RUN(ints, floats, 0)
        if status == stepper.OK:
            status = RUN(ints, floats, self.steps)
        if status != stepper.OK:
            raise SolverError(
                f"shooting: the engine stops with status {status}.",
                time=float(floats[memory.TIME]),
                state=self.state(floats),
            )
        return ints, floats

    def _begin(self, ints: np.ndarray, floats: np.ndarray, inputs: np.ndarray, step: float) -> None:
        """Write what a period begins with into a world; its steps and its winches count from there."""
        if len(self._winches):
            at, (lengths, rates) = self._winches, self.winding(floats).T
            floats[at + int(memory.WINDS_FROM)] = floats[memory.TIME]
            floats[at + int(memory.WOUND_LENGTH)], floats[at + int(memory.WOUND_RATE)] = (
                lengths,
                rates,
            )
        floats[self._inputs] = inputs.ravel()
        floats[memory.ORIGIN], floats[memory.STEP_LENGTH] = floats[memory.TIME], step
        ints[memory.STEP], ints[memory.WHAT] = 0, INPUT_CHANGED

    def winding(self, floats: np.ndarray) -> np.ndarray:
        """Length and rate of every winch of a world, (n_winches, 2) m and m/s (W.3)."""
        if not len(self._winches):
            return NO_WINCHES
        since, length, rate, acceleration = (
            floats[self._winches + int(column)]
            for column in (
                memory.WINDS_FROM,
                memory.WOUND_LENGTH,
                memory.WOUND_RATE,
                memory.WOUND_ACCELERATION,
            )
        )
        s = floats[memory.TIME] - since
        now = rate + s * acceleration
        return np.column_stack([length + 0.5 * s * (rate + now), now])

    def difference(self, floats: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Coordinates of one world about another, (n,)."""
        apart = self.between(self.state(floats), self.state(others))
        if not len(self._winches):
            return apart
        return np.append(apart, self.winding(floats) - self.winding(others))

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Coordinates of states of the bodies (n_bodies, 13) about others, (n_moving,)."""
        out = unwritten(self.n_moving)
        write_between(a, b, self.columns, out)
        return out

    def slopes_between(self, a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Derivatives of :meth:`between` with the coordinates of ``a``, rows times weights (n_moving,), square."""
        out = np.zeros((self.n_moving, self.n_moving))
        write_slopes(a, b, self.columns, weight, out)
        return out

    def linearize(
        self,
        nodes: list[tuple[np.ndarray, np.ndarray]],
        inputs: np.ndarray,
        steps: np.ndarray | None = None,
        *,
        threads: int | None = None,
    ) -> Periods:
        """Derivatives of all periods.

        Args:
            nodes: worlds at their starts.
            inputs: of each, as of :meth:`period`, (N, ...).
            steps: lengths of the steps of each, (N,) s; default that of the engine.
            threads: default one per core.

        Raises:
            SolverError: the integration cannot go on.
        """
        count, n, m, n_cables = len(nodes), self.n, len(self._inputs), len(self._pulls)
        ints, floats = np.array([i for i, _ in nodes]), np.array([f for _, f in nodes])
        for k in range(count):
            step = self.engine.step_length if steps is None else float(steps[k])
            self._begin(ints[k], floats[k], inputs[k], step)
        A, B = unwritten((count, n, n)), unwritten((count, n, m))
        C, D = unwritten((count, n_cables, n)), unwritten((count, n_cables, m))
        E, F = unwritten((count, n)), unwritten((count, n_cables))
        doubts = np.zeros(count, np.int64)
        threads = min(threads or os.cpu_count() or 1, count)

        def work(first: int, last: int) -> tuple[int, int]:
            return linearize_nodes(
                ints, floats, first, last, self.steps, self.bodies, self.axes, self._winches, self._inputs, self._pulls,
                np.zeros(ints.shape[1], np.int64), empty_duals(floats.shape[1:]), A, B, C, D, E, F, doubts,
            )  # fmt: skip

        if not Shooting.compiled:  # by one thread, before several ask for it
            work(0, 1)
            Shooting.compiled = True
        edges = np.linspace(0, count, threads + 1).astype(int).tolist()
        if threads == 1:
            ends = [work(0, count)]
        else:
            with ThreadPoolExecutor(threads) as pool:
                ends = list(pool.map(work, edges[:-1], edges[1:]))
        for status, k in ends:
            if status != stepper.OK:
                raise SolverError(
                    f"shooting: period {k} stops with status {status}.", time=float(floats[k, memory.TIME]),
                    state=self.state(floats[k]),
                )  # fmt: skip
        return Periods(A, B, C, D, E, F, doubts != 0)
