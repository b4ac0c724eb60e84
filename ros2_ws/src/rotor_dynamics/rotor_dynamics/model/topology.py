"""Topology of merged bodies: free bodies, and roots and links of trees, in the order of rows in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import qinverse, qmult, quat2mat

from rotor_core.errors import ModelError
from rotor_dynamics import memory
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System

GROUND = -1

AT_ORIGIN = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
"""Pose of a body in itself."""


@dataclass(frozen=True)
class Tree:
    """A root (merged body, or GROUND) and its joints (as the user counts), parents before children."""

    root: int
    joints: tuple[int, ...]


@dataclass(frozen=True)
class Topology:
    """Order of everything.

    Attributes:
        free: merged bodies that are not part of a tree.
        trees: those with a root of their own first, then those on the ground.
        rows: row of every merged body in the world, (n_groups,).
        joints: the user's joints in the order of the world.
    """

    free: tuple[int, ...]
    trees: tuple[Tree, ...]
    rows: np.ndarray
    joints: tuple[int, ...]

    @property
    def n_bodies(self) -> int:
        """Rows that are integrated: free bodies, roots, joints."""
        return len(self.rows)

    def tree_of(self, row: int) -> int:
        """Tree of a row of the world, or -1."""
        n_free = len(self.free)
        if row < n_free:
            return -1
        if row < self.n_bodies - len(self.joints):
            return row - n_free
        number = row - self.n_bodies
        if number == len(self.joints):
            return -1
        return next(t for t, tree in enumerate(self.trees) if self.joints[number] in tree.joints)


def build_topology(system: System, member_body: np.ndarray, n_groups: int) -> Topology:
    """Sort merged bodies and joints.

    Raises:
        ModelError: joints that form a loop, or a body that two joints move.
    """
    inboard: dict[int, int] = {}
    outboard: dict[int, list[int]] = {}
    for i, joint in enumerate(system.joints):
        parent = GROUND if joint.parent == WORLD else int(member_body[joint.parent])
        child = int(member_body[joint.child])
        name = joint.name or str(i)
        if parent == child:
            raise ModelError(f"joint {name!r}: joins two bodies that a rigid link holds together.")
        if child in inboard:
            other = system.joints[inboard[child]].name or str(inboard[child])
            raise ModelError(
                f"joint {name!r}: {system.bodies[joint.child].name!r} is moved by the joint {other!r} already. "
                "Trees must not have loops."
            )
        inboard[child] = i
        outboard.setdefault(parent, []).append(i)

    def beyond(group: int) -> list[int]:
        found = []
        stack = list(reversed(outboard.get(group, [])))
        while stack:
            i = stack.pop()
            found.append(i)
            stack += reversed(outboard.get(int(member_body[system.joints[i].child]), []))
        return found

    roots = [g for g in range(n_groups) if g in outboard and g not in inboard]
    trees = [Tree(g, tuple(beyond(g))) for g in roots]
    for i in outboard.get(GROUND, []):
        child = int(member_body[system.joints[i].child])
        trees.append(Tree(GROUND, (i, *beyond(child))))
    joints = tuple(i for tree in trees for i in tree.joints)
    if len(joints) < len(system.joints):
        lost = [j.name or str(i) for i, j in enumerate(system.joints) if i not in joints]
        raise ModelError(f"joints {lost}: form a loop. Remove one of them.")
    free = tuple(g for g in range(n_groups) if g not in outboard and g not in inboard)
    rows = np.zeros(n_groups, np.int64)
    for row, g in enumerate((*free, *roots)):
        rows[g] = row
    for number, i in enumerate(joints):
        rows[int(member_body[system.joints[i].child])] = n_groups + number
    return Topology(free, tuple(trees), rows, joints)


def check_moved(
    system: System, topology: Topology, member_body: np.ndarray, masses: list[float]
) -> None:
    """Refuse joints that move nothing.

    Raises:
        ModelError: beyond the joint there is no mass, and it has no armature.
    """
    moved = list(masses)  # of everything from here outwards, gathered from the tips
    for i in reversed(topology.joints):
        joint = system.joints[i]
        child = int(member_body[joint.child])
        if moved[child] == 0.0 and joint.armature == 0.0 and not joint.driven:
            raise ModelError(
                f"joint {joint.name or str(i)!r}: moves nothing that has mass. Give its link a mass, or the "
                "joint an armature."
            )
        if joint.parent != WORLD:
            moved[int(member_body[joint.parent])] += moved[child]


def stops(topology: Topology, system: System) -> list[tuple[int, int, float]]:
    """Stops of joints: (joint of the world, side, angle at the stop)."""
    found = []
    for number, i in enumerate(topology.joints):
        joint = system.joints[i]
        if joint.driven:
            continue
        for side, angle in ((1, joint.upper), (-1, joint.lower)):
            if np.isfinite(angle):
                found.append((number, side, angle))
    return found


def fill_trees(
    world: memory.World,
    system: System,
    topology: Topology,
    member_body: np.ndarray,
    poses: np.ndarray,
) -> None:
    """Write trees and joints; ``poses``: of the members in their merged bodies, (n, 7)."""
    rows = topology.rows
    first = 0
    world.head[memory.N_FREE] = len(topology.free)
    for t, tree in enumerate(topology.trees):
        root = -1 if tree.root == GROUND else rows[tree.root]
        world.tree_int[t] = root, first, first + len(tree.joints)
        first += len(tree.joints)
    ground = len(world.bodies) - 1
    n_joints = len(topology.joints)
    for number, i in enumerate(topology.joints):
        joint = system.joints[i]
        link_row = topology.n_bodies + number
        tree = topology.tree_of(link_row)
        parent_row, parent_body, parent_pose = ground, tree, AT_ORIGIN
        if joint.parent != WORLD:
            parent_row = rows[member_body[joint.parent]]
            parent_pose = poses[joint.parent]
            if parent_row >= topology.n_bodies:
                parent_body = len(topology.trees) + parent_row - topology.n_bodies
        world.joint_int[number] = (
            parent_row, topology.n_bodies - n_joints + number, link_row,
            memory.REVOLUTE if joint.kind == "revolute" else memory.PRISMATIC, joint.driven,
            parent_body, len(topology.trees) + number, i,
        )  # fmt: skip
        _fill_joint(world.joints[number], joint, parent_pose, poses[joint.child])


def _fill_joint(row: np.ndarray, joint: Joint, parent: np.ndarray, child: np.ndarray) -> None:
    row[memory.JOINT_POINT : memory.JOINT_POINT + 3] = parent[:3] + quat2mat(parent[3:]) @ joint.p
    turn = qmult(qmult(parent[3:], joint.q), qinverse(child[3:]))
    row[memory.JOINT_TURN : memory.JOINT_TURN + 4] = turn / np.linalg.norm(turn)
    row[memory.TO_COM : memory.TO_COM + 3] = -child[:3]
    row[memory.JOINT_AXIS : memory.JOINT_AXIS + 3] = quat2mat(child[3:]) @ joint.axis
    row[memory.ARMATURE], row[memory.DAMPING] = joint.armature, joint.damping
    row[memory.FRICTION], row[memory.FRICTION_SPEED] = joint.friction, joint.friction_speed
    row[memory.STIFFNESS], row[memory.REST] = joint.stiffness, joint.rest
    row[memory.EFFORT_LAG_RATE] = 1.0 / joint.lag if joint.lag else 0.0
    row[memory.HOLDS_AFTER] = np.inf
