"""Rotor level.

Which wrenches four rotors in a plane can give, and what happens to a command beyond them.

Equations (A.1), (A.2), (A.3), docs/theory/control.md. Roll and pitch moments go before collective thrust,
thrust before yaw: a vehicle that keeps its attitude keeps everything else within reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core._jit import kernel
from rotor_core.config.model import Rotors
from rotor_core.config.units import rad_s_from_rpm

THRUST_TOLERANCE = 1e-9
"""A rotor counts as within its limits up to this, N, so that a limited command passes unchanged a second time."""


@dataclass(frozen=True)
class RotorSet:
    """Rotors of one vehicle.

    Attributes:
        mixing: (4, 4), wrench (f, Mx, My, Mz) of unit rotor thrusts (A.1).
        unmixing: its inverse.
        thrust_limits: smallest and largest thrust of a rotor, (2,) N.
        thrust_per_speed2: N s^2/rad^2.
    """

    mixing: np.ndarray
    unmixing: np.ndarray
    thrust_limits: np.ndarray
    thrust_per_speed2: float

    def speeds(self, wrench: np.ndarray) -> np.ndarray:
        """Rotor speeds that give a wrench (4,), rad/s; negative thrusts give 0."""
        return np.sqrt(np.maximum(self.unmixing @ wrench, 0.0) / self.thrust_per_speed2)


def rotor_set(rotors: Rotors, *, thrust_gain: float = 1.0) -> RotorSet:
    """Mixing of a ``plus`` or ``x`` layout.

    Rotor 1 turns counter-clockwise, its drag torque acts about -z.
    """
    x, y, _ = rotors.hubs.T
    spin = np.array([1.0, -1.0, 1.0, -1.0])
    mixing = np.array([np.ones(4), y, -x, -spin * rotors.torque_per_thrust_m])
    coefficient = rotors.thrust_n_per_rpm2 / rad_s_from_rpm(1.0) ** 2
    limits = thrust_gain * rotors.thrust_n_per_rpm2 * np.array(rotors.speed_rpm) ** 2
    return RotorSet(mixing, np.linalg.inv(mixing), limits, thrust_gain * coefficient)


@kernel
def _fraction(base, change, low, high):
    """Largest fraction in 0..1 of ``change`` that keeps ``base + fraction * change`` between the limits."""
    if change > 0.0:
        return min(1.0, max(0.0, (high - base) / change))
    if change < 0.0:
        return min(1.0, max(0.0, (low - base) / change))
    return 1.0


@kernel
def limit_wrench(unmixing, low, high, wrench):
    """Bring a wrench (4,) within what rotors between ``low`` and ``high`` N can give, in place.

    True if it was beyond.

    Roll and pitch are scaled only if no collective thrust admits them; then the collective thrust
    moves as little as needed; yaw takes what is left (A.3).
    """
    within = True
    smallest, largest = 0.0, 0.0
    for i in range(4):
        tilt = unmixing[i, 1] * wrench[1] + unmixing[i, 2] * wrench[2]
        thrust = unmixing[i, 0] * wrench[0] + tilt + unmixing[i, 3] * wrench[3]
        if thrust < low - THRUST_TOLERANCE or thrust > high + THRUST_TOLERANCE:
            within = False
        smallest, largest = min(smallest, tilt), max(largest, tilt)
    if within:
        return False
    if largest - smallest > high - low:
        scale = (high - low) / (largest - smallest)
        wrench[1] *= scale
        wrench[2] *= scale
        smallest *= scale
        largest *= scale
    share = unmixing[0, 0]  # the same for all rotors of a planar layout
    wrench[0] = min(max(wrench[0], (low - smallest) / share), (high - largest) / share)
    fraction = 1.0
    for i in range(4):
        base = unmixing[i, 0] * wrench[0] + unmixing[i, 1] * wrench[1] + unmixing[i, 2] * wrench[2]
        fraction = min(fraction, _fraction(base, unmixing[i, 3] * wrench[3], low, high))
    wrench[3] *= fraction
    return True


@kernel
def limit_wrenches(unmixing, limits, wrenches):
    """Limit the wrenches (n, 4) of n vehicles in place.

    Unmixing (n, 4, 4), limits (n, 2) N. Returns how many were beyond.
    """
    beyond = 0
    for k in range(wrenches.shape[0]):
        if limit_wrench(unmixing[k], limits[k, 0], limits[k, 1], wrenches[k]):
            beyond += 1
    return beyond
