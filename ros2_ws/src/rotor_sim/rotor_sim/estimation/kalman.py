"""Extended Kalman filter on board: positions from outside, gyroscopes and accelerometers from the vehicle.

It believes what small multirotors believe: rotors give all of the specific force, and nothing else holds the vehicle.
The pull of a cable is not in its model, so that attitude takes the blame: at rest it reports level, however far the
vehicle leans against the pull. Equations (E.1)-(E.5), docs/theory/estimation.md. Source: M. W. Mueller, M. Hehn,
R. D'Andrea, "Covariance correction step for Kalman filtering with an attitude", J. Guidance, Control, and Dynamics
40 (9), 2017, and "Fusing ultra-wideband range measurements with accelerometers and rate gyroscopes for quadrocopter
state estimation", ICRA 2015.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.config.sensing import KalmanEstimator
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.math.rotations import rotation_matrices

START_DEVIATIONS = np.repeat([3e-3, 3e-2, 2e-2], 3)
"""Of position m, velocity m/s and attitude rad at the start: it has stood there for a while."""


def hat(v: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) whose product with a vector is the cross product of ``v`` (n, 3) with it."""
    out = np.zeros((len(v), 3, 3))
    out[:, [2, 0, 1], [1, 2, 0]] = v
    out[:, [1, 2, 0], [2, 0, 1]] = -v
    return out


class Kalman:
    """Filters of n vehicles, side by side.

    Args:
        keys: what they believe of their sensors.
        gravity: m/s^2.
        count: of vehicles.

    Attributes:
        position, velocity: in W, (n, 3) m and m/s.
        attitude: body to W, w first, (n, 4).
        covariance: of position, velocity and rotation vector in body axes, (n, 9, 9).
    """

    def __init__(self, keys: KalmanEstimator, gravity: float, count: int) -> None:
        self._gravity = np.array([0.0, 0.0, gravity])
        self._axes = np.array([keys.accelerometer == "all", keys.accelerometer == "all", True])
        level, up = keys.accelerometer_density_m_s2_sqrt_hz, keys.vertical_density_m_s2_sqrt_hz
        turn = keys.gyroscope_density_rad_s_sqrt_hz
        self._growth = np.array([0.0, 0.0, 0.0, level, level, up, turn, turn, turn]) ** 2
        self._variance = keys.position_m**2
        still = np.zeros((count, 3))
        self.start(still, still, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)))

    def start(self, position: np.ndarray, velocity: np.ndarray, attitude: np.ndarray) -> None:
        """Begin with an estimate."""
        self.position, self.velocity = position.copy(), velocity.copy()
        self.attitude = attitude.copy()
        self.covariance = np.tile(np.diag(START_DEVIATIONS**2), (len(position), 1, 1))

    def predict(self, specific_force: np.ndarray, rate: np.ndarray, dt: float) -> None:
        """Go on by ``dt`` s with what accelerometers and gyroscopes tell, (n, 3) m/s^2 and rad/s (E.1), (E.2)."""
        R = rotation_matrices(_turned(self.attitude, 0.5 * dt * rate))  # second order in dt
        force = specific_force * self._axes
        acceleration = np.einsum("nij,nj->ni", R, force) - self._gravity
        self.position = self.position + dt * self.velocity + 0.5 * dt**2 * acceleration
        self.velocity = self.velocity + dt * acceleration
        self.attitude = _turned(self.attitude, dt * rate)
        F = np.tile(np.eye(9), (len(R), 1, 1))
        F[:, :3, 3:6] = dt * np.eye(3)
        F[:, 3:6, 6:] = -dt * R @ hat(force)
        F[:, 6:, 6:] -= dt * hat(rate)
        self.covariance = F @ self.covariance @ F.transpose(0, 2, 1) + np.diag(dt * self._growth)

    def correct(self, position: np.ndarray, told: np.ndarray) -> None:
        """Take up measured positions (n, 3) of those vehicles that ``told`` (n,) names (E.3)-(E.5)."""
        P = self.covariance
        innovation = np.where(told[:, None], position - self.position, 0.0)
        gain = np.linalg.solve(P[:, :3, :3] + self._variance * np.eye(3), P[:, :3]).transpose(
            0, 2, 1
        )
        gain[~told] = 0.0
        change = np.einsum("nij,nj->ni", gain, innovation)
        self.position = self.position + change[:, :3]
        self.velocity = self.velocity + change[:, 3:6]
        self.attitude = _turned(self.attitude, change[:, 6:])
        keep = np.eye(9) - np.concatenate([gain, np.zeros((len(P), 9, 6))], axis=2)
        P = keep @ P @ keep.transpose(0, 2, 1) + self._variance * gain @ gain.transpose(0, 2, 1)
        half = np.tile(np.eye(9), (len(P), 1, 1))
        half[:, 6:, 6:] -= 0.5 * hat(change[:, 6:])
        P = half @ P @ half.transpose(0, 2, 1)  # the error is told about the new attitude
        self.covariance = 0.5 * (P + P.transpose(0, 2, 1))


def _turned(wxyz: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Attitudes turned by rotation vectors in body axes."""
    return wxyz_from(rotation_from(wxyz) * Rotation.from_rotvec(by))
