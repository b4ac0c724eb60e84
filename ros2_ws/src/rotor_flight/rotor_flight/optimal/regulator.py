"""Regulator of least squares: its gains, and its cost about a steady flight."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from rotor_core.errors import ContractError


def feedback(A: np.ndarray, B: np.ndarray, value: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Gains of ``u = gains x`` before a period after which ``x value x / 2`` remains, (m, n)."""
    return -np.linalg.solve(inputs + B.T @ value @ B, B.T @ value @ A)


def cost_to_go(A: np.ndarray, B: np.ndarray, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Solution of the discrete Riccati equation (SciPy) of ``x+ = A x + B u``, (n, n).

    Args:
        A, B: of one period.
        states, inputs: weights, (n, n) and (m, m).

    Raises:
        ContractError: the team cannot be held where it begins.
    """
    try:
        return solve_discrete_are(A, B, states, inputs)
    except (LinAlgError, ValueError) as error:
        raise ContractError(
            f"no regulator about the start: the team cannot be held there by its rotors ({error}). Begin in a hover "
            "with taut cables, or use `guess: hover`."
        ) from error
