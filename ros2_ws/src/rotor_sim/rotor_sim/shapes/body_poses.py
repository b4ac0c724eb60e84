"""Poses of links and blades from states of entities and joints: kinematics for viewers."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.state import V
from rotor_dynamics.engine import Engine
from rotor_sim.plant.system import system_from_scenario


class BodyPoses:
    """Poses of all bodies, links and blades included, by forward kinematics of the engine.

    Args:
        scenario: whose bodies.

    Attributes:
        names: of the bodies: entities first, then ``vehicle/link``.
    """

    def __init__(self, scenario: Scenario) -> None:
        system = system_from_scenario(scenario)
        self._engine = Engine(system, step=scenario.time.step_s)
        self.names = [body.name for body in system.bodies]
        self._entities = len(scenario.model.entities)
        self._states = np.zeros((len(self.names), 13))
        self._states[:, 3] = 1.0
        self._joints = np.zeros((len(system.joints), 2))

    def at(self, states: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Positions and attitudes (w first) of all bodies, (n_bodies, 7), for states of entities and joints of arms."""
        engine = self._engine
        self._states[: self._entities] = states
        self._joints[: len(joints)] = joints
        return engine.place(self._states, self._joints)[:, :V]
