"""Rotor level.

Which wrenches the rotors of a vehicle can give, and what happens to a command beyond them.

Equations (A.1), (A.2), (A.3), docs/theory/control.md. Roll and pitch moments go before collective thrust,
thrust before yaw: a vehicle that keeps its attitude keeps everything else within reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from rotor_core.config.model import Rotors
from rotor_core.config.yaml.units import rad_s_from_rpm
from rotor_core.kernels.jit import inlined, kernel
from rotor_core.numbers.derivatives import counts as varies

THRUST_TOLERANCE = 1e-9
"""A rotor counts as within its limits up to this, N, so that a limited command passes unchanged a second time."""


@dataclass(frozen=True)
class RotorSet:
    """Rotors of one vehicle.

    Attributes:
        mixing: (4, n), wrench (f, Mx, My, Mz) of unit rotor thrusts (A.1).
        unmixing: its pseudo-inverse, (n, 4): the thrusts of smallest norm (A.2).
        thrust_limits: smallest and largest thrust of a rotor, (2,) N.
        thrust_per_speed2: N s^2/rad^2.
    """

    mixing: np.ndarray
    unmixing: np.ndarray
    thrust_limits: np.ndarray
    thrust_per_speed2: float

    @property
    def count(self) -> int:
        """Number of rotors."""
        return self.mixing.shape[1]

    def speeds(self, wrench: np.ndarray) -> np.ndarray:
        """Rotor speeds that give a wrench (4,), rad/s; negative thrusts give 0."""
        return np.sqrt(np.maximum(self.unmixing @ wrench, 0.0) / self.thrust_per_speed2)

    def thrusts_at(self, speeds: np.ndarray) -> np.ndarray:
        """Thrusts of rotors that are told their speeds (..., n) rad/s, N.

        Each stays within its own limits: what one cannot turn, no other does in its place. Where all are told to stand,
        motors are off.
        """
        thrusts = np.clip(self.thrust_per_speed2 * speeds**2, *self.thrust_limits)
        return np.where(np.any(speeds, axis=-1, keepdims=True), thrusts, 0.0)


def rotor_set(rotors: Rotors, *, thrust_gain: float = 1.0) -> RotorSet:
    """Mixing, its inverse and limits of a layout; drag torque acts against the spin."""
    coefficient = rotors.thrust_n_per_rpm2 / rad_s_from_rpm(1.0) ** 2
    limits = thrust_gain * rotors.thrust_n_per_rpm2 * np.array(rotors.speed_rpm) ** 2
    mixing = rotors.mixing
    unmixing = np.linalg.inv(mixing) if mixing.shape == (4, 4) else np.linalg.pinv(mixing)
    return RotorSet(mixing, unmixing, limits, thrust_gain * coefficient)


@dataclass(frozen=True)
class RotorLimits:
    """Rotors of all vehicles, packed for :func:`limit_wrenches`.

    Attributes:
        unmixing: (n_vehicles, most rotors, 4), padded with zeros.
        counts: rotors of each, (n_vehicles,).
        thrusts: smallest and largest thrust of each rotor, (n_vehicles, most rotors, 2) N.
        asked: by commands beyond the limits so far: largest collective thrust, largest and smallest thrust of a rotor,
            N, and the number of these commands, (n_vehicles, 4).
    """

    unmixing: np.ndarray
    counts: np.ndarray
    thrusts: np.ndarray
    asked: np.ndarray

    def apply(self, wrenches: np.ndarray) -> int:
        """Limit wrenches (n_vehicles, 4) in place; how many were beyond."""
        return limit_wrenches(self.unmixing, self.counts, self.thrusts, wrenches, self.asked)

    def are_reached(self, wrenches: np.ndarray) -> np.ndarray:
        """True where a command (N, n_vehicles, 4) brings a rotor to a limit or beyond, (N, n_vehicles).

        A command that has been limited mostly lies on a limit. A command of nothing stops the rotors: it is within.
        """
        thrusts = np.einsum("vrc,nvc->nvr", self.unmixing, wrenches)
        low, high = self.thrusts[..., 0] + THRUST_TOLERANCE, self.thrusts[..., 1] - THRUST_TOLERANCE
        there = np.arange(self.unmixing.shape[1]) < self.counts[:, None]
        at = ((thrusts > high) | (thrusts < low)) & there
        return at.any(axis=2) & wrenches.any(axis=2)


def asked_of_rotors(n_vehicles: int) -> np.ndarray:
    """:attr:`RotorLimits.asked` before any command."""
    return np.tile([0.0, 0.0, inf, 0.0], (n_vehicles, 1))


@kernel
def rotor_thrusts(unmixing, counts, wrenches, out):
    """Thrusts of all rotors that give wrenches (n_vehicles, 4) in air at rest, N, one vehicle after the other (A.2)."""
    row = 0
    for v in range(counts.shape[0]):
        for k in range(counts[v]):
            out[row] = 0.0
            for channel in range(4):
                out[row] += unmixing[v, k, channel] * wrenches[v, channel]
            row += 1


@kernel
def rotor_speeds(unmixing, counts, per_speed2, wrenches, out):
    """Speeds of all rotors that give wrenches (n_vehicles, 4), rad/s, one vehicle after the other into ``out`` (A.2).

    Negative thrusts give 0. ``per_speed2``: thrust over squared speed of each vehicle's rotors, N s^2/rad^2.
    """
    rotor_thrusts(unmixing, counts, wrenches, out)
    row = 0
    for v in range(counts.shape[0]):
        for _ in range(counts[v]):
            out[row] = sqrt(max(out[row], 0.0) / per_speed2[v])
            row += 1


def rotor_limits(sets: Sequence[RotorSet], *, can_stop: bool = False) -> RotorLimits:
    """Limits of several vehicles; ``can_stop``: motors can stand, whatever they turn at least otherwise."""
    most = max((s.count for s in sets), default=0)
    unmixing = np.zeros((len(sets), most, 4))
    for packed, s in zip(unmixing, sets, strict=True):
        packed[: s.count] = s.unmixing
    counts = np.array([s.count for s in sets], np.int64)
    thrusts = np.zeros((len(sets), most, 2))
    for packed, s in zip(thrusts, sets, strict=True):
        packed[:] = s.thrust_limits
    if can_stop:
        thrusts[:, :, 0] = np.minimum(thrusts[:, :, 0], 0.0)
    return RotorLimits(unmixing, counts, thrusts, asked_of_rotors(len(sets)))


@inlined
def _fraction(base, change, low, high):
    """Largest fraction in 0..1 of ``change`` that keeps ``base + fraction * change`` between the limits.

    Of no change all, but for its derivatives: at a limit there is no room for them.
    """
    if change > 0.0:
        return min(1.0, max(0.0, (high - base) / change))
    if change < 0.0:
        return min(1.0, max(0.0, (low - base) / change))
    at_limit = base >= high - THRUST_TOLERANCE or base <= low + THRUST_TOLERANCE
    return 0.0 if at_limit and varies(change) else 1.0


@inlined
def _tilt(unmixing, wrench, i):
    """Thrust of rotor i that roll and pitch ask for."""
    return unmixing[i, 1] * wrench[1] + unmixing[i, 2] * wrench[2]


@inlined
def _tilt_scale(unmixing, count, limits, wrench):
    """Largest scale in 0..1 of roll and pitch for which some collective thrust keeps every rotor within its limits.

    Rotor i asks for ``low_i <= a_i f + s t_i <= high_i``; every pair of rotors bounds s (A.3).
    """
    scale = 1.0
    for i in range(count):
        for j in range(count):
            a, b = unmixing[i, 0], unmixing[j, 0]
            slope = _tilt(unmixing, wrench, j) / b - _tilt(unmixing, wrench, i) / a
            if slope > 0.0:
                scale = min(scale, (limits[j, 1] / b - limits[i, 0] / a) / slope)
    return max(scale, 0.0)


@kernel
def limit_wrench(unmixing, count, limits, wrench):
    """Bring a wrench (4,) within what ``count`` rotors can give, in place; ``limits`` of each, (count, 2) N.

    True if it was beyond. A command of exactly nothing stops the rotors: it passes.

    Roll and pitch are scaled only if no collective thrust admits them; then the collective thrust
    moves as little as needed; yaw takes what is left (A.3).
    """
    if wrench[0] == 0.0 and wrench[1] == 0.0 and wrench[2] == 0.0 and wrench[3] == 0.0:
        return False
    within = True
    for i in range(count):
        thrust = (
            unmixing[i, 0] * wrench[0] + _tilt(unmixing, wrench, i) + unmixing[i, 3] * wrench[3]
        )
        if thrust < limits[i, 0] - THRUST_TOLERANCE or thrust > limits[i, 1] + THRUST_TOLERANCE:
            within = False
    if within:
        return False
    scale = _tilt_scale(unmixing, count, limits, wrench)
    wrench[1] *= scale
    wrench[2] *= scale
    least, most = -inf, inf
    for i in range(count):
        tilt = _tilt(unmixing, wrench, i)
        least = max(least, (limits[i, 0] - tilt) / unmixing[i, 0])
        most = min(most, (limits[i, 1] - tilt) / unmixing[i, 0])
    wrench[0] = min(max(wrench[0], least), most)
    fraction = 1.0
    for i in range(count):
        if unmixing[i, 3] == 0.0:  # it takes no part in yaw
            continue
        base = unmixing[i, 0] * wrench[0] + _tilt(unmixing, wrench, i)
        change = unmixing[i, 3] * wrench[3]
        fraction = min(fraction, _fraction(base, change, limits[i, 0], limits[i, 1]))
    wrench[3] *= fraction
    return True


@inlined
def _note(unmixing, count, thrust_of_all, roll, pitch, yaw, asked):
    """Widen ``asked``, (4,), of a vehicle by a command beyond its rotors."""
    asked[3] += 1.0
    asked[0] = max(asked[0], thrust_of_all)
    for i in range(count):
        thrust = (
            unmixing[i, 0] * thrust_of_all
            + unmixing[i, 1] * roll
            + unmixing[i, 2] * pitch
            + unmixing[i, 3] * yaw
        )
        asked[1] = max(asked[1], thrust)
        asked[2] = min(asked[2], thrust)


@kernel
def limit_wrenches(unmixing, counts, limits, wrenches, asked):
    """Limit the wrenches (n, 4) of n vehicles in place.

    Unmixing (n, most rotors, 4), limits (n, most rotors, 2) N; ``asked`` as of :class:`RotorLimits`. Returns how many
    were beyond.
    """
    beyond = 0
    for k in range(wrenches.shape[0]):
        wrench = wrenches[k]
        f, roll, pitch, yaw = wrench[0], wrench[1], wrench[2], wrench[3]
        if limit_wrench(unmixing[k], counts[k], limits[k], wrenches[k]):
            beyond += 1
            _note(unmixing[k], counts[k], f, roll, pitch, yaw, asked[k])
    return beyond
