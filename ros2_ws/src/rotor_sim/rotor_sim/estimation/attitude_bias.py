"""Attitudes that are told with a constant error: units that are mounted askew, or badly calibrated."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.config.schema import Scenario
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import State


class AttitudeBiases:
    """Rotation vectors (n, 3) rad in body axes, by which the attitudes of all entities are told wrong."""

    def __init__(self, biases: np.ndarray) -> None:
        self._rows = np.flatnonzero(biases.any(axis=1))
        self._biases = biases[self._rows]

    @classmethod
    def of(cls, scenario: Scenario) -> AttitudeBiases | None:
        """Those of ``plant``; None: there are none."""
        given = {c.entity: c.attitude_bias_rad for c in scenario.plant if c.attitude_bias_rad}
        biases = np.array([given.get(e.name, (0.0, 0.0, 0.0)) for e in scenario.model.entities])
        return cls(biases) if biases.any() else None

    def tilt(self, states: np.ndarray) -> np.ndarray:
        """States (n, >= 13) with attitudes as they are told."""
        out = states.copy()
        attitudes = State(out).attitude
        turned = rotation_from(attitudes[self._rows]) * Rotation.from_rotvec(self._biases)
        attitudes[self._rows] = wxyz_from(turned)
        return out
