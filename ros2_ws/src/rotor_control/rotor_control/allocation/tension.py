"""Tension distribution: the wrench on a payload shared among its cables.

The shares are the pseudo-inverse's plus internal forces, which cancel on the payload. Internal
forces lean cables outwards, which keeps vehicles apart, and keep every cable taut: the smallest
change in the null space with a least tension along the leaning direction of each, a quadratic
programme whose dual is a linear complementarity problem. Equations (C.12), (C.23)-(C.25),
docs/theory/control.md.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from rotor_core.kernels.jit import kernel
from rotor_core.kernels.link import FLOATS, ROWS, WHOLE_ROWS, together
from rotor_core.math.complementarity import solve_complementarity
from rotor_core.math.vec3 import apply, dot, get3, put3

RANK = 1e-9
"""Singular values below this fraction of the largest count as zero: P P^T has rank 5 for two vehicles (E-P7)."""

SOFTNESS = 1e-6
"""Compliance of the bounds: one that no internal force can meet gives way instead of ending everything."""

STEEPEST = 1.0
"""Largest internal force for a bound, in weights per cable: it leans a cable by 45 degrees at most."""


def grasp_matrix(points: np.ndarray) -> np.ndarray:
    """P: force and moment about the payload from forces at ``points`` (n, 3), in payload axes, (6, 3 n)."""
    hats = [np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]) for r in points]
    return np.vstack([np.tile(np.eye(3), len(points)), np.hstack(hats)])


class Tension:
    """Distribution of wrenches among the cables of a team.

    Args:
        points: attachment points in the payload frame, (n, 3) m.
        weight: of the payload, N.
        least: smallest tension, N; None: the paper's rule, no cable pushes down.
        spread: angle by which cables lean outwards at rest, rad.
        outward: where to, horizontal unit vectors (n, 3); None: away from the middle of the points.
    """

    def __init__(
        self,
        points: np.ndarray,
        weight: float,
        *,
        least: float | None = None,
        spread: float = 0.0,
        outward: np.ndarray | None = None,
    ) -> None:
        n = len(points)
        P = grasp_matrix(points)
        self.inverse = np.ascontiguousarray(np.linalg.pinv(P, rcond=RANK))
        N = np.eye(3 * n) - self.inverse @ P
        if outward is None:
            outward = (points - points.mean(axis=0)) * np.array([1.0, 1.0, 0.0])
        outward = np.asarray(outward)
        sizes = np.linalg.norm(outward, axis=1, keepdims=True)
        outward = np.divide(outward, sizes, out=np.zeros_like(outward), where=sizes > 0.0)
        self.internal = N @ (np.tan(spread) * weight / n * outward).ravel()
        """Forces that lean the cables, (3 n,) N; they may be changed in place."""
        lean = outward * np.sin(spread) + [0.0, 0.0, np.cos(spread)]
        C = np.zeros((n, 3 * n))
        for k in range(n):
            C[k, 3 * k : 3 * k + 3] = lean[k]
        A = C @ N @ C.T + SOFTNESS * np.eye(n)
        # the bound (negative: none), and the largest internal force for it
        bound = np.array([-1.0 if least is None else least, STEEPEST * weight / n])
        self.packed = (
            self.inverse,
            self.internal,
            np.ascontiguousarray(lean),
            np.ascontiguousarray(N @ C.T),
            np.ascontiguousarray(A),
            bound,
            np.zeros((6 + 2 * n, n)),
            np.zeros((4, n), np.int64),
        )
        """Input of :func:`distribute`, and its scratch arrays."""

    def at_rest(self, weight: float) -> np.ndarray:
        """Tensions along the leaning directions while a level payload rests, (n,) N."""
        inverse, internal, lean, *_ = self.packed
        shares = inverse @ np.array([0.0, 0.0, weight, 0.0, 0.0, 0.0]) + internal
        return (shares.reshape(-1, 3) * lean).sum(axis=1)


TENSION = together(ROWS, FLOATS, ROWS, ROWS, ROWS, FLOATS, ROWS, WHOLE_ROWS)
"""Type of ``Tension.packed``."""


@kernel
def distribute(F, M, R, tension, mu):
    """Write the force of every cable on the payload, in W, (n, 3).

    Args:
        F: force on the payload in W; M: moment in payload axes.
        R: attitude of the payload, nine entries.
        tension: ``Tension.packed``.
        mu: written.
    """
    inverse, internal, lean, coupling, A, bound, scratch, integers = tension
    n = mu.shape[0]
    f0 = R[0] * F[0] + R[3] * F[1] + R[6] * F[2]
    f1 = R[1] * F[0] + R[4] * F[1] + R[7] * F[2]
    f2 = R[2] * F[0] + R[5] * F[1] + R[8] * F[2]
    for k in range(n):
        for i in range(3):
            row = inverse[3 * k + i]
            wrench = row[0] * f0 + row[1] * f1 + row[2] * f2
            wrench += row[3] * M[0] + row[4] * M[1] + row[5] * M[2]
            mu[k, i] = wrench + internal[3 * k + i]
    bounded = bound[0] >= 0.0
    if bounded:
        short = False
        b, z, w = scratch[0], scratch[1], scratch[2]
        for k in range(n):
            b[k] = bound[0] - dot(get3(lean[k], 0), get3(mu[k], 0))
            short = short or b[k] > 0.0
        if short:  # (C.24), (C.25)
            block, L, vectors = scratch[6 : 6 + n], scratch[6 + n : 6 + 2 * n], scratch[3:6]
            code = solve_complementarity(
                A, b, n, z, w, integers[0], integers[1], integers[2], integers[3], block, L, vectors
            )
            bounded = code >= 0
            if bounded:
                push_apart(coupling, z, bound[1], mu)
    for k in range(n):
        share = apply(R, get3(mu[k], 0))
        put3(mu[k], 0, (share[0], share[1], max(share[2], 0.0)))


@kernel
def push_apart(coupling, z, largest, mu):
    """Add the internal forces of multipliers z, all made smaller alike where one would be too large."""
    n = mu.shape[0]
    most = 0.0
    for k in range(n):
        size = 0.0
        for i in range(3):
            size += internal_force(coupling, z, 3 * k + i) ** 2
        most = max(most, size)
    share = 1.0
    if most > largest * largest:
        share = largest / sqrt(most)
    for k in range(n):
        for i in range(3):
            mu[k, i] += share * internal_force(coupling, z, 3 * k + i)


@kernel
def internal_force(coupling, z, row):
    """One component of the internal forces."""
    value = 0.0
    for j in range(z.shape[0]):
        value += coupling[row, j] * z[j]
    return value
