"""View of the world for a mission, and evaluation of its conditions."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from rotor_core.config.mission import Condition
from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.outline import standing_height
from rotor_core.config.yaml.units import nanoseconds
from rotor_core.plans.registry import PlanRegistry
from rotor_core.reference import POSITION
from rotor_core.state import State

STANDS_STILL, STANDS_FOR = 0.05, 0.5
"""An entity has landed when it has been slower than this, m/s, for this long, s."""

STANDS_WITHIN, DEVIATIONS = 0.03, 3.0
"""... and within this of the height at which it stands, m, and so many standard deviations of what is measured."""

ENDS_WITHIN = 0.1
"""... or within this of the height at which a way down ends on something, m."""

UPRIGHT = 0.7
"""... and upright: cosine of its tilt."""


@dataclass
class View:
    """Snapshot of the world for a mission.

    Attributes:
        now: ns.
        states: measured, of all entities, (n, >= 13).
        taut: of all cables, (n_cables,).
        board: plans of everything that is planned.
        lengths: of all cables, which winches change, (n_cables,) m; empty where nobody tells.
        batteries: charge 0..1 and voltage V of every vehicle that tells, by name.
    """

    now: int
    states: np.ndarray
    taut: np.ndarray
    board: PlanRegistry
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(0))
    batteries: dict[str, tuple[float, float]] = field(default_factory=dict)


def told(condition: Condition) -> str:
    """Requirements of a condition, in words."""
    names = [f.name for f in fields(condition)]
    values = {name: getattr(condition, name) for name in names}
    plain = [
        f"{k} {v}"
        for k, v in values.items()
        if v is not None and v is not False and v != "" and k != "within_m"
    ]
    return ", ".join(plain)


class Conditions:
    """Judges conditions about the entities of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._model: Model = scenario.model
        self._names = [e.name for e in scenario.model.entities]
        self._ground = scenario.environment.ground_m
        self._stands_within = STANDS_WITHIN + DEVIATIONS * scenario.sensing.noise.position_m
        self._slow_since: dict[str, int] = {}
        self._began: int | None = None

    def height_standing(self, entity: str) -> float:
        """Height of an entity when it stands on the ground, m."""
        return self._ground + standing_height(self._model, entity)

    def cables(self, entity: str) -> list[int]:
        """Cables of an entity."""
        return [k for k, c in enumerate(self._model.cables) if entity in (c.a, c.b)]

    def watch(self, view: View) -> None:
        """Take notice of how long everything has been standing; once per state."""
        if self._began is None:
            self._began = view.now
        v = State(view.states).velocity
        for name, square in zip(self._names, (v * v).sum(axis=1).tolist(), strict=True):
            if square > STANDS_STILL**2:
                self._slow_since.pop(name, None)
            else:
                self._slow_since.setdefault(name, view.now)

    def landed(self, entity: str, view: View, height: float | None = None) -> bool:
        """True if the entity stands, at ``height`` or on the ground."""
        highest = (
            self.height_standing(entity) + self._stands_within
            if height is None
            else height + ENDS_WITHIN
        )
        state = view.states[self._model.index(entity)]
        stands = state[2] < highest and _cosine(state) > UPRIGHT
        return bool(stands) and self.is_still(entity, view)

    def sees_cables(self, view: View) -> bool:
        """False in the first state: nobody has thrust yet, so that nothing pulls at cables which are to carry."""
        return self._began is not None and view.now > self._began

    def moved(self, entity: str) -> None:
        """It has been given a reason to move: what it was like before counts no more."""
        self._slow_since.pop(entity, None)

    def is_still(self, entity: str, view: View) -> bool:
        """True if the entity has hardly moved for half a second."""
        since = self._slow_since.get(entity)
        return since is not None and view.now - since >= nanoseconds(STANDS_FOR)

    def holds(self, condition: Condition, entity: str, view: View) -> bool:
        """True if all requirements of a condition hold for its entity (default ``entity``)."""
        name = condition.entity or entity
        state = view.states[self._model.index(name)]
        checks: list[bool] = []
        if condition.height_below_m is not None:
            checks.append(state[2] < condition.height_below_m)
        if condition.height_above_m is not None:
            checks.append(state[2] > condition.height_above_m)
        if condition.speed_below_m_s is not None:
            checks.append(np.linalg.norm(State(state).velocity) < condition.speed_below_m_s)
        if condition.tilt_above_deg is not None:
            checks.append(_cosine(state) < np.cos(np.radians(condition.tilt_above_deg)))
        if condition.near_m is not None:
            apart = np.linalg.norm(State(state).position - np.array(condition.near_m))
            checks.append(apart < condition.within_m)
        if condition.error_below_m is not None:
            checks.append(self._error(name, state, view) < condition.error_below_m)
        if condition.error_above_m is not None:
            checks.append(self._error(name, state, view) > condition.error_above_m)
        taut = view.taut[self.cables(name)]
        if condition.taut or condition.slack:
            checks.append(bool(len(taut)) and self.sees_cables(view))
        if condition.taut:
            checks.append(bool(taut.all()))
        if condition.slack:
            checks.append(not taut.any())
        if condition.landed:
            checks.append(self.landed(name, view))
        charge, voltage = view.batteries.get(name, (np.nan, np.nan))
        if condition.battery_below is not None:
            checks.append(charge < condition.battery_below)
        if condition.battery_below_v is not None:
            checks.append(voltage < condition.battery_below_v)
        return all(checks)

    def _error(self, name: str, state: np.ndarray, view: View) -> float:
        """Distance to the plan that it follows, m; NaN, which holds nothing, where it follows none (any more)."""
        if name not in view.board.followed(view.now):
            return float("nan")
        wanted = view.board.queues[name].at(view.now)[POSITION : POSITION + 3]
        return float(np.linalg.norm(wanted - State(state).position))


def _cosine(state: np.ndarray) -> float:
    """Cosine of the tilt of a body."""
    return 1.0 - 2.0 * float(state[4] ** 2 + state[5] ** 2)
