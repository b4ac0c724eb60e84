"""Load cells in the cables: the force that each cable exerts on its end a (the vehicle)."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import LoadCell


class LoadCellSensor:
    """Noisy samples; the same seed gives the same stream.

    Args:
        cell: noise and bias.
        seed: of the run.
    """

    def __init__(self, cell: LoadCell, seed: int) -> None:
        self._cell = cell
        self._seed = np.random.SeedSequence(seed, spawn_key=(2,))
        self.reset()

    def reset(self) -> None:
        """Repeat the random stream."""
        self._random = np.random.default_rng(self._seed)

    def sense(self, tensions: np.ndarray, directions_A: np.ndarray) -> np.ndarray:
        """Forces on the ends a.

        Args:
            tensions: (n,) N.
            directions_A: unit vectors from end a to end b, in the axes of the body at end a, (n, 3).

        Returns:
            (n, 3) N in those axes.
        """
        forces = (tensions + self._cell.bias_n)[:, None] * directions_A
        if self._cell.noise_n > 0.0:
            forces = forces + self._cell.noise_n * self._random.standard_normal(forces.shape)
        return forces
