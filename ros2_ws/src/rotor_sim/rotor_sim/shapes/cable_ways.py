"""The line of a cable, for every viewer: over pulleys, around pegs, through its masses, hanging where it is slack."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.clearance.gjk import hull_distance
from rotor_core.config.attachments.cable import CableAttachment, Cylinder
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_sim.shapes.arcs import arcs_over
from rotor_sim.shapes.polyhedron_ways import way_around

SAG_POINTS = 8
"""Segments of a slack cable."""

MOST_WAYS = 6
"""Ways around a box or hull that are tried, the shortest first."""

MOST_WRAPS = 4
"""Pegs on which a cable is drawn at once, at most."""

LIES, NEARLY = 1e-6, 2e-3
"""Shares of its length by which the drawn way of a taut cable misses it: is right, and may be (arcs are polygons)."""

LONG = 1e3
"""Half of a cylinder without ends, m."""

INSIDE = 1e-3
"""Share of its size by which a line must be inside something to pass through it: one that lies on it does not."""


def laid(points: np.ndarray, cable: CableAttachment) -> np.ndarray:
    """Path of a cable over its pulleys and pegs, (m, 3), from the points of :func:`drawn_path` in W.

    On a cylinder, box or hull there are always as many points, in one place where the cable does not lie on it. On
    which pegs it lies, and on which side, nobody tells: pegs are added one by one until the way is as long as the
    cable. Where none is, it is slack or on a winch, and drawn the shortest way that passes through none of them.
    """
    turns = [c.turn for c in cable.cylinders]
    if not turns:
        return points
    if cable.winch is not None:
        return _beside_all(points, cable)
    best = _way_over(points, cable, turns)
    miss = _miss(best, cable)
    for _ in range(min(turns.count(0), MOST_WRAPS)):
        if miss < LIES:
            break
        ways = []
        for k, turn in _choices(cable, turns):
            trial = [*turns[:k], turn, *turns[k + 1 :]]
            way = _way_over(points, cable, trial)
            ways.append((_miss(way, cable), trial, way))
        found = min(ways, key=lambda way: way[0])
        if found[0] >= miss:
            break
        miss, turns, best = found
    return best if miss < NEARLY else _beside_all(points, cable)


def _beside_all(points: np.ndarray, cable: CableAttachment) -> np.ndarray:
    """The shortest way of a cable that passes through none of its pegs, as far as one after the other finds it."""
    turns = [c.turn for c in cable.cylinders]
    for _ in range(min(turns.count(0), MOST_WRAPS)):
        way = _way_over(points, cable, turns)
        through = [k for k, _ in _choices(cable, turns) if _passes_through(way, points, cable, k)]
        if not through:
            return way
        trials = [
            [*turns[:k], turn, *turns[k + 1 :]]
            for k, turn in _choices(cable, turns)
            if k == through[0]
        ]
        turns = min(trials, key=lambda trial: _beside(points, cable, trial, through[0]))
    return _way_over(points, cable, turns)


def _beside(points: np.ndarray, cable: CableAttachment, turns: Sequence[int], k: int) -> float:
    """Length of a way; infinite where it passes through peg k still."""
    way = _way_over(points, cable, turns)
    if cable.cylinders[k].corners and _passes_through(way, points, cable, k):
        return np.inf
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())


def _passes_through(way: np.ndarray, points: np.ndarray, cable: CableAttachment, k: int) -> bool:
    """True if a straight part of a way passes through peg k; an edge has no inside."""
    c, (middle, *tips) = cable.cylinders[k], _marks(cable, points)[k]
    disc = 0.0
    axis = np.array([0.0, 0.0, 1.0])
    if c.corners:
        corners = np.array(c.corners)
        smaller = INSIDE * corners.mean(axis=0) + (1.0 - INSIDE) * corners
        solid = middle + smaller @ _axes_of(middle, tips).T
    elif any(c.axis):
        axis = (tips[0] - middle) / np.linalg.norm(tips[0] - middle)
        disc = (1.0 - INSIDE) * c.radius
        solid = middle + min(c.reach, LONG) * np.array([axis, -axis])
    else:
        solid = middle[None]
    ball = 0.0 if c.corners or any(c.axis) else (1.0 - INSIDE) * c.radius
    if not (c.corners or c.radius):
        return False
    return any(
        hull_distance(solid, np.array(part), axis_a=tuple(axis), disc_a=disc)[0] <= ball
        for part in pairwise(way)
        if np.any(part[0] != part[1])
    )


def _axes_of(middle: np.ndarray, tips: Sequence[np.ndarray]) -> np.ndarray:
    """Axes of a box or hull from the points along its x and y, (3, 3)."""
    x, y = (tip - middle for tip in tips)
    return np.column_stack([x, y, np.cross(x, y)])


def _choices(cable: CableAttachment, turns: Sequence[int]) -> list[tuple[int, int]]:
    """Pegs on which a cable does not lie yet, each with ways round it, or with the numbers of those around a hull."""
    free = [(k, c) for k, c in enumerate(cable.cylinders) if turns[k] == 0]
    rounds, ways = (1, -1), range(1, MOST_WAYS + 1)
    return [(k, turn) for k, c in free for turn in (ways if c.corners else rounds)]


def _miss(way: np.ndarray, cable: CableAttachment) -> float:
    """Share by which a way is longer or shorter than its cable."""
    length = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
    return abs(length / cable.length_m - 1.0)


def _way_over(points: np.ndarray, cable: CableAttachment, turns: Sequence[int]) -> np.ndarray:
    """One of the ways of :func:`laid`: which way round each cylinder, which of those around a hull; 0: not on it."""
    marks = _marks(cable, points)
    n = len(points) - sum(map(len, marks))
    nodes = points[:n]
    out = [nodes[:1]]
    for part in range(n - 1):
        p, q = nodes[part], nodes[part + 1]
        here = [i for i, c in enumerate(cable.cylinders) if c.part == part]
        if len(here) == 1 and (corners := cable.cylinders[here[0]].corners):
            middle, *tips = marks[here[0]]
            way = way_around(p, q, middle, _axes_of(middle, tips), corners, turns[here[0]])
            out.append(way)
            out.append(nodes[part + 1 : part + 2])
            continue
        row = [
            (marks[i][0], marks[i][1] - marks[i][0], cable.cylinders[i].radius, turns[i])
            if any(cable.cylinders[i].axis)
            else (marks[i][0], _across(p, q, marks[i][0]), cable.cylinders[i].radius, abs(turns[i]))
            for i in here
        ]
        if not any(
            c.turn for c in cable.cylinders if c.part == part
        ):  # pegs have no order of their own
            chord = q - p
            row.sort(key=lambda cylinder: float(cylinder[0] @ chord))
        out += arcs_over(p, q, row)
        out.append(nodes[part + 1 : part + 2])
    return np.concatenate(out)


def _directions(c: Cylinder) -> list[np.ndarray]:
    """Directions that tell how a pulley, peg, box or hull is turned."""
    if not c.corners:
        return [np.array(c.axis)]
    axes = quat2mat(wxyz_from_rpy_deg(c.rpy_deg))
    return [axes[:, 0], axes[:, 1]]


def _marks(cable: CableAttachment, points: np.ndarray) -> list[np.ndarray]:
    """Points of every pulley and peg, (2 or 3, 3), from the last ones of a path."""
    counts = [1 + len(_directions(c)) for c in cable.cylinders]
    ends = len(points) - sum(counts) + np.cumsum(counts)
    return [points[end - count : end] for count, end in zip(counts, ends, strict=True)]


def _across(p: np.ndarray, q: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """The axis about which a cable from p to q goes round a ball, counter-clockwise."""
    axis = np.cross(p - middle, q - middle)
    return axis if axis.any() else np.array([0.0, 0.0, 1.0])


def cable_points(path: np.ndarray, length: float) -> np.ndarray:
    """Polyline of a cable, (m, 3), over a path from end to end, (n, 3).

    Straight when taut; when slack every part hangs in a parabola with its share of the slack, a steep one aside.
    """
    spans = np.linalg.norm(np.diff(path, axis=0), axis=1)
    distance = float(spans.sum())
    slack = length - distance
    if slack <= 1e-6 or distance < 1e-9:
        return np.array(path)
    s = np.linspace(0.0, 1.0, SAG_POINTS + 1)[1:, None]
    line = [path[:1]]
    for start, end, span in zip(path[:-1], path[1:], spans, strict=True):
        share = slack * span / distance
        sag = np.sqrt(3.0 / 8.0 * share * max(span, share))  # arc length of a flat parabola
        line.append(start + s * (end - start) + 4.0 * s * (1.0 - s) * sag * _sagging(end - start))
    return np.concatenate(line)


def _sagging(chord: np.ndarray) -> np.ndarray:
    """Where a slack cable over a chord (3,) bulges, (3,): down, the steeper the more across, where it is seen."""
    down, length = np.array([0.0, 0.0, -1.0]), np.linalg.norm(chord)
    if length == 0.0:
        return down
    along = chord / length
    across = down - (down @ along) * along
    size = np.linalg.norm(across)
    across = across / size if size > 1e-6 else np.array([1.0, 0.0, 0.0])
    steep = along[2] ** 2
    out = (1.0 - steep) * down + steep * across
    return out / np.linalg.norm(out)


def drawn_length(cable: CableAttachment) -> float:
    """Length that a slack cable is drawn with, m; of one on a winch pictures do not know it: straight.

    So is every piece of a heavy one.
    """
    return 0.0 if cable.winch or cable.mass_kg_per_m or cable.cylinders else cable.length_m


def drawn_path(cable: CableAttachment, name: str) -> list[tuple[str, np.ndarray]]:
    """Bodies and points through which a cable is drawn, from end to end: a heavy one through its masses.

    Behind them points for every pulley and peg: its middle, and one along its axis; of a box or hull along its x and y.
    """
    path = [(body, np.array(point)) for body, point in cable.nodes]
    n = cable.segments if cable.mass_kg_per_m else 0
    marks = [
        (c.entity, np.array(c.centre) + direction)
        for c in cable.cylinders
        for direction in (np.zeros(3), *_directions(c))
    ]
    return [*path[:-1], *((f"{name}/{i + 1}", np.zeros(3)) for i in range(n)), path[-1], *marks]
