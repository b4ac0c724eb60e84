"""Closed forms of the RotorTM paper (Li, Sun, Loianno 2023).

Where the paper errs, the corrected form stands here; see docs/theory/rotortm_errata.md.
"""

from __future__ import annotations

import numpy as np


def point_mass_taut(
    m: float,
    m_L: float,
    l: float,
    xi: np.ndarray,
    xi_dot: np.ndarray,
    u: np.ndarray,
    g: float = 9.81,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Eqs 10, 11: accelerations of load and vehicle (3,), and the tension, N."""
    tension = m_L * (m * l * float(xi_dot @ xi_dot) - float(xi @ u)) / (m + m_L)
    down = np.array([0.0, 0.0, -g])
    return -tension * xi / m_L + down, (u + tension * xi) / m + down, tension


def point_mass_impact(
    m: float, m_L: float, xi: np.ndarray, v: np.ndarray, v_L: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Eq 34.

    Velocities of vehicle and load after the cable snaps taut (3,), and the impulse, N s.
    """
    common = xi @ (m * v + m_L * v_L) / (m + m_L)
    return v + (common - xi @ v) * xi, v_L + (common - xi @ v_L) * xi, float(m * (common - xi @ v))


def team_impact(
    masses: np.ndarray,
    m_L: float,
    J_L: np.ndarray,
    R_L: np.ndarray,
    rho: np.ndarray,
    xi: np.ndarray,
    v: np.ndarray,
    v_L: np.ndarray,
    Omega_L: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Eqs 40-43 for cables that all take an impulse.

    V+ of the vehicles (n, 3), v_L+, Omega_L+, impulses (n,).
    """
    J = np.zeros((6, 6))
    J[:3, :3], J[3:, 3:] = m_L * np.eye(3), J_L
    b = np.concatenate([m_L * v_L, J_L @ Omega_L])
    for k, m in enumerate(masses):
        G = np.concatenate([xi[k], np.cross(rho[k], R_L.T @ xi[k])])
        J += m * np.outer(G, G)
        b += m * G * (xi[k] @ v[k])
    after = np.linalg.solve(J, b)
    out, impulses = v.copy(), np.zeros(len(masses))
    for k, m in enumerate(masses):
        p_dot = after[:3] + R_L @ np.cross(after[3:], rho[k])
        jump = xi[k] @ p_dot - xi[k] @ v[k]
        out[k] += jump * xi[k]
        impulses[k] = m * jump
    return out, after[:3], after[3:], impulses
