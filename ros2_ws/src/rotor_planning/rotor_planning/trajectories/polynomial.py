"""Piecewise polynomials that minimise the integral of the squared k-th derivative.

RotorTM eqs 59, 60, as the full problem: the minimiser of order k is a spline of degree 2k-1 with
continuous derivatives up to 2k-2. Each segment has its own normalised time, which keeps the
equations well scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np
import scipy

from rotor_core.errors import ContractError
from rotor_planning.trajectories.corridor import HELD, Corridor, constrained, in_corridor
from rotor_planning.trajectories.keep_out import ROUNDS, SPARE, KeepOut

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
    keep_out: KeepOut | None = None,
) -> np.ndarray:
    """Coefficients of the minimiser through ``points``.

    Args:
        points: (m + 1, d), m.
        durations: (m,), s.
        derivative: k, the derivative whose square is integrated.
        degree: of the polynomials, default 2k - 1, in a corridor and around obstacles 2k + 3 (a spline of
            degree 2k - 1 has nothing left to choose).
        continuity: highest derivative that is continuous at inner points, default 2k - 2 (at most
            degree - 1).
        rest: highest derivative that is zero at both ends, default k - 1.
        corridor: around the straight lines between points; none by default.
        keep_out: obstacles; the places of ``points`` must keep away from them.

    Returns:
        (m, d, degree + 1), ascending powers of the normalised time of each segment.

    Raises:
        ContractError: fewer than two points, a degree below k, or conditions that contradict each
            other, among them a corridor that is too narrow.
    """
    points, durations = np.asarray(points, float), np.asarray(durations, float)
    k = derivative
    if degree is None:
        degree = 2 * k - 1 if corridor is None and keep_out is None else 2 * k + ROOM
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
    equations, values = [], []

    def require(entries: list[tuple[int, np.ndarray]], value: np.ndarray) -> None:
        row = np.zeros(m * n)
        for segment, part in entries:
            row[segment * n : (segment + 1) * n] = part
        scale = np.max(np.abs(row))
        equations.append(row / scale)
        values.append(value / scale)

    if keep_out is not None:
        keep_out.check(points)
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
    A, b = np.array(equations), np.array(values)
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
    Z = scipy.linalg.null_space(A) if rank < m * n else np.zeros((m * n, 0))

    def pieces(coefficients: np.ndarray) -> np.ndarray:
        return coefficients.T.reshape(points.shape[1], m, n).transpose(1, 0, 2)

    if corridor is None:
        coefficients = particular
        if rank < m * n:
            correction = np.linalg.lstsq(Z.T @ H @ Z, Z.T @ H @ particular, rcond=None)[0]
            coefficients = particular - Z @ correction
        rows, limits, tolerance = (
            np.zeros((0, len(particular) * points.shape[1])),
            np.zeros(0),
            np.inf,
        )
    else:
        rows, limits = in_corridor(points, degree, corridor)
        tolerance = HELD * corridor.width
        try:
            coefficients = constrained(particular, Z, H, rows, limits, tolerance)
        except ContractError as error:
            raise ContractError(
                f"minimum derivative: no curve fits into a corridor of {corridor.width:g} m: {error}. "
                "Widen it, raise the degree, or ask for less continuity."
            ) from error
    if keep_out is None:
        return pieces(coefficients)
    return _around(
        keep_out, pieces(coefficients), (rows, limits, tolerance), (particular, Z, H), pieces
    )


def _around(
    keep_out: KeepOut,
    curve: np.ndarray,
    corridor: tuple[np.ndarray, np.ndarray, float],
    programme: tuple[np.ndarray, np.ndarray, np.ndarray],
    pieces: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """The curve bent around obstacles, round by round (P.14)."""
    rows, limits, tolerance = corridor
    for _ in range(ROUNDS):
        more, at_most, worst = keep_out.rows(curve)
        if worst is None:
            return curve
        tolerance = min(tolerance, SPARE * keep_out.clearance)
        try:
            found = constrained(
                *programme, np.vstack([rows, more]), np.concatenate([limits, at_most]), tolerance
            )
        except ContractError as error:
            who, what = worst.names
            raise ContractError(
                f"trajectory: no curve keeps {who} {keep_out.clearance:g} m from {what}: {error}. Add a waypoint "
                "beside it, raise the degree, ask for a smaller clearance_m or a wider corridor."
            ) from error
        curve = pieces(found)
    _, _, worst = keep_out.rows(curve)
    if worst is None:
        return curve
    who, what = worst.names
    raise ContractError(
        f"trajectory: after {ROUNDS} rounds {who} is still {max(worst.distance, 0.0):.3g} m from {what}, less than "
        f"clearance_m ({keep_out.clearance:g}). Add a waypoint beside it."
    )


def integral_cost(coefficients: np.ndarray, durations: np.ndarray, derivative: int) -> float:
    """Integral of the squared k-th derivative, summed over axes and segments.

    Coefficients (m, d, degree + 1).
    """
    H = cost_matrix(derivative, coefficients.shape[2] - 1)
    weights = np.asarray(durations, float) ** (1 - 2 * derivative)
    return float(np.einsum("i,ijk,kl,ijl->", weights, coefficients, H, coefficients))
