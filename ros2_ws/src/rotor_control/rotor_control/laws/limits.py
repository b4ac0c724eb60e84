"""Bounds inside the laws: tilt of a wanted force, and how far away a target may seem.

A far target would ask for more acceleration than the rotors have; seen at most at the error limit,
it is approached at the steady speed gain_position / gain_velocity times the limit instead.
"""

from __future__ import annotations

from math import sqrt

from rotor_core._jit import kernel
from rotor_core.math.vec3 import norm, scale

SMALLEST_FORCE = 1e-6
"""Below this a force has no direction, N; the vehicle then points up."""


@kernel
def clamp_norm(a, limit):
    """The vector ``a``, scaled down to length ``limit`` where it is longer."""
    length = norm(a)
    if length <= limit:
        return a
    return scale(limit / length, a)


@kernel
def limit_tilt(force, cos_max):
    """Shorten the horizontal part of a force until its angle from the vertical has at least the cosine ``cos_max``."""
    horizontal = sqrt(force[0] * force[0] + force[1] * force[1])
    vertical = force[2]
    length = sqrt(horizontal * horizontal + vertical * vertical)
    if length < SMALLEST_FORCE or vertical >= cos_max * length or cos_max <= -1.0:
        return force
    upward = max(vertical, SMALLEST_FORCE)
    sin_max = sqrt(max(0.0, 1.0 - cos_max * cos_max))
    ratio = 1.0
    if cos_max > 0.0 and horizontal > 0.0:
        ratio = min(1.0, upward * sin_max / (cos_max * horizontal))
    return force[0] * ratio, force[1] * ratio, upward
