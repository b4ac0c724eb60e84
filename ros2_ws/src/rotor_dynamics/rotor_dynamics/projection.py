"""The nearest state that the constraints allow: mass-weighted, for states that users set.

Cables only limit, so every step is a least-distance problem with inequalities; it is solved through
non-negative least squares (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.4).
Articulated vehicles stay where they were put, others move. Equations (D.11) and (D.12). Rare and
outside the compiled step, hence NumPy and SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

from rotor_core.errors import ContractError
from rotor_dynamics import memory
from rotor_dynamics.constraints.routes import lay_routes
from rotor_dynamics.model.cable import INITIAL_GAP
from rotor_dynamics.model.route import path_of

GAP_TOLERANCE = 1e-12
"""Projected cables are at most this much too long, m."""

MAX_ITERATIONS = 50
"""Newton steps; far-off states need about ten."""

CLOSED = 1e-9
"""A cable at its length may lengthen at most this fast, m/s."""


@dataclass(frozen=True)
class _Cables:
    """Geometry of the cables that are not cut, in whitened coordinates.

    Attributes:
        index: of the cables.
        gap: distance minus length, m.
        rate: of the gap, m/s.
        slope: of the gap per whitened displacement, (n, 6 n_bodies).
    """

    index: np.ndarray
    gap: np.ndarray
    rate: np.ndarray
    slope: np.ndarray


def _spread(world: memory.World) -> np.ndarray:
    """S with S S^T = M^-1 over translations in W and rotations in the body."""
    n = len(world.start)
    S = np.zeros((6 * n, 6 * n))
    for b, row in enumerate(world.bodies):
        S[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.sqrt(row[memory.INV_MASS]) * np.eye(3)
        J_inverse = row[memory.INV_INERTIA : memory.INV_INERTIA + 9].reshape(3, 3)
        if world.body_int[b, memory.ROTATES] and J_inverse.any():  # neither a point nor the ground
            S[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = np.linalg.cholesky(J_inverse)
    return S


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Vector products of rows, (n, 3): a tenth of the time of ``np.cross`` for few rows."""
    return a[:, (1, 2, 0)] * b[:, (2, 0, 1)] - a[:, (2, 0, 1)] * b[:, (1, 2, 0)]


class _Geometry:
    """Which cables of a world are not cut, and where they act.

    Attributes:
        index: of the cables.
        body, point: of the ends of all straight pieces, (n,) and (n, 3) m in the body.
        first, second: ends of each piece.
        row: of its cable in ``index``.
        routed: rows in ``index`` of the others.
    """

    def __init__(self, world: memory.World) -> None:
        joins = world.constraint_int[:, memory.STOP_JOINT] < 0  # no stop of a joint
        self.index = np.flatnonzero(joins & (world.constraint_int[:, memory.ALIVE] == memory.HOLDS))
        is_routed = world.constraint_int[self.index, memory.ROUTED] > 0
        self.routed, straight = np.flatnonzero(is_routed), np.flatnonzero(~is_routed)
        ends = [end for i in straight for end in path_of(world, self.index[i])]
        self.body = np.array([b for b, _ in ends], int)
        self.point = np.array([r for _, r in ends]).reshape(-1, 3)
        self.first, self.second = np.arange(len(ends)).reshape(-1, 2).T  # two of each
        self.row = straight
        self.spread = _spread(world)

    def measure(self, world: memory.World) -> _Cables:
        """Lengths, rates and slopes in the state of the world."""
        index, n = self.index, len(world.start)
        gap, rate = np.zeros(len(index)), np.zeros(len(index))
        J = np.zeros((len(index), n, 6))
        if len(world.routes):
            lay_routes(world.head.base, world.scalars.base, False)
        for i in self.routed:
            route = world.constraint_int[index[i], memory.ROUTED]
            gap[i], rate[i] = world.constraints[index[i], [memory.GAP, memory.RATE]]
            ends = world.route_int[route - 1, [memory.FIRST_GRIP, memory.END_GRIP]]
            for g in range(*ends):
                b = int(world.grip_int[g, memory.GRIP_BODY])
                J[i, b] = world.grips[g, memory.GRIP_LINEAR : memory.GRIP_ANGULAR + 3]
        if len(self.row):
            state = world.start[self.body]
            R = np.array([quat2mat(s[memory.Q : memory.Q + 4]) for s in world.start])[self.body]
            turning = _cross(state[:, memory.OMEGA :], self.point)
            turned = R @ np.stack([self.point, turning], axis=2)
            places = state[:, memory.P : memory.P + 3] + turned[:, :, 0]
            moves = state[:, memory.V : memory.V + 3] + turned[:, :, 1]
            apart = places[self.second] - places[self.first]
            distance = np.sqrt((apart * apart).sum(axis=1))
            xi = apart / np.maximum(distance, np.finfo(float).tiny)[:, None]
            gap[self.row] = distance - world.constraints[index[self.row], memory.LENGTH]
            rate[self.row] = (xi * (moves[self.second] - moves[self.first])).sum(axis=1)
            for at, sign in ((self.first, -1.0), (self.second, 1.0)):
                inside = (xi[:, None, :] @ R[at])[:, 0]  # in the body
                # added: both ends may be of one body
                J[self.row, self.body[at], :3] += sign * xi
                J[self.row, self.body[at], 3:] += sign * _cross(self.point[at], inside)
        return _Cables(index, gap, rate, J.reshape(len(index), 6 * n) @ self.spread)


def _least_distance(slope: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Shortest x with ``slope x <= -excess``.

    Raises:
        ContractError: no x does that.
    """
    if not len(excess) or excess.max() <= 0.0:
        return np.zeros(slope.shape[1])
    if not (np.isfinite(slope).all() and np.isfinite(excess).all()):
        raise ContractError("this state is too far away to be projected.")
    E = np.vstack([-slope.T, excess])
    f = np.zeros(len(E))
    f[-1] = 1.0
    try:
        u, _ = scipy.optimize.nnls(E, f)
    except RuntimeError as error:
        raise ContractError("no state within the cable lengths was found near this one.") from error
    residual = E @ u - f
    if abs(residual[-1]) < 1e-14:
        raise ContractError("the cables contradict each other near this state.")
    return -residual[:-1] / residual[-1]


def _move(world: memory.World, shift: np.ndarray) -> None:
    for b, state in enumerate(world.start):
        state[memory.P : memory.P + 3] += shift[6 * b : 6 * b + 3]
        theta = shift[6 * b + 3 : 6 * b + 6]
        angle = float(np.linalg.norm(theta))
        if angle > 0.0:
            turn = axangle2quat(theta / angle, angle, is_normalized=True)
            q = qmult(state[memory.Q : memory.Q + 4], turn)
            state[memory.Q : memory.Q + 4] = q / np.linalg.norm(q)


def violation(world: memory.World) -> str:
    """The first cable that forbids the state of a world, in words; empty if none does."""
    cables = _Geometry(world).measure(world)
    for k, gap, rate in zip(cables.index, cables.gap, cables.rate, strict=True):
        length = world.constraints[k, memory.LENGTH]
        if gap > INITIAL_GAP:
            return (
                f"cable{k + 1}: the points it joins are {length + gap:.6g} m apart, but it is "
                f"only {length:g} m long"
            )
        if gap > -INITIAL_GAP and rate > CLOSED:
            return f"cable{k + 1}: it is at its length, but its ends part at {rate:.6g} m/s"
    return ""


def project(world: memory.World) -> None:
    """Move the state to the nearest one that the cables allow, positions first, then velocities.

    Raises:
        ContractError: there is none near it.
    """
    geometry = _Geometry(world)
    spread = geometry.spread
    for _ in range(MAX_ITERATIONS):
        cables = geometry.measure(world)
        if not len(cables.gap) or cables.gap.max() <= GAP_TOLERANCE:
            break
        _move(world, spread @ _least_distance(cables.slope, cables.gap))  # (D.11)
    else:
        raise ContractError("no state within the cable lengths was found near this one.")
    cables = geometry.measure(world)
    closed = cables.gap > -INITIAL_GAP
    change = spread @ _least_distance(cables.slope[closed], cables.rate[closed])  # (D.12)
    for b, state in enumerate(world.start):
        state[memory.V : memory.V + 3] += change[6 * b : 6 * b + 3]
        state[memory.OMEGA :] += change[6 * b + 3 : 6 * b + 6]
