"""Solids in rigid contact: shapes of bodies, the law between them, and pairs that may touch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from transforms3d.quaternions import quat2mat

from rotor_core.errors import ModelError
from rotor_dynamics import memory
from rotor_dynamics.model.body import WORLD, Body

CORE_MARGIN, CORE_SHARE = 1e-4, 0.05
"""The core of a solid is smaller by this on every side, m, at most this share of half its smallest width."""

FLUSH, FLUSH_OF_WIDTH = 1e-3, 0.1
"""Corners belong to one face while they are within this share of the size of the solid behind the foremost one, and
this share of its smallest width: the other side of a thin plate is another face."""

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Solid:
    """The convex hull of points, widened by a disc across an axis and by a ball.

    A box is the hull of its corners, a cylinder that of the ends of its axis with a disc, a ball one point with a
    ball, a capsule two.

    Attributes:
        body: index, or WORLD.
        points: in the frame of the body (for WORLD: world coordinates), (n, 3) m.
        axis: of the disc, in the same frame, (3,), unit length.
        disc: radius of the disc, m; 0: none.
        ball: radius of the ball, m. Solids without a thickness need one.
        belt: velocity of the surface against the body, in its axes, (3,) m/s.
        is_ground: everything below the only point.
        name: in the world, of what it is of.
    """

    body: int
    points: np.ndarray
    axis: np.ndarray = field(default_factory=lambda: UP)
    disc: float = 0.0
    ball: float = 0.0
    belt: np.ndarray = field(default_factory=lambda: np.zeros(3))
    is_ground: bool = False
    name: str = "world"

    @property
    def core(self) -> tuple[np.ndarray, float]:
        """Points and disc of the same solid, a little smaller on every side (N.2).

        Raises:
            ModelError: it has no thickness.
        """
        points = np.asarray(self.points, float)
        if self.ball > 0.0 or self.is_ground:
            return points, self.disc
        if self.disc > 0.0:
            along = points @ self.axis
            middle, half = 0.5 * (along.min() + along.max()), 0.5 * np.ptp(along)
            margin = min(CORE_MARGIN, CORE_SHARE * min(half, self.disc))
            if margin > 0.0:
                moved = points - np.outer(np.sign(along - middle) * margin, self.axis)
                return moved, self.disc - margin
        else:
            planes = _faces(points)
            if len(planes):
                centre = points.mean(axis=0)
                inside = -(planes[:, :3] @ centre + planes[:, 3])
                planes[:, 3] += min(CORE_MARGIN, CORE_SHARE * inside.min())
                return np.unique(
                    scipy.spatial.HalfspaceIntersection(planes, centre).intersections, axis=0
                ), 0.0
        raise ModelError(
            f"solid of body {self.body}: has no thickness. Give it a ball, or points that are not in one plane."
        )


def _faces(points: np.ndarray) -> np.ndarray:
    """Unit normals outwards and offsets of the faces of a hull, (n, 4); none where it is flat."""
    try:
        return np.asarray(scipy.spatial.ConvexHull(points).equations)
    except (scipy.spatial.QhullError, ValueError):
        return np.zeros((0, 4))


def flush_of(points: np.ndarray, reach: float) -> float:
    """Distance by which corners of one face of a hull may lie behind each other, m.

    Args:
        points: of the hull, (n, 3).
        reach: radius of the sphere that holds the solid, m.

    Raises:
        ModelError: a face has more corners than can be kept.
    """
    faces = _faces(points)
    if not len(faces):
        return FLUSH * reach
    heights = points @ faces[:, :3].T
    flush = min(FLUSH * reach, FLUSH_OF_WIDTH * float(np.ptp(heights, axis=0).min()))
    corners = int((heights > heights.max(axis=0) - flush).sum(axis=0).max())
    if corners > memory.MOST_CORNERS:
        raise ModelError(
            f"rigid contact: a face has {corners} corners, at most {int(memory.MOST_CORNERS)} are known. Give the "
            "shape fewer points, or make it a cylinder."
        )
    return flush


@dataclass(frozen=True)
class RigidContact:
    """Signorini's condition, Coulomb's friction and Poisson's restitution between all solids (N.7), (N.8), (N.12).

    Attributes:
        friction: coefficient.
        restitution: speed after an impact over that before, 0 to 1.
        rest_speed: what comes together more slowly does not bounce, and is not located in time, m/s.
    """

    friction: float = 0.5
    restitution: float = 0.0
    rest_speed: float = 0.01

    def __post_init__(self) -> None:
        numbers = (self.friction, self.restitution, self.rest_speed)
        if not np.isfinite(numbers).all() or self.friction < 0.0 or not self.rest_speed > 0.0:
            raise ModelError(
                f"rigid contact: friction must be >= 0 and the rest speed > 0, got {self}."
            )
        if not 0.0 <= self.restitution <= 1.0:
            raise ModelError(
                f"rigid contact: restitution must be 0 to 1, got {self.restitution:g}."
            )


def check_solids(solids: tuple[Solid, ...], bodies: tuple[Body, ...], jointed: set[int]) -> None:
    """Refuse solids of bodies that do not exist or that joints hold, and shapes that cannot be.

    Args:
        solids: to look at.
        bodies: of the system.
        jointed: bodies that joints connect.

    Raises:
        ModelError: naming the solid.
    """
    for k, s in enumerate(solids):
        place = f"solid {k}"
        if not (s.body == WORLD or 0 <= s.body < len(bodies)):
            raise ModelError(
                f"{place}: body index must be 0..{len(bodies) - 1} or WORLD, got {s.body}."
            )
        if s.body in jointed:
            raise ModelError(
                f"{place}: {bodies[s.body].name!r} is part of an articulated vehicle, which rigid contact does not "
                "move. Use compliant contacts there."
            )
        points = np.asarray(s.points, float)
        numbers = np.concatenate([points.ravel(), s.axis, s.belt, [s.disc, s.ball]])
        if points.ndim != 2 or points.shape[1:] != (3,) or not len(points):
            raise ModelError(f"{place}: points must be (n, 3), got shape {points.shape}.")
        if not np.isfinite(numbers).all() or min(s.disc, s.ball) < 0.0:
            raise ModelError(f"{place}: every number must be finite, and the radii >= 0.")
        if s.is_ground and s.body != WORLD:
            raise ModelError(f"{place}: the ground belongs to the world, got body {s.body}.")
        _ = s.core


def meetings_of(
    solids: tuple[Solid, ...], row_of: dict[int, int], ground: int
) -> list[tuple[int, int]]:
    """Pairs of solids that may touch: of different bodies, one of which moves, the standing one second.

    Args:
        solids: all of them.
        row_of: row of the merged body of every member.
        ground: row of the world.
    """
    pairs = []
    for i in range(len(solids)):
        for j in range(i):
            a, b = row_of[solids[i].body], row_of[solids[j].body]
            if a != b:
                pairs.append((i, j) if b == ground else (j, i))
    return pairs


def solid_sizes(solids: tuple[Solid, ...], n_meetings: int) -> tuple[int, int, int, int, int]:
    """Rows of hulls, their points, pairs, points of touch, and work."""
    corners = sum(len(s.points) + len(s.core[0]) for s in solids)
    scratch = int(memory.SCRATCH) if solids else 0
    return len(solids), corners, n_meetings, n_meetings * int(memory.MOST_POINTS), scratch


def fill_solids(
    world: memory.World,
    solids: tuple[Solid, ...],
    law: RigidContact,
    meetings: list[tuple[int, int]],
    row_of: dict[int, int],
    pose_of: dict[int, np.ndarray],
) -> None:
    """Write solids and pairs; ``row_of`` and ``pose_of``: row of every member and its pose in the merged body."""
    first = 0
    for k, s in enumerate(solids):
        pose, row = pose_of[s.body], world.hulls[k]
        R = quat2mat(pose[3:])
        core, core_disc = s.core
        points, core = (pose[:3] + np.asarray(p, float) @ R.T for p in (s.points, core))
        axis = R @ s.axis
        both = np.vstack([points, core])
        world.corners[first : first + len(both), memory.CORNER_B : memory.CORNER_B + 3] = both
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        far = np.linalg.norm(points - centre, axis=1).max() + s.disc + s.ball
        row[memory.HULL_AXIS : memory.HULL_AXIS + 3] = axis
        row[memory.HULL_DISC], row[memory.CORE_DISC], row[memory.HULL_BALL] = (
            s.disc,
            core_disc,
            s.ball,
        )
        row[memory.HULL_CENTRE : memory.HULL_CENTRE + 3] = centre
        row[memory.HULL_REACH], row[memory.HULL_FLUSH] = far, flush_of(points, far)
        row[memory.HULL_ARM] = np.linalg.norm(points, axis=1).max() + s.disc + s.ball
        row[memory.HULL_BELT : memory.HULL_BELT + 3] = R @ s.belt
        end = first + len(points)
        world.hull_int[k] = row_of[s.body], first, end, first + len(both), s.is_ground
        first += len(both)
    for m, (a, b) in enumerate(meetings):
        world.meeting_int[m, [memory.HULL_ON_A, memory.HULL_ON_B]] = a, b
        world.meetings[m, memory.MEETING_FRICTION] = law.friction
        world.meetings[m, memory.MEETING_RESTITUTION] = law.restitution
    world.scalars[memory.REST_SPEED] = law.rest_speed
