"""Torque-free rotation of a symmetric top, in closed form.

Source: any textbook of rigid-body mechanics, e.g. Goldstein, Classical Mechanics, section 5.6.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def symmetric_top(
    t: float, I_t: float, I_a: float, omega0: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Attitude (w, x, y, z) and body rate at time t of a body with inertia diag(I_t, I_t, I_a), starting unrotated.

    The body rate precesses about the axis of symmetry; the attitude is the product of two steady
    rotations: about the angular momentum and about the axis of symmetry.
    """
    H = np.array([I_t * omega0[0], I_t * omega0[1], I_a * omega0[2]])
    spin = (1.0 - I_a / I_t) * omega0[2]
    about_H, about_axis = (
        Rotation.from_rotvec(H / I_t * t),
        Rotation.from_rotvec([0.0, 0.0, spin * t]),
    )
    x, y, z, w = (about_H * about_axis).as_quat()
    return np.array([w, x, y, z]), about_axis.inv().apply(omega0)
