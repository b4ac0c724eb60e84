"""Control laws and their gains, as scenarios give them."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rotor_core.config.counterparts.autopilots import (
    ArduPilotControl,
    BetaflightControl,
    Px4Control,
)
from rotor_core.config.counterparts.library import LibraryControl
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import EntryError, bounded
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.errors import ConfigError
from rotor_core.registry import Kind, Registry, check_kind


@dataclass(frozen=True)
class OpenLoopCommand:
    """Constant rotor speeds of one vehicle."""

    vehicle: str
    speeds_rpm: tuple[float, ...] = bounded(ge=0.0)


@dataclass(frozen=True)
class OpenLoopControl:
    """No feedback: constant rotor speeds."""

    type: Literal["open_loop"]
    commands: tuple[OpenLoopCommand, ...] = ()


@dataclass(frozen=True)
class QuadrotorControl:
    """Geometric position control of a single vehicle; gains are those of the vehicle."""

    type: Literal["quadrotor"]
    error_limit_m: float = bounded(0.5, gt=0.0)


@dataclass(frozen=True)
class PointMassControl:
    """Vehicles with a cable-suspended point mass.

    ``position_per_s2``, ``velocity_per_s``, ``integral_per_s3``: acceleration of the load per metre, m/s and m s of its
    error, whatever its mass. Attitude and cables of the vehicles: their own ``gains``.

    Cables of several vehicles lean outwards by ``spread_deg`` at rest, towards ``azimuths_deg`` (one per
    vehicle; left out: spread evenly, the first towards x). ``feedforward: nominal`` lets cable and
    vehicle turn as the plan needs it, ahead of any error; ``paper`` leaves these terms at zero, as RotorTM does.
    """

    type: Literal["point_mass"]
    position_per_s2: Vector = bounded(ge=0.0)
    velocity_per_s: Vector = bounded(ge=0.0)
    integral_per_s3: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    feedforward: Literal["paper", "nominal"] = "paper"
    spread_deg: float = bounded(30.0, gt=0.0, le=60.0)
    azimuths_deg: tuple[float, ...] = ()
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""

    def outward(self, n: int) -> np.ndarray:
        """Horizontal unit vectors towards which the cables of ``n`` vehicles lean, (n, 3); zero for one.

        Raises:
            ConfigError: there is not one azimuth per vehicle.
        """
        if n == 1:
            return np.zeros((1, 3))
        if self.azimuths_deg and len(self.azimuths_deg) != n:
            raise ConfigError(
                f"controller.azimuths_deg: must name one direction for each of {n} vehicles, got "
                f"{len(self.azimuths_deg)}."
            )
        angles = np.array([rad_from_deg(a) for a in self.azimuths_deg or 360.0 * np.arange(n) / n])
        return np.stack([np.cos(angles), np.sin(angles), np.zeros(n)], axis=1)


@dataclass(frozen=True)
class PayloadGeometricControl(PointMassControl):
    """Vehicles that share a point mass and keep apart, as flown on board of Crazyflies (Wahba and Hönig 2024).

    Cables pull with forces that a quadratic program finds: near to planned ones (leaning outwards as of
    :class:`PointMassControl`, or told on ``cmd/cables``) with ``plan_weight``, and such that a ball of ``radius_m``
    about each vehicle stays on its side of planes between them, which lean towards the wanted force by
    ``plane_lean_per_n2``.
    ``program_period_s``: the program takes this long, one answer after the other; 0: it answers at once, each period.
    ``cable_integral_per_s3``, ``attitude_integral_n_m_per_s``: gains of the integrals of cable direction and attitude.
    ``acceleration_feedforward``: of the payload's planned acceleration, to payload and vehicles. ``whole_thrust``: the
    size of the wanted force, also while a vehicle does not point along it yet; else its part along the axis of thrust.
    """

    type: Literal["payload_geometric"]  # type: ignore[assignment]
    cable_integral_per_s3: float = bounded(0.0, ge=0.0)
    attitude_integral_n_m_per_s: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    radius_m: float = bounded(0.15, ge=0.0)
    plane_lean_per_n2: float = bounded(10.0, ge=0.0)
    plan_weight: float = bounded(20.0, ge=0.0)
    program_period_s: float = bounded(0.0, ge=0.0, le=1.0)
    acceleration_feedforward: bool = True
    whole_thrust: bool = False


@dataclass(frozen=True)
class CableTeamControl:
    """n vehicles with a rigid payload on cables.

    ``position_per_s2``, ``velocity_per_s``, ``integral_per_s3``: acceleration of the payload per metre, m/s and m s of
    its error. ``attitude_n_m``, ``rate_n_m_s``: moment on the payload per radian and rad/s of its error, which belong
    to one inertia: another payload needs others (`./rotor tune`). ``feedforward`` as of :class:`PointMassControl`.
    ``least_tension_n``: no cable is asked for less; ``spread_deg``: cables lean outwards by this at
    rest. Both by internal forces, which the payload does not feel.
    """

    type: Literal["cable_team"]
    position_per_s2: Vector = bounded(ge=0.0)
    velocity_per_s: Vector = bounded(ge=0.0)
    attitude_n_m: Vector = bounded(ge=0.0)
    rate_n_m_s: Vector = bounded(ge=0.0)
    integral_per_s3: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    feedforward: Literal["paper", "nominal"] = "paper"
    least_tension_n: float | None = bounded(None, ge=0.0)
    spread_deg: float = bounded(0.0, ge=0.0, le=60.0)
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""


@dataclass(frozen=True)
class RigidTeamControl:
    """A rigidly linked team: gains of the payload pose.

    Those of attitude are angular accelerations per error, axis by axis: they are multiplied by the moments of inertia
    of the structure, without its products.
    ``allocation``: ``moments`` weighs the wrenches of the vehicles alike (the paper); ``rotors`` keeps every rotor near
    the middle of its range, which mixed teams need. ``feedforward`` as of :class:`PointMassControl`.
    """

    type: Literal["rigid_team"]
    position_per_s2: Vector = bounded(ge=0.0)
    velocity_per_s: Vector = bounded(ge=0.0)
    attitude_per_s2: Vector = bounded(ge=0.0)
    rate_per_s: Vector = bounded(ge=0.0)
    integral_per_s3: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    feedforward: Literal["paper", "nominal"] = "paper"
    allocation: Literal["moments", "rotors"] = "rotors"
    allocation_weights: tuple[float, float, float, float] = bounded((1.0, 10.0, 10.0, 10.0), gt=0.0)
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""


@dataclass(frozen=True)
class ManipulatorControl:
    """One vehicle with an arm; gains are accelerations per error, those of joints stand with them.

    ``law: coupled`` flies to position and heading and knows what the arm does; ``uncoupled`` takes the
    vehicle for one rigid body (its posture at the start) and every joint for a servo of its own;
    ``computed_torque`` linearises the whole vehicle about position and attitude, as Kremer et al.
    2022: ``reading`` ``corrected``, ``literal`` (as printed) or ``corrected_x4``.
    ``feedforward``: of the accelerations of the references.
    """

    type: Literal["manipulator"]
    law: Literal["coupled", "uncoupled", "computed_torque"] = "coupled"
    reading: Literal["literal", "corrected", "corrected_x4"] = "corrected"
    position_per_s2: Vector = bounded((6.0, 6.0, 10.0), ge=0.0)
    velocity_per_s: Vector = bounded((4.0, 4.0, 6.0), ge=0.0)
    attitude_per_s2: Vector = bounded((150.0, 150.0, 40.0), ge=0.0)
    rate_per_s: Vector = bounded((25.0, 25.0, 12.0), ge=0.0)
    integral_per_s3: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    feedforward: bool = True
    error_limit_m: float = bounded(0.5, gt=0.0)
    source: str = ""


@dataclass(frozen=True)
class Pid:
    """Gains of one loop: ``p e + i (integral of e) + d (rate of e)``."""

    p: float = bounded(ge=0.0)
    i: float = bounded(0.0, ge=0.0)
    d: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class CascadedPidControl:
    """Cascaded PID loops of one vehicle that ask every rotor for a share of force (Pappalardo et al. 2023, Table 6).

    ``lift`` and ``yaw`` give N per rotor for errors in m and rad; ``outer_x`` and ``outer_y`` tilts
    (rad) for m, ``inner_pitch`` and ``inner_roll`` N per rotor for rad. ``filter_per_s``: the
    derivatives are filtered, D N s/(s + N). ``turned``: the shares of roll and pitch, which are about
    axes fixed to the earth, are turned into those of the vehicle; without it no heading beyond 55 deg
    is stable. ``anti_windup``: loops stop integrating while a rotor is at its limit.
    """

    type: Literal["cascaded_pid"]
    lift: Pid
    yaw: Pid
    inner_roll: Pid
    inner_pitch: Pid
    outer_x: Pid
    outer_y: Pid
    filter_per_s: float = bounded(100.0, gt=0.0)
    turned: bool = True
    anti_windup: bool = True
    gravity_feedforward: bool = False
    max_tilt_deg: float = bounded(45.0, gt=0.0, lt=90.0)
    source: str = ""


@dataclass(frozen=True)
class HelicopterControl:
    """One helicopter, alone or with a load on a cable, through tilts of its disc.

    ``tilt`` and ``tilt_rate_s``: tilt of the disc to the side and ahead over errors of attitude (rad/rad) and rate;
    ``heading_n_m``, ``heading_rate_n_m_s``, ``heading_integral_n_m_per_s``: moment over the error of heading, its rate
    and its integral. ``swing_per_s``: follows the sway of the load, which damps it.
    """

    type: Literal["helicopter"]
    position_per_s2: Vector = bounded((1.2, 1.2, 3.0), ge=0.0)
    velocity_per_s: Vector = bounded((1.8, 1.8, 3.5), ge=0.0)
    integral_per_s3: Vector = bounded((0.4, 0.4, 1.0), ge=0.0)
    tilt: tuple[float, float] = bounded((0.15, 0.15), ge=0.0)
    tilt_rate_s: tuple[float, float] = bounded((0.0, 0.0), ge=0.0)
    heading_n_m: float = bounded(2.0, ge=0.0)
    heading_rate_n_m_s: float = bounded(1.5, ge=0.0)
    heading_integral_n_m_per_s: float = bounded(0.5, ge=0.0)
    swing_per_s: float = bounded(1.0, ge=0.0)
    max_tilt_deg: float = bounded(30.0, gt=0.0, lt=90.0)
    error_limit_m: float = bounded(1.0, gt=0.0)
    source: str = ""


@dataclass(frozen=True)
class PredictiveControl:
    """Model-predictive control of a team with a payload on cables: exact derivatives of the nominal world, re-solved.

    Every ``solve_s`` one step of differential dynamic programming is made over ``periods`` of ``period_s`` in ``steps``
    of the engine; between solutions their feedback acts. Weights are those of squares: of the payload's place (1/m^2),
    attitude (1/rad^2), velocity and body rate; of the vehicles' places about their formation and of their rates; of
    thrusts about hover (1/N^2). ``clearance_m``: distance that vehicles, payload and cables keep from obstacles and
    each other; ``clearance``: weight of what is missing (1/m^2). ``tension_n``: least and largest tension of cables;
    ``tension``: weight of what is beyond (1/N^2).
    """

    type: Literal["predictive"]
    solve_s: float = bounded(0.02, gt=0.0)
    period_s: float = bounded(0.04, gt=0.0)
    periods: int = bounded(12, ge=2, le=200)
    steps: int = bounded(2, ge=1, le=100)
    place: float = bounded(40.0, ge=0.0)
    attitude: float = bounded(4.0, ge=0.0)
    velocity: float = bounded(4.0, ge=0.0)
    rate: float = bounded(0.1, ge=0.0)
    formation: float = bounded(2.0, ge=0.0)
    vehicle_rate: float = bounded(0.05, ge=0.0)
    thrust: float = bounded(1.0, gt=0.0)
    clearance_m: float | None = bounded(None, gt=0.0)
    clearance: float = bounded(1000.0, ge=0.0)
    tension_n: tuple[float, float] | None = bounded(None, ge=0.0)
    tension: float = bounded(20.0, ge=0.0)
    source: str = ""

    def __post_init__(self) -> None:
        if self.tension_n is not None and not self.tension_n[0] < self.tension_n[1]:
            raise EntryError(
                ("tension_n",), f"must be [least, largest], got {list(self.tension_n)}."
            )


@dataclass(frozen=True)
class PlannedControl:
    """An optimized flight, flown again: its thrusts, and its feedback about its states.

    ``path``: ``solution.npz`` of `./rotor optimize`, beside the scenario or in the working directory. It flies while
    the plan of its team is the one that was written with it; before, after, and along any other plan a regulator holds
    the formation of the start where the reference is.
    """

    type: Literal["planned"]
    path: str
    source: str = ""


Control = (
    PredictiveControl
    | PlannedControl
    | CascadedPidControl
    | HelicopterControl
    | QuadrotorControl
    | PointMassControl
    | PayloadGeometricControl
    | CableTeamControl
    | RigidTeamControl
    | ManipulatorControl
    | OpenLoopControl
    | LibraryControl
    | Px4Control
    | ArduPilotControl
    | BetaflightControl
)

CONTROL_LAWS: Registry[Kind] = Registry(
    "rotor.control_laws",
    "control law",
    "Control laws by the ``type`` of a scenario's ``controller``; ``make(scenario, team)`` returns a law, which is "
    "called with (states (N, >= 13), reference (28,), out (n, 4)) and has a method ``reset``.",
    check=check_kind,
)
_OURS, _OF_OTHERS = "rotor_control.controller", "rotor_adapters"
for _config, _make in (
    (QuadrotorControl, f"{_OURS}:multirotor_law"),
    (PointMassControl, f"{_OURS}:multirotor_law"),
    (PredictiveControl, "rotor_flight.optimal.predictive:PredictiveLaw"),
    (PlannedControl, "rotor_flight.optimal.planned:PlannedLaw"),
    (PayloadGeometricControl, "rotor_control.payload_geometric:PayloadGeometricLaw"),
    (CableTeamControl, f"{_OURS}:multirotor_law"),
    (RigidTeamControl, f"{_OURS}:multirotor_law"),
    (ManipulatorControl, f"{_OURS}:multirotor_law"),
    (CascadedPidControl, f"{_OURS}:cascaded_pid_law"),
    (HelicopterControl, f"{_OURS}:helicopter_law"),
    (OpenLoopControl, f"{_OURS}:open_loop_law"),
    (LibraryControl, f"{_OF_OTHERS}.library.law:LibraryLaw"),
    (Px4Control, f"{_OF_OTHERS}.px4.link:px4_law"),
    (ArduPilotControl, f"{_OF_OTHERS}.ardupilot.link:ardupilot_law"),
    (BetaflightControl, f"{_OF_OTHERS}.betaflight.link:betaflight_law"),
):
    _name = typing.get_args(typing.get_type_hints(_config)["type"])[0]
    CONTROL_LAWS.register(_name, Kind(_config, _make))
