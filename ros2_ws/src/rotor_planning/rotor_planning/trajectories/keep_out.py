"""Curves that keep a team away from obstacles: quadratic programmes, one after the other.

The team (its payload or vehicle, what is linked to it, its vehicles and taut cables, as they hover) is moved along the
curve without turning. Where it comes nearer to an obstacle than it may, the curve must go farther out along the line
between the nearest points; that is linear in the curve, and asked for again where the new curve is near. Equation
(P.14).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.clearance.clearances import Clearances
from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.config.vehicles.arm import link_name
from rotor_core.config.vehicles.outline import linked_places
from rotor_core.errors import ContractError
from rotor_core.state import State, V

SAMPLES = 40
"""Places on each segment at which distances are looked at."""

SPARE = 0.02
"""Share of the clearance by which the programme asks for more than the check."""

WATCHED = 3.0
"""Places nearer to an obstacle than this many clearances count in the programme, so that it does not move there."""

ROUNDS = 40

BLIND_STEP = 0.2
"""Step out of an obstacle that the team is inside of, m: there is no nearest point then."""


@dataclass(frozen=True)
class Nearness:
    """One pair at one place of the team: names, distance, m, and direction in which it grows, (3,)."""

    names: tuple[str, str]
    distance: float
    outwards: np.ndarray


class KeepOut:
    """The obstacles of a scenario, as a team feels them; arms are as at the start.

    Args:
        scenario: with its obstacles and where its team hovers at first.
        team: that is moved.
        clearance: smallest distance, m.
    """

    def __init__(self, scenario: Scenario, team: Team, clearance: float) -> None:
        self.clearance = clearance
        model = scenario.model
        states = initial_states(scenario)
        self._clearances = Clearances(scenario)
        masses = sum(c.segments for c in model.cables if c.mass_kg_per_m)
        self._poses = np.vstack([states[:, :V], np.zeros((masses, int(V)))])
        self._start = State(states[model.index(team.entity)]).position.copy()
        linked = {name for v in (team.entity, *team.vehicles) for name in linked_places(model, v)}
        cables = {model.cable_names[k] for k in team.cables if not model.cables[k].mass_kg_per_m}
        arms = {
            link_name(v.name, k.name) for v in model.vehicles if v.name in linked for k in v.links
        }
        obstacles = {o.name for o in scenario.environment.obstacles}
        self._pairs = {
            g
            for g, (a, b) in enumerate(self._clearances.pairs)
            if a in linked | arms | cables and b in obstacles
        }
        self._middles = {o.name: np.array(o.position_m) for o in scenario.environment.obstacles}

    def near(self, place: np.ndarray, within: float) -> list[Nearness]:
        """Pairs nearer than ``within``, m, when the planned entity is at ``place`` (3,) m."""
        moved = self._poses.copy()
        moved[:, :3] += place - self._start
        out = []
        for names, distance, (on_team, on_obstacle) in self._clearances.distances(
            moved, self._pairs, within
        ):
            apart = on_team - on_obstacle
            if np.linalg.norm(apart) < 1e-9:
                apart = place - self._middles[names[1]]
                distance = min(distance, self.clearance - BLIND_STEP)
            out.append(Nearness(names, distance, apart / np.linalg.norm(apart)))
        return out

    def check(self, points: np.ndarray) -> None:
        """Refuse waypoints, (m, 3) m, that are too near themselves.

        Raises:
            ContractError: naming the waypoint, the pair, and how near they are.
        """
        for i, point in enumerate(points):
            for n in self.near(point, self.clearance):
                who = "the start" if i == 0 else f"waypoint {i}"
                raise ContractError(
                    f"trajectory: at {who} {n.names[0]} is {max(n.distance, 0.0):.3g} m from {n.names[1]}, less than "
                    f"clearance_m ({self.clearance:g}). Move it, or ask for less."
                )

    def rows(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray, Nearness | None]:
        """What a curve must satisfy next, as ``rows @ coefficients <= limits``, and the nearest pair that is too near.

        Args:
            coefficients: (m, 3, n), ascending powers of the normalised time of each segment.
        """
        m, d, n = coefficients.shape
        powers = ((np.arange(SAMPLES) + 0.5) / SAMPLES)[:, None] ** np.arange(n)
        rows, limits, worst = [], [], None
        wanted = (1.0 + SPARE) * self.clearance
        for i in range(m):
            for power in powers:
                place = coefficients[i] @ power
                for found in self.near(place, WATCHED * self.clearance):
                    row = np.zeros((d, m, n))
                    row[:, i] = -found.outwards[:, None] * power
                    rows.append(row.ravel())
                    limits.append(found.distance - wanted - found.outwards @ place)
                    if found.distance < self.clearance and (
                        worst is None or found.distance < worst.distance
                    ):
                        worst = found
        return np.array(rows).reshape(-1, d * m * n), np.array(limits), worst
