"""Curves that keep a team away from obstacles: quadratic programmes, one after the other.

The team (its payload or vehicle, its vehicles, what is linked to them or hangs on cables, and the cables, as they
hover) is moved along the curve without turning. Where it comes nearer to an obstacle than it may, the curve must go
farther out along the line between the nearest points; that is linear in the curve, and asked for again where the new
curve is near. Equation (P.14).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from rotor_core.clearance.clearances import Clearances
from rotor_core.config.initial import initial_states
from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, cable_paths
from rotor_core.config.vehicles.arm import link_name
from rotor_core.config.vehicles.outline import linked_places
from rotor_core.errors import ContractError
from rotor_core.state import State, V

SAMPLES = 40
"""Places on each segment at which distances are looked at in any case."""

FINE = 10 * SAMPLES
"""Parts of a segment by which its length is measured."""

SPACING = 1.0 / 3.0
"""Way between places near an obstacle, over the clearance: between two it is nearer by 1.4 per cent at most."""

SHORTEST = 0.003
"""Shortest way between places, m."""

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


def _together(model: Model, team: Team) -> tuple[set[str], set[str]]:
    """Entities that move with a team, rigidly or on cables, and the cables between them."""
    linked = {name for v in (team.entity, *team.vehicles) for name in linked_places(model, v)}
    ends = [
        {end.partition("/")[0] for end in (c.a, c.b)} for c in model.cables
    ]  # of links their vehicle
    while True:
        reached = {name for pair in ends if pair & linked for name in pair - {"world"}}
        more = {name for v in reached for name in linked_places(model, v)}
        if more <= linked:
            break
        linked |= more
    named = zip(model.cable_names, model.cables, ends, strict=True)
    # where the masses of a heavy cable at an arm are nobody knows here
    known = [(name, pair) for name, c, pair in named if not (c.mass_kg_per_m and "/" in c.a + c.b)]
    return linked, {name for name, pair in known if pair <= linked}


def _masses(scenario: Scenario, states: np.ndarray) -> np.ndarray:
    """Poses of the masses of heavy cables, (n, 7): along the straight lines between the ends."""
    out = [np.zeros((0, int(V)))]
    paths = cable_paths(scenario.model, states)
    for cable, path in zip(scenario.model.cables, paths, strict=True):
        if cable.mass_kg_per_m:
            share = (np.arange(cable.segments)[:, None] + 0.5) / cable.segments
            poses = np.zeros((cable.segments, int(V)))
            poses[:, :3] = np.nan_to_num(path[0] + share * (path[-1] - path[0]))
            poses[:, 3] = 1.0
            out.append(poses)
    return np.vstack(out)


STANDING, LEAVING = 0.01, 2.0
"""What is this near to something at the start stands on it, m, and is clear of it so many clearances from there."""


class KeepOut:
    """The obstacles of a scenario, as a team feels them; arms are as at the start, and what hangs, hangs as then.

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
        self._poses = np.vstack([states[:, :V], _masses(scenario, states)])
        self._start = State(states[model.index(team.entity)]).position.copy()
        linked, cables = _together(model, team)
        arms = {
            link_name(v.name, k.name) for v in model.vehicles if v.name in linked for k in v.links
        }
        obstacles = {o.name for o in scenario.environment.obstacles}
        self._pairs = {
            g
            for g, (a, b) in enumerate(self._clearances.pairs)
            if a in linked | arms | cables and b in obstacles
        }
        # what stands on something at the start may be near it there, and has to leave it
        touching = self._clearances.distances(self._poses, self._pairs, STANDING)
        self._standing = {names for names, *_ in touching if scenario.environment.contact}
        self._middles = {o.name: np.array(o.position_m) for o in scenario.environment.obstacles}
        self._between: dict[int, list[float]] = {}
        """By segment: normalised times between those places at which the team came too near."""

    def near(
        self, place: np.ndarray, within: float, along: np.ndarray | None = None
    ) -> list[Nearness]:
        """Pairs nearer than ``within``, m, when the planned entity is at ``place`` (3,) m and moves ``along`` (3,)."""
        moved = self._poses.copy()
        moved[:, :3] += place - self._start
        out = []
        for names, distance, (on_team, on_obstacle) in self._clearances.distances(
            moved, self._pairs, within
        ):
            leaving = np.linalg.norm(place - self._start) < LEAVING * self.clearance
            if leaving and names in self._standing:
                continue
            apart = on_team - on_obstacle
            if np.linalg.norm(apart) < 1e-9:
                apart = place - self._middles[names[1]]
                if along is not None and _is_along(apart, along):
                    # straight at its middle: a tenth aside
                    apart = apart + 0.1 * max(np.linalg.norm(apart), 1e-3) * _beside(along)
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
        """Next constraints of a curve, as ``rows @ coefficients <= limits``, and the nearest pair that is too near.

        Args:
            coefficients: (m, 3, n), ascending powers of the normalised time of each segment.
        """
        rows, limits, worst = self._rows_at(coefficients)
        if worst is None and self._look_between(coefficients):
            rows, limits, worst = self._rows_at(coefficients)
        return rows, limits, worst

    def _rows_at(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray, Nearness | None]:
        m, d, n = coefficients.shape
        rows, limits, worst = [], [], None
        wanted = (1.0 + SPARE) * self.clearance
        for i in range(m):
            times = np.append((np.arange(SAMPLES) + 0.5) / SAMPLES, self._between.get(i, []))
            rates = coefficients[i][:, 1:] * np.arange(1, n)
            for power in times[:, None] ** np.arange(n):
                place = coefficients[i] @ power
                along = rates @ power[:-1]
                for found in self.near(place, WATCHED * self.clearance, along):
                    row = np.zeros((d, m, n))
                    row[:, i] = -found.outwards[:, None] * power
                    rows.append(row.ravel())
                    limits.append(found.distance - wanted - found.outwards @ place)
                    if found.distance < self.clearance and (
                        worst is None or found.distance < worst.distance
                    ):
                        worst = found
        return np.array(rows).reshape(-1, d * m * n), np.array(limits), worst

    def _look_between(self, coefficients: np.ndarray) -> bool:
        """Keep when the team comes too near between the places that are looked at; True if it does.

        Of every time that it is too near the one at which it is nearest: from there the way out is across the curve.
        Moved without turning it comes nearer by no more than it moves: far from everything it need not be looked at.
        """
        found = False
        for i, segment in enumerate(coefficients):
            runs = groupby(self._seen_along(segment), key=lambda seen: seen[0] < self.clearance)
            for is_too_near, run in runs:
                if is_too_near:
                    self._between.setdefault(i, []).append(min(run)[1])
                    found = True
        return found

    def _seen_along(self, segment: np.ndarray) -> list[tuple[float, float]]:
        """Distances, m, at normalised times along a segment (3, n): close together only where something is near."""

        def at(times: np.ndarray) -> np.ndarray:
            return (segment @ (times[:, None] ** np.arange(segment.shape[1])).T).T

        def lengths(places: np.ndarray) -> np.ndarray:
            return np.linalg.norm(np.diff(places, axis=0), axis=1)

        evenly = np.linspace(0.0, 1.0, FINE + 1)
        run = np.append(0.0, np.cumsum(lengths(at(evenly))))
        count = int(run[-1] / max(SPACING * self.clearance, SHORTEST)) + 1
        # equal ways, not times: in the middle of a leg it moves at twice its mean speed
        times = np.interp(np.linspace(0.0, run[-1], count + 1), run, evenly)
        places = at(times)
        way = np.append(0.0, np.cumsum(lengths(places)))
        seen, k = [], 0
        while k < len(times):
            nearest = min((x.distance for x in self.near(places[k], np.inf)), default=np.inf)
            seen.append((nearest, float(times[k])))
            ahead = max(nearest - WATCHED * self.clearance, 0.0)
            k = max(k + 1, int(np.searchsorted(way, way[k] + ahead)))
        return seen


def _is_along(way: np.ndarray, along: np.ndarray) -> bool:
    """True if a way hardly leads across a motion."""
    return bool(
        np.linalg.norm(np.cross(way, along)) <= 1e-3 * np.linalg.norm(way) * np.linalg.norm(along)
    )


def _beside(along: np.ndarray) -> np.ndarray:
    """A direction across that of a motion, level if possible."""
    level = np.hypot(*along[:2])
    return (
        np.array([-along[1], along[0], 0.0]) / level if level > 0.0 else np.array([1.0, 0.0, 0.0])
    )
