"""From a system to the flat arrays of a world: merged bodies, attachments, pairs, input maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.extensions import FORCES
from rotor_core.errors import ModelError
from rotor_dynamics import memory
from rotor_dynamics.model.blade import Surface, fill_blades
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.cable import INITIAL_GAP
from rotor_dynamics.model.contact import fill_contacts
from rotor_dynamics.model.route import capstan_count, fill_capstans, fill_routes, route_sizes
from rotor_dynamics.model.solid import fill_solids, meetings_of, solid_sizes
from rotor_dynamics.model.strand import fill_strand_forces, strand_forces
from rotor_dynamics.model.system import Group, System, merge_welds
from rotor_dynamics.model.topology import (
    AT_ORIGIN,
    Topology,
    build_topology,
    check_moved,
    fill_trees,
    stops,
)


@dataclass(frozen=True)
class Assembly:
    """A world ready to be given a state.

    Attributes:
        groups: the merged bodies.
        topology: rows of merged bodies and joints.
        member_body: row of every member, (n,).
        member_pose: position and attitude of every member in its merged body, (n, 7).
        ints, floats: the two flat arrays.
        world: named views of them.
    """

    groups: tuple[Group, ...]
    topology: Topology
    member_body: np.ndarray
    member_pose: np.ndarray
    ints: np.ndarray
    floats: np.ndarray
    world: memory.World


def assemble(system: System, max_external: int, log_rows: int = memory.EVENTS) -> Assembly:
    """Lay a system out in memory, with room for ``max_external`` external wrenches and ``log_rows`` events.

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
    member_group = member_body
    topology = build_topology(system, member_group, len(groups))
    check_moved(system, topology, member_group, [group.mass for group in groups])
    member_body = topology.rows[member_group]
    ground = topology.n_bodies + len(topology.joints)

    def attachment(member: int, r: np.ndarray) -> tuple[int, np.ndarray]:
        if member == WORLD:
            return ground, np.asarray(r, float)
        pose = member_pose[member]
        return int(member_body[member]), pose[:3] + quat2mat(pose[3:]) @ np.asarray(r, float)

    ends = []
    routes = [
        (k, [attachment(body, point) for body, point in c.path])
        for k, c in enumerate(system.cables)
        if not c.is_line
    ]
    for k, c in enumerate(system.cables):
        if (
            not c.is_line
        ):  # its route holds it; for the rest it is a cable from the ground to the ground
            ends.append((ground, np.zeros(3), ground, np.zeros(3)))
            continue
        (a, r_a), (b, r_b) = attachment(c.a, c.r_a), attachment(c.b, c.r_b)
        if a == b and np.linalg.norm(r_b - r_a) > c.length + INITIAL_GAP:
            raise ModelError(
                f"cable{k + 1}: joins two points of one rigid body {np.linalg.norm(r_b - r_a):.6g} m "
                f"apart, but is only {c.length:g} m long."
            )
        ends.append((a, r_a, b, r_b))
    pairs = _pairs(ends, len(topology.free))
    limits = stops(topology, system)
    rows = {WORLD: ground, **{m: int(row) for m, row in enumerate(member_body)}}
    meetings = meetings_of(system.solids, rows, ground)
    shape = (
        topology.n_bodies, len(ends) + len(limits) + capstan_count(system.cables, routes), len(pairs),
        len(system.inputs), max_external,
        len(system.rotors), len(system.drags) + len(system.surfaces), log_rows, len(topology.trees),
        len(topology.joints), len(system.contacts), len(system.blades),
        sum(len(b.stations) for b in system.blades), sum(len(b.section) for b in system.blades),
        len(system.discs), len(system.forces) + strand_forces(system.strands), *route_sizes(system.cables, routes),
        *solid_sizes(system.solids, len(meetings)),
    )  # fmt: skip
    ints, floats = memory.blank(shape)
    world = memory.world_of(ints, floats)
    world.scalars[memory.GRAVITY] = system.gravity
    _fill_bodies(world, groups, topology)
    fill_trees(world, system, topology, member_group, member_pose)
    for k, (a, r_a, b, r_b) in enumerate(ends):
        world.constraint_int[k, memory.BODY_A], world.constraint_int[k, memory.BODY_B] = a, b
        alive = memory.JOINS if system.cables[k].rod else memory.HOLDS
        world.constraint_int[k, memory.ALIVE] = alive if a != b else 0  # on one body it never pulls
        world.constraint_int[k, memory.HAS_ARM_A], world.constraint_int[k, memory.HAS_ARM_B] = (
            np.any(r_a),
            np.any(r_b),
        )
        world.constraints[k, memory.R_A : memory.R_A + 3] = r_a
        world.constraints[k, memory.R_B : memory.R_B + 3] = r_b
        world.constraints[k, memory.LENGTH] = system.cables[k].length
        world.constraint_int[k, memory.TREE_A : memory.COUPLED_FROM] = (
            topology.tree_of(a), topology.tree_of(b), -1, 0,
        )  # fmt: skip
    turns = {WORLD: np.eye(3), **{m: quat2mat(pose[3:]) for m, pose in enumerate(member_pose)}}
    fill_routes(world, system.cables, routes, topology, turns)
    for k, (number, side, angle) in enumerate(limits, start=len(ends)):
        world.constraint_int[k, [memory.BODY_A, memory.BODY_B, memory.ALIVE]] = ground, ground, 1
        tree = topology.tree_of(topology.n_bodies + number)
        world.constraint_int[k, memory.TREE_A : memory.COUPLED_FROM] = tree, -1, number, side
        world.constraints[k, memory.LENGTH] = side * angle
    fill_capstans(world, system.cables, routes, ground)
    _couple(world, len(topology.free))
    for i, pair in enumerate(
        sorted(pairs, key=lambda p: (p[memory.PAIR_K], p[memory.PAIR_ARM], p[memory.PAIR_SIGN]))
    ):
        key = (pair[memory.PAIR_K] * memory.CONSTRAINT + pair[memory.PAIR_ARM]) * 2 + (
            pair[memory.PAIR_SIGN] > 0
        )
        world.pairs[i] = (*pair, key)
    for i, member in enumerate(system.inputs):
        world.input_body[i] = member_body[member]
        mapping = _input_map(member_pose[member])
        if i in system.tails:
            mapping = _tail_map(member_pose[member], system.tails[i])
        world.inputs[i, memory.MAP :] = mapping.ravel()
    world.scalars[memory.GROUND] = system.ground
    _fill_rotors(world, system, topology, member_body, member_pose)
    _fill_drags(world, system, member_body, member_pose)
    _fill_forces(world, system, member_body, member_pose)
    _fill_ranges(world)
    poses = {WORLD: AT_ORIGIN, **dict(enumerate(member_pose))}
    pushes = (memory.N_CONTACTS, memory.N_FORCES, memory.N_HULLS)
    world.head[memory.IS_PUSHED] = int(any(world.head[n] for n in pushes))
    fill_contacts(world, system.contacts, rows, poses)
    fill_solids(world, system.solids, system.rigid, meetings, rows, poses)
    fill_blades(world, system.discs, system.blades, member_body, topology.joints)
    return Assembly(groups, topology, member_body, member_pose, ints, floats, world)


def _fill_rotors(
    world: memory.World,
    system: System,
    topology: Topology,
    member_body: np.ndarray,
    member_pose: np.ndarray,
) -> None:
    order = sorted(range(len(system.rotors)), key=lambda i: member_body[system.rotors[i].body])
    for row, i in enumerate(order):
        rotor = system.rotors[i]
        pose = member_pose[rotor.body]
        R = quat2mat(pose[3:])
        axis, hub = R @ rotor.axis, pose[:3] + R @ rotor.hub
        force = rotor.thrust * axis
        r = world.rotors[row]
        r[memory.AXIS : memory.AXIS + 3], r[memory.HUB : memory.HUB + 3] = axis, hub
        r[memory.PER_SPEED2 : memory.PER_SPEED2 + 3] = force
        moment = np.cross(hub, force) - rotor.spin * rotor.torque * axis  # (R.1)
        r[memory.PER_SPEED2 + 3 : memory.PER_SPEED2 + 6] = moment
        r[memory.AXIAL_INERTIA] = rotor.spin * rotor.inertia
        r[memory.ROTOR_DRAG], r[memory.RADIUS] = rotor.drag, rotor.radius
        r[memory.LAG_RATE] = 1.0 / rotor.lag if rotor.lag else 0.0
        felt = bool(rotor.drag or rotor.radius)
        same = row > 0 and rotor.lag == system.rotors[order[row - 1]].lag
        joint = topology.joints.index(rotor.joint) + 1 if rotor.joint >= 0 else 0
        turns_with = joint if rotor.spin > 0.0 else -joint
        b = member_body[rotor.body]
        world.body_int[b, memory.FEELS_AIR] |= felt
        world.rotor_int[row] = b, same, felt, i, turns_with


def _fill_drags(
    world: memory.World, system: System, member_body: np.ndarray, member_pose: np.ndarray
) -> None:
    elements = sorted([*system.drags, *system.surfaces], key=lambda d: member_body[d.body])
    for row, drag in enumerate(elements):
        pose = member_pose[drag.body]
        turn = quat2mat(pose[3:])
        d = world.drags[row]
        if isinstance(drag, Surface):
            d[memory.PLACE : memory.PLACE + 3] = pose[:3] + turn @ drag.p
            d[memory.TURN : memory.TURN + 9] = (turn @ quat2mat(drag.q)).ravel()
            d[memory.SURFACE_LOAD] = 0.5 * drag.density * drag.area
            d[memory.SURFACE_SLOPE], d[memory.WAKE_SHARE] = drag.slope, drag.wake_share
            world.drag_int[row] = member_body[drag.body], 0, 1, drag.disc
            continue
        centre = system.bodies[drag.body].com if drag.centre is None else drag.centre
        point = pose[:3] + turn @ centre
        d[: memory.SURFACE_LOAD] = np.concatenate(
            [point, turn.ravel(), drag.linear, drag.quadratic, drag.rate_linear, drag.rate_cubic]
        )
        aligned = not point.any() and np.array_equal(turn, np.eye(3))
        linear = not np.any([drag.quadratic, drag.rate_linear, drag.rate_cubic])
        world.drag_int[row] = member_body[drag.body], aligned, linear, -1


def _fill_forces(
    world: memory.World, system: System, member_body: np.ndarray, member_pose: np.ndarray
) -> None:
    codes = list(FORCES)
    for row, force in enumerate(system.forces):
        pose, numbers = member_pose[force.body], world.forces[row]
        numbers[memory.FORCE_PLACE : memory.FORCE_PLACE + 3] = pose[:3]
        numbers[memory.FORCE_TURN : memory.FORCE_TURN + 9] = quat2mat(pose[3:]).ravel()
        first = memory.FORCE_PARAMETERS
        numbers[first : first + len(force.parameters)] = force.parameters
        world.force_int[row] = member_body[force.body], codes.index(force.type), -1, -1
    fill_strand_forces(world, system.strands, member_body, len(system.forces))


def _fill_ranges(world: memory.World) -> None:
    for table, column, first in (
        (world.rotor_int, memory.ROTOR_BODY, memory.FIRST_ROTOR),
        (world.drag_int, memory.DRAG_BODY, memory.FIRST_DRAG),
    ):
        for b in range(len(world.bodies)):
            rows = np.flatnonzero(table[:, column] == b)
            if len(rows):
                world.body_int[b, first : first + 2] = rows[0], rows[-1] + 1


def _pairs(ends: list[tuple], n_free: int) -> list[tuple[int, ...]]:
    """Pairs of cables that share a free body, as rows of ``pairs``."""
    out = []
    for k, (ka, _, kb, _) in enumerate(ends):
        for j in range(k):
            for body, side_k in ((ka, -1), (kb, 1)):
                for other, side_j in ((ends[j][0], -1), (ends[j][2], 1)):
                    if body == other and body < n_free:
                        arm = memory.ARM_B if side_k > 0 else memory.ARM_A
                        response = memory.INV_ARM_B if side_j > 0 else memory.INV_ARM_A
                        out.append((k, j, body, arm, response, side_k * side_j))
    return out


def _couple(world: memory.World, n_free: int) -> None:
    """Note for every cable the first one that pulls at the same free body or tree."""
    first: dict[tuple[str, int], int] = {}
    for k, row in enumerate(world.constraint_int):
        held = [("body", int(b)) for b in row[[memory.BODY_A, memory.BODY_B]] if b < n_free]
        held += [("tree", int(t)) for t in row[[memory.TREE_A, memory.TREE_B]] if t >= 0]
        if row[memory.ROUTED]:
            held = _held_by(world, world.route_int[row[memory.ROUTED] - 1], n_free)
        row[memory.COUPLED_FROM] = min((first.setdefault(what, k) for what in held), default=k)


def _held_by(world: memory.World, route: np.ndarray, n_free: int) -> list[tuple[str, int]]:
    """Free bodies and trees that a route pulls at."""
    grips = world.grip_int[route[memory.FIRST_GRIP] : route[memory.END_GRIP]]
    bodies = [("body", int(g[memory.GRIP_BODY])) for g in grips if g[memory.GRIP_BODY] < n_free]
    return bodies + [("tree", int(g[memory.GRIP_TREE])) for g in grips if g[memory.GRIP_TREE] >= 0]


def _fill_bodies(world: memory.World, groups: tuple[Group, ...], topology: Topology) -> None:
    for g, group in enumerate(groups):
        row = world.bodies[topology.rows[g]]
        row[memory.MASS] = group.mass
        free = g in topology.free
        if free:
            row[memory.INV_MASS] = 1.0 / group.mass
        elif topology.rows[g] < topology.n_bodies:
            world.body_int[topology.rows[g], memory.ROTATES] = memory.FULL_INERTIA
        if group.inertia is not None:
            row[memory.INERTIA : memory.INERTIA + 9] = group.inertia.ravel()
            diagonal = not np.any(group.inertia - np.diag(np.diag(group.inertia)))
            world.body_int[topology.rows[g], memory.ROTATES] = (
                memory.DIAGONAL_INERTIA if diagonal else memory.FULL_INERTIA
            )
            if free:
                row[memory.INV_INERTIA : memory.INV_INERTIA + 9] = np.linalg.inv(
                    group.inertia
                ).ravel()
    # the ground "rotates" so that anchor points count; its inverse mass and inertia stay zero
    ground = world.bodies[-1]
    world.body_int[-1, memory.ROTATES] = memory.FULL_INERTIA
    ground[memory.ROTATION : memory.ROTATION + 9] = np.eye(3).ravel()
    world.states[:, :, memory.Q] = 1.0


def fill_principal_axes(world: memory.World) -> None:
    """Write principal axes and moments of free bodies, for integrators that turn about them.

    Not for others: axes leap from number to number where moments are alike, and by their signs.
    """
    for b in range(world.head[memory.N_FREE]):
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            row = world.bodies[b]
            moments, axes = np.linalg.eigh(row[memory.INERTIA : memory.INERTIA + 9].reshape(3, 3))
            row[memory.PRINCIPAL : memory.PRINCIPAL + 9] = axes.ravel()
            row[memory.MOMENTS : memory.MOMENTS + 3] = moments


def _input_map(pose: np.ndarray) -> np.ndarray:
    """Force and moment on the merged body of unit thrust and moments of a member, (6, 4)."""
    R = quat2mat(pose[3:])
    mapping = np.zeros((6, 4))
    mapping[:3, 0] = R[:, 2]
    mapping[3:, 0] = np.cross(pose[:3], R[:, 2])
    mapping[3:, 1:] = R
    return mapping


def _tail_map(pose: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Force and moment on the merged body of the fourth channel: a force to the left at ``p`` of the member, (6, 4)."""
    R = quat2mat(pose[3:])
    mapping = np.zeros((6, 4))
    mapping[:3, 3] = R[:, 1]
    mapping[3:, 3] = np.cross(pose[:3] + R @ p, R[:, 1])
    return mapping
