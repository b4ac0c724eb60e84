"""Bounds inside the laws: tilt of a wanted force, and how far away a target may seem.

A far target would ask for more acceleration than the rotors have; seen at most at the error limit,
it is approached at the steady speed gain_position / gain_velocity times the limit instead.
"""

from __future__ import annotations

from math import sqrt

from rotor_core.kernels.jit import kernel
from rotor_core.math.vec3 import norm, scale

LEAST_LIFT = 0.5
"""Where less upward specific force is wanted, or a downward one, a vehicle leans as if it were this much, m/s^2.

Without it a millimetre to one side would lean a vehicle as far as it may, once it should fall.
"""


@kernel
def clamp_norm(a, limit):
    """The vector ``a``, scaled down to length ``limit`` where it is longer."""
    length = norm(a)
    if length <= limit:
        return a
    return scale(limit / length, a)


@kernel
def limit_tilt(force, cos_max, mass):
    """Shorten the horizontal part of a force until its angle from the vertical has at least the cosine ``cos_max``.

    Its vertical part is at least :data:`LEAST_LIFT` times ``mass`` (kg), unless the vehicle may turn over.
    """
    horizontal = sqrt(force[0] * force[0] + force[1] * force[1])
    length = sqrt(horizontal * horizontal + force[2] * force[2])
    least = LEAST_LIFT * mass
    if force[2] >= cos_max * length and (force[2] >= least or cos_max <= 0.0):
        return force
    upward = max(force[2], least)
    ratio = 1.0
    if cos_max > 0.0 and horizontal > 0.0:
        sin_max = sqrt(max(0.0, 1.0 - cos_max * cos_max))
        ratio = min(1.0, upward * sin_max / (cos_max * horizontal))
    return force[0] * ratio, force[1] * ratio, upward
