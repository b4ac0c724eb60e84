"""Winches of a scenario: what they are asked for, and how they get there within their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rotor_core.config.attachments.cable import CableAttachment, Drum, Winch
from rotor_core.errors import ContractError
from rotor_dynamics.engine import Engine

THERE = 1e-9
"""A length this close to the one that is asked for is that one, m (and at rest: m/s)."""

BRAKED, BRAKED_RATE = 1e-4, 0.01
"""A drum this close to its length, m, and this slow, m/s, is held by its brake: no servo ends exactly at rest."""


def acceleration_to(
    gap: float, rate: float, period: float, fastest: float, strongest: float
) -> float:
    """Acceleration of the next control period on the way to a length that is ``gap`` m longer, m/s^2.

    As fast as limits allow, and without passing it: the rate after this period is one from which full braking in
    whole periods ends before it; the last two periods end exactly there, at rest (W.8).

    Args:
        gap: wanted minus present length, m.
        rate: present rate, m/s.
        period: s.
        fastest, strongest: largest rate, m/s, and acceleration, m/s^2.
    """
    step = strongest * period
    last = gap / period - 0.5 * rate  # after this period, so that the next one ends there at rest
    if abs(last) <= min(step, fastest) and abs(last - rate) <= step:
        return (last - rate) / period
    side = np.copysign(1.0, gap)
    left = max(abs(gap) - 0.5 * side * rate * period, 0.0) / (step * period)
    brakes = step * max(np.sqrt(2.0 * left) - 0.5, 0.0)
    return float(np.clip((side * min(brakes, fastest) - rate) / period, -strongest, strongest))


def _servo(engine: Engine, k: int, drum: Drum, acceleration: float) -> None:
    """Let the motor of a drum give its cable this acceleration now, m/s^2, as far as its torque goes.

    What the cable pulls follows from the acceleration, and is linear in the force: two tries tell how.
    """
    winches = engine.winches
    first = -float(engine.tensions[k])  # against the pull alone
    winches.pull(k, float(np.clip(first, -drum.force, drum.force)))
    before = winches.acceleration(k)
    second = first + drum.mass * (acceleration - before)
    if second == first:
        return
    winches.pull(k, float(np.clip(second, -drum.force, drum.force)))
    slope = (winches.acceleration(k) - before) / (second - first)
    if slope > 0.0:
        wanted = first + (acceleration - before) / slope
        winches.pull(k, float(np.clip(wanted, -drum.force, drum.force)))


class Winches:
    """Winches of a world, by the number of their cable.

    Args:
        cables: of the model.
        period: control period, s.
    """

    def __init__(self, cables: Sequence[CableAttachment], period: float) -> None:
        self._winches: dict[int, Winch] = {
            k: c.winch for k, c in enumerate(cables) if c.winch is not None
        }
        self._period = period
        self._goals = np.full(len(cables), np.nan)
        """Lengths that are asked for, m; NaN where it is a rate."""
        self._rates = np.full(len(cables), np.nan)
        """Rates that are asked for, or at most on the way, m/s, positive pays out; NaN where nothing is."""
        self._torques = np.full(len(cables), np.nan)
        """Torques of the motors of drums that are asked for, N m, positive reels in; NaN where it is none."""
        self.orders = np.zeros(len(cables), int)
        """How often somebody has asked for something, per cable."""
        self._profiles: dict[int, tuple[tuple[float, float], ...]] = {}
        """Rates to be followed: pairs of time, s of the world, and rate, m/s."""

    def __len__(self) -> int:
        return len(self._winches)

    @property
    def are_idle(self) -> bool:
        """True if nobody asks for anything, and no brake has to be put on."""
        return bool(np.isnan(self._rates).all())

    def reset(self) -> None:
        """Nothing has been asked for."""
        self._goals[:] = self._rates[:] = self._torques[:] = np.nan
        self._profiles.clear()

    def take_over(self, other: Winches, cables: Mapping[int, int]) -> None:
        """Take up what cables of another world of this time are asked for, by their numbers here and there."""
        for k, j in cables.items():
            if k in self._winches:
                for mine, theirs in (
                    (self._goals, other._goals),
                    (self._rates, other._rates),
                    (self._torques, other._torques),
                ):
                    mine[k] = theirs[j]
                if j in other._profiles:
                    self._profiles[k] = other._profiles[j]

    def start(self, engine: Engine) -> None:
        """Brakes hold all drums, before a state is set."""
        for k in engine.winches.drums:
            engine.winches.lock(k, take_up=False)

    def turn(self, k: int, torque: float) -> None:
        """Ask the motor of the drum of cable k (from 0) for a torque, N m; positive reels in.

        Raises:
            ContractError: it has no drum, or not so much torque; the old order stays.
        """
        drum = self._winches[k].drum if k in self._winches else None
        if drum is None:
            raise ContractError(f"cable{k + 1} has no winch with a drum that a torque drives.")
        if not abs(torque) <= drum.torque_n_m:
            raise ContractError(
                f"winch of cable{k + 1}: torque must be at most {drum.torque_n_m:g} N m, got {torque:g}."
            )
        self.orders[k] += 1
        self._goals[k], self._rates[k], self._torques[k] = np.nan, 0.0, torque
        self._profiles.pop(k, None)

    def follow(self, k: int, profile: Sequence[tuple[float, float]], now: float) -> None:
        """Let the rate of cable k (from 0) follow a profile, linear between its pairs; then it stops.

        Args:
            k: cable, which has a winch.
            profile: pairs of time after ``now``, s, and rate, m/s, positive pays out.
            now: time of the world, s.
        """
        self.orders[k] += 1
        self._profiles[k] = tuple((now + t, rate) for t, rate in profile)
        self._goals[k], self._rates[k], self._torques[k] = np.nan, 0.0, np.nan

    def ask(self, k: int, *, length: float | None = None, rate: float | None = None) -> None:
        """Ask the winch of cable k (from 0) for a length, at most at ``rate``; or for a rate alone.

        Raises:
            ContractError: it has none, or the limits of its winch forbid it; the old order stays.
        """
        if k not in self._winches:
            known = ", ".join(f"cable{i + 1}" for i in self._winches) or "none"
            raise ContractError(f"cable{k + 1} has no winch. With one: {known}.")
        winch = self._winches[k]
        shortest, longest = winch.lengths_m
        if length is None and rate is None:
            raise ContractError(f"winch of cable{k + 1}: needs a length or a rate.")
        if length is not None and not shortest <= length <= longest:
            raise ContractError(
                f"winch of cable{k + 1}: length must be {shortest:g} to {longest:g} m, got {length:g}."
            )
        if rate is not None and not abs(rate) <= winch.rate_m_s:
            raise ContractError(
                f"winch of cable{k + 1}: rate must be at most {winch.rate_m_s:g} m/s, got {rate:g}."
            )
        if length is not None and rate is not None and not rate > 0.0:
            raise ContractError(
                f"winch of cable{k + 1}: the rate on the way to a length must be > 0 m/s, got {rate:g}."
            )
        self.orders[k] += 1
        self._goals[k] = np.nan if length is None else length
        self._rates[k] = winch.rate_m_s if rate is None else rate
        self._torques[k] = np.nan
        self._profiles.pop(k, None)

    def _holds(self, k: int, length: float, rate: float) -> bool:
        """True where the brake of a drum takes over: it is where it should be."""
        if not np.isnan(self._torques[k]) or k in self._profiles:
            return False
        at_rest = abs(rate) < BRAKED_RATE
        return at_rest and (self._rates[k] == 0.0 or abs(self._goals[k] - length) < BRAKED)

    def _along(self, k: int, now: float, length: float, rate: float) -> float:
        """Acceleration of a control period along a profile, m/s^2; to rest where there is none, or none any more.

        A profile that leads beyond the cable is left in time to stop at its end.
        """
        winch, period, wanted = self._winches[k], self._period, 0.0
        if k in self._profiles:
            times, rates = np.array(self._profiles[k]).T
            if now + period > times[-1]:
                del self._profiles[k]
            else:
                wanted = float(np.interp(now + period, times, rates, left=0.0))  # it rests before
        strongest = winch.acceleration_m_s2
        least, most = (
            acceleration_to(end - length, rate, period, winch.rate_m_s, strongest)
            for end in winch.lengths_m
        )
        within = np.clip((wanted - rate) / period, -strongest, strongest)
        return float(min(max(within, least), most))

    def act(self, engine: Engine) -> None:
        """Let every winch that is asked for something accelerate for one control period."""
        for k in np.flatnonzero(~np.isnan(self._rates)).tolist():
            winch, asked, goal = self._winches[k], float(self._rates[k]), float(self._goals[k])
            length, rate = engine.winches.length(k), engine.winches.rate(k)
            if winch.drum is not None and self._holds(k, length, rate):
                engine.winches.lock(k)
                self._rates[k] = self._torques[k] = np.nan
                continue
            if winch.drum is not None and not np.isnan(self._torques[k]):
                engine.winches.pull(k, -float(self._torques[k]) / winch.drum.radius_m)
                continue
            if np.isnan(goal):  # a rate ends at the limit that it leads to
                goal = winch.lengths_m[int(asked > 0.0)]
            strongest = winch.acceleration_m_s2
            if asked == 0.0:
                acceleration = self._along(k, engine.time, length, rate)
            else:
                acceleration = acceleration_to(
                    goal - length, rate, self._period, abs(asked), strongest
                )
            if winch.drum is not None:
                _servo(engine, k, winch.drum, acceleration)
            elif (
                k not in self._profiles
                and abs(rate) < THERE
                and (abs(goal - length) < THERE or asked == 0.0)
            ):
                engine.winches.stop(k)
                self._rates[k] = np.nan
            else:
                engine.winches.act(k, acceleration)
