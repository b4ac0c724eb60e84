"""Poses of links, blades and masses of heavy cables from states of entities and joints, for viewers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.state import FULL_STATE, V
from rotor_dynamics.engine import Engine
from rotor_dynamics.hanging import lay_strands, masses_of
from rotor_sim.plant.heavy_cables import lowest
from rotor_sim.plant.system import system_from_scenario

NOWHERE = np.eye(1, 13, 3)[0]
"""A state in place of one that is not known: upright, at rest."""


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
        entities = self.names[: self._entities]
        self._owners = np.array(
            [
                entities.index(o) if (o := n.partition("/")[0]) in entities else -1
                for n in self.names
            ]
        )
        self._states = np.zeros((len(self.names), 13))
        self._states[:, 3] = 1.0
        self._joints = np.zeros((len(system.joints), 2))
        self._masses = masses_of(system)
        self._floor = lowest(scenario)

    def at(
        self, states: np.ndarray, joints: np.ndarray, masses: np.ndarray | None = None
    ) -> np.ndarray:
        """Positions and attitudes (w first) of all bodies, (n_bodies, 7), for states of entities and joints of arms.

        NaN of entities whose state is not known, and of what hangs between any such.

        Args:
            states: (n_entities, >= 13).
            joints: (n_joints, 2).
            masses: places of the masses of heavy cables, (n_masses, 3) m; without, they hang at rest.
        """
        engine = self._engine
        unknown = np.logical_not(np.isfinite(states[:, FULL_STATE]).all(axis=1))
        self._states[: self._entities] = states[:, FULL_STATE]
        self._states[: self._entities][unknown] = NOWHERE
        self._joints[: len(joints)] = joints
        told = np.zeros((0, 3)) if masses is None else masses
        is_told = bool(self._masses) and len(told) > 0 and bool(np.isfinite(told).all())
        if is_told:
            self._states[self._masses, :3] = told
        elif self._masses and np.isfinite(states).all():
            self._states[:] = engine.place(self._states, self._joints)[
                :, :13
            ]  # links may hold ends
            lay_strands(engine.system, self._states, self._floor, strict=False)
        poses = engine.place(self._states, self._joints)[:, :V].copy()
        if unknown.any():
            poses[np.logical_and(self._owners >= 0, np.take(unknown, self._owners))] = np.nan
            if not is_told:
                poses[self._masses] = np.nan
        return poses
