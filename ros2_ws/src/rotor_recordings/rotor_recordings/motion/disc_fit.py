"""The plane of a rotor's blade tips from the flap angles that are reported now and then."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

SAMPLES = 24
"""Flap angles that a plane is fitted to."""


class DiscFit:
    """Coning and first harmonic of the flap angle over the azimuth, by least squares over the last angles."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def add(self, azimuth: float, flap: Sequence[float]) -> np.ndarray:
        """Take up the flap angles of all blades, rad, at the azimuth of the first; returns (coning, cosine, sine)."""
        n = max(1, len(flap))
        self._seen.extend((azimuth + 2.0 * np.pi * k / n, f) for k, f in enumerate(flap))
        if len(self._seen) < 6:
            return np.full(3, np.nan)
        psi, beta = np.array(self._seen).T
        columns = np.stack([np.ones_like(psi), np.cos(psi), np.sin(psi)], axis=1)
        return np.linalg.lstsq(columns, beta, rcond=None)[0]
