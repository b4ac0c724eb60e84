"""Winches of a scenario: what they are asked for, and how they get there within their limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_core.config.attachments.cable import CableAttachment, Winch
from rotor_core.errors import ContractError
from rotor_dynamics.engine import Engine

THERE = 1e-9
"""A length this close to the one that is asked for is that one, m (and at rest: m/s)."""


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

    def __len__(self) -> int:
        return len(self._winches)

    def reset(self) -> None:
        """Nothing has been asked for."""
        self._goals[:] = self._rates[:] = np.nan

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
        self._goals[k] = np.nan if length is None else length
        self._rates[k] = winch.rate_m_s if rate is None else rate

    def act(self, engine: Engine) -> None:
        """Let every winch that is asked for something accelerate for one control period."""
        for k in np.flatnonzero(~np.isnan(self._rates)).tolist():
            if not engine.alive[k]:
                self._rates[k] = np.nan
                continue
            winch, asked, goal = self._winches[k], float(self._rates[k]), float(self._goals[k])
            length, rate = engine.winches.length(k), engine.winches.rate(k)
            if np.isnan(goal):  # a rate ends at the limit that it leads to
                goal = winch.lengths_m[int(asked > 0.0)]
            strongest = winch.acceleration_m_s2
            if asked == 0.0:
                acceleration = float(np.clip(-rate / self._period, -strongest, strongest))
            else:
                acceleration = acceleration_to(
                    goal - length, rate, self._period, abs(asked), strongest
                )
            if abs(rate) < THERE and (abs(goal - length) < THERE or asked == 0.0):
                engine.winches.stop(k)
                self._rates[k] = np.nan
            else:
                engine.winches.act(k, acceleration)
