"""Common parts of all bodies of a model: names, vectors, and physically possible inertias."""

from __future__ import annotations

import re

import numpy as np

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]

MEASURED_INERTIA = 1.05
"""Largest principal inertia over the sum of the other two.

At most 1 for a rigid body, some more for measured values.
"""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
"""Entity names become topic and frame names."""


def inertia_matrix(inertia: Vector | Matrix) -> np.ndarray:
    """(3, 3) matrix from three principal values or from three rows."""
    values = np.array(inertia, float)
    return np.diag(values) if values.ndim == 1 else values


def merged_mass(
    masses: np.ndarray, centres: np.ndarray, inertias: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass properties of bodies that are rigidly joined, with the full parallel-axis theorem (M.2).

    Args:
        masses: (n,) kg.
        centres: their centres of mass, (n, 3) m.
        inertias: about them, all in the same axes, (n, 3, 3) kg m^2.

    Returns:
        (mass; common centre of mass (3,), the first one where there is no mass; inertia about it,
        (3, 3)).
    """
    mass = float(masses.sum())
    centre = masses @ centres / mass if mass > 0.0 else centres[0]
    r = centres - centre
    squares = (r * r).sum(axis=1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :]
    return mass, centre, (inertias + masses[:, None, None] * squares).sum(axis=0)


def check_inertia(inertia: Vector | Matrix | None) -> None:
    """Raise ValueError where an inertia is not symmetric, positive definite and that of a body."""
    if inertia is None:
        return
    J = inertia_matrix(inertia)
    if np.max(np.abs(J - J.T)) > 1e-12 * np.max(np.abs(J)):
        raise ValueError(f"inertia_kg_m2 must be symmetric, got {J.tolist()}.")
    values = np.linalg.eigvalsh(J)
    if values[0] <= 0.0:
        raise ValueError(
            f"inertia_kg_m2 must be positive definite; its smallest principal value is {values[0]:.3g}."
        )
    if values[2] > MEASURED_INERTIA * (values[0] + values[1]):
        raise ValueError(
            f"inertia_kg_m2 belongs to no rigid body: the largest principal value {values[2]:.4g} "
            f"exceeds the sum of the "
            f"other two ({values[0] + values[1]:.4g})."
        )


RESERVED = ("world", "map")
"""Frames that every scenario has."""

STANDING = re.compile(r"(ground|cable[1-9][0-9]*)\Z")
"""Names of the ground and of cables among those of entities and obstacles, in events and verdicts."""


def check_name(name: str) -> None:
    """Raise ValueError where a name cannot be that of a topic and a frame."""
    if not NAME.match(name):
        raise ValueError(
            f"name must start with a letter and hold only letters, digits and _, got {name!r}."
        )
    if name in RESERVED:
        raise ValueError(f"name {name!r} is taken: it is a frame. Use another.")


def check_own_name(name: str) -> None:
    """Raise ValueError where a name cannot be that of an entity or obstacle."""
    check_name(name)
    if STANDING.match(name):
        raise ValueError(
            f"name {name!r} is taken: it is that of the ground or a cable. Use another."
        )
