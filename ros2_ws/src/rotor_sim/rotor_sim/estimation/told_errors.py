"""States that are told with constant errors: units mounted askew or badly calibrated, velocities of a wrong scale."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.config.schema import Scenario
from rotor_core.kernels.link import FLOATS, ROWS, linked
from rotor_core.math import so3
from rotor_core.math.rotation_vectors import wxyz_from
from rotor_core.state import MOTION, Q, V


@linked(ROWS, ROWS, FLOATS, ROWS)
def tell_wrongly(states, turns, gains, out):
    """Write states (n, >= 13) with attitudes turned in body axes, by (n, 4), and velocities times ``gains`` (n,)."""
    for b in range(states.shape[0]):
        for i in range(states.shape[1]):
            out[b, i] = states[b, i]
        so3.put4(
            out[b], Q, so3.normalized(so3.product(so3.get4(states[b], Q), so3.get4(turns[b], 0)))
        )
        for i in range(V, V + 3):
            out[b, i] *= gains[b]


class ToldErrors:
    """Constant errors of the states that are told of all entities.

    Args:
        biases: rotation vectors in body axes, by which attitudes are told wrong, (n, 3) rad.
        gains: told velocities over true ones, (n,).
    """

    def __init__(self, biases: np.ndarray, gains: np.ndarray) -> None:
        self._wrong = self._packed(biases, gains)
        self._right = self._packed(-biases, 1.0 / gains)
        self._out = np.zeros((len(gains), MOTION))

    @staticmethod
    def _packed(biases: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arguments of :func:`tell_wrongly`."""
        return np.ascontiguousarray(wxyz_from(Rotation.from_rotvec(biases))), gains

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

    def ahead(self, states: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arguments of :func:`tell_wrongly`, for states that are written between; the last is told."""
        return states, *self._wrong, self._out

    def tell(self, states: np.ndarray) -> np.ndarray:
        """States (n, >= 13) as they are told."""
        return self._changed(states, self._wrong)

    def undo(self, states: np.ndarray) -> np.ndarray:
        """States (n, >= 13) as they were, from those that were told."""
        return self._changed(states, self._right)

    def _changed(self, states: np.ndarray, by: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        out = np.zeros(states.shape)
        tell_wrongly(np.ascontiguousarray(states, float), *by, out)
        return out
