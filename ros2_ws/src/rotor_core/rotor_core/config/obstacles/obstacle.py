"""Obstacles: what stands in the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rotor_core.config.vehicles.body import Vector, check_own_name
from rotor_core.config.yaml.structure import bounded

MOST_TRIANGLES = 20000
"""Of a mesh, and twice the cells of a height field: each is looked at in every control period."""


@dataclass(frozen=True)
class BoxObstacle:
    """A box."""

    type: Literal["box"]
    size_m: Vector = bounded(gt=0.0)


@dataclass(frozen=True)
class BallObstacle:
    """A ball."""

    type: Literal["sphere"]
    radius_m: float = bounded(gt=0.0)


@dataclass(frozen=True)
class CylinderObstacle:
    """A cylinder about z."""

    type: Literal["cylinder"]
    radius_m: float = bounded(gt=0.0)
    height_m: float = bounded(gt=0.0)


@dataclass(frozen=True)
class CapsuleObstacle:
    """A cylinder about z with half balls on its ends; ``height_m``: with them."""

    type: Literal["capsule"]
    radius_m: float = bounded(gt=0.0)
    height_m: float = bounded(gt=0.0)

    def __post_init__(self) -> None:
        if self.height_m < 2.0 * self.radius_m:
            raise ValueError(
                f"height_m must be at least two radii ({2.0 * self.radius_m:g} m), got {self.height_m:g}."
            )


@dataclass(frozen=True)
class GateObstacle:
    """Four bars about an opening, to be flown through along x: ``opening_m`` along y and z, ``frame_m`` thick."""

    type: Literal["gate"]
    opening_m: tuple[float, float] = bounded(gt=0.0)
    frame_m: float = bounded(0.1, gt=0.0)


@dataclass(frozen=True)
class MeshObstacle:
    """Triangles, ``[[x, y, z], [x, y, z], [x, y, z]]`` each; ``mesh_file`` in their place: STL, OBJ or PLY, in m."""

    type: Literal["mesh"]
    triangles_m: tuple[tuple[Vector, Vector, Vector], ...]

    def __post_init__(self) -> None:
        _check_triangles(len(self.triangles_m))


@dataclass(frozen=True)
class HeightsObstacle:
    """Ground that rises: heights over a grid, rows along y, from the smallest x and y on.

    ``heights_file`` in place of ``heights_m``: a table of numbers, one row per line. ``size_m``: of the whole along x
    and y, about the position.
    """

    type: Literal["heights"]
    heights_m: tuple[tuple[float, ...], ...]
    size_m: tuple[float, float] = bounded(gt=0.0)

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.heights_m}
        if len(self.heights_m) < 2 or len(widths) != 1 or min(widths) < 2:
            raise ValueError(
                f"heights_m must be at least 2 rows of the same length, at least 2, got rows of {sorted(widths)}."
            )
        _check_triangles(2 * (len(self.heights_m) - 1) * (min(widths) - 1))


def _check_triangles(n: int) -> None:
    if not 1 <= n <= MOST_TRIANGLES:
        raise ValueError(f"it must have 1 to {MOST_TRIANGLES} triangles, got {n}. Simplify it.")


ObstacleShape = (
    BoxObstacle
    | BallObstacle
    | CylinderObstacle
    | CapsuleObstacle
    | GateObstacle
    | MeshObstacle
    | HeightsObstacle
)


@dataclass(frozen=True)
class Obstacle:
    """Something that stands in the world; ``rpy_deg``: how it is turned, fixed axes.

    ``belt_m_s``: the surface of a box moves, as that of a conveyor, in its own axes.
    """

    FORMER: ClassVar = {
        "size_m": "shape: {type: box, size_m: ...}",
        "yaw_deg": "rpy_deg: [0, 0, yaw]",
    }

    name: str
    shape: ObstacleShape
    position_m: Vector = (0.0, 0.0, 0.0)
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    belt_m_s: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_own_name(self.name)
        if any(self.belt_m_s) and not isinstance(self.shape, BoxObstacle):
            raise ValueError(f"belt_m_s: only a box has a belt, not a {self.shape.type}.")

    @property
    def boxes(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Middle and size, (3,) m each, in its own axes, of the boxes that it consists of; none of other shapes."""
        shape = self.shape
        if isinstance(shape, BoxObstacle):
            return ((np.zeros(3), np.array(shape.size_m)),)
        if not isinstance(shape, GateObstacle):
            return ()
        (width, height), t = shape.opening_m, shape.frame_m
        post, beam = np.array([t, t, height]), np.array([t, width + 2.0 * t, t])
        aside, up = (
            np.array([0.0, 0.5 * (width + t), 0.0]),
            np.array([0.0, 0.0, 0.5 * (height + t)]),
        )
        return (aside, post), (-aside, post), (up, beam), (-up, beam)

    @property
    def triangles(self) -> np.ndarray:
        """Of a mesh or height field, in its own axes, (n, 3, 3) m; none of other shapes."""
        shape = self.shape
        if isinstance(shape, MeshObstacle):
            return np.array(shape.triangles_m)
        if not isinstance(shape, HeightsObstacle):
            return np.zeros((0, 3, 3))
        z = np.array(shape.heights_m)
        y, x = (
            np.linspace(-0.5 * s, 0.5 * s, n)
            for s, n in zip(shape.size_m[::-1], z.shape, strict=True)
        )
        grid = np.stack([*np.meshgrid(x, y), z], axis=-1)
        a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
        halves = [np.stack(three, axis=-2).reshape(-1, 3, 3) for three in ((a, b, c), (a, c, d))]
        return np.concatenate(halves)
