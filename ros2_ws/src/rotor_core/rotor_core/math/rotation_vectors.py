"""SciPy's rotations from and to quaternions with w first; SciPy before 1.14 knows only w last."""

from __future__ import annotations

import numpy as np
import scipy


def rotation_from(wxyz: np.ndarray) -> scipy.spatial.transform.Rotation:
    """Rotations of quaternions (4,) or (n, 4), w first."""
    return scipy.spatial.transform.Rotation.from_quat(np.asarray(wxyz)[..., [1, 2, 3, 0]])


def wxyz_from(rotation: scipy.spatial.transform.Rotation) -> np.ndarray:
    """Quaternions (4,) or (n, 4), w first and not negative."""
    return rotation.as_quat(canonical=True)[..., [3, 0, 1, 2]]
