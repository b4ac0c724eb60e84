"""Estimated states of vehicles with an estimator on board, which controllers get in place of measured ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.sensing import Imu, KalmanEstimator
from rotor_core.kernels.jit import constants
from rotor_core.kernels.link import FLOAT, FLOATS, INTS, ROWS, TABLES, linked
from rotor_core.math import so3
from rotor_core.math.rotations import body_axes, cross_matrix, rotation_matrices
from rotor_core.math.vec3 import get3, put3
from rotor_core.state import MOTION, OMEGA, P, Q, State, V
from rotor_sim.estimation.kalman import GRAVITY, Kalman, correct, predict, start
from rotor_sim.sensing.inertial import InertialModel, add_errors, feel
from rotor_sim.sensing.pose import PLACED

CALLS, DRAWN = constants(0, 1)
"""Calls since a start, and random rows used so far."""

TIME, PERIOD = constants(0, 1)
"""When the last call was, and between control periods, s."""


@linked(
    ROWS, FLOAT, ROWS, INTS, ROWS, INTS, FLOATS, ROWS, ROWS, TABLES, ROWS, ROWS, ROWS, INTS,
    FLOATS, ROWS, ROWS, ROWS, TABLES, ROWS, ROWS, ROWS, part="estimators on board",
)  # fmt: skip
def estimate(
    motion, time, measured, fresh, out, counts, times, before, believed, normals, errors, biases, felt, placed,
    settings, position, velocity, attitude, covariance, gain, A, work,
):  # fmt: skip
    """Estimated states that controllers get at ``time``, s, into ``out``, (n_entities, 19).

    Args:
        motion: true motion of all entities, (n_entities, 19): of vehicles comes what their inertial units feel.
        measured: the same as motion capture tells it.
        fresh: what has just arrived of each, (n_entities,), as :func:`rotor_sim.sensing.pose.sense_pose` tells.
        counts, times: (2,) and (2,).
        before: true motion of the vehicles at the last call, (n, 19).
        believed: attitudes with which the first call begins, (n, 4); or none: the true ones.
        normals, errors, biases: of :func:`rotor_sim.sensing.inertial.add_errors`, random numbers for every call.
        felt, placed: room, (n, 6) and (n,).
        settings, position, velocity, attitude, covariance, gain, A, work: of :class:`Kalman`.
    """
    n = before.shape[0]
    for b in range(motion.shape[0]):
        for i in range(motion.shape[1]):
            out[b, i] = measured[b, i]
    if counts[CALLS] == 0:
        # it has stood there for a while: to start with one noisy measurement would belie its covariance
        attitudes = believed if believed.shape[0] > 0 else motion[:n, Q : Q + 4]
        start(
            motion[:n, P : P + 3],
            motion[:n, V : V + 3],
            attitudes,
            position,
            velocity,
            attitude,
            covariance,
        )
    elif time > times[TIME]:
        dt = time - times[TIME]
        for i in range(n):
            feel(before[i], motion[i], dt, settings[GRAVITY], felt[i])
            placed[i] = 1 if fresh[i] == PLACED else 0
        add_errors(errors, times[PERIOD], dt, normals[counts[DRAWN]], biases, felt)
        counts[DRAWN] += 1
        predict(felt, dt, settings, position, velocity, attitude, covariance, A, work)
        correct(measured, placed, settings, position, velocity, attitude, covariance, gain, A, work)
        for i in range(n):
            put3(out[i], OMEGA, get3(felt[i], 3))
    counts[CALLS] += 1
    times[TIME] = time
    for i in range(n):
        for j in range(motion.shape[1]):
            before[i, j] = motion[i, j]
        put3(out[i], P, get3(position[i], 0))
        put3(out[i], V, get3(velocity[i], 0))
        so3.put4(out[i], Q, so3.get4(attitude[i], 0))


def _continuous(imu: Imu) -> Imu:
    """The same unit with its noise per sample as part of the density: it integrates at a rate of its own."""
    root = np.sqrt(imu.rate_hz)
    return replace(
        imu,
        accelerometer_density_m_s2_sqrt_hz=float(
            np.hypot(imu.accelerometer_density_m_s2_sqrt_hz, imu.accelerometer_noise_m_s2 / root)
        ),
        gyroscope_density_rad_s_sqrt_hz=float(
            np.hypot(imu.gyroscope_density_rad_s_sqrt_hz, imu.gyroscope_noise_rad_s / root)
        ),
    )


class OnBoard:
    """Estimators of all vehicles, asked once per control period.

    They hear positions as motion capture tells them (``sensing``: with its noise, rate, delay, dropouts) and inertial
    units with the errors of ``sensing.imu``, which integrate between two control periods as real ones do.

    Args:
        scenario: with ``sensing.estimator``.
        seed: of the errors of the inertial units.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        keys, period = scenario.sensing.estimator, scenario.time.control_s
        assert isinstance(keys, KalmanEstimator)
        self._n, n_entities = len(scenario.model.vehicles), len(scenario.model.entities)
        self._filter = Kalman(keys, scenario.environment.gravity_m_s2, self._n)
        self._rate_variance = keys.gyroscope_density_rad_s_sqrt_hz**2 / period
        self._units = InertialModel(
            _continuous(scenario.sensing.imu),
            self._n,
            period,
            np.random.SeedSequence(seed, spawn_key=(0, 2)),
        )
        self._out, self._before = np.zeros((n_entities, MOTION)), np.zeros((self._n, MOTION))
        self._counts, self._times = np.zeros(2, np.int64), np.array([0.0, period])
        self._felt, self._placed = np.zeros((self._n, 6)), np.zeros(self._n, np.int64)
        self.reset()
        # the kernel is loaded now: in real time a period could not wait for it
        self.estimate(0.0, self._out, self._out, np.zeros(n_entities, np.int64))
        self.reset()

    def reset(self) -> None:
        """Begin again, with the next true states as the first estimate."""
        self.forget()
        self._units.reset()

    def forget(self) -> None:
        """The same, but the errors of the inertial units go on."""
        self._counts[CALLS] = 0
        self._believed = np.zeros((0, 4))

    def believe(self, attitudes: np.ndarray) -> None:
        """Let the first estimate hold these attitudes (n, 4), w first, in place of the true ones."""
        self._believed = attitudes.copy()

    def take_over(
        self, other: OnBoard, motion: np.ndarray, mine: list[int], theirs: list[int]
    ) -> None:
        """Let the estimators of the vehicles of both worlds go on; others begin with the truth.

        Args:
            other: those of the other world.
            motion: true motion of all entities now, (n_entities, 19).
            mine, theirs: rows of the vehicles of both, here and there.
        """
        self._units.take_over(other._units, mine, theirs)
        if other._counts[CALLS] == 0:
            return
        state = State(motion[: self._n])
        self._filter.start(state.position, state.velocity, state.attitude)
        for rows, others in zip(self._filter.estimate, other._filter.estimate, strict=True):
            rows[mine] = others[theirs]
        self._before[:] = motion[: self._n]
        self._before[mine] = other._before[theirs]
        self._counts[CALLS], self._times[TIME] = other._counts[CALLS], other._times[TIME]

    def ahead(self, measured: np.ndarray, fresh: np.ndarray, calls: int) -> tuple[np.ndarray, ...]:
        """Arguments of :func:`estimate` for so many calls at ascending times, which are made then; the third is told.

        Args:
            measured, fresh: as of every call: written between.
            calls: how many.
        """
        draws = calls - (self._counts[CALLS] == 0)
        self._counts[DRAWN] = 0
        return (
            measured, fresh, self._out, self._counts, self._times, self._before, self._believed,
            self._units.ahead(max(draws, 0)), self._units.errors, self._units.biases, self._felt, self._placed,
            *self._filter.packed,
        )  # fmt: skip

    def estimate(
        self, time: float, motion: np.ndarray, measured: np.ndarray, fresh: np.ndarray
    ) -> np.ndarray:
        """Estimated states that controllers get.

        Args:
            time: s.
            motion: true motion of all entities, (n, 19): of the vehicles comes what their inertial units feel.
            measured: the same as motion capture tells it.
            fresh: what has just arrived of each, (n,), as :attr:`rotor_sim.sensing.pose.PoseSensor.arrived`.

        Returns:
            (n, 19): rows of vehicles hold the estimates and the rates that gyroscopes tell, all others ``measured``.
        """
        is_later = self._counts[CALLS] == 0 or time > self._times[TIME]
        arguments = self.ahead(measured, fresh, int(is_later))
        estimate(np.ascontiguousarray(motion), time, *arguments)
        return self._out

    def covariances(self) -> np.ndarray:
        """Covariances of the filters, (n, 2, 6, 6): of pose and twist, as messages have them.

        Position and rotation about the axes of W; velocity and rate in body axes, (F.6): the error of the attitude
        turns the velocity. A rate is that of a gyroscope, in one control period.
        """
        P, R = self._filter.covariance, rotation_matrices(self._filter.attitude)
        back = R.transpose(0, 2, 1)
        out = np.zeros((self._n, 2, 6, 6))
        out[:, 0, :3, :3] = P[:, :3, :3]
        out[:, 0, :3, 3:] = P[:, :3, 6:] @ back
        out[:, 0, 3:, :3] = out[:, 0, :3, 3:].transpose(0, 2, 1)
        out[:, 0, 3:, 3:] = R @ P[:, 6:, 6:] @ back
        turned = np.zeros((self._n, 3, 6))  # of velocity in W and attitude, to velocity in B
        turned[:, :, :3] = back
        turned[:, :, 3:] = cross_matrix(body_axes(self._filter.attitude, self._filter.velocity))
        out[:, 1, :3, :3] = turned @ P[:, 3:, 3:] @ turned.transpose(0, 2, 1)
        out[:, 1, 3:, 3:] = self._rate_variance * np.eye(3)
        return out
