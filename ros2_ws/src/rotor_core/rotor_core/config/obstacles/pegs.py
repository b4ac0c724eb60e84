"""Cables around obstacles: pegs that are named, as cylinders, balls, boxes and hulls of the world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment, Peg
from rotor_core.config.checks.references import attachment_keys
from rotor_core.config.obstacles.obstacle import (
    BallObstacle,
    BoxObstacle,
    CapsuleObstacle,
    CylinderObstacle,
    MeshObstacle,
    Obstacle,
)
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.tree import Tree
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ConfigError, ModelError
from rotor_core.math.polyhedron import Polyhedron

ANY = "any"
"""In place of the name of an obstacle: all that have cylinders."""

CYLINDERS = (CylinderObstacle, CapsuleObstacle)
KNOWN = (*CYLINDERS, BallObstacle, BoxObstacle, MeshObstacle)

HOLLOW = 1e-3
"""A mesh is convex if no triangle of it is farther inside its hull than this share of its size."""


def with_pegs(scenario: Scenario, tree: Tree) -> Scenario:
    """The scenario with ends and radii in place of the names of what cables run around.

    Raises:
        ConfigError: there is nothing of that name to wrap around, or it cannot be so, with the place of the entry.
    """
    known = {o.name: o for o in scenario.environment.obstacles if isinstance(o.shape, KNOWN)}
    attachments = list(scenario.model.attachments)
    for i, cable in enumerate(attachments):
        if not isinstance(cable, CableAttachment) or not any(p.obstacle for p in cable.around):
            continue
        place = tree.at(*attachment_keys(tree, i)).place
        pegs: list[Peg] = []
        for peg in cable.around:
            if not peg.obstacle:
                pegs.append(peg)
                continue
            if peg.obstacle not in (ANY, *known):
                raise ConfigError(
                    f"{place}: model.attachments[{i}].around: there is no box, cylinder, capsule, sphere or mesh "
                    f"{peg.obstacle!r}. Known: {', '.join(known) or 'none'}."
                )
            cylinders = [o for o in known.values() if isinstance(o.shape, CYLINDERS)]
            if peg.obstacle == ANY and not cylinders:
                raise ConfigError(
                    f"{place}: model.attachments[{i}].around: 'any' means cylinders and capsules, and there is none. "
                    f"Name what it wraps around: {', '.join(known) or 'there is nothing'}."
                )
            meant = cylinders if peg.obstacle == ANY else [known[peg.obstacle]]
            try:
                pegs += [_of_obstacle(peg, obstacle) for obstacle in meant]
            except ValueError as error:
                raise ConfigError(f"{place}: model.attachments[{i}].around: {error}") from error
        attachments[i] = replace(cable, around=tuple(pegs))
    return replace(scenario, model=replace(scenario.model, attachments=tuple(attachments)))


def _of_obstacle(peg: Peg, obstacle: Obstacle) -> Peg:
    """The cylinder, ball, box or hull of an obstacle."""
    shape, place = obstacle.shape, obstacle.position_m
    assert isinstance(shape, KNOWN)
    what: dict[str, Any] = {"middle_m": place, "rpy_deg": obstacle.rpy_deg}
    if isinstance(shape, BallObstacle):
        what = {"middle_m": place, "radius_m": shape.radius_m}
    elif isinstance(shape, BoxObstacle):
        what["size_m"] = shape.size_m
    elif isinstance(shape, MeshObstacle):
        what["corners_m"] = _hull(obstacle)
    else:
        round_ends = shape.radius_m if isinstance(shape, CapsuleObstacle) else 0.0
        R = quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg))
        half = R @ [0.0, 0.0, 0.5 * shape.height_m - round_ends]
        ends = np.array(place) - half, np.array(place) + half
        what = {"ends_m": tuple(tuple(e.tolist()) for e in ends), "radius_m": shape.radius_m}
    # what was said of place and shape before, in a world that was told of, counts no more
    return Peg(obstacle=obstacle.name, part=peg.part, friction=peg.friction, **what)


def _hull(obstacle: Obstacle) -> tuple[Vector, ...]:
    """Corners of a convex mesh, in its own axes.

    Raises:
        ValueError: it is not convex, so that a cable would have to pass over its hollows, or not closed.
    """
    triangles = obstacle.triangles
    try:
        hull = Polyhedron.around(triangles.reshape(-1, 3))
    except ModelError as error:
        raise ValueError(f"{obstacle.name}: {error}") from error
    middles = triangles.mean(axis=1)
    inside = -(middles @ hull.planes[:, :3].T - hull.planes[:, 3]).max(axis=1)
    worst, size = int(inside.argmax()), float(np.ptp(hull.corners, axis=0).max())
    if inside[worst] > HOLLOW * size:
        raise ValueError(
            f"{obstacle.name} is not convex: triangle {worst + 1} is {inside[worst]:.3g} m inside its hull, and a "
            f"cable wraps around convex shapes only. Make it of convex obstacles, or give the corners_m of a hull."
        )
    # both sides of a sheet are one triangle
    _, corners = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    members = np.sort(corners.reshape(-1, 3), axis=1)
    _, once = np.unique(members, axis=0, return_index=True)
    sides = np.diff(triangles[once], axis=1)
    area = 0.5 * float(np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum())
    covered = area / scipy.spatial.ConvexHull(hull.corners).area
    if covered < 1.0 - HOLLOW:
        raise ValueError(
            f"{obstacle.name} is not closed: its triangles cover {covered:.1%} of its hull. Close it, or give the "
            f"corners_m of a hull."
        )
    return tuple(map(tuple, hull.corners.tolist()))
