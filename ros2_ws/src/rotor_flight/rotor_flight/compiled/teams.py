"""Plans and laws of the teams of a compiled flight, as arrays, and the kernels that decide."""

from __future__ import annotations

import numpy as np

from rotor_control.controller import ArmLaw, Law, OpenLoopLaw
from rotor_control.gains import HELD
from rotor_control.laws.cable_team import cable_team_command
from rotor_control.laws.cascaded_pid import CascadedPidLaw, cascaded_pid_command
from rotor_control.laws.helicopter import HelicopterLaw, helicopter_command
from rotor_control.laws.manipulator import arm_command
from rotor_control.laws.point_mass import point_mass_command
from rotor_control.laws.quadrotor import quadrotor_command
from rotor_control.laws.rigid_team import rigid_team_command
from rotor_control.team_laws import (
    CableLaw,
    CableTeamLaw,
    PointMassLaw,
    QuadrotorLaw,
    RigidTeamLaw,
    TeamLaw,
)
from rotor_core.kernels.jit import constants, inlined
from rotor_core.plans.plan import Plan, sample_plan
from rotor_core.vehicles.rotors import limit_wrenches
from rotor_flight.loop import ClosedLoop

QUADROTOR, POINT_MASS, CABLE_TEAM, RIGID_TEAM, ARM, HELICOPTER, CONSTANT, CASCADED_PID = constants(
    *range(8)
)
LAWS = {
    QuadrotorLaw: QUADROTOR,
    PointMassLaw: POINT_MASS,
    CableTeamLaw: CABLE_TEAM,
    RigidTeamLaw: RIGID_TEAM,
    ArmLaw: ARM,
    HelicopterLaw: HELICOPTER,
    OpenLoopLaw: CONSTANT,
    CascadedPidLaw: CASCADED_PID,
}


@inlined
def command_team(seen, since, team, reference, joints, wanted, efforts, commands):
    """Let one team follow its plan: its part of the commands (n_vehicles, 4) and of the efforts (n_joints,).

    Args:
        seen: states of all entities, as controllers see them.
        since: time since the start of the plan, s.
        team: of :func:`packed_teams`.
        reference: (28,), written.
        joints, wanted: of all arms, (n_joints, 2) and (n_joints, 3).
    """
    kind, plan, law, arm, own, (first, end), out = team
    vehicles, load, who, (allocation, shares, shared), tension, memory, forces, ahead = law
    durations, coefficients, radius, rotation = plan
    sample_plan(durations, coefficients, radius, rotation, since, reference)
    if kind == QUADROTOR:
        quadrotor_command(seen, reference, vehicles, load, who, memory, out)
    elif kind == POINT_MASS:
        point_mass_command(seen, reference, vehicles, load, who, memory, forces, ahead, out)
    elif kind == CABLE_TEAM:
        cable_team_command(
            seen, reference, vehicles, load, who, tension, memory, forces, ahead, out
        )
    elif kind == RIGID_TEAM:
        rigid_team_command(
            seen, reference, load, who, allocation, shares, shared, memory, ahead, out
        )
    elif kind == ARM:
        arm_command(
            seen[who[0]], joints[first:end], reference, wanted[first:end], *arm, out[0], efforts[first:end]
        )  # fmt: skip
    elif kind == HELICOPTER:
        helicopter_command(seen, reference, load, vehicles[0], who, memory, out)
    elif kind == CASCADED_PID:
        cascaded_pid_command(
            seen[who[0]], reference, vehicles, load, allocation, shares, forces, memory, out
        )
    for k in range(own.shape[0]):
        for channel in range(4):
            commands[own[k], channel] = out[k, channel]


@inlined
def hold_sums(team, commands):
    """Let the sums of a team not grow that asked for other thrusts than it gets of ``commands`` (n_vehicles, 4)."""
    kind, _, law, _, own, _, out = team
    if kind == POINT_MASS or kind == CABLE_TEAM or kind == RIGID_TEAM or kind == QUADROTOR:
        held = 0.0
        for k in range(own.shape[0]):
            if out[k, 0] < commands[own[k], 0] or out[k, 0] > commands[own[k], 0]:
                held = 1.0
        law[1][HELD] = held


@inlined
def decide(seen, since, teams, references, joints, wanted, efforts, limits, command):
    """Let all teams follow their plans, within the limits of the controller's rotors; how many vehicles asked for more.

    Args:
        seen: states of all entities, as controllers see them.
        since: time since the start of the plan of every team, (n_teams,) s.
        teams: of :func:`packed_teams`.
        references: of all teams, (n_teams, 28), written.
        joints, wanted: of all arms, (n_joints, 2) and (n_joints, 3).
        efforts: of their joints, (n_joints,), written.
        limits: whether they act, and the arrays of :class:`rotor_core.vehicles.rotors.RotorLimits`.
        command: of all vehicles, (n_vehicles, 4), written.
    """
    limits_on, unmixing, counts, thrusts, asked = limits
    for k in range(len(teams)):
        command_team(seen, since[k], teams[k], references[k], joints, wanted, efforts, command)
    beyond = 0
    if limits_on:
        beyond = limit_wrenches(unmixing, counts, thrusts, command, asked)
        for k in range(len(teams)):
            hold_sums(teams[k], command)
    return beyond


def is_known(law: Law) -> bool:
    """True if :func:`command_team` decides as this law does."""
    return (
        type(law) in LAWS
        and getattr(law, "ahead", NOTHING).size == 0
        and getattr(law, "cargo", None) is None
    )


def packed_teams(loop: ClosedLoop, plans: list[Plan]) -> tuple[tuple, ...]:
    """Arrays of all teams of a loop, whose laws :func:`is_known`, and what they follow; without teams, of an empty one.

    A team whose motors are off has constant commands: none.

    Of each: kind; plan; law: vehicles, load, who, allocation with shares and limits of the team's rotors, tension,
    memory, forces, ahead (a helicopter has its settings and gains in the places of vehicles and load; a cascade its
    gains, settings, signs and mixing in those of vehicles, load, allocation and shares, its memory in that of forces,
    what it tells in that of memory); arrays of
    :func:`rotor_control.laws.manipulator.arm_command`; rows of its vehicles; its joints from where to where; room for
    its commands. All have the same types, whatever their kind.
    """
    controller = loop.controller
    if not controller.laws:
        return (
            (CONSTANT, _packed_plan(NO_PLAN), NO_LAW, NO_ARM, _rows(()), (0, 0), np.zeros((0, 4))),
        )
    names = [v.name for v in loop.simulation.scenario.model.vehicles]
    packed = []
    for team, law, plan in zip(controller.teams, controller.laws, plans, strict=True):
        own = _rows([names.index(v) for v in team.vehicles])
        joints, arm, out = slice(0, 0), NO_ARM, np.zeros((len(own), 4))
        if isinstance(law, ArmLaw):
            joints, arm = law.joints, tuple(law.law.packed)
        elif isinstance(law, OpenLoopLaw):
            out[:] = law.wrenches if plan.motors else 0.0
        packed.append(
            (LAWS[type(law)] if plan.motors else CONSTANT, _packed_plan(plan), _packed_law(law), arm, own,  # type: ignore[index]
             (joints.start, joints.stop), out)
        )  # fmt: skip
    return tuple(packed)


def _rows(rows: list[int] | tuple[()]) -> np.ndarray:
    return np.array(rows, np.int64)


def _packed_plan(plan: Plan) -> tuple:
    return plan.durations, plan.coefficients, plan.radius, plan.rotation


def _packed_law(law: Law) -> tuple:
    if isinstance(law, ArmLaw):
        return *NO_LAW[:2], _rows([law.row]), *NO_LAW[3:]
    if isinstance(law, HelicopterLaw):
        return law.settings[None], law.gains, law.who, *NO_LAW[3:5], law.memory, *NO_LAW[6:]
    if isinstance(law, CascadedPidLaw):
        signs, who = (law.signs, law.mixing, NOTHING), _rows([law.row])
        return law.gains, law.settings, who, signs, NO_TENSION, law.told, law.memory, NOTHING
    if not isinstance(law, TeamLaw):
        return NO_LAW
    shared, who, tension, forces = NO_SHARES, law.rows, NO_TENSION, NO_FORCES
    if isinstance(law, RigidTeamLaw):
        shared, who = (law.allocation, law.shares, law.limits), law.rows[-1:]
    if isinstance(law, CableLaw):
        tension, forces = law.tension.packed, law.forces
    return law.vehicles, law.load, who, shared, tension, law.memory, forces, law.ahead


NOTHING = np.zeros((0, 0))
NO_FORCES = np.zeros((0, 3))
NO_SHARES = NOTHING, NOTHING, NOTHING
NO_TENSION = (
    NOTHING, np.zeros(0), NOTHING, NOTHING, NOTHING, np.zeros(0), NOTHING, np.zeros((0, 0), np.int64),
)  # fmt: skip
"""In the place of ``Tension.packed`` where a law has none."""
NO_LAW = NOTHING, np.zeros(0), _rows(()), NO_SHARES, NO_TENSION, np.zeros(0), NO_FORCES, NOTHING
"""In the place of the arrays of the law of a team where there is none."""
NO_ARM = (
    NOTHING, np.zeros((0, 0), np.int64), np.zeros(0), NOTHING, np.zeros(0), np.zeros(0), *4 * (NOTHING,),
)  # fmt: skip
"""In the place of the arrays of the law of an arm where there is none."""
NO_PLAN = Plan(np.ones(1), np.zeros((1, 7, 1)))
