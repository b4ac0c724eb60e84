"""How near vehicles, payloads, cables and obstacles come to each other, and when they meet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from rotor_core.clearance import look as compiled
from rotor_core.clearance.solids import (
    Solid,
    cable_solids,
    depth_inside,
    ground_solid,
    hull_of_vehicle,
    obstacle_solids,
    payload_solid,
    rotor_discs,
    shrunk,
)
from rotor_core.config.model import Payload, Vehicle
from rotor_core.config.obstacles.obstacle import Obstacle
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.outline import linked_places
from rotor_core.state import State, V

GROUND = "ground"
"""Name of the ground in a pair."""

OFF_THE_SURFACE = 0.02
"""A cable is looked at from this share of its part on where it leaves its own payload."""

INSIDE = 1e-9
"""A point deeper than this inside a payload is where a cable is tied inside it, m."""

BISECTIONS = 30
"""Of the time between two states in which something meets."""

Names = tuple[str, str]


@dataclass(frozen=True)
class Margin:
    """The smallest distance of a pair over a flight, m, and when, s."""

    names: Names
    distance: float
    time: float


@dataclass(frozen=True)
class Meeting:
    """A pair begins to overlap (``begins``) or ends; ``place`` (3,) m in W, between its nearest points."""

    names: Names
    time: float
    begins: bool
    place: tuple[float, float, float]


class Clearances:
    """Distances of the pairs of a scenario that nothing else keeps apart, from states in blocks of any length (G.4).

    Vehicles, payloads and taut cables against obstacles, each other and the ground. Left out are pairs that are
    joined, those that contact holds apart (payloads and boxes, feet and the ground), slack cables, which have no
    shape, and cables at links of arms.

    Args:
        scenario: who is there.

    Attributes:
        pairs: names of every pair.
        tied: those of a cable and what it is tied to, which are always near.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._found = _Pairs(scenario)
        self.pairs: tuple[Names, ...] = tuple(self._found.groups)
        self.tied = frozenset(self._found.tied)
        solids = sorted(
            range(len(self._found.solids)),
            key=lambda i: bool((self._found.solids[i].bodies < 0).all()),
        )
        place = {old: new for new, old in enumerate(solids)}
        listed = [self._found.solids[i] for i in solids]
        self._n_moving = sum(bool((s.bodies >= 0).any()) for s in listed)
        ends = np.cumsum([0, *(len(s.points) for s in listed)])
        self._solids = np.array(
            [
                (a, b, s.bodies[0], s.cable)
                for a, b, s in zip(ends[:-1], ends[1:], listed, strict=True)
            ],
            np.int64,
        ).reshape(-1, 4)
        self._numbers = np.array([(*s.axis, s.disc, s.ball, *s.short) for s in listed]).reshape(
            -1, 7
        )
        self._points = np.vstack([np.zeros((0, 3)), *(s.points for s in listed)])
        self._bodies = np.concatenate([np.zeros(0, np.int64), *(s.bodies for s in listed)]).astype(
            np.int64
        )
        self._table = np.array(
            [(place[i], place[j], g) for i, j, g in self._found.table], np.int64
        ).reshape(-1, 3)
        self._placed, self._where = self._points.copy(), np.zeros((len(listed), 7))
        self._work, self._nearest = np.zeros((14, 4)), np.zeros((2, 3))
        self.reset()

    def reset(self) -> None:
        """Begin anew: nothing has been seen."""
        n = len(self.pairs)
        self._best, self._best_row = np.full(n, np.inf), np.zeros(n, np.int64)
        self._times: list[np.ndarray] = []
        self._rows = 0
        self._touching = np.zeros(n, bool)
        self._ways = np.zeros((len(self._table), 3))
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None
        nobody = np.zeros((1, int(V)))
        compiled.place_all(
            self._solids, self._numbers, self._points, self._bodies, nobody, self._n_moving, len(self._solids),
            self._placed, self._where,
        )  # fmt: skip

    def see(self, time: np.ndarray, states: np.ndarray, taut: np.ndarray) -> list[Meeting]:
        """Take up states.

        Args:
            time: (N,) s.
            states: of the entities and then the masses of heavy cables, (N, n, 13).
            taut: which cables pull, (N, n_cables).

        Returns:
            What has begun or ceased to overlap since the last state.
        """
        if not len(time) or not self.pairs:
            return []
        poses = np.ascontiguousarray(states[:, :, :V])
        out = np.empty((len(time), len(self.pairs)))
        compiled.look(
            poses, np.ascontiguousarray(taut, bool), self._solids, self._numbers, self._points, self._bodies,
            self._n_moving, self._table, self._rows, self._placed, self._where, self._ways, self._work, self._nearest,
            self._best, self._best_row, out,
        )  # fmt: skip
        self._times.append(np.array(time, float))
        self._rows += len(time)
        meetings = []
        touching = out <= 0.0
        before = np.vstack([self._touching[None], touching[:-1]])
        for s, g in np.argwhere(touching != before):
            here = (float(time[s]), states[s], taut[s])
            there = (float(time[s - 1]), states[s - 1], taut[s - 1]) if s else self._last
            meetings.append(self._meet(int(g), there, here, bool(touching[s, g])))
        self._touching = touching[-1].copy()
        self._last = float(time[-1]), np.array(states[-1]), np.array(taut[-1])
        return sorted(meetings, key=lambda m: m.time)

    @property
    def margins(self) -> list[Margin]:
        """The smallest distance of every pair so far, the smallest first; without pairs never seen."""
        times = np.concatenate([np.zeros(0), *self._times])
        found = [
            Margin(names, float(self._best[g]), float(times[self._best_row[g]]))
            for g, names in enumerate(self.pairs)
            if np.isfinite(self._best[g])
        ]
        return sorted(found, key=lambda m: m.distance)

    def distances(
        self, poses: np.ndarray, groups: Collection[int], within: float
    ) -> list[tuple[Names, float, np.ndarray]]:
        """Pairs nearer than ``within``, m, in one state: distance, m, and nearest points on the hulls, (2, 3) m.

        Args:
            poses: of the entities and the masses of heavy cables, (n, 7); all cables count as taut.
            groups: numbers of the pairs to look at.
            within: m.
        """
        self._put(poses)
        found = ((self.pairs[g], *self._nearest_of(g)) for g in groups)
        return [(names, d, points) for names, d, points in found if d < within]

    def _put(self, poses: np.ndarray) -> None:
        compiled.place_all(
            self._solids, self._numbers, self._points, self._bodies, np.ascontiguousarray(poses[:, :V]),
            0, self._n_moving, self._placed, self._where,
        )  # fmt: skip

    def _nearest_of(self, group: int) -> tuple[float, np.ndarray]:
        found = np.zeros((2, 3))
        rows = self._table[self._table[:, 2] == group]
        d = compiled.nearest_of_group(
            self._solids,
            self._numbers,
            rows,
            group,
            self._placed,
            self._where,
            self._work,
            self._nearest,
            found,
        )
        return float(d), found

    def _meet(self, group: int, there: tuple | None, here: tuple, begins: bool) -> Meeting:
        """When and where, between two states: places by cubics, attitudes by slerp."""
        t, states, taut = here
        cables = {int(self._solids[i, compiled.CABLE]) for i, _, g in self._table if g == group}
        whole = all(k < 0 or (there is not None and there[2][k] and taut[k]) for k in cables)
        if there is not None and whole and there[0] < t:
            between = _Between(there[0], there[1], t, states)
            low, high = 0.0, 1.0
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                self._put(between(middle))
                if (self._nearest_of(group)[0] <= 0.0) == begins:
                    high = middle
                else:
                    low = middle
            self._put(between(high))
            t = there[0] + high * (t - there[0])
        else:  # it was there at once: put there, or drawn taut there
            self._put(states)
        place = self._nearest_of(group)[1].mean(axis=0)
        return Meeting(self.pairs[group], t, begins, tuple(float(x) for x in place))  # type: ignore[arg-type]


class _Between:
    """Poses between two states of a step."""

    def __init__(self, t0: float, a: np.ndarray, t1: float, b: np.ndarray) -> None:
        ends = State(np.stack([a, b]))
        self._path = CubicHermiteSpline([0.0, 1.0], ends.position, (t1 - t0) * ends.velocity)
        turns = ends.attitude.swapaxes(0, 1)
        self._turns = [Slerp([0.0, 1.0], Rotation.from_quat(q, scalar_first=True)) for q in turns]

    def __call__(self, share: float) -> np.ndarray:
        q = [turn([share])[0].as_quat(scalar_first=True) for turn in self._turns]
        return np.column_stack([self._path(share), q])


class _Pairs:
    """The solids of a scenario, and which of them can meet."""

    def __init__(self, scenario: Scenario) -> None:
        model, environment = scenario.model, scenario.environment
        self.solids: list[Solid] = []
        self.groups: dict[Names, int] = {}
        self.table: list[tuple[int, int, int]] = []
        self.tied: set[Names] = set()
        self._model = model
        rows = {e.name: i for i, e in enumerate(model.entities)}
        self._rows = rows
        self._discs = {v.name: self._add(rotor_discs(v, rows[v.name])) for v in model.vehicles}
        hulls = {v.name: self._add([hull_of_vehicle(v, rows[v.name])]) for v in model.vehicles}
        self._whole = {name: self._discs[name] + hull for name, hull in hulls.items()}
        self._whole |= {p.name: self._add([payload_solid(p, rows[p.name])]) for p in model.payloads}
        standing = {o.name: self._add(obstacle_solids(o)) for o in environment.obstacles}
        carries = environment.contact is not None
        self._entities(environment.obstacles, standing, carries)
        ground = self._add([ground_solid(environment.ground_m)]) if carries else []
        self._cables(standing, ground)

    def _add(self, solids: list[Solid]) -> list[int]:
        first = len(self.solids)
        self.solids += solids
        return list(range(first, len(self.solids)))

    def _pair(self, a: str, b: str, first: list[int], second: list[int]) -> None:
        if first and second:
            group = self.groups.setdefault((a, b), len(self.groups))
            self.table += [(i, j, group) for i in first for j in second]

    def _entities(
        self, obstacles: tuple[Obstacle, ...], standing: dict[str, list[int]], carries: bool
    ) -> None:
        for i, entity in enumerate(self._model.entities):
            a = entity.name
            for obstacle in obstacles:
                held_off = carries and bool(obstacle.boxes)
                self._pair(a, obstacle.name, self._part(entity, held_off), standing[obstacle.name])
            linked = linked_places(self._model, a)
            for other in self._model.entities[:i]:
                held_off = carries and Payload in (type(entity), type(other))
                if other.name not in linked:
                    parts = (self._part(e, held_off) for e in (other, entity))
                    self._pair(other.name, a, *parts)

    def _part(self, entity: Vehicle | Payload, held_off: bool) -> list[int]:
        """Solids of an entity that can pass through something; of what contact holds off only the rotors can."""
        if held_off:
            return self._discs.get(entity.name, [])
        return self._whole[entity.name]

    def _cables(self, standing: dict[str, list[int]], ground: list[int]) -> None:
        first_mass = len(self._rows)
        for k, (name, cable) in enumerate(
            zip(self._model.cable_names, self._model.cables, strict=True)
        ):
            n = cable.segments if cable.mass_kg_per_m else 0
            masses = list(range(first_mass, first_mass + n))
            first_mass += n
            parts = self._add(cable_solids(cable, k, self._rows, masses))
            if not parts:
                continue
            around = {peg.obstacle for peg in cable.around}
            for obstacle, solids in standing.items():
                if obstacle not in around:
                    self._pair(name, obstacle, parts, solids)
            if not n:  # masses lie on the ground
                self._pair(name, GROUND, parts, ground)
            ends = {body for body, _ in cable.path}
            for entity in self._rows:
                if entity not in ends:
                    self._pair(name, entity, parts, self._whole[entity])
                    continue
                self.tied.add((name, entity))
                if entity in self._discs:
                    self._pair(name, entity, parts, self._discs[entity])
                else:
                    self._own_payload(name, entity, parts)

    def _own_payload(self, cable: str, name: str, parts: list[int]) -> None:
        """A cable against the payload that it is tied to, or runs through: from a bit beside its surface on."""
        payload = self._model.entities[self._rows[name]]
        assert isinstance(payload, Payload)
        row = self._rows[name]
        for i in parts:
            solid = self.solids[i]
            on_it = solid.bodies == row
            if on_it.all() or any(depth_inside(payload, p) > INSIDE for p in solid.points[on_it]):
                continue
            first, last = (OFF_THE_SURFACE if there else 0.0 for there in on_it)
            part = self._add([replace(solid, short=(first, last))])
            self._pair(cable, name, part, self._add([shrunk(payload_solid(payload, row))]))
