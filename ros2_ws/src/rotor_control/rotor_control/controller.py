"""The controllers of a scenario.

One law per team, limits at rotor level, commands for all vehicles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from rotor_control.abilities import Clocked, Closable, Joining, Waiting
from rotor_control.gains import HELD
from rotor_control.laws.cascaded_pid import CascadedPidLaw
from rotor_control.laws.helicopter import HelicopterLaw
from rotor_control.laws.manipulator import ManipulatorLaw
from rotor_control.team_laws import CableLaw, QuadrotorLaw, TeamLaw, team_law
from rotor_core.command import Command
from rotor_core.config.controllers import (
    CONTROL_LAWS,
    ManipulatorControl,
    OpenLoopControl,
)
from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.loader import scenario_of
from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, teams
from rotor_core.config.yaml.units import rad_s_from_rpm
from rotor_core.errors import ConfigError, ContractError
from rotor_core.given import numbers
from rotor_core.plans.plan import Plan, PlannedReference
from rotor_core.plans.registry import PlanRegistry
from rotor_core.reference import REFERENCE, Reference
from rotor_core.state import STATE, States
from rotor_core.vehicles.rotors import asked_of_rotors, rotor_limits, rotor_set

SAME_SPEED = 1e-6
"""Speeds closer than this are the same, rad/s."""


CUT = 2.0
"""A cable that is told to be longer than its winch can pay out by this factor has been cut."""


class OpenLoopLaw:
    """Constant commands of a team, whatever it does.

    Attributes:
        team: whose law it is.
        wrenches: the commands, (n, 4) N and N m.
    """

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        assert isinstance(control, OpenLoopControl)
        rows = [scenario.model.index(name) for name in team.vehicles]
        self.team = team
        self.wrenches = np.array([_open_loop_wrench(scenario, control, row) for row in rows])

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team."""
        out[:] = self.wrenches

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
                    "moments. With more than four rotors, the speeds must share them with least thrust, "
                    f"such as {np.round(rotors.speeds(wrench) / rad_s_from_rpm(1.0), 1).tolist()} rpm."
                )
            return wrench
    raise ConfigError(f"controller.commands: has no entry for the vehicle {vehicle.name!r}.")


class ArmLaw:
    """The law of one vehicle with an arm, among those of teams.

    Attributes:
        team: whose law it is.
        row: of the vehicle in the states.
        law: of the vehicle alone.
        joints: of the vehicle among all joints.
    """

    def __init__(self, scenario: Scenario, team: Team) -> None:
        self.team = team
        model, control = scenario.model, scenario.controller
        row = model.index(team.vehicles[0])
        if not isinstance(control, ManipulatorControl):
            refuse_arm(scenario, model.vehicles[row])
        assert isinstance(control, ManipulatorControl)
        self.row = row
        self.law = ManipulatorLaw(
            model.vehicles[row],
            control,
            scenario.environment.gravity_m_s2,
            scenario.time.control_s,
        )
        first = sum(len(v.moving_joints) for v in model.vehicles[:row])
        self.joints = slice(first, first + self.law.model.n)

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
        own = self.joints
        self.law.command(
            states[self.row], joints[own], reference, wanted[own], out[0], efforts[own]
        )

    def reset(self) -> None:
        """Forget the integral."""
        self.law.memory[:] = 0.0


Law = TeamLaw | OpenLoopLaw | ArmLaw | CascadedPidLaw | HelicopterLaw


class Controller:
    """Commands for all vehicles of a scenario; see :func:`make_controller`.

    Attributes:
        teams: in the order of references.
        singles, single_laws: vehicles of cable teams, which may fly alone, with the number of their team; their laws.
        limits, limits_on: of the rotors, and whether commands are kept within them.
        limited: vehicles whose last command was beyond their rotors.
        efforts: last commands to the joints, vehicle by vehicle, (n_joints,).
    """

    def __init__(self, scenario: Scenario) -> None:
        model = scenario.model
        self._names = tuple(v.name for v in model.vehicles)
        self._entities = [e.name for e in model.entities]
        self.teams = teams(model)
        make = CONTROL_LAWS[scenario.controller.type].maker
        self.laws: list[Law] = [make(scenario, team) for team in self.teams]
        company = [law for law in self.laws if isinstance(law, Joining)]
        for law in company[1:]:  # what they wait for, they wait for together
            law.join(company[0])
        self._joint_starts = np.array(
            [j.initial for v in model.vehicles for j in v.moving_joints], float
        )
        self.efforts = np.zeros(len(self._joint_starts))
        self._rows = [np.array([model.index(v) for v in team.vehicles]) for team in self.teams]
        of_teams = zip(self.laws, self._rows, strict=True)
        self._summing = [(law, rows) for law, rows in of_teams if isinstance(law, TeamLaw)]
        self._outs = [np.zeros((len(team.vehicles), 4)) for team in self.teams]
        sets = [rotor_set(v.rotors) for v in model.vehicles]
        self.limits = rotor_limits(sets, can_stop=scenario.motors_can_stop)
        self.limits_on = scenario.actuation.limits
        first = self.laws[0] if len(self.laws) == 1 else None
        whole = bool(np.all(self._rows[0] == np.arange(len(model.vehicles)))) if first else False
        self._only = first if whole and not isinstance(first, ArmLaw) else None
        self.commands = np.zeros((len(model.vehicles), 4))
        self.references = np.zeros((len(self.teams), REFERENCE))
        self.limited = 0
        self.cut = np.zeros(len(model.vehicles), bool)
        self._cuts = np.zeros(len(model.vehicles))
        self.singles = PlanRegistry(model).singles
        self.single_laws = [_single_law(scenario, name) for name in self.singles]
        self._single_rows = [model.index(name) for name in self.singles]
        self._members = [
            [k for k, team in enumerate(self.singles.values()) if team == i]
            for i in range(len(self.teams))
        ]
        """Numbers of the singles of every team."""
        control = scenario.controller
        self._counterpart = control.type if isinstance(control, Counterpart) else ""
        """Until it has been said who flies single vehicles."""
        self._alone: list[np.ndarray | None] = [None] * len(self.singles)
        self._off: set[int] = set()
        self._answers: int | None = 0
        """Calls since the last reset; None: somebody else tells the time."""
        self._period = scenario.time.control_s
        self._apart = False  # whether somebody flies alone or stands
        self._untold = () if scenario.follows_plans else range(len(self.laws))
        """Teams whose law is not told a reference: their autopilots have goals of their own."""
        self._clocks = [law for law in self.laws if isinstance(law, Clocked)]
        self._winding = [
            (law, k, i, model.cables[k].winch.lengths_m[1])  # type: ignore[union-attr]
            for law, team in zip(self.laws, self.teams, strict=True)
            for i, k in enumerate(team.cables)
            if model.cables[k].winch is not None and isinstance(law, (CableLaw, HelicopterLaw))
        ]

    @property
    def winds(self) -> bool:
        """True if laws want to know the lengths of cables, which winches change."""
        return bool(self._winding)

    def note_lengths(self, lengths: np.ndarray) -> None:
        """Say how long the cables are now, (n_cables,) m; those that have been cut are left as they were."""
        for law, k, i, most in self._winding:
            if 0.0 < lengths[k] < CUT * most:
                law.take_length(i, float(lengths[k]))

    def tell_time(self, t: float) -> None:
        """Say how long the flight has lasted, s, before :meth:`decide`: to laws that others have written.

        Who calls the controller itself need not: the calls since the last reset are counted.
        """
        self._answers = None
        for law in self._clocks:
            law.time = t

    def stop_when(self, is_stopped: Callable[[], bool]) -> None:
        """Let laws that wait for others ask whether everything should end."""
        for law in self.laws:
            if isinstance(law, Waiting):
                law.is_stopped = is_stopped

    def close(self) -> None:
        """Let go of what laws hold: processes, connections."""
        for law in self.laws:
            if isinstance(law, Closable):
                law.close()

    def follow_board(self, board: PlanRegistry, now: int) -> bool:
        """Take up what all plans say at a time, ns; False where one is missing."""
        if not board.is_complete:
            return False
        self._apart = False
        for i, found in enumerate(board.running(now)):
            if found is not None:
                self.follow(i, found[1], found[0])
            elif i >= len(self.teams):
                self._alone[i - len(self.teams)] = None
        for i in range(len(self.teams)):
            if self._is_apart(i):  # nobody follows a reference of the team
                self.references[i] = np.nan
        return True

    @property
    def has_alone(self) -> bool:
        """True if a vehicle flies alone that belongs to a team."""
        return any(reference is not None for reference in self._alone)

    @property
    def alone(self) -> np.ndarray:
        """References of :attr:`singles`, (n_singles, 28): NaN of those that fly with their team."""
        unknown = np.full(REFERENCE, np.nan)
        return np.array([unknown if r is None else r for r in self._alone]).reshape(-1, REFERENCE)

    def _is_apart(self, i: int) -> bool:
        """True if all vehicles of team i fly alone."""
        own = self._members[i]
        return bool(own) and all(self._alone[k] is not None for k in own)

    def follow(self, i: int, plan: Plan, t: float) -> None:
        """Take up what the plan of team i says at time ``t`` after its start, into :attr:`references`.

        Laws that use the nominal motion look at the plan around ``t`` too. Numbers behind those of the
        teams are those of :attr:`singles`: these fly alone then.
        """
        if plan.motors:
            self._off.discard(i)
        else:
            self._off.add(i)
        self._apart = self._apart or not plan.motors or i >= len(self.teams)
        k = i - len(self.teams)
        if k >= 0:
            if self._alone[k] is None:  # what it summed up when it last flew alone is long ago
                self.single_laws[k].reset()
                if self._counterpart:
                    print(
                        f"note: a vehicle that flies alone is flown by our own law, not by {self._counterpart}",
                        file=sys.stderr,
                    )
                    self._counterpart = ""
            self._alone[k] = plan.sample(t, self._alone[k])
            return
        law = self.laws[i]
        if i in self._untold:
            self.references[i] = np.nan
            return
        plan.sample(t, self.references[i])
        if isinstance(law, TeamLaw):
            law.follow(plan, t)

    def decide(
        self,
        states: np.ndarray,
        references: np.ndarray,
        joints: np.ndarray | None = None,
        joint_references: np.ndarray | None = None,
    ) -> np.ndarray:
        """Thrusts and moments of all vehicles; efforts of joints go to :attr:`efforts`.

        Laws that use the nominal motion take it from the last :meth:`follow`.

        Args:
            states: of all entities, (N, >= 13): position, attitude, velocity, body rate.
            references: one row per team, (n_teams, 28).
            joints: angles and rates of all joints, vehicle by vehicle, (n_joints, 2).
            joint_references: wanted angles, rates and accelerations, (n_joints, 3); default the
                angles at the start.

        Returns:
            (n_vehicles, 4), N and N m; the same array at every call.
        """
        states = np.ascontiguousarray(states)  # laws are compiled for this layout alone
        references = references.copy()  # what a law of somebody's writes into it is not asked for
        if joint_references is None and len(self.efforts):
            zero = np.zeros(len(self.efforts))
            joint_references = np.stack([self._joint_starts, zero, zero], axis=1)
        if self._apart:
            self._command_apart(states, references, joints, joint_references)
        elif self._only is not None:
            self._only(states, references[0], self.commands)
        else:
            for i, reference in enumerate(references):
                self._command_team(i, states, reference, joints, joint_references)
        if self.limits_on:
            asked = self.commands[:, 0].copy()
            self.limited = self.limits.apply(self.commands)
            self.cut[:] = self.limits.asked[:, 3] > self._cuts
            self._cuts[:] = self.limits.asked[:, 3]
            if self.limited or any(law.load[HELD] for law, _ in self._summing):
                self._hold_sums(asked)
        return self.commands

    def _hold_sums(self, asked: np.ndarray) -> None:
        """Let no sum grow of a team that asked for other thrusts, (n_vehicles,) N, than it gets (C.50)."""
        for law, rows in self._summing:
            got = self.commands[rows, 0]
            # NaN is that of vehicles that others fly: neither more nor less
            law.load[HELD] = float(np.any((asked[rows] < got) | (asked[rows] > got)))

    def __call__(
        self,
        measured: States | np.ndarray,
        reference: Reference | Mapping[str, Reference],
        joints: np.ndarray | None = None,
        joint_references: np.ndarray | None = None,
    ) -> Command:
        """Command for measured states and a reference, with names.

        Args:
            measured: states of all entities.
            reference: of the one planned entity, or of each by its name. A reference from
                :meth:`rotor_core.plans.plan.Plan.at` lets laws look at the plan around it.
            joints, joint_references: as of :meth:`decide`.

        Raises:
            ContractError: an entity without reference or state, a law that needs the plan got a bare reference, or
                arrays of another shape or with numbers that are not finite, which integrals would keep.
        """
        given = reference if isinstance(reference, Mapping) else {self.teams[0].entity: reference}
        for i, team in enumerate(self.teams):
            if team.entity not in given:
                raise ContractError(f"controller: a reference for {team.entity!r} is missing.")
            wanted, law = given[team.entity], self.laws[i]
            if isinstance(wanted, PlannedReference):
                self.follow(i, wanted.plan, wanted.time)
                continue
            if isinstance(law, TeamLaw) and law.ahead.size:
                raise ContractError(
                    f"controller: the law of {team.entity!r} uses the nominal motion (feedforward: nominal), which a "
                    "single reference does not contain. Pass plan.at(t)."
                )
            self._off.discard(i)
            if not isinstance(wanted, Reference):
                raise ContractError(
                    f"controller: the reference for {team.entity!r} must be a rotor.Reference, such as plan.at(t), got "
                    f"{type(wanted).__name__}."
                )
            self.references[i] = numbers(
                f"reference for {team.entity!r}", wanted.array, int(REFERENCE)
            )
            if isinstance(law, TeamLaw):
                law.forget_plan()
        n, n_joints = len(self._entities), len(self.efforts)
        rows = measured.of(self._entities) if isinstance(measured, States) else measured
        states = np.asarray(rows)
        if (
            states.dtype.kind not in "fiu"
            or states.ndim != 2
            or len(states) != n
            or states.shape[1] < STATE
        ):
            raise ContractError(
                f"controller: states must be numbers of the shape ({n}, {int(STATE)} or more), a row for each of "
                f"{', '.join(self._entities)}; got the shape {states.shape}."
            )
        for i in np.flatnonzero(~np.isfinite(states).all(axis=1)):
            raise ContractError(  # else integrals would keep it
                f"controller: state {i + 1} of {len(states)} must be finite, got {states[i].tolist()}. Leave out what "
                "was not measured, and send no command."
            )
        states = np.asarray(states, float)
        if joints is not None:
            joints = numbers("controller: joints", joints, n_joints, 2)
        if joint_references is not None:
            joint_references = numbers(
                "controller: joint_references", joint_references, n_joints, 3
            )
        if self._answers is not None:
            answers = self._answers
            self.tell_time(answers * self._period)
            self._answers = answers + 1
        wrenches = self.decide(states, self.references, joints, joint_references)
        return Command(self._names, wrenches.copy(), self.efforts.copy())

    def _command_team(
        self,
        i: int,
        states: np.ndarray,
        reference: np.ndarray,
        joints: np.ndarray | None,
        joint_references: np.ndarray | None,
    ) -> None:
        law, out = self.laws[i], self._outs[i]
        if isinstance(law, ArmLaw):
            if joints is None or joint_references is None:
                raise ContractError("controller: the states of the joints are missing.")
            law.command_arm(states, joints, reference, joint_references, out, self.efforts)
        else:
            law(states, reference, out)
        self.commands[self._rows[i]] = out

    def _command_apart(
        self,
        states: np.ndarray,
        references: np.ndarray,
        joints: np.ndarray | None,
        joint_references: np.ndarray | None,
    ) -> None:
        """Commands where some vehicles fly alone, or stand with their motors off."""
        for i, reference in enumerate(references):
            if i in self._off or self._is_apart(i):
                if isinstance(self.laws[i], ArmLaw):  # the arm of what stands goes on
                    self._command_team(i, states, reference, joints, joint_references)
                self.commands[self._rows[i]] = 0.0
                self.laws[i].reset()
            else:
                self._command_team(i, states, reference, joints, joint_references)
        for k, reference in enumerate(self._alone):
            if reference is None:
                continue
            row = self._single_rows[k]
            if len(self.teams) + k in self._off:
                self.commands[row] = 0.0
                self.single_laws[k].reset()
            else:
                self.single_laws[k](states, reference, self.commands[row : row + 1])

    def reset(self) -> None:
        """Forget integrals of all laws, and who flies alone or stands."""
        for law in (*self.laws, *self.single_laws):
            law.reset()
        self._alone = [None] * len(self.singles)
        self._answers = 0
        self._off.clear()
        self._apart = False
        self.limits.asked[:] = asked_of_rotors(len(self.commands))
        self._cuts[:] = 0.0
        self.cut[:] = False


def refuse_arm(scenario: Scenario, vehicle: Vehicle) -> None:
    """Refuse a vehicle with joints, for laws that would let its arm hang.

    Raises:
        ConfigError: it has joints.
    """
    if vehicle.moving_joints:
        raise ConfigError(
            f"controller.type: a vehicle with joints ({vehicle.name!r}) needs manipulator, got "
            f"{scenario.controller.type}. Write `controller: {{use: manipulator}}`."
        )


def _single_law(scenario: Scenario, name: str) -> QuadrotorLaw | HelicopterLaw:
    """The law of a vehicle of a team that flies alone."""
    vehicle, alone = scenario.model.vehicles[scenario.model.index(name)], Team(None, (name,))
    return HelicopterLaw(scenario, alone) if vehicle.helicopter else QuadrotorLaw(scenario, alone)


def open_loop_law(scenario: Scenario, team: Team) -> Law:
    """Constant rotor speeds, whatever flies."""
    return OpenLoopLaw(scenario, team)


def helicopter_law(scenario: Scenario, team: Team) -> Law:
    """The law of a helicopter, and of a multirotor beside helicopters."""
    vehicles = [scenario.model.vehicles[scenario.model.index(v)] for v in team.vehicles]
    if any(v.helicopter for v in vehicles):
        return HelicopterLaw(scenario, team)
    if team.payload is None and not vehicles[0].moving_joints:
        return QuadrotorLaw(scenario, team)
    raise ConfigError(
        f"controller.type: helicopter cannot fly {team.entity!r}, which is neither a helicopter nor a free "
        "multirotor. Fly it in a scenario of its own."
    )


def cascaded_pid_law(scenario: Scenario, team: Team) -> Law:
    """Cascaded loops of one vehicle."""
    vehicle = scenario.model.vehicles[scenario.model.index(team.vehicles[0])]
    refuse_arm(scenario, vehicle)
    return (HelicopterLaw if vehicle.helicopter else CascadedPidLaw)(scenario, team)


def multirotor_law(scenario: Scenario, team: Team) -> Law:
    """The law of an arm, a single vehicle or a team, as the model asks for it."""
    vehicles = [scenario.model.vehicles[scenario.model.index(v)] for v in team.vehicles]
    if any(v.helicopter for v in vehicles):
        return HelicopterLaw(scenario, team)
    arm = bool(vehicles[0].moving_joints) or isinstance(scenario.controller, ManipulatorControl)
    if team.payload is None and arm:
        return ArmLaw(scenario, team)
    return team_law(scenario, team)


def make_controller(scenario: Scenario | str | Path) -> Controller:
    """Controllers of a scenario (or of the name or path of one), built from its nominal model.

    Raises:
        ConfigError: the controller does not fit the model.
    """
    return Controller(scenario_of(scenario))
