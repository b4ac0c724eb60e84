"""The model part of a scenario: vehicles, payloads, and what connects them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rotor_core.config.structure import bounded

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


def _check_name(name: str) -> None:
    if not NAME.match(name):
        raise ValueError(
            f"name must start with a letter and hold only letters, digits and _, got {name!r}."
        )


@dataclass(frozen=True)
class Rotors:
    """Four rotors in a plane. ``plus``: rotor 1 ahead, then counter-clockwise; ``x``.

    Rotor 1 ahead left.

    Spins alternate, rotor 1 counter-clockwise seen from above. ``torque_per_thrust_m`` is the drag
    torque of a rotor over its thrust.
    """

    layout: Literal["plus", "x"]
    arm_m: float = bounded(gt=0.0)
    speed_rpm: tuple[float, float] = bounded(ge=0.0)
    thrust_n_per_rpm2: float = bounded(gt=0.0)
    torque_per_thrust_m: float = bounded(gt=0.0)

    def __post_init__(self) -> None:
        if self.speed_rpm[0] >= self.speed_rpm[1]:
            raise ValueError(f"speed_rpm must be [smallest, largest], got {list(self.speed_rpm)}.")

    @property
    def hubs(self) -> np.ndarray:
        """Positions of the rotors in the body frame, (4, 3) m."""
        first = 0.0 if self.layout == "plus" else np.pi / 4.0
        angles = first + np.arange(4) * np.pi / 2.0
        return self.arm_m * np.stack([np.cos(angles), np.sin(angles), np.zeros(4)], axis=1)


@dataclass(frozen=True)
class VehicleGains:
    """Feedback gains of one vehicle, x y z diagonals: position and velocity 1/s^2, 1/s.

    Attitude and rate N m, N m s;
    direction and rate of its cable 1/s^2, 1/s.
    """

    attitude: Vector = bounded(ge=0.0)
    rate: Vector = bounded(ge=0.0)
    position: Vector = bounded((6.0, 6.0, 10.0), ge=0.0)
    velocity: Vector = bounded((3.0, 3.0, 6.0), ge=0.0)
    cable_direction: Vector = bounded((16.0, 16.0, 16.0), ge=0.0)
    cable_rate: Vector = bounded((6.7, 6.7, 3.1), ge=0.0)


@dataclass(frozen=True)
class Vehicle:
    """A multirotor as one rigid body with a thrust and moment input."""

    name: str
    mass_kg: float = bounded(gt=0.0)
    inertia_kg_m2: Vector | Matrix  # pyright: ignore[reportGeneralTypeIssues]
    rotors: Rotors  # pyright: ignore[reportGeneralTypeIssues]
    gains: VehicleGains  # pyright: ignore[reportGeneralTypeIssues]
    max_tilt_deg: float = bounded(80.0, gt=0.0, le=180.0)
    source: str = ""

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_inertia(self.inertia_kg_m2)


@dataclass(frozen=True)
class Sphere:
    """How a point mass is drawn."""

    type: Literal["sphere"]
    radius_m: float = bounded(0.05, gt=0.0)


@dataclass(frozen=True)
class Box:
    """How a box is drawn."""

    type: Literal["box"]
    size_m: Vector = bounded(gt=0.0)
    offset_m: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Plate:
    """How a flat payload with a polygonal outline is drawn."""

    type: Literal["plate"]
    outline_m: tuple[tuple[float, float], ...]
    thickness_m: float = bounded(0.02, gt=0.0)


@dataclass(frozen=True)
class Payload:
    """What is carried: a rigid body, or a point mass where the inertia is left out."""

    name: str
    mass_kg: float = bounded(gt=0.0)
    inertia_kg_m2: Vector | Matrix | None = None
    shape: Sphere | Box | Plate = field(default_factory=lambda: Sphere("sphere"))
    source: str = ""

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_inertia(self.inertia_kg_m2)


@dataclass(frozen=True)
class CableAttachment:
    """A cable from a point of entity ``a`` to a point of entity ``b`` (or of the ``world``).

    Points in body axes from the
    centre of mass.
    """

    type: Literal["cable"]
    a: str
    b: str
    length_m: float = bounded(gt=0.0)
    a_point_m: Vector = (0.0, 0.0, 0.0)
    b_point_m: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class RigidLink:
    """Entity ``child`` is fixed to entity ``parent`` at a position and attitude in its frame."""

    type: Literal["rigid_link"]
    parent: str
    child: str
    position_m: Vector
    rpy_deg: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Model:
    """Vehicles, payloads and what connects them.

    The nominal model that controllers are built from.
    """

    vehicles: tuple[Vehicle, ...]
    payloads: tuple[Payload, ...] = ()
    attachments: tuple[CableAttachment | RigidLink, ...] = ()

    def __post_init__(self) -> None:
        if not self.vehicles:
            raise ValueError("vehicles must not be empty.")
        names = [e.name for e in (*self.vehicles, *self.payloads)]
        doubles = {n for n in names if names.count(n) > 1}
        if doubles:
            raise ValueError(f"names must be unique, {sorted(doubles)} appear twice.")

    @property
    def entities(self) -> tuple[Vehicle | Payload, ...]:
        """Vehicles, then payloads: the order of states everywhere."""
        return (*self.vehicles, *self.payloads)

    @property
    def cables(self) -> tuple[CableAttachment, ...]:
        """The cables, in the order of tensions everywhere."""
        return tuple(a for a in self.attachments if isinstance(a, CableAttachment))

    @property
    def cable_names(self) -> list[str]:
        """cable1..n, in the order of :attr:`cables`."""
        return [f"cable{k + 1}" for k in range(len(self.cables))]

    @property
    def rigid_links(self) -> tuple[RigidLink, ...]:
        """The rigid links."""
        return tuple(a for a in self.attachments if isinstance(a, RigidLink))

    def index(self, name: str) -> int:
        """Position of an entity in :attr:`entities`."""
        return [e.name for e in self.entities].index(name)
