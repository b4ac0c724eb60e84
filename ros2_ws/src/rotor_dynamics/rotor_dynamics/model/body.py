"""Mass properties of rigid bodies and point masses, and the exact merging of welded ones.

Equation (M.1)-(M.3), docs/theory/hybrid_dynamics.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.vehicles.body import merged_mass
from rotor_core.errors import ModelError

WORLD = -1
"""Body index of the world: cables and joints may be anchored there."""


@dataclass(frozen=True)
class Body:
    """A rigid body or, without ``inertia_B``, a point mass.

    Attributes:
        name: entity name.
        mass: kg; zero only for links between joints.
        inertia_B: about the centre of mass in body axes, (3, 3) kg m^2; None for a point mass.
        com: centre of mass in the frame B of the body, (3,) m; default its origin.
    """

    name: str
    mass: float
    inertia_B: np.ndarray | None = None
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mass) and self.mass >= 0.0):
            raise ModelError(
                f"body {self.name!r}: mass must be a finite number >= 0 kg, got {self.mass}."
            )
        if np.shape(self.com) != (3,) or not np.isfinite(self.com).all():
            raise ModelError(f"body {self.name!r}: com must be 3 finite numbers, got {self.com}.")
        if self.mass == 0.0 and self.inertia_B is not None:
            raise ModelError(
                f"body {self.name!r}: mass must be a finite number > 0 kg, because it has inertia; got 0."
            )
        if self.inertia_B is None:
            return
        J = np.array(self.inertia_B, float)
        if J.shape != (3, 3) or not np.all(np.isfinite(J)):
            raise ModelError(
                f"body {self.name!r}: inertia must be a finite 3 x 3 matrix, got shape {J.shape}."
            )
        if np.max(np.abs(J - J.T)) > 1e-12 * np.max(np.abs(J)):
            raise ModelError(f"body {self.name!r}: inertia must be symmetric, got {J.tolist()}.")
        smallest = float(np.linalg.eigvalsh(J)[0])
        if smallest <= 0.0:
            raise ModelError(
                f"body {self.name!r}: inertia must be positive definite, smallest principal value "
                f"is {smallest:.3g} kg m^2. "
                "Leave the inertia out for a point mass."
            )
        J.setflags(write=False)
        object.__setattr__(self, "inertia_B", J)


@dataclass(frozen=True)
class Placement:
    """Pose of a member of a welded group in the frame of the group.

    Position p_GM (3,), attitude q_GM (4,).
    """

    p: np.ndarray
    q: np.ndarray


def merge(bodies: list[Body], places: list[Placement]) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia of welded bodies.

    Args:
        bodies: the members.
        places: their poses in the axes of the first member.

    Returns:
        (mass; centre of mass in the frame of the first member, (3,); inertia about it in the same
        axes, (3, 3)), with the full parallel-axis theorem (M.2).
    """
    rotations = [quat2mat(p.q) for p in places]
    own = [np.zeros((3, 3)) if b.inertia_B is None else b.inertia_B for b in bodies]
    return merged_mass(
        np.array([b.mass for b in bodies]),
        np.array([p.p + R @ b.com for b, p, R in zip(bodies, places, rotations, strict=True)]),
        np.array([R @ J @ R.T for R, J in zip(rotations, own, strict=True)]),
    )
