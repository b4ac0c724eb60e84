"""Motion of the links of all arms of a team in the world, from states of vehicles and joints."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.vehicles.arm import link_name
from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, apply_transposed, cross, get3, put3, scale
from rotor_core.state import OMEGA, STATE, P, Q, V
from rotor_core.vehicles import tree_columns
from rotor_core.vehicles.articulated import ArticulatedVehicle


@inlined
def follow(parent, link, kind, angle, rate, child):
    """State of the frame of a link from that of its parent and the motion of its joint (J.1)."""
    q_parent = so3.get4(parent, Q)
    omega = apply(so3.matrix(q_parent), get3(parent, OMEGA))
    axis = get3(link, tree_columns.AXIS)
    turning = kind == tree_columns.REVOLUTE
    q = so3.product(q_parent, so3.get4(link, tree_columns.TURN))
    if turning:
        q = so3.product(q, so3.exp(scale(angle, axis)))
    R = so3.matrix(q)
    line = apply(R, axis)
    lever = apply(so3.matrix(q_parent), get3(link, tree_columns.POINT))
    if not turning:
        lever = add(lever, scale(angle, line))
    velocity = add(get3(parent, V), cross(omega, lever))
    if turning:
        omega = add(omega, scale(rate, line))
    else:
        velocity = add(velocity, scale(rate, line))
    put3(child, P, add(get3(parent, P), lever))
    so3.put4(child, Q, so3.renormalized(q))
    put3(child, V, velocity)
    put3(child, OMEGA, apply_transposed(R, omega))


@kernel
def follow_all(states, joints, vehicle, first_joint, first_row, links, tree):
    """Write states of the moving links of one arm, behind those of other bodies, in a row of states.

    Args:
        states: (N, n, 13), written from ``first_row`` on.
        joints: (N, n_joints, 2), of all arms.
        vehicle, first_joint, first_row: of this arm.
        links, tree: its tables; see :class:`rotor_core.vehicles.articulated.ArticulatedVehicle`.
    """
    for s in range(states.shape[0]):
        for i in range(1, links.shape[0]):
            parent = tree[i, tree_columns.PARENT]
            above = states[s, vehicle] if parent == 0 else states[s, first_row + parent - 1]
            joint = joints[s, first_joint + i - 1]
            follow(
                above, links[i], tree[i, tree_columns.KIND], joint[0], joint[1],
                states[s, first_row + i - 1],
            )  # fmt: skip


class ArmMotion:
    """States of what the joints of all arms move: one body per joint, in the order of ``model.joint_names``.

    Args:
        model: with its vehicles.

    Attributes:
        n: number of such bodies.
        initial: angles and rates at the start, (n, 2) rad and rad/s, or m and m/s.
    """

    def __init__(self, model: Model) -> None:
        rows = {e.name: row for row, e in enumerate(model.entities)}
        moving = [j for v in model.vehicles for j in v.moving_joints]
        self.n = len(moving)
        self.initial = np.array([(j.initial, 0.0) for j in moving]).reshape(-1, 2)
        self._arms: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        self._frames: dict[str, tuple[int, bool, np.ndarray, np.ndarray]] = {}
        first = 0
        for vehicle in model.vehicles:
            if not vehicle.links:
                continue
            arm = ArticulatedVehicle(vehicle)
            for link in vehicle.links:
                row, R, p = arm.frame(link.name)
                body = rows[vehicle.name] if row == 0 else first + row - 1
                self._frames[link_name(vehicle.name, link.name)] = (body, row > 0, R, p)
            if arm.n:
                self._arms.append((rows[vehicle.name], first, *arm.tables))
            first += arm.n

    def frame(self, link: str, first_row: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Row of the body that a link ``vehicle/link`` is part of, and its pose there, (3, 3), (3,) m.

        Args:
            link: name among all bodies.
            first_row: of the first body that a joint moves.
        """
        body, moves, R, p = self._frames[link]
        return body + first_row * moves, R, p

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links of all arms."""
        return tuple(self._frames)

    def behind(self, states: np.ndarray, joints: np.ndarray | None = None) -> np.ndarray:
        """States of other bodies (of entities first) with those of the links behind them, (N, m + n, 13).

        Args:
            states: (N, m, 13).
            joints: angles and rates, (N, n, 2); None: as at the start.
        """
        if not self.n:
            return states
        m = states.shape[1]
        out = np.zeros((len(states), m + self.n, int(STATE)))
        out[:, :m] = states
        if joints is None:
            joints = np.broadcast_to(self.initial, (len(states), self.n, 2))
        joints = np.array(joints, float)  # writable: that is what the kernel is compiled for
        for vehicle, first, links, tree in self._arms:
            follow_all(out, joints, vehicle, first, m + first, links, tree)
        return out
