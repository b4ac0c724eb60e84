"""The scenario: frozen dataclasses that are the schema of the YAML files. Units are in the names.

Ranges on the fields.

`loader.py` fills them, `structure.py` checks them, the README of config/ explains them to users.
"""

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


def _check_inertia(inertia: Vector | Matrix | None) -> None:
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
        _check_inertia(self.inertia_kg_m2)


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
        _check_inertia(self.inertia_kg_m2)


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
    def rigid_links(self) -> tuple[RigidLink, ...]:
        """The rigid links."""
        return tuple(a for a in self.attachments if isinstance(a, RigidLink))

    def index(self, name: str) -> int:
        """Position of an entity in :attr:`entities`."""
        return [e.name for e in self.entities].index(name)


@dataclass(frozen=True)
class PlantChange:
    """What is different in reality: applies to the simulator only, never to controllers."""

    entity: str | None = None
    cable: int | None = bounded(None, ge=1)
    mass_kg: float | None = bounded(None, gt=0.0)
    inertia_kg_m2: Vector | Matrix | None = None
    thrust_gain: float | None = bounded(None, ge=0.0, le=10.0)
    length_m: float | None = bounded(None, gt=0.0)

    def __post_init__(self) -> None:
        if (self.entity is None) == (self.cable is None):
            raise ValueError("a change names either an entity or a cable (numbered from 1).")
        _check_inertia(self.inertia_kg_m2)


@dataclass(frozen=True)
class InitialState:
    """State of an entity at the start.

    Vehicles that are not named hang over their attachment points, cables taut.
    """

    entity: str
    position_m: Vector
    rpy_deg: Vector | None = None
    quaternion_wxyz: tuple[float, float, float, float] | None = None
    velocity_m_s: Vector = (0.0, 0.0, 0.0)
    rate_rad_s: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.rpy_deg is not None and self.quaternion_wxyz is not None:
            raise ValueError("give rpy_deg or quaternion_wxyz, not both.")
        if (
            self.quaternion_wxyz is not None
            and abs(float(np.linalg.norm(self.quaternion_wxyz)) - 1.0) > 1e-6
        ):
            raise ValueError(
                f"quaternion_wxyz must have length 1, got {np.linalg.norm(self.quaternion_wxyz):.9g}."
            )


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the feedback noise, per component.

    The true state is untouched (RotorTM eqs 75, 76).
    """

    position_m: float = bounded(0.0, ge=0.0)
    velocity_m_s: float = bounded(0.0, ge=0.0)
    attitude_rad: float = bounded(0.0, ge=0.0)
    rate_rad_s: float = bounded(0.0, ge=0.0)

    @property
    def is_zero(self) -> bool:
        """Whether measurements equal the truth."""
        return self == Noise()


@dataclass(frozen=True)
class Sensing:
    """What controllers get to see."""

    noise: Noise = field(default_factory=Noise)


@dataclass(frozen=True)
class Actuation:
    """How commands act.

    ``limits``: rotor speeds stay within the limits of the vehicle (thrust before yaw).
    """

    limits: bool = True


@dataclass(frozen=True)
class Environment:
    """The world outside the vehicles."""

    gravity_m_s2: float = bounded(9.81, ge=0.0)


@dataclass(frozen=True)
class QuadrotorControl:
    """Geometric position control of a single vehicle; gains are those of the vehicle."""

    type: Literal["quadrotor"]
    error_limit_m: float = bounded(0.5, gt=0.0)


@dataclass(frozen=True)
class PointMassControl:
    """One vehicle with a cable-suspended point mass: gains of the load position."""

    type: Literal["point_mass"]
    position: Vector = bounded(ge=0.0)
    velocity: Vector = bounded(ge=0.0)
    integral: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""


@dataclass(frozen=True)
class CableTeamControl:
    """n vehicles with a rigid payload on cables.

    Gains of the payload pose (1/s^2, 1/s; N m, N m s).
    """

    type: Literal["cable_team"]
    position: Vector = bounded(ge=0.0)
    velocity: Vector = bounded(ge=0.0)
    attitude: Vector = bounded(ge=0.0)
    rate: Vector = bounded(ge=0.0)
    integral: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""


@dataclass(frozen=True)
class RigidTeamControl:
    """A rigidly linked team: gains of the payload pose.

    ``attitude`` and ``rate`` are angular accelerations per error (1/s^2, 1/s) and are multiplied by
    the inertia of the structure. ``allocation``: ``moments`` weighs the wrenches of the vehicles
    alike (the paper); ``rotors`` keeps every rotor near the middle of its range, which mixed teams
    need.
    """

    type: Literal["rigid_team"]
    position: Vector = bounded(ge=0.0)
    velocity: Vector = bounded(ge=0.0)
    attitude: Vector = bounded(ge=0.0)
    rate: Vector = bounded(ge=0.0)
    integral: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    allocation: Literal["moments", "rotors"] = "moments"
    allocation_weights: tuple[float, float, float, float] = bounded((1.0, 10.0, 10.0, 10.0), gt=0.0)
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""


Control = QuadrotorControl | PointMassControl | CableTeamControl | RigidTeamControl


@dataclass(frozen=True)
class HoverPlan:
    """Stay where the start is, or at ``position_m``."""

    type: Literal["hover"]
    duration_s: float = bounded(10.0, gt=0.0)
    position_m: Vector | None = None
    yaw_deg: float = 0.0


@dataclass(frozen=True)
class StepPosePlan:
    """A constant pose at once."""

    type: Literal["step_pose"]
    position_m: Vector
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    duration_s: float = bounded(10.0, gt=0.0)


@dataclass(frozen=True)
class CirclePlan:
    """A circle with ramps of the angular rate.

    The start is on the circle, its centre one radius towards -x.

    ``ramp_rad_s2`` is the mean angular acceleration of the ramps; ``rotation_deg`` are the
    amplitudes of roll, pitch and yaw, which follow the sine of the phase.
    """

    type: Literal["circle"]
    radius_m: float = bounded(gt=0.0)
    period_s: float = bounded(gt=0.0)
    cruise_s: float = bounded(ge=0.0)
    ramp_rad_s2: float = bounded(float(np.pi / 40.0), gt=0.0)
    rotation_deg: Vector = bounded((0.0, 0.0, 0.0), ge=-60.0, le=60.0)


@dataclass(frozen=True)
class LinePlan:
    """Straight legs from rest to rest through the waypoints, quintic in time.

    ``timing: limits`` keeps peak speed and acceleration; ``rotortm`` uses the original's times (5 d
    up to 1 m, 10 sqrt(d) beyond).
    """

    type: Literal["line"]
    waypoints_m: tuple[Vector, ...]
    relative: bool = False
    timing: Literal["limits", "rotortm"] = "limits"
    speed_m_s: float = bounded(1.0, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)


@dataclass(frozen=True)
class WaypointsPlan:
    """Minimum k-th derivative through the waypoints, from rest to rest.

    ``degree`` of the polynomials and ``continuity`` default to the true minimiser (2k-1 and 2k-2);
    ``rest`` is the highest derivative that is zero at both ends (k-1).
    """

    type: Literal["waypoints"]
    waypoints_m: tuple[Vector, ...]
    relative: bool = False
    derivative: int = bounded(4, ge=2, le=6)
    degree: int | None = bounded(None, ge=3, le=13)
    continuity: int | None = bounded(None, ge=1, le=12)
    rest: int | None = bounded(None, ge=1, le=5)
    speed_m_s: float = bounded(2.0, gt=0.0)
    acceleration_m_s2: float = bounded(5.0, gt=0.0)
    duration_s: float | None = bounded(None, gt=0.0)

    def __post_init__(self) -> None:
        if not self.waypoints_m:
            raise ValueError("waypoints_m must hold at least one point.")


Plan = HoverPlan | StepPosePlan | CirclePlan | LinePlan | WaypointsPlan


@dataclass(frozen=True)
class Timing:
    """Steps, rates and pacing. The control period is a whole number of steps."""

    step_s: float = bounded(0.001, gt=0.0, le=0.1)
    control_s: float = bounded(0.005, gt=0.0, le=1.0)
    pacing: Literal["realtime", "lockstep"] = "realtime"
    real_time_factor: float = bounded(1.0, gt=0.0)
    topics_hz: float = bounded(100.0, gt=0.0)
    clock_hz: float = bounded(250.0, gt=0.0)
    markers_hz: float = bounded(25.0, gt=0.0)
    command_timeout_s: float = bounded(0.1, gt=0.0)
    timeout_policy: Literal["hold", "zero"] = "hold"
    timeout_zero_s: float = bounded(0.5, gt=0.0)
    lockstep_timeout_s: float = bounded(2.0, gt=0.0)

    def __post_init__(self) -> None:
        ratio = self.control_s / self.step_s
        if abs(ratio - round(ratio)) > 1e-6 or round(ratio) < 1:
            raise ValueError(
                f"control_s must be a whole multiple of step_s, got {self.control_s} and {self.step_s}."
            )

    @property
    def steps_per_control(self) -> int:
        """Physics steps in a control period."""
        return round(self.control_s / self.step_s)


@dataclass(frozen=True)
class Scenario:
    """Everything that a run needs to know.

    Printed by ``--print-config`` and stored with every recording.
    """

    schema: int
    model: Model
    controller: Control
    trajectory: Plan = field(default_factory=lambda: HoverPlan("hover"))
    name: str = "scenario"
    description: str = ""
    plant: tuple[PlantChange, ...] = ()
    initial: tuple[InitialState, ...] = ()
    sensing: Sensing = field(default_factory=Sensing)
    actuation: Actuation = field(default_factory=Actuation)
    environment: Environment = field(default_factory=Environment)
    time: Timing = field(default_factory=Timing)
    command_input: Literal["team", "wrench"] = "team"
    settle_s: float = bounded(2.0, ge=0.0)
    seed: int = bounded(0, ge=0)
