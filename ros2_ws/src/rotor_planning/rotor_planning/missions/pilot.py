"""Common base of the steps of a mission: the world as seen now, plans that begin in time, and waiting."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.config.yaml.units import nanoseconds, rpy_from_wxyz
from rotor_core.plans.plan import Plan, hold
from rotor_core.plans.registry import seconds
from rotor_core.reference import POSITION, REFERENCE, YAW_ANGLE
from rotor_core.state import State
from rotor_planning.missions.conditions import Conditions, View
from rotor_planning.trajectories.bounds import check_size
from rotor_planning.trajectories.knots import come_to_rest

ARRIVES_WITHIN, ARRIVES_AFTER = 1.0, 5.0
"""At the end of a step that moves an entity, or so long after it, s, the entity is this near its goal, m."""

LEAD = 0.1
"""Plans are given out this long before they count, s."""

Flow = Generator[None, None, None]
"""A step under way: it goes on once per state, and ends when the step does."""


class Orders(Protocol):
    """Interface that carries out the orders of a mission."""

    def start_plan(self, entity: str, start: int, plan: Plan, kind: str) -> None:
        """Let an entity follow a plan from ``start`` (ns) on."""

    def attach(self, parent: str, child: str) -> Callable[[], str | None]:
        """Attach; the answer is asked for until it is not None: "" or why not."""
        ...

    def release(self, payload: str) -> Callable[[], str | None]:
        """Open what holds a payload; as :meth:`attach`."""
        ...

    def cut(self, cables: list[int]) -> Callable[[], str | None]:
        """Cut cables, counted from 0; as :meth:`attach`."""
        ...

    def wind(self, cable: int, length: float, rate: float | None) -> Callable[[], str | None]:
        """Ask the winch of a cable, counted from 0, for a length; as :meth:`attach`."""
        ...

    def stop(self, cable: int) -> Callable[[], str | None]:
        """Let the winch of a cable, counted from 0, come to rest; as :meth:`attach`."""
        ...


class StepFailed(Exception):
    """A step cannot end well; the text says why."""


class Pilot:
    """The world of one mission.

    Attributes:
        model, teams: of the scenario; teams by their planned entity.
        conditions: judges them.
        orders: who obeys.
        view: what is seen now.
        cursor: when the next plan may begin, ns.
        winding: cable, counted from 0, that a step winds; None: none does.
        log: (time s, text) of everything that happened.
    """

    view: View

    def __init__(self, scenario: Scenario, orders: Orders) -> None:
        self.model, self.orders = scenario.model, orders
        self.teams = {team.entity: team for team in teams(scenario.model)}
        self.conditions = Conditions(scenario)
        self.cursor = 0
        self.winding: int | None = None
        self.log: list[tuple[float, str]] = []

    def note(self, text: str) -> None:
        """Keep what happened now."""
        self.log.append((seconds(self.view.now), text))

    @property
    def first(self) -> str:
        """The first entity that is planned."""
        return next(iter(self.teams))

    def entity(self, name: str) -> str:
        """The entity of a step: named, or the first that is planned.

        Raises:
            StepFailed: its team no longer exists.
        """
        entity = name or self.first
        if entity in self.view.board.dissolved:
            members = ", ".join(self.teams[entity].vehicles)
            raise StepFailed(f"{entity} has been released; name one of {members}.")
        return entity

    def seen(self, entity: str) -> np.ndarray:
        """Measured position and yaw of an entity, as a reference at rest, (28,)."""
        state = self.view.states[self.model.index(entity)]
        reference = np.zeros(REFERENCE)
        reference[POSITION : POSITION + 3] = State(state).position
        reference[YAW_ANGLE] = rpy_from_wxyz(State(state).attitude)[2]
        return reference

    def begin(self) -> int:
        """Start time of a plan that is made now, ns."""
        return max(self.cursor, self.view.now + nanoseconds(LEAD))

    def reference(self, entity: str) -> np.ndarray:
        """Reference of an entity at the start of a new plan, (28,): by its plan in force, or else as measured."""
        board = self.view.board
        if entity in board.followed(self.view.now):
            return board.queues[entity].at(self.begin())
        return self.seen(entity)

    def start(self, entity: str, plan: Plan, kind: str) -> int:
        """Give out a plan; its end, ns.

        Raises:
            ContractError: nobody can mean it.
        """
        check_size(plan)
        start = self.begin()
        self.orders.start_plan(entity, start, plan, kind)
        return start + nanoseconds(plan.duration)

    def brake(self, entity: str) -> None:
        """Let an entity come to rest, and hover there."""
        plan = come_to_rest(self.reference(entity))
        self.start(entity, plan, "hover")

    def stop_winding(self) -> None:
        """Let the winch that a step had begun to wind come to rest; its answer says nothing to anybody any more."""
        if self.winding is not None:
            self.orders.stop(self.winding)
            self.winding = None

    def stand(self, entity: str, start: int) -> None:
        """Let an entity stand where it is from ``start`` (ns) on, with its motors off."""
        there = self.seen(entity)
        stands = hold(there[POSITION : POSITION + 3], float(there[YAW_ANGLE]), motors=False)
        self.orders.start_plan(entity, start, stands, "landed")

    def until(self, end: int) -> Flow:
        """Wait until so shortly before ``end`` that the next plan can begin there."""
        while self.view.now < end - nanoseconds(LEAD):
            yield
        self.cursor = end

    def arrive(self, entity: str, end: int) -> Flow:
        """Wait until the end of a plan, and until the entity is near where it leads.

        Raises:
            StepFailed: it does not come near.
        """
        yield from self.until(end)
        goal = self.view.board.queues[entity].at(end)[POSITION : POSITION + 3]

        def apart() -> float:
            return float(
                np.linalg.norm(State(self.view.states[self.model.index(entity)]).position - goal)
            )

        while apart() > ARRIVES_WITHIN:
            if self.view.now > end + nanoseconds(ARRIVES_AFTER):
                raise StepFailed(
                    f"{entity} is {apart():.2f} m from where it should be by now (at most {ARRIVES_WITHIN:g} m)."
                )
            yield
            self.cursor = self.view.now

    def sight_of_cables(self) -> Flow:
        """Wait for a state in which cables are as they are in flight."""
        while not self.conditions.sees_cables(self.view):
            yield

    def wait(self, holds: Callable[[], bool], timeout: float, what: str) -> Flow:
        """Wait until something holds.

        Raises:
            StepFailed: it does not within ``timeout`` s; ``what`` says what did not happen.
        """
        began = self.view.now
        while not holds():
            if self.view.now - began > nanoseconds(timeout):
                raise StepFailed(f"{what} within {timeout:.3g} s.")
            yield
        self.cursor = self.view.now

    def answer(self, ask: Callable[[], str | None]) -> Flow:
        """Wait for the answer to an order.

        Raises:
            StepFailed: it was refused.
        """
        while (text := ask()) is None:
            yield
        if text:
            raise StepFailed(text)
        self.cursor = self.view.now
