"""The controllers of a scenario.

One law per team, limits at rotor level, commands for all vehicles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_control import gains as g
from rotor_control.cable_team import cable_team_command
from rotor_control.manipulator import ManipulatorLaw
from rotor_control.point_mass import point_mass_command
from rotor_control.quadrotor import quadrotor_command
from rotor_control.rigid_team import (
    allocation_by_moments,
    allocation_by_rotors,
    rigid_team_command,
    structure_allocation,
)
from rotor_core.config.body import inertia_matrix
from rotor_core.config.controls import (
    CableTeamControl,
    ManipulatorControl,
    OpenLoopControl,
    PointMassControl,
    RigidTeamControl,
)
from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, attachment_points, cable_lengths, teams
from rotor_core.config.units import rad_s_from_rpm, wxyz_from_rpy_deg
from rotor_core.interface.errors import ConfigError, ContractError
from rotor_core.interface.plan import REFERENCE
from rotor_core.rotors import rotor_limits, rotor_set


def _load_row(scenario: Scenario, team: Team) -> np.ndarray:
    row = np.zeros(g.LOAD)
    row[g.GRAVITY] = scenario.environment.gravity_m_s2
    row[g.PERIOD] = scenario.time.control_s
    if team.payload is not None:
        payload = scenario.model.entities[scenario.model.index(team.payload)]
        row[g.LOAD_MASS] = payload.mass_kg
        if payload.inertia_kg_m2 is not None:
            row[g.LOAD_INERTIA : g.LOAD_INERTIA + 9] = inertia_matrix(payload.inertia_kg_m2).ravel()
    control = scenario.controller
    if not isinstance(control, OpenLoopControl):
        row[g.ERROR_LIMIT] = control.error_limit_m
    if isinstance(control, (PointMassControl, CableTeamControl, RigidTeamControl)):
        row[g.LOAD_POSITION_GAIN : g.LOAD_POSITION_GAIN + 3] = control.position
        row[g.LOAD_VELOCITY_GAIN : g.LOAD_VELOCITY_GAIN + 3] = control.velocity
        row[g.LOAD_INTEGRAL_GAIN : g.LOAD_INTEGRAL_GAIN + 3] = control.integral
    if isinstance(control, (CableTeamControl, RigidTeamControl)):
        row[g.LOAD_ATTITUDE_GAIN : g.LOAD_ATTITUDE_GAIN + 3] = control.attitude
        row[g.LOAD_RATE_GAIN : g.LOAD_RATE_GAIN + 3] = control.rate
    return row


def structure(
    model: Model, team: Team
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nominal mass properties of a rigidly linked team (RotorTM section 2.3).

    Returns:
        (mass; centre of mass in the payload frame (3,); inertia about it in payload axes (3, 3);
        vehicle positions from it (n, 3); vehicle attitudes (n, 3, 3)).
    """
    payload = model.entities[model.index(team.payload or "")]
    links = {link.child: link for link in model.rigid_links}
    vehicles = [model.entities[model.index(v)] for v in team.vehicles]
    masses = np.array([payload.mass_kg] + [v.mass_kg for v in vehicles])
    points = np.vstack([np.zeros(3), attachment_points(model, team)])
    rotations = np.array(
        [np.eye(3)] + [quat2mat(wxyz_from_rpy_deg(links[v].rpy_deg)) for v in team.vehicles]
    )
    mass = float(masses.sum())
    centre = masses @ points / mass
    J = np.zeros((3, 3))
    for body, m, r, R in zip((payload, *vehicles), masses, points - centre, rotations, strict=True):
        J += m * (r @ r * np.eye(3) - np.outer(r, r))
        if body.inertia_kg_m2 is not None:
            J += R @ inertia_matrix(body.inertia_kg_m2) @ R.T
    return mass, centre, J, points[1:] - centre, rotations[1:]


class TeamLaw:
    """The control law of one team with its parameters packed; call it once per control period."""

    def __init__(self, scenario: Scenario, team: Team) -> None:
        self.team = team
        self.memory = np.zeros(3)
        self.vehicles = np.zeros((0, g.VEHICLE))
        self.gain_scale = np.ones(3)
        """Attitude and rate gains of the load are packed times this."""
        model, control = scenario.model, scenario.controller
        vehicles = [model.vehicles[model.index(v)] for v in team.vehicles]
        self.load = _load_row(scenario, team)
        rows = [model.index(v) for v in team.vehicles]
        if team.payload is None:
            self.vehicles = np.array([g.vehicle_row(vehicles[0])])
            own = vehicles[0].gains
            self.load[g.LOAD_POSITION_GAIN : g.LOAD_POSITION_GAIN + 3] = own.position
            self.load[g.LOAD_VELOCITY_GAIN : g.LOAD_VELOCITY_GAIN + 3] = own.velocity
            self._law: Callable = quadrotor_command
            self._arguments: tuple = (self.vehicles, self.load, np.array(rows), self.memory)
            return
        payload_row = model.index(team.payload)
        who = np.array([*rows, payload_row])
        if team.rigid:
            self._need(control, RigidTeamControl, "rigid_team", "a rigidly linked team")
            mass, centre, J, points, rotations = structure(model, team)
            self.load[g.LOAD_MASS] = mass
            self.load[g.LOAD_INERTIA : g.LOAD_INERTIA + 9] = J.ravel()
            self.gain_scale = np.diag(J).copy()
            self.load[g.LOAD_ATTITUDE_GAIN : g.LOAD_ATTITUDE_GAIN + 3] *= self.gain_scale
            self.load[g.LOAD_RATE_GAIN : g.LOAD_RATE_GAIN + 3] *= self.gain_scale
            self.load[g.CENTRE : g.CENTRE + 3] = centre
            assert isinstance(control, RigidTeamControl)
            A = structure_allocation(points, rotations)
            if np.linalg.matrix_rank(A) < 4:
                raise ConfigError(
                    f"team of payload {team.payload!r}: its vehicles cannot produce every moment."
                )
            if control.allocation == "rotors":
                self.allocation = allocation_by_rotors(A, [rotor_set(v.rotors) for v in vehicles])
            else:
                self.allocation = allocation_by_moments(A, np.array(control.allocation_weights))
            self._law = rigid_team_command
            self._arguments = (self.load, np.array([payload_row]), self.allocation, self.memory)
            return
        payload = model.entities[payload_row]
        lengths, points = cable_lengths(model, team), attachment_points(model, team)
        self.vehicles = np.array(
            [
                g.vehicle_row(v, cable_length=l, point=p)
                for v, l, p in zip(vehicles, lengths, points, strict=True)
            ]
        )
        if payload.inertia_kg_m2 is None:
            self._need(control, PointMassControl, "point_mass", "a point mass on a cable")
            if len(vehicles) != 1:
                raise ConfigError(
                    f"payload {team.payload!r}: a point mass on {len(vehicles)} cables has no "
                    f"shipped controller; give it an inertia."
                )
            self._law = point_mass_command
            self._arguments = (self.vehicles, self.load, who, self.memory)
            return
        self._need(control, CableTeamControl, "cable_team", "a rigid payload on cables")
        hats = [np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]) for r in points]
        grasp = np.vstack([np.tile(np.eye(3), len(points)), np.hstack(hats)])
        self.distribution = np.ascontiguousarray(np.linalg.pinv(grasp, rcond=1e-9))
        self._law = cable_team_command
        self._arguments = (self.vehicles, self.load, who, self.distribution, self.memory)

    def _need(self, control: object, kind: type, name: str, what: str) -> None:
        if not isinstance(control, kind):
            given = getattr(control, "type", control)
            raise ConfigError(
                f"controller.type: {what} needs {name}, got {given}. Write `controller: {{use: {name}}}`."
            )

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team for ``states`` (N, >= 13) and ``reference`` (28,)."""
        self._law(states, reference, *self._arguments, out)

    def reset(self) -> None:
        """Forget integrals."""
        self.memory[:] = 0.0


SAME_SPEED = 1e-6
"""Speeds closer than this are the same, rad/s."""


class OpenLoopLaw:
    """Constant commands of a team, whatever it does."""

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        assert isinstance(control, OpenLoopControl)
        rows = [scenario.model.index(name) for name in team.vehicles]
        self.team = team
        self._wrenches = np.array([_open_loop_wrench(scenario, control, row) for row in rows])

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team."""
        out[:] = self._wrenches

    def reset(self) -> None:
        """Nothing to forget."""


def _open_loop_wrench(scenario: Scenario, control: OpenLoopControl, row: int) -> np.ndarray:
    vehicle = scenario.model.vehicles[row]
    for command in control.commands:
        if command.vehicle == vehicle.name:
            rotors = rotor_set(vehicle.rotors)
            speeds = rad_s_from_rpm(1.0) * np.array(command.speeds_rpm)
            wrench = rotors.mixing @ (rotors.thrust_per_speed2 * speeds**2)
            if np.max(np.abs(rotors.speeds(wrench) - speeds)) > SAME_SPEED:
                raise ConfigError(
                    f"controller.commands: {vehicle.name!r} has {rotors.count} rotors, and commands are thrust and "
                    "moments: with more than four only speeds that share them with least thrust can be given, "
                    f"such as {np.round(rotors.speeds(wrench) / rad_s_from_rpm(1.0), 1).tolist()} rpm."
                )
            return wrench
    raise ConfigError(f"controller.commands: has no entry for the vehicle {vehicle.name!r}.")


class ArmLaw:
    """The law of one vehicle with an arm, among those of teams."""

    def __init__(self, scenario: Scenario, team: Team) -> None:
        self.team = team
        model, control = scenario.model, scenario.controller
        if not isinstance(control, ManipulatorControl):
            raise ConfigError(
                f"controller.type: a vehicle with joints ({team.entity!r}) needs manipulator, got {control.type}. "
                "Write `controller: {use: manipulator}`."
            )
        row = model.index(team.vehicles[0])
        self._row = row
        self._law = ManipulatorLaw(
            model.vehicles[row],
            control,
            scenario.environment.gravity_m_s2,
            scenario.time.control_s,
        )
        first = sum(len(v.moving_joints) for v in model.vehicles[:row])
        self._joints = slice(first, first + self._law.model.n)

    def command_arm(
        self,
        states: np.ndarray,
        joints: np.ndarray,
        reference: np.ndarray,
        wanted: np.ndarray,
        out: np.ndarray,
        efforts: np.ndarray,
    ) -> None:
        """Write the command (1, 4) of the vehicle and its part of all efforts (n_joints,)."""
        own = self._joints
        out[0], efforts[own] = self._law(states[self._row], joints[own], reference, wanted[own])

    def reset(self) -> None:
        """Forget the integral."""
        self._law.memory[:] = 0.0


class Controller:
    """Commands for all vehicles of a scenario; see :func:`make_controller`.

    Attributes:
        teams: in the order of references.
        limited: vehicles whose last command was beyond their rotors.
        efforts: last commands to the joints, vehicle by vehicle, (n_joints,).
    """

    def __init__(self, scenario: Scenario) -> None:
        model = scenario.model
        self.teams = teams(model)
        self.laws = [_law_of(scenario, team) for team in self.teams]
        self._joint_starts = np.array(
            [j.initial for v in model.vehicles for j in v.moving_joints], float
        )
        self.efforts = np.zeros(len(self._joint_starts))
        self._rows = [np.array([model.index(v) for v in team.vehicles]) for team in self.teams]
        self._outs = [np.zeros((len(team.vehicles), 4)) for team in self.teams]
        self._limits = rotor_limits([rotor_set(v.rotors) for v in model.vehicles])
        self._limits_on = scenario.actuation.limits
        first = self.laws[0] if len(self.laws) == 1 else None
        whole = bool(np.all(self._rows[0] == np.arange(len(model.vehicles)))) if first else False
        self._only = first if whole and not isinstance(first, ArmLaw) else None
        self.commands = np.zeros((len(model.vehicles), 4))
        self.references = np.zeros((len(self.teams), REFERENCE))
        self.limited = 0

    def command(
        self,
        states: np.ndarray,
        references: np.ndarray,
        joints: np.ndarray | None = None,
        joint_references: np.ndarray | None = None,
    ) -> np.ndarray:
        """Thrusts and moments of all vehicles; efforts of joints go to :attr:`efforts`.

        Args:
            states: of all entities, (N, >= 13): position, attitude, velocity, body rate.
            references: one row per team, (n_teams, 28).
            joints: angles and rates of all joints, vehicle by vehicle, (n_joints, 2).
            joint_references: wanted angles, rates and accelerations, (n_joints, 3); default the
                angles at the start.

        Returns:
            (n_vehicles, 4), N and N m; the same array at every call.
        """
        if joint_references is None and len(self.efforts):
            zero = np.zeros(len(self.efforts))
            joint_references = np.stack([self._joint_starts, zero, zero], axis=1)
        if self._only is not None:
            self._only(states, references[0], self.commands)
        else:
            for law, rows, out, reference in zip(
                self.laws, self._rows, self._outs, references, strict=True
            ):
                if isinstance(law, ArmLaw):
                    if joints is None or joint_references is None:
                        raise ContractError("controller: the states of the joints are missing.")
                    law.command_arm(states, joints, reference, joint_references, out, self.efforts)
                else:
                    law(states, reference, out)
                self.commands[rows] = out
        if self._limits_on:
            self.limited = self._limits.apply(self.commands)
        return self.commands

    def reset(self) -> None:
        """Forget integrals of all laws."""
        for law in self.laws:
            law.reset()


def _law_of(scenario: Scenario, team: Team) -> TeamLaw | OpenLoopLaw | ArmLaw:
    if isinstance(scenario.controller, OpenLoopControl):
        return OpenLoopLaw(scenario, team)
    vehicles = [scenario.model.vehicles[scenario.model.index(v)] for v in team.vehicles]
    arm = bool(vehicles[0].moving_joints) or isinstance(scenario.controller, ManipulatorControl)
    if team.payload is None and arm:
        return ArmLaw(scenario, team)
    return TeamLaw(scenario, team)


def make_controller(scenario: Scenario) -> Controller:
    """Controllers of a scenario, built from its nominal model.

    Raises:
        ConfigError: the controller does not fit the model.
    """
    return Controller(scenario)
