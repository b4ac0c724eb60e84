"""Warnings about scenarios that are possible but implausible or unrealistic. They are reported, not refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from math import pi

import numpy as np

from rotor_core.config.controllers import (
    CableTeamControl,
    PredictiveControl,
    RigidTeamControl,
)
from rotor_core.config.counterparts.autopilots import Autopilot
from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.loader import plant_model
from rotor_core.config.model import Payload, Sphere, Vehicle
from rotor_core.config.schema import NoteKind, Scenario
from rotor_core.config.teams import Team, attachment_points, teams
from rotor_core.config.vehicles.body import Matrix, Vector
from rotor_core.config.vehicles.outline import corners
from rotor_core.config.yaml.units import SAME_TIME, steps_of
from rotor_core.vehicles.hover import hover
from rotor_core.vehicles.rotors import rotor_set

DENSITY = (3.0, 5000.0)
"""Mass of a vehicle over the cube of its arm, kg/m^3: 80 to 340 for those that are shipped."""

GYRATION = (0.1, 1.5)
"""Radius of gyration over the distance of the farthest hub: 0.3 to 0.6 for those that are shipped."""

THRUST_TO_WEIGHT = (1.1, 20.0)
"""Largest thrust over weight, with the share of the payload: below, nothing is left to fly with."""

HEAVY = 0.02
"""Mass of a cable over that of its team: a fiftieth of the weight moves a law without integral by some millimetres."""

FREQUENCY, DAMPING = (0.5, 100.0), (0.2, 10.0)
"""Attitude loops: sqrt(gain over inertia), rad/s, and rate gain over twice what it takes to be critical."""

SIDEWAYS = 2e-3
"""Force sideways in hover over the weight: a position gain of 6 per s^2 lets that be 3 mm."""

ON_A_LINE = 1e-3
"""Points are on a line if they spread across it by less than this share of their spread along it."""

SAME_RATE, UNASKED_HZ = 0.02, 100.0
"""A sensor whose rate is off by more than this share is noted, but for the rate that those have that nobody wrote."""


@dataclass(frozen=True)
class Note:
    """Something in a scenario that is possible but implausible.

    Attributes:
        kind: by which ``notes_off`` of the scenario hides it.
        text: place, value, what is plausible, and why.
    """

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return f"{self.text} (If it is meant: notes_off: [{self.kind}].)"


def notes(scenario: Scenario) -> list[Note]:
    """Notes for people, without those that the scenario switches off."""
    found = [
        note
        for vehicle in scenario.model.vehicles
        for make in (_size, _inertia, _loop, _propeller, _sideways)
        for note in make(vehicle)
    ]
    found += [
        note
        for team in teams(scenario.model)
        for make in (_team_notes, _cable_notes, _on_a_line)
        for note in make(scenario, team)
    ]
    found += [note for v in scenario.model.vehicles for note in _hover_notes(scenario, v)]
    found += [note for p in scenario.model.payloads for note in _payload_notes(p)]
    found += _free_notes(scenario)
    found += _lag_notes(scenario)
    found += _rate_notes(scenario)
    return [note for note in found if note.kind not in scenario.notes_off]


def _free_notes(scenario: Scenario) -> Iterator[Note]:
    """Payloads that nothing holds, in a world without ground."""
    model, surroundings = scenario.model, scenario.environment
    if surroundings.contact is not None or surroundings.gravity_m_s2 == 0.0:
        return
    held = {end for cable in model.cables for end, _ in cable.path}
    held |= {name for link in model.rigid_links for name in (link.parent, link.child)}
    for payload in model.payloads:
        if model.vehicles and payload.name not in held:
            yield Note(
                "free",
                f"model: {payload.name!r} hangs on nothing, and there is no ground: it falls from the start on. Write "
                "`environment: {contact: {}}` for something to stand on, or attach it.",
            )


def _lag_notes(scenario: Scenario) -> Iterator[Note]:
    """Foreign controllers on rotors that answer at once."""
    if isinstance(scenario.controller, Counterpart) and scenario.actuation.mode == "wrench":
        yield Note(
            "lag",
            "actuation: wrench acts at once. Controllers of firmware with high rate gains (PID cascades, Mellinger's) "
            "are tuned to motors that lag by some 30 ms, and may be unstable without. Write actuation: rotors, and "
            "lag_s of the vehicle's rotors.",
        )


def _rate_notes(scenario: Scenario) -> Iterator[Note]:
    """Autopilots that see the world more rarely than their loops are made for, laws that take longer than a period."""
    control, period = scenario.controller, scenario.time.control_s
    if isinstance(control, PredictiveControl) and period < control.solve_s:
        yield Note(
            "rate",
            f"controller: predictive solves every {control.solve_s:g} s and takes most of that, longer than a control "
            f"period of {period:g} s: over ROS in real time its commands come late, and the team is lost. Write "
            f"`time: {{control_s: {control.solve_s:g}}}`, or run in lockstep.",
        )
    if isinstance(control, Autopilot) and period > control.SLOWEST + SAME_TIME:
        yield Note(
            "rate",
            f"time.control_s of {period:g} s: {control.type} expects a sample at least every {control.SLOWEST:g} s.",
        )
    sensing, step = scenario.sensing, scenario.time.step_s
    asked = {"imu": sensing.imu.rate_hz, "load_cell": sensing.load_cell.rate_hz}
    asked |= {
        f"sensors {k.type} {k.name}": k.rate_hz for k in sensing.sensors if hasattr(k, "name")
    }
    for name, rate in asked.items():
        real = 1.0 / (steps_of(rate, step) * step)
        if abs(real - rate) > SAME_RATE * rate and rate != UNASKED_HZ:
            yield Note(
                "rate",
                f"sensing.{name}: rate_hz of {rate:g}: samples come at whole steps of {step:g} s, at {real:.4g} Hz.",
            )


def _range(limits: tuple[float, float]) -> str:
    return f"{limits[0]:g} to {limits[1]:g}"


def _size(vehicle: Vehicle) -> Iterator[Note]:
    """Arm and mass that do not go together."""
    if vehicle.helicopter is not None:
        return
    density = vehicle.mass_kg / vehicle.rotors.span**3
    if not DENSITY[0] <= density <= DENSITY[1]:
        yield Note(
            "arm",
            f"{vehicle.name}: {vehicle.mass_kg:g} kg (mass_kg) with hubs {vehicle.rotors.span:g} m from the centre "
            f"(rotors: arm_m): mass over length cubed is {density:.3g} kg/m^3, plausible are {_range(DENSITY)}.",
        )


def _inertia(vehicle: Vehicle) -> Iterator[Note]:
    """A radius of gyration that does not fit the size."""
    if vehicle.helicopter is not None:
        return
    span = vehicle.rotors.span
    for axis, inertia in zip("xyz", _principal(vehicle.inertia_kg_m2), strict=True):
        radius = math.sqrt(inertia / vehicle.mass_kg)
        if not GYRATION[0] <= radius / span <= GYRATION[1]:
            yield Note(
                "inertia",
                f"{vehicle.name}: inertia_kg_m2 about {axis} of {inertia:.3g} with {vehicle.mass_kg:g} kg is a radius "
                f"of gyration of {radius:.3g} m, {radius / span:.3g} of the distance of the hubs ({span:g} m); "
                f"plausible are {_range(GYRATION)}.",
            )


def _principal(inertia: Vector | Matrix) -> list[float]:
    """Diagonal of an inertia, however it is given."""
    return [row[i] if isinstance(row, tuple) else row for i, row in enumerate(inertia)]


def _sideways(vehicle: Vehicle) -> Iterator[Note]:
    """Tilted rotors that push sideways in hover, level: a law that leans for that only by an integral stays beside."""
    if vehicle.helicopter is not None:
        return
    rotors = rotor_set(vehicle.rotors)
    thrusts = rotors.unmixing @ [1.0, 0.0, 0.0, 0.0]
    share = float(np.linalg.norm(thrusts @ vehicle.rotors.axes[:, :2]))
    if share > SIDEWAYS:
        yield Note(
            "allocation",
            f"{vehicle.name}: the axes of its rotors push sideways by {share:.3g} of the weight in level hover; laws "
            "know of thrust along z, and without an integral they stay beside their goal. Let the axes balance.",
        )


def _loop(vehicle: Vehicle) -> Iterator[Note]:
    """Attitude gains that were made for another inertia."""
    if vehicle.helicopter is None:
        gains = vehicle.gains
        place = f"{vehicle.name}: gains"
        yield from _attitude(place, gains.attitude_n_m, gains.rate_n_m_s, vehicle.inertia_kg_m2)


def _attitude(
    place: str, attitude: Vector, rate: Vector, inertia: Vector | Matrix
) -> Iterator[Note]:
    for axis, k, d, J in zip("xyz", attitude, rate, _principal(inertia), strict=True):
        if k == 0.0 or J == 0.0:  # nothing is fed back about this axis, or it does not turn
            continue
        frequency, damping = math.sqrt(k / J), d / (2.0 * math.sqrt(k * J))
        if not FREQUENCY[0] <= frequency <= FREQUENCY[1]:
            yield Note(
                "gains",
                f"{place}.attitude_n_m about {axis} of {k:g} and an inertia of {J:.3g} kg m^2 make a loop of "
                f"{frequency:.3g} rad/s; plausible are {_range(FREQUENCY)}. `./rotor tune` proposes others.",
            )
        elif not DAMPING[0] <= damping <= DAMPING[1]:
            yield Note(
                "gains",
                f"{place}.rate_n_m_s about {axis} of {d:g} damps the loop of {frequency:.3g} rad/s by {damping:.3g} of "
                f"what is critical; plausible are {_range(DAMPING)}. `./rotor tune` proposes others.",
            )


def _cable_notes(scenario: Scenario, team: Team) -> Iterator[Note]:
    """Cables, wheels and what hangs: their weight the law of the team would have to carry without knowing of it."""
    model = scenario.model
    names = {*team.vehicles, team.payload}
    mass, true = (
        sum(e.mass_kg for e in m.entities if e.name in names)
        for m in (model, plant_model(scenario))
    )
    for name, cable in zip(model.cable_names, model.cables, strict=True):
        if names & {cable.a, cable.b} and cable.mass_kg > HEAVY * mass:
            yield Note(
                "cable",
                f"{name}: weighs {cable.mass_kg:.3g} kg, {cable.mass_kg / mass:.0%} of the team of {team.entity}, "
                "whose law does not know of it: expect an error of height.",
            )
        ends = {cable.a, cable.b}
        hanging = next((p for p in model.payloads if p.name in ends - names), None)
        sums = any(getattr(scenario.controller, "integral_per_s3", ()))  # which learn of it
        load = 0.0 if hanging is None or sums or not names & ends else hanging.mass_kg
        if hanging is not None and load + true - mass > HEAVY * mass and load > 0.0:
            yield Note(
                "cable",
                f"{name}: {hanging.name}, which hangs on it, weighs {hanging.mass_kg:.3g} kg, "
                f"{hanging.mass_kg / mass:.0%} of the team of {team.entity}, whose law does not know of it: expect an "
                f"error of height. Give {team.entity} the sum as mass_kg and its own under `plant`, or sum up errors.",
            )
        wheels = sum(
            ring.wheel.mass_kg
            for ring in cable.through
            if ring.wheel is not None and ring.entity in names
        )
        if wheels > HEAVY * mass:
            yield Note(
                "cable",
                f"{name}: its wheels weigh {wheels:.3g} kg, {wheels / mass:.0%} of the team of {team.entity}, "
                "whose law does not know of them: expect an error of height.",
            )


def _payload_notes(payload: Payload) -> Iterator[Note]:
    """An inertia that a payload of its mass and shape cannot have: all of it would have to be outside."""
    if payload.inertia_kg_m2 is None or isinstance(payload.shape, Sphere):
        return  # a sphere may only mark where it is
    points, radius = corners(payload)
    reach = float(np.linalg.norm(points, axis=1).max()) + radius
    for axis, inertia in zip("xyz", _principal(payload.inertia_kg_m2), strict=True):
        gyration = math.sqrt(inertia / payload.mass_kg)
        if gyration > reach:
            yield Note(
                "inertia",
                f"{payload.name}: inertia_kg_m2 about {axis} of {inertia:.3g} with {payload.mass_kg:g} kg is a radius "
                f"of gyration of {gyration:.3g} m, more than its shape reaches ({reach:.3g} m).",
            )


def _on_a_line(scenario: Scenario, team: Team) -> Iterator[Note]:
    """Three cables or more whose points do not control all axes of their payload."""
    payload = next((p for p in scenario.model.payloads if p.name == team.payload), None)
    if payload is None or payload.inertia_kg_m2 is None or team.rigid or len(team.cables) < 3:
        return
    points = attachment_points(scenario.model, team)
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if spread[1] <= ON_A_LINE * spread[0]:
        yield Note(
            "cable",
            f"{team.entity}: its cables are attached along one line, about which nobody can turn it.",
        )


def _team_notes(scenario: Scenario, team: Team) -> Iterator[Note]:
    """Thrust over weight, gains of the payload, and how a rigid team shares."""
    model, control = scenario.model, scenario.controller
    vehicles = [model.vehicles[model.index(name)] for name in team.vehicles]
    payload = next((p for p in model.payloads if p.name == team.payload), None)
    multirotors = [v for v in vehicles if v.helicopter is None]
    gravity = scenario.environment.gravity_m_s2
    if len(multirotors) == len(vehicles) and gravity > 0.0:
        mass = sum(v.total_mass + sum(x.mass_kg for x in v.links) for v in vehicles)
        mass += payload.mass_kg if payload else 0.0
        carried = [link.child for link in model.cargo if link.parent in team.vehicles]
        mass += sum(p.mass_kg for p in model.payloads if p.name in carried and p is not payload)
        thrust = sum(
            len(v.rotors.spins) * v.rotors.thrust_n_per_rpm2 * v.rotors.speed_rpm[1] ** 2
            for v in vehicles
        )
        ratio = thrust / (mass * gravity)
        if not THRUST_TO_WEIGHT[0] <= ratio <= THRUST_TO_WEIGHT[1]:
            yield Note(
                "thrust",
                f"team of {team.entity}: its rotors give {thrust:.3g} N at most, {ratio:.3g} of the weight of "
                f"{mass:.4g} kg; plausible are {_range(THRUST_TO_WEIGHT)}.",
            )
    if payload is not None and payload.inertia_kg_m2 and isinstance(control, CableTeamControl):
        yield from _attitude(
            "controller", control.attitude_n_m, control.rate_n_m_s, payload.inertia_kg_m2
        )
    if team.rigid and isinstance(control, RigidTeamControl):
        for link in model.rigid_links:
            if link.child in team.vehicles and any(link.rpy_deg[:2]):
                yield Note(
                    "allocation",
                    f"{link.child}: stands tilted on {team.entity} (rpy_deg {list(link.rpy_deg)}); the law of rigid "
                    "teams shares thrusts along one axis, and does not know of the force sideways.",
                )
    if team.rigid and isinstance(control, RigidTeamControl) and control.allocation == "moments":
        capable = {
            (v.rotors.thrust_n_per_rpm2 * v.rotors.speed_rpm[1] ** 2, len(v.rotors.spins))
            for v in vehicles
        }
        if len(capable) > 1:
            yield Note(
                "allocation",
                "controller.allocation: moments shares alike between vehicles that cannot give alike. "
                "`allocation: rotors` shares by what each can give.",
            )


def _propeller(vehicle: Vehicle) -> Iterator[Note]:
    """An axial inertia that a propeller of its mass and size cannot have."""
    propeller = vehicle.rotors.propeller
    if propeller is None:
        return
    axial, most = propeller.inertia_kg_m2[2], propeller.largest_axial_inertia
    if axial > most > 0.0:
        yield Note(
            "propeller",
            f"{vehicle.name}: rotors.propeller.inertia_kg_m2: {axial:g} kg m^2 about the axis is more than "
            f"{propeller.mass_kg:g} kg within {0.5 * propeller.diameter_m:g} m can have ({most:.3g}).",
        )


def _hover_notes(scenario: Scenario, vehicle: Vehicle) -> list[Note]:
    """Notes on controls and power that a helicopter with its load would need to hover and does not have."""
    environment, helicopter = scenario.environment, vehicle.helicopter
    if helicopter is None or not environment.gravity_m_s2 > 0.0:
        return []
    model = scenario.model
    hung = [c.b if c.a == vehicle.name else c.a for c in model.cables if vehicle.name in (c.a, c.b)]
    hung += [link.child for link in model.cargo if link.parent == vehicle.name]
    mass = vehicle.total_mass + sum(p.mass_kg for p in model.payloads if p.name in hung)
    gravity = environment.gravity_m_s2
    need = hover(helicopter, mass * gravity, gravity, environment.air.density)
    rotor, tail = helicopter.main_rotor, helicopter.tail_rotor
    degrees = need.collective * 180.0 / pi
    power = need.torque * rotor.speed_rad_s
    return [
        Note(
            "hover",
            f"{vehicle.name}: {key}: hover needs about {value:.3g} {unit}, the range is {low:.4g} to {high:.4g} "
            "(./rotor trim gives the exact value).",
        )
        for key, value, (low, high), unit in (
            ("helicopter.main_rotor.collective_deg", degrees, rotor.collective_deg, "deg"),
            ("helicopter.tail_rotor.force_n", need.tail_force, tail.force_n, "N"),
            ("helicopter.engine.power_w", power, (0.0, helicopter.engine.power_w), "W"),
        )
        if not low <= value <= high
    ]
