"""Contact pairs: probes of one body against a surface of another, and the contact law between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.errors import ModelError
from rotor_dynamics import memory
from rotor_dynamics.model.body import WORLD, Body


@dataclass(frozen=True)
class Probe:
    """A point of a body, or a ball about it.

    Attributes:
        body: index, or WORLD.
        point: in the frame of the body (for WORLD: world coordinates), (3,) m.
        radius: of the ball, m; 0 for a point.
        spin: of the ball against the body (a driven roller), in body axes, (3,) rad/s.
        name: in the world, of what it is of.
    """

    body: int
    point: np.ndarray
    radius: float = 0.0
    spin: np.ndarray = field(default_factory=lambda: np.zeros(3))
    name: str = "world"


@dataclass(frozen=True)
class Surface:
    """A box, or everything below its top.

    Attributes:
        body: index, or WORLD.
        place, q: centre of the box and attitude in the frame of the body.
        half_size: half its edges, (3,) m.
        is_box: False: a half space, whose top is at half_size[2] over ``place``.
        belt_speed: of the surface itself against the body, in its own axes, (3,) m/s.
        name: in the world, of what it is of.
    """

    body: int
    place: np.ndarray
    q: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    half_size: np.ndarray = field(default_factory=lambda: np.zeros(3))
    is_box: bool = True
    belt_speed: np.ndarray = field(default_factory=lambda: np.zeros(3))
    name: str = "world"


@dataclass(frozen=True)
class ContactLaw:
    """Hunt and Crossley's normal force and dry friction (K.2)-(K.4).

    Attributes:
        stiffness: N/m.
        dissipation: s/m: a body that comes with v bounces back with about v / (1 + dissipation v).
        static, dynamic: coefficients of friction.
        stiction_speed: at which friction goes from one to the other, m/s.
        tangent_damping: of the friction spring, N s/m.
    """

    stiffness: float
    dissipation: float = 3.0
    static: float = 0.5
    dynamic: float = 0.3
    stiction_speed: float = 0.05
    tangent_damping: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.stiffness, self.dissipation, self.static, self.dynamic)
        if not np.isfinite((*numbers, self.tangent_damping, self.stiction_speed)).all():
            raise ModelError(f"contact: every number must be finite, got {self}.")
        if min(*numbers, self.tangent_damping) < 0.0 or not self.stiffness > 0.0:
            raise ModelError(f"contact: stiffness must be > 0 and the rest >= 0, got {self}.")
        if self.static < self.dynamic or not self.stiction_speed > 0.0:
            raise ModelError(
                "contact: static friction must be at least the dynamic one and stiction_speed > 0, got "
                f"{self.static:g}, {self.dynamic:g} and {self.stiction_speed:g}."
            )


@dataclass(frozen=True)
class Contact:
    """A probe that may touch a surface."""

    probe: Probe
    surface: Surface
    law: ContactLaw


def effective_mass(body: Body | None, point: np.ndarray, radius: float = 0.0) -> float:
    """Smallest mass that a push at a point of a body can meet, over all directions, kg; None is the world.

    ``radius``: of the ball about the point, on whose surface friction acts.
    """
    if body is None or body.mass == 0.0:
        return float("inf")
    inverse = np.eye(3) / body.mass
    if body.inertia_B is not None:
        arm = np.cross(np.eye(3), np.asarray(point, float) - body.com)  # r x
        inverse += arm.T @ np.linalg.inv(body.inertia_B) @ arm
        inverse += radius**2 / np.linalg.eigvalsh(body.inertia_B)[0] * np.eye(3)
    return 1.0 / float(np.linalg.eigvalsh(inverse)[-1])


RATE = 100.0
"""Natural frequency of the lightest mass on one contact, rad/s: slow for steps of 1 ms, fast for the eye."""

TANGENT_DAMPING_RATIO = 0.7
"""Of the friction spring, with the lightest mass."""


def natural_law(mass: float, rate: float = RATE, **values: float) -> ContactLaw:
    """The law whose stiffness and damping suit the smallest mass that it can meet, kg, at a frequency, rad/s."""
    stiffness = rate**2 * mass
    damping = 2.0 * TANGENT_DAMPING_RATIO * rate * mass
    return ContactLaw(**{"stiffness": stiffness, "tangent_damping": damping, **values})


def check_contacts(contacts: tuple[Contact, ...], bodies: tuple[Body, ...]) -> None:
    """Refuse contacts of bodies that do not exist, and balls or points that cannot be.

    Raises:
        ModelError: naming the contact.
    """
    for k, c in enumerate(contacts):
        place = f"contact {k}"
        for body in (c.probe.body, c.surface.body):
            if not (body == WORLD or 0 <= body < len(bodies)):
                raise ModelError(
                    f"{place}: body index must be 0..{len(bodies) - 1} or WORLD, got {body}."
                )
        if c.probe.body == c.surface.body:
            raise ModelError(f"{place}: probe and surface must belong to different bodies.")
        numbers = np.concatenate(
            [
                c.probe.point,
                c.probe.spin,
                c.surface.place,
                c.surface.half_size,
                c.surface.belt_speed,
            ]
        )
        if not np.isfinite([*numbers, c.probe.radius]).all() or c.probe.radius < 0.0:
            raise ModelError(f"{place}: every number must be finite and the radius >= 0.")
        if c.surface.is_box and not np.min(c.surface.half_size) > 0.0:
            raise ModelError(
                f"{place}: a box needs half sizes > 0 m, got {list(c.surface.half_size)}."
            )


def fill_contacts(
    world: memory.World,
    contacts: tuple[Contact, ...],
    row_of: dict[int, int],
    pose_of: dict[int, np.ndarray],
) -> None:
    """Write contacts; ``row_of`` and ``pose_of``: row of every member and its pose in the merged body, by index."""
    for k, c in enumerate(contacts):
        row = world.contacts[k]
        a, b = row_of[c.probe.body], row_of[c.surface.body]
        pose_a, pose_b = pose_of[c.probe.body], pose_of[c.surface.body]
        R_a, R_b = quat2mat(pose_a[3:]), quat2mat(pose_b[3:])
        row[memory.PROBE : memory.PROBE + 3] = pose_a[:3] + R_a @ c.probe.point
        row[memory.PROBE_RADIUS] = c.probe.radius
        row[memory.PROBE_SPIN : memory.PROBE_SPIN + 3] = R_a @ c.probe.spin
        row[memory.SURFACE_PLACE : memory.SURFACE_PLACE + 3] = pose_b[:3] + R_b @ c.surface.place
        row[memory.SURFACE_TURN : memory.SURFACE_TURN + 9] = (R_b @ quat2mat(c.surface.q)).ravel()
        row[memory.HALF_SIZE : memory.HALF_SIZE + 3] = c.surface.half_size
        row[memory.BELT_SPEED : memory.BELT_SPEED + 3] = c.surface.belt_speed
        law = c.law
        row[memory.NORMAL_STIFFNESS], row[memory.DISSIPATION] = law.stiffness, law.dissipation
        row[memory.TANGENT_STIFFNESS], row[memory.TANGENT_DAMPING] = (
            law.stiffness,
            law.tangent_damping,
        )
        row[memory.STATIC], row[memory.DYNAMIC] = law.static, law.dynamic
        row[memory.STICTION_SPEED] = law.stiction_speed
        world.contact_int[k] = a, b, c.surface.is_box, a != b, 0, 0, 0
