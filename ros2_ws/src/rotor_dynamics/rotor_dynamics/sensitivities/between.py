"""Coordinates of states of free bodies about others: place, rotation vector, velocity, body rate (D.16)."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import get3, sub
from rotor_dynamics import memory


@inlined
def turn_between(a, b):
    """Rotation vector from the attitude of state b of a body to that of a, in its axes."""
    return so3.log(so3.product(so3.conjugate(so3.get4(b, memory.Q)), so3.get4(a, memory.Q)))


@inlined
def put_known(out, columns, first, vector):
    """Write three coordinates of a body from ``first`` on; those that it does not have are left out (-1)."""
    if columns[first] >= 0:
        out[columns[first]] = vector[0]
    if columns[first + 1] >= 0:
        out[columns[first + 1]] = vector[1]
    if columns[first + 2] >= 0:
        out[columns[first + 2]] = vector[2]


@kernel
def write_between(a, b, columns, out):
    """Write the coordinates of states a about b, (n_bodies, 13) each, into ``out``, (n,).

    Column of every coordinate of every body: ``columns``, (n_bodies, 12), -1 where it has none.
    """
    for body in range(a.shape[0]):
        now, then = a[body], b[body]
        put_known(out, columns[body], 0, sub(get3(now, memory.P), get3(then, memory.P)))
        put_known(out, columns[body], 3, turn_between(now, then))
        put_known(out, columns[body], 6, sub(get3(now, memory.V), get3(then, memory.V)))
        put_known(out, columns[body], 9, sub(get3(now, memory.OMEGA), get3(then, memory.OMEGA)))


@kernel
def write_slopes(a, b, columns, weight, out):
    """Write the derivatives of weighted coordinates of states a about b with those of a into ``out``, (n, n)."""
    for body in range(a.shape[0]):
        for axis in range(12):
            at = columns[body, axis]
            if at >= 0:
                out[at, at] = weight[at]
        if columns[body, 3] >= 0:
            theta = turn_between(a[body], b[body])
            for axis in range(3):
                unit = (
                    1.0 if axis == 0 else 0.0,
                    1.0 if axis == 1 else 0.0,
                    1.0 if axis == 2 else 0.0,
                )
                slope = so3.dexp_inverse_exact(theta, unit)  # (L.3)
                at = columns[body, 3 + axis]
                for i in range(3):
                    row = columns[body, 3 + i]
                    out[row, at] = weight[row] * slope[i]
