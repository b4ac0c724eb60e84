"""Before a mission: who stands, and who hovers."""

from __future__ import annotations

import numpy as np

from rotor_core.config.mission import (
    GoTo,
    Land,
    Mission,
    Slacken,
    TakeOff,
    Tighten,
    Turn,
)
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, cable_spans, teams
from rotor_core.config.vehicles.outline import standing_height
from rotor_core.config.yaml.units import rpy_from_wxyz
from rotor_core.plans.plan import Plan, hold
from rotor_core.state import State

STANDS = 0.02
"""An entity this close to the height at which it stands, stands, m."""


HANGS = 0.02
"""A cable whose ends are nearer than its length by more than this share of it hangs."""


def _hangs(scenario: Scenario, team: Team, states: np.ndarray) -> bool:
    """True where no cable of a team holds its load."""
    spans, cables = cable_spans(scenario.model, states), scenario.model.cables
    return all(spans[k] < (1.0 - HANGS) * cables[k].length_m for k in team.cables)


def initial_plans(scenario: Scenario, mission: Mission, states: np.ndarray) -> dict[str, Plan]:
    """Plans before the first step: what stands on the ground has its motors off, everything else hovers.

    Vehicles begin alone whose team is first asked to make its cables taut, or where the first motion is one of theirs
    and their cables hang or their payload stands.
    """
    found: dict[str, Plan] = {}

    def stands(name: str) -> bool:
        height = scenario.environment.ground_m + standing_height(scenario.model, name)
        low = states[scenario.model.index(name)][2] < height + STANDS
        return scenario.environment.contact is not None and bool(low)

    def stay(name: str) -> None:
        state = State(states[scenario.model.index(name)])
        yaw = float(rpy_from_wxyz(state.attitude)[2])
        found[name] = hold(state.position, yaw, motors=not stands(name))

    names = [team.entity for team in teams(scenario.model)]
    moving = (TakeOff, GoTo, Turn, Land, Tighten, Slacken)
    steps = [(s.entity or names[0], s) for s in mission.steps if isinstance(s, moving)]
    for team in teams(scenario.model):
        own = [step for name, step in steps if name == team.entity or name in team.vehicles]
        first = own[0] if own else None
        is_theirs = first is not None and (first.entity or names[0]) in team.vehicles
        alone = isinstance(first, Tighten) or (
            is_theirs and (_hangs(scenario, team, states) or stands(team.entity))
        )
        for name in team.vehicles if team.cables and alone else (team.entity,):
            stay(name)
    return found
