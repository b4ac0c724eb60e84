"""The same floating tree by Lagrange's equations written out: what body decomposition is compared with.

Source: Palacios Uyaguari, Olguin Diaz, as for :mod:`validation.oracles.palacios`, (14). The base is three
slides and three turns in a row, every body is seen from W, nothing is recursive but poses, and complex
steps differentiate the mass matrix, once for every coordinate. It shares tree data and the turn about an
axis with body decomposition, and no other code.

Coordinates ``x = [p_WB (3), roll, pitch, yaw, theta (n)]`` with ``R_WB = Rz Ry Rx``. SI units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray as Array

from validation.oracles.kkt import skew
from validation.oracles.kremer import axis_rotation, gradient, slope
from validation.oracles.palacios import EX, EY, EZ, Body, Tree

TURNS = ((5, EZ), (4, EY), (3, EX))  # coordinates of the base in the order in which they turn it


class Turn(NamedTuple):
    """A coordinate that turns what comes after it about an axis through a point, both in W, (3,)."""

    coordinate: int
    axis_W: Array
    point_W: Array


class Placed(NamedTuple):
    """A body in W: its attitude (3, 3), the place of its centre of mass (3,) m, and what turns it."""

    body: Body
    R_WL: Array
    p_WC: Array
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class ExplicitLagrange:
    """``H x_ddot + C x_dot + g = tau`` in 6 + n coordinates."""

    tree: Tree

    def placed(self, x: Array) -> list[Placed]:
        """Bodies that have mass, from the base outwards."""
        p, R, turns = x[:3], np.eye(3), ()
        for coordinate, axis in TURNS:
            turns += (Turn(coordinate, R @ axis, p),)
            R = R @ axis_rotation(x[coordinate], axis)
        frames = [(R, p, turns)]
        for i, link in enumerate(self.tree.links):
            R, p, turns = frames[link.parent + 1]
            turns = (*turns, Turn(6 + i, R @ link.axis, p))
            R = R @ axis_rotation(x[6 + i], link.axis)
            frames.append((R @ link.turn, p + R @ link.offset, turns))
        return [
            Placed(body, R, p + R @ body.com, turns)
            for body, (R, p, turns) in zip(self.tree.bodies, frames, strict=True)
            if body.mass
        ]

    def jacobians(self, x: Array) -> list[tuple[Placed, Array, Array]]:
        """Every body with its velocity of the centre of mass and angular velocity in W, (3, 6 + n) each."""
        out = []
        for body in self.placed(x):
            J_v, J_w = np.zeros((2, 3, len(x)), x.dtype)
            J_v[:, :3] = np.eye(3)
            for coordinate, axis_W, point_W in body.turns:
                J_v[:, coordinate] = skew(axis_W) @ (body.p_WC - point_W)
                J_w[:, coordinate] = axis_W
            out.append((body, J_v, J_w))
        return out

    def kinetic_energy(self, x: Array, x_dot: Array) -> float:
        """J, for real arguments: velocities are derivatives of poses along x_dot, without any Jacobian."""
        v_W = slope(lambda y: np.array([b.p_WC for b in self.placed(y)]), x, x_dot)
        R_dot = slope(lambda y: np.array([b.R_WL for b in self.placed(y)]), x, x_dot)
        energy = 0.0
        for (body, R_WL, *_), v, turning in zip(self.placed(x), v_W, R_dot, strict=True):
            spin = R_WL.T @ turning  # skew matrix of the rate in body axes
            omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            energy += 0.5 * (body.mass * v @ v + omega @ body.inertia @ omega)
        return energy

    def mass_matrix(self, x: Array) -> Array:
        """H of ``K = x_dot^T H x_dot / 2``, (6 + n, 6 + n)."""
        H = np.zeros((len(x), len(x)), x.dtype)
        for (body, R_WL, *_), J_v, J_w in self.jacobians(x):
            J_w_L = R_WL.T @ J_w
            H += body.mass * J_v.T @ J_v + J_w_L.T @ body.inertia @ J_w_L
        return H

    def coriolis(self, x: Array, x_dot: Array) -> Array:
        """C of Christoffel's symbols, (6 + n, 6 + n)."""
        turning = [slope(self.mass_matrix, x, e) for e in np.eye(len(x))[3:]]
        H_x = np.concatenate([np.zeros((3, len(x), len(x))), turning])  # the place does not matter
        D = H_x @ x_dot
        return 0.5 * (np.tensordot(x_dot, H_x, 1) + D.T - D)

    def potential(self, x: Array) -> float:
        """Of gravity, zero at z = 0, J."""
        return self.tree.gravity * sum(b.body.mass * b.p_WC[2] for b in self.placed(x))

    def gravity(self, x: Array) -> Array:
        """g, (6 + n,): slope of the potential."""
        return gradient(self.potential, x)

    def bias(self, x: Array, x_dot: Array) -> Array:
        """Forces h with ``tau = H x_ddot + h``, (6 + n,)."""
        return self.coriolis(x, x_dot) @ x_dot + self.gravity(x)
