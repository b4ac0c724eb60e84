"""Plans that nobody can mean, and what planning may raise for what is asked."""

from __future__ import annotations

import numpy as np

from rotor_core.config.mission import LONGEST
from rotor_core.errors import ContractError
from rotor_core.plans.plan import Plan

FARTHEST = 1e6
"""Plans stay within this distance, m."""

IMPOSSIBLE = (ContractError, ArithmeticError, ValueError, np.linalg.LinAlgError)
"""Errors of a plan that cannot be made: whatever is asked, the planner lives on."""


def check_size(plan: Plan) -> None:
    """Refuse plans that nobody can mean.

    Raises:
        ContractError: it takes too long or leads too far.
    """
    if plan.duration > LONGEST:
        raise ContractError(
            f"trajectory: must take at most {LONGEST:g} s, got {plan.duration:.3g} s."
        )
    farthest = max(np.abs(plan.coefficients).max(), abs(plan.radius))
    if farthest > FARTHEST:
        raise ContractError(f"trajectory: must stay within {FARTHEST:g} m, got {farthest:.3g} m.")
