"""Inputs of optimization: thrusts of the rotors of all vehicles of a scenario, and accelerations of its winches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from rotor_core.config.schema import Scenario
from rotor_core.vehicles.rotors import rotor_set


@dataclass(frozen=True)
class Inputs:
    """Thrusts of all rotors, vehicle by vehicle, then accelerations of winches (W.3).

    Attributes:
        n_rotors: how many of the inputs are thrusts.
        mixing: to the wrenches of all vehicles and the accelerations, (4 n_vehicles + n_winches, m).
        lower, upper: limits, (m,) N and m/s^2.
        hover: equal shares of the weight of everything, winches at rest, (m,).
        power: of a rotor at its shaft over its thrust to the power 3/2, (n_rotors,) W/N^1.5: drag torque times speed.
    """

    n_rotors: int
    mixing: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    hover: np.ndarray
    power: np.ndarray

    @property
    def n_winches(self) -> int:
        """How many of the inputs are accelerations."""
        return len(self.hover) - self.n_rotors

    def of_world(self, inputs: np.ndarray) -> np.ndarray:
        """Inputs of the world that is shot: wrenches and accelerations, (..., 4 n_vehicles + n_winches)."""
        return inputs @ self.mixing.T

    def wrenches(self, inputs: np.ndarray) -> np.ndarray:
        """Wrenches of all vehicles, (..., n_vehicles, 4)."""
        of_rotors = self.mixing[: len(self.mixing) - self.n_winches, : self.n_rotors]
        return (inputs[..., : self.n_rotors] @ of_rotors.T).reshape(*inputs.shape[:-1], -1, 4)


def inputs_of(scenario: Scenario, *, winds: bool = True) -> Inputs:
    """Rotors of the vehicles of a scenario, and its winches unless somebody else winds them."""
    model = scenario.model
    sets = [rotor_set(v.rotors) for v in model.vehicles]
    counts = [s.count for s in sets]
    winches = [c.winch for c in model.cables if c.winch is not None and winds]
    strongest = np.array([w.acceleration_m_s2 for w in winches])
    limits = np.array([s.thrust_limits for s in sets])
    weight = sum(e.mass_kg for e in model.entities) * scenario.environment.gravity_m_s2
    shares = np.repeat(weight / len(sets) / np.array(counts), counts)
    power = [np.abs(s.mixing[3]) / np.sqrt(s.thrust_per_speed2) for s in sets]
    return Inputs(
        sum(counts),
        block_diag(*(s.mixing for s in sets), np.eye(len(strongest))),
        np.append(np.repeat(limits[:, 0], counts), -strongest),
        np.append(np.repeat(limits[:, 1], counts), strongest),
        np.append(shares, np.zeros(len(strongest))),
        np.concatenate(power),
    )
