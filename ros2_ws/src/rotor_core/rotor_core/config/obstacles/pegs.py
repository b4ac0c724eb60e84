"""Cables around obstacles: pegs that are named, as cylinders and edges of the world."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment, Peg
from rotor_core.config.checks.references import attachment_keys
from rotor_core.config.obstacles.obstacle import (
    BoxObstacle,
    CapsuleObstacle,
    CylinderObstacle,
    GateObstacle,
    Obstacle,
)
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.vehicles.outline import CORNERS
from rotor_core.config.yaml.tree import Tree
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ConfigError

ANY = "any"
"""In place of the name of an obstacle: all that have cylinders or edges."""

ROUND = (CylinderObstacle, CapsuleObstacle)
EDGED = (BoxObstacle, GateObstacle)


def with_pegs(scenario: Scenario, tree: Tree) -> Scenario:
    """The scenario with ends and radii in place of the names of obstacles that cables run around.

    Raises:
        ConfigError: there is no such obstacle, or it has neither cylinder nor edges, with the place of the entry.
    """
    known = {
        o.name: o for o in scenario.environment.obstacles if isinstance(o.shape, (*ROUND, *EDGED))
    }
    attachments = list(scenario.model.attachments)
    for i, cable in enumerate(attachments):
        if not isinstance(cable, CableAttachment) or not any(p.obstacle for p in cable.around):
            continue
        pegs: list[Peg] = []
        for peg in cable.around:
            if not peg.obstacle:
                pegs.append(peg)
                continue
            if peg.obstacle not in (ANY, *known):
                raise ConfigError(
                    f"{tree.at(*attachment_keys(tree, i)).place}: model.attachments[{i}].around: there is no obstacle "
                    f"{peg.obstacle!r} with a cylinder or edges. Known: {', '.join(known) or 'none'}."
                )
            meant = known.values() if peg.obstacle == ANY else (known[peg.obstacle],)
            pegs += [one for obstacle in meant for one in _of_obstacle(peg, obstacle)]
        attachments[i] = replace(cable, around=tuple(pegs))
    return replace(scenario, model=replace(scenario.model, attachments=tuple(attachments)))


def _of_obstacle(peg: Peg, obstacle: Obstacle) -> list[Peg]:
    """The cylinder of an obstacle, or the edges of its boxes."""
    shape, R = obstacle.shape, quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg))
    lines: list[np.ndarray] = []
    radius = 0.0
    if isinstance(shape, ROUND):
        radius = shape.radius_m
        half = 0.5 * shape.height_m - (radius if isinstance(shape, CapsuleObstacle) else 0.0)
        lines.append(np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]))
    for middle, size in obstacle.boxes:
        corners = middle + 0.5 * CORNERS * size
        lines += [corners[[a, b]] for a, b in combinations(range(8), 2) if _joined(a, b)]
    named = replace(peg, obstacle=obstacle.name, radius_m=radius)
    ends = [obstacle.position_m + line @ R.T for line in lines if np.ptp(line, axis=0).any()]
    return [replace(named, ends_m=_pair(line)) for line in ends]


def _joined(a: int, b: int) -> bool:
    """True if two corners of a box, by their numbers, are ends of an edge."""
    return int(np.sum(CORNERS[a] != CORNERS[b])) == 1


def _pair(line: np.ndarray) -> tuple[Vector, Vector]:
    first, last = (tuple(float(x) for x in end) for end in line)
    return first, last  # type: ignore[return-value]
