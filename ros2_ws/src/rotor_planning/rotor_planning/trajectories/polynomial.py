"""Piecewise polynomials that minimise the integral of the squared k-th derivative.

RotorTM eqs 59, 60, as the full problem: the minimiser of order k is a spline of degree 2k-1 with
continuous derivatives up to 2k-2. Each segment has its own normalised time, which keeps the
equations well scaled.
"""

from __future__ import annotations

from math import factorial

import numpy as np
import scipy.linalg

from rotor_core.errors import ContractError
from rotor_planning.trajectories.corridor import Corridor, constrained, corridor_rows

MAX_DERIVATIVE, MAX_DEGREE = 6, 15
"""Beyond these, powers of the normalised time no longer carry the answer."""

ROOM = 3
"""Degrees above twice the derivative in a corridor."""


def derivative_row(s: float, order: int, degree: int) -> np.ndarray:
    """Row that gives the derivative of this order at s from ascending coefficients, (degree + 1,)."""
    row = np.zeros(degree + 1)
    for i in range(order, degree + 1):
        row[i] = factorial(i) / factorial(i - order) * s ** (i - order)
    return row


def cost_matrix(order: int, degree: int) -> np.ndarray:
    """Matrix H with ``c^T H c`` the integral over 0..1 of the squared derivative, (degree + 1, degree + 1)."""
    H = np.zeros((degree + 1, degree + 1))
    for i in range(order, degree + 1):
        for j in range(order, degree + 1):
            factor = factorial(i) / factorial(i - order) * factorial(j) / factorial(j - order)
            H[i, j] = factor / (i + j - 2 * order + 1)
    return H


def minimum_derivative(
    points: np.ndarray,
    durations: np.ndarray,
    *,
    derivative: int,
    degree: int | None = None,
    continuity: int | None = None,
    rest: int | None = None,
    corridor: Corridor | None = None,
) -> np.ndarray:
    """Coefficients of the minimiser through ``points``.

    Args:
        points: (m + 1, d), m.
        durations: (m,), s.
        derivative: k, the derivative whose square is integrated.
        degree: of the polynomials, default 2k - 1, in a corridor 2k + 3 (a spline of degree 2k - 1
            has nothing left to choose).
        continuity: highest derivative that is continuous at inner points, default 2k - 2 (at most
            degree - 1).
        rest: highest derivative that is zero at both ends, default k - 1.
        corridor: around the straight lines between points; none by default.

    Returns:
        (m, d, degree + 1), ascending powers of the normalised time of each segment.

    Raises:
        ContractError: fewer than two points, a degree below k, or conditions that contradict each
            other, among them a corridor that is too narrow.
    """
    points, durations = np.asarray(points, float), np.asarray(durations, float)
    k = derivative
    if degree is None:
        degree = 2 * k - 1 if corridor is None else 2 * k + ROOM
    continuity = min(2 * k - 2, degree - 1) if continuity is None else continuity
    rest = k - 1 if rest is None else rest
    m, n = len(durations), degree + 1
    if points.ndim != 2 or len(points) != m + 1 or m < 1:
        raise ContractError(
            f"minimum derivative: needs one more point than durations, got {len(points)} and {m}."
        )
    if not (2 <= k <= MAX_DERIVATIVE and degree <= MAX_DEGREE):
        raise ContractError(
            f"minimum derivative: the derivative must be 2 to {MAX_DERIVATIVE} and the degree at most "
            f"{MAX_DEGREE}, got {k} and {degree}."
        )
    if degree < k:
        raise ContractError(
            f"minimum derivative: the degree must be at least the derivative {k}, got {degree}."
        )
    if continuity >= degree:
        raise ContractError(
            f"minimum derivative: continuity must be below the degree {degree}, got {continuity}."
        )
    if continuity < 0 or not 0 <= rest < degree:
        raise ContractError(
            f"minimum derivative: rest must be below the degree {degree} and continuity not negative, got {rest} and "
            f"{continuity}."
        )
    rows, values = [], []

    def require(entries: list[tuple[int, np.ndarray]], value: np.ndarray) -> None:
        row = np.zeros(m * n)
        for segment, part in entries:
            row[segment * n : (segment + 1) * n] = part
        scale = np.max(np.abs(row))
        rows.append(row / scale)
        values.append(value / scale)

    zero = np.zeros(points.shape[1])
    for i in range(m):
        require([(i, derivative_row(0.0, 0, degree))], points[i])
        require([(i, derivative_row(1.0, 0, degree))], points[i + 1])
    for order in range(1, rest + 1):
        require([(0, derivative_row(0.0, order, degree))], zero)
        require([(m - 1, derivative_row(1.0, order, degree))], zero)
    for i in range(m - 1):
        ratio = durations[i] / durations[i + 1]
        for order in range(1, continuity + 1):
            require(
                [
                    (i, derivative_row(1.0, order, degree)),
                    (i + 1, -derivative_row(0.0, order, degree) * ratio**order),
                ],
                zero,
            )
    A, b = np.array(rows), np.array(values)
    H = np.zeros((m * n, m * n))
    block = cost_matrix(k, degree)
    weights = (durations / np.mean(durations)) ** (1 - 2 * k)
    for i in range(m):
        H[i * n : (i + 1) * n, i * n : (i + 1) * n] = weights[i] * block
    # null-space method: a particular solution of A c = b, then the best of the remaining freedom
    try:
        particular, _, rank, _ = np.linalg.lstsq(A, b, rcond=None)
    except np.linalg.LinAlgError as error:
        raise ContractError(
            "minimum derivative: durations or points are too different in size to be solved for. Use times and places "
            "of one flight."
        ) from error
    if not np.allclose(A @ particular, b, atol=1e-9 * (1.0 + np.max(np.abs(points)))):
        raise ContractError(
            f"minimum derivative: degree {degree} cannot meet rest to order {rest} and continuity "
            f"to order {continuity}. Raise the degree."
        )
    coefficients = particular
    Z = scipy.linalg.null_space(A) if rank < m * n else np.zeros((m * n, 0))
    if corridor is not None:
        rows_of = corridor_rows(points, degree, corridor)
        coefficients = constrained(particular, Z, H, rows_of, corridor)
    elif rank < m * n:
        correction = np.linalg.lstsq(Z.T @ H @ Z, Z.T @ H @ particular, rcond=None)[0]
        coefficients = particular - Z @ correction
    return coefficients.T.reshape(points.shape[1], m, n).transpose(1, 0, 2)


def integral_cost(coefficients: np.ndarray, durations: np.ndarray, derivative: int) -> float:
    """Integral of the squared k-th derivative, summed over axes and segments.

    Coefficients (m, d, degree + 1).
    """
    H = cost_matrix(derivative, coefficients.shape[2] - 1)
    weights = np.asarray(durations, float) ** (1 - 2 * derivative)
    return float(np.einsum("i,ijk,kl,ijl->", weights, coefficients, H, coefficients))
