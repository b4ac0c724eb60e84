"""Routes of cables: their points and the bodies that they touch, as rows of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.topology import Topology

Paths = Sequence[tuple[int, list[tuple[int, np.ndarray]]]]
"""Number of the cable, and rows of bodies with points from their centres of mass, from end to end."""


def _bodies(path: list[tuple[int, np.ndarray]]) -> list[int]:
    """Rows of the bodies of a path, each once."""
    return list(dict.fromkeys(body for body, _ in path))


def route_sizes(cables: Sequence[Cable], routes: Paths) -> tuple[int, int, int, int]:
    """Numbers of routes, points, grips and sheaves."""
    points = sum(len(p) for _, p in routes)
    grips = sum(len(_bodies(p)) for _, p in routes) + sum(c.drum >= 0 for c in cables)
    return len(routes), points, grips, sum(len(c.sheaves) for c in cables)


def _axes(axis: np.ndarray) -> np.ndarray:
    """A right-handed frame with this third axis, (3, 3)."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def path_of(world: memory.World, k: int) -> list[tuple[int, np.ndarray]]:
    """Rows of bodies and points, from end to end, of the cable in row k of the constraints."""
    number, c = world.constraint_int[k], world.constraints[k]
    if not number[memory.ROUTED]:
        ends = ((memory.BODY_A, memory.R_A), (memory.BODY_B, memory.R_B))
        return [(int(number[body]), c[point : point + 3]) for body, point in ends]
    route = world.route_int[number[memory.ROUTED] - 1]
    return [
        (
            int(world.grip_int[world.pin_int[p, memory.PIN_GRIP], memory.GRIP_BODY]),
            world.pins[p, memory.PIN_POINT : memory.PIN_POINT + 3],
        )
        for p in range(route[memory.FIRST_PIN], route[memory.END_PIN])
    ]


def fill_routes(
    world: memory.World,
    cables: Sequence[Cable],
    routes: Paths,
    topology: Topology,
    turns: Mapping[int, np.ndarray],
) -> None:
    """Write the rows of all routes, and mark their constraints; ``turns``: attitude of every member in its body."""
    pins = grips = sheaves = 0
    for r, (k, path) in enumerate(routes):
        cable, bodies = cables[k], _bodies(path)
        world.route_int[r] = k, pins, pins + len(path), grips, grips + len(bodies)
        row = world.routes[r]
        row[memory.CABLE_STIFFNESS], row[memory.CABLE_DAMPING] = cable.stiffness, cable.damping
        row[memory.BREAKING], row[memory.WOUND_LENGTH] = cable.breaking_load, cable.length
        seen: set[int] = set()
        if cable.drum >= 0:
            number = topology.joints.index(cable.drum)
            bodies.append(topology.n_bodies + number)
            world.constraint_int[k, memory.DRUM_JOINT] = number + 1
        world.route_int[r, memory.END_GRIP] = grips + len(bodies)
        for i, body in enumerate(bodies):
            tree = topology.tree_of(body)
            world.grip_int[grips + i] = body, tree, tree >= 0 and tree not in seen
            seen.add(tree)
        for p, (body, point) in enumerate(path):
            world.pin_int[pins + p] = grips + bodies.index(body), 0
            world.pins[pins + p, memory.PIN_POINT : memory.PIN_POINT + 3] = point
        for p, sheave in cable.sheaves:
            body, centre = path[p]
            row = world.sheaves[sheaves]
            row[memory.SHEAVE_CENTRE : memory.SHEAVE_CENTRE + 3] = centre
            axes = turns[sheave.body] @ _axes(sheave.axis)
            row[memory.SHEAVE_AXES : memory.SHEAVE_AXES + 9] = axes.ravel()
            row[memory.SHEAVE_RADIUS], row[memory.SHEAVE_REACH] = sheave.radius, sheave.reach
            world.sheave_int[sheaves] = body, r, pins + p, sheave.turn, sheave.turn, 0
            sheaves += 1
            world.pin_int[pins + p, memory.PIN_SHEAVE] = sheaves
        number = world.constraint_int[k]
        number[memory.ROUTED] = r + 1
        alive = memory.STRETCHES if cable.stiffness else memory.HOLDS
        number[memory.ALIVE] = alive if len(bodies) > 1 else 0  # on one rigid body it never pulls
        pins, grips = pins + len(path), grips + len(bodies)
