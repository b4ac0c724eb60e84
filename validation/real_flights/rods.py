"""The simplest model of a team: point masses on rigid rods, thrust that acts at once. A yardstick for the simulator."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from rotor_recordings.crazyflies.grid import GRAVITY

STIFFNESS = 50.0
"""Rate at which a rod's length error decays (Baumgarte), 1/s: far above all motion, far below 1/STEP."""


def rod_motion(
    start: np.ndarray, forces: np.ndarray, masses: np.ndarray, lengths: np.ndarray, step: float
) -> np.ndarray:
    """Motion of vehicles and a payload joined by rods.

    ``M a = f - M g e_z + J^T lam`` with ``J a + J_dot v = -2 s J v - s^2 gap``; rods push and pull.

    Args:
        start: positions and velocities of n vehicles, then the payload, (n + 1, 6).
        forces: on the vehicles, held for a step each, (N, n, 3) N.
        masses: (n + 1,) kg.
        lengths: of the rods, (n,) m.
        step: s.

    Returns:
        Positions after every step, (N, n + 1, 3) m.
    """
    n = len(lengths)
    inverse = np.repeat(1.0 / masses, 3)

    def slope(_: float, y: np.ndarray, force: np.ndarray) -> np.ndarray:
        p, v = y[: 3 * n + 3].reshape(-1, 3), y[3 * n + 3 :]
        a = np.tile([0.0, 0.0, -GRAVITY], n + 1)
        a[: 3 * n] += force.ravel() * inverse[: 3 * n]
        jacobian, gaps, bend = np.zeros((n, 3 * n + 3)), np.zeros(n), np.zeros(n)
        for k in range(n):
            arm = p[k] - p[n]
            distance = float(np.linalg.norm(arm))
            u = arm / distance
            jacobian[k, 3 * k : 3 * k + 3], jacobian[k, 3 * n :] = u, -u
            rate = v[3 * k : 3 * k + 3] - v[3 * n :]
            gaps[k], bend[k] = distance - lengths[k], (rate @ rate - (u @ rate) ** 2) / distance
        wanted = -bend - 2.0 * STIFFNESS * (jacobian @ v) - STIFFNESS**2 * gaps
        multipliers = np.linalg.solve((jacobian * inverse) @ jacobian.T, wanted - jacobian @ a)
        return np.concatenate([v, a + inverse * (jacobian.T @ multipliers)])

    y = np.concatenate([start[:, :3].ravel(), start[:, 3:].ravel()])
    out = np.empty((len(forces), n + 1, 3))
    for i, force in enumerate(forces):
        y = solve_ivp(slope, (0.0, step), y, args=(force,), rtol=1e-6, atol=1e-8).y[:, -1]
        out[i] = y[: 3 * n + 3].reshape(-1, 3)
    return out
