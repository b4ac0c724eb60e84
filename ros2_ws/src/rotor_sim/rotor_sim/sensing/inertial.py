"""Specific forces and rates of inertial units, and their errors: noise, biases that wander, saturation."""

from __future__ import annotations

import copy
from math import sqrt

import numpy as np

from rotor_core.config.sensing import InertialErrors
from rotor_core.kernels.jit import constants, inlined, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply_transposed, get3, put3, scale, sub
from rotor_core.state import OMEGA, Q, V

NOISE, WALK, LIMIT = constants(0, 1, 2)
"""Rows of the errors of a unit: deviation of a sample, and of the step of a bias after it; the most that is told."""

ALIKE = 1e-9
"""Samples so much more or less than a period after the last one come after a period, s: times are rounded."""


@inlined
def mean_force(before, now, dt, gravity):
    """Mean specific force between two motions dt s apart, in the body axes midway; snaps and impacts are in it."""
    p, q = so3.get4(before, Q), so3.get4(now, Q)
    side = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
    side = -1.0 if side < 0.0 else 1.0
    middle = so3.normalized(
        (p[0] + side * q[0], p[1] + side * q[1], p[2] + side * q[2], p[3] + side * q[3])
    )
    force = add(scale(1.0 / dt, sub(get3(now, V), get3(before, V))), (0.0, 0.0, gravity))
    return apply_transposed(so3.matrix(middle), force)


@inlined
def feel(before, now, dt, gravity, felt):
    """Mean specific force and body rate between two motions, in body axes, into ``felt`` (6,)."""
    put3(felt, 0, mean_force(before, now, dt, gravity))
    put3(felt, 3, scale(0.5, add(get3(before, OMEGA), get3(now, OMEGA))))


@inlined
def add_errors(errors, period, since, normals, biases, told):
    """Let units that feel ``told`` (n, 6) tell of it with their errors; their biases wander.

    Args:
        errors: (3, 6).
        period, since: between samples, and since the last one, whose mean is told, s.
        normals: random numbers, (2 n, 6), those of noise first; or none, (0, 6).
        biases, told: (n, 6), written.
    """
    n = told.shape[0]
    longer = 1.0  # in roots of periods
    if since > period + ALIKE or since < period - ALIKE:
        longer = sqrt(since / period)
    for i in range(n):
        for j in range(6):
            told[i, j] += biases[i, j]
            if normals.shape[0] > 0:
                told[i, j] += errors[NOISE, j] / longer * normals[i, j]
                biases[i, j] += errors[WALK, j] * longer * normals[n + i, j]
            told[i, j] = min(max(told[i, j], -errors[LIMIT, j]), errors[LIMIT, j])


@kernel
def feel_forces(before, now, dt, gravity, felt):
    """Write :func:`mean_force` of motions (n, 19) into the first columns of ``felt`` (n, 6)."""
    for i in range(now.shape[0]):
        put3(felt[i], 0, mean_force(before[i], now[i], dt, gravity))


@kernel
def _sample(errors, period, since, normals, biases, told):
    add_errors(errors, period, since, normals, biases, told)


class InertialModel:
    """Errors of some units that are sampled together.

    Args:
        errors: of each.
        count: units.
        period: between samples, s.
        seed: of the random stream.
    """

    def __init__(
        self, errors: InertialErrors, count: int, period: float, seed: np.random.SeedSequence
    ) -> None:
        def both(of_accelerometer: float, of_gyroscope: float) -> np.ndarray:
            return np.repeat([of_accelerometer, of_gyroscope], 3).astype(float)

        self._seed, self._count, self._period = seed, count, period
        self._first = np.array([*errors.accelerometer_bias_m_s2, *errors.gyroscope_bias_rad_s])
        densities = (
            errors.accelerometer_density_m_s2_sqrt_hz,
            errors.gyroscope_density_rad_s_sqrt_hz,
        )
        noise = both(*densities) / np.sqrt(period)
        walks = errors.accelerometer_walk_m_s3_sqrt_hz, errors.gyroscope_walk_rad_s2_sqrt_hz
        walk = both(*walks) * np.sqrt(period)
        largest = errors.accelerometer_limit_m_s2, errors.gyroscope_limit_rad_s
        limit = both(*(np.inf if value is None else value for value in largest))
        self._draws = bool(noise.any() or walk.any())
        self.errors = np.array([noise, walk, limit])
        """As :func:`add_errors` takes them."""
        self.reset()

    def reset(self) -> None:
        """Begin the random stream and the biases again."""
        self._random = np.random.default_rng(self._seed)
        self.biases = np.tile(self._first, (self._count, 1))

    def take_over(self, other: InertialModel, mine: list[int], theirs: list[int]) -> None:
        """Go on with the random stream of other units, and the biases of those of both, by their rows."""
        self._random = copy.deepcopy(other._random)
        self.biases[mine] = other.biases[theirs]

    def ahead(self, samples: int) -> np.ndarray:
        """Random numbers of so many samples, which are made then, (samples, 2 count, 6), or none, (samples, 0, 6)."""
        drawn = self._random.standard_normal if self._draws else np.zeros
        return drawn((samples, 2 * self._count * self._draws, 6))

    def sample(self, ideal: np.ndarray, since: float | None = None) -> np.ndarray:
        """Samples of units whose true specific forces and body rates are ``ideal``, (count, 6).

        ``since``: s since the last sample, whose mean ``ideal`` is; left out: a period.
        """
        told = np.array(ideal, float)
        period = self._period
        _sample(
            self.errors, period, period if since is None else since, self.ahead(1)[0], self.biases, told
        )  # fmt: skip
        return told
