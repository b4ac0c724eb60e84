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
        """Let ``plan`` take over at ``start``, in place of all that would begin then or later."""
        keep = [p for p in self._plans if seconds_between(p[0], start) > 0.0]
        # the first one may be running: it is never dropped for want of room
        self._plans = [*keep[:1], *keep[1:][-(KEPT - 2) :], (start, plan)]

    def at(self, when: Time) -> np.ndarray:
        """Reference at a time that may lie ahead, (28,); drops nothing."""
        begun = [p for p in self._plans if seconds_between(p[0], when) >= 0.0]
        start, plan = (begun or self._plans[:1])[-1]
        return plan.sample(seconds_between(start, when))

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
