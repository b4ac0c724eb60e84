"""Cables around obstacles: pegs that are named, as cylinders of the world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment, Peg
from rotor_core.config.checks.references import attachment_keys
from rotor_core.config.obstacles.obstacle import CylinderObstacle, Obstacle
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import Tree
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ConfigError


def with_pegs(scenario: Scenario, tree: Tree) -> Scenario:
    """The scenario with ends and radii in place of the names of obstacles that cables run around.

    Raises:
        ConfigError: there is no such obstacle, or it is no cylinder, with the place of the entry.
    """
    known = {o.name: o for o in scenario.environment.obstacles}
    attachments = list(scenario.model.attachments)
    for i, cable in enumerate(attachments):
        if not isinstance(cable, CableAttachment) or not any(p.obstacle for p in cable.around):
            continue
        pegs = []
        for peg in cable.around:
            if peg.obstacle and not isinstance(
                getattr(known.get(peg.obstacle), "shape", None), CylinderObstacle
            ):
                cylinders = [
                    o.name for o in known.values() if isinstance(o.shape, CylinderObstacle)
                ]
                raise ConfigError(
                    f"{tree.at(*attachment_keys(tree, i)).place}: model.attachments[{i}].around: there is no cylinder "
                    f"{peg.obstacle!r} among the obstacles. Known: {', '.join(cylinders) or 'none'}."
                )
            pegs.append(_of_obstacle(peg, known[peg.obstacle]) if peg.obstacle else peg)
        attachments[i] = replace(cable, around=tuple(pegs))
    return replace(scenario, model=replace(scenario.model, attachments=tuple(attachments)))


def _of_obstacle(peg: Peg, obstacle: Obstacle) -> Peg:
    shape = obstacle.shape
    assert isinstance(shape, CylinderObstacle)
    half = quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg)) @ [0.0, 0.0, 0.5 * shape.height_m]
    middle = np.array(obstacle.position_m)
    ends = tuple(tuple(float(x) for x in middle + side * half) for side in (-1.0, 1.0))
    return replace(peg, ends_m=ends, radius_m=shape.radius_m)  # type: ignore[arg-type]
