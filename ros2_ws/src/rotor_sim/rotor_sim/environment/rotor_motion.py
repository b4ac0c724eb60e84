"""Poses and motion of rotors, compiled: hubs, axes, speeds against the air, and the jets that leave them."""

from __future__ import annotations

from math import sqrt

from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, cross, dot, get3, put3, scale, sub
from rotor_core.state import OMEGA, P, Q, V


@kernel
def place_rotors(motion, bodies, hubs_B, axes_B, hubs, axes, speeds):
    """Places, axes and velocities of rotors in W, each (n, 3), written.

    Args:
        motion: of all bodies, (n_bodies, 19).
        bodies: that carry the rotors, (n,).
        hubs_B, axes_B: in the axes of the bodies, (n, 3).
        hubs, axes, speeds: written; m, unit vectors, m/s.
    """
    for k in range(bodies.shape[0]):
        s = motion[bodies[k]]
        R = so3.matrix(so3.get4(s, Q))
        hub = get3(hubs_B[k], 0)
        put3(hubs[k], 0, add(get3(s, P), apply(R, hub)))
        put3(axes[k], 0, apply(R, get3(axes_B[k], 0)))
        put3(speeds[k], 0, add(get3(s, V), apply(R, cross(get3(s, OMEGA), hub))))


@kernel
def split(speeds, air, axes, climbs, across):
    """Velocities against the air along the axes and across them, (n,) m/s each, written."""
    for k in range(speeds.shape[0]):
        against = sub(get3(speeds[k], 0), get3(air[k], 0))
        axis = get3(axes[k], 0)
        climbs[k] = dot(against, axis)
        aside = sub(against, scale(climbs[k], axis))
        across[k] = sqrt(dot(aside, aside))


@kernel
def make_jets(order, hubs, axes, speeds, air, radii, induced, jets):
    """Rows of :func:`rotor_sim.environment.wakes.wake_velocities` in the order given, written.

    A jet goes where its own speed and the air carry it, seen from its rotor (Q.4).
    """
    for row in range(order.shape[0]):
        k = order[row]
        axis = get3(axes[k], 0)
        against = sub(get3(speeds[k], 0), get3(air[k], 0))
        way = sub(scale(-2.0 * induced[k], axis), against)
        length = sqrt(dot(way, way))
        direction = scale(1.0 / length, way) if length > 0.0 else scale(-1.0, axis)
        put3(jets[row], 0, get3(hubs[k], 0))
        put3(jets[row], 3, direction)
        jets[row, 6], jets[row, 7] = radii[k], induced[k]
