"""Swashplates and induced velocities of the rotors with blades of a world."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import kernel
from rotor_dynamics import memory
from rotor_dynamics.actuation.rows import ALL, Rows
from rotor_dynamics.hybrid import impact


@kernel
def command_swash(discs, time, angles, at_once):
    """Let all swashplates go to other angles from now on, each with its lag (B.7).

    Args:
        discs: table of all discs.
        time: now, s.
        angles: collective, cosine and sine angles, (n_discs, 3) rad.
        at_once: they have been there for long.
    """
    for k in range(angles.shape[0]):
        row = discs[k]
        fading = 0.0
        if row[memory.SWASH_LAG_RATE] > 0.0 and not at_once:
            fading = exp(-row[memory.SWASH_LAG_RATE] * (time - row[memory.SWASH_SINCE]))
        for i in range(3):
            offset = 0.0
            if not at_once:
                now = row[memory.SWASH + i] + fading * row[memory.SWASH_OFFSET + i]
                offset = now - angles[k, i]
            row[memory.SWASH_OFFSET + i] = offset
            row[memory.SWASH + i] = angles[k, i]
        row[memory.SWASH_SINCE] = time


class SwashDrive:
    """Commands to the swashplates of one world, and what its discs do; rows are discs.

    Args:
        world: views.
        restart: takes up a change from outside (a code of :mod:`rotor_dynamics.hybrid.impact`).
    """

    def __init__(self, world: memory.World, restart: Callable[[int], None]) -> None:
        self._world, self._restart = world, restart
        joints = world.disc_int[:, memory.AZIMUTH_JOINT]
        rows = world.joint_int[joints, memory.JOINT_ROW]
        filtered = world.disc_int[:, memory.INFLOW_LAW] == memory.FILTERED
        column = np.where(filtered, memory.P, memory.V) + memory.INFLOW_COLUMN
        self._inflow_at = rows, column

    def __len__(self) -> int:
        return len(self._world.discs)

    @property
    def angles(self) -> np.ndarray:
        """Collective, cosine and sine angles of all swashplates now, (n_discs, 3) rad (B.7)."""
        rows = self._world.discs
        since = float(self._world.scalars[memory.TIME]) - rows[:, memory.SWASH_SINCE]
        fading = np.where(
            rows[:, memory.SWASH_LAG_RATE] > 0.0,
            np.exp(-rows[:, memory.SWASH_LAG_RATE] * since),
            0.0,
        )
        mean = rows[:, memory.SWASH : memory.SWASH + 3]
        return mean + fading[:, None] * rows[:, memory.SWASH_OFFSET : memory.SWASH_OFFSET + 3]

    def act(self, angles: np.ndarray, *, at_once: bool = False) -> None:
        """Command collective, cosine and sine angle of every swashplate, (n_discs, 3) rad.

        Args:
            angles: the blade at azimuth psi gets ``collective + cosine cos(psi) + sine sin(psi)``.
            at_once: they have been there for long.

        Raises:
            ContractError: wrong shape or not finite; nothing is changed then.
        """
        self.write(angles, at_once=at_once)
        self._restart(impact.INPUT_CHANGED)

    def write(self, angles: np.ndarray, *, at_once: bool = False) -> None:
        """:meth:`act` without taking it up; the next change does."""
        angles = np.asarray(angles, float)
        if angles.shape != (len(self), 3) or not np.isfinite(angles).all():
            raise ContractError(
                f"swashplate: must be {len(self)} x 3 finite angles, got {angles.tolist()}."
            )
        world = self._world
        now = float(world.scalars[memory.TIME])
        command_swash(world.discs, now, np.ascontiguousarray(angles), at_once)

    @property
    def inflow(self) -> np.ndarray:
        """Velocities that the discs induce, (n_discs,) m/s."""
        return self._world.start[self._inflow_at]

    def write_inflow(self, inflow: np.ndarray) -> None:
        """Write induced velocities (n_discs,) m/s, which have been so for long, before the engine takes up a state."""
        world = self._world
        rows, _ = self._inflow_at
        world.start[
            rows[:, None], (memory.P + memory.INFLOW_COLUMN, memory.V + memory.INFLOW_COLUMN)
        ] = 0.0
        world.start[self._inflow_at] = inflow
        world.disc_int[:, memory.NEWEST], world.disc_int[:, memory.SAMPLES] = 0, 1
        world.histories[:, 0, 0] = float(world.scalars[memory.TIME])
        world.histories[:, 0, 1] = inflow

    def shift(self, by: float) -> None:
        """The clock of the world jumps ``by`` s: what lags and what is remembered goes with it."""
        self._world.discs[:, memory.SWASH_SINCE] += by
        self._world.histories[:, :, 0] += by

    def take_over(self, other: SwashDrive, mine: Rows = ALL, theirs: Rows = ALL) -> None:
        """Angles and induced velocities of the same discs in another world of this time, by their numbers there."""
        here, there = self._world, other._world
        angles, last = (
            slice(memory.SWASH, memory.SWASH_LAG_RATE),
            slice(memory.NEWEST, memory.SAMPLES + 1),
        )
        here.discs[mine, angles] = there.discs[theirs, angles]
        columns = (memory.P + memory.INFLOW_COLUMN, memory.V + memory.INFLOW_COLUMN)
        here.start[self._inflow_at[0][mine][:, None], columns] = there.start[
            other._inflow_at[0][theirs][:, None], columns
        ]
        here.disc_int[mine, last] = there.disc_int[theirs, last]
        here.histories[mine] = there.histories[theirs]

    def _column(self, column: int) -> np.ndarray:
        return self._world.discs[:, column].copy()

    @property
    def thrusts(self) -> np.ndarray:
        """Forces of the air along the axes of the discs at the last evaluation, (n_discs,) N."""
        return self._column(memory.THRUST)

    @property
    def torques(self) -> np.ndarray:
        """Torques of the air about their axes, against the rotation, (n_discs,) N m."""
        return self._column(memory.AIR_TORQUE)

    @property
    def air_powers(self) -> np.ndarray:
        """Powers that the air gives to the blades, (n_discs,) W."""
        return self._column(memory.AIR_POWER)
