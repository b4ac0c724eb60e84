"""Distances between vehicles, payloads, cables and obstacles, and the instants at which they meet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from rotor_core.clearance import look as compiled
from rotor_core.clearance.pairs import Names, Owner, Pairs
from rotor_core.clearance.solids import Solid
from rotor_core.config.schema import Scenario
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import STATE, State, V
from rotor_core.vehicles.arm_motion import ArmMotion

BISECTIONS = 30
"""Of the time between two states in which something meets."""


@dataclass(frozen=True)
class Margin:
    """The smallest distance of a pair over a flight, m, and when, s."""

    names: Names
    distance: float
    time: float


Seen = tuple[float, np.ndarray, np.ndarray]
"""Time, states of all and taut cables."""

Change = tuple[int, Seen | None, Seen, bool]
"""A pair (its number) overlaps in a state and did not in the one before (None: there is none), or the reverse."""


@dataclass(frozen=True)
class Meeting:
    """A pair begins to overlap (``begins``) or ends; ``place`` (3,) m in W, between its nearest points."""

    names: Names
    time: float
    begins: bool
    place: tuple[float, float, float]


class Clearances:
    """Distances of the pairs of a scenario that nothing else keeps apart, from states in blocks of any length (G.4).

    Vehicles, links of arms, payloads and taut cables against obstacles, each other and the ground. Left out are
    pairs that are joined, slack cables, which have no shape, links of one vehicle against each other, and what arms are
    there to touch. Where only meetings are looked for, those that contact holds apart are left out too, but for rotors.

    Args:
        scenario: who is there.
        margins: whether :attr:`margins` are wanted; without them only what touches, and nothing stops, is looked at.
        parted: pairs of entities that are joined at the start, to be looked at all the same.

    Attributes:
        pairs: names of every pair.
        tied: those of a cable and what it is tied to, which are always near.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        margins: bool = True,
        parted: frozenset[frozenset[str]] = frozenset(),
    ) -> None:
        self._arms = ArmMotion(scenario.model)
        found = Pairs(scenario, self._arms, resisted=margins, parted=parted)
        self.pairs: tuple[Names, ...] = tuple(found.groups)
        self.tied = frozenset(found.tied)
        self._margins = margins
        solids, owners = found.solids, found.owners
        ends = np.cumsum([0, *(len(s.points) for s in solids)])
        self._solids = np.array(
            [(a, b, s.bodies[0]) for a, b, s in zip(ends[:-1], ends[1:], solids, strict=True)],
            np.int64,
        ).reshape(-1, 3)
        self._numbers = np.array([(*s.axis, s.disc, s.ball, *s.short) for s in solids]).reshape(
            -1, 7
        )
        self._points = np.vstack([np.zeros((0, 3)), *(s.points for s in solids)])
        self._bodies = np.concatenate([np.zeros(0, np.int64), *(s.bodies for s in solids)]).astype(
            np.int64
        )
        self._owners = np.array(
            [(o.body, o.first, o.end, o.cable) for o in owners], np.int64
        ).reshape(-1, 4)
        self._owner_balls = np.array([_ball(o, solids) for o in owners]).reshape(-1, 4)
        sizes = [o.end - o.first for o in owners]
        counts = [sizes[a] * sizes[b] for a, b in found.groups.values()]
        firsts = np.cumsum([0, *counts])
        self._groups = np.array(
            [
                (*group, first)
                for group, first in zip(found.groups.values(), firsts[:-1], strict=True)
            ],
            np.int64,
        ).reshape(-1, 3)
        self._ways = np.zeros((int(firsts[-1]), 3))
        self._placed, self._where = self._points.copy(), np.zeros((len(solids), 7))
        self._balls, self._is_placed = np.zeros((len(owners), 4)), np.zeros(len(owners), np.int64)
        self._work, self._nearest = np.zeros((14, 4)), np.zeros((2, 3))
        nobody = np.zeros((1, int(V)))
        for o in owners:
            if o.body == compiled.STANDS:
                compiled.place_all(
                    self._solids, self._numbers, self._points, self._bodies, nobody, o.first, o.end, self._placed,
                    self._where,
                )  # fmt: skip
        self._n_cables = len(scenario.model.cables)
        self._arms.behind(np.zeros((0, len(scenario.model.entities), int(STATE))))  # loaded now
        self.reset()
        self._look(
            np.zeros((0, 1, int(V))), np.zeros((0, 0), bool)
        )  # loaded now, not in the first period
        if self.pairs:
            self._load_meetings()

    def reset(self) -> None:
        """Begin anew: nothing has been seen."""
        n = len(self.pairs)
        self._best = np.full(n, np.inf) if self._margins else np.zeros(n)
        self._best_row = np.zeros(n, np.int64)
        self._times: list[np.ndarray] = []
        self._rows = 0
        self._touching = np.zeros(n, bool)
        self._ways[:] = 0.0
        self._last: Seen | None = None

    def go_on_after(self, other: Clearances) -> None:
        """Take up what another has seen of the same bodies; pairs that it does not have count as overlapping so far."""
        touching = dict(zip(other.pairs, other._touching.tolist(), strict=True))
        self._touching[:] = [touching.get(names, True) for names in self.pairs]
        self._last = other._last

    def see(
        self,
        time: np.ndarray,
        states: np.ndarray,
        taut: np.ndarray,
        joints: np.ndarray | None = None,
    ) -> list[Meeting]:
        """Take up states.

        Args:
            time: (N,) s.
            states: of the entities and then the masses of heavy cables, (N, n, 13).
            taut: which cables pull, (N, n_cables).
            joints: angles and rates of arms, (N, n_joints, 2) rad and rad/s, or m and m/s; None: as at the start.

        Returns:
            What has begun or ceased to overlap since the last state.
        """
        changes = self.changes(time, states, taut, joints)
        return sorted((self.meeting(change) for change in changes), key=lambda m: m.time)

    def changes(
        self,
        time: np.ndarray,
        states: np.ndarray,
        taut: np.ndarray,
        joints: np.ndarray | None = None,
    ) -> list[Change]:
        """Changes that :meth:`see` sees, in the order of the states, without place and exact time (:meth:`meeting`).

        That takes a quarter of a millisecond each, which a loop in real time must spread.
        """
        if not len(time) or not self.pairs:
            return []
        states = self._arms.behind(states, joints)
        poses = np.ascontiguousarray(states[:, :, :V])
        out = self._look(poses, np.ascontiguousarray(taut, bool))
        if self._margins:
            self._times.append(np.array(time, float))
            self._rows += len(time)

        def seen(s: int) -> Seen:
            return float(time[s]), np.array(states[s]), np.array(taut[s])

        touching = out <= 0.0
        before = np.vstack([self._touching[None], touching[:-1]])
        found = [
            (int(g), seen(s - 1) if s else self._last, seen(s), bool(touching[s, g]))
            for s, g in np.argwhere(touching != before)
        ]
        self._touching, self._last = touching[-1].copy(), seen(-1)
        return found

    def _look(self, poses: np.ndarray, taut: np.ndarray) -> np.ndarray:
        """Distances of all pairs in a row of states, (N, n_pairs) m; see :func:`rotor_core.clearance.look.look`."""
        out = np.empty((len(poses), len(self.pairs)))
        compiled.look(
            poses, taut, self._solids, self._numbers, self._points, self._bodies,
            self._owners, self._owner_balls, self._groups, self._rows, self._placed, self._where, self._balls,
            self._is_placed, self._ways, self._work, self._nearest, self._best, self._best_row, out,
        )  # fmt: skip
        return out

    @property
    def margins(self) -> list[Margin]:
        """The smallest distance of every pair so far, the smallest first; without pairs never seen."""
        times = np.concatenate([np.zeros(0), *self._times])
        found = [
            Margin(names, float(self._best[g]), float(times[self._best_row[g]]))
            for g, names in enumerate(self.pairs)
            if self._margins and np.isfinite(self._best[g])
        ]
        return sorted(found, key=lambda m: m.distance)

    def distances(
        self, poses: np.ndarray, groups: Collection[int], within: float
    ) -> list[tuple[Names, float, np.ndarray]]:
        """Pairs nearer than ``within``, m, in one state: distance, m, and nearest points on the hulls, (2, 3) m.

        Args:
            poses: of the entities and the masses of heavy cables, (n, 7); all cables count as taut, arms are as at the
                start.
            groups: numbers of the pairs to look at.
            within: m.
        """
        poses = self._with_arms(poses)
        found = ((self.pairs[g], *self._nearest_of(g, poses)) for g in groups)
        return [(names, d, points) for names, d, points in found if d < within]

    def within(self, poses: np.ndarray, limit: float) -> np.ndarray:
        """Distances of all pairs in one state, (n_pairs,) m: exact below ``limit``, elsewhere some that are not below.

        Args:
            poses: of the entities and the masses of heavy cables, (n, 7); all cables count as taut, arms are as at the
                start.
            limit: m.
        """
        poses = self._with_arms(poses)
        best = self._best.copy(), self._best_row.copy()
        self._best[:] = limit
        taut = np.ones((1, self._n_cables), bool)
        out = self._look(np.ascontiguousarray(poses[None, :, :V]), taut)[0]
        self._best[:], self._best_row[:] = best
        return out

    def _with_arms(self, poses: np.ndarray) -> np.ndarray:
        """Poses with those of the links of arms behind them, as at the start."""
        if not self._arms.n:
            return poses
        states = np.zeros((1, len(poses), int(STATE)))
        states[0, :, :V] = poses[:, :V]
        return self._arms.behind(states)[0, :, :V]

    def _scene(self, group: int) -> tuple:
        """What the compiled functions for one pair take of all solids; scratch at the end."""
        a, b, _ = self._groups[group]
        return (
            self._solids, self._numbers, self._points, self._bodies, self._owners, a, b, self._placed, self._where,
            self._work, self._nearest,
        )  # fmt: skip

    def _nearest_of(self, group: int, poses: np.ndarray) -> tuple[float, np.ndarray]:
        found = np.zeros((2, 3))
        poses = np.ascontiguousarray(poses[:, :V])
        return float(compiled.nearest_of_group(poses, *self._scene(group), found)), found

    def _load_meetings(self) -> None:
        """Load what the first meeting needs, which would be late in real time."""
        anywhere = np.zeros((1 + int(self._bodies.max(initial=0)), int(STATE)))
        State(anywhere).attitude[:, 0] = 1.0
        taut = np.ones(self._n_cables, bool)
        self.meeting((0, (0.0, anywhere, taut), (1.0, anywhere, taut), True))

    def meeting(self, change: Change) -> Meeting:
        """Time and place of a meeting between two states."""
        group, there, here, begins = change
        t, states, taut = here
        cables = {int(self._owners[o, compiled.OWNER_CABLE]) for o in self._groups[group, :2]}
        whole = all(k < 0 or (there is not None and there[2][k] and taut[k]) for k in cables)
        if there is not None and whole and there[0] < t:
            start, end = np.ascontiguousarray(there[1]), np.ascontiguousarray(states)
            before, after = (rotation_from(State(s).attitude) for s in (start, end))
            turns = (before.inv() * after).as_rotvec()
            poses, points = np.empty((len(start), int(V))), np.zeros((2, 3))
            share = compiled.find_meeting(
                start, end, t - there[0], turns, begins, BISECTIONS, poses, *self._scene(group), points
            )  # fmt: skip
            t = there[0] + share * (t - there[0])
        else:  # it was there at once: put there, or drawn taut there
            points = self._nearest_of(group, states)[1]
        place = points.mean(axis=0)
        return Meeting(self.pairs[group], t, begins, tuple(float(x) for x in place))  # type: ignore[arg-type]


def _ball(owner: Owner, solids: list[Solid]) -> tuple[float, float, float, float]:
    """Middle and radius of a ball about its solids: of a body about its origin, of a cable nothing yet."""
    own = solids[owner.first : owner.end]
    if owner.body == compiled.STRETCHED_OUT:
        return 0.0, 0.0, 0.0, 0.0
    points = np.vstack([s.points for s in own])
    middle = points.mean(axis=0) if owner.body == compiled.STANDS else np.zeros(3)
    reach = max(
        float(np.linalg.norm(s.points - middle, axis=1).max()) + s.disc + s.ball for s in own
    )
    x, y, z = middle
    return float(x), float(y), float(z), reach
