"""Three-vectors and 3 x 3 matrices as tuples, for compiled kernels.

A vector is ``(x, y, z)``, a matrix its nine entries row by row. Tuples live in registers: nothing
is allocated, and the formulas read as in a textbook. Outside kernels use NumPy.
"""

from __future__ import annotations

from math import sqrt

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.several import pair, put_pair


@inlined
def get3(row, at):
    """Vector stored at ``row[at:at+3]``."""
    x, y = pair(row, at)
    return x, y, row[at + 2]


@inlined
def put3(row, at, a):
    """Store a vector at ``row[at:at+3]``."""
    put_pair(row, at, a[0], a[1])
    row[at + 2] = a[2]


@inlined
def get9(row, at):
    """Matrix stored at ``row[at:at+9]``, row by row."""
    return (
        pair(row, at) + pair(row, at + 2) + pair(row, at + 4) + pair(row, at + 6) + (row[at + 8],)
    )


@inlined
def put9(row, at, m):
    """Store a matrix at ``row[at:at+9]``, row by row."""
    put_pair(row, at, m[0], m[1])
    put_pair(row, at + 2, m[2], m[3])
    put_pair(row, at + 4, m[4], m[5])
    put_pair(row, at + 6, m[6], m[7])
    row[at + 8] = m[8]


@inlined
def dot(a, b):
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def add(a, b):
    """Sum of two vectors."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def sub(a, b):
    """Difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scale(s, a):
    """Vector times scalar."""
    return s * a[0], s * a[1], s * a[2]


@inlined
def times(a, b):
    """Componentwise product (a diagonal matrix times a vector)."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@inlined
def norm(a):
    """Euclidean length."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@inlined
def apply(m, a):
    """Matrix times vector."""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


@inlined
def apply_transposed(m, a):
    """Transposed matrix times vector."""
    return (
        m[0] * a[0] + m[3] * a[1] + m[6] * a[2],
        m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
        m[2] * a[0] + m[5] * a[1] + m[8] * a[2],
    )


@inlined
def columns(a, b, c):
    """Matrix with the columns a, b, c."""
    return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]


@inlined
def column(m, j):
    """Column ``j`` of a matrix."""
    return m[j], m[3 + j], m[6 + j]


@inlined
def product(m, n):
    """``m n`` of two matrices."""
    return columns(
        apply(m, (n[0], n[3], n[6])),
        apply(m, (n[1], n[4], n[7])),
        apply(m, (n[2], n[5], n[8])),
    )


@inlined
def transposed_product(m, n):
    """``m^T n`` of two matrices."""
    return columns(
        apply_transposed(m, (n[0], n[3], n[6])),
        apply_transposed(m, (n[1], n[4], n[7])),
        apply_transposed(m, (n[2], n[5], n[8])),
    )
