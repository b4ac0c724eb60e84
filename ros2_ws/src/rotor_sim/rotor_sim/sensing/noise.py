"""Feedback noise on the manifold (RotorTM eqs 75, 76): what a controller sees, not what is."""

from __future__ import annotations

import numpy as np

from rotor_core._jit import kernel
from rotor_core.config.schema import Noise
from rotor_core.math import so3
from rotor_core.math.vec3 import get3
from rotor_core.state import OMEGA, P, Q, V

DIMENSION = 12
"""Normal numbers per body: position, velocity, rotation vector, body rate."""


@kernel
def add_noise(states, normal, deviations, out):
    """Write ``states`` with noise.

    Vectors get additive normals, attitudes q exp(sigma) with sigma in body axes.
    """
    for b in range(states.shape[0]):
        for i in range(states.shape[1]):
            out[b, i] = states[b, i]
        for i in range(3):
            out[b, P + i] += deviations[0] * normal[b, i]
            out[b, V + i] += deviations[1] * normal[b, 3 + i]
            out[b, OMEGA + i] += deviations[3] * normal[b, 9 + i]
        n = get3(normal[b], 6)
        sigma = (deviations[2] * n[0], deviations[2] * n[1], deviations[2] * n[2])
        so3.put4(out[b], Q, so3.normalized(so3.product(so3.get4(states[b], Q), so3.exp(sigma))))


class NoisySensor:
    """Measurements of all bodies, one sample per call; the same seed gives the same stream.

    Args:
        noise: standard deviations.
        seed: of this stream.
    """

    def __init__(self, noise: Noise, seed: np.random.SeedSequence | int) -> None:
        self._deviations = np.array(
            [noise.position_m, noise.velocity_m_s, noise.attitude_rad, noise.rate_rad_s]
        )
        self._is_zero = noise.is_zero
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Start the stream again."""
        self._random = np.random.default_rng(self._seed)
        self._out: np.ndarray | None = None

    def sense(self, motion: np.ndarray) -> np.ndarray:
        """Noisy copy of ``motion`` (n, >= 13); without noise ``motion`` itself."""
        if self._is_zero:
            return motion
        if self._out is None or self._out.shape != motion.shape:
            self._out = np.zeros_like(motion)
        add_noise(
            motion,
            self._random.standard_normal((len(motion), DIMENSION)),
            self._deviations,
            self._out,
        )
        return self._out
