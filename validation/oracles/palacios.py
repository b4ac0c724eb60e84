"""Equations of motion of a floating tree of revolute joints, by body decomposition.

Source: V. D. Palacios Uyaguari, E. Olguin Diaz, "Non-inertial modeling and efficient simulation of a
miniature R/C helicopter using the Body Decomposition Approach" (CINVESTAV Saltillo, about 2012). Numbers
in parentheses are its equations, with the corrections of docs/theory/palacios_errata.md.

Every body is seen from its own moving frame. A twist is (v, w) of the origin of that frame, a wrench is
(f, n) about it, both in its axes and linear part first. One sweep from the base outwards gives the
Jacobian of every body and its rate; the equations of motion are sums over bodies, and no matrix is
differentiated. Everything is analytic in its arguments, so complex steps pass through. A joint turns
about an axis through the origin of the parent's frame, and what is rigid comes after the turn. Velocities
u are those of the base, (6,), in whatever form its Jacobian takes, then the joint rates, (n,). SI units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray as Array

from validation.oracles.kkt import skew
from validation.oracles.kremer import axis_rotation, block_diagonal

BASE = -1
EX, EY, EZ = np.eye(3)
STILL = np.zeros(3)


# --- operators ------------------------------------------------------------------------------------


def turned(R: Array) -> Array:
    """RR of (2), (6, 6): a rotation of both parts of a twist or wrench."""
    return block_diagonal(R, R)


def shifted(r: Array) -> Array:
    """TT of (1), (6, 6): ``v_c = TT(r_c) v``, and ``F = TT(r_c)^T F_c``; r_c is from v to v_c, (3,) m."""
    return np.block([[np.eye(3), -skew(r)], [np.zeros((3, 3)), np.eye(3)]])


def twist_commutator(a: Array) -> Array:
    """Om of (3), (6, 6): ``Om(a) b = -Om(b) a``, the Lie bracket of two twists (6,)."""
    w = skew(a[3:])
    return np.block([[w, skew(a[:3])], [np.zeros((3, 3)), w]])


def momentum_commutator(b: Array) -> Array:
    """S of (4), (6, 6), skew: ``Om(a)^T b = S(b) a`` for a momentum or wrench b, (6,)."""
    linear = skew(b[:3])
    return np.block([[np.zeros((3, 3)), linear], [linear, skew(b[3:])]])


def frame_change(d: Array, R: Array) -> Array:
    """X of (5), (6, 6): the twist of a child from that of its parent, both as one rigid body.

    Args:
        d: from the origin of the parent to that of the child, in the parent, (3,) m.
        R: child axes to parent axes, (3, 3).
    """
    return turned(R).T @ shifted(d)


def frame_change_rate(X: Array, v_child: Array) -> Array:
    """Rate of X, (6, 6), second form of (6).

    v_child, (6,): twist of the child relative to the parent, ``(R^T d_dot, R^T w)`` of its origin in its axes.
    """
    return -twist_commutator(v_child) @ X


def frame_change_rate_from_parent(X: Array, v_parent: Array) -> Array:
    """Rate of X, (6, 6), first form of (6), corrected.

    v_parent, (6,): the same motion as ``(d_dot - w x d, w)``: of the point of the child that is at the
    origin of the parent, in its axes.
    """
    return -X @ twist_commutator(v_parent)


# --- trees ----------------------------------------------------------------------------------------


class Body(NamedTuple):
    """Mass properties in the frame of a body.

    Attributes:
        mass: kg.
        com: centre of mass, (3,) m.
        inertia: about it, (3, 3) kg m2.
    """

    mass: float
    com: Array
    inertia: Array

    @property
    def M(self) -> Array:
        """(7), corrected, (6, 6): twist to momentum about the origin of the frame."""
        m, r = self.mass, skew(self.com)
        return np.block([[m * np.eye(3), -m * r], [m * r, self.inertia - m * r @ r]])


NOTHING = Body(0.0, STILL, np.zeros((3, 3)))
"""Of links between joints."""


@dataclass(frozen=True)
class Link:
    """A rigid body and the revolute joint that carries it.

    Attributes:
        parent: index of an earlier link, or BASE.
        axis: of the joint, through the parent's origin, unit vector in the parent's frame, (3,).
        offset: from there to the origin of the link, in the parent's frame at zero angle, (3,) m.
        turn: axes of the link to axes of the parent at zero angle, (3, 3).
        body: what it weighs.
    """

    parent: int
    axis: Array
    offset: Array
    turn: Array
    body: Body = NOTHING


@dataclass(frozen=True)
class Tree:
    """Masses and joints.

    Attributes:
        base: the body that flies.
        links: parents before children; n of them.
        gravity: m/s2, along -z of W.
    """

    base: Body
    links: tuple[Link, ...] = ()
    gravity: float = 9.81

    def __post_init__(self) -> None:
        for i, link in enumerate(self.links):
            if not BASE <= link.parent < i:
                raise ValueError(
                    f"links[{i}].parent: must be in -1..{i - 1}, got {link.parent}. List parents first."
                )
            if not np.isclose(link.axis @ link.axis, 1.0, rtol=0.0, atol=1e-12):
                raise ValueError(
                    f"links[{i}].axis: must have unit length, got {link.axis}. Divide by it."
                )

    @property
    def bodies(self) -> list[Body]:
        """Base and links, N = n + 1 of them."""
        return [self.base, *(link.body for link in self.links)]


@dataclass(frozen=True)
class Base:
    """Attitude of the base and how its velocities make its twist.

    Attributes:
        R_WB: (3, 3).
        J, J_dot: twist per velocities and its rate, (6, 6).
        velocities: (6,).
    """

    R_WB: Array
    J: Array
    J_dot: Array
    velocities: Array


def base_of_twist(R_WB: Array, twist: Array) -> Base:
    """Velocities are the twist itself: quasi-velocities, no singular attitude."""
    return Base(R_WB, np.eye(6), np.zeros((6, 6)), twist)


def base_of_angles(angles: Array, velocities: Array) -> Base:
    """Coordinates of the paper: velocity in W, rates of roll, pitch and yaw; singular at +-90 degrees of pitch.

    Args:
        angles: (3,) rad, with ``R_WB = Rz(yaw) Ry(pitch) Rx(roll)``.
        velocities: (6,) m/s and rad/s.
    """
    roll, pitch, yaw = angles
    Rx, Ry, Rz = axis_rotation(roll, EX), axis_rotation(pitch, EY), axis_rotation(yaw, EZ)
    R_WB, rates = Rz @ Ry @ Rx, velocities[3:]
    axes = np.column_stack([EX, Rx.T @ EY, (Ry @ Rx).T @ EZ])  # of the three turns, in B
    after_roll, after_pitch = rates[0] * axes[:, 0], axes[:, :2] @ rates[:2]
    # an axis stands still in the frame that its own turn begins from, and later turns move it in B
    axes_dot = -np.column_stack(
        [STILL, skew(after_roll) @ axes[:, 1], skew(after_pitch) @ axes[:, 2]]
    )
    J_dot = block_diagonal(-skew(axes @ rates) @ R_WB.T, axes_dot)
    return Base(R_WB, block_diagonal(R_WB.T, axes), J_dot, velocities)


# --- the recursion --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """A tree in one state of motion; N bodies, the base first.

    Attributes:
        tree: what moves.
        u: velocities, (6 + n,).
        R: axes of every body to W, (N, 3, 3).
        M: (7) of every body, (N, 6, 6).
        J, J_dot: twists per u, and their rates, (N, 6, 6 + n), (22).
        v: twists by the recursion (20), (N, 6).
        a: ``J_dot u`` by its own recursion, (N, 6): rates of the twists while u is constant.
    """

    tree: Tree
    u: Array
    R: Array
    M: Array
    J: Array
    J_dot: Array
    v: Array
    a: Array

    @property
    def G(self) -> Array:
        """Gravity as the acceleration of every body frame, (N, 6), of (8)."""
        g_W = -self.tree.gravity * EZ
        return np.array([np.concatenate([R.T @ g_W, STILL]) for R in self.R])

    def gathered(self, F: Array) -> Array:
        """Generalised forces of wrenches on the bodies, (N, 6) to (6 + n,), (16)."""
        return np.einsum("bij,bi->j", self.J, F)

    def forces(self, v_dot: Array) -> Array:
        """Wrenches other than weight behind rates of the twists, (N, 6) each, (8), corrected."""
        momentum = [M @ v for M, v in zip(self.M, self.v, strict=True)]
        gyroscopic = [momentum_commutator(b) @ v for b, v in zip(momentum, self.v, strict=True)]
        return np.einsum("bij,bj->bi", self.M, v_dot - self.G) - np.array(gyroscopic)

    def mass_matrix(self) -> Array:
        """H, (6 + n, 6 + n), (19)."""
        return (self.J.swapaxes(1, 2) @ self.M @ self.J).sum(axis=0)

    def mass_matrix_rate(self) -> Array:
        """Rate of H, (6 + n, 6 + n), out of that of the Jacobians."""
        half = (self.J.swapaxes(1, 2) @ self.M @ self.J_dot).sum(axis=0)
        return half + half.T

    def coriolis(self) -> Array:
        """C, (6 + n, 6 + n), (19); ``2 C - H_dot`` is skew."""
        S = np.array(
            [momentum_commutator(M @ J @ self.u) for M, J in zip(self.M, self.J, strict=True)]
        )
        return (self.J.swapaxes(1, 2) @ (self.M @ self.J_dot - S @ self.J)).sum(axis=0)

    def gravity(self) -> Array:
        """g, (6 + n,), (19)."""
        return -self.gathered(np.einsum("bij,bj->bi", self.M, self.G))

    def bias(self, F: Array | None = None) -> Array:
        """Forces h with ``tau = H u_dot + h``, (6 + n,): ``C u + g`` less wrenches F applied to the bodies, (N, 6)."""
        return self.gathered(self.forces(self.a) - (0.0 if F is None else F))

    def accelerations(self, tau: Array, F: Array | None = None) -> Array:
        """u_dot, (6 + n,), under generalised forces tau, (6 + n,), and wrenches F on the bodies, (N, 6)."""
        return np.linalg.solve(self.mass_matrix(), tau - self.bias(F))


def sweep(tree: Tree, base: Base, theta: Array, rates: Array) -> Sweep:
    """Kinematics of all bodies from the base outwards, (20)-(22).

    Args:
        tree: n links.
        base: attitude and velocities of its base.
        theta: joint angles, (n,) rad.
        rates: joint rates, (n,) rad/s.
    """
    n = len(tree.links)
    dtype = np.result_type(base.R_WB, base.J, base.velocities, theta, rates)
    J, J_dot = np.zeros((2, n + 1, 6, 6 + n), dtype)
    v, a = np.zeros((2, n + 1, 6), dtype)
    R = np.zeros((n + 1, 3, 3), dtype)
    R[0], J[0, :, :6], J_dot[0, :, :6] = base.R_WB, base.J, base.J_dot
    v[0], a[0] = base.J @ base.velocities, base.J_dot @ base.velocities
    for i, link in enumerate(tree.links):
        child, parent = i + 1, link.parent + 1
        turn = axis_rotation(theta[i], link.axis)
        X = frame_change(turn @ link.offset, turn @ link.turn)
        lam = np.concatenate([STILL, link.axis])
        own = lam * rates[i]
        R[child] = R[parent] @ turn @ link.turn
        v[child] = X @ (v[parent] + own)
        a[child] = X @ (a[parent] + twist_commutator(v[parent]) @ own)
        J[child] = X @ J[parent]
        J[child, :, 6 + i] += X @ lam  # behind the columns of the base
        J_dot[child] = X @ (J_dot[parent] - twist_commutator(own) @ J[parent])
    M = np.array([body.M for body in tree.bodies])
    return Sweep(tree, np.concatenate([base.velocities, rates]), R, M, J, J_dot, v, a)
