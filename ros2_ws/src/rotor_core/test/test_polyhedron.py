"""Convex polyhedra: faces of points that are exact, of points in single precision, and far from the origin."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rotor_core.errors import ModelError
from rotor_core.math.polyhedron import CORNERS, EXACT, FLAT, Polyhedron

ANGLES = 2.0 * np.pi * np.arange(12) / 12
RING = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
PRISM = np.concatenate([np.column_stack([RING, np.full(12, z)]) for z in (-0.5, 0.5)])
GRID = np.array([p for p in product(np.linspace(-1.0, 1.0, 6), repeat=3) if max(map(abs, p)) == 1])
CUBOCTAHEDRON = np.array([p for p in product((-1.0, 0.0, 1.0), repeat=3) if sum(map(abs, p)) == 2])


def check(polyhedron, points):
    """Corners are in their planes, and points not beyond them; every edge is there for both of its faces (Euler)."""
    size = np.ptp(points, axis=0).max()
    reach = np.abs(points).max()
    for face, plane in zip(polyhedron.faces, polyhedron.planes, strict=True):
        off = polyhedron.corners[list(face)] @ plane[:3] - plane[3]
        assert np.abs(off).max() <= EXACT * size + 4e-16 * reach
    beyond = points @ polyhedron.planes[:, :3].T - polyhedron.planes[:, 3]
    assert beyond.max() <= FLAT * size
    away = np.linalg.norm(polyhedron.corners[:, None] - points, axis=2).min(axis=1)
    assert away.max() <= FLAT * size + 4e-16 * reach
    assert len(polyhedron.corners) - polyhedron.n_edges // 2 + len(polyhedron.faces) == 2


@pytest.mark.parametrize("far", [0.0, 3.0])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    ("points", "faces", "corners"),
    [(0.1 * CORNERS, 6, 8), (0.3 * PRISM, 14, 24), (0.2 * GRID, 6, 8)],
    ids=["box", "prism", "grid"],
)
def test_faces_that_are_flat_but_for_rounding_are_flat(points, faces, corners, single, far):
    """Turned about, and rounded as meshes are: the faces of the shape are found again."""
    random = np.random.default_rng(1)
    for turn in Rotation.random(20, random_state=1):
        moved = turn.apply(points) + far * random.normal(size=3)
        if single:
            moved = moved.astype(np.float32).astype(float)
        polyhedron = Polyhedron.around(moved)
        assert (len(polyhedron.faces), len(polyhedron.corners)) == (faces, corners)
        check(polyhedron, moved)


def test_four_faces_that_do_not_meet_in_a_point_are_triangles():
    """The corners of a cuboctahedron in single precision are those of no squares: its planes stay exact."""
    exact = Polyhedron.around(CUBOCTAHEDRON)
    assert (len(exact.faces), len(exact.corners)) == (14, 12)
    rough = Rotation.random(random_state=1).apply(CUBOCTAHEDRON).astype(np.float32).astype(float)
    polyhedron = Polyhedron.around(rough)
    assert len(polyhedron.faces) > 14
    check(polyhedron, rough)


@pytest.mark.parametrize("seed", range(40))
def test_hulls_of_random_points_hold_them(seed):
    """Also of needles and plates, whose faces are almost parallel."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(int(random.choice([5, 20, 80])), 3))
    if seed % 2 == 1:
        points *= [1.0, 1.0, 0.02]
    if seed % 4 == 3:
        points *= [1.0, 0.02, 1.0]
    check(Polyhedron.around(points), points)


@pytest.mark.parametrize("digits", range(8, 18))
def test_points_that_are_the_same_but_for_rounding_are_one(digits):
    """No edge between them is left, which would be shorter than rounding is long, and may go backwards."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        points = random.normal(size=(int(random.integers(4, 60)), 3))
        points /= np.linalg.norm(points, axis=1)[:, None]
        doubled = np.vstack([points, points + random.normal(size=points.shape) * 10.0**-digits])
        polyhedron = Polyhedron.around(doubled)
        assert len(polyhedron.corners) == len(Polyhedron.around(points).corners)
        assert all(map(polyhedron.turns_left, range(len(polyhedron.faces))))


def test_polyhedra_are_checked():
    with pytest.raises(ModelError, match="at least 4 finite points that are not in one plane"):
        Polyhedron.around(PRISM[:12])
    with pytest.raises(ModelError, match="at least 4 finite points"):
        Polyhedron.around(np.array([[np.nan, 0.0, 0.0], *CORNERS]))
    points = np.random.default_rng(1).normal(size=(300, 3))
    with pytest.raises(ModelError, match="it has 596 faces, but a cable wraps around at most 500"):
        Polyhedron.around(points / np.linalg.norm(points, axis=1)[:, None])
