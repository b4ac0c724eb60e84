"""Axes of autopilots, north-east-down and forward-right-down, and ours, east-north-up and forward-left-up."""

from __future__ import annotations

from math import sqrt

import numpy as np
from transforms3d.quaternions import qmult

from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import apply_transposed, get3, put3
from rotor_core.state import OMEGA, A, P, Q, V
from rotor_sim.sensing.inertial import mean_force

HALF = sqrt(0.5)

NED_FROM_ENU = np.array([0.0, HALF, HALF, 0.0])
"""Half a turn about the axis between east and north; it is its own inverse."""

FRD_FROM_FLU = np.array([0.0, 1.0, 0.0, 0.0])
"""Half a turn about the forward axis; it is its own inverse."""

SEEN = 16
"""Numbers of a row of :func:`write_seen`."""

ACCELERATION, RATE, PLACE, VELOCITY = (slice(3 * i, 3 * i + 3) for i in range(4))
ATTITUDE = slice(12, SEEN)
"""Parts of such a row."""


def swap_world(v: np.ndarray) -> np.ndarray:
    """East, north, up from north, east, down, (3,); and the other way."""
    return np.array([v[1], v[0], -v[2]])


def swap_body(v: np.ndarray) -> np.ndarray:
    """Forward, left, up from forward, right, down, (3,); and the other way."""
    return np.array([v[0], -v[1], -v[2]])


def swap_attitude(q: np.ndarray) -> np.ndarray:
    """Attitude (w first, w >= 0) of forward-left-up in east-north-up from that of an autopilot; and the other way."""
    out = qmult(qmult(NED_FROM_ENU, q), FRD_FROM_FLU)
    return out if out[0] >= 0.0 else -out


def swap_yaw(yaw: float) -> float:
    """Heading from east, counter-clockwise, from that from north, clockwise, rad; and the other way."""
    return float(np.remainder(0.5 * np.pi - yaw + np.pi, 2.0 * np.pi) - np.pi)


@kernel
def write_seen(before, states, since, rows, gravity, out):
    """Write how autopilots see vehicles: specific force, body rate, place, velocity, attitude.

    Args:
        before: the states ``since`` s ago, over which the specific force is the mean, so that snaps and impacts are
            felt; with a ``since`` of 0 it is that of the instant.
        states: (N, 19), position, attitude, velocity, body rate, accelerations, in our axes.
        rows: of the vehicles, (n,).
        gravity: m/s^2, down.
        out: (n, 16): m/s^2 and rad/s in forward-right-down, m and m/s in north-east-down, quaternion (w first,
            w >= 0) between these; written.
    """
    for k in range(rows.shape[0]):
        state, seen = states[rows[k]], out[k]
        q, a, w = so3.get4(state, Q), get3(state, A), get3(state, OMEGA)
        f = apply_transposed(so3.matrix(q), (a[0], a[1], a[2] + gravity))
        if since > 0.0:
            f = mean_force(before[rows[k]], state, since, gravity)
        put3(seen, 0, (f[0], -f[1], -f[2]))
        put3(seen, 3, (w[0], -w[1], -w[2]))
        p, v = get3(state, P), get3(state, V)
        put3(seen, 6, (p[1], p[0], -p[2]))
        put3(seen, 9, (v[1], v[0], -v[2]))
        turned = so3.product(so3.product((0.0, HALF, HALF, 0.0), q), (0.0, 1.0, 0.0, 0.0))
        sign = 1.0 if turned[0] >= 0.0 else -1.0
        so3.put4(seen, 12, (sign * turned[0], sign * turned[1], sign * turned[2], sign * turned[3]))
