"""Solids of a scenario in rigid contact: vehicles, payloads, obstacles and the ground (N.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.clearance import solids as shapes
from rotor_core.config.environment import RIGID
from rotor_core.config.model import Model, Payload
from rotor_core.config.obstacles.obstacle import Obstacle
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ModelError
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.solid import RigidContact, Solid

THIN = 1e-3
"""Radius of the ball that gives flat shapes (triangles of meshes) a thickness, m."""


def rigid_law(scenario: Scenario) -> RigidContact:
    """Law of rigid contact of a scenario; without one nothing asks for it."""
    config = scenario.environment.contact
    if config is None:
        return RigidContact()
    return RigidContact(config.friction_static, config.restitution)


def solids_from_scenario(scenario: Scenario, model: Model) -> tuple[Solid, ...]:
    """Every vehicle, payload and obstacle, and the ground; none unless the scenario asks for rigid contact.

    Vehicles are the hull of their hubs and feet, payloads that of their shape.
    """
    config = scenario.environment.contact
    if config is None or config.law != RIGID:
        return ()
    out = []
    for i, entity in enumerate(model.entities):
        make = shapes.payload_solid if isinstance(entity, Payload) else shapes.hull_of_vehicle
        out.append(_thick(make(entity, i), i))  # type: ignore[arg-type]
    for obstacle in scenario.environment.obstacles:
        belt = _belt(obstacle)
        solids = [_thick(s, WORLD) for s in shapes.obstacle_solids(obstacle)]
        out += [replace(s, belt=belt, name=obstacle.name) for s in solids]
    ground = np.array([[0.0, 0.0, scenario.environment.ground_m]])
    return (*out, Solid(WORLD, ground, is_ground=True))


def _belt(obstacle: Obstacle) -> np.ndarray:
    """Velocity of its surface in W, m/s."""
    return quat2mat(wxyz_from_rpy_deg(obstacle.rpy_deg)) @ np.array(obstacle.belt_m_s)


def _thick(shape: shapes.Solid, body: int) -> Solid:
    """A shape as a solid of the engine; a flat one gets round edges."""
    solid = Solid(body, shape.points, np.asarray(shape.axis, float), shape.disc, shape.ball)
    try:
        _ = solid.core
    except ModelError:
        return replace(solid, ball=THIN)
    return solid
