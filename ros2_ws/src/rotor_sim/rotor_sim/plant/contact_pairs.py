"""Contact pairs of a scenario: feet and corners against the ground, obstacles and boxes (K.7)."""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.environment import RIGID, Environment
from rotor_core.config.environment import Contact as ContactConfig
from rotor_core.config.model import Box, Model, Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.outline import EDGE_MIDDLES, corners, feet, linked_places
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ModelError
from rotor_core.math.polyhedron import CORNERS
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.contact import (
    RATE,
    Contact,
    ContactLaw,
    Probe,
    Surface,
    effective_mass,
    natural_law,
)
from rotor_dynamics.model.strand import Strand


def probes(model: Model) -> list[Probe]:
    """Everything of vehicles and payloads that touches, entity by entity."""
    found = []
    for i, entity in enumerate(model.entities):
        points, radius = (feet(entity), 0.0) if isinstance(entity, Vehicle) else corners(entity)
        found += [Probe(i, point, radius) for point in points]
    return found


def edge_probes(model: Model) -> list[Probe]:
    """Middles of the edges of boxes, for what lies crosswise on another box and has no corner over it."""
    first = len(model.vehicles)
    return [
        Probe(first + i, np.array(p.shape.offset_m) + 0.5 * np.array(p.shape.size_m) * middle)
        for i, p in enumerate(model.payloads)
        if isinstance(p.shape, Box)
        for middle in EDGE_MIDDLES
    ]


def boxes(model: Model) -> list[Surface]:
    """The boxes among the payloads."""
    first = len(model.vehicles)
    return [
        Surface(first + i, np.array(p.shape.offset_m), half_size=0.5 * np.array(p.shape.size_m))
        for i, p in enumerate(model.payloads)
        if isinstance(p.shape, Box)
    ]


def obstacles(environment: Environment) -> list[Surface]:
    """The boxes that stand in the world, those of gates among them."""
    out = []
    for o in environment.obstacles:
        q = wxyz_from_rpy_deg(o.rpy_deg)
        for middle, size in o.boxes:
            place = np.array(o.position_m) + quat2mat(q) @ middle
            belt = np.array(o.belt_m_s)
            out.append(Surface(WORLD, place, q, 0.5 * size, belt_speed=belt, name=o.name))
    return out


def contacts_from_scenario(
    scenario: Scenario, model: Model, bodies: tuple[Body, ...]
) -> tuple[Contact, ...]:
    """Every probe against the ground, the obstacles and the boxes of others; those of obstacles against boxes.

    Raises:
        ModelError: a stiffness that the step cannot follow.
    """
    config = scenario.environment.contact
    if config is None or config.law == RIGID:
        return ()
    ground = Surface(WORLD, np.array([0.0, 0.0, scenario.environment.ground_m]), is_box=False)
    standing, carried = obstacles(scenario.environment), boxes(model)
    pairs = [
        (probe, surface)
        for probe in probes(model)
        for surface in (ground, *standing, *carried)
        if probe.body != surface.body
    ]
    pairs += [
        (probe, surface)
        for probe in edge_probes(model)
        for surface in (*standing, *carried)
        if probe.body != surface.body
    ]
    for surface in standing:
        outline = surface.half_size * np.vstack([CORNERS, EDGE_MIDDLES])
        points = surface.place + outline @ quat2mat(surface.q).T
        corners = [Probe(WORLD, point, name=surface.name) for point in points]
        pairs += [(corner, box) for corner in corners for box in carried]
    return tuple(
        Contact(probe, surface, _law(scenario, config, bodies, probe, surface))
        for probe, surface in pairs
    )


def contacts_of_masses(
    scenario: Scenario, masses: tuple[Body, ...], first: int, strands: tuple[Strand, ...]
) -> tuple[Contact, ...]:
    """The masses of heavy cables, bodies from ``first`` on, against the ground and the obstacles."""
    config = scenario.environment.contact
    if config is None:
        return ()
    ground = Surface(WORLD, np.array([0.0, 0.0, scenario.environment.ground_m]), is_box=False)
    surfaces, out = (ground, *obstacles(scenario.environment)), []
    for strand in strands:
        mass = masses[strand.bodies[0] - first].mass
        law = natural_law(mass, _rate_of_mass(scenario, mass, config), **_friction(config))
        probes = [Probe(i, np.zeros(3), strand.radius) for i in strand.bodies]
        out += [Contact(probe, surface, law) for probe in probes for surface in surfaces]
    return tuple(out)


def _rate_of_mass(scenario: Scenario, mass: float, config: ContactConfig) -> float:
    """Frequency of a mass on a contact, rad/s: what the scenario asks for where the step can follow it."""
    if config.stiffness_n_per_m is None:
        return RATE
    return min(float(np.sqrt(config.stiffness_n_per_m / mass)), FASTEST / scenario.time.step_s)


FASTEST = 0.5
"""A contact may turn through this angle per step, rad: RK4 is stable to 2.8 for one, and several add up."""


def _friction(config: ContactConfig) -> dict[str, float]:
    return {
        "dissipation": config.dissipation_s_per_m,
        "static": config.friction_static,
        "dynamic": config.friction_dynamic,
        "stiction_speed": config.stiction_speed_m_s,
    }


def _law(
    scenario: Scenario,
    config: ContactConfig,
    bodies: tuple[Body, ...],
    probe: Probe,
    surface: Surface,
) -> ContactLaw:
    def body(index: int) -> Body | None:
        return None if index == WORLD else bodies[index]

    # a push at a corner of the other box meets no less than its mass does there
    mine = effective_mass(body(probe.body), probe.point, probe.radius)
    other = effective_mass(body(surface.body), surface.place + surface.half_size)
    mass = 1.0 / (1.0 / mine + 1.0 / other)
    friction = _friction(config)
    limit = FASTEST / scenario.time.step_s
    if config.stiffness_n_per_m is None:
        # what is held by something heavier carries that: stiffer, as far as the step admits when it is let go
        share = np.sqrt(max(_held_with(scenario, bodies, b) for b in (probe.body, surface.body)))
        return natural_law(mass, min(RATE * share, 0.6 * limit), **friction)
    rate = np.sqrt(config.stiffness_n_per_m / mass)
    if rate > limit:
        most = limit**2 * mass
        name = "the world" if probe.body == WORLD else repr(bodies[probe.body].name)
        raise ModelError(
            f"environment.contact.stiffness_n_per_m: at most {most:.3g} N/m is stable with steps of "
            f"{scenario.time.step_s:g} s at {name}, got {config.stiffness_n_per_m:g}. Reduce it, or time.step_s."
        )
    damping = 1.4 * np.sqrt(config.stiffness_n_per_m * mass)
    return ContactLaw(config.stiffness_n_per_m, tangent_damping=damping, **friction)


def _held_with(scenario: Scenario, bodies: tuple[Body, ...], index: int) -> float:
    """Mass of everything that is rigidly linked to an entity, with it, over its own; 1 for the world."""
    if index == WORLD:
        return 1.0
    names = [e.name for e in scenario.model.entities]
    group = linked_places(scenario.model, names[index])
    return sum(bodies[names.index(name)].mass for name in group) / bodies[index].mass
