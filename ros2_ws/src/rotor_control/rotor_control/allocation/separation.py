"""Forces of cables that keep vehicles apart: a plane between every two of them, and a quadratic program.

Each vehicle of a pair stays on its side of a plane through the payload, so what a cable pulls with points there too.
Among the forces that add up to the wanted one, those on their sides that are nearest to the planned ones are taken
(Wahba and Hönig, Efficient Optimization-Based Cable Force Allocation for Geometric Control of a Multirotor Team
Transporting a Payload, IEEE RA-L 9(4), 2024, arXiv:2304.02359). Equations (C.44)-(C.46), docs/theory/control.md.
"""

from __future__ import annotations

from itertools import combinations

import clarabel
import numpy as np
from scipy import sparse

from rotor_core.errors import ContractError

SOFTNESS = 1e-6
"""Compliance of the planes, over that of the forces: those that cannot all be kept give way, and the flight goes on."""

TOGETHER = 1e-6
"""Sine of the angle between two cables below which no plane tells them apart."""

DONE = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)


def plane_between(
    first: np.ndarray, second: np.ndarray, force: np.ndarray, weight: float
) -> np.ndarray | None:
    """Unit normal of the plane through the payload between two vehicles, which points to the second; (C.44).

    Args:
        first, second: places from the payload, (3,) m.
        force: wanted on the payload, (3,) N; the plane leans towards it.
        weight: how much it does, 1/N^2.

    Returns:
        (3,); None where both cables are in line.
    """
    H_inverse = np.linalg.inv(np.eye(3) + weight * np.outer(force, force))
    sides = np.stack([first, -second])  # sides n <= -1
    M = sides @ H_inverse @ sides.T
    if np.linalg.det(M) <= TOGETHER**2 * M[0, 0] * M[1, 1]:
        return None
    multipliers = np.linalg.solve(M, np.ones(2))
    if multipliers.min() < 0.0:  # one bound is met by keeping the other
        k = int(multipliers.argmax())
        multipliers = np.zeros(2)
        multipliers[k] = 1.0 / M[k, k]
    n = -H_inverse @ sides.T @ multipliers
    return n / np.linalg.norm(n)


def tilted(normal: np.ndarray, angles: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Normals of the planes of both vehicles, turned upwards by the angles at which they are seen; (C.45).

    A vehicle is on its side where its own normal has a negative product with its place.
    """
    up = np.array([0.0, 0.0, 1.0]) - normal[2] * normal
    size = np.linalg.norm(up)
    up = up / size if size > TOGETHER else np.zeros(3)
    (c1, s1), (c2, s2) = ((np.cos(a), np.sin(a)) for a in angles)
    return c1 * normal + s1 * up, -c2 * normal + s2 * up


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
        self._pairs = list(combinations(range(n), 2))
        k = 2 * len(self._pairs)
        weights = np.append(np.full(3 * n, 2.0 * (1.0 + plan)), np.full(k, 2.0 / SOFTNESS))
        self._P = sparse.diags(weights, format="csc")
        self._settings = clarabel.DefaultSettings()
        self._settings.verbose = False
        self._settings.max_threads = 1
        self._cones = [clarabel.ZeroConeT(3), clarabel.NonnegativeConeT(2 * k)]

    def planes(self, places: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Rows (2 pairs, 3 n) whose products with the forces of all cables must not be positive.

        Args:
            places: of the vehicles from the payload, (n, 3) m.
            force: wanted on the payload, (3,) N.
        """
        rows = np.zeros((2 * len(self._pairs), 3 * len(places)))
        for p, (i, j) in enumerate(self._pairs):
            normal = plane_between(places[i], places[j], force, self._lean)
            if normal is not None:
                normals = tilted(normal, (self._angles[i], self._angles[j]))
                for row, k, own in zip((2 * p, 2 * p + 1), (i, j), normals, strict=True):
                    rows[row, 3 * k : 3 * k + 3] = own
        return rows

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
        n, scale = len(planned), max(float(np.linalg.norm(force)), 1e-9)
        rows = self.planes(places, force)
        k = len(rows)
        A = np.block(
            [
                [np.tile(np.eye(3), n), np.zeros((3, k))],
                [rows, -np.eye(k)],
                [np.zeros((k, 3 * n)), -np.eye(k)],
            ]
        )
        b = np.append(force / scale, np.zeros(2 * k))
        q = np.append(-2.0 * self._plan / scale * planned.ravel(), np.zeros(k))
        solution = clarabel.DefaultSolver(
            self._P, q, sparse.csc_matrix(A), b, self._cones, self._settings
        ).solve()
        if solution.status not in DONE:
            raise ContractError(
                f"controller: the program that shares the force {np.round(force, 4).tolist()} N among cables ended "
                f"with {solution.status}."
            )
        return scale * np.array(solution.x[: 3 * n]).reshape(n, 3)
