"""Feedback noise on the manifold (RotorTM eqs 75, 76): what a controller sees, not what is."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.math import so3
from rotor_core.math.vec3 import get3
from rotor_core.state import OMEGA, P, Q, V

DIMENSION = 12
"""Normal numbers per body: position, velocity, rotation vector, body rate."""


@inlined
def add_noise(states, normal, deviations, out):
    """Write ``states`` with noise.

    Vectors get additive normals, attitudes q exp(sigma) with sigma in body axes.
    """
    for b in range(states.shape[0]):
        for i in range(states.shape[1]):
            out[b, i] = states[b, i]
        for i in range(3):
            out[b, P + i] += deviations[0] * normal[b, i]
            out[b, V + i] += deviations[1] * normal[b, 3 + i]
            out[b, OMEGA + i] += deviations[3] * normal[b, 9 + i]
        n = get3(normal[b], 6)
        sigma = (deviations[2] * n[0], deviations[2] * n[1], deviations[2] * n[2])
        so3.put4(out[b], Q, so3.normalized(so3.product(so3.get4(states[b], Q), so3.exp(sigma))))
