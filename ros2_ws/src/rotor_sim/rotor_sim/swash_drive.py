"""Swashplates and induced velocities of the rotors with blades of a world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotor_core.interface.errors import ContractError
from rotor_sim.hybrid import impact
from rotor_sim.model import layout as at


class SwashDrive:
    """Commands to the swashplates of one world, and what its discs do; rows are discs.

    Args:
        world: views.
        restart: takes up a change from outside (a code of :mod:`rotor_sim.hybrid.impact`).
    """

    def __init__(self, world: at.World, restart: Callable[[int], None]) -> None:
        self._world, self._restart = world, restart
        joints = world.disc_int[:, at.AZIMUTH_JOINT]
        rows = world.joint_int[joints, at.JOINT_ROW]
        filtered = world.disc_int[:, at.INFLOW_LAW] == at.FILTERED
        column = np.where(filtered, at.P, at.V) + at.INFLOW_COLUMN
        self._inflow_at = rows, column

    def __len__(self) -> int:
        return len(self._world.discs)

    @property
    def angles(self) -> np.ndarray:
        """Collective, cosine and sine angles of all swashplates now, (n_discs, 3) rad (B.7)."""
        rows = self._world.discs
        since = float(self._world.scalars[at.TIME]) - rows[:, at.SWASH_SINCE]
        fading = np.where(
            rows[:, at.SWASH_LAG_RATE] > 0.0, np.exp(-rows[:, at.SWASH_LAG_RATE] * since), 0.0
        )
        mean = rows[:, at.SWASH : at.SWASH + 3]
        return mean + fading[:, None] * rows[:, at.SWASH_OFFSET : at.SWASH_OFFSET + 3]

    def command(self, angles: np.ndarray, *, at_once: bool = False) -> None:
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
        """:meth:`command` without taking it up; the next change does."""
        angles = np.asarray(angles, float)
        if angles.shape != (len(self), 3) or not np.isfinite(angles).all():
            raise ContractError(
                f"swashplate: must be {len(self)} x 3 finite angles, got {angles.tolist()}."
            )
        rows = self._world.discs
        now = self.angles
        rows[:, at.SWASH_OFFSET : at.SWASH_OFFSET + 3] = 0.0 if at_once else now - angles
        rows[:, at.SWASH : at.SWASH + 3] = angles
        rows[:, at.SWASH_SINCE] = float(self._world.scalars[at.TIME])

    @property
    def inflow(self) -> np.ndarray:
        """Velocities that the discs induce, (n_discs,) m/s."""
        return self._world.start[self._inflow_at]

    def write_inflow(self, inflow: np.ndarray) -> None:
        """Write induced velocities (n_discs,) m/s, which have been so for long, before the engine takes up a state."""
        world = self._world
        rows, _ = self._inflow_at
        world.start[rows[:, None], (at.P + at.INFLOW_COLUMN, at.V + at.INFLOW_COLUMN)] = 0.0
        world.start[self._inflow_at] = inflow
        world.disc_int[:, at.NEWEST], world.disc_int[:, at.SAMPLES] = 0, 1
        world.histories[:, 0, 0] = float(world.scalars[at.TIME])
        world.histories[:, 0, 1] = inflow

    def shift(self, by: float) -> None:
        """The clock of the world jumps ``by`` s: what lags and what is remembered goes with it."""
        self._world.discs[:, at.SWASH_SINCE] += by
        self._world.histories[:, :, 0] += by

    def take_over(self, other: SwashDrive) -> None:
        """Angles and induced velocities of the same discs in another world."""
        mine, theirs = self._world, other._world
        mine.discs[:, at.SWASH : at.SWASH_LAG_RATE] = theirs.discs[:, at.SWASH : at.SWASH_LAG_RATE]
        columns = (at.P + at.INFLOW_COLUMN, at.V + at.INFLOW_COLUMN)
        mine.start[self._inflow_at[0][:, None], columns] = theirs.start[
            other._inflow_at[0][:, None], columns
        ]
        last = slice(at.NEWEST, at.SAMPLES + 1)
        mine.disc_int[:, last] = theirs.disc_int[:, last]
        mine.histories[:] = theirs.histories

    def _column(self, column: int) -> np.ndarray:
        return self._world.discs[:, column].copy()

    @property
    def thrusts(self) -> np.ndarray:
        """Forces of the air along the axes of the discs at the last evaluation, (n_discs,) N."""
        return self._column(at.THRUST)

    @property
    def torques(self) -> np.ndarray:
        """Torques of the air about their axes, against the rotation, (n_discs,) N m."""
        return self._column(at.AIR_TORQUE)

    @property
    def air_powers(self) -> np.ndarray:
        """Powers that the air gives to the blades, (n_discs,) W."""
        return self._column(at.AIR_POWER)
