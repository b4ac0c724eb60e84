"""Routes of cables: their points and the bodies that they touch, as rows of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from rotor_core.math.polyhedron import Polyhedron
from rotor_dynamics import memory
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.topology import Topology

Paths = Sequence[tuple[int, list[tuple[int, np.ndarray]]]]
"""Number of the cable, and rows of bodies with points from their centres of mass, from end to end."""


def _bodies(path: list[tuple[int, np.ndarray]]) -> list[int]:
    """Rows of the bodies of a path, each once."""
    return list(dict.fromkeys(body for body, _ in path))


def rows_of(cable: Cable) -> list[list[int]]:
    """Points of a path at which rows of several sheaves begin on each of their sheaves."""
    rows: list[list[int]] = []
    for at, _ in cable.sheaves:
        if rows and rows[-1][-1] == at - 2:
            rows[-1].append(at)
        else:
            rows.append([at])
    return [row for row in rows if len(row) > 1]


def capstans_of(cable: Cable, path: list[tuple[int, np.ndarray]]) -> list[tuple[int, int]]:
    """First and last points of the capstans of a cable on its path.

    Neighbours on one rigid body, and all of one row on it, are one, for the cable slides over all of them alike. Left
    out is where it cannot slide: all that is before, or behind, is on one body too.
    """
    found: list[tuple[int, int]] = []
    rigid = [body for body, _ in path]
    row_of = {at: i for i, row in enumerate(rows_of(cable)) for at in row}
    for at, _ in cable.rubs:
        if len(set(rigid[at:])) == 1 or (len(set(rigid[: at + 1])) == 1 and not cable.winds):
            continue
        last = found[-1][1] if found else -1
        in_row = last in row_of and row_of[last] == row_of.get(at) and rigid[last] == rigid[at]
        if found and (in_row or len(set(rigid[last : at + 1])) == 1):
            found[-1] = found[-1][0], at
        else:
            found.append((at, at))
    return found


def capstan_count(cables: Sequence[Cable], routes: Paths) -> int:
    """Number of capstans."""
    return sum(len(capstans_of(cables[k], path)) for k, path in routes)


def route_sizes(cables: Sequence[Cable], routes: Paths) -> tuple[int, ...]:
    """Sizes of the tables of routes, from ``n_routes`` to ``n_ways`` of :data:`rotor_dynamics.memory.SIZES`.

    The last: unknowns of the longest row.
    """
    capstans = capstan_count(cables, routes)
    points = sum(len(p) for _, p in routes)
    grips = sum(len(_bodies(p)) * (1 + len(capstans_of(cables[k], p))) for k, p in routes)
    grips += sum(c.drum >= 0 for c in cables)
    sheaves = sum(len(c.sheaves) for c in cables)
    longest = max((len(row) for c in cables for row in rows_of(c)), default=0)
    polyhedra = [s.polyhedron for c in cables for _, s in c.sheaves if s.polyhedron is not None]
    faces, edges = sum(len(p.faces) for p in polyhedra), sum(p.n_edges for p in polyhedra)
    numbers = len(routes) + capstans, points, grips, sheaves, len(polyhedra), faces, edges
    return *numbers, capstans, 4 * longest


def _axes(axis: np.ndarray) -> np.ndarray:
    """A right-handed frame with this third axis, (3, 3), the same way about for all axes near one of a coordinate."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[(np.argmax(np.abs(z)) + 1) % 3], z)
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


def fill_polyhedron(
    world: memory.World, row: int, first_face: int, first_edge: int, polyhedron: Polyhedron
) -> None:
    """Write faces and edges of a polyhedron from these rows on, and where they are into its own row."""
    number = world.polyhedron_int[row]
    number[[memory.FIRST_FACET, memory.END_FACET]] = first_face, first_face + len(polyhedron.faces)
    numbers = {pair: h for h, pair in enumerate(polyhedron.edges, first_edge)}
    first = first_edge
    for f, (face, plane) in enumerate(
        zip(polyhedron.faces, polyhedron.planes, strict=True), first_face
    ):
        n = len(face)
        world.facets[f], world.facet_int[f] = plane, (first, first + n)
        for k, (a, b) in enumerate(pairwise((*face, face[0]))):
            twin = numbers[b, a]
            world.edge_int[first + k] = f, twin, first + (k + 1) % n, first + (k - 1) % n, a
            way = polyhedron.corners[b] - polyhedron.corners[a]
            length = float(np.linalg.norm(way))
            edge = world.edges[first + k]
            edge[memory.EDGE_FROM : memory.EDGE_FROM + 3] = polyhedron.corners[a]
            edge[memory.EDGE_ALONG : memory.EDGE_ALONG + 3] = way / length
            edge[memory.EDGE_LENGTH] = length
            # of its twin, which runs the other way along it, this face is beyond
            inward = np.cross(plane[:3], way / length)
            world.edges[twin, memory.EDGE_BEYOND : memory.EDGE_BEYOND + 3] = inward
        first += n


def fill_routes(
    world: memory.World,
    cables: Sequence[Cable],
    routes: Paths,
    topology: Topology,
    turns: Mapping[int, np.ndarray],
) -> None:
    """Write the rows of all routes, and mark their constraints; ``turns``: attitude of every member in its body."""
    pins = grips = sheaves = polyhedra = faces = edges = 0
    for r, (k, path) in enumerate(routes):
        cable, bodies = cables[k], _bodies(path)
        world.route_int[r, : memory.FIRST_CAPSTAN] = k, pins, pins + len(path), grips, 0
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
            world.pin_int[pins + p] = grips + bodies.index(body), 0, 0, 0
            world.pins[pins + p, memory.PIN_POINT : memory.PIN_POINT + 3] = point
        for row in rows_of(cable):
            world.pin_int[pins + row[0] - 1, memory.IN_ROW] = 1
            world.pin_int[pins + row[0] : pins + row[-1] + 2, memory.IN_ROW] = 2
        for at, friction in cable.rubs:
            world.pins[pins + at, memory.PIN_FRICTION] = friction
        for p, sheave in cable.sheaves:
            body, centre = path[p]
            row = world.sheaves[sheaves]
            row[memory.SHEAVE_CENTRE : memory.SHEAVE_CENTRE + 3] = centre
            own = np.eye(3) if sheave.polyhedron is not None else _axes(sheave.axis)
            axes = turns[sheave.body] @ own
            row[memory.SHEAVE_AXES : memory.SHEAVE_AXES + 9] = axes.ravel()
            row[memory.SHEAVE_RADIUS], row[memory.SHEAVE_REACH] = sheave.radius, sheave.reach
            world.sheave_int[sheaves, memory.BALL] = sheave.ball
            if sheave.polyhedron is not None:
                fill_polyhedron(world, polyhedra, faces, edges, sheave.polyhedron)
                polyhedra += 1
                faces += len(sheave.polyhedron.faces)
                edges += sheave.polyhedron.n_edges
                world.sheave_int[sheaves, memory.POLYHEDRON_AT] = polyhedra
            world.sheave_int[sheaves, : memory.FRESH] = (
                body,
                r,
                pins + p,
                sheave.turn,
                sheave.turn,
                0,
            )
            sheaves += 1
            world.pin_int[pins + p, memory.PIN_SHEAVE] = sheaves
        number = world.constraint_int[k]
        number[memory.ROUTED] = r + 1
        alive = memory.STRETCHES if cable.stiffness else memory.HOLDS
        number[memory.ALIVE] = alive if len(bodies) > 1 else 0  # on one rigid body it never pulls
        pins, grips = pins + len(path), grips + len(bodies)


def fill_capstans(world: memory.World, cables: Sequence[Cable], routes: Paths, ground: int) -> None:
    """Write the rows of all capstans behind those of the routes that rub on them, and of all other constraints."""
    n = int(world.head[memory.N_CAPSTANS])
    c, k = len(world.route_int) - n, len(world.constraint_int) - n
    grips = max((int(row[memory.END_GRIP]) for row in world.route_int[:c]), default=0)
    for r, (cable, path) in enumerate(routes):
        row = world.route_int[r]
        row[memory.FIRST_CAPSTAN] = c
        first, end = row[[memory.FIRST_GRIP, memory.END_GRIP]]
        end -= world.constraint_int[row[memory.ROUTE_CONSTRAINT], memory.DRUM_JOINT] != 0
        for at, last in capstans_of(cables[cable], path):
            own = world.route_int[c]
            own[memory.ROUTE_CONSTRAINT], own[memory.RUBBED_BY] = k, r + 1
            own[memory.FIRST_GRIP], own[memory.END_GRIP] = grips, grips + end - first
            own[memory.CAPSTAN_PIN] = row[memory.FIRST_PIN] + at
            own[memory.LAST_PIN] = row[memory.FIRST_PIN] + last
            world.grip_int[grips : grips + end - first] = world.grip_int[first:end]
            number = world.constraint_int[k]
            number[[memory.BODY_A, memory.BODY_B]] = ground
            number[[memory.TREE_A, memory.TREE_B, memory.STOP_JOINT]] = -1
            number[memory.ALIVE], number[memory.ROUTED] = memory.RUBS, c + 1
            c, k, grips = c + 1, k + 1, grips + end - first
        row[memory.END_CAPSTAN] = c
