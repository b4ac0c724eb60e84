"""Demand on rotors: how long every vehicle was at their limits, and how much was asked of it."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.vehicles.rotors import asked_of_rotors, rotor_limits, rotor_set


class RotorDemand:
    """Control periods in which commands were at or beyond the limits of the rotors, from commands in blocks.

    A command that a controller has limited mostly lies on a limit, one that it has not lies beyond: both are seen.
    Where yaw that is granted relieves the rotor that was at its limit (A.3) only the controller knows: :meth:`take`.

    Attributes:
        periods: (n_vehicles,).
        begin: time of the first of them, (n_vehicles,) s; NaN without one.
        asked: what a controller wanted before it was limited, as of
            :attr:`rotor_core.vehicles.rotors.RotorLimits.asked`; of commands that nobody has limited it is seen here.
    """

    def __init__(self, scenario: Scenario) -> None:
        vehicles = scenario.model.vehicles
        sets = [rotor_set(v.rotors) for v in vehicles]
        self.limits = rotor_limits(sets, can_stop=scenario.motors_can_stop)
        self._counts = (
            np.array([not v.helicopter for v in vehicles], bool) & scenario.actuation.limits
        )
        self.periods = np.zeros(len(vehicles), np.int64)
        self.begin = np.full(len(vehicles), np.nan)
        self.asked = asked_of_rotors(len(vehicles))
        self._names = [v.name for v in vehicles]

    def reached(self, wrenches: np.ndarray) -> np.ndarray:
        """True where a command (N, n_vehicles, 4) counts as at or beyond the limits, (N, n_vehicles)."""
        return self.limits.are_reached(wrenches) & self._counts

    def see(self, time: np.ndarray, wrenches: np.ndarray) -> None:
        """Take up commands: times (N,) s and wrenches (N, n_vehicles, 4)."""
        if not len(time) or not self._counts.any():
            return
        at = self.reached(wrenches)
        self.periods += at.sum(axis=0)
        fresh = at.any(axis=0) & np.isnan(self.begin)
        self.begin[fresh] = time[at.argmax(axis=0)][fresh]
        for wrench in wrenches[at.any(axis=1)]:
            self.limits.apply(wrench.copy())
        self._widen(self.limits.asked)

    def take(self, asked: np.ndarray) -> None:
        """Take up what a controller says was asked of its rotors, also between the commands that were seen."""
        self.periods = np.maximum(self.periods, asked[:, 3].astype(np.int64))
        self._widen(asked)

    def _widen(self, asked: np.ndarray) -> None:
        self.asked[:, :2] = np.maximum(self.asked[:, :2], asked[:, :2])
        self.asked[:, 2] = np.minimum(self.asked[:, 2], asked[:, 2])

    def text(self, k: int) -> str:
        """Demand on a vehicle (its row), in words."""
        low, high = self.limits.thrusts[k, 0]
        most = self.limits.counts[k] * high
        collective, largest, smallest = self.asked[k, :3]
        if collective > most:
            return f"{self._names[k]} asked for {collective:.3g} N of {most:.3g} N"
        if largest > high:
            return f"{self._names[k]} asked a rotor for {largest:.3g} N of {high:.3g} N"
        if smallest < low:
            return f"{self._names[k]} asked a rotor for {smallest:.3g} N, at least {low:.3g} N"
        return f"{self._names[k]} was at the limits of its rotors ({most:.3g} N in all)"
