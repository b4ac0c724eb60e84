"""Measured states of a team onto the spheres of its cables."""

from __future__ import annotations

from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, cross, dot, get3, norm, put3, scale, sub
from rotor_core.state import OMEGA, P, Q, V

TAUT_WITHIN = 1e-3
"""A measured cable this much shorter than it is, or longer by anything, is taken to be taut, m."""


@kernel
def fit_to_cables(states, ends, arms, lengths):
    """Put vehicles onto the spheres of their cables where these are taut, in place, and take their speed along away.

    Args:
        states: of the entities, (n, 13).
        ends: vehicle and payload of every cable, (n_cables, 2).
        arms: where it holds them, in their axes, (n_cables, 2, 3) m.
        lengths: m.
    """
    for k in range(lengths.shape[0]):
        vehicle, payload = states[ends[k, 0]], states[ends[k, 1]]
        R = so3.matrix(so3.get4(payload, Q))
        arm = apply(R, get3(arms[k, 1], 0))
        own = apply(so3.matrix(so3.get4(vehicle, Q)), get3(arms[k, 0], 0))
        end = add(get3(payload, P), arm)
        way = sub(add(get3(vehicle, P), own), end)
        distance = norm(way)
        if distance < lengths[k] - TAUT_WITHIN:
            continue
        way = scale(1.0 / distance, way)
        put3(vehicle, P, sub(add(end, scale(lengths[k], way)), own))
        moves = add(get3(payload, V), cross(apply(R, get3(payload, OMEGA)), arm))
        rate = dot(way, sub(get3(vehicle, V), moves))
        put3(vehicle, V, sub(get3(vehicle, V), scale(rate, way)))
