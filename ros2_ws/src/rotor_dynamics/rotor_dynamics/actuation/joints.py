"""Efforts and prescribed motions of the joints of a world."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import kernel
from rotor_dynamics import memory
from rotor_dynamics.actuation.rows import ALL, Rows
from rotor_dynamics.hybrid import impact
from rotor_dynamics.kinematics.trees import driven_motion

COEFFICIENTS = 6


@kernel
def command_efforts(joints, rows, time, efforts, limits, at_once):
    """Let motors follow other efforts from now on, each with its lag and within its limit (T.8).

    Args:
        joints: table of all joints.
        rows: of the motors in it, (n,).
        time: now, s.
        efforts, limits: (n,) N m or N.
        at_once: they have been at these efforts for long.
    """
    for i in range(rows.shape[0]):
        row = joints[rows[i]]
        wanted = min(max(efforts[i], -limits[i]), limits[i])
        offset = 0.0
        if row[memory.EFFORT_LAG_RATE] > 0.0 and not at_once:
            fading = exp(-row[memory.EFFORT_LAG_RATE] * (time - row[memory.EFFORT_SINCE]))
            offset = row[memory.EFFORT_BIAS] + row[memory.EFFORT_OFFSET] * fading - wanted
        row[memory.EFFORT_OFFSET] = offset
        row[memory.EFFORT_BIAS] = wanted
        row[memory.EFFORT_SINCE] = time


class JointDrive:
    """Commands to the joints of one world; arrays are in the order in which the user named the joints.

    Args:
        world: views.
        names: of the joints, for messages.
        limits: largest efforts, (n_joints,).
        restart: takes up a change from outside (a code of :mod:`rotor_dynamics.hybrid.impact`).
    """

    def __init__(
        self,
        world: memory.World,
        names: list[str],
        limits: np.ndarray,
        restart: Callable[[int], None],
    ) -> None:
        self._world, self._restart, self.names, self.limits = world, restart, names, limits
        self._order = np.argsort(world.joint_int[:, memory.JOINT_NUMBER])
        self._state_rows = world.joint_int[self._order, memory.JOINT_ROW]

    def __len__(self) -> int:
        return len(self._order)

    @property
    def is_driven(self) -> np.ndarray:
        """True for joints with a prescribed motion, (n_joints,) bool."""
        return self._world.joint_int[self._order, memory.DRIVEN] != 0

    @property
    def angles(self) -> np.ndarray:
        """Angles (or travels), (n_joints,) rad or m."""
        return self._world.start[self._state_rows, memory.P]

    @property
    def rates(self) -> np.ndarray:
        """Rates, (n_joints,) rad/s or m/s."""
        return self._world.start[self._state_rows, memory.V]

    @property
    def states(self) -> np.ndarray:
        """Angles and rates, (n_joints, 2)."""
        return self._world.start[self._state_rows[:, None], (memory.P, memory.V)]

    @property
    def accelerations(self) -> np.ndarray:
        """Accelerations, (n_joints,) rad/s^2 or m/s^2."""
        return self._world.slopes[memory.FIRST_SLOPE, self._state_rows, memory.D_V]

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the motors now, (n_joints,) N m or N; zero for driven joints (T.8)."""
        r = self._world.joints[self._order]
        t = float(self._world.scalars[memory.TIME])
        wave = np.sin(r[:, memory.EFFORT_FREQUENCY] * t + r[:, memory.EFFORT_PHASE])
        efforts = self._means + r[:, memory.EFFORT_AMPLITUDE] * wave
        return np.where(self.is_driven, 0.0, efforts)

    @property
    def _means(self) -> np.ndarray:
        r = self._world.joints[self._order]
        since = float(self._world.scalars[memory.TIME]) - r[:, memory.EFFORT_SINCE]
        fading = np.exp(-r[:, memory.EFFORT_LAG_RATE] * since)
        return r[:, memory.EFFORT_BIAS] + r[:, memory.EFFORT_OFFSET] * fading

    def write_state(self, states: np.ndarray) -> None:
        """Write angles and rates, (n_joints, 2), before the engine takes up a state.

        Raises:
            ContractError: wrong shape, not finite, or beyond a stop.
        """
        states = np.asarray(states, float)
        if states.shape != (len(self), 2) or not np.isfinite(states).all():
            raise ContractError(
                f"joint state: must be {len(self)} finite angles and rates, got {states.tolist()}."
            )
        self._world.start[self._state_rows, memory.P] = states[:, 0]
        self._world.start[self._state_rows, memory.V] = states[:, 1]

    def act(self, efforts: np.ndarray, *, only: np.ndarray | None = None) -> None:
        """Command the effort of every joint, (n_joints,); each follows with its lag, within its limit (T.8).

        Driven joints ignore theirs. ``only``: as of :meth:`write_efforts`.

        Raises:
            ContractError: wrong shape or not finite; nothing is changed then.
        """
        self.write_efforts(efforts, only=only)
        self._restart(impact.INPUT_CHANGED)

    def write_efforts(
        self,
        efforts: np.ndarray,
        *,
        at_once: bool = False,
        only: np.ndarray | None = None,
        time: float | None = None,
    ) -> None:
        """:meth:`act` without taking it up; the next change of inputs does.

        ``at_once``: motors have been at these efforts for long. ``only``: the joints whose motors are
        commanded, (n_joints,) bool; others go on as they were told before. ``time``: of a command that came before, s.
        """
        if np.shape(efforts) != (len(self),) or not np.isfinite(efforts).all():
            raise ContractError(
                f"joint efforts: must be {len(self)} finite numbers, got {efforts}."
            )
        motors = ~self.is_driven if only is None else only & ~self.is_driven
        command_efforts(
            self._world.joints,
            self.rows(motors),
            float(self._world.scalars[memory.TIME]) if time is None else time,
            np.ascontiguousarray(efforts[motors], float),
            self.limits[motors],
            at_once,
        )

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Rows of some joints (bool) in the memory of the world."""
        return self._order[which]

    def oscillate(self, i: int, amplitude: float, frequency_hz: float, phase: float) -> None:
        """Add ``amplitude sin(2 pi f t + phase)`` to the effort of joint i, or to the angle of a driven one.

        The clock is that of the world. Before the state is set.
        """
        row = self._world.joints[self._order[i]]
        row[memory.EFFORT_AMPLITUDE] = amplitude
        row[memory.EFFORT_FREQUENCY], row[memory.EFFORT_PHASE] = 2.0 * np.pi * frequency_hz, phase

    def prescribe(self, i: int, coefficients: np.ndarray, duration: float = np.inf) -> None:
        """Let the angle of a driven joint be a polynomial of the time from now on, held after ``duration`` s.

        Up to six coefficients, constant first. The caller keeps angle and rate continuous: nothing
        reacts to a jump.

        Raises:
            ContractError: the joint is not driven, or numbers that are not finite.
        """
        if not self.is_driven[i]:
            raise ContractError(f"joint {self.names[i]!r}: is not driven; command its effort.")
        coefficients = np.asarray(coefficients, float)
        if not (len(coefficients) <= COEFFICIENTS and np.isfinite(coefficients).all()):
            raise ContractError(
                f"joint {self.names[i]!r}: needs at most {COEFFICIENTS} finite coefficients, got {coefficients}."
            )
        self._write_motion(i, coefficients, duration)
        self._world.joints[self._order[i], memory.EFFORT_SINCE] = float(
            self._world.scalars[memory.TIME]
        )
        self._restart(impact.INPUT_CHANGED)

    def shift(self, by: float) -> None:
        """The clock of the world jumps ``by`` s: what lags or is driven goes with it, what oscillates does not."""
        self._world.joints[:, memory.EFFORT_SINCE] += by

    def take_over(self, other: JointDrive, mine: Rows = ALL, theirs: Rows = ALL) -> None:
        """Efforts and prescribed motions of the same joints in another world of this time, by their numbers there."""
        columns = slice(memory.EFFORT_BIAS, memory.HOLDS_AFTER + 1)
        there = other._world.joints[other._order[theirs], columns]
        self._world.joints[self._order[mine], columns] = there

    def turn(self, first: int, rates: np.ndarray, lag: float = 0.0) -> None:
        """Let driven joints from ``first`` on come to ``rates``, exponentially with a time constant ``lag`` (T.9).

        Nothing reacts to a jump of the rate, where there is no lag.
        """
        now = float(self._world.scalars[memory.TIME])
        for i, rate in enumerate(rates, start=first):
            angle, present, _ = self._driven_now(i)
            row = self._world.joints[self._order[i]]
            row[memory.EFFORT_OFFSET] = present - rate if lag > 0.0 else 0.0
            row[memory.EFFORT_LAG_RATE] = 1.0 / lag if lag > 0.0 else 0.0
            self._write_motion(i, np.array([angle, rate]), np.inf)
            row[memory.EFFORT_SINCE] = now
        self._restart(impact.INPUT_CHANGED)

    def set_rates(self, first: int, rates: np.ndarray) -> None:
        """Let joints from ``first`` on turn at ``rates`` from now on; nothing reacts to the jump."""
        self._world.start[self._state_rows[first : first + len(rates)], memory.V] = rates
        self._restart(impact.STATE_SET)

    @property
    def driving_efforts(self) -> np.ndarray:
        """Efforts that driven joints need for their motion, (n_joints,) N m or N; zero for others (T.15).

        Raises:
            ContractError: a cable pulls, or a joint is at its stop; what it adds is not known.
        """
        if self.is_driven.any() and self._is_pulled:
            raise ContractError(
                "driving_efforts: are not known while a cable pulls or a joint is at its stop."
            )
        return np.where(self.is_driven, self._driving, 0.0)

    @property
    def told_efforts(self) -> np.ndarray:
        """:attr:`efforts`, (n_joints,); of driven joints what their motion needs, NaN while it is not known (T.15)."""
        if not self.is_driven.any():
            return self.efforts
        driving = np.nan if self._is_pulled else self._driving
        return np.where(self.is_driven, driving, self.efforts)

    @property
    def _is_pulled(self) -> bool:
        rows = self._world.constraint_int
        return bool((rows[:, memory.TAUT] + rows[:, memory.STRETCHED]).any())

    @property
    def _driving(self) -> np.ndarray:
        world = self._world
        rows = world.joints[self._order]
        link = world.articulated[world.joint_int[self._order, memory.LINK_BODY]]
        motion = link[:, memory.ALPHA : memory.ALPHA + 6]
        bias = link[:, memory.P_A_MOMENT : memory.P_A_MOMENT + 6]
        screw, reaction = rows[:, memory.S : memory.S + 6], rows[:, memory.U : memory.U + 6]
        efforts = np.sum(reaction * motion + screw * bias, axis=1)
        efforts += rows[:, memory.ARMATURE] * rows[:, memory.DRIVE]
        return np.asarray(efforts - self._passive(rows))

    def _passive(self, rows: np.ndarray) -> np.ndarray:
        """What springs, damping and friction of the joints give, (n_joints,) (T.7)."""
        angles, rates = self.states.T
        springs = rows[:, memory.STIFFNESS] * (rows[:, memory.REST] - angles)
        slow = np.where(rows[:, memory.FRICTION] != 0.0, rows[:, memory.FRICTION_SPEED], 1.0)
        friction = rows[:, memory.FRICTION] * np.tanh(rates / slow)
        return np.asarray(springs - rows[:, memory.DAMPING] * rates - friction)

    def hold(self, i: int, angle: float) -> None:
        """Hold a driven joint at ``angle``; before the state is set."""
        self._write_motion(i, np.array([angle]), np.inf)

    def _write_motion(self, i: int, coefficients: np.ndarray, holds_after: float) -> None:
        row = self._world.joints[self._order[i]]
        row[memory.COEFFICIENTS : memory.COEFFICIENTS + COEFFICIENTS] = 0.0
        row[memory.COEFFICIENTS : memory.COEFFICIENTS + len(coefficients)] = coefficients
        row[memory.HOLDS_AFTER] = holds_after

    def move(self, i: int, angle: float, duration: float) -> None:
        """Move a driven joint to ``angle`` in ``duration`` s, smoothly from its present motion to rest.

        Raises:
            ContractError: the joint is not driven, or ``duration`` is not positive.
        """
        if not duration > 0.0:
            raise ContractError(f"joint {self.names[i]!r}: duration must be > 0 s, got {duration}.")
        start = self._driven_now(i)
        self._world.joints[self._order[i], memory.EFFORT_OFFSET] = 0.0
        self.prescribe(i, quintic(start, angle, duration), duration)

    def _driven_now(self, i: int) -> tuple[float, float, float]:
        """Angle, rate and acceleration of a driven joint now, without its oscillation, which goes on."""
        steady = self._world.joints[self._order[i]].copy()
        steady[memory.EFFORT_AMPLITUDE] = 0.0
        return driven_motion.py_func(steady, float(self._world.scalars[memory.TIME]))


def quintic(start: tuple[float, float, float], end: float, duration: float) -> np.ndarray:
    """Coefficients, constant first, of the quintic from (value, rate, acceleration) to rest at ``end``."""
    p, v, a = start
    T = duration
    d = end - p
    return np.array(
        [
            p,
            v,
            0.5 * a,
            (10.0 * d - 6.0 * v * T - 1.5 * a * T**2) / T**3,
            (-15.0 * d + 8.0 * v * T + 1.5 * a * T**2) / T**4,
            (6.0 * d - 3.0 * v * T - 0.5 * a * T**2) / T**5,
        ]
    )
