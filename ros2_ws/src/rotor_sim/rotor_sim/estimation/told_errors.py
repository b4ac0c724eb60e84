"""States that are told with constant errors: units mounted askew or badly calibrated, velocities of a wrong scale."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.config.schema import Scenario
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import State


class ToldErrors:
    """What is wrong with the states that are told of all entities.

    Args:
        biases: rotation vectors in body axes, by which attitudes are told wrong, (n, 3) rad.
        gains: told velocities over true ones, (n,).
    """

    def __init__(self, biases: np.ndarray, gains: np.ndarray) -> None:
        self._rows = np.flatnonzero(biases.any(axis=1))
        self._biases = biases[self._rows]
        self._gains = gains[:, None]

    @classmethod
    def of(cls, scenario: Scenario) -> ToldErrors | None:
        """Those of ``plant``; None: there are none."""
        names = [e.name for e in scenario.model.entities]
        biases, gains = np.zeros((len(names), 3)), np.ones(len(names))
        for change in scenario.plant:
            if change.entity is not None:
                row = names.index(change.entity)
                biases[row] = change.attitude_bias_rad or biases[row]
                gains[row] = change.velocity_gain or gains[row]
        return cls(biases, gains) if biases.any() or (gains != 1.0).any() else None

    def tell(self, states: np.ndarray) -> np.ndarray:
        """States (n, >= 13) as they are told."""
        return self._changed(states, 1.0, self._gains)

    def undo(self, states: np.ndarray) -> np.ndarray:
        """States (n, >= 13) as they were, from those that were told."""
        return self._changed(states, -1.0, 1.0 / self._gains)

    def _changed(self, states: np.ndarray, sign: float, gains: np.ndarray) -> np.ndarray:
        out = states.copy()
        attitudes = State(out).attitude
        turned = rotation_from(attitudes[self._rows]) * Rotation.from_rotvec(sign * self._biases)
        attitudes[self._rows] = wxyz_from(turned)
        State(out).velocity[:] *= gains
        return out
