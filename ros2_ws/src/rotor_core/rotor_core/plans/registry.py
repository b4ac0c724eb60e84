"""Plans of one entity in the order of their starts, and of all that fly: who follows what, and since when.

Times are whole nanoseconds, so that planner, controllers and the flight without ROS agree to the last bit.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.teams import teams
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND
from rotor_core.plans.plan import Plan

KEPT = 8
"""Plans that may wait, with the one that runs."""


def seconds(ns: int) -> float:
    """Seconds of a difference of times in nanoseconds."""
    return ns / NANOSECONDS_PER_SECOND


class PlanQueue:
    """Planner and controllers follow the same plan at the same stamp by the same rule."""

    def __init__(self) -> None:
        self._plans: list[tuple[int, Plan]] = []

    def __bool__(self) -> bool:
        return bool(self._plans)

    @property
    def plans(self) -> list[tuple[int, Plan]]:
        """Start, ns, and plan of those that are kept, in order."""
        return list(self._plans)

    def add(self, start: int, plan: Plan, now: int | None = None) -> None:
        """Let ``plan`` take over at ``start``, in place of all that would begin then or later.

        Those that have ended ``now`` take no room; None: nobody knows which have.
        """
        if now is not None and self._plans:
            self.began(now)
        keep = [p for p in self._plans if p[0] < start]
        # the first one may be running: it is never dropped for want of room
        self._plans = [*keep[:1], *keep[1:][-(KEPT - 2) :], (start, plan)]

    def is_full(self, start: int) -> bool:
        """True if a plan that starts then would drive out one that waits."""
        return len([p for p in self._plans if p[0] < start]) >= KEPT

    def at(self, when: int) -> np.ndarray:
        """Reference at a time that may lie ahead, (28,); drops nothing."""
        begun = [p for p in self._plans if p[0] <= when]
        start, plan = (begun or self._plans[:1])[-1]
        return plan.sample(seconds(when - start))

    def clear(self) -> None:
        """Forget all plans."""
        self._plans.clear()

    def began(self, now: int) -> int:
        """Start of the plan that counts at ``now``; drops older ones."""
        while len(self._plans) > 1 and self._plans[1][0] <= now:
            self._plans.pop(0)
        return self._plans[0][0]

    def running(self, now: int) -> tuple[float, Plan]:
        """The plan that counts at ``now``, and the time since its start, s; drops older ones."""
        start = self.began(now)
        return seconds(now - start), self._plans[0][1]

    def time_left(self, now: int) -> float:
        """Time until the last plan, running or waiting, has ended and moves no more, s."""
        start, plan = self._plans[-1]
        if plan.coefficients.shape[2] == 1:
            return 0.0  # it rests already
        return plan.duration - seconds(now - start)

    def sample(self, now: int, out: np.ndarray | None = None) -> np.ndarray:
        """Reference at ``now``, (28,)."""
        t, plan = self.running(now)
        return plan.sample(t, out)


class PlanRegistry:
    """Plans of everything that may be planned: teams, and vehicles of cable teams that fly alone for a while.

    Attributes:
        queues: by name; teams first.
        singles: vehicles that may fly alone, and the number of the team of each.
        dissolved: teams whose payload has been let go: nobody can fly it any more.
    """

    def __init__(self, model: Model) -> None:
        found = teams(model)
        self._teams = [team.entity for team in found]
        self.singles = {
            name: i for i, team in enumerate(found) if team.cables for name in team.vehicles
        }
        self.queues = {name: PlanQueue() for name in (*self._teams, *self.singles)}
        self._members = [
            [name for name, k in self.singles.items() if k == i] for i in range(len(self._teams))
        ]
        self.dissolved: set[str] = set()

    @property
    def is_complete(self) -> bool:
        """True if every team has a plan, or each of its vehicles has one."""
        queues = self.queues
        for team, members in zip(self._teams, self._members, strict=True):
            if not queues[team] and not (members and all(queues[name] for name in members)):
                return False
        return True

    def clear(self) -> None:
        """Forget all plans; teams are whole again."""
        self.dissolved.clear()
        for queue in self.queues.values():
            queue.clear()

    def running(self, now: int) -> list[tuple[float, Plan] | None]:
        """Plans in force at ``now``, of teams, then of single vehicles: time since the start, s, and plan.

        None for a team without a plan, and for a vehicle that follows its team. A vehicle follows
        whichever plan began last, its own or that of its team.
        """
        found: list[tuple[float, Plan] | None] = [
            self.queues[team].running(now) if self.queues[team] else None for team in self._teams
        ]
        for name, i in self.singles.items():
            queue, of_team = self.queues[name], self.queues[self._teams[i]]
            alone = bool(queue) and queue.began(now) <= now
            if alone and of_team and of_team.began(now) <= now:
                alone = queue.began(now) >= of_team.began(now)
            found.append(queue.running(now) if alone else None)
        return found

    def followed(self, now: int) -> dict[str, Plan]:
        """The plans that somebody follows at ``now``: of teams, or of their vehicles where all fly alone, by name."""
        found = self.running(now)
        singles = found[len(self._teams) :]
        out = {}
        for i, team in enumerate(self._teams):
            own = [f for f, k in zip(singles, self.singles.values(), strict=True) if k == i]
            together = not own or any(f is None for f in own)
            plan = found[i]
            if plan is not None and together:
                out[team] = plan[1]
        out |= {name: f[1] for name, f in zip(self.singles, singles, strict=True) if f is not None}
        return out

    def flying(self, now: int) -> list[str]:
        """Names of those who follow a plan of their own with motors on."""
        return [name for name, plan in self.followed(now).items() if plan.motors]
