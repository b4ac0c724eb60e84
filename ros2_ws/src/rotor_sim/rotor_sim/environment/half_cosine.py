"""Smooth beginnings of the form (1 - cos)."""

from __future__ import annotations

import numpy as np


def half_cosine(share: np.ndarray) -> np.ndarray:
    """From 0 to 1 as ``share`` goes from 0 to 1, as half a wave of a cosine; constant beyond."""
    return 0.5 * (1.0 - np.cos(np.pi * np.clip(share, 0.0, 1.0)))
