"""Rotors of all vehicles of a scenario as inputs: their thrusts, limits, and the wrenches that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.vehicles.rotors import rotor_set


@dataclass(frozen=True)
class Thrusts:
    """Thrusts of all rotors, vehicle by vehicle.

    Attributes:
        mixing: to the wrenches of all vehicles, (4 n_vehicles, m).
        lower, upper: limits, (m,) N.
        hover: equal shares of the weight of everything, (m,) N.
    """

    mixing: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    hover: np.ndarray

    def wrenches(self, thrusts: np.ndarray) -> np.ndarray:
        """Wrenches of all vehicles, (..., n_vehicles, 4)."""
        return (thrusts @ self.mixing.T).reshape(*thrusts.shape[:-1], -1, 4)


def thrusts_of(scenario: Scenario) -> Thrusts:
    """Rotors of the vehicles of a scenario."""
    model = scenario.model
    sets = [rotor_set(v.rotors) for v in model.vehicles]
    counts = [s.count for s in sets]
    mixing = np.zeros((4 * len(sets), sum(counts)))
    at = 0
    for i, s in enumerate(sets):
        mixing[4 * i : 4 * i + 4, at : at + s.count] = s.mixing
        at += s.count
    limits = np.array([s.thrust_limits for s in sets])
    weight = sum(e.mass_kg for e in model.entities) * scenario.environment.gravity_m_s2
    shares = np.repeat(weight / len(sets) / np.array(counts), counts)
    return Thrusts(mixing, np.repeat(limits[:, 0], counts), np.repeat(limits[:, 1], counts), shares)
