"""The scenario: frozen dataclasses that are the schema of the YAML files. Units are in the names.

Ranges on the fields.

`loader.py` fills them, `structure.py` checks them, the README of config/ explains them to users.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rotor_core.config.controllers import CONTROL_LAWS, Control, OpenLoopControl
from rotor_core.config.counterparts.autopilots import Autopilot
from rotor_core.config.criteria import Criteria
from rotor_core.config.environment import Environment
from rotor_core.config.extensions import FORCES, INTEGRATORS
from rotor_core.config.mission import Mission
from rotor_core.config.model import Model
from rotor_core.config.sensing import Sensing
from rotor_core.config.trajectories import TRAJECTORIES, HoverPlan, JointMoves, Plan
from rotor_core.config.vehicles.body import Matrix, Vector, check_inertia
from rotor_core.config.yaml.structure import EntryError, bounded
from rotor_core.errors import ConfigError

CENTRE_TOLERANCE = 0.005
"""The centre of mass of a helicopter is this near its origin, m."""

FASTEST_RATE = 2.0
"""Largest rate times step; Runge-Kutta of order four is stable up to 2.7."""

STEPS_PER_TURN = 90
"""Fewest steps per turn of a rotor with blades."""


def _short(longest: float) -> float:
    """A step of one digit below the longest one, s."""
    size = 10.0 ** np.floor(np.log10(longest))
    return float(f"{np.floor(longest / size) * size:.1g}")


OF_ENTITIES = (
    "mass_kg", "inertia_kg_m2", "thrust_gain", "thrust_gain_per_s", "attitude_bias_rad", "velocity_gain",
)  # fmt: skip
OF_CABLES = ("length_m",)
"""Keys of a change of the plant."""


@dataclass(frozen=True)
class PlantChange:
    """Difference between the plant and its nominal model. It applies to the simulator only, never to controllers.

    ``thrust_gain_per_s``: the thrust of a vehicle changes by this share per second from the start, as with a sagging
    battery. ``attitude_bias_rad``: what is told of its attitude is turned by this rotation vector, in body axes;
    ``velocity_gain``: its velocity is told as so many times the true one.
    """

    entity: str | None = None
    cable: int | None = bounded(None, ge=1)
    mass_kg: float | None = bounded(None, gt=0.0)
    inertia_kg_m2: Vector | Matrix | None = None
    thrust_gain: float | None = bounded(None, ge=0.0, le=10.0)
    thrust_gain_per_s: float | None = bounded(None, ge=-0.5, le=0.5)
    attitude_bias_rad: Vector | None = bounded(None, ge=-0.5, le=0.5)
    velocity_gain: float | None = bounded(None, gt=0.0, le=10.0)
    length_m: float | None = bounded(None, gt=0.0)

    def __post_init__(self) -> None:
        if (self.entity is None) == (self.cable is None):
            raise ValueError("a change names either an entity or a cable (numbered from 1).")
        for key in OF_ENTITIES if self.entity is None else OF_CABLES:
            if getattr(self, key) is not None:
                own = "an entity" if self.entity is None else "a cable"
                raise EntryError((key,), f"is {own}'s. Name {own}, or leave it out.")
        check_inertia(self.inertia_kg_m2)


@dataclass(frozen=True)
class InitialState:
    """State of an entity at the start.

    Vehicles that are not named, or without position, are above their attachment points, cables taut. What is not given
    with a position is level and at rest; without one it is as it would be if the entity were not named.
    """

    entity: str
    position_m: Vector | None = None
    rpy_deg: Vector | None = None
    quaternion_wxyz: tuple[float, float, float, float] | None = None
    velocity_m_s: Vector | None = None
    rate_rad_s: Vector | None = None

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
class Grip:
    """Fix ``entity`` to a body (an entity, or ``vehicle/link``) where both are.

    It must be ``within_m`` of the point ``point_m`` of that body.
    """

    entity: str
    to: str
    point_m: Vector = (0.0, 0.0, 0.0)
    within_m: float = bounded(0.1, gt=0.0)


@dataclass(frozen=True)
class MotorFault:
    """From then on one rotor (from 1) of a vehicle gives ``thrust_gain`` of the thrust that it should."""

    vehicle: str
    rotor: int = bounded(ge=1)
    thrust_gain: float = bounded(ge=0.0, le=2.0)


@dataclass(frozen=True)
class BatterySag:
    """From then on the battery of a vehicle has ``voltage_factor`` of the voltage that it should."""

    vehicle: str
    voltage_factor: float = bounded(ge=0.0, le=1.0)


@dataclass(frozen=True)
class WindTo:
    """From then on the winch of a cable (from 1) goes to ``length_m``, at most at ``rate_m_s``.

    Or the motor of its drum turns with ``torque_n_m``, positive to reel in. Or its rate follows ``profile``, pairs of
    time (s from then on) and rate (m/s, positive pays out), linear between; before the first one and behind the last
    it stops.
    """

    cable: int = bounded(ge=1)
    length_m: float | None = bounded(None, gt=0.0)
    rate_m_s: float | None = bounded(None, gt=0.0)
    torque_n_m: float | None = None
    profile: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if (self.length_m is not None) + (self.torque_n_m is not None) + bool(self.profile) != 1:
            raise ValueError(
                "wind is to a length_m, with a torque_n_m or along a profile. Give one of them."
            )
        if self.length_m is None and self.rate_m_s is not None:
            raise ValueError(
                "rate_m_s belongs to length_m: a torque and a profile have their own. Leave it out."
            )
        times = [t for t, _ in self.profile]
        if times and (times[0] < 0.0 or any(b <= a for a, b in pairwise(times))):
            raise ValueError(
                "profile must be [time, rate] pairs whose times increase from 0 or later."
            )


@dataclass(frozen=True)
class Change:
    """Something that happens ``at_s``: attach, release (an entity), cut (a cable, from 1), wind, or a fault.

    It happens at the start of the first control period that does not begin before ``at_s``.

    A release lets go of what somebody holds; cables are cut. Laws are not told: vehicles whose cable is cut fly on as
    if they carried their share. The step release of a mission cuts the cables of a payload and lets its vehicles fly
    alone.
    """

    at_s: float = bounded(ge=0.0)
    attach: Grip | None = None
    release: str | None = None
    cut: int | None = bounded(None, ge=1)
    wind: WindTo | None = None
    motor: MotorFault | None = None
    battery: BatterySag | None = None

    def __post_init__(self) -> None:
        given = (self.attach, self.release, self.cut, self.wind, self.motor, self.battery)
        if sum(x is not None for x in given) != 1:
            raise ValueError("a change is one of attach, release, cut, wind, motor or battery.")

    @property
    def is_fault(self) -> bool:
        """True if it weakens a motor or a battery; all others change what is connected, and how."""
        return self.motor is not None or self.battery is not None


@dataclass(frozen=True)
class Actuation:
    """Actuation model, from commands to forces and moments.

    ``mode: wrench``: thrust and moment act as commanded. ``mode: rotors``: commands are turned into
    rotor speeds, which follow with their lag; thrust, drag torque, stored momentum, drag and ground
    effect are those of the rotors. ``mode: propellers``: propellers are bodies on joints that turn
    at these speeds; ``mode: motors``: on joints that the torques of the motors turn. ``limits``:
    rotor speeds stay within the limits of the vehicle (thrust before yaw). ``actuation: rotors`` is
    short for ``actuation: {mode: rotors}``.
    """

    SHORTHAND: ClassVar[str] = "mode"

    mode: Literal["wrench", "rotors", "propellers", "motors"] = "wrench"
    limits: bool = True

    @property
    def has_propellers(self) -> bool:
        """True if propellers are separate bodies."""
        return self.mode in ("propellers", "motors")


FASTEST = 100.0
"""Largest real-time factor of nodes."""


@dataclass(frozen=True)
class Timing:
    """Steps, rates and pacing. The control period is a whole number of steps.

    ``integrator``: see docs/results/engine.md. ``tolerance``: of an adaptive one the error of any step; of ``rkmk4``
    and ``cf4`` the error that 1 ms may add to a velocity or body rate (m/s, rad/s), and to the energy of worlds with
    cables or stops relative to its scale. Steps that miss it are cut; 1.0 switches that off in practice. See
    docs/theory/error_control.md.
    """

    step_s: float = bounded(0.001, ge=1e-5, le=0.1)
    control_s: float = bounded(0.005, gt=0.0, le=1.0)
    integrator: Annotated[str, INTEGRATORS] = "rkmk4"
    tolerance: float = bounded(1e-10, gt=0.0, le=1.0)
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


NoteKind = Literal[
    "arm",
    "inertia",
    "thrust",
    "gains",
    "hover",
    "propeller",
    "allocation",
    "cable",
    "lag",
    "rate",
    "free",
]
"""Kinds of notes on what is possible but implausible (:mod:`rotor_core.warnings`)."""


@dataclass(frozen=True)
class Scenario:
    """Everything that a run needs to know.

    Printed by ``--print-config`` and stored with every recording. ``notes_off``: kinds of notes on implausible values
    that are meant as they are. ``group``: heading under which `./rotor scenarios` lists it.
    """

    schema: int
    model: Model
    controller: Annotated[Control, CONTROL_LAWS]
    trajectory: Annotated[Plan, TRAJECTORIES] = field(default_factory=lambda: HoverPlan("hover"))
    mission: Mission | None = None
    arms: tuple[JointMoves, ...] = ()
    changes: tuple[Change, ...] = ()
    name: str = "scenario"
    description: str = ""
    group: str = ""
    plant: tuple[PlantChange, ...] = ()
    initial: tuple[InitialState, ...] = ()
    sensing: Sensing = field(default_factory=Sensing)
    actuation: Actuation = field(default_factory=Actuation)
    environment: Environment = field(default_factory=Environment)
    forces: tuple[Annotated[Any, FORCES], ...] = ()
    time: Timing = field(default_factory=Timing)
    command_input: Literal["team", "wrench", "motor_speed", "swashplate"] = "team"
    settle_s: float = bounded(2.0, ge=0.0)
    verdict: Criteria = field(default_factory=Criteria)
    notes_off: tuple[NoteKind, ...] = ()
    seed: int = bounded(0, ge=0)

    def __post_init__(self) -> None:
        turning = self.actuation.mode != "wrench"
        for vehicle in self.model.vehicles if self.actuation.has_propellers else ():
            propeller = vehicle.rotors.propeller
            if not (propeller and propeller.mass_kg and min(propeller.inertia_kg_m2) > 0.0):
                raise ValueError(
                    f"actuation.mode {self.actuation.mode}: vehicle {vehicle.name!r} needs rotors.propeller with "
                    "mass_kg and inertia_kg_m2 > 0."
                )
            if not vehicle.rotors.lag_s:
                raise ValueError(
                    f"actuation.mode {self.actuation.mode}: vehicle {vehicle.name!r} needs rotors.lag_s > 0: the "
                    "speed of a body cannot jump."
                )
        self._check_names()
        self._check_air()
        self._check_helicopters()
        if isinstance(self.controller, OpenLoopControl):
            self._check_open_loop(self.controller)
        drags = [e.name for e in self.model.entities if e.drag is not None]
        for keys in self.forces:
            if keys.type == "shape_drag" and keys.body in drags:
                raise ValueError(
                    f"forces: {keys.body} has drag of its own, and shape_drag would come on top. Give one of them."
                )
        rotor_drags = turning and any(v.rotors.drag_n_s2_per_m for v in self.model.vehicles)
        felt = drags or rotor_drags or self.forces or self.model.helicopters
        felt = felt or any(c.diameter_m for c in self.model.cables)
        felt = felt or self.rotors_feel_air
        if not (self.environment.wind.is_calm or felt):
            raise EntryError(
                ("environment", "wind"),
                "moves nothing: no entity has drag. Give an entity `drag`, a heavy cable `diameter_m`, rotors "
                "`inflow`, or `drag_n_s2_per_m` with an actuation other than wrench.",
            )

    def _check_air(self) -> None:
        """Wakes and inflow are those of rotors that are known, and do not turn as bodies."""
        inflows = [v.name for v in self.model.vehicles if v.rotors.inflow]
        asked = [
            k for k in ("wakes", "ground_effect", "ceiling_effect") if getattr(self.environment, k)
        ]
        what = (
            f"environment.{asked[0]}"
            if asked
            else f"rotors.inflow of {inflows[0]!r}"
            if inflows
            else ""
        )
        bodies = self.actuation.mode not in ("wrench", "rotors")
        if bodies and what:
            raise ValueError(
                f"{what}: needs actuation wrench or rotors, got {self.actuation.mode}."
            )
        if self.rotors_feel_air and self.model.helicopters:
            raise ValueError(
                f"{what}: not with helicopters, whose rotors have blades; {self.model.helicopters[0]!r} is one."
            )
        for key in asked:
            for vehicle in self.model.vehicles:
                if not vehicle.rotors.radius_m:
                    raise ValueError(
                        f"environment.{key} needs rotors.radius_m > 0 of vehicle {vehicle.name!r}."
                    )

    @property
    def rotors_feel_air(self) -> bool:
        """True if rotors push wakes down, or give what moving air and surfaces leave of their thrust."""
        inflow = any(v.rotors.inflow for v in self.model.vehicles)
        air = self.environment
        ground = air.ground_effect and self.actuation.mode == "wrench"  # else the engine sees to it
        feels = inflow or air.wakes is not None or air.ceiling_effect or ground
        return feels and bool(self.model.vehicles)

    @property
    def motors_can_stop(self) -> bool:
        """True under autopilots, which let single motors stand; ours never turn slower than ``speed_rpm`` says."""
        return isinstance(self.controller, Autopilot)

    @property
    def follows_plans(self) -> bool:
        """True if the controller is told where to be; autopilots have goals of their own."""
        return not isinstance(self.controller, Autopilot)

    def changed(self, place: str, value: object) -> Scenario:
        """This scenario with another value at a dotted place, such as ``plant.payload.mass_kg``.

        Entries of lists go by name or number (from 1), components by x, y, z; ``plant`` and ``initial`` need no
        entry in the file.

        Raises:
            ConfigError: there is no such place, or the value does not fit.
        """
        from rotor_core.config.parameters import changed  # it loads what it has changed

        if not isinstance(place, str):
            raise ConfigError(
                f"changed: a place is a text such as plant.payload.mass_kg, got {place!r}."
            )
        return changed(self, place, value)

    def _check_names(self) -> None:
        """Obstacles are called by their names where entities are, too: in events, margins and verdicts."""
        names = {e.name for e in self.model.entities}
        for i, obstacle in enumerate(self.environment.obstacles):
            if obstacle.name in names:
                raise EntryError(
                    ("environment", "obstacles", i, "name"),
                    f"{obstacle.name!r} is a vehicle or payload of the model. Use another.",
                )

    def _check_helicopters(self) -> None:
        """Steps short enough for rotors with blades, and nothing that only other rotors can."""
        for vehicle in self.model.vehicles:
            if vehicle.helicopter is None:
                continue
            longest = 2.0 * np.pi / (STEPS_PER_TURN * vehicle.helicopter.main_rotor.speed_rad_s)
            if self.time.step_s > longest:
                raise ValueError(
                    f"time.step_s: the blades of {vehicle.name!r} need {STEPS_PER_TURN} steps per turn, at most "
                    f"{longest:.3g} s, got {self.time.step_s:g}. Write `time: {{step_s: {_short(longest)}, control_s: "
                    f"{10.0 * _short(longest):.1g}}}`."
                )
            if self.time.integrator == "euler" or isinstance(self.controller, OpenLoopControl):
                raise ValueError(
                    f"vehicle {vehicle.name!r} is a helicopter, which allows neither integrator euler nor controller "
                    "open_loop. Leave integrator out; use controller helicopter."
                )
            for key, rate in vehicle.helicopter.main_rotor.rates.items():
                if rate * self.time.step_s > FASTEST_RATE:
                    raise ValueError(
                        f"main_rotor.{key} of {vehicle.name!r}: it settles at {rate:.4g} 1/s, but steps "
                        f"of {self.time.step_s:g} s can follow {FASTEST_RATE / self.time.step_s:.4g} 1/s at most. "
                        "Make it slower, or time.step_s shorter."
                    )
            own = [c for c in self.plant if c.entity == vehicle.name]
            for key in ("thrust_gain", "thrust_gain_per_s"):
                if any(getattr(change, key) is not None for change in own):
                    raise ValueError(
                        f"plant: {key} of {vehicle.name!r}: a helicopter has none. Change its main_rotor or mass_kg."
                    )
            off = vehicle.helicopter.centre_of_mass(vehicle.mass_kg, vehicle.com_m)
            if np.linalg.norm(off) > CENTRE_TOLERANCE:
                raise ValueError(
                    f"vehicle {vehicle.name!r}: the centre of mass of fuselage and rotor must be its origin within "
                    f"{CENTRE_TOLERANCE:g} m, got {np.round(off, 4).tolist()}. Set com_m (of the fuselage)."
                )
            if self.command_input != "team" and self.command_input != "swashplate":
                raise ValueError(
                    f"command_input {self.command_input}: vehicle {vehicle.name!r} is a helicopter, which takes angles "
                    "of its swashplate. Use team or swashplate."
                )

    def _check_open_loop(self, control: OpenLoopControl) -> None:
        known = {v.name: len(v.rotors.spins) for v in self.model.vehicles}
        named = [c.vehicle for c in control.commands]
        for command in control.commands:
            name, n = command.vehicle, len(command.speeds_rpm)
            if name not in known:
                raise ValueError(
                    f"controller.commands: there is no vehicle {name!r}; known: {', '.join(known)}."
                )
            if named.count(name) > 1:
                raise ValueError(f"controller.commands: {name!r} appears twice.")
            if n != known[name]:
                raise ValueError(
                    f"controller.commands: {name!r} has {known[name]} rotors, got {n} speeds."
                )
        for name in known:
            if name not in named:
                raise ValueError(f"controller.commands: has no entry for the vehicle {name!r}.")
