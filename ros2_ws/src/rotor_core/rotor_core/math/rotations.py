"""Rotations of many bodies at once, outside kernels."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def rotation_matrices(q: np.ndarray) -> np.ndarray:
    """R_WB (n, 3, 3) of unit quaternions q_WB (n, 4), w first."""
    return Rotation.from_quat(q[:, [1, 2, 3, 0]]).as_matrix()
