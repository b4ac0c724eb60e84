"""The control law of one team: its parameters packed from the nominal model, its memory, its compiled function."""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_control import gains as g
from rotor_control.allocation.tension import Tension
from rotor_control.laws.cable_team import cable_team_command, pull_as_told
from rotor_control.laws.cargo import Cargo, cargo_of
from rotor_control.laws.flatness import AHEAD, Preview, cables_ahead, structure_ahead
from rotor_control.laws.point_mass import point_mass_command
from rotor_control.laws.quadrotor import quadrotor_command
from rotor_control.laws.rigid_team import (
    allocation_by_moments,
    allocation_by_rotors,
    rigid_team_command,
    structure_allocation,
    team_limits,
)
from rotor_core.config.controllers import (
    CableTeamControl,
    PointMassControl,
    RigidTeamControl,
)
from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, attachment_points, cable_lengths
from rotor_core.config.vehicles.body import inertia_matrix, merged_mass
from rotor_core.config.yaml.units import rad_from_deg, wxyz_from_rpy_deg
from rotor_core.errors import ConfigError
from rotor_core.plans.plan import Plan
from rotor_core.vehicles.rotors import rotor_set

ALONE_ERROR_LIMIT = 0.5
"""Limit of the error of vehicles that fly alone under laws that have none for their team (predictive, planned), m."""


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
    row[g.ERROR_LIMIT] = getattr(control, "error_limit_m", ALONE_ERROR_LIMIT)
    if team.payload is None:  # a vehicle has gains of its own, and no integral
        return row
    if isinstance(control, (PointMassControl, CableTeamControl, RigidTeamControl)):
        row[g.LOAD_POSITION_GAIN : g.LOAD_POSITION_GAIN + 3] = control.position_per_s2
        row[g.LOAD_VELOCITY_GAIN : g.LOAD_VELOCITY_GAIN + 3] = control.velocity_per_s
        row[g.LOAD_INTEGRAL_GAIN : g.LOAD_INTEGRAL_GAIN + 3] = control.integral_per_s3
    if isinstance(control, CableTeamControl):
        row[g.LOAD_ATTITUDE_GAIN : g.LOAD_ATTITUDE_GAIN + 3] = control.attitude_n_m
        row[g.LOAD_RATE_GAIN : g.LOAD_RATE_GAIN + 3] = control.rate_n_m_s
    elif isinstance(control, RigidTeamControl):
        row[g.LOAD_ATTITUDE_GAIN : g.LOAD_ATTITUDE_GAIN + 3] = control.attitude_per_s2
        row[g.LOAD_RATE_GAIN : g.LOAD_RATE_GAIN + 3] = control.rate_per_s
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
    own = [
        np.zeros((3, 3)) if b.inertia_kg_m2 is None else inertia_matrix(b.inertia_kg_m2)
        for b in (payload, *vehicles)
    ]
    inertias = np.array([R @ J @ R.T for R, J in zip(rotations, own, strict=True)])
    mass, centre, J = merged_mass(masses, points, inertias)
    return mass, centre, J, points[1:] - centre, rotations[1:]


class TeamLaw:
    """Common base of the laws of all kinds of teams.

    Attributes:
        team: whose law it is.
        vehicles, load: packed parameters, (n, VEHICLE) and (LOAD,).
        gain_scale: attitude and rate gains of the load are packed times this.
        rows: of the vehicles, then the payload, in the states.
        memory: integral of the position error, (3,).
        ahead: nominal motion (n, AHEAD), without rows where the law does not use it.
        uses_gains: whether what is packed acts; False of laws that have weights, or gains of a file.
    """

    uses_gains = True

    def __init__(self, scenario: Scenario, team: Team) -> None:
        self.team = team
        self.memory = np.zeros(3)
        self.vehicles = np.zeros((0, g.VEHICLE))
        self.gain_scale = np.ones(3)
        self.ahead = np.zeros((0, AHEAD))
        self.load = _load_row(scenario, team)
        self._preview: Preview | None = None
        model = scenario.model
        members = [*team.vehicles, team.payload] if team.payload else team.vehicles
        self.rows = np.array([model.index(name) for name in members])

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team for ``states`` (N, >= 13) and ``reference`` (28,)."""
        self._command(states, reference, out)

    def _command(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        raise NotImplementedError

    def follow(self, plan: Plan, t: float) -> None:
        """Look at the plan around time ``t`` after its start, where the law uses the nominal motion."""
        if self._preview is not None:
            self._preview.look(plan, t)
            self._look_ahead(self._preview)

    def forget_plan(self) -> None:
        """Follow single references from now on."""

    def _look_ahead(self, preview: Preview) -> None:
        """Compute :attr:`ahead`."""

    def _use_nominal_motion(
        self, control: PointMassControl | CableTeamControl | RigidTeamControl, n: int
    ) -> None:
        if control.feedforward == "nominal":
            self._preview = Preview()
            self.ahead = np.zeros((n, AHEAD))

    def reset(self) -> None:
        """Forget integrals."""
        self.memory[:] = self.load[g.HELD] = 0.0


class QuadrotorLaw(TeamLaw):
    """One free vehicle, with cargo or without.

    Attributes:
        cargo: what it carries and how that changes its mass; None: it cannot carry.
    """

    def __init__(self, scenario: Scenario, team: Team) -> None:
        super().__init__(scenario, team)
        vehicle = scenario.model.vehicles[self.rows[0]]
        self.vehicles = np.array([g.vehicle_row(vehicle)])
        own = vehicle.gains
        self.load[g.LOAD_POSITION_GAIN : g.LOAD_POSITION_GAIN + 3] = own.position_per_s2
        self.load[g.LOAD_VELOCITY_GAIN : g.LOAD_VELOCITY_GAIN + 3] = own.velocity_per_s
        self.cargo = Cargo(scenario.model, vehicle) if cargo_of(scenario.model, vehicle) else None

    def _command(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        if self.cargo is not None:
            self.cargo.weigh(states, self.vehicles[0])
        quadrotor_command(states, reference, self.vehicles, self.load, self.rows, self.memory, out)
        if self.cargo is not None:  # the thrust acts beside the common centre of mass
            out[0, 1:] += np.cross(self.cargo.centre, (0.0, 0.0, out[0, 0]))


class RigidTeamLaw(TeamLaw):
    """A rigidly linked team."""

    def __init__(self, scenario: Scenario, team: Team) -> None:
        super().__init__(scenario, team)
        control = scenario.controller
        if not isinstance(control, RigidTeamControl):
            raise _wrong_law(control, "rigid_team", "a rigidly linked team")
        mass, centre, J, points, rotations = structure(scenario.model, team)
        self.load[g.LOAD_MASS] = mass
        self.load[g.LOAD_INERTIA : g.LOAD_INERTIA + 9] = J.ravel()
        self.gain_scale = np.diag(J).copy()
        self.load[g.LOAD_ATTITUDE_GAIN : g.LOAD_ATTITUDE_GAIN + 3] *= self.gain_scale
        self.load[g.LOAD_RATE_GAIN : g.LOAD_RATE_GAIN + 3] *= self.gain_scale
        self.load[g.CENTRE : g.CENTRE + 3] = centre
        A = structure_allocation(points, rotations)
        if np.linalg.matrix_rank(A) < 4:
            raise ConfigError(
                f"team of payload {team.payload!r}: its vehicles cannot produce every moment."
            )
        sets = [rotor_set(scenario.model.vehicles[row].rotors) for row in self.rows[:-1]]
        if control.allocation == "rotors":
            self.allocation = allocation_by_rotors(A, sets)
        else:
            self.allocation = allocation_by_moments(A, np.array(control.allocation_weights))
        self.shares, self.limits = team_limits(self.allocation, sets)
        if not scenario.actuation.limits or self.shares[:, 0].min() <= 0.0:
            # without limits, or with a rotor that does not help to lift: vehicles are limited one by one
            self.shares, self.limits = np.zeros((0, 4)), np.zeros((0, 2))
        self._use_nominal_motion(control, 1)

    def _look_ahead(self, preview: Preview) -> None:
        p = preview
        structure_ahead(p.nodes, p.first, p.second, self.load, p.scratch, self.ahead)

    def _command(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        rigid_team_command(
            states,
            reference,
            self.load,
            self.rows[-1:],
            self.allocation,
            self.shares,
            self.limits,
            self.memory,
            self.ahead,
            out,
        )


class CableLaw(TeamLaw):
    """Common base of the laws for a point mass and a rigid payload on cables.

    Attributes:
        tension: how wrenches are shared.
        forces: desired pull of the cables on the payload, in W, (n, 3) N, as of the last command.
        told: forces from elsewhere in place of the law's own; None: its own.
    """

    DO_AS_TOLD = "pull"
    """What cables do as somebody else says, for logs."""

    def __init__(
        self, scenario: Scenario, team: Team, control: PointMassControl | CableTeamControl
    ) -> None:
        super().__init__(scenario, team)
        model = scenario.model
        lengths, points = cable_lengths(model, team), attachment_points(model, team)
        self.vehicles = np.array(
            [
                g.vehicle_row(model.vehicles[row], cable_length=l, point=p)
                for row, l, p in zip(self.rows[:-1], lengths, points, strict=True)
            ]
        )
        least, outward, spread = None, None, rad_from_deg(control.spread_deg)
        if isinstance(control, CableTeamControl):
            least = control.least_tension_n
        else:
            outward = control.outward(len(team.vehicles))
        weight = self.load[g.LOAD_MASS] * self.load[g.GRAVITY]
        self.tension = Tension(points, weight, least=least, spread=spread, outward=outward)
        carried = MOST_OF_REST * float(self.tension.at_rest(weight).min())
        if least is not None and least > carried:
            raise ConfigError(
                f"controller.least_tension_n: must be at most {carried:.3g} N, nine tenths of what cables of payload "
                f"{team.payload!r} carry at rest, got {least:g}. Ask for less, or lean cables more (spread_deg)."
            )
        self.forces = np.zeros((len(team.vehicles), 3))
        self.told: np.ndarray | None = None
        self._nominal_forces = self.forces.copy()
        self._use_nominal_motion(control, len(team.vehicles))

    def take_length(self, i: int, length: float) -> None:
        """Cable i of the team is ``length`` m long from now on."""
        self.vehicles[i, g.CABLE_LENGTH] = length

    def lean(self, internal: np.ndarray, share: float = 1.0) -> None:
        """Let the cables pull against each other with forces in payload axes (n, 3) N whose sum is zero.

        They take the place of those for ``spread_deg``; ``share`` of the way from the present ones.
        """
        self.tension.internal[:] += share * (internal.ravel() - self.tension.internal)

    def _look_ahead(self, preview: Preview) -> None:
        p = preview
        cables_ahead(
            p.nodes, p.first, p.second, self.vehicles, self.load, self.tension.packed,
            self._nominal_forces, p.scratch, self.ahead,
        )  # fmt: skip

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team: by its own forces of the cables, or by the commanded ones."""
        if self.told is None:
            self._command(states, reference, out)
            return
        self.forces[:] = self.told
        pull_as_told(
            states, reference, self.vehicles, self.load, self.rows, self.forces, NO_NOMINAL_MOTION, out
        )  # fmt: skip


class PointMassLaw(CableLaw):
    """One vehicle with a point mass on a cable."""

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        if not isinstance(control, PointMassControl):
            raise _wrong_law(control, "point_mass", "a point mass on a cable")
        super().__init__(scenario, team, control)

    def _command(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        point_mass_command(
            states, reference, self.vehicles, self.load, self.rows, self.memory, self.forces,
            self.ahead, out,
        )  # fmt: skip


class CableTeamLaw(CableLaw):
    """A team with a rigid payload on cables, or with a point mass, on which no moment acts."""

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        payload = scenario.model.entities[scenario.model.index(team.payload or "")]
        if payload.inertia_kg_m2 is None:
            if not isinstance(control, PointMassControl):
                raise _wrong_law(control, "point_mass", "a point mass on cables")
        elif not isinstance(control, CableTeamControl):
            raise _wrong_law(control, "cable_team", "a rigid payload on cables")
        super().__init__(scenario, team, control)

    def _command(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        cable_team_command(
            states, reference, self.vehicles, self.load, self.rows, self.tension.packed,
            self.memory, self.forces, self.ahead, out,
        )  # fmt: skip


MOST_OF_REST = 0.9
"""A least tension nearer to what cables carry at rest would act all the time."""

NO_NOMINAL_MOTION = np.zeros((0, AHEAD))


def _wrong_law(control: object, name: str, what: str) -> ConfigError:
    given = getattr(control, "type", control)
    return ConfigError(
        f"controller.type: {what} needs {name}, got {given}. Write `controller: {{use: {name}}}`."
    )


def team_law(scenario: Scenario, team: Team) -> TeamLaw:
    """The law of a team without arms.

    Raises:
        ConfigError: the controller does not fit the model.
    """
    if team.payload is None:
        return QuadrotorLaw(scenario, team)
    if team.rigid:
        return RigidTeamLaw(scenario, team)
    payload = scenario.model.entities[scenario.model.index(team.payload)]
    alone = payload.inertia_kg_m2 is None and len(team.vehicles) == 1
    return (PointMassLaw if alone else CableTeamLaw)(scenario, team)
