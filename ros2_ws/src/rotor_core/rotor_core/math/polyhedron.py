"""Convex polyhedra: what cables wrap around."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import scipy

from rotor_core.errors import ModelError

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""Of a box with half sizes 1, (8, 3)."""

MOST_FACES = 500
"""Faces of one polyhedron: every one is looked at in every evaluation of the motion."""

FLAT = 1e-5
"""Points of one face may be off its plane by this share of the size: those of meshes in single precision are."""

SAME_POINT = 1e-7
"""Points closer than this share of the size are one: those of meshes in single precision that meet there."""

EXACT = 1e-12
"""Corners are in the planes of all their faces to this share of the size, and rounding of coordinates far away."""


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

        Points that are the same but for rounding are one. Faces that are flat but for it are flat here, with their
        corners where their planes meet. Where more than three of them would have to meet in one point, and do not, it
        keeps the points and has triangles there.

        Raises:
            ModelError: they are flat or not finite, or it has too many faces.
        """
        points = np.asarray(points, float)
        try:
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            size = float(np.ptp(points, axis=0).max())
            apart = _welded(points - middle, SAME_POINT * size)
            polyhedron = _hull(apart, size, FLAT) or _hull(apart, size, 0.0)
        except (scipy.spatial.QhullError, ValueError) as error:
            raise ModelError(
                f"polyhedron: needs at least 4 finite points that are not in one plane, got {len(points)}."
            ) from error
        if polyhedron is None:
            raise ModelError("polyhedron: its edges cannot be told from its points. Simplify it.")
        planes = polyhedron.planes.copy()
        planes[:, 3] += planes[:, :3] @ middle
        return cls(polyhedron.corners + middle, polyhedron.faces, planes)

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

    def turns_left(self, face: int) -> bool:
        """True if a face turns left at every corner, as seen from outside."""
        edges = np.diff(self.corners[[*self.faces[face], *self.faces[face][:2]]], axis=0)
        return bool((np.cross(edges[:-1], edges[1:]) @ self.planes[face, :3] > 0.0).all())

    def is_outside(self, point: np.ndarray, margin: float) -> bool:
        """True if a point is outside, by more than ``margin`` in m."""
        return bool((self.planes[:, :3] @ point - self.planes[:, 3]).max() > margin)


def _hull(points: np.ndarray, size: float, flat: float) -> Polyhedron | None:
    """The convex hull of points around the origin; faces that are flat to a share of the size are one.

    None where its corners are not in the planes of its faces, or too many faces are left.

    Raises:
        ModelError: it has too many faces, none of which are flat (``flat`` 0).
    """
    hull = scipy.spatial.ConvexHull(points, qhull_options=f"Qt C{flat * size}" if flat else "Qt")
    # triangles of one face have the plane of that face
    planes, group = np.unique(hull.equations, axis=0, return_inverse=True)
    if len(planes) > MOST_FACES:
        if flat:
            return None
        raise ModelError(
            f"polyhedron: it has {len(planes)} faces, but a cable wraps around at most {MOST_FACES}. Simplify it."
        )
    members = [np.unique(hull.simplices[group.ravel() == k]) for k in range(len(planes))]
    planes[:, 3] *= -1.0
    # within a face, or within an edge, there is no corner
    faces_at: dict[int, list[int]] = {}
    for k, member in enumerate(members):
        for corner in member:
            faces_at.setdefault(int(corner), []).append(k)
    used = sorted(corner for corner, faces in faces_at.items() if len(faces) > 2)
    if len(used) < 4:
        return None
    corners = np.array([_meeting(points[c], planes[faces_at[c]]) for c in used])
    faces = tuple(
        _in_order(corners, np.flatnonzero(np.isin(used, member)), plane[:3])
        for member, plane in zip(members, planes, strict=True)
    )
    off = max(
        np.abs(corners[list(face)] @ plane[:3] - plane[3]).max(initial=0.0)
        for face, plane in zip(faces, planes, strict=True)
    )
    # far where planes are almost parallel
    moved = np.linalg.norm(corners - points[used], axis=1).max()
    polyhedron = Polyhedron(corners, faces, planes)
    edges = set(polyhedron.edges)
    closed = len(edges) == polyhedron.n_edges and all((b, a) in edges for a, b in edges)
    good = closed and off <= EXACT * size and moved <= FLAT * size
    return polyhedron if good and all(map(polyhedron.turns_left, range(len(faces)))) else None


def _welded(points: np.ndarray, distance: float) -> np.ndarray:
    """One point of each group whose members are closer than a distance to each other, one by one: its first."""
    points = np.unique(points, axis=0)  # of many that are the same all pairs would be listed
    pairs = scipy.spatial.KDTree(points).query_pairs(distance, output_type="ndarray")
    n = len(points)
    _, group = scipy.sparse.csgraph.connected_components(
        scipy.sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n)), False
    )
    return points[np.unique(group, return_index=True)[1]]


def _meeting(point: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """The place nearest to planes (normals, heights over the origin) that all meet about a point."""
    off = planes[:, 3] - planes[:, :3] @ point
    return point + np.linalg.lstsq(planes[:, :3], off, rcond=None)[0]


def _in_order(points: np.ndarray, corners: np.ndarray, normal: np.ndarray) -> tuple[int, ...]:
    """Corners of a face in their order, counter-clockwise about its normal."""
    middle = points[corners].mean(axis=0)
    x = points[corners[0]] - middle
    x -= (x @ normal) * normal
    y = np.cross(normal, x)
    away = points[corners] - middle
    return tuple(int(c) for c in corners[np.argsort(np.arctan2(away @ y, away @ x))])
