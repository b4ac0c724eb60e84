"""Winches: the lengths of cables as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rotor_core.errors import ContractError
from rotor_dynamics import memory
from rotor_dynamics.hybrid import impact


class WinchDrive:
    """Commands to the winches of one world; cables are numbered as those of the system (W.3).

    A winch changes the length of a cable at a rate with a constant acceleration, until it is told
    otherwise; tests may add a sinusoid.

    Args:
        world: views.
        winds: for every cable, whether it has a winch.
        restart: takes up a change from outside (a code of :mod:`rotor_dynamics.hybrid.impact`).
    """

    def __init__(
        self, world: memory.World, winds: list[bool], restart: Callable[[int], None]
    ) -> None:
        self._world, self._restart = world, restart
        rows = world.constraint_int[: len(winds), memory.ROUTED] - 1
        self._rows = np.where(np.array(winds, bool), rows, -1) if winds else np.zeros(0, int)
        self.cables = tuple(int(k) for k in np.flatnonzero(self._rows >= 0))
        """Cables that wind."""
        drums = world.constraint_int[: len(winds), memory.DRUM_JOINT] - 1
        self.drums = {k: int(drums[k]) for k in self.cables if drums[k] >= 0}
        """Those with a drum, and its joint in the world."""

    def _row(self, k: int) -> np.ndarray:
        if k not in self.cables:
            raise ContractError(f"cable{k + 1}: has no winch.")
        return self._world.routes[self._rows[k]]

    @property
    def are_at_rest(self) -> bool:
        """True if no cable becomes longer or shorter, and none will by itself."""
        return all(
            self.rate(k) == 0.0 and self._row(k)[memory.WOUND_ACCELERATION] == 0.0
            for k in self.cables
        )

    @property
    def _now(self) -> float:
        return float(self._world.scalars[memory.TIME])

    def _motion(self, row: np.ndarray) -> tuple[float, float]:
        """Length and rate now, without the sinusoid."""
        s = self._now - row[memory.WINDS_FROM]
        rate = row[memory.WOUND_RATE] + s * row[memory.WOUND_ACCELERATION]
        length = row[memory.WOUND_LENGTH] + 0.5 * s * (row[memory.WOUND_RATE] + rate)
        return float(length), float(rate)

    def length(self, k: int) -> float:
        """Length of cable k now, m."""
        row = self._row(k)
        if k in self.drums:
            return float(row[memory.WOUND_LENGTH] + self._drum(k)[memory.P])
        angle = row[memory.WAVE_FREQUENCY] * self._now + row[memory.WAVE_PHASE]
        return self._motion(row)[0] + float(row[memory.WAVE] * np.sin(angle))

    def rate(self, k: int) -> float:
        """Rate at which cable k becomes longer now, m/s."""
        row = self._row(k)
        if k in self.drums:
            return float(self._drum(k)[memory.V])
        w = row[memory.WAVE_FREQUENCY]
        angle = w * self._now + row[memory.WAVE_PHASE]
        return self._motion(row)[1] + float(w * row[memory.WAVE] * np.cos(angle))

    def act(self, k: int, acceleration: float, *, rate: float | None = None) -> None:
        """From now on the rate of cable k changes by ``acceleration``, m/s^2.

        Args:
            k: cable.
            acceleration: of the length.
            rate: to which the rate jumps at once, m/s; taut cables snap or let go then.

        Raises:
            ContractError: the cable has no winch, or a number is not finite; nothing is changed then.
        """
        row = self._row(k)
        if k in self.drums:
            raise ContractError(f"winch of cable{k + 1}: a torque drives its drum. Pull at it.")
        length, now = self._motion(row)
        jumps = rate is not None and rate != now
        wanted = now if rate is None else rate
        if not np.isfinite([acceleration, wanted]).all():
            raise ContractError(
                f"winch of cable{k + 1}: must be finite, got {acceleration}, {rate}."
            )
        row[memory.WINDS_FROM], row[memory.WOUND_LENGTH] = self._now, length
        row[memory.WOUND_RATE], row[memory.WOUND_ACCELERATION] = wanted, acceleration
        self._restart(impact.RATES_JUMPED if jumps else impact.INPUT_CHANGED)

    def stop(self, k: int) -> None:
        """Cable k stays as long as it is, where rounding has left a rate."""
        row = self._row(k)
        row[memory.WOUND_LENGTH], _ = self._motion(row)
        row[memory.WINDS_FROM] = self._now
        row[memory.WOUND_RATE] = row[memory.WOUND_ACCELERATION] = 0.0
        self._restart(impact.INPUT_CHANGED)

    def oscillate(
        self, k: int, bias: float, amplitude: float, frequency_hz: float, phase: float
    ) -> None:
        """Make the length of cable k ``bias + amplitude sin(2 pi f t + phase)`` before a state is set."""
        row = self._row(k)
        row[memory.WINDS_FROM : memory.WAVE] = 0.0
        row[memory.WOUND_LENGTH], row[memory.WAVE] = bias, amplitude
        row[memory.WAVE_FREQUENCY], row[memory.WAVE_PHASE] = 2.0 * np.pi * frequency_hz, phase

    def place(self, k: int, length: float) -> None:
        """Let cable k be this long, at rest, before a state is set, m."""
        row = self._row(k)
        if k in self.drums:
            self._rebase(k, length - float(self._drum(k)[memory.P]))
            return
        row[memory.WINDS_FROM], row[memory.WOUND_LENGTH] = self._now, length
        row[memory.WOUND_RATE] = row[memory.WOUND_ACCELERATION] = 0.0

    def _drum(self, k: int) -> np.ndarray:
        """State of the drum of cable k."""
        return self._world.start[self._world.joint_int[self.drums[k], memory.JOINT_ROW]]

    def inertia(self, k: int) -> float:
        """Inertia of the drum of cable k over the square of its radius, kg."""
        return float(self._world.joints[self.drums[k], memory.ARMATURE])

    def acceleration(self, k: int) -> float:
        """Acceleration of the length of cable k, which has a drum, now, m/s^2."""
        row = self._world.joint_int[self.drums[k], memory.JOINT_ROW]
        return float(self._world.slopes[memory.FIRST_SLOPE, row, memory.D_V])

    def is_locked(self, k: int) -> bool:
        """True while the brake holds the drum of cable k."""
        return bool(self._world.joint_int[self.drums[k], memory.DRIVEN])

    def pull(self, k: int, force: float) -> None:
        """From now on the motor of the drum of cable k pushes it out with ``force``, N at its rim; negative reels in.

        The brake is let go.

        Raises:
            ContractError: the cable has no drum, or the force is not finite; nothing is changed then.
        """
        if k not in self.drums:
            raise ContractError(f"cable{k + 1}: has no drum that a torque drives.")
        if not np.isfinite(force):
            raise ContractError(f"drum of cable{k + 1}: the force must be finite, got {force}.")
        row = self._world.joints[self.drums[k]]
        row[memory.EFFORT_BIAS], row[memory.EFFORT_OFFSET] = force, 0.0
        row[memory.EFFORT_SINCE] = self._now
        self._hold(k, False)
        self._restart(impact.INPUT_CHANGED)

    def lock(self, k: int, *, take_up: bool = True) -> None:
        """The brake holds the drum of cable k from now on; where it turns, taut cables snap.

        ``take_up``: False before a state is set.
        """
        joint, drum = self.drums[k], self._drum(k)
        row, rate = self._world.joints[joint], float(drum[memory.V])
        drum[memory.V] = 0.0
        row[memory.COEFFICIENTS : memory.HOLDS_AFTER] = 0.0
        row[memory.COEFFICIENTS], row[memory.HOLDS_AFTER] = drum[memory.P], np.inf
        row[memory.EFFORT_OFFSET] = 0.0
        self._hold(k, True)
        if take_up:
            self._world.scalars[memory.LOST] += (
                0.5 * row[memory.ARMATURE] * rate * rate
            )  # in the brake
            self._restart(impact.RATES_JUMPED if rate else impact.INPUT_CHANGED)

    def _stops(self, k: int) -> np.ndarray:
        """Rows of the stops of the drum of cable k: the ends of its cable."""
        return np.flatnonzero(self._world.constraint_int[:, memory.STOP_JOINT] == self.drums[k])

    def _rebase(self, k: int, length: float) -> None:
        """Let cable k be this long where its drum has travelled nothing, m; it ends where it did."""
        row, world, stops = self._row(k), self._world, self._stops(k)
        side = world.constraint_int[stops, memory.STOP_SIDE]
        world.constraints[stops, memory.LENGTH] -= side * (length - row[memory.WOUND_LENGTH])
        row[memory.WOUND_LENGTH] = length

    def _hold(self, k: int, holds: bool) -> None:
        """Let the brake of a drum hold it, or let it go; what a brake holds needs no stop."""
        joint, numbers = self.drums[k], self._world.constraint_int
        self._world.joint_int[joint, memory.DRIVEN] = int(holds)
        stops = self._stops(k)
        numbers[stops, memory.ALIVE] = 0 if holds else memory.HOLDS
        numbers[stops, memory.TAUT] &= int(not holds)

    def lay_out(self) -> None:
        """Write the lengths at the present time into the constraints, before cables are looked at."""
        for r, row in enumerate(self._world.routes):
            k = int(self._world.route_int[r, memory.ROUTE_CONSTRAINT])
            self._world.constraints[k, memory.LENGTH] = (
                self.length(k) if k in self.cables else row[memory.WOUND_LENGTH]
            )
            row[memory.LENGTH_RATE] = self.rate(k) if k in self.cables else 0.0

    def shift(self, by: float) -> None:
        """The clock of the world jumps ``by`` s."""
        self._world.routes[:, memory.WINDS_FROM] += by

    def take_over(self, other: WinchDrive) -> None:
        """Lengths and rates of the same cables in another world."""
        winding = slice(memory.WINDS_FROM, memory.LENGTH_RATE)
        for k in self.cables:
            if k in self.drums and k in other.drums:
                self._rebase(k, float(other._row(k)[memory.WOUND_LENGTH]))
                self._hold(k, other.is_locked(k))
            elif k in other.cables:
                self._row(k)[winding] = other._row(k)[winding]

    def wind_as(self, other: WinchDrive, cables: Mapping[int, int]) -> None:
        """Before a state is set: lengths and rates of cables of another world now, by their numbers here and there.

        Drums go on from the states of their joints, which follow.
        """
        for k, j in cables.items():
            if k not in self.cables:
                continue
            row, theirs = self._row(k), other._row(j)
            if k in self.drums:
                self._rebase(k, float(theirs[memory.WOUND_LENGTH]))
                self._hold(k, other.is_locked(j))
                continue
            self.place(k, other.length(j))
            row[memory.WOUND_RATE] = other._motion(theirs)[1]
            row[memory.WOUND_ACCELERATION] = theirs[memory.WOUND_ACCELERATION]
