"""Missions: steps one after the other, and guards that watch meanwhile.

The same runner flies in the planner node and without ROS. A step is a generator that goes on once per
state; it starts plans a little ahead of their time, so that controllers have them before they count.
docs/missions.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from rotor_core.config.checks.missions import check_mission
from rotor_core.config.mission import Guard, Land, Mission
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import nanoseconds
from rotor_core.plans.registry import seconds
from rotor_planning.missions.conditions import View, told
from rotor_planning.missions.pilot import Flow, Orders, Pilot, StepFailed
from rotor_planning.missions.steps import FLOWS, land
from rotor_planning.trajectories.bounds import IMPOSSIBLE


class Status(Enum):
    """Status of a mission."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ABORTED = "aborted"


@dataclass
class Progress:
    """Progress of a mission: step number (from 1; 0 before), its type, time in it, s, and how the mission ended."""

    step: int = 0
    kind: str = ""
    elapsed: float = 0.0
    text: str = ""


class MissionRunner:
    """One mission from its first state on.

    Attributes:
        status, progress: how it is doing.

    Raises:
        ConfigError: a step about an entity that nobody plans.
    """

    def __init__(self, scenario: Scenario, mission: Mission, orders: Orders) -> None:
        check_mission(scenario.model, mission, has_ground=scenario.environment.contact is not None)
        self._pilot, self._mission = Pilot(scenario, orders), mission
        self.status, self.progress = Status.RUNNING, Progress()
        self._left = list(enumerate(mission.steps, start=1))
        self._flow: Flow | None = None
        self._begun = False
        self._step_began = 0
        self._guard_since: dict[int, int] = {}
        self._ending: str | None = None

    @property
    def n_steps(self) -> int:
        """Number of its steps."""
        return len(self._mission.steps)

    @property
    def log(self) -> list[tuple[float, str]]:
        """(time s, text) of everything that happened."""
        return self._pilot.log

    def update(self, view: View) -> None:
        """Go on with a new state."""
        if self.status is not Status.RUNNING:
            return
        pilot = self._pilot
        pilot.view = view
        if not self._begun:
            self._begun, pilot.cursor = True, view.now
        pilot.conditions.watch(view)
        if self._ending is None:
            self._watch_guards(view)
        while self.status is Status.RUNNING:
            if self._flow is None and not self._next_step():
                return
            self.progress.elapsed = seconds(view.now - self._step_began)
            assert self._flow is not None
            try:
                with np.errstate(all="ignore"):
                    next(self._flow)
                return
            except StopIteration:
                self._flow = None
                if self._ending is not None:
                    self._end(Status.ABORTED, f"{self._ending}; done")
            except (StepFailed, *IMPOSSIBLE) as failure:
                self._end(
                    Status.FAILED, f"step {self.progress.step} ({self.progress.kind}): {failure}"
                )

    def cancel(self) -> None:
        """Stop, and let everything that flies hover."""
        if self.status is not Status.RUNNING:
            return
        if not self._begun:
            self.status, self.progress.text = Status.CANCELLED, "cancelled before it began"
            return
        self._pilot.cursor = self._pilot.view.now
        self._brake_all()
        self._end(Status.CANCELLED, "cancelled: everything hovers")

    def _next_step(self) -> bool:
        if not self._left:
            self._end(Status.SUCCEEDED, "mission complete")
            return False
        number, step = self._left.pop(0)
        self.progress = Progress(number, step.type)
        self._step_began = max(self._pilot.view.now, self._pilot.cursor)
        self._pilot.note(f"step {number}: {step.type}")
        self._flow = FLOWS[type(step)](self._pilot, step)
        return True

    def _end(self, status: Status, text: str) -> None:
        self.status, self._flow = status, None
        self.progress.text = text
        self._pilot.note(text)

    def _brake_all(self) -> list[str]:
        """Let everything that flies hover, what stands go on to stand, and winches stop; names of those that fly."""
        self._pilot.stop_winding()
        board, now = self._pilot.view.board, self._pilot.view.now
        flying = board.flying(now)
        for entity in flying:
            self._pilot.brake(entity)
        for entity in board.followed(now):
            waiting = [start for start, _ in board.queues[entity].plans if start > now]
            if entity not in flying and waiting:  # a take-off that has not begun
                self._pilot.stand(entity, min(waiting))
        return flying

    def _watch_guards(self, view: View) -> None:
        entity = self._pilot.first
        for i, guard in enumerate(self._mission.guards):
            if not self._pilot.conditions.holds(guard.when, entity, view):
                self._guard_since.pop(i, None)
                continue
            since = self._guard_since.setdefault(i, view.now)
            if view.now - since >= nanoseconds(guard.hold_s):
                self._ending = (
                    f"guard {i + 1} ({told(guard.when)}) in step {self.progress.step}: {guard.do}"
                )
                self._pilot.note(self._ending)
                self._left.clear()
                self._flow = self._obey(guard)
                return

    def _obey(self, guard: Guard) -> Flow:
        """Reaction to a guard, for everything that flies."""
        self._pilot.cursor = self._pilot.view.now
        flying = self._brake_all()
        if guard.do == "hover":
            return
        landings = [
            land(self._pilot, Land("land", speed_m_s=guard.speed_m_s, entity=entity))
            for entity in flying
        ]
        while landings:
            for flow in list(landings):
                try:
                    ended = next(flow, True)  # None from a flow that goes on
                except StepFailed as failure:  # the others still land
                    self._ending = f"{self._ending}; {failure}"
                    ended = True
                if ended:
                    landings.remove(flow)
            yield
