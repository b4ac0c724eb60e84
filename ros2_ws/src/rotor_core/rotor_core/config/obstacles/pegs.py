"""Cables around obstacles: pegs that are named, as cylinders, balls and boxes of the world."""

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
    Obstacle,
)
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import Tree
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ConfigError

ANY = "any"
"""In place of the name of an obstacle: all that have cylinders."""

CYLINDERS = (CylinderObstacle, CapsuleObstacle)
KNOWN = (*CYLINDERS, BallObstacle, BoxObstacle)


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
                    f"{place}: model.attachments[{i}].around: there is no box, cylinder, capsule or sphere "
                    f"{peg.obstacle!r}. Known: {', '.join(known) or 'none'}."
                )
            meant = (
                [o for o in known.values() if isinstance(o.shape, CYLINDERS)]
                if peg.obstacle == ANY
                else [known[peg.obstacle]]
            )
            try:
                pegs += [_of_obstacle(peg, obstacle) for obstacle in meant]
            except ValueError as error:
                raise ConfigError(f"{place}: model.attachments[{i}].around: {error}") from error
        attachments[i] = replace(cable, around=tuple(pegs))
    return replace(scenario, model=replace(scenario.model, attachments=tuple(attachments)))


def _of_obstacle(peg: Peg, obstacle: Obstacle) -> Peg:
    """The cylinder, ball or box of an obstacle."""
    shape, R = obstacle.shape, quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg))
    assert isinstance(shape, KNOWN)
    if isinstance(shape, BallObstacle):
        return replace(
            peg, obstacle=obstacle.name, radius_m=shape.radius_m, middle_m=obstacle.position_m, size_m=None
        )  # fmt: skip
    if isinstance(shape, BoxObstacle):
        return replace(
            peg, obstacle=obstacle.name, radius_m=0.0, middle_m=obstacle.position_m, size_m=shape.size_m,
            rpy_deg=obstacle.rpy_deg,
        )  # fmt: skip
    ends = shape.radius_m if isinstance(shape, CapsuleObstacle) else 0.0
    half = R @ [0.0, 0.0, 0.5 * shape.height_m - ends]
    first, last = (
        tuple(float(x) for x in np.array(obstacle.position_m) + side * half) for side in (-1, 1)
    )
    return replace(
        peg, obstacle=obstacle.name, radius_m=shape.radius_m, ends_m=(first, last), middle_m=None, size_m=None  # type: ignore[arg-type]
    )  # fmt: skip
