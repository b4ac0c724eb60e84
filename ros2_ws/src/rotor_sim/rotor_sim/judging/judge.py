"""Judge of a flight, while it lasts or afterwards: is anything lost, slack, or at its limits, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, attachment_points, teams
from rotor_core.plans.registry import PlanRegistry
from rotor_core.reference import Reference
from rotor_core.state import State
from rotor_dynamics.hybrid.events import PARTS, PASSES_THROUGH, Event
from rotor_sim.judging.reach import reaches
from rotor_sim.judging.rotor_demand import RotorDemand
from rotor_sim.judging.slack_times import SlackTimes
from rotor_sim.judging.verdict import Verdict

TOUCH_WINDOW = 0.1
"""Speed of a touchdown: the largest downwards within this time before it, s."""


FALLS = 2.0
"""Downwards faster than this what has never had its motors on is not put down somewhere, but falls, m/s."""


LEVEL, SPREAD = 3, 1e-3
"""Cables that hold a payload level, and how far their points are apart across a line, m."""


@dataclass(eq=False)
class _Follower:
    """An entity that follows references: the planned one of a team, or a vehicle that flies alone at times.

    Attributes:
        row: of its states.
        vehicles: that carry it.
        last, farthest: distances from its reference, m.
        until: when it had a reference last, s.
    """

    name: str
    row: int
    vehicles: tuple[str, ...]
    last: float = np.nan
    farthest: float = 0.0
    until: float = np.nan


def _held_level(model: Model, every: Sequence[Team]) -> dict[int, set[int]]:
    """Cables that hold payloads level, by the row of the payload: three or more, to points that span a plane."""
    held = {}
    for team in every:
        if team.payload is None or len(team.cables) < LEVEL:
            continue
        points, row = attachment_points(model, team), model.index(team.payload)
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        if spread[1] > SPREAD and model.entities[row].inertia_kg_m2 is not None:
            held[row] = set(team.cables)
    return held


class Judge:
    """Judges a flight by the criteria of its scenario, from samples in blocks of any length.

    Attributes:
        demand: on the rotors.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._criteria, self._scenario = scenario.verdict, scenario
        model = scenario.model
        self._vehicles = [v.name for v in model.vehicles]
        self._fixed = {"world": "the ground"} | {
            o.name: o.name for o in scenario.environment.obstacles
        }
        self._teams = teams(model)
        singles = list(PlanRegistry(model).singles)
        members = {team.entity: team.vehicles for team in self._teams}
        members |= {name: (name,) for name in singles}
        self._followers = [
            _Follower(name, model.index(name), vehicles) for name, vehicles in members.items()
        ]
        self._reaches = reaches(model, self._teams)
        self._on_cables = [
            (
                i,
                team,
                [model.index(v) for v in team.vehicles],
                [singles.index(v) for v in team.vehicles],
            )
            for i, team in enumerate(self._teams)
            if team.cables
        ]
        self._cable_names = model.cable_names
        self._names = [e.name for e in model.entities]
        self._held_level = _held_level(model, self._teams)
        self._slack = SlackTimes(len(model.cables))
        self.demand = RotorDemand(scenario)
        self._begin = np.nan
        self._lost: tuple[float, str, int] | None = None
        """When, in words, and the number of the follower whose distance goes on growing; -1: none."""
        self._end = np.nan
        self._touching: set[tuple[str, ...]] = set()
        self._touchdown = 0.0
        self._falling = np.zeros((0, 1 + len(self._vehicles)))
        self._flew = self._is_off = False

    def see(
        self,
        time: np.ndarray,
        states: np.ndarray,
        references: np.ndarray,
        wrenches: np.ndarray,
        slack: np.ndarray,
        events: Sequence[Event],
    ) -> None:
        """Take up samples; commands go to :attr:`demand`.

        Args:
            time: (N,) s.
            states: true ones, (N, n_entities, >= 13).
            references: of all teams, and of vehicles that fly alone at times if anybody knows theirs,
                (N, n_teams or n_planned, 28); NaN where nothing is known.
            wrenches: commands, (N, n_vehicles, 4): without any motors are off.
            slack: cables that are not cut and do not pull, (N, n_cables).
            events: hybrid events of this stretch of time.
        """
        if not len(time):
            return
        if np.isnan(self._begin):
            self._begin = float(time[0])
        self._end = float(time[-1])
        runs = np.any(wrenches != 0.0, axis=2)
        self._see_errors(time, states, references, np.any(runs, axis=1), events)
        self._see_strays(time, states, references, runs)
        self._see_tilt(time, states, events)
        self._see_touches(time, states, events)
        self._see_slack(time, references, runs, slack, events)
        self._flew |= bool(np.any(runs))
        self._is_off = not np.any(runs[-1])

    def _lose(self, time: float, text: str, follower: int = -1) -> None:
        """Something is lost, or who follows a reference, whose distance goes on growing; the first loss counts."""
        if self._lost is None or time < self._lost[0]:
            self._lost = time, text, follower

    def _see_errors(
        self,
        time: np.ndarray,
        states: np.ndarray,
        references: np.ndarray,
        runs: np.ndarray,
        events: Sequence[Event],
    ) -> None:
        """Errors count while motors run and where they have stopped in the air, not before a start or on the ground."""
        flew = self._flew | np.logical_or.accumulate(runs)
        for i, one in enumerate(self._followers[: references.shape[1]]):
            told = np.flatnonzero(~np.isnan(references[:, i, 0]))
            if not len(told):
                continue
            one.until = float(time[told[-1]])
            stands = [self._stands(v, time, events) for v in one.vehicles]
            falls = State(states).velocity[:, one.row, 2] < -FALLS
            counts = runs | ((flew | falls) & ~np.any(stands, axis=0))
            apart = Reference(references[:, i]).position - State(states).position[:, one.row]
            error = np.where(counts, np.linalg.norm(apart, axis=1), np.nan)
            known = np.flatnonzero(~np.isnan(error))  # an infinite one is one
            if not len(known):
                continue
            one.last = float(error[known[-1]])
            one.farthest = max(one.farthest, float(error[known].max()))
            limit = self._criteria.error_m
            if limit is not None and (over := known[error[known] > limit]).size:
                self._lose(float(time[over[0]]), "", i)

    def _see_strays(
        self, time: np.ndarray, states: np.ndarray, references: np.ndarray, runs: np.ndarray
    ) -> None:
        """Vehicles whose cable no longer holds them while their law believes that it does.

        None can be farther from where its payload should be than this may miss its place by, and the cable reaches.
        """
        limit = self._criteria.error_m
        if limit is None:
            return
        singles = references[:, len(self._teams) :, 0]
        for i, team, rows, own in self._on_cables:
            known = np.flatnonzero(~np.isnan(references[:, i, 0]))
            if not len(known):
                continue
            places = State(states[known][:, rows]).position
            apart = np.linalg.norm(
                Reference(references[known, i]).position[:, None] - places, axis=2
            )
            apart[~runs[known][:, rows]] = np.nan
            if singles.shape[1]:
                apart[~np.isnan(singles[known][:, own])] = np.nan  # they follow plans of their own
            for k, name in enumerate(team.vehicles):
                if (over := np.flatnonzero(apart[:, k] > limit + self._reaches[name])).size:
                    far = _length(apart[over[0], k])
                    text = f"{name} {far} from where {team.entity} should be: out of reach"
                    self._lose(float(time[known[over[0]]]), text)

    def _see_tilt(self, time: np.ndarray, states: np.ndarray, events: Sequence[Event]) -> None:
        if self._criteria.tilt_deg is None:
            return
        until = dict.fromkeys(range(len(self._vehicles)), np.inf)
        for row, cables in self._held_level.items():
            until[row] = np.inf if len(cables) >= LEVEL else -np.inf
            for event in events:
                if event.type in PARTS:
                    cables.difference_update(event.cables)
                    if len(cables) < LEVEL:
                        until[row] = min(until[row], event.time)
        if not until:
            return
        tilt, limit = State(states[:, list(until)]).tilt, self._criteria.tilt_deg
        counts = time[:, None] < np.array(list(until.values()))
        over = np.argwhere((tilt > np.radians(limit)) & counts)
        if len(over):
            i, k = over[0]
            name = self._names[list(until)[k]]
            self._lose(float(time[i]), f"{name} tilted beyond {limit:g} deg")

    def _see_touches(self, time: np.ndarray, states: np.ndarray, events: Sequence[Event]) -> None:
        n = len(self._vehicles)
        falling = np.column_stack([time, -State(states).velocity[:, :n, 2]])
        falling = np.vstack([self._falling, falling])
        for event in events:
            if event.cause == PASSES_THROUGH and event.type == "touch":
                if not self._criteria.may_touch:
                    self._lose(event.time, "{} went through {}".format(*event.bodies))
                continue
            if event.type != "touch" or not event.bodies or event.bodies[0] not in self._vehicles:
                continue
            hit = [self._fixed[body] for body in event.bodies[1:] if body in self._fixed]
            if not hit:
                continue
            k = self._vehicles.index(event.bodies[0])
            before = (falling[:, 0] >= event.time - TOUCH_WINDOW) & (falling[:, 0] <= event.time)
            speed = float(falling[before, 1 + k].max(initial=0.0))
            self._touchdown = max(self._touchdown, speed)
            limit = self._criteria.touchdown_m_s
            if limit is not None and speed > limit:
                self._lose(event.time, f"{self._vehicles[k]} hit {hit[0]} at {speed:.2f} m/s")
        self._falling = falling[falling[:, 0] > time[-1] - 2.0 * TOUCH_WINDOW]

    def _see_slack(
        self,
        time: np.ndarray,
        references: np.ndarray,
        runs: np.ndarray,
        slack: np.ndarray,
        events: Sequence[Event],
    ) -> None:
        """Cables that should pull: motors on, the payload in the air, its vehicles flying as a team."""
        counts = np.zeros_like(slack, bool)
        for i, team in enumerate(self._teams):
            if not team.cables:
                continue
            held = self._stands(str(team.payload), time, events)
            if self._scenario.mission is not None:  # its vehicles may fly alone
                held |= np.isnan(references[:, i, 0])
            for k, vehicle in zip(team.cables, team.vehicles, strict=True):
                counts[:, k] = slack[:, k] & ~held & runs[:, self._vehicles.index(vehicle)]
        for event in events:
            _follow_touch(self._touching, event)
        self._slack.see(time, counts)

    def _stands(self, name: str, time: np.ndarray, events: Sequence[Event]) -> np.ndarray:
        """Samples in which an entity touches something, (N,)."""
        touching = {bodies for bodies in self._touching if name in bodies}
        out = np.full(len(time), bool(touching))
        for event in events:
            if name in event.bodies and _follow_touch(touching, event):
                out[time >= event.time] = bool(touching)
        return out

    def verdict(self) -> Verdict:
        """Verdict on what has been seen."""
        if lost := self._loss():
            return lost
        if limits := self._limits():
            return limits
        if self._flew and self._is_off and self._all_stand():
            return Verdict("landed", f"motors off, touched down at {self._touchdown:.2f} m/s")
        if self._criteria.error_m is None:
            return Verdict("flown")
        n = len(self._teams)
        planned, alone = (
            [one for one in some if np.isfinite(one.last)]
            for some in (self._followers[:n], self._followers[n:])
        )
        more = f", the farthest of {len(alone)} that flew alone" if len(alone) > 1 else ""
        parts = [self._told(one) for one in planned]
        if alone:
            parts.append(self._told(max(alone, key=lambda one: one.farthest)) + more)
        return Verdict("flown", "; ".join(parts))

    def _told(self, one: _Follower) -> str:
        """How far somebody was from its reference, in words."""
        most = _length(one.farthest)
        if one.until < self._end:  # such as a payload until its release
            return f"{one.name} {most} from its reference at most, until {one.until - self._begin:.2f} s"
        return f"{one.name} {_length(one.last)} from its reference at the end, {most} at most"

    def _all_stand(self) -> bool:
        """Every vehicle touches something: what stops its motors in the air has not landed."""
        return all(any(v in bodies for bodies in self._touching) for v in self._vehicles)

    def _loss(self) -> Verdict | None:
        longest, limit = self._slack.longest, self._criteria.slack_s
        if limit is not None:
            for k in np.flatnonzero(longest > limit):
                text = f"{self._cable_names[k]} slack for {longest[k]:.1f} s"
                self._lose(float(self._slack.longest_at[k]) + limit, text)
        if self._lost is None:
            return None
        when, text, follower = self._lost
        if follower >= 0:
            one = self._followers[follower]
            text = f"{one.name} up to {_length(one.farthest)} from its reference"
        return Verdict("lost", text, max(0.0, when - self._begin))

    def _limits(self) -> Verdict | None:
        demand, limit = self.demand, self._criteria.limited_s
        if limit is None:
            return None
        over = np.flatnonzero(demand.periods * self._scenario.time.control_s > limit)
        if not len(over):
            return None
        k = int(over[np.argmax(demand.periods[over])])
        since = float(np.nan_to_num(demand.begin[k] - self._begin))
        others = f"; {len(over) - 1} more" if len(over) > 1 else ""
        text = f"{demand.text(k)} from {since:.1f} s on, {demand.periods[k]} periods{others}"
        return Verdict("limits", text)


def _follow_touch(touching: set[tuple[str, ...]], event: Event) -> bool:
    """Take up an event into the set of those that touch; False if it is no touch, or nothing resists it."""
    if event.cause == PASSES_THROUGH:
        return False
    if event.type == "touch":
        touching.add(event.bodies)
    elif event.type == "leave":
        touching.discard(event.bodies)
    return event.type in ("touch", "leave")


def _length(metres: float) -> str:
    """A distance to three digits: mm below a metre, km from one on."""
    if metres < 1.0:
        return f"{1e3 * metres:.3g} mm"
    return f"{metres:.3g} m" if metres < 1e3 else f"{metres / 1e3:.3g} km"
