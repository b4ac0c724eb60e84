"""Terms of costs and constraints at nodes of a trajectory; see :class:`rotor_flight.optimal.ddp.Term`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from transforms3d.quaternions import qmult, quat2mat

from rotor_core.clearance.clearances import Clearances
from rotor_core.config.schema import Scenario
from rotor_core.math.rotations import cross_matrix
from rotor_core.state import OMEGA, P, Q, V
from rotor_dynamics.sensitivities.shooting import Shooting
from rotor_flight.optimal.ddp import Node, Term

FINE = 1e-6
"""Half step of differences of distances, m and rad."""

LEAST_THRUST = 1e-3
"""The root of a thrust has no slope at zero: smaller ones count as this, N."""

REMEMBERED = 4096
"""States whose distances are kept: cost, slopes and violation of one flight ask for the same."""


AT_CENTRE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
"""Pose of a body in itself."""


@dataclass(frozen=True)
class StateTerm(Term):
    """Part of the state of a body, or of a member of it, about a target, weighted.

    Attributes:
        body: row of the body.
        first: of the coordinates: 0 place, 3 attitude, 6 velocity, 9 body rate.
        target: (3,), or an attitude (4,).
        weight: of each component, (3,); a root, because residuals are squared.
        is_constraint: it must be zero.
        pose: of the member in the body, (7,).
    """

    body: int
    first: int
    target: np.ndarray
    weight: np.ndarray
    is_constraint: bool = False
    pose: np.ndarray = field(default_factory=lambda: AT_CENTRE)

    def _between(self, row: np.ndarray) -> np.ndarray:
        """Quaternion from the target to the attitude of the member, the short way round, (4,)."""
        attitude = qmult(row[Q : Q + 4], self.pose[Q : Q + 4])
        q = qmult(self.target * (1.0, -1.0, -1.0, -1.0), attitude)
        return q * np.sign(q[0] or 1.0)

    def residual(self, node: Node) -> np.ndarray:
        """Weighted deviation; of attitudes twice the vector part of the quaternion between."""
        row = node.state[self.body]
        if self.first == 3:
            return self.weight * 2.0 * self._between(row)[1:]
        column = {0: P, 6: V, 9: OMEGA}[self.first]
        is_ = row[column : column + 3]
        place = self.pose[P : P + 3]
        if self.first == 9:
            is_ = quat2mat(self.pose[Q : Q + 4]).T @ is_
        elif place.any():
            arm = place if self.first == 0 else np.cross(row[OMEGA : OMEGA + 3], place)
            is_ = is_ + quat2mat(row[Q : Q + 4]) @ arm
        return self.weight * (is_ - self.target)

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With the coordinates of the body."""
        jx = np.zeros((3, node.shooting.n))
        row, place = node.state[self.body], self.pose[P : P + 3]
        inner, R_GM = np.eye(3), quat2mat(self.pose[Q : Q + 4])
        if self.first == 3:
            q = self._between(row)
            inner = (q[0] * np.eye(3) + cross_matrix(q[1:])) @ R_GM.T
        elif self.first == 9:
            inner = R_GM.T
        elif place.any():
            R = quat2mat(row[Q : Q + 4])
            arm = place if self.first == 0 else np.cross(row[OMEGA : OMEGA + 3], place)
            self._write(jx, node, 3, -R @ cross_matrix(arm))
            if self.first == 6:
                self._write(jx, node, 9, -R @ cross_matrix(place))
        self._write(jx, node, self.first, inner)
        return jx, np.zeros((3, len(node.inputs)))

    def _write(self, jx: np.ndarray, node: Node, first: int, block: np.ndarray) -> None:
        """Write derivatives (3, 3) with three coordinates of the body, as far as it has them."""
        for j in range(3):
            at = node.shooting.columns[self.body, first + j]
            if at >= 0:
                jx[:, at] = self.weight * block[:, j]


@dataclass(frozen=True)
class StatesTerm(Term):
    """States of all bodies about a target, weighted.

    Attributes:
        target: (n_bodies, 13).
        weight: of every coordinate, (n,); roots, because residuals are squared.
        kept: coordinates whose weight is not zero.
    """

    target: np.ndarray
    weight: np.ndarray
    kept: np.ndarray

    def residual(self, node: Node) -> np.ndarray:
        """Weighted deviation; of attitudes the rotation vector."""
        apart = node.shooting.between(node.state, self.target)
        return self.weight[self.kept] * apart[self.kept]

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With all coordinates."""
        all_ = node.shooting.slopes_between(node.state, self.target, self.weight)
        return all_[self.kept], np.zeros((len(self.kept), len(node.inputs)))


@dataclass(frozen=True)
class InputTerm(Term):
    """Inputs about a target, weighted.

    Attributes:
        target, weight: (m,).
    """

    target: np.ndarray
    weight: np.ndarray

    def residual(self, node: Node) -> np.ndarray:
        """Weighted deviation."""
        return self.weight * (node.inputs - self.target)

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With the inputs."""
        return np.zeros((len(self.weight), node.shooting.n)), np.diag(self.weight)


@dataclass(frozen=True)
class TensionTerm(Term):
    """Tensions at the end of a period within bounds.

    Attributes:
        least, most: N; ``most`` may be infinite.
        scale: N, by which they are measured.
    """

    least: float
    most: float
    scale: float = 1.0
    is_constraint: bool = True
    is_inequality: bool = True

    def residual(self, node: Node) -> np.ndarray:
        """Positive beyond the bounds."""
        low = (self.least - node.tensions) / self.scale
        return (
            low if np.isinf(self.most) else np.append(low, (node.tensions - self.most) / self.scale)
        )

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With coordinates and inputs at the start of the period."""
        assert node.pulls is not None
        C, D = (part / self.scale for part in node.pulls)
        return (-C, -D) if np.isinf(self.most) else (np.vstack([-C, C]), np.vstack([-D, D]))


@dataclass(frozen=True)
class EnergyTerm(Term):
    """Energy at the shafts of the rotors in a period, drag torque times speed: ``weight * power f^1.5 h`` (P.25).

    Attributes:
        power: W/N^1.5, (n_rotors,).
        weight: cost of a joule.
        leg, n_legs: whose length of a period it depends on.
    """

    power: np.ndarray
    weight: float
    leg: int
    n_legs: int

    def residual(self, node: Node) -> np.ndarray:
        """Half of its square is the cost."""
        thrusts = np.maximum(node.inputs[: len(self.power)], LEAST_THRUST)
        return np.sqrt(2.0 * self.weight * self.power * node.length) * thrusts**0.75

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With thrusts and the length of the period."""
        r, n = self.residual(node), len(self.power)
        jx, ju = np.zeros((n, node.shooting.n + self.n_legs)), np.zeros((n, len(node.inputs)))
        jx[:, node.shooting.n + self.leg] = 0.5 * r / node.length
        ju[:, :n] = np.diag(0.75 * r / np.maximum(node.inputs[:n], LEAST_THRUST))
        return jx, ju


@dataclass(frozen=True)
class WinchTerm(Term):
    """Lengths and rates of winches within their limits; or at rest.

    Attributes:
        least, most: lengths of each, (n_winches,) m.
        fastest: largest rates, (n_winches,) m/s; zero: at rest, which is an equality.
    """

    least: np.ndarray
    most: np.ndarray
    fastest: np.ndarray
    is_constraint: bool = True

    @property
    def is_inequality(self) -> bool:  # type: ignore[override]
        """False where they are to rest."""
        return bool(self.fastest.any())

    def residual(self, node: Node) -> np.ndarray:
        """Positive beyond the limits."""
        lengths, rates = node.winches.T
        if not self.is_inequality:
            return rates
        return np.concatenate(
            [self.least - lengths, lengths - self.most, rates - self.fastest, -rates - self.fastest]
        )

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With the coordinates of the winches, which come last."""
        n, w = node.shooting.n, len(self.least)
        length, rate = np.zeros((w, n)), np.zeros((w, n))
        first = node.shooting.n_moving
        length[np.arange(w), first + 2 * np.arange(w)] = 1.0
        rate[np.arange(w), first + 2 * np.arange(w) + 1] = 1.0
        jx = np.vstack([-length, length, rate, -rate]) if self.is_inequality else rate
        return jx, np.zeros((len(jx), len(node.inputs)))


@dataclass(frozen=True)
class Excess(Term):
    """Excess over an inequality as a cost: ``weight / 2`` times its square."""

    term: Term
    weight: float

    def residual(self, node: Node) -> np.ndarray:
        """Zero where it holds."""
        return np.sqrt(self.weight) * np.maximum(self.term.residual(node), 0.0)

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """Zero where it holds."""
        acts = self.term.residual(node) > 0.0
        if not acts.any():
            nothing = np.zeros((len(acts), node.shooting.n))
            return nothing, np.zeros((len(acts), len(node.inputs)))
        scale = np.sqrt(self.weight) * acts[:, None]
        jx, ju = self.term.slopes(node)
        return scale * jx, scale * ju


@dataclass
class ClearanceTerm(Term):
    """Distances of pairs that must stay apart.

    Attributes:
        clearances: of the scenario.
        groups: numbers of the pairs, with the rows of the bodies that move them.
        least: m.
        shooting: the world.
        n_entities: the first members.
        watched: how far beyond the least distances still count, m.
        overlapping: distance of pairs that overlap, m: no direction leads out, so that no trial may come there.
    """

    clearances: Clearances
    groups: dict[int, tuple[int, ...]]
    least: float
    shooting: Shooting
    n_entities: int
    watched: float
    overlapping: float
    is_constraint: bool = True
    is_inequality: bool = True
    _known: dict[bytes, np.ndarray] = field(default_factory=dict)

    def _distances(self, state: np.ndarray) -> np.ndarray:
        """Of all pairs, those farther than ``watched`` beyond the least cut there, (n_pairs,) m."""
        key = state.tobytes()
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            farthest = self.least + self.watched
            out = self.clearances.within(self._poses(state), farthest)[list(self.groups)]
            out = np.where(out > 0.0, np.minimum(out, farthest), self.overlapping)
            self._known[key] = out
        return self._known[key]

    def distances(self, state: np.ndarray) -> list[float]:
        """Of all pairs, however far, m."""
        found = self.clearances.distances(self._poses(state), self.groups, np.inf)
        return [distance for _, distance, _ in found]

    def _poses(self, state: np.ndarray) -> np.ndarray:
        """Of all entities, (n_entities, 7)."""
        return np.ascontiguousarray(self.shooting.members(state)[: self.n_entities, : int(V)])

    def forget(self) -> None:
        """Forget the distances that are remembered."""
        self._known.clear()

    def residual(self, node: Node) -> np.ndarray:
        """Least minus distance of every pair."""
        return self.least - self._distances(node.state)

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """By differences of distances, of pairs that are near."""
        distances = self._distances(node.state)
        jx = np.zeros((len(distances), node.shooting.n))
        for i, (g, bodies) in enumerate(self.groups.items()):
            if distances[i] >= self.least + self.watched:
                continue
            for body in bodies:
                for axis in range(6):
                    at = node.shooting.columns[body, axis]
                    if at >= 0:
                        ends = [self._moved(node.state, g, body, axis, s * FINE) for s in (1, -1)]
                        jx[i, at] = -(ends[0] - ends[1]) / (2.0 * FINE)
        return jx, np.zeros((len(distances), len(node.inputs)))

    def _moved(self, state: np.ndarray, g: int, body: int, axis: int, by: float) -> float:
        state = state.copy()
        if axis < 3:
            state[body, P + axis] += by
        else:
            turn = np.array([1.0, 0.0, 0.0, 0.0])
            turn[axis - 2] = 0.5 * by
            state[body, Q : Q + 4] = qmult(state[body, Q : Q + 4], turn)
        return self.clearances.distances(self._poses(state), [g], np.inf)[0][1]


def clearance_term(
    scenario: Scenario,
    shooting: Shooting,
    least: float,
    *,
    watched: float = 0.1,
    overlapping: float = -np.inf,
) -> ClearanceTerm:
    """Of all pairs of a scenario; left out are cables and what they are tied to, and parts of one body.

    Arguments as of :class:`ClearanceTerm`.
    """
    clearances = Clearances(scenario)
    entities = {e.name: i for i, e in enumerate(scenario.model.entities)}
    cables = dict(zip(scenario.model.cable_names, scenario.model.cables, strict=True))
    groups = {}
    for g, names in enumerate(clearances.pairs):
        if tuple(names) in clearances.tied:
            continue
        rows: set[int] = set()
        for name in names:
            if name in entities:
                rows.add(shooting.row_of(entities[name]))
            elif name in cables:
                rows |= {
                    shooting.row_of(entities[body])
                    for body, _ in cables[name].path
                    if body in entities
                }
        if len(rows) > 1 or not all(name in entities for name in names):
            groups[g] = tuple(sorted(rows))
    return ClearanceTerm(clearances, groups, least, shooting, len(entities), watched, overlapping)
