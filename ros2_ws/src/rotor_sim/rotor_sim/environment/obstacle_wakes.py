"""Calm air behind obstacles: wakes whose loss of momentum is the drag of what makes them.

Equations (U.5), (U.6), docs/theory/air.md. The profile is the Gaussian of Bastankhah and Porte-Agel, A new analytical
model for wind-turbine wakes, 2014, with the drag of a blunt body for the thrust of a turbine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_core.clearance.solids import Solid, obstacle_solids
from rotor_core.config.air.wind import ObstacleWakes
from rotor_core.config.obstacles.obstacle import HeightsObstacle, MeshObstacle, Obstacle
from rotor_sim.environment.half_cosine import half_cosine

DIRECTIONS = 720
"""In which the outline of an obstacle is felt for."""


def frontal_area(solid: Solid, along: np.ndarray) -> float:
    """Area of the outline of a solid seen along a unit vector, m^2.

    Half the integral of h^2 - h'^2 over all directions, h the distance of the line that touches the outline there.
    """
    side = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    side /= np.linalg.norm(side)
    angles = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    rays = np.outer(np.cos(angles), side) + np.outer(np.sin(angles), np.cross(along, side))
    off_axis = np.sqrt(np.maximum(1.0 - (rays @ solid.axis) ** 2, 0.0))
    h = (rays @ solid.points.T).max(axis=1) + solid.disc * off_axis + solid.ball
    # touching lines meet in corners: the area of that polygon
    step = 2.0 * np.pi / DIRECTIONS
    lengths = (np.roll(h, 1) + np.roll(h, -1) - 2.0 * np.cos(step) * h) / np.sin(step)
    return float(0.5 * h @ lengths)


class WakesOfObstacles:
    """Share of the steady wind that is left at places behind obstacles.

    Args:
        keys: drag and spreading.
        obstacles: of the scenario; meshes and height fields have no wakes.
        steady: wind, (3,) m/s, not zero.
    """

    def __init__(
        self, keys: ObstacleWakes, obstacles: Sequence[Obstacle], steady: np.ndarray
    ) -> None:
        self._along = steady / np.linalg.norm(steady)
        self._spreading = keys.spreading
        solids = [
            s
            for o in obstacles
            if not isinstance(o.shape, (MeshObstacle, HeightsObstacle))
            for s in obstacle_solids(o)
        ]
        self._places = np.array([s.points.mean(axis=0) for s in solids]).reshape(-1, 3)
        areas = np.array([frontal_area(s, self._along) for s in solids])
        self._areas = keys.drag_coefficient * areas / (2.0 * np.pi)
        self._widths = np.sqrt(self._areas)
        """Standard deviations of the profile at the obstacles, where the air in the middle stands still."""

    def share(self, places: np.ndarray) -> np.ndarray:
        """Steady wind at places (n, 3) m over that without obstacles, (n,) (U.5), (U.6)."""
        ways = places[:, None] - self._places
        along = ways @ self._along
        across = np.maximum(np.sum(ways**2, axis=2) - along**2, 0.0)
        width = self._widths + self._spreading * np.maximum(along, 0.0)
        deepest = 1.0 - np.sqrt(np.maximum(1.0 - self._areas / width**2, 0.0))
        begun = half_cosine(along / self._widths)
        return np.prod(1.0 - begun * deepest * np.exp(-0.5 * across / width**2), axis=1)
