"""What vehicles with an estimator on board tell their controllers, in place of measured states."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.sensing import KalmanEstimator
from rotor_core.math.rotations import body_axes, rotation_matrices
from rotor_core.state import State
from rotor_sim.estimation.kalman import Kalman
from rotor_sim.sensing.inertial import InertialModel


class OnBoard:
    """Estimators of all vehicles, asked once per control period.

    They hear positions as motion capture tells them (``sensing``: with its noise, rate, delay, dropouts) and inertial
    units with the errors of ``sensing.imu``, which integrate between two control periods as real ones do.

    Args:
        scenario: with ``sensing.estimator``.
        seed: of the errors of the inertial units.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        keys = scenario.sensing.estimator
        assert isinstance(keys, KalmanEstimator)
        self._n, gravity = len(scenario.model.vehicles), scenario.environment.gravity_m_s2
        self._gravity = np.array([0.0, 0.0, gravity])
        self._filter = Kalman(keys, gravity, self._n)
        self._rate_variance = keys.gyroscope_density_rad_s_sqrt_hz**2 / scenario.time.control_s
        self._units = InertialModel(
            scenario.sensing.imu,
            self._n,
            scenario.time.control_s,
            np.random.SeedSequence(seed, spawn_key=(0, 2)),
        )
        self.reset()

    def reset(self) -> None:
        """Begin again, with the next states as the first estimate."""
        self._time = np.nan
        self._before = np.zeros((self._n, 19))
        self._believed = np.zeros((0, 4))
        self._units.reset()

    def believe(self, attitudes: np.ndarray) -> None:
        """Let the first estimate hold these attitudes (n, 4), w first, in place of the measured ones."""
        self._believed = attitudes.copy()

    def estimate(
        self, time: float, motion: np.ndarray, measured: np.ndarray, placed: np.ndarray
    ) -> np.ndarray:
        """What controllers are told.

        Args:
            time: s.
            motion: true motion of all entities, (n, 19): of the vehicles comes what their inertial units feel.
            measured: the same as motion capture tells it.
            placed: of whom a position has just arrived, (n,) bool.

        Returns:
            (n, 19): rows of vehicles hold the estimates and the rates that gyroscopes tell, all others ``measured``.
        """
        n, out = self._n, measured.copy()
        true, told, mine = State(motion[:n]), State(measured[:n]), State(out[:n])
        if np.isnan(self._time):
            first = self._believed if len(self._believed) else told.attitude
            self._filter.start(told.position, told.velocity, first)
        elif time > self._time:
            dt = time - self._time
            felt = self._units.sample(self._felt(true, dt))
            self._filter.predict(felt[:, :3], felt[:, 3:], dt)
            self._filter.correct(told.position, placed[:n])
            mine.body_rate[:] = felt[:, 3:]
        self._time = time
        self._before = motion[:n].copy()
        mine.position[:], mine.velocity[:] = self._filter.position, self._filter.velocity
        mine.attitude[:] = self._filter.attitude
        return out

    def covariances(self) -> np.ndarray:
        """What the filters believe of their errors, (n, 2, 6, 6): of pose and twist, as messages have them.

        Position and rotation about the axes of W; velocity and rate in body axes. A rate is that of a gyroscope, in one
        control period.
        """
        P, R = self._filter.covariance, rotation_matrices(self._filter.attitude)
        back = R.transpose(0, 2, 1)
        out = np.zeros((self._n, 2, 6, 6))
        out[:, 0, :3, :3] = P[:, :3, :3]
        out[:, 0, :3, 3:] = P[:, :3, 6:] @ back
        out[:, 0, 3:, :3] = out[:, 0, :3, 3:].transpose(0, 2, 1)
        out[:, 0, 3:, 3:] = R @ P[:, 6:, 6:] @ back
        out[:, 1, :3, :3] = back @ P[:, 3:6, 3:6] @ R
        out[:, 1, 3:, 3:] = self._rate_variance * np.eye(3)
        return out

    def _felt(self, now: State, dt: float) -> np.ndarray:
        """Mean specific force and body rate since the last time, in body axes, (n, 6)."""
        before = State(self._before)
        force = (now.velocity - before.velocity) / dt + self._gravity
        middle = before.attitude + np.where(
            np.sum(before.attitude * now.attitude, axis=1, keepdims=True) < 0.0,
            -now.attitude,
            now.attitude,
        )
        return np.hstack(
            [
                body_axes(middle, force),
                0.5 * (before.body_rate + now.body_rate),
            ]
        )
