"""Turbulence in space: random waves with Dryden's spectrum, frozen and carried along by the wind (Taylor 1938).

Equations (U.3), (U.4), docs/theory/air.md. Sources: Kraichnan, Diffusion by a random velocity field, 1970 (waves);
Batchelor, The theory of homogeneous turbulence, 1953 (spectra and correlations of isotropic fields).
"""

from __future__ import annotations

import numpy as np
import scipy

from rotor_core.config.air.wind import FrozenTurbulence

SEED = 0x66726F7A  # "froz"

LONGEST, SHORTEST, POINTS = 0.03, 1e7, 4001
"""Wave number times length of the longest and shortest waves, and points of the table: a millionth lies beyond."""


def share_below(waves: np.ndarray) -> np.ndarray:
    """Share of the energy in waves below wave number times length (U.3)."""
    return (
        2.0
        / np.pi
        * (np.arctan(waves) - waves * (1.0 + 5.0 / 3.0 * waves**2) / (1.0 + waves**2) ** 2)
    )  # the integral of 16 / (3 pi) x^4 / (1 + x^2)^3


class FrozenField:
    """Velocities at places and times, (U.4).

    Args:
        keys: strength, length, velocity of the field.
        carried: velocity that carries it where the keys name none, (3,) m/s.
        seed: of the field.
    """

    def __init__(self, keys: FrozenTurbulence, carried: np.ndarray, seed: int) -> None:
        self._carried = np.array(carried if keys.carried_m_s is None else keys.carried_m_s)
        random = np.random.default_rng([seed, SEED])
        n = keys.modes
        table = np.geomspace(LONGEST, SHORTEST, POINTS)
        # one wave in each of n equal parts of the energy
        shares = (np.arange(n) + random.random(n)) / n
        below = share_below(table)
        lengths = scipy.interpolate.PchipInterpolator(below, np.log(table))(
            np.clip(shares, below[0], below[-1])
        )
        directions, across = random.standard_normal((2, n, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        across -= np.sum(across * directions, axis=1, keepdims=True) * directions
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        self._waves = np.exp(lengths)[:, None] / keys.length_m * directions
        self._amplitudes = keys.deviation_m_s * np.sqrt(6.0 / n) * across
        self._phases = random.uniform(0.0, 2.0 * np.pi, n)

    def at(self, t: float, places: np.ndarray) -> np.ndarray:
        """Velocities at places (n, 3) m, t s from the start, (n, 3) m/s."""
        angles = (places - t * self._carried) @ self._waves.T + self._phases
        return np.cos(angles) @ self._amplitudes
