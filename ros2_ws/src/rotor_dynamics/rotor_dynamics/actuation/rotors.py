"""Speeds of the rotors of a world: commanded through their lag, or prescribed as signals."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, nan, sin

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import inlined, kernel, unwritten
from rotor_core.math.vec3 import apply, get3, get9, put3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.actuation.rows import ALL, Rows
from rotor_dynamics.hybrid import impact
from rotor_dynamics.motion.kicks import kick_trees

SMALLEST_JUMP = 1e-15
"""Jumps of stored angular momentum below this are rounding, N m s."""


class RotorDrive:
    """Commands to the rotors of one world.

    Args:
        ints, floats: the world.
        restart: takes up a change from outside (a code of :mod:`rotor_dynamics.hybrid.impact`).
    """

    def __init__(
        self, ints: np.ndarray, floats: np.ndarray, restart: Callable[[int], None]
    ) -> None:
        self._ints, self._floats, self._restart = ints, floats, restart
        self._world = world = memory.world_of(ints, floats)
        self.order = np.argsort(world.rotor_int[:, memory.ROTOR_NUMBER])
        """Rows of all rotors in the world, as the user counts them."""
        rows = self._rows
        still = rows[:, memory.PER_SPEED2 : memory.PER_SPEED2 + 6]
        pushed = np.cross(rows[:, memory.HUB : memory.HUB + 3], still[:, :3])
        self.still = np.hstack([still[:, :3], pushed, still[:, 3:] - pushed])
        """Over squared speed in air at rest: force, its moment, and that of the drag, (n_rotors, 9)."""

    @property
    def _rows(self) -> np.ndarray:
        """Rows of all rotors as the user counts them; a copy."""
        return self._world.rotors[self.order]

    def _write(self, column: int, values: np.ndarray | float) -> None:
        self._world.rotors[self.order, column] = values

    @property
    def targets(self) -> np.ndarray:
        """Commanded (or mean prescribed) speeds of all rotors, (n_rotors,) rad/s; a copy."""
        return self._rows[:, memory.SPEED_BIAS]

    @property
    def speeds(self) -> np.ndarray:
        """Speeds of all rotors now, (n_rotors,) rad/s (R.5)."""
        out = unwritten(len(self.order))
        speeds_now(self._world.rotors, self.order, self._time, out)
        return out

    @property
    def _time(self) -> float:
        return float(self._world.scalars[memory.TIME])

    def act(self, speeds: np.ndarray) -> None:
        """Command the speed of every rotor, (n_rotors,) rad/s; each follows with its own lag (R.5).

        A prescribed oscillation goes on about the new mean. A jump of the speed of a rotor without
        lag jumps the rate of its body: momentum is kept.

        Raises:
            ContractError: wrong shape or not finite; nothing is changed then.
        """
        speeds = np.asarray(speeds, float)
        self._check(speeds)
        jumped = command_speeds(self._ints, self._floats, self.order, self._time, speeds)
        self._restart(impact.RATES_JUMPED if jumped else impact.INPUT_CHANGED)

    def start(self, speeds: np.ndarray, *, only: np.ndarray | None = None) -> None:
        """Let rotors have been turning at these speeds, (n_rotors,) rad/s: no lag, no reaction.

        ``only``: those that do, (n_rotors,) bool; others go on.

        Raises:
            ContractError: wrong shape or not finite; nothing is changed then.
        """
        self._check(speeds)
        which = slice(None) if only is None else only
        rows = self.order[which]
        self._world.rotors[rows, memory.SPEED_BIAS] = speeds[which]
        self._world.rotors[rows, memory.SPEED_OFFSET] = 0.0
        self._restart(impact.INPUT_CHANGED)

    @property
    def all_lag(self) -> bool:
        """True if every rotor follows its commands with a lag."""
        return bool((self._rows[:, memory.LAG_RATE] > 0.0).all())

    def recall(self, times: np.ndarray, speeds: np.ndarray) -> None:
        """Let rotors, which :attr:`all_lag`, turn as commands before now have left them; nothing else happens.

        The first command found them at speed. The next change of inputs takes it up.

        Args:
            times: of the commands, ascending, (m,) s.
            speeds: commanded, (m, n_rotors) rad/s.
        """
        self._write(memory.SPEED_BIAS, speeds[0])
        self._write(memory.SPEED_OFFSET, 0.0)
        for t, asked in zip(times[1:], speeds[1:], strict=True):
            command_speeds(self._ints, self._floats, self.order, float(t), asked)

    def prescribe(
        self, i: int, mean: float, amplitude: float, frequency_hz: float, phase: float
    ) -> None:
        """Let rotor i have been turning at ``mean + amplitude sin(2 pi f t + phase)``, rad/s.

        The clock is that of the world. Nothing reacts to the change itself.
        """
        row = self._world.rotors[self.order[i]]
        row[memory.SPEED_BIAS], row[memory.SPEED_AMPLITUDE] = mean, amplitude
        row[memory.SPEED_FREQUENCY], row[memory.SPEED_PHASE] = 2.0 * np.pi * frequency_hz, phase
        row[memory.SPEED_OFFSET] = 0.0

    def scale(self, factors: np.ndarray) -> None:
        """Let the first rotors give these shares of their thrust and drag torque in air at rest, (2, n)."""
        scale_rotors(self._world.rotors, self.order, self.still, np.ascontiguousarray(factors))
        self._restart(impact.INPUT_CHANGED)

    def shift(self, by: float) -> None:
        """The clock of the world jumps ``by`` s: what lags goes with it, what oscillates does not."""
        self._world.rotors[:, memory.SINCE] += by

    def take_over(self, other: RotorDrive, mine: Rows = ALL, theirs: Rows = ALL) -> None:
        """Turn as the same rotors in another world of this time, by their numbers here and there."""
        columns = slice(memory.SPEED_BIAS, memory.LAG_RATE)
        self._world.rotors[self.order[mine], columns] = other._rows[theirs, columns]

    def _check(self, speeds: np.ndarray) -> None:
        n = len(self._rows)
        if np.shape(speeds) != (n,) or not np.isfinite(speeds).all():
            raise ContractError(f"rotor speeds: must be {n} finite numbers, got {speeds}.")


@inlined
def lagging_speed(rotor, t):
    """Speed of a rotor at time t without its prescribed oscillation: what a lag acts on."""
    speed = rotor[memory.SPEED_BIAS]
    if (
        rotor[memory.LAG_RATE] != 0.0
    ):  # not the offset: where it is zero, its derivatives need not be
        speed += rotor[memory.SPEED_OFFSET] * exp(
            -rotor[memory.LAG_RATE] * (t - rotor[memory.SINCE])
        )
    return speed


@kernel
def speeds_now(rotors, order, t, out):
    """Speeds of all rotors at time t into ``out``, as the user counts them (R.5)."""
    for i in range(order.shape[0]):
        rotor = rotors[order[i]]
        angle = rotor[memory.SPEED_FREQUENCY] * t + rotor[memory.SPEED_PHASE]
        out[i] = lagging_speed(rotor, t) + rotor[memory.SPEED_AMPLITUDE] * sin(angle)


@kernel
def scale_rotors(rotors, order, still, factors):
    """Write what rotors give over squared speed: shares (2, n) of thrust and drag torque of ``still`` (n_rotors, 9)."""
    at = memory.PER_SPEED2
    for k in range(factors.shape[1]):
        row, thrust, torque = order[k], factors[0, k], factors[1, k]
        for i in range(3):
            rotors[row, at + i] = thrust * still[k, i]
            rotors[row, at + 3 + i] = thrust * still[k, 3 + i] + torque * still[k, 6 + i]


@kernel
def command_speeds(ints, floats, order, t, speeds):
    """Commanded speeds of all rotors from time t on; jumps of stored momentum go to the bodies (R.9).

    Returns:
        Whether there was a jump.
    """
    world = memory.views(ints, floats)
    jumped, kicks = False, False
    trees = world.head[memory.N_JOINTS] != 0
    for i in range(order.shape[0]):
        row = order[i]
        rotor = world.rotors[row]
        mean = lagging_speed(rotor, t)
        rotor[memory.SPEED_BIAS], rotor[memory.SINCE] = speeds[i], t
        lags = rotor[memory.LAG_RATE] > 0.0
        rotor[memory.SPEED_OFFSET] = mean - speeds[i] if lags else 0.0
        jump = 0.0 if lags else rotor[memory.AXIAL_INERTIA] * (speeds[i] - mean)
        if trees:
            rotor[memory.SPEED_DOT] = 0.0
        if abs(jump) > SMALLEST_JUMP:
            jumped = True
            b = world.rotor_int[row, memory.ROTOR_BODY]
            if b >= world.head[memory.N_FREE]:
                kicks = True
                rotor[memory.SPEED_DOT] = speeds[i] - mean
                continue
            inverse = get9(world.bodies[b], memory.INV_INERTIA)
            change = apply(inverse, scale(jump, get3(rotor, memory.AXIS)))
            body = world.states[memory.START, b]
            put3(body, memory.OMEGA, sub(get3(body, memory.OMEGA), change))
    if trees:
        world.scalars[memory.SPEEDS_AT] = nan  # speeds and their rates are to be found anew
    if kicks:
        kick_trees(ints, floats, t)
    return jumped
