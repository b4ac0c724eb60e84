"""Speeds of the rotors of a world: commanded through their lag, or prescribed as signals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotor_core.interface.errors import ContractError
from rotor_sim.hybrid import impact
from rotor_sim.model import layout as at

SMALLEST_JUMP = 1e-15
"""Jumps of stored angular momentum below this are rounding, N m s."""


class RotorDrive:
    """Commands to the rotors of one world.

    Args:
        world: views.
        restart: takes up a change from outside (a code of :mod:`rotor_sim.hybrid.impact`).
    """

    def __init__(self, world: at.World, restart: Callable[[int], None]) -> None:
        self._world, self._restart = world, restart
        self._order = np.argsort(world.rotor_int[:, at.ROTOR_NUMBER])

    @property
    def _rows(self) -> np.ndarray:
        """Rows of all rotors as the user counts them; a copy."""
        return self._world.rotors[self._order]

    def _write(self, column: int, values: np.ndarray | float) -> None:
        self._world.rotors[self._order, column] = values

    @property
    def targets(self) -> np.ndarray:
        """Commanded (or mean prescribed) speeds of all rotors, (n_rotors,) rad/s; a copy."""
        return self._rows[:, at.SPEED_BIAS]

    @property
    def speeds(self) -> np.ndarray:
        """Speeds of all rotors now, (n_rotors,) rad/s (R.5)."""
        r = self._rows
        angle = r[:, at.SPEED_FREQUENCY] * self._time + r[:, at.SPEED_PHASE]
        return self._means + r[:, at.SPEED_AMPLITUDE] * np.sin(angle)

    @property
    def _time(self) -> float:
        return float(self._world.scalars[at.TIME])

    @property
    def _means(self) -> np.ndarray:
        """Speeds now without prescribed oscillations: what a lag acts on."""
        r = self._rows
        fading = np.exp(-r[:, at.LAG_RATE] * (self._time - r[:, at.SINCE]))
        return r[:, at.SPEED_BIAS] + r[:, at.SPEED_OFFSET] * fading

    def command(self, speeds: np.ndarray) -> None:
        """Command the speed of every rotor, (n_rotors,) rad/s; each follows with its own lag (R.5).

        A prescribed oscillation goes on about the new mean. A jump of the speed of a rotor without
        lag jumps the rate of its body: momentum is kept.

        Raises:
            ContractError: wrong shape or not finite; nothing is changed then.
        """
        self._check(speeds)
        now, means, rows = self.speeds, self._means, self._rows
        self._write(at.SPEED_BIAS, speeds)
        self._write(at.SPEED_OFFSET, np.where(rows[:, at.LAG_RATE] > 0.0, means - speeds, 0.0))
        self._write(at.SINCE, self._time)
        jump = rows[:, at.AXIAL_INERTIA] * (self.speeds - now)
        if np.any(np.abs(jump) > SMALLEST_JUMP):
            self._pass_on(jump)
            self._restart(impact.STATE_SET)
        else:
            self._restart(impact.INPUT_CHANGED)

    def start(self, speeds: np.ndarray) -> None:
        """Let rotors have been turning at these speeds, (n_rotors,) rad/s: no lag, no reaction.

        Raises:
            ContractError: wrong shape or not finite; nothing is changed then.
        """
        self._check(speeds)
        self._write(at.SPEED_BIAS, speeds)
        self._write(at.SPEED_OFFSET, 0.0)
        self._restart(impact.INPUT_CHANGED)

    def prescribe(
        self, i: int, mean: float, amplitude: float, frequency_hz: float, phase: float
    ) -> None:
        """Let rotor i have been turning at ``mean + amplitude sin(2 pi f t + phase)``, rad/s.

        The clock is that of the world. Nothing reacts to the change itself.
        """
        row = self._world.rotors[self._order[i]]
        row[at.SPEED_BIAS], row[at.SPEED_AMPLITUDE] = mean, amplitude
        row[at.SPEED_FREQUENCY], row[at.SPEED_PHASE] = 2.0 * np.pi * frequency_hz, phase
        row[at.SPEED_OFFSET] = 0.0

    def take_over(self, other: RotorDrive) -> None:
        """Turn as the same rotors in another world."""
        columns = slice(at.SPEED_BIAS, at.LAG_RATE)
        self._world.rotors[self._order, columns] = other._rows[:, columns]

    def _check(self, speeds: np.ndarray) -> None:
        n = len(self._rows)
        if np.shape(speeds) != (n,) or not np.isfinite(speeds).all():
            raise ContractError(f"rotor speeds: must be {n} finite numbers, got {speeds}.")

    def _pass_on(self, jump: np.ndarray) -> None:
        """Give jumps of stored momentum to the bodies (R.9)."""
        world = self._world
        for i in np.flatnonzero(jump):
            row = self._order[i]
            b = world.rotor_int[row, at.ROTOR_BODY]
            J_inverse = world.bodies[b, at.INV_INERTIA : at.INV_INERTIA + 9].reshape(3, 3)
            axis = world.rotors[row, at.AXIS : at.AXIS + 3]
            world.start[b, at.OMEGA :] -= J_inverse @ (jump[i] * axis)
