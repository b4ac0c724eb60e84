"""A corridor about the straight lines between waypoints: linear inequalities and a quadratic programme.

RotorTM section 5 (after eq 60): at n_c times inside every segment each component of the distance
from the line stays within the width. Equation (P.12). Solver: Clarabel (interior point, the same
answer at every call).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy

from rotor_core.errors import ContractError
from rotor_core.extras import explained

TOLERANCE = 1e-9
"""Of the solver, relative."""

HELD = 1e-3
"""The corridor may be left by this fraction of its width: what the solver calls solved."""

FLAT = 1e-14
"""Curvatures of the cost below this fraction of the largest are rounding."""


@dataclass(frozen=True)
class Corridor:
    """Half width in m, and at how many equally spaced times inside each segment it is checked."""

    width: float
    checks: int = 10

    def __post_init__(self) -> None:
        if not (0.0 < self.width < np.inf and self.checks >= 1):
            raise ContractError(
                f"corridor: needs a width above 0 m and at least one check, got {self.width:g} and {self.checks}."
            )


def corridor_rows(
    points: np.ndarray, degree: int, corridor: Corridor
) -> tuple[np.ndarray, np.ndarray]:
    """Distance from the lines at all checks, as ``rows @ coefficients - offsets``.

    Args:
        points: (m + 1, d), m.
        degree: of the polynomials.
        corridor: for its checks.

    Returns:
        rows (m checks d, d m (degree + 1)) for coefficients axis by axis, offsets (m checks d,).
    """
    m, d, n = len(points) - 1, points.shape[1], degree + 1
    times = np.arange(1, corridor.checks + 1) / (corridor.checks + 1)
    powers = times[:, None] ** np.arange(n)
    rows = np.zeros((m, corridor.checks, d, d, m, n))
    offsets = np.zeros((m, corridor.checks, d))
    for i in range(m):
        along = points[i + 1] - points[i]
        length = np.linalg.norm(along)
        across = np.eye(d) if length == 0.0 else np.eye(d) - np.outer(along, along) / length**2
        rows[i, :, :, :, i] = across[None, :, :, None] * powers[:, None, None, :]
        offsets[i] = across @ points[i]
    return rows.reshape(m * corridor.checks * d, d * m * n), offsets.ravel()


def in_corridor(
    points: np.ndarray, degree: int, corridor: Corridor
) -> tuple[np.ndarray, np.ndarray]:
    """A corridor as ``rows c <= limits`` for :func:`constrained`; arguments of :func:`corridor_rows`."""
    rows, offsets = corridor_rows(points, degree, corridor)
    return np.vstack([rows, -rows]), np.concatenate(
        [corridor.width + offsets, corridor.width - offsets]
    )


def constrained(
    particular: np.ndarray,
    Z: np.ndarray,
    H: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """The best ``particular + Z y`` with ``rows c <= limits``: least ``c^T H c`` of all axes together.

    Args:
        particular: coefficients that meet the equalities, (p, d).
        Z: their freedom, (p, f).
        H: cost, (p, p).
        rows: (k, d p), for coefficients axis by axis.
        limits: (k,).
        tolerance: by which a limit may be missed.

    Raises:
        ContractError: nothing fits.
    """
    # only who asks for a corridor needs it; compiled, so its names are unknown to checkers
    with explained():
        clarabel: Any = import_module("clarabel")

    d, f = particular.shape[1], Z.shape[1]
    # in coordinates in which the cost is a sphere: its own are conditioned like 1e12
    weights, directions = np.linalg.eigh(Z.T @ H @ Z)
    weights = np.maximum(weights, FLAT * weights.max(initial=1.0))
    Z = Z @ (directions / np.sqrt(weights))
    q = (Z.T @ H @ particular).T.ravel()
    inside = rows @ np.kron(np.eye(d), Z) if f else np.zeros((len(rows), 0))
    left = limits - rows @ particular.T.ravel()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    weights, cone = scipy.sparse.csc_matrix(np.eye(d * f)), clarabel.NonnegativeConeT(len(left))
    solver = clarabel.DefaultSolver(
        weights, q, scipy.sparse.csc_matrix(inside), left, [cone], settings
    )
    solution = solver.solve()
    y = np.array(solution.x).reshape(d, f)
    slack = left - inside @ y.ravel()
    held = np.isfinite(slack).all() and slack.min(initial=0.0) > -tolerance
    if str(solution.status) != "Solved" or not held:
        raise ContractError(f"nothing fits ({solution.status})")
    return particular + Z @ y.T
