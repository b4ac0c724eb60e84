"""The model part of a scenario: vehicles, payloads, and what connects them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
import scipy

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.attachments.rigid_link import RigidLink
from rotor_core.config.extensions import ATTACHMENTS
from rotor_core.config.vehicles.arm import JointConfig, Link, sorted_tree
from rotor_core.config.vehicles.body import Matrix, Vector, check_inertia, check_own_name
from rotor_core.config.vehicles.helicopter import Helicopter
from rotor_core.config.vehicles.inflow import Inflow
from rotor_core.config.vehicles.propulsion import Battery, Motor, Propeller
from rotor_core.config.yaml.structure import EntryError, bounded


@dataclass(frozen=True)
class Hub:
    """Position, spin and thrust axis of one rotor of a ``custom`` layout, in the body frame."""

    position_m: Vector
    spin: Literal["ccw", "cw"]
    axis: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if not 0.0 < math.hypot(*self.axis) < math.inf:
            raise ValueError(f"axis must have a length, got {list(self.axis)}.")


@dataclass(frozen=True)
class Rotors:
    """Rotors of a vehicle: where they are and what they can do.

    ``plus``: ``count`` rotors on a circle of radius ``arm_m``, rotor 1 ahead, then
    counter-clockwise; ``x``: turned by half a spacing, rotor 1 ahead left. Spins alternate, rotor 1
    turns as ``first_spin`` says, seen from above; ``cant_deg`` tilts the axes about the arms,
    alternately to one side and the other. ``custom``: the ``hubs`` say it all. ``none``: of a
    helicopter. PX4, ArduPilot and Betaflight have ``x`` with ``first_spin: cw``; ``motors``:
    numbers, from 1, of the motors of an autopilot that drive the rotors, left out for its quadrotors.

    ``torque_per_thrust_m`` is the drag torque of a rotor over its thrust. The rest matters where
    the scenario has ``actuation: rotors``: ``lag_s`` time constant of the speed, ``inertia_kg_m2``
    about the axis (contained in the inertia of the vehicle), ``drag_n_s2_per_m`` force across the
    axis over airspeed and rotor speed, ``radius_m`` for the ground effect and wakes. With ``inflow`` (and
    ``radius_m``) thrust and torque depend on the air that moves through the rotor, with
    ``actuation: wrench`` too. A ``propeller`` gives thrust and torque from its geometry and the air
    where they are left out; ``motor`` what turning it takes.
    """

    layout: Literal["plus", "x", "custom", "none"]
    speed_rpm: tuple[float, float] = bounded(ge=0.0)
    thrust_n_per_rpm2: float = bounded(gt=0.0)
    torque_per_thrust_m: float = bounded(gt=0.0)
    arm_m: float = bounded(0.0, ge=0.0)
    count: int = bounded(4, ge=4, le=16)
    cant_deg: float = bounded(0.0, ge=-60.0, le=60.0)
    first_spin: Literal["ccw", "cw"] = "ccw"
    hubs: tuple[Hub, ...] = ()
    motors: tuple[int, ...] = bounded((), ge=1, le=16)
    lag_s: float = bounded(0.0, ge=0.0, le=1.0)
    inertia_kg_m2: float = bounded(0.0, ge=0.0)
    drag_n_s2_per_m: float = bounded(0.0, ge=0.0)
    radius_m: float = bounded(0.0, ge=0.0)
    inflow: Inflow | None = None
    propeller: Propeller | None = None
    motor: Motor | None = None

    def __post_init__(self) -> None:
        if self.layout == "none":
            return
        if self.speed_rpm[0] >= self.speed_rpm[1]:
            raise ValueError(f"speed_rpm must be [smallest, largest], got {list(self.speed_rpm)}.")
        if self.layout == "custom":
            other = self.arm_m or self.cant_deg or self.first_spin != "ccw"
            if len(self.hubs) < 4 or other or self.count not in (4, len(self.hubs)):
                raise ValueError(
                    "layout custom needs at least 4 hubs, and neither arm_m nor cant_deg nor first_spin, and no other "
                    f"count; got {len(self.hubs)} hubs."
                )
        elif self.hubs or not self.arm_m > 0.0:
            raise ValueError(
                f"layout {self.layout} needs arm_m > 0 and no hubs, got arm_m {self.arm_m:g} and "
                f"{len(self.hubs)} hubs. Give arm_m, or layout: custom."
            )
        elif self.count % 2:
            raise ValueError(f"count must be even, so that spins alternate, got {self.count}.")
        if self.motors and not len(self.motors) == len(set(self.motors)) == len(self.spins):
            raise EntryError(
                ("motors",),
                f"must be {len(self.spins)} different numbers, one per rotor, got {list(self.motors)}.",
            )
        if self.inertia_kg_m2 and not self.lag_s:
            raise ValueError("inertia_kg_m2 of rotors needs lag_s > 0: their speed cannot jump.")
        if self.inflow and not self.radius_m:
            raise EntryError(("inflow",), "needs radius_m > 0 of the rotors.")
        if np.linalg.matrix_rank(self.mixing) < 4:
            raise ValueError("these rotors cannot produce every combination of thrust and moments.")
        shares = np.linalg.pinv(self.mixing)[:, 0]
        if np.min(shares) <= 1e-6 * np.max(shares):
            raise ValueError(
                f"hubs[{int(np.argmin(shares))}] does not help to lift: the allocation of thrust needs every rotor "
                "to push upwards. Turn its axis up, or move it."
            )

    @property
    def mixing(self) -> np.ndarray:
        """Wrench (f along z, Mx, My, Mz) of unit rotor thrusts, (4, n)."""
        moments = np.cross(self.positions, self.axes) + self.torques
        return np.vstack([self.axes[:, 2], moments.T])

    @property
    def torques(self) -> np.ndarray:
        """Moments of the drag of rotors on the vehicle for unit thrusts, (n, 3) m."""
        return -(self.spins * self.torque_per_thrust_m)[:, None] * self.axes

    @property
    def _angles(self) -> np.ndarray:
        spacing = 2.0 * np.pi / self.count
        return (0.0 if self.layout == "plus" else 0.5 * spacing) + np.arange(self.count) * spacing

    @property
    def positions(self) -> np.ndarray:
        """Hubs in the body frame, (n, 3) m."""
        if self.layout in ("custom", "none"):
            return np.array([h.position_m for h in self.hubs]).reshape(-1, 3)
        return self.arm_m * np.stack(
            [np.cos(self._angles), np.sin(self._angles), np.zeros(self.count)], axis=1
        )

    @property
    def axes(self) -> np.ndarray:
        """Unit vectors along which they push, in the body frame, (n, 3)."""
        if self.layout in ("custom", "none"):
            axes = np.array([h.axis for h in self.hubs]).reshape(-1, 3)
            return axes / np.linalg.norm(axes, axis=1)[:, None]
        cant = np.radians(self.cant_deg) * self.spins
        across = np.stack(
            [np.sin(self._angles), -np.cos(self._angles), np.zeros(self.count)], axis=1
        )
        return np.sin(cant)[:, None] * across + np.cos(cant)[:, None] * np.array([0.0, 0.0, 1.0])

    @property
    def spins(self) -> np.ndarray:
        """+1 where a rotor turns counter-clockwise seen from above, -1 elsewhere, (n,)."""
        if self.layout in ("custom", "none"):
            return np.array([1.0 if h.spin == "ccw" else -1.0 for h in self.hubs])
        first = 1.0 if self.first_spin == "ccw" else -1.0
        return np.where(np.arange(self.count) % 2 == 0, first, -first)

    @property
    def span(self) -> float:
        """Distance of the farthest hub from the centre, m: how large a vehicle is drawn."""
        return float(np.max(np.linalg.norm(self.positions, axis=1), initial=0.0))


@dataclass(frozen=True)
class DragCoefficients:
    """Drag of a body in the air and damping of its rates, along its axes.

    Force against the airspeed: ``linear`` and ``quadratic`` (times speed); moment against the body
    rate: ``rate`` and ``rate_cubic``. The force acts at ``center_of_pressure_m`` in the body frame,
    by default the centre of mass.
    """

    linear_n_s_per_m: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    quadratic_n_s2_per_m2: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    rate_n_m_s: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    rate_cubic_n_m_s3: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    center_of_pressure_m: Vector | None = None


@dataclass(frozen=True)
class InternalRotor:
    """A rotor inside a body that only stores momentum.

    Its speed relative to the body is ``speed + amplitude sin(2 pi f t + phase)``, t from the start;
    the inertia of the body contains its own.
    """

    axis: Vector
    inertia_kg_m2: float = bounded(gt=0.0)
    speed_rad_s: float = 0.0
    amplitude_rad_s: float = 0.0
    frequency_hz: float = bounded(0.0, ge=0.0)
    phase_rad: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < math.hypot(*self.axis) < math.inf:
            raise ValueError(f"axis must have a length, got {list(self.axis)}.")


@dataclass(frozen=True)
class VehicleGains:
    """Feedback gains of one vehicle along x, y, z (body axes for attitude and rate, W else).

    ``attitude_n_m``: moment per radian of attitude error. ``rate_n_m_s``: moment per rad/s of rate error. Divided by
    the inertia they are the square of the loop's frequency, and twice its frequency times its damping: heavier
    vehicles need larger ones. ``position_per_s2``, ``velocity_per_s``: acceleration per metre and per m/s of error of
    a vehicle that flies alone. ``cable_direction_per_s2``, ``cable_rate_per_s``: the same of the direction of its
    cable, per radian and rad/s. `./rotor tune` proposes all of them.
    """

    attitude_n_m: Vector = bounded(ge=0.0)
    rate_n_m_s: Vector = bounded(ge=0.0)
    position_per_s2: Vector = bounded((6.0, 6.0, 10.0), ge=0.0)
    velocity_per_s: Vector = bounded((3.0, 3.0, 6.0), ge=0.0)
    cable_direction_per_s2: Vector = bounded((16.0, 16.0, 16.0), ge=0.0)
    cable_rate_per_s: Vector = bounded((6.7, 6.7, 3.1), ge=0.0)


NO_ROTORS = Rotors("none", (0.0, 1.0), 1.0, 1.0)
NO_GAINS = VehicleGains((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Vehicle:
    """A multirotor as one rigid body with a thrust and moment input, or with its rotors; and its arm, if any.

    Or a ``helicopter``, which has neither ``rotors`` nor ``gains`` (those stand with its controller).

    ``urdf`` names the file from which the loader took ``mass_kg``, ``inertia_kg_m2``, ``com_m`` (of
    the base), ``links`` and ``joints``; what stands here as well goes before. ``feet_m``: points that
    touch the ground (environment.contact); left out: four below the rotors and the hubs.
    """

    name: str
    mass_kg: float = bounded(gt=0.0)
    inertia_kg_m2: Vector | Matrix  # pyright: ignore[reportGeneralTypeIssues]
    rotors: Rotors = NO_ROTORS
    gains: VehicleGains = NO_GAINS
    max_tilt_deg: float = bounded(80.0, gt=0.0, le=180.0)
    drag: DragCoefficients | None = None
    internal_rotors: tuple[InternalRotor, ...] = ()
    com_m: Vector = (0.0, 0.0, 0.0)
    links: tuple[Link, ...] = ()
    joints: tuple[JointConfig, ...] = ()
    feet_m: tuple[Vector, ...] = ()
    battery: Battery | None = None
    helicopter: Helicopter | None = None
    urdf: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check_own_name(self.name)
        check_inertia(self.inertia_kg_m2)
        object.__setattr__(self, "joints", sorted_tree(self.links, self.joints))
        self._check_kind()
        if self.battery is not None and self.rotors.motor is None:
            raise ValueError(
                "battery needs rotors.motor: it says how much current the rotors take."
            )

    def _check_kind(self) -> None:
        if self.helicopter is None:
            missing = self.rotors.layout == "none", self.gains == NO_GAINS
            for key, is_missing in zip(("rotors", "gains"), missing, strict=True):
                if is_missing:
                    raise ValueError(
                        f"{key}: is missing; a vehicle has rotors and gains, or is a helicopter."
                    )
            return
        for key, given in (
            ("rotors", self.rotors != NO_ROTORS), ("gains", self.gains != NO_GAINS), ("links", bool(self.links)),
            ("internal_rotors", bool(self.internal_rotors)),
        ):  # fmt: skip
            if given:
                raise ValueError(f"{key}: a helicopter has none. Remove it.")

    @property
    def total_mass(self) -> float:
        """With the rotor of a helicopter, without an arm, kg."""
        rotor = self.helicopter.main_rotor.rotating_mass if self.helicopter else 0.0
        return self.mass_kg + rotor

    @property
    def span(self) -> float:
        """Distance of the farthest hub, or radius of the main rotor, m: how large a vehicle is drawn."""
        return self.helicopter.main_rotor.radius_m if self.helicopter else self.rotors.span

    @property
    def moving_joints(self) -> tuple[JointConfig, ...]:
        """Joints that are not fixed: the order of joint states and efforts everywhere."""
        return tuple(j for j in self.joints if j.type != "fixed")


@dataclass(frozen=True)
class Sphere:
    """Sphere as the shape of a payload, which is the default."""

    type: Literal["sphere"]
    radius_m: float = bounded(0.05, gt=0.0)


@dataclass(frozen=True)
class Box:
    """Box as the shape of a payload."""

    type: Literal["box"]
    size_m: Vector = bounded(gt=0.0)
    offset_m: Vector = (0.0, 0.0, 0.0)


CONVEX = 1e-6
"""Share of the area of its hull that an outline may leave out: points are rounded."""


@dataclass(frozen=True)
class Plate:
    """Flat plate with a polygonal outline as the shape of a payload."""

    type: Literal["plate"]
    outline_m: tuple[tuple[float, float], ...]
    thickness_m: float = bounded(0.02, gt=0.0)

    def __post_init__(self) -> None:
        x, y = np.array(self.outline_m, float).reshape(-1, 2).T
        area = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
        if len(x) < 3 or not area > 1e-12:
            raise ValueError(
                f"outline_m must go around an area, got {len(x)} points around {area:.3g} m^2."
            )
        whole = float(scipy.spatial.ConvexHull(np.column_stack([x, y])).volume)
        if area < (1.0 - CONVEX) * whole:
            raise ValueError(
                f"outline_m must be convex, as contact and distances take it: it goes around {area:.4g} m^2, its hull "
                f"around {whole:.4g}. Link several payloads rigidly in place of one that is not."
            )


@dataclass(frozen=True)
class Payload:
    """Payload: a rigid body, or a point mass where the inertia is left out."""

    name: str
    mass_kg: float = bounded(gt=0.0)
    inertia_kg_m2: Vector | Matrix | None = None
    shape: Sphere | Box | Plate = field(default_factory=lambda: Sphere("sphere"))
    drag: DragCoefficients | None = None
    internal_rotors: tuple[InternalRotor, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        check_own_name(self.name)
        check_inertia(self.inertia_kg_m2)
        if self.internal_rotors and self.inertia_kg_m2 is None:
            raise ValueError("internal_rotors need a body with inertia_kg_m2.")

    @property
    def com_m(self) -> Vector:
        """Centre of mass in the frame of the payload, which is there."""
        return (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Model:
    """Vehicles, payloads and what connects them.

    The nominal model that controllers are built from.
    """

    vehicles: tuple[Vehicle, ...] = ()
    payloads: tuple[Payload, ...] = ()
    attachments: tuple[Annotated[CableAttachment | RigidLink, ATTACHMENTS], ...] = ()

    def __post_init__(self) -> None:
        if not (self.vehicles or self.payloads):
            text = "there must be a vehicle or a payload. Write `vehicles: [{use: dragonfly}]`."
            raise EntryError(("vehicles",), text)
        seen: set[str] = set()
        for key, entities in (("vehicles", self.vehicles), ("payloads", self.payloads)):
            for i, entity in enumerate(entities):
                if entity.name in seen:
                    text = f"{entity.name!r} appears twice. Give each entity its own name."
                    raise EntryError((key, i, "name"), text)
                seen.add(entity.name)

    @property
    def entities(self) -> tuple[Vehicle | Payload, ...]:
        """Vehicles, then payloads: the order of states everywhere."""
        return (*self.vehicles, *self.payloads)

    @property
    def cables(self) -> tuple[CableAttachment, ...]:
        """The cables, in the order of tensions everywhere."""
        return tuple(a for a in self.attachments if isinstance(a, CableAttachment))

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints of arms that move, ``vehicle/joint``, vehicle by vehicle."""
        return [f"{v.name}/{j.name}" for v in self.vehicles for j in v.moving_joints]

    @property
    def cable_names(self) -> list[str]:
        """cable1..n, in the order of :attr:`cables`."""
        return [f"cable{k + 1}" for k in range(len(self.cables))]

    @property
    def rigid_links(self) -> tuple[RigidLink, ...]:
        """The rigid links."""
        return tuple(a for a in self.attachments if isinstance(a, RigidLink))

    @property
    def cargo(self) -> tuple[RigidLink, ...]:
        """Links by which a vehicle (the parent) holds a payload that nothing else holds: it is flown as one with it."""
        vehicles = {v.name for v in self.vehicles}
        held = [name for link in self.rigid_links for name in (link.parent, link.child)]
        held += [name for cable in self.cables for name, _ in cable.path]
        return tuple(
            link
            for link in self.rigid_links
            if link.parent in vehicles
            and link.child not in vehicles
            and held.count(link.child) == 1
        )

    @property
    def helicopters(self) -> list[str]:
        """Names of the vehicles that are helicopters."""
        return [v.name for v in self.vehicles if v.helicopter is not None]

    def index(self, name: str) -> int:
        """Position of an entity in :attr:`entities`."""
        return [e.name for e in self.entities].index(name)
