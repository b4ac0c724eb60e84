"""The law ``payload_geometric`` of one team: its parameters, its memory, its program."""

from __future__ import annotations

import numpy as np

from rotor_control.allocation.separation import CableProgram
from rotor_control.gains import CABLE_LENGTH, PERIOD
from rotor_control.laws.payload_geometric import (
    ATTITUDE_INTEGRAL,
    CABLE_INTEGRAL,
    FEEDS_FORWARD,
    MEMORY,
    SETTINGS,
    WHOLE_THRUST,
    pull_with_integrals,
    wanted_forces,
)
from rotor_control.team_laws import CableLaw
from rotor_core.config.controllers import PayloadGeometricControl
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError
from rotor_core.state import State


class PayloadGeometricLaw(CableLaw):
    """Vehicles that share a point mass and keep apart.

    Attributes:
        memory: integrals, (n, MEMORY) of :mod:`rotor_control.laws.payload_geometric`.
        wanted: force on the payload that each vehicle wants, (n, 3) N.
        program: shares it among the cables.
        told: planned forces of the cables from elsewhere, (n, 3) N; None: those that lean them outwards.
    """

    DO_AS_TOLD = "are planned to pull"

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        assert isinstance(control, PayloadGeometricControl)
        payload = team.payload and scenario.model.entities[scenario.model.index(team.payload)]
        if team.rigid or not payload or payload.inertia_kg_m2 is not None:
            raise ConfigError(
                f"controller.type: payload_geometric flies a point mass on cables, and {team.entity!r} is not one. "
                "Rigid payloads on cables need cable_team, rigidly linked teams rigid_team."
            )
        super().__init__(scenario, team, control)
        n = len(team.vehicles)
        self.memory = np.zeros((n, MEMORY))
        self.wanted = np.zeros((n, 3))
        self._settings = np.zeros(SETTINGS)
        self._settings[CABLE_INTEGRAL] = control.cable_integral_per_s3
        self._settings[ATTITUDE_INTEGRAL : ATTITUDE_INTEGRAL + 3] = (
            control.attitude_integral_n_m_per_s
        )
        self._settings[FEEDS_FORWARD] = control.acceleration_feedforward
        self._settings[WHOLE_THRUST] = control.whole_thrust
        self.program = CableProgram(
            self.vehicles[:, CABLE_LENGTH], radius=control.radius_m, lean=control.plane_lean_per_n2,
            plan=control.plan_weight,
        )  # fmt: skip
        self._planned, self._answer = np.zeros((n, 3)), np.zeros((n, 3))
        self._every = max(1, round(control.program_period_s / self.load[PERIOD]))
        self._count = 0

    def reset(self) -> None:
        """Forget integrals and the last answer of the program."""
        super().reset()
        self._count = 0

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team."""
        wanted_forces(
            states, reference, self.load, self.rows, self.tension.packed, self._settings, self.memory,
            self._planned, self.wanted,
        )  # fmt: skip
        if self._count % self._every == 0:  # one answer is there, and the next is asked for
            self.forces[:] = self._answer
            self.share(states, self._answer)
            if self._every == 1 or self._count == 0:
                self.forces[:] = self._answer
        self._count += 1
        pull_with_integrals(
            states, reference, self.vehicles, self.load, self.rows, self._settings, self.wanted, self.forces,
            self.memory, self.ahead, out,
        )  # fmt: skip

    def places(self, states: np.ndarray) -> np.ndarray:
        """Of the vehicles from the payload, (n, 3) m."""
        position = State(states).position
        return position[self.rows[:-1]] - position[self.rows[-1]]

    def share(self, states: np.ndarray, forces: np.ndarray) -> None:
        """Write the forces of the cables (n, 3) N that the program of each vehicle answers for these states."""
        places = self.places(states)
        planned = self._planned if self.told is None else self.told
        if (self.wanted == self.wanted[0]).all():  # the same question has one answer
            forces[:] = self.program.share(self.wanted[0], planned, places)
            return
        for k, force in enumerate(self.wanted):
            forces[k] = self.program.share(force, planned, places)[k]
