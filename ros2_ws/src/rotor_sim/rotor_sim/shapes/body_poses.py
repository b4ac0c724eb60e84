"""Poses of links, blades and masses of heavy cables from states of entities and joints, for viewers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.state import V
from rotor_dynamics.engine import Engine
from rotor_dynamics.hanging import lay_strands, masses_of
from rotor_sim.plant.heavy_cables import lowest
from rotor_sim.plant.system import system_from_scenario


class BodyPoses:
    """Poses of all bodies, links, blades and masses of cables included, by forward kinematics of the engine.

    Args:
        scenario: whose bodies.

    Attributes:
        names: of the bodies: entities first, then ``vehicle/link``, at last ``cable/1`` and so on.
    """

    def __init__(self, scenario: Scenario) -> None:
        system = system_from_scenario(scenario)
        # states say where entities are, also what was let go since: only parts follow
        system = replace(system, welds=tuple(weld for weld in system.welds if weld.follows))
        self._engine = Engine(system, step=scenario.time.step_s)
        self.names = [body.name for body in system.bodies]
        self._entities = len(scenario.model.entities)
        self._states = np.zeros((len(self.names), 13))
        self._states[:, 3] = 1.0
        self._joints = np.zeros((len(system.joints), 2))
        self._masses = masses_of(system)
        self._floor = lowest(scenario)

    def at(
        self, states: np.ndarray, joints: np.ndarray, masses: np.ndarray | None = None
    ) -> np.ndarray:
        """Positions and attitudes (w first) of all bodies, (n_bodies, 7), for states of entities and joints of arms.

        ``masses``: places of the masses of heavy cables, (n_masses, 3) m; without, they hang at rest.
        """
        engine = self._engine
        self._states[: self._entities] = states
        self._joints[: len(joints)] = joints
        if self._masses and masses is not None and len(masses) and np.isfinite(masses).all():
            self._states[self._masses, :3] = masses
        elif self._masses and np.isfinite(states).all():
            self._states[:] = engine.place(self._states, self._joints)[
                :, :13
            ]  # links may hold ends
            lay_strands(engine.system, self._states, self._floor, strict=False)
        return engine.place(self._states, self._joints)[:, :V]
