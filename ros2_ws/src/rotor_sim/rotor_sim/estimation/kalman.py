"""Extended Kalman filter on board: positions from outside, gyroscopes and accelerometers from the vehicle.

It believes what small multirotors believe: rotors give all of the specific force, and nothing else holds the vehicle.
The pull of a cable is not in its model, so that attitude takes the blame: at rest it reports level, however far the
vehicle leans against the pull. Equations (F.1)-(F.5), docs/theory/estimation.md. Source: M. W. Mueller, M. Hehn,
R. D'Andrea, "Covariance correction step for Kalman filtering with an attitude", J. Guidance, Control, and Dynamics
40 (9), 2017, and "Fusing ultra-wideband range measurements with accelerometers and rate gyroscopes for quadrocopter
state estimation", ICRA 2015.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.sensing import KalmanEstimator
from rotor_core.kernels.jit import constants, inlined, kernel
from rotor_core.math import so3
from rotor_core.math.factor import factorize_small, substitute_small
from rotor_core.math.vec3 import add, apply, get3, put3, scale, sub, times

START_DEVIATIONS = np.repeat([3e-3, 3e-2, 2e-2], 3)
"""Of position m, velocity m/s and attitude rad at the start: it has stood there for a while."""

SIZE = 9
"""Errors of a vehicle: of position, velocity and rotation vector in body axes."""

GRAVITY, VARIANCE, AXES, GROWTH = constants(0, 1, 2, 5)
"""Where settings have gravity, m/s^2; the variance of positions, m^2; 1 for axes of the accelerometers that are
believed, else 0; what the variances of all errors grow by in a second."""

SETTINGS = GROWTH + SIZE


@inlined
def _turn(row, by):
    """Turn the attitude in a row by a rotation vector in body axes; w stays positive."""
    q = so3.normalized(so3.product(so3.get4(row, 0), so3.exp(by)))
    if q[0] < 0.0:
        q = (-q[0], -q[1], -q[2], -q[3])
    so3.put4(row, 0, q)


@inlined
def _set_identity(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 1.0 if i == j else 0.0


@inlined
def _subtract_hat(A, at, v):
    """Take from the block of A that begins at (at, at) the matrix whose product with a vector is ``v`` cross it."""
    A[at, at + 1] += v[2]
    A[at, at + 2] -= v[1]
    A[at + 1, at] -= v[2]
    A[at + 1, at + 2] += v[0]
    A[at + 2, at] += v[1]
    A[at + 2, at + 1] -= v[0]


@inlined
def _transform(P, A, work):
    """P <- A P A^T, symmetric to the last bit."""
    for i in range(SIZE):
        for j in range(SIZE):
            value = 0.0
            for k in range(SIZE):
                value += A[i, k] * P[k, j]
            work[i, j] = value
    for i in range(SIZE):
        for j in range(i + 1):
            value = 0.0
            for k in range(SIZE):
                value += work[i, k] * A[j, k]
            P[i, j] = value
            P[j, i] = value


@kernel
def start(places, velocities, attitudes, position, velocity, attitude, covariance):
    """Begin all filters with an estimate."""
    for i in range(position.shape[0]):
        for j in range(3):
            position[i, j], velocity[i, j] = places[i, j], velocities[i, j]
        for j in range(4):
            attitude[i, j] = attitudes[i, j]
        for j in range(SIZE):
            for k in range(SIZE):
                covariance[i, j, k] = START_DEVIATIONS[j] ** 2 if j == k else 0.0


@kernel
def predict(felt, dt, settings, position, velocity, attitude, covariance, A, work):
    """(F.1), (F.2) of all filters, with the mean specific forces and body rates of ``dt`` s, (n, 6)."""
    axes, gravity = get3(settings, AXES), settings[GRAVITY]
    for i in range(position.shape[0]):
        force, rate = times(axes, get3(felt[i], 0)), get3(felt[i], 3)
        p, v, q = get3(position[i], 0), get3(velocity[i], 0), so3.get4(attitude[i], 0)
        R = so3.matrix(
            so3.product(q, so3.exp_of_half(scale(0.25 * dt, rate)))
        )  # second order in dt
        a = sub(apply(R, force), (0.0, 0.0, gravity))
        put3(position[i], 0, add(p, add(scale(dt, v), scale(0.5 * dt * dt, a))))
        put3(velocity[i], 0, add(v, scale(dt, a)))
        _turn(attitude[i], scale(dt, rate))
        _set_identity(A)
        for j in range(3):
            A[j, 3 + j] = dt
            r0, r1, r2 = R[3 * j], R[3 * j + 1], R[3 * j + 2]
            A[3 + j, 6] = -dt * (r1 * force[2] - r2 * force[1])
            A[3 + j, 7] = -dt * (r2 * force[0] - r0 * force[2])
            A[3 + j, 8] = -dt * (r0 * force[1] - r1 * force[0])
        _subtract_hat(A, 6, scale(dt, rate))
        _transform(covariance[i], A, work)
        for j in range(SIZE):
            covariance[i, j, j] += dt * settings[GROWTH + j]


@kernel
def correct(measured, placed, settings, position, velocity, attitude, covariance, gain, A, work):
    """(F.3), (F.4), (F.5) of those filters whose vehicles were ``placed`` (n,), with measured positions (n, 3)."""
    variance = settings[VARIANCE]
    for i in range(position.shape[0]):
        if not placed[i]:
            continue
        P = covariance[i]
        for j in range(3):
            for k in range(j + 1):
                A[j, k] = P[j, k]
            A[j, j] += variance
        factorize_small(A, work, 3)
        p, v = get3(position[i], 0), get3(velocity[i], 0)
        z = sub(get3(measured[i], 0), p)
        for j in range(SIZE):
            for k in range(3):
                gain[j, k] = P[j, k]
            substitute_small(work, 3, gain[j])
        put3(position[i], 0, add(p, _dots(gain, 0, z)))
        put3(velocity[i], 0, add(v, _dots(gain, 3, z)))
        turn = _dots(gain, 6, z)
        _turn(attitude[i], turn)
        _set_identity(A)
        for j in range(SIZE):
            for k in range(3):
                A[j, k] -= gain[j, k]
        _transform(P, A, work)
        for j in range(SIZE):
            for k in range(SIZE):
                P[j, k] += variance * (
                    gain[j, 0] * gain[k, 0] + gain[j, 1] * gain[k, 1] + gain[j, 2] * gain[k, 2]
                )
        _set_identity(A)  # the error is told about the new attitude
        _subtract_hat(A, 6, scale(0.5, turn))
        _transform(P, A, work)


@inlined
def _dots(rows, first, v):
    """Products of three rows with a vector."""
    return (
        rows[first, 0] * v[0] + rows[first, 1] * v[1] + rows[first, 2] * v[2],
        rows[first + 1, 0] * v[0] + rows[first + 1, 1] * v[1] + rows[first + 1, 2] * v[2],
        rows[first + 2, 0] * v[0] + rows[first + 2, 1] * v[1] + rows[first + 2, 2] * v[2],
    )


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
        settings: (SETTINGS,).
    """

    def __init__(self, keys: KalmanEstimator, gravity: float, count: int) -> None:
        level, up = keys.accelerometer_density_m_s2_sqrt_hz, keys.vertical_density_m_s2_sqrt_hz
        turn = keys.gyroscope_density_rad_s_sqrt_hz
        self.settings = np.zeros(SETTINGS)
        self.settings[[GRAVITY, VARIANCE]] = gravity, keys.position_m**2
        self.settings[AXES : AXES + 3] = (
            (1.0, 1.0, 1.0) if keys.accelerometer == "all" else (0.0, 0.0, 1.0)
        )
        self.settings[GROWTH:] = np.square([0.0, 0.0, 0.0, level, level, up, turn, turn, turn])
        self.position, self.velocity = np.zeros((2, count, 3))
        self.attitude, self.covariance = np.zeros((count, 4)), np.zeros((count, SIZE, SIZE))
        self._gain, (self._change, self._work) = np.zeros((SIZE, 3)), np.zeros((2, SIZE, SIZE))
        self.attitude[:, 0] = 1.0
        self.start(self.position, self.velocity, self.attitude)

    @property
    def estimate(self) -> tuple[np.ndarray, ...]:
        """Position, velocity, attitude, covariance: as kernels write them."""
        return self.position, self.velocity, self.attitude, self.covariance

    @property
    def packed(self) -> tuple[np.ndarray, ...]:
        """Arguments of kernels: settings, the estimate, and room for their work."""
        return self.settings, *self.estimate, self._gain, self._change, self._work

    def start(self, position: np.ndarray, velocity: np.ndarray, attitude: np.ndarray) -> None:
        """Begin with an estimate."""
        start(position, velocity, attitude, *self.estimate)

    def predict(self, specific_force: np.ndarray, rate: np.ndarray, dt: float) -> None:
        """Go on by ``dt`` s with what accelerometers and gyroscopes tell, (n, 3) m/s^2 and rad/s (F.1), (F.2)."""
        felt = np.hstack([specific_force, rate])
        predict(felt, dt, self.settings, *self.estimate, self._change, self._work)

    def correct(self, position: np.ndarray, placed: np.ndarray) -> None:
        """Take up measured positions (n, 3) of those vehicles that are ``placed``, (n,) (F.3)-(F.5)."""
        correct(np.ascontiguousarray(position), np.asarray(placed, np.int64), *self.packed)
