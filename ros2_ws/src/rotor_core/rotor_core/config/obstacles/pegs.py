"""Cables around obstacles: pegs that are named, as cylinders and balls of the world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment, Peg
from rotor_core.config.checks.references import attachment_keys
from rotor_core.config.obstacles.obstacle import (
    BallObstacle,
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

ROUND = (CylinderObstacle, CapsuleObstacle, BallObstacle)


def with_pegs(scenario: Scenario, tree: Tree) -> Scenario:
    """The scenario with ends and radii in place of the names of what cables run around.

    Raises:
        ConfigError: there is nothing of that name that is round, or it cannot be so, with the place of the entry.
    """
    known = {o.name: o for o in scenario.environment.obstacles if isinstance(o.shape, ROUND)}
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
                    f"{place}: model.attachments[{i}].around: there is no round obstacle {peg.obstacle!r}. "
                    f"Known: {', '.join(known) or 'none'}."
                )
            meant = (
                [o for o in known.values() if not isinstance(o.shape, BallObstacle)]
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
    """The cylinder or ball of an obstacle."""
    shape, R = obstacle.shape, quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg))
    assert isinstance(shape, ROUND)
    if isinstance(shape, BallObstacle):
        return replace(
            peg, obstacle=obstacle.name, radius_m=shape.radius_m, middle_m=obstacle.position_m
        )
    ends = shape.radius_m if isinstance(shape, CapsuleObstacle) else 0.0
    half = R @ [0.0, 0.0, 0.5 * shape.height_m - ends]
    first, last = (
        tuple(float(x) for x in np.array(obstacle.position_m) + side * half) for side in (-1, 1)
    )
    return replace(
        peg, obstacle=obstacle.name, radius_m=shape.radius_m, ends_m=(first, last), middle_m=None  # type: ignore[arg-type]
    )  # fmt: skip
