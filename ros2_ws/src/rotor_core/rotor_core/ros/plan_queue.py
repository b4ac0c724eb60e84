"""Plans of one entity in the order of their starts: the running one, and those that wait."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time

from rotor_core.interface.plan import Plan
from rotor_core.ros.convert import seconds_between

KEPT = 8
"""Plans that may wait."""


class PlanQueue:
    """Planner and controllers follow the same plan at the same stamp by the same rule."""

    def __init__(self) -> None:
        self._plans: list[tuple[Time, Plan]] = []

    def __bool__(self) -> bool:
        return bool(self._plans)

    def add(self, start: Time, plan: Plan) -> None:
        """Let ``plan`` take over at ``start``."""
        self._plans.append((start, plan))
        del self._plans[:-KEPT]

    def clear(self) -> None:
        """Forget all plans."""
        self._plans.clear()

    def running(self, now: Time) -> tuple[float, Plan]:
        """The plan that counts at ``now``, and the time since its start, s; drops older ones."""
        while len(self._plans) > 1 and seconds_between(self._plans[1][0], now) >= 0.0:
            self._plans.pop(0)
        start, plan = self._plans[0]
        return seconds_between(start, now), plan

    def time_left(self, now: Time) -> float:
        """Time until the last plan, running or waiting, has ended and moves no more, s."""
        start, plan = self._plans[-1]
        if plan.coefficients.shape[2] == 1:
            return 0.0  # it rests already
        return plan.duration - seconds_between(start, now)

    def sample(self, now: Time, out: np.ndarray | None = None) -> np.ndarray:
        """Reference at ``now``, (28,)."""
        t, plan = self.running(now)
        return plan.sample(t, out)
