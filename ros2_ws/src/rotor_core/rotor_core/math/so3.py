"""Rotations as unit quaternions (Hamilton, w first, body to world) for compiled kernels.

Equations (L.n) are numbered in docs/theory/rotations.md. A quaternion is the tuple ``(w, x, y,
z)``.
"""

from __future__ import annotations

from math import atan2, sqrt

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.several import pair, put_pair
from rotor_core.math.small_angle import cos_sinc, cot_defect
from rotor_core.math.vec3 import add, apply, cross, dot, scale

IDENTITY = (1.0, 0.0, 0.0, 0.0)


@inlined
def get4(row, at):
    """Quaternion stored at ``row[at:at+4]``."""
    return pair(row, at) + pair(row, at + 2)


@inlined
def put4(row, at, q):
    """Store a quaternion at ``row[at:at+4]``."""
    put_pair(row, at, q[0], q[1])
    put_pair(row, at + 2, q[2], q[3])


@inlined
def matrix(q):
    """Rotation matrix R_WB of a unit quaternion q_WB, row by row (L.1)."""
    w, x, y, z = q
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@inlined
def product(a, b):
    """Hamilton product: first b, then a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inlined
def normalized(q):
    """Quaternion scaled to unit length."""
    s = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return s * q[0], s * q[1], s * q[2], s * q[3]


@inlined
def renormalized(q):
    """A quaternion that misses unit length by rounding only, without that error: one Newton step, no root."""
    s = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return s * q[0], s * q[1], s * q[2], s * q[3]


@inlined
def exp(theta):
    """Unit quaternion of the rotation vector theta, rad (L.2)."""
    return exp_of_half(scale(0.5, theta))


@inlined
def exp_of_half(half):
    """:func:`exp` of twice the vector ``half``: for callers that can halve a factor that they have at hand."""
    c, k = cos_sinc(dot(half, half))
    return c, k * half[0], k * half[1], k * half[2]


@inlined
def turned(q, half):
    """``q exp(2 half)``: attitude q, then the rotation vector of twice ``half`` in its axes (L.2).

    The product with ``half`` does not wait for its cosine and sine.
    """
    c, k = cos_sinc(dot(half, half))
    w, v = q[0], (q[1], q[2], q[3])
    x, y, z = add(cross(v, half), scale(w, half))
    # zeros say which product is rounded: of two, one compiled copy of a kernel would contract this, one that
    return (
        0.0 + c * w - k * dot(v, half),
        0.0 + c * v[0] + k * x,
        0.0 + c * v[1] + k * y,
        0.0 + c * v[2] + k * z,
    )


@inlined
def conjugate(q):
    """The inverse rotation of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


@inlined
def log(q):
    """Rotation vector of a unit quaternion, rad, of at most half a turn: the inverse of :func:`exp` (L.2)."""
    sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    factor = 2.0
    if sine > 0.0:
        factor = 2.0 * atan2(sine, abs(q[0])) / sine
    if q[0] < 0.0:
        factor = -factor
    return factor * q[1], factor * q[2], factor * q[3]


@inlined
def dexp_inverse(theta, omega_B):
    """Rate of theta in q = q0 exp(theta) when the body rate is omega_B, to fourth order in theta (L.3).

    The next term of the series has degree four in theta, so a method of order four loses nothing.
    """
    bracket = cross(theta, omega_B)
    return add(add(omega_B, scale(0.5, bracket)), scale(1.0 / 12.0, cross(theta, bracket)))


@inlined
def dexp_inverse_exact(theta, omega_B):
    """:func:`dexp_inverse` in closed form, for methods of higher order (L.3), angles below 2 pi."""
    bracket = cross(theta, omega_B)
    factor = cot_defect(0.25 * dot(theta, theta))
    return add(omega_B, add(scale(0.5, bracket), scale(factor, cross(theta, bracket))))


@inlined
def transported(theta, omega_B):
    """Body components at q0 of the tangent vector omega_B at q0 exp(theta), carried back along the geodesic (L.4).

    A rotation by half of theta. Source: Fiori 2019, eq 118.
    """
    return apply(matrix(exp(scale(0.5, theta))), omega_B)
