"""Accelerations and velocity jumps from one dense system, independent of the engine.

Maximal coordinates, NumPy only: stack mass matrix and cable Jacobian and solve for accelerations
and tensions together. The engine eliminates accelerations and works on A = D M^-1 D^T instead, so
agreement is agreement of two algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

ATTITUDE, VELOCITY, BODY_RATE, TWIST = slice(3, 7), slice(7, 10), slice(10, 13), slice(7, 13)
"""Columns of a state: position, attitude (w first), velocity, body rate."""


@dataclass(frozen=True)
class OracleBody:
    """Mass kg, inertia (3, 3) or None for a point mass."""

    mass: float
    inertia: np.ndarray | None


@dataclass(frozen=True)
class OracleCable:
    """Ends (body, point) a and b, and length m."""

    a: int
    r_a: np.ndarray
    b: int
    r_b: np.ndarray
    length: float


def rotation(q_wxyz: np.ndarray) -> np.ndarray:
    """Rotation matrix, (3, 3)."""
    w, x, y, z = q_wxyz
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def skew(v: np.ndarray) -> np.ndarray:
    """Matrix of the vector product, (3, 3)."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def mass_matrix(bodies: list[OracleBody]) -> np.ndarray:
    """(6 n, 6 n); a point mass gets a unit inertia that nothing acts on."""
    M = np.zeros((6 * len(bodies), 6 * len(bodies)))
    for i, body in enumerate(bodies):
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = (
            np.eye(3) if body.inertia is None else body.inertia
        )
    return M


def distance_rows(
    states: np.ndarray, cables: list[OracleCable]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gap, Jacobian of the distances with respect to (v, omega_B) of all bodies, and d_ddot at zero acceleration."""
    n = len(states)
    gaps, D, bias = np.zeros(len(cables)), np.zeros((len(cables), 6 * n)), np.zeros(len(cables))
    for k, c in enumerate(cables):
        ends = []
        for body, r in ((c.a, c.r_a), (c.b, c.r_b)):
            R, omega = rotation(states[body, ATTITUDE]), states[body, BODY_RATE]
            J = np.zeros((3, 6 * n))
            J[:, 6 * body : 6 * body + 3] = np.eye(3)
            J[:, 6 * body + 3 : 6 * body + 6] = -R @ skew(r)
            ends.append((states[body, 0:3] + R @ r, J, R @ np.cross(omega, np.cross(omega, r))))
        delta = ends[1][0] - ends[0][0]
        d = np.linalg.norm(delta)
        xi = delta / d
        u = states[:, TWIST].ravel()
        J = ends[1][1] - ends[0][1]
        rate = J @ u
        D[k] = xi @ J
        gaps[k] = d - c.length
        bias[k] = xi @ (ends[1][2] - ends[0][2]) + (rate @ rate - (xi @ rate) ** 2) / d
    return gaps, D, bias


def applied_forces(
    bodies: list[OracleBody], states: np.ndarray, wrenches: np.ndarray, gravity: float
) -> np.ndarray:
    """Generalised forces (6 n,): gravity, thrust and moment (n, 4), gyroscopic moment."""
    out = np.zeros(6 * len(bodies))
    for i, body in enumerate(bodies):
        R = rotation(states[i, ATTITUDE])
        out[6 * i : 6 * i + 3] = R[:, 2] * wrenches[i, 0] - [0.0, 0.0, body.mass * gravity]
        if body.inertia is not None:
            omega = states[i, BODY_RATE]
            out[6 * i + 3 : 6 * i + 6] = wrenches[i, 1:] - np.cross(omega, body.inertia @ omega)
    return out


def accelerations(
    bodies: list[OracleBody],
    cables: list[OracleCable],
    taut: np.ndarray,
    states: np.ndarray,
    wrenches: np.ndarray,
    gravity: float = 9.81,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accelerations (n, 6), tensions (n_cables,) and d_ddot of all cables; ``taut`` ones are held."""
    M, F = mass_matrix(bodies), applied_forces(bodies, states, wrenches, gravity)
    _, D, bias = distance_rows(states, cables)
    held = np.flatnonzero(taut)
    m = len(held)
    K = np.block([[M, D[held].T], [D[held], np.zeros((m, m))]])
    solution = np.linalg.solve(K, np.concatenate([F, -bias[held]]))
    tensions = np.zeros(len(cables))
    tensions[held] = solution[len(F) :]
    return solution[: len(F)].reshape(-1, 6), tensions, D @ solution[: len(F)] + bias


def kinetic_energy(bodies: list[OracleBody], states: np.ndarray) -> float:
    """Sum over bodies, J."""
    energy = 0.0
    for body, s in zip(bodies, states, strict=True):
        energy += 0.5 * body.mass * s[VELOCITY] @ s[VELOCITY]
        if body.inertia is not None:
            energy += 0.5 * s[BODY_RATE] @ body.inertia @ s[BODY_RATE]
    return float(energy)


def total_energy(bodies: list[OracleBody], states: np.ndarray, gravity: float = 9.81) -> float:
    """Kinetic and potential, J."""
    return kinetic_energy(bodies, states) + sum(
        b.mass * gravity * s[2] for b, s in zip(bodies, states, strict=True)
    )


def momenta(bodies: list[OracleBody], states: np.ndarray) -> np.ndarray:
    """Linear momentum and angular momentum about the origin, (6,)."""
    linear, angular = np.zeros(3), np.zeros(3)
    for body, s in zip(bodies, states, strict=True):
        linear += body.mass * s[VELOCITY]
        angular += np.cross(s[0:3], body.mass * s[VELOCITY])
        if body.inertia is not None:
            angular += rotation(s[ATTITUDE]) @ body.inertia @ s[BODY_RATE]
    return np.concatenate([linear, angular])
