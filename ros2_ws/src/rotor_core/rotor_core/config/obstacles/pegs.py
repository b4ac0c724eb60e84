"""Cables around obstacles: pegs that are named, as cylinders, balls, boxes and hulls of the world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
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
    shape, R = obstacle.shape, quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg))
    assert isinstance(shape, KNOWN)
    if isinstance(shape, BallObstacle):
        return replace(
            peg, obstacle=obstacle.name, radius_m=shape.radius_m, middle_m=obstacle.position_m, size_m=None,
            corners_m=(),
        )  # fmt: skip
    if isinstance(shape, BoxObstacle):
        return replace(
            peg, obstacle=obstacle.name, radius_m=0.0, middle_m=obstacle.position_m, size_m=shape.size_m,
            corners_m=(), rpy_deg=obstacle.rpy_deg,
        )  # fmt: skip
    if isinstance(shape, MeshObstacle):
        return replace(
            peg, obstacle=obstacle.name, radius_m=0.0, middle_m=obstacle.position_m, size_m=None,
            corners_m=_hull(obstacle), rpy_deg=obstacle.rpy_deg,
        )  # fmt: skip
    ends = shape.radius_m if isinstance(shape, CapsuleObstacle) else 0.0
    half = R @ [0.0, 0.0, 0.5 * shape.height_m - ends]
    first, last = (
        tuple(float(x) for x in np.array(obstacle.position_m) + side * half) for side in (-1, 1)
    )
    return replace(
        peg, obstacle=obstacle.name, radius_m=shape.radius_m, ends_m=(first, last), middle_m=None, size_m=None,  # type: ignore[arg-type]
        corners_m=(),
    )  # fmt: skip


def _hull(obstacle: Obstacle) -> tuple[Vector, ...]:
    """Corners of a convex mesh, in its own axes.

    Raises:
        ValueError: it is not convex: a cable would have to pass over its hollows.
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
    return tuple(map(tuple, hull.corners.tolist()))
