"""The mechanical system of a scenario, as it is in reality (with the changes of ``plant``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.attachments.cable import CableAttachment, Cylinder
from rotor_core.config.extensions import FORCES
from rotor_core.config.loader import plant_model
from rotor_core.config.model import Model, Payload, Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.given import numbers
from rotor_core.math.polyhedron import Polyhedron
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.cable import Cable, Ring, Sheave
from rotor_dynamics.model.system import WORLD, Drag, Force, Rotor, System, Weld
from rotor_sim.plant.contact_pairs import contacts_from_scenario, contacts_of_masses
from rotor_sim.plant.drums import drums
from rotor_sim.plant.heavy_cables import heavy_cables
from rotor_sim.plant.helicopter import RotorParts, rotor_parts
from rotor_sim.plant.links import link_bodies, link_joints, link_welds
from rotor_sim.plant.propellers import (
    frame_body,
    propeller_bodies,
    propeller_elements,
    propeller_joints,
)
from rotor_sim.plant.solids import rigid_law, solids_from_scenario
from rotor_sim.plant.wheels import wheels


def system_from_scenario(scenario: Scenario) -> System:
    """Bodies in the order of ``model.entities``, then the links of their arms; joints vehicle by vehicle.

    Then propellers as bodies, the rotors of helicopters, the masses of heavy cables, drums, wheels of pulleys.

    Cables are in the order of ``model.cables``, then pieces of heavy ones; every vehicle has one input.
    """
    model = plant_model(scenario)
    names = [e.name for e in model.entities]
    names += [f"{v.name}/{link.name}" for v in model.vehicles for link in v.links]

    def index(name: str) -> int:
        return WORLD if name == "world" else names.index(name)

    bodies = tuple(
        Body(
            e.name,
            e.mass_kg,
            None if e.inertia_kg_m2 is None else inertia_matrix(e.inertia_kg_m2),
            np.array(e.com_m),
        )
        for e in model.entities
    )
    bodies += tuple(b for v in model.vehicles for b in link_bodies(v.name, v.links))
    cables = tuple(cable_of(c, index) for c in model.cables)
    welds = tuple(
        Weld(
            index(link.parent),
            index(link.child),
            np.array(link.position_m),
            wxyz_from_rpy_deg(link.rpy_deg),
        )
        for link in model.rigid_links
    )
    welds += tuple(w for v in model.vehicles for w in link_welds(v.name, v.joints, index))
    joints = tuple(j for v in model.vehicles for j in link_joints(v.name, v.joints, index))
    drags = tuple(
        Drag(
            i,
            np.array(e.drag.linear_n_s_per_m),
            np.array(e.drag.quadratic_n_s2_per_m2),
            np.array(e.drag.rate_n_m_s),
            np.array(e.drag.rate_cubic_n_m_s3),
            _centre_of_pressure(scenario, e),
        )
        for i, e in enumerate(model.entities)
        if e.drag is not None
    )
    environment = scenario.environment
    propelling = tuple(
        r for i in range(len(model.vehicles)) for r in propelling_rotors(scenario, model, i)
    )
    contacts = contacts_from_scenario(scenario, model, bodies)
    if scenario.actuation.has_propellers:
        for i, vehicle in enumerate(model.vehicles):
            first, first_joint = len(bodies), len(joints)
            own = propeller_bodies(vehicle)
            rotor_numbers = range(first, first + len(own))
            bodies = (*bodies[:i], frame_body(vehicle, bodies[i]), *bodies[i + 1 :], *own)
            driven = scenario.actuation.mode == "propellers"
            joints += propeller_joints(vehicle, i, rotor_numbers, driven=driven)
            gain = thrust_gain(scenario, vehicle.name)
            propelling += propeller_elements(vehicle, i, rotor_numbers, first_joint, gain)
    rotors: list[tuple[int, RotorParts]] = []
    for i, vehicle in enumerate(model.vehicles):
        if vehicle.helicopter is not None:
            parts = rotor_parts(
                vehicle, i, len(bodies), len(joints), len(rotors), environment.gravity_m_s2, environment.air.density
            )  # fmt: skip
            rotors.append((i, parts))
            bodies += parts.bodies
            joints += parts.joints
    masses, cables, strands = heavy_cables(model, cables, len(bodies), environment.air.density)
    contacts += contacts_of_masses(scenario, masses, len(bodies), strands)
    bodies += masses
    for add in (drums, wheels):
        new, turning, cables = add(model, cables, len(bodies), len(joints))
        bodies, joints = bodies + new, joints + turning
    stored = tuple(
        Rotor(i, np.array(r.axis) / np.linalg.norm(r.axis), inertia=r.inertia_kg_m2)
        for i, e in enumerate(model.entities)
        for r in e.internal_rotors
    )
    return System(
        bodies=bodies,
        cables=cables,
        welds=welds,
        inputs=tuple(range(len(model.vehicles))),
        gravity=environment.gravity_m_s2,
        rotors=propelling + stored,
        drags=drags,
        ground=environment.ground_m,
        joints=joints,
        contacts=contacts,
        discs=tuple(parts.disc for _, parts in rotors),
        blades=tuple(blade for _, parts in rotors for blade in parts.blades),
        surfaces=tuple(surface for _, parts in rotors for surface in parts.surfaces),
        tails={i: parts.tail for i, parts in rotors},
        forces=tuple(
            Force(
                index(keys.body),
                keys.type,
                numbers(
                    f"forces[{i}]: parameters of {keys.type!r} on {keys.body!r}",
                    FORCES[keys.type].parameters(keys, environment),
                    None,
                ),
            )
            for i, keys in enumerate(scenario.forces)
        ),
        strands=strands,
        solids=solids_from_scenario(scenario, model),
        rigid=rigid_law(scenario),
    )


def _centre_of_pressure(scenario: Scenario, entity: Vehicle | Payload) -> np.ndarray | None:
    """Where the air pushes at an entity, in its frame, (3,) m; None: at the centre of mass of its body.

    The body of a vehicle whose propellers are bodies of their own is its frame alone, whose centre is elsewhere.
    """
    assert entity.drag is not None
    if entity.drag.center_of_pressure_m is not None:
        return np.array(entity.drag.center_of_pressure_m)
    if scenario.actuation.has_propellers and isinstance(entity, Vehicle):
        return np.array(entity.com_m)
    return None


def _sheave(c: Cylinder, body: int) -> Sheave:
    """A pulley, peg, ball, box or hull as its configuration gives it."""
    centre = np.array(c.centre)
    if c.corners:
        axes = quat2mat(wxyz_from_rpy_deg(c.rpy_deg))
        hull = Polyhedron.around(np.array(c.corners)).turned(axes)
        return Sheave(body, centre, axes[:, 2], 0.0, friction=c.friction, polyhedron=hull)
    ball = not any(c.axis)
    axis = np.array((0.0, 0.0, 1.0) if ball else c.axis)
    return Sheave(body, centre, axis, c.radius, c.turn, c.reach, c.friction, ball)


def cable_of(keys: CableAttachment, index: Callable[[str], int]) -> Cable:
    """A cable as its configuration gives it; ``index``: number of a body by its name."""
    rings = [r for r in keys.through if r.turn is None]
    through: list[Ring | Sheave] = []
    for part in range(len(rings) + 1):
        for c in (c for c in keys.cylinders if c.part == part):
            through.append(_sheave(c, index(c.entity)))
        through += [
            Ring(index(r.entity), np.array(r.point_m), r.friction) for r in rings[part : part + 1]
        ]
    breaking = np.inf if keys.breaking_load_n is None else keys.breaking_load_n
    return Cable(
        a=index(keys.a),
        b=index(keys.b),
        length=keys.length_m,
        r_a=np.array(keys.a_point_m),
        r_b=np.array(keys.b_point_m),
        through=tuple(through),
        stiffness=keys.stiffness_n_per_m,
        damping=keys.damping_n_s_per_m,
        breaking_load=breaking,
        winds=keys.winch is not None,
    )


def thrust_gain(scenario: Scenario, vehicle: str) -> float:
    """Thrust of a vehicle in reality over that of its model."""
    return _of_plant(scenario, vehicle, "thrust_gain", 1.0)


def thrust_gain_rate(scenario: Scenario, vehicle: str) -> float:
    """Change of the thrust of a vehicle per second, over that at the start, 1/s."""
    return _of_plant(scenario, vehicle, "thrust_gain_per_s", 0.0)


def _of_plant(scenario: Scenario, vehicle: str, key: str, natural: float) -> float:
    """A number of the first change of a vehicle that gives it; ``natural``: of those that give none."""
    given = [getattr(c, key) for c in scenario.plant if c.entity == vehicle]
    return next((value for value in given if value is not None), natural)


def propelling_rotors(scenario: Scenario, model: Model, i: int) -> tuple[Rotor, ...]:
    """Rotors of vehicle i, in the order of its layout; none where wrenches act directly."""
    if scenario.actuation.mode != "rotors":
        return ()
    vehicle = model.vehicles[i]
    rotors = vehicle.rotors
    thrust = thrust_gain(scenario, vehicle.name) * rotor_set(rotors).thrust_per_speed2
    return tuple(
        Rotor(
            body=i,
            axis=axis,
            hub=hub,
            spin=spin,
            thrust=thrust,
            torque=thrust * rotors.torque_per_thrust_m,
            inertia=rotors.inertia_kg_m2,
            drag=rotors.drag_n_s2_per_m,
            radius=rotors.radius_m if scenario.environment.ground_effect else 0.0,
            lag=rotors.lag_s,
        )
        for axis, hub, spin in zip(rotors.axes, rotors.positions, rotors.spins, strict=True)
    )
