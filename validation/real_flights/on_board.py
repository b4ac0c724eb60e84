"""The filter on board of the Crazyflies, fed with what a recording holds."""

from __future__ import annotations

import numpy as np

from rotor_core.config.sensing import KalmanEstimator
from rotor_core.math.rotations import rotation_matrices
from rotor_recordings.crazyflies.grid import GRAVITY, STEP
from rotor_sim.estimation.kalman import Kalman

ESTIMATOR = KalmanEstimator(
    "kalman",
    position_m=0.014,
    accelerometer_density_m_s2_sqrt_hz=0.016,
    vertical_density_m_s2_sqrt_hz=0.8,
    gyroscope_density_rad_s_sqrt_hz=0.0032,
)
"""Densities of the published filter (0.5 m/s^2 and 0.1 rad/s each millisecond). Upwards the logged estimates have no
bias, though thrust is more than weight, for a reason that the logs do not show: positions are followed at once."""


def filtered_attitudes(
    keys: KalmanEstimator, positions: np.ndarray, velocity: np.ndarray, attitude: np.ndarray, rates: np.ndarray,
    thrusts: np.ndarray, pulls: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Attitudes as the filter has them when it hears what was recorded, every :data:`STEP`.

    Args:
        keys: of the filter; with pulls it must believe all axes of its accelerometer.
        positions: of the vehicles, (T, n, 3) m.
        velocity, attitude: at the start, (n, 3) m/s and (n, 4), w first.
        rates: gyroscopes, (T, n, 3) rad/s in body axes.
        thrusts: accelerations by the rotors along the third body axis, (T, n) m/s^2.
        pulls: accelerations by the cables, of which the filter knows then, (T, n, 3) m/s^2 in W; None: of none.

    Returns:
        (T, n, 4), w first. Each row is made of what was recorded until then.
    """
    T, n = thrusts.shape
    found = Kalman(keys, GRAVITY, n)
    found.start(positions[0], velocity, attitude)
    out = np.zeros((T, n, 4))
    for k in range(T):
        if k:
            force = np.zeros((n, 3))
            force[:, 2] = thrusts[k - 1]
            if pulls is not None:
                R = rotation_matrices(found.attitude)
                force += np.einsum("nji,nj->ni", R, pulls[k - 1])
            found.predict(force, rates[k - 1], STEP)
            found.correct(positions[k], np.ones(n, bool))
        out[k] = found.attitude
    return out
