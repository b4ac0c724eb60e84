"""Forces of cables that keep vehicles apart: a plane between every two of them, and a quadratic program.

Each vehicle of a pair stays on its side of a plane through the payload, so what a cable pulls with points there too.
Among the forces that add up to the wanted one, those on their sides that are nearest to the planned ones are taken
(Wahba and Hönig, Efficient Optimization-Based Cable Force Allocation for Geometric Control of a Multirotor Team
Transporting a Payload, IEEE RA-L 9(4), 2024, arXiv:2304.02359). Equations (C.44)-(C.46), docs/theory/control.md.
"""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from math import cos, sin
from typing import Any

import numpy as np
import scipy

from rotor_core.errors import ContractError
from rotor_core.extras import explained
from rotor_core.kernels.jit import kernel
from rotor_core.math.vec3 import add, dot, get3, norm, put3, scale, sub

SOFTNESS = 1e-6
"""Compliance of the planes, over that of the forces: those that cannot all be kept give way, and the flight goes on."""

TOGETHER = 1e-6
"""Sine of the angle between two cables below which no plane tells them apart."""


@kernel
def plane_between(first, second, force, weight):
    """Normal of the plane through the payload between two vehicles, which points to the second; (C.44).

    Args:
        first, second: places from the payload, m.
        force: wanted on the payload, N; the plane leans towards it.
        weight: how much it does, 1/N^2.

    Returns:
        Unit vector; zero where both cables are in line.
    """
    leaning = weight / (1.0 + weight * dot(force, force))  # of the inverse of 1 + w F F^T
    a, b = dot(force, first), dot(force, second)
    # A n <= -1 with rows first, -second; M = A H^-1 A^T
    M_11 = dot(first, first) - leaning * a * a
    M_22 = dot(second, second) - leaning * b * b
    M_12 = leaning * a * b - dot(first, second)
    determinant = M_11 * M_22 - M_12 * M_12
    if determinant <= TOGETHER * TOGETHER * M_11 * M_22:
        return 0.0, 0.0, 0.0
    u, v = (M_22 - M_12) / determinant, (M_11 - M_12) / determinant
    if u < 0.0:  # the first bound is met by keeping the other
        u, v = 0.0, 1.0 / M_22
    elif v < 0.0:
        u, v = 1.0 / M_11, 0.0
    pushed = sub(scale(v, second), scale(u, first))
    n = sub(pushed, scale(leaning * dot(force, pushed), force))
    return scale(1.0 / norm(n), n)


@kernel
def tilted(normal, angle, side):
    """Normal of the plane of one vehicle, turned upwards by an angle; (C.45).

    ``side``: 1 for the first of a pair, -1 for the second. A vehicle is on its side where its normal has a negative
    product with its place.
    """
    up = sub((0.0, 0.0, 1.0), scale(normal[2], normal))
    size = norm(up)
    up = scale(sin(angle) / size, up) if size > TOGETHER else (0.0, 0.0, 0.0)
    return add(scale(side * cos(angle), normal), up)


@kernel
def planes_of_pairs(places, force, weight, angles, normals):
    """Write the normals of the planes of all pairs, of the first and of the second vehicle, into (2 pairs, 3).

    Args:
        places: of the vehicles from the payload, (n, 3) m.
        force, weight: as of :func:`plane_between`, (3,) N and 1/N^2.
        angles: at which the radius of each vehicle is seen from the payload, (n,).
        normals: written; zero for pairs that no plane tells apart.
    """
    row = 0
    for i in range(places.shape[0]):
        for j in range(i + 1, places.shape[0]):
            n = plane_between(get3(places[i], 0), get3(places[j], 0), get3(force, 0), weight)
            for own, side in ((i, 1.0), (j, -1.0)):
                there = (0.0, 0.0, 0.0)
                if dot(n, n) > 0.0:
                    there = tilted(n, angles[own], side)
                put3(normals[row], 0, there)
                row += 1


class CableProgram:
    """Shares a force among the cables of a team.

    Args:
        lengths: of the cables, (n,) m.
        radius: of the ball about each vehicle that stays on its side, m.
        lean: how much planes lean towards the wanted force, 1/N^2.
        plan: weight of the distance from the planned forces, over that of the forces themselves.
    """

    def __init__(self, lengths: np.ndarray, *, radius: float, lean: float, plan: float) -> None:
        n = len(lengths)
        self._lean, self._plan = lean, plan
        # seen at the end of the cable as the chord of an angle
        self._angles = 2.0 * np.arcsin(np.minimum(0.5 * radius / np.asarray(lengths), 1.0))
        owners = np.array([v for pair in combinations(range(n), 2) for v in pair], int)
        k = len(owners)
        self._normals = np.zeros((k, 3))
        weights = np.append(np.full(3 * n, 2.0 * (1.0 + plan)), np.full(k, 2.0 / SOFTNESS))
        self._P = scipy.sparse.diags(weights, format="csc")
        self._A, self._where = _bounds(n, owners)
        clarabel = _clarabel()
        self._settings = clarabel.DefaultSettings()
        self._settings.verbose = False
        self._settings.max_threads = 1
        self._cones = [clarabel.ZeroConeT(3), clarabel.NonnegativeConeT(2 * k)]

    def planes(self, places: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Normals of the planes of pair after pair of vehicles, (2 pairs, 3); see :func:`planes_of_pairs`."""
        planes_of_pairs(places, force, self._lean, self._angles, self._normals)
        return self._normals

    def share(self, force: np.ndarray, planned: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Forces of the cables on the payload, (n, 3) N; (C.46).

        Args:
            force: their sum, (3,) N.
            planned: forces that they should be near to, (n, 3) N.
            places: of the vehicles from the payload, (n, 3) m.

        Raises:
            ContractError: numbers that are not finite, or the program has no answer.
        """
        if not all(np.isfinite(a).all() for a in (force, planned, places)):
            raise ContractError(
                "controller: the program that shares the force among cables got numbers that are not finite."
            )
        n, size = len(planned), max(float(np.linalg.norm(force)), 1e-9)
        self._A.data[self._where] = self.planes(places, force)
        k = len(self._normals)
        b, q = np.zeros(3 + 2 * k), np.zeros(3 * n + k)
        b[:3] = force / size
        q[: 3 * n] = -2.0 * self._plan / size * planned.ravel()
        clarabel = _clarabel()
        solver = clarabel.DefaultSolver(self._P, q, self._A, b, self._cones, self._settings)
        solution, status = solver.solve(), clarabel.SolverStatus
        if solution.status not in (status.Solved, status.AlmostSolved):
            raise ContractError(
                f"controller: the program that shares the force {np.round(force, 4).tolist()} N among cables ended "
                f"with {solution.status}."
            )
        return size * np.array(solution.x[: 3 * n]).reshape(n, 3)


def _clarabel() -> Any:
    """The solver, which only laws with planes need; it is compiled, so its names are unknown to checkers."""
    with explained():
        return import_module("clarabel")


def _bounds(n: int, owners: np.ndarray) -> tuple[scipy.sparse.csc_matrix, np.ndarray]:
    """Rows of the program, and where in their data the normals of the planes (k, 3) stand.

    Sums of the forces; what a plane forbids less how much it gives way; that it does not give way backwards.
    ``owners``: vehicles of the planes, (k,).
    """
    k = len(owners)
    A = np.block(
        [
            [np.tile(np.eye(3), n), np.zeros((3, k))],
            [np.zeros((k, 3 * n)), -np.eye(k)],
            [np.zeros((k, 3 * n)), -np.eye(k)],
        ]
    )
    columns = 3 * owners[:, None] + np.arange(3)
    A[3 + np.arange(k)[:, None], columns] = np.nan  # entries of the normals, whatever they are
    sparse_A = scipy.sparse.csc_matrix(A)
    where = np.zeros((k, 3), int)
    for row in range(k):
        for axis in range(3):
            first, end = (
                sparse_A.indptr[columns[row, axis]],
                sparse_A.indptr[columns[row, axis] + 1],
            )
            where[row, axis] = first + np.searchsorted(sparse_A.indices[first:end], 3 + row)
    return sparse_A, where
