"""Cables around obstacles and boxes: pegs that are named, as cylinders and edges."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment, Peg
from rotor_core.config.checks.references import attachment_keys
from rotor_core.config.model import Box
from rotor_core.config.obstacles.obstacle import (
    BoxObstacle,
    CapsuleObstacle,
    CylinderObstacle,
    GateObstacle,
    Obstacle,
)
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.vehicles.outline import CORNERS, corners
from rotor_core.config.yaml.tree import Tree
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ConfigError

ANY = "any"
"""In place of the name of an obstacle: all that have cylinders or edges."""

ROUND = (CylinderObstacle, CapsuleObstacle)
EDGED = (BoxObstacle, GateObstacle)


def with_pegs(scenario: Scenario, tree: Tree) -> Scenario:
    """The scenario with ends and radii in place of the names of what cables run around.

    Raises:
        ConfigError: there is nothing of that name that has a cylinder or edges, with the place of the entry.
    """
    known = {
        o.name: o for o in scenario.environment.obstacles if isinstance(o.shape, (*ROUND, *EDGED))
    }
    boxes = {p.name: p for p in scenario.model.payloads if isinstance(p.shape, Box)}
    attachments = list(scenario.model.attachments)
    for i, cable in enumerate(attachments):
        if not isinstance(cable, CableAttachment) or not any(
            p.obstacle or p.edges for p in cable.around
        ):
            continue
        place = tree.at(*attachment_keys(tree, i)).place
        pegs: list[Peg] = []
        for peg in cable.around:
            if peg.edges:
                payload = boxes.get(peg.entity)
                if payload is None:
                    raise ConfigError(
                        f"{place}: model.attachments[{i}].around: {peg.entity!r} is no payload with the shape of a "
                        f"box. Known: {', '.join(boxes) or 'none'}."
                    )
                lines = _edges(corners(payload)[0])
                pegs += [replace(peg, edges=False, ends_m=_pair(line)) for line in lines]
                continue
            if not peg.obstacle:
                pegs.append(peg)
                continue
            if peg.obstacle not in (ANY, *known):
                raise ConfigError(
                    f"{place}: model.attachments[{i}].around: there is no obstacle {peg.obstacle!r} with a cylinder or "
                    f"edges. Known: {', '.join(known) or 'none'}."
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
        lines += _edges(middle + 0.5 * CORNERS * size)
    named = replace(peg, obstacle=obstacle.name, radius_m=radius)
    ends = [obstacle.position_m + line @ R.T for line in lines if np.ptp(line, axis=0).any()]
    return [replace(named, ends_m=_pair(line)) for line in ends]


def _edges(box: np.ndarray) -> list[np.ndarray]:
    """Ends of the edges of a box, (2, 3) each, from its corners in the order of CORNERS, (8, 3)."""
    pairs = combinations(range(8), 2)
    return [box[[a, b]] for a, b in pairs if int(np.sum(CORNERS[a] != CORNERS[b])) == 1]


def _pair(line: np.ndarray) -> tuple[Vector, Vector]:
    first, last = (tuple(float(x) for x in end) for end in line)
    return first, last  # type: ignore[return-value]
