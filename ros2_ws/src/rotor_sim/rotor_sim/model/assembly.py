"""From a system to the flat arrays of a world: merged bodies, attachments, pairs, input maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.interface.errors import ModelError
from rotor_sim.model import layout as at
from rotor_sim.model.system import WORLD, Group, System, merge_welds


@dataclass(frozen=True)
class Assembly:
    """A world ready to be given a state.

    Attributes:
        groups: the merged bodies.
        member_body: merged body of every member, (n,).
        member_pose: position and attitude of every member in its merged body, (n, 7).
        ints, floats: the two flat arrays.
        world: named views of them.
    """

    groups: tuple[Group, ...]
    member_body: np.ndarray
    member_pose: np.ndarray
    ints: np.ndarray
    floats: np.ndarray
    world: at.World


def assemble(system: System, max_external: int) -> Assembly:
    """Lay a system out in memory, with room for ``max_external`` external wrenches.

    Raises:
        ModelError: a cable is too short for the rigid body that it is on with both ends, or the rigid
            links are impossible.
    """
    groups = merge_welds(system)
    n = len(system.bodies)
    member_body, member_pose = np.zeros(n, np.int64), np.zeros((n, 7))
    for g, group in enumerate(groups):
        for member, place in zip(group.members, group.places, strict=True):
            member_body[member] = g
            member_pose[member] = np.concatenate([place.p, place.q])

    def attachment(member: int, r: np.ndarray) -> tuple[int, np.ndarray]:
        if member == WORLD:
            return len(groups), np.asarray(r, float)
        pose = member_pose[member]
        return int(member_body[member]), pose[:3] + quat2mat(pose[3:]) @ np.asarray(r, float)

    ends = []
    for k, c in enumerate(system.cables):
        (a, r_a), (b, r_b) = attachment(c.a, c.r_a), attachment(c.b, c.r_b)
        if a == b and np.linalg.norm(r_b - r_a) > c.length:
            raise ModelError(
                f"cable {k}: joins two points of one rigid body {np.linalg.norm(r_b - r_a):.6g} m "
                f"apart, but is only {c.length:g} m long."
            )
        ends.append((a, r_a, b, r_b))
    pairs = _pairs(ends, ground=len(groups))
    shape = (len(groups), len(ends), len(pairs), len(system.inputs), max_external)
    n_ints, n_floats = at.sizes(*shape)
    ints, floats = np.zeros(n_ints, np.int64), np.zeros(n_floats)
    ints[: at.N_EXTERNAL + 1] = shape
    world = at.World(*at.views.py_func(ints, floats))
    world.scalars[at.GRAVITY] = system.gravity
    _fill_bodies(world, groups)
    for k, (a, r_a, b, r_b) in enumerate(ends):
        world.cable_int[k, at.BODY_A], world.cable_int[k, at.BODY_B] = a, b
        world.cable_int[k, at.ALIVE] = int(a != b)  # on one rigid body it can never pull
        world.cables[k, at.R_A : at.R_A + 3] = r_a
        world.cables[k, at.R_B : at.R_B + 3] = r_b
        world.cables[k, at.LENGTH] = system.cables[k].length
    for i, pair in enumerate(pairs):
        world.pairs[i] = pair
    for i, member in enumerate(system.inputs):
        world.input_body[i] = member_body[member]
        world.inputs[i, at.MAP :] = _input_map(member_pose[member]).ravel()
    return Assembly(groups, member_body, member_pose, ints, floats, world)


def _pairs(ends: list[tuple], ground: int) -> list[tuple[int, int, int, int, int]]:
    """Pairs of cables that share a body: (k, j, body, side of k, side of j), +1 for end b."""
    out = []
    for k, (ka, _, kb, _) in enumerate(ends):
        for j in range(k):
            for body, side_k in ((ka, -1), (kb, 1)):
                for other, side_j in ((ends[j][0], -1), (ends[j][2], 1)):
                    if body == other and body != ground:
                        out.append((k, j, body, side_k, side_j))
    return out


def _fill_bodies(world: at.World, groups: tuple[Group, ...]) -> None:
    for g, group in enumerate(groups):
        row = world.bodies[g]
        row[at.INV_MASS] = 1.0 / group.mass
        if group.inertia is not None:
            row[at.INERTIA : at.INERTIA + 9] = group.inertia.ravel()
            row[at.INV_INERTIA : at.INV_INERTIA + 9] = np.linalg.inv(group.inertia).ravel()
            row[at.ROTATES] = 1.0
    # the ground "rotates" so that anchor points count; its inverse mass and inertia stay zero
    ground = world.bodies[len(groups)]
    ground[at.ROTATES] = 1.0
    ground[at.ROTATION : at.ROTATION + 9] = np.eye(3).ravel()
    for state in (world.start, world.end, world.stage):
        state[:, at.Q] = 1.0


def _input_map(pose: np.ndarray) -> np.ndarray:
    """Force and moment on the merged body of unit thrust and moments of a member, (6, 4)."""
    R = quat2mat(pose[3:])
    mapping = np.zeros((6, 4))
    mapping[:3, 0] = R[:, 2]
    mapping[3:, 0] = np.cross(pose[:3], R[:, 2])
    mapping[3:, 1:] = R
    return mapping
