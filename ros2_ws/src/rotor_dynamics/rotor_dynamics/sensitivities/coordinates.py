"""Coordinates of small changes of a motion: what is free to change in the state of a world.

An attitude changes by a rotation vector in body axes, ``q exp(theta)``. Speeds of rotors and efforts of motors that
follow with a lag are part of the state. Equations (D.13), (D.16), docs/theory/sensitivities.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import qmult, quat2mat

from rotor_core.kernels.jit import unwritten
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine

ERRORS = 12
"""Coordinates of a body: position in W, rotation vector in body axes, velocity in W, body rate."""

P, THETA, V, OMEGA = 0, 3, 6, 9

Seed = tuple[np.ndarray, np.ndarray]
"""Derivatives of the memory of a world: which of its numbers, and how much of each."""


@dataclass(frozen=True)
class Lag:
    """Numbers of a table that fade to what is commanded: ``bias + offset exp(-rate (t - since))``."""

    table: str
    bias: int
    offset: int
    rate: int
    since: int

    def rows(self, world: memory.World) -> np.ndarray:
        """Rows whose numbers lag."""
        return np.flatnonzero(getattr(world, self.table)[:, self.rate] > 0.0)


LAGS = (
    Lag("rotors", memory.SPEED_BIAS, memory.SPEED_OFFSET, memory.LAG_RATE, memory.SINCE),
    Lag("joints", memory.EFFORT_BIAS, memory.EFFORT_OFFSET, memory.EFFORT_LAG_RATE, memory.EFFORT_SINCE),
    *(
        Lag("discs", memory.SWASH + i, memory.SWASH_OFFSET + i, memory.SWASH_LAG_RATE, memory.SWASH_SINCE)
        for i in range(3)
    ),
)  # fmt: skip


class Coordinates:
    """Coordinates of a world about its state.

    Bodies come first (12 each, about the common centre of mass of what moves as one, axes of its first member), then
    angle and rate of every joint that moves freely, then induced velocities of discs, then what lags.

    Args:
        engine: the world.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        order = np.argsort(engine.topology.rows)
        n_roots = engine.topology.n_bodies - len(engine.topology.joints)
        groups = [engine.groups[i] for i in order]
        self._bodies = [int(engine.topology.rows[i]) for i in order]
        kept = [i for i, row in enumerate(self._bodies) if row < n_roots]
        self._bodies, groups = [self._bodies[i] for i in kept], [groups[i] for i in kept]
        self._turns = [quat2mat(g.places[0].q) for g in groups]
        self.bodies = ["+".join(engine.system.bodies[m].name for m in g.members) for g in groups]
        """What moves as one: names of the members, joined by +."""
        joints = engine.joints
        free = np.flatnonzero(~joints.is_driven)
        self.joints = [joints.names[i] for i in free]
        """Joints that move freely."""
        self._joint_rows = joints._state_rows[free]
        self._inflow = list(zip(*engine.swash._inflow_at, strict=True)) if len(engine.swash) else []
        self._lags = [(lag, int(row)) for lag in LAGS for row in lag.rows(engine.world)]
        self.n = (
            ERRORS * len(self.bodies) + 2 * len(self.joints) + len(self._inflow) + len(self._lags)
        )
        """How many there are."""

    @property
    def lags(self) -> list[tuple[Lag, int]]:
        """The last coordinates, of what lags: the numbers, and their row."""
        return self._lags

    def begin_lags(self, world: memory.World) -> None:
        """Let what lags be told by its offset alone: its fading begins now."""
        t = float(world.scalars[memory.TIME])
        for lag, row in self._lags:
            numbers = getattr(world, lag.table)[row]
            numbers[lag.offset] *= np.exp(-numbers[lag.rate] * (t - numbers[lag.since]))
        for lag, row in self._lags:
            getattr(world, lag.table)[row][lag.since] = t

    def seeds(self) -> list[Seed]:
        """Derivative of the memory with each coordinate."""
        engine, world = self._engine, self._engine.world
        start = world.states[memory.START]
        seeds = []

        def seed(row: np.ndarray, columns: slice, values: np.ndarray) -> None:
            seeds.append((indices(engine, row[columns]), np.array(values, float)))

        for b, turn in zip(self._bodies, self._turns, strict=True):
            row, q = start[b], start[b, memory.Q : memory.Q + 4]
            for column in range(ERRORS):
                axis = np.eye(3)[column % 3]
                if column < THETA:
                    seed(row, slice(memory.P, memory.P + 3), axis)
                elif column < V:
                    seed(row, slice(memory.Q, memory.Q + 4), qmult(q, [0.0, *(0.5 * turn @ axis)]))
                elif column < OMEGA:
                    seed(row, slice(memory.V, memory.V + 3), axis)
                else:
                    seed(row, slice(memory.OMEGA, memory.OMEGA + 3), turn @ axis)
        for r in self._joint_rows:
            for column in (memory.P, memory.V):
                seed(start[r], slice(column, column + 1), np.ones(1))
        for r, column in self._inflow:
            seed(start[r], slice(column, column + 1), np.ones(1))
        for lag, r in self._lags:
            seed(getattr(world, lag.table)[r], slice(lag.offset, lag.offset + 1), np.ones(1))
        return seeds

    def read(self, value: memory.World, change: memory.World) -> np.ndarray:
        """Coordinates of a change, (n,).

        Args:
            value: the state.
            change: derivative of the memory there.
        """
        start, moved = value.states[memory.START], change.states[memory.START]
        out = []
        for b, turn in zip(self._bodies, self._turns, strict=True):
            q, dq = start[b, memory.Q : memory.Q + 4], moved[b, memory.Q : memory.Q + 4]
            theta = 2.0 * qmult(q * (1.0, -1.0, -1.0, -1.0), dq)[1:]
            out += [
                moved[b, memory.P : memory.P + 3],
                turn.T @ theta,
                moved[b, memory.V : memory.V + 3],
                turn.T @ moved[b, memory.OMEGA : memory.OMEGA + 3],
            ]
        for r in self._joint_rows:
            out.append(moved[r, [memory.P, memory.V]])
        out.append(np.array([moved[r, c] for r, c in self._inflow]))
        t, dt = value.scalars[memory.TIME], change.scalars[memory.TIME]
        for lag, r in self._lags:
            x, dx = getattr(value, lag.table)[r], getattr(change, lag.table)[r]
            fading = np.exp(-x[lag.rate] * (t - x[lag.since]))
            slope = -dx[lag.rate] * (t - x[lag.since]) - x[lag.rate] * (dt - dx[lag.since])
            out.append(np.array([dx[lag.bias] + fading * (dx[lag.offset] + x[lag.offset] * slope)]))
        return np.concatenate(out) if out else np.zeros(0)

    def rates(self, value: memory.World, change: memory.World) -> np.ndarray:
        """Rates of the coordinates of a change, (n,), from the accelerations of both."""
        along, slopes = self.read(value, change), change.slopes[memory.FIRST_SLOPE]
        out = unwritten(self.n)
        for i, (b, turn) in enumerate(zip(self._bodies, self._turns, strict=True)):
            x, rate = along[ERRORS * i :][:ERRORS], out[ERRORS * i :][:ERRORS]
            omega = turn.T @ value.start[b, memory.OMEGA : memory.OMEGA + 3]
            rate[P : P + 3] = x[V : V + 3]
            rate[THETA : THETA + 3] = x[OMEGA : OMEGA + 3] - np.cross(omega, x[THETA : THETA + 3])
            rate[V : V + 3] = slopes[b, memory.D_V : memory.D_V + 3]
            rate[OMEGA : OMEGA + 3] = turn.T @ slopes[b, memory.D_OMEGA : memory.D_OMEGA + 3]
        at = ERRORS * len(self._bodies)
        for r in self._joint_rows:
            out[at : at + 2] = change.start[r, memory.V], slopes[r, memory.D_V]
            at += 2
        at += len(self._inflow)  # of discs, of which nothing stays: see linearize
        for lag, r in self._lags:
            x, dx = getattr(value, lag.table)[r], getattr(change, lag.table)[r]
            out[at] = x[lag.rate] * (dx[lag.bias] - along[at])
            at += 1
        return out


def indices(engine: Engine, part: np.ndarray) -> np.ndarray:
    """Numbers of the memory that a part of a table of the engine is, (part.size,)."""
    return numbers_of(engine.floats, part)


def numbers_of(floats: np.ndarray, part: np.ndarray) -> np.ndarray:
    """The same of a table whose numbers are these, (part.size,)."""
    first = (part.ctypes.data - floats.ctypes.data) // part.itemsize
    steps = np.indices(part.shape).reshape(part.ndim, -1)
    strides = np.array(part.strides)[:, None] // part.itemsize
    return first + np.sum(steps * strides, axis=0)


def parts_lags(engine: Engine, seeds: Iterable[Seed]) -> bool:
    """True if a seed gives rotors whose lags are the same, of which the engine computes one, different ones."""
    shares = np.flatnonzero(engine.world.rotor_int[:, memory.SAME_LAG])
    if not len(shares):
        return False
    lags = indices(engine, engine.world.rotors[:, memory.LAG_RATE])
    for where, by in seeds:
        if not np.isin(where, lags).any():
            continue
        amounts = np.zeros(len(engine.floats))
        np.add.at(amounts, where, by)
        if np.any(amounts[lags[shares]] != amounts[lags[shares - 1]]):
            return True
    return False


def seed_of(engine: Engine, command: Callable[[float], None], step: float) -> Seed:
    """Derivative of the memory with a command on which it depends linearly, or nearly so.

    By a central difference of what is written, not of what it leads to; exact to rounding for what is linear.

    Args:
        engine: is left as it was.
        command: writes the command, changed by its argument, into the engine.
        step: of the difference.
    """
    ints, floats, events = engine.ints.copy(), engine.floats.copy(), engine._events.copy()
    written = []
    for sign in (1.0, -1.0):
        engine.ints[:], engine.floats[:] = ints, floats
        command(sign * step)
        written.append(engine.floats.copy())
    engine.ints[:], engine.floats[:] = ints, floats
    engine._events = events
    return sparse(difference(*written) / (2.0 * step))


def difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A - b, zero where both are the same, be it infinite or no number."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(same, 0.0, a) - np.where(same, 0.0, b))


def sparse(derivative: np.ndarray) -> Seed:
    """Seed of a derivative of the whole memory."""
    where = np.flatnonzero(derivative)
    return where, derivative[where]
