"""Symmetric 3 x 3 matrices as six-tuples (xx, xy, xz, yy, yz, zz), and articulated inertias made of 3 x 3 blocks."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.math.vec3 import cross


@inlined
def get6(row, at):
    """Six numbers stored at ``row[at:at+6]``."""
    return row[at], row[at + 1], row[at + 2], row[at + 3], row[at + 4], row[at + 5]


@inlined
def put6(row, at, s):
    """Store six numbers at ``row[at:at+6]``."""
    row[at] = s[0]
    row[at + 1] = s[1]
    row[at + 2] = s[2]
    row[at + 3] = s[3]
    row[at + 4] = s[4]
    row[at + 5] = s[5]


@inlined
def add6(row, at, s):
    """Add six numbers to ``row[at:at+6]``."""
    row[at] += s[0]
    row[at + 1] += s[1]
    row[at + 2] += s[2]
    row[at + 3] += s[3]
    row[at + 4] += s[4]
    row[at + 5] += s[5]


@inlined
def add3(row, at, a):
    """Add a vector to ``row[at:at+3]``."""
    row[at] += a[0]
    row[at + 1] += a[1]
    row[at + 2] += a[2]


@inlined
def symmetric_apply(s, a):
    """Symmetric matrix times vector."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@inlined
def row(m, i):
    """Row i of a 3 x 3 matrix."""
    return m[3 * i], m[3 * i + 1], m[3 * i + 2]


@inlined
def turned_inertia(R, J):
    """R J R^T of a symmetric J given as nine numbers."""
    a0 = R[0] * J[0] + R[1] * J[3] + R[2] * J[6]
    a1 = R[0] * J[1] + R[1] * J[4] + R[2] * J[7]
    a2 = R[0] * J[2] + R[1] * J[5] + R[2] * J[8]
    b0 = R[3] * J[0] + R[4] * J[3] + R[5] * J[6]
    b1 = R[3] * J[1] + R[4] * J[4] + R[5] * J[7]
    b2 = R[3] * J[2] + R[4] * J[5] + R[5] * J[8]
    c0 = R[6] * J[0] + R[7] * J[3] + R[8] * J[6]
    c1 = R[6] * J[1] + R[7] * J[4] + R[8] * J[7]
    c2 = R[6] * J[2] + R[7] * J[5] + R[8] * J[8]
    return (
        a0 * R[0] + a1 * R[1] + a2 * R[2],
        a0 * R[3] + a1 * R[4] + a2 * R[5],
        a0 * R[6] + a1 * R[7] + a2 * R[8],
        b0 * R[3] + b1 * R[4] + b2 * R[5],
        b0 * R[6] + b1 * R[7] + b2 * R[8],
        c0 * R[6] + c1 * R[7] + c2 * R[8],
    )


@inlined
def symmetric_less(s, k, a):
    """S - k a a^T."""
    x, y, z = k * a[0], k * a[1], k * a[2]
    return (
        s[0] - x * a[0],
        s[1] - x * a[1],
        s[2] - x * a[2],
        s[3] - y * a[1],
        s[4] - y * a[2],
        s[5] - z * a[2],
    )


@inlined
def less(m, k, a, b):
    """M - k a b^T."""
    x, y, z = k * a[0], k * a[1], k * a[2]
    return (
        m[0] - x * b[0], m[1] - x * b[1], m[2] - x * b[2],
        m[3] - y * b[0], m[4] - y * b[1], m[5] - y * b[2],
        m[6] - z * b[0], m[7] - z * b[1], m[8] - z * b[2],
    )  # fmt: skip


@inlined
def symmetric_inverse(s):
    """Inverse of a symmetric matrix by cofactors."""
    xx = s[3] * s[5] - s[4] * s[4]
    xy = s[2] * s[4] - s[1] * s[5]
    xz = s[1] * s[4] - s[2] * s[3]
    k = 1.0 / (s[0] * xx + s[1] * xy + s[2] * xz)
    return (
        k * xx,
        k * xy,
        k * xz,
        k * (s[0] * s[5] - s[2] * s[2]),
        k * (s[1] * s[2] - s[0] * s[4]),
        k * (s[0] * s[3] - s[1] * s[1]),
    )


@inlined
def times_symmetric(m, s):
    """M S of a 3 x 3 matrix and a symmetric one."""
    x, y, z = (
        symmetric_apply(s, row(m, 0)),
        symmetric_apply(s, row(m, 1)),
        symmetric_apply(s, row(m, 2)),
    )
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@inlined
def shifted(turning, coupling, moving, r):
    """Articulated inertia about a point from which its own reference point is r away: X^T I X (T.6).

    Returns turning and coupling; what moves it without turning stays.
    """
    # [r]x M: its columns are r x (columns of the symmetric M)
    x = cross(r, (moving[0], moving[1], moving[2]))
    y = cross(r, (moving[1], moving[3], moving[4]))
    z = cross(r, (moving[2], moving[4], moving[5]))
    new = (
        coupling[0] + x[0], coupling[1] + y[0], coupling[2] + z[0],
        coupling[3] + x[1], coupling[4] + y[1], coupling[5] + z[1],
        coupling[6] + x[2], coupling[7] + y[2], coupling[8] + z[2],
    )  # fmt: skip
    a, b, c = cross(r, row(coupling, 0)), cross(r, row(coupling, 1)), cross(r, row(coupling, 2))
    d, e, f = cross(r, row(new, 0)), cross(r, row(new, 1)), cross(r, row(new, 2))
    return (
        turning[0] + a[0] + d[0],
        turning[1] + a[1] + e[0],
        turning[2] + a[2] + f[0],
        turning[3] + b[1] + e[1],
        turning[4] + b[2] + f[1],
        turning[5] + c[2] + f[2],
    ), new
