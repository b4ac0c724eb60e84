"""Rotations of many bodies at once, outside kernels.

SciPy's `Rotation` does the same at ten times the cost of a call for the few bodies of a team, and these are asked for
several times in every control period of a node.
"""

from __future__ import annotations

import numpy as np

from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import apply_transposed, get3, put3, put9


@kernel
def _fill_matrices(q, out):
    """Rotation matrices of quaternions (n, 4), row by row, into ``out`` (n, 9)."""
    for i in range(q.shape[0]):
        put9(out[i], 0, so3.matrix(so3.normalized(so3.get4(q[i], 0))))


@kernel
def _fill_body_axes(q, v_W, out):
    """Vectors (n, 3) of W in the axes of bodies with attitudes ``q`` (n, 4), into ``out`` (n, 3)."""
    for i in range(q.shape[0]):
        R = so3.matrix(so3.normalized(so3.get4(q[i], 0)))
        put3(out[i], 0, apply_transposed(R, get3(v_W[i], 0)))


def _rows(given: np.ndarray) -> np.ndarray:
    """As kernels take them: one type, whatever the caller's rows are cut from."""
    return np.ascontiguousarray(given, np.float64)


def rotation_matrices(q: np.ndarray) -> np.ndarray:
    """R_WB (n, 3, 3) of quaternions q_WB (n, 4), w first, which are normalized."""
    out = np.empty((len(q), 9))
    _fill_matrices(_rows(q), out)
    return out.reshape(-1, 3, 3)


def body_axes(q: np.ndarray, v_W: np.ndarray) -> np.ndarray:
    """Vectors v_W (n, 3) in the axes of bodies with attitudes q_WB (n, 4): R_WB^T v_W, (n, 3)."""
    out = np.empty((len(q), 3))
    _fill_body_axes(_rows(q), _rows(v_W), out)
    return out


def cross_matrix(v: np.ndarray) -> np.ndarray:
    """The matrices [v]x with ``[v]x u = v x u``, (..., 3, 3), of vectors (..., 3)."""
    return np.cross(np.eye(3), np.asarray(v)[..., None, :])


def rotation_to(direction: np.ndarray) -> np.ndarray:
    """The shortest rotation that takes z to a direction (3,) of any length, w first, (4,)."""
    x, y, z = direction / max(float(np.linalg.norm(direction)), 1e-12)
    if z < -1.0 + 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1.0 + z, -y, x, 0.0])
    return q / np.linalg.norm(q)
