"""Convex polyhedra: what cables wrap around."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from rotor_core.errors import ModelError

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""Of a box with half sizes 1, (8, 3)."""

MOST_FACES = 500
"""Faces of one polyhedron: every one is looked at in every evaluation of the motion."""

FLAT = 1e-7
"""Triangles whose planes differ by less than this (direction, and height as a share of the size) are one face."""


@dataclass(frozen=True)
class Polyhedron:
    """A convex polyhedron.

    Attributes:
        corners: (n, 3) m.
        faces: numbers of the corners of every face, counter-clockwise seen from outside.
        planes: unit normal outwards and height over the origin of every face, (k, 4).
    """

    corners: np.ndarray
    faces: tuple[tuple[int, ...], ...]
    planes: np.ndarray

    @classmethod
    def around(cls, points: np.ndarray) -> Polyhedron:
        """The convex hull of points, (n, 3) m.

        Raises:
            ModelError: they are flat or not finite, or it has too many faces.
        """
        points = np.asarray(points, float)
        try:
            hull = ConvexHull(points)
        except (QhullError, ValueError) as error:
            raise ModelError(
                f"polyhedron: needs at least 4 finite points that are not in one plane, got {len(points)}."
            ) from error
        group = _planes_of(hull.equations, float(np.ptp(points, axis=0).max()))
        n = int(group.max()) + 1
        if n > MOST_FACES:
            raise ModelError(
                f"polyhedron: it has more than {MOST_FACES} faces, the most around which a cable wraps. Simplify it."
            )
        planes = np.array([hull.equations[group == k].mean(axis=0) for k in range(n)])
        planes /= np.linalg.norm(planes[:, :3], axis=1)[:, None]
        members = [np.unique(hull.simplices[group == k]) for k in range(n)]
        # within a face, or within an edge, there is no corner
        shared = Counter(corner for member in members for corner in member)
        used = np.array(sorted(corner for corner, faces in shared.items() if faces > 2))
        faces = tuple(
            _in_order(points[used], np.flatnonzero(np.isin(used, member)), plane[:3])
            for member, plane in zip(members, planes, strict=True)
        )
        planes[:, 3] *= -1.0
        polyhedron = cls(points[used], faces, planes)
        edges = set(polyhedron.edges)
        if len(edges) < polyhedron.n_edges or any((b, a) not in edges for a, b in edges):
            raise ModelError(
                "polyhedron: some of its faces lie almost in one plane, others do not: its edges cannot be told. "
                "Simplify it."
            )
        return polyhedron

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Corners at which every edge begins and ends, face by face: each edge is there twice, once for each way."""
        return [pair for face in self.faces for pair in pairwise((*face, face[0]))]

    @property
    def n_edges(self) -> int:
        """Number of :attr:`edges`."""
        return sum(map(len, self.faces))

    def turned(self, R: np.ndarray) -> Polyhedron:
        """The same one, turned about the origin by a rotation, (3, 3)."""
        normals = self.planes[:, :3] @ R.T
        planes = np.column_stack([normals, self.planes[:, 3]])
        return Polyhedron(self.corners @ R.T, self.faces, planes)

    def is_outside(self, point: np.ndarray, margin: float) -> bool:
        """True if a point is outside, by more than ``margin`` in m."""
        return bool((self.planes[:, :3] @ point - self.planes[:, 3]).max() > margin)


def _planes_of(equations: np.ndarray, size: float) -> np.ndarray:
    """Number of the plane of every triangle, (k,); of those beyond the most that are allowed one more."""
    measured = equations * [1.0, 1.0, 1.0, 1.0 / size]
    first: list[np.ndarray] = []
    group = np.full(len(measured), MOST_FACES)
    for k, plane in enumerate(measured):
        near = np.flatnonzero(np.abs(np.array(first) - plane).max(axis=1) < FLAT) if first else []
        if len(near):
            group[k] = near[0]
        elif len(first) < MOST_FACES:
            group[k] = len(first)
            first.append(plane)
        else:
            break
    return group


def _in_order(points: np.ndarray, corners: np.ndarray, normal: np.ndarray) -> tuple[int, ...]:
    """Corners of a face in their order, counter-clockwise about its normal."""
    middle = points[corners].mean(axis=0)
    x = points[corners[0]] - middle
    x -= (x @ normal) * normal
    y = np.cross(normal, x)
    away = points[corners] - middle
    return tuple(int(c) for c in corners[np.argsort(np.arctan2(away @ y, away @ x))])
