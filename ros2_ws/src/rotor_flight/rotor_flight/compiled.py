"""A whole flight in one compiled call: sense, plan, control, limit, step, record.

For what most studies fly: one team of multirotors under its law, or one vehicle with an arm; sensing with or without
faults; wrenches that act at once or rotors that follow with a lag; air that moves; contact; nothing that changes on the
way.
Every kernel is that of
:func:`rotor_flight.fly.fly`, called in the same order: the results are the same bits, without Python between the steps.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotor_control.controller import ArmLaw
from rotor_control.laws.cable_team import cable_team_command
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
from rotor_core.kernels.jit import constants, inlined, kernel_without_gil
from rotor_core.plans.plan import Plan, sample_plan
from rotor_core.reference import REFERENCE
from rotor_core.state import STATE
from rotor_core.vehicles.rotors import limit_wrenches, rotor_speeds
from rotor_dynamics.compiled_world import (
    hold_efforts,
    hold_speeds,
    hold_wind,
    hold_wrenches,
    read_cables,
    read_joints,
    read_touching,
    time_of,
)
from rotor_dynamics.engine import Engine
from rotor_dynamics.hanging import masses_of
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_dynamics.kinematics.members import member_motion
from rotor_flight.flight import Flight
from rotor_flight.loop import ClosedLoop
from rotor_sim.actuation.modes import Actuators, RotorActuators, WrenchActuators
from rotor_sim.sensing.pose import sense_pose
from rotor_sim.simulation import START_TIME

QUADROTOR, POINT_MASS, CABLE_TEAM, RIGID_TEAM, ARM = constants(0, 1, 2, 3, 4)
LAWS = {
    QuadrotorLaw: QUADROTOR,
    PointMassLaw: POINT_MASS,
    CableTeamLaw: CABLE_TEAM,
    RigidTeamLaw: RIGID_TEAM,
    ArmLaw: ARM,
}

AT_ONCE = 2000
"""Control periods between which a flight tells of its progress and hears of Ctrl-C."""


@inlined
def limit_to_plant(command, gains, plant_limits):
    """Scale commands (n, 4) by thrust gains (n,), and limit them to what the plant's rotors can do."""
    limits_on, unmixing, counts, thrusts, asked = plant_limits
    for k in range(command.shape[0]):
        for channel in range(4):
            command[k, channel] *= gains[k]
    if limits_on:
        limit_wrenches(unmixing, counts, thrusts, command, asked)


@inlined
def hold_commands(ints, floats, command, plant_limits, rotors, begins):
    """Let commands (n, 4) act, by rotors or at once; the next run with no step takes them up.

    ``begins``: rotors have been turning so.
    """
    _, unmixing, counts, _, _ = plant_limits
    rotors_on, per_speed2, order, speeds = rotors
    if rotors_on:
        rotor_speeds(unmixing, counts, per_speed2, command, speeds)
        hold_speeds(ints, floats, order, speeds, begins)
    else:
        hold_wrenches(ints, floats, command)


@kernel_without_gil
def fly_world(
    ints, floats, member_body, member_pose, motion, sensor, plan, reference, kind, law, arm, command, limits, gains,
    plant_limits, rotors, air, timing, times, states, references, commands, tensions, taut, touching, arms,
):  # fmt: skip
    """Fly some periods of one world; returns the status of the engine, and how many commands were beyond the rotors.

    Args:
        motion: of all members, (n, 19).
        sensor: whether it is imperfect, motion of the entities, what controllers see of it (the same where sensing is
            ideal), and the arrays of :func:`rotor_sim.sensing.pose.sense_pose`.
        plan: durations, coefficients, radius and rotation of :class:`rotor_core.plans.plan.Plan`.
        kind, law: which law, and its arrays: vehicles, load, who, allocation with shares and limits of the team's
            rotors, tension, memory, forces, ahead.
        arm: rows of the joints in the world, limits of their efforts, room for their states and efforts, what is wanted
            of them in the periods from ``first`` on (n, n_joints, 3), and the arrays of
            :func:`rotor_control.laws.manipulator.arm_command`.
        limits, plant_limits: whether they act, and the arrays of :class:`rotor_core.vehicles.rotors.RotorLimits`,
            of the controller's and of the plant's rotors.
        gains: of the thrusts, (n,).
        rotors: whether they are commanded, thrust over squared speed of each vehicle's rotors, their rows and room for
            their speeds; layouts are those of ``plant_limits``.
        air: velocities of the air in the periods from ``first`` on, (n, 3) m/s, or none; rows of the bodies in it.
        timing: start s, periods of the whole flight, steps per period, periods per recorded row; the periods from
            where to where are flown now.
        times, states, references, commands, tensions, taut: written; the last row is the end. So are ``arms``: states
            of joints, what is wanted of them, and efforts.
        touching: of compliant contacts, (periods, n_contacts), written for every period, once its command acts.
    """
    durations, coefficients, radius, rotation = plan
    vehicles, load, who, (allocation, shares, shared), tension, memory, forces, ahead = law
    limits_on, unmixing, counts, thrusts, asked = limits
    winds, airy = air
    is_imperfect, truth, seen, sensing = sensor
    of_joints, most_effort, joints, efforts, wanted, arm_law = arm
    joint_rows, wanted_rows, effort_rows = arms
    start, periods, steps, every, first, end = timing
    limited = 0
    for i in range(first, end):
        member_motion(ints, floats, member_body, member_pose, motion)
        t = time_of(floats)
        if is_imperfect:
            sense_pose(truth, t, *sensing)
        sample_plan(durations, coefficients, radius, rotation, t - start, reference)
        if kind == QUADROTOR:
            quadrotor_command(seen, reference, vehicles, load, who, memory, command)
        elif kind == POINT_MASS:
            point_mass_command(seen, reference, vehicles, load, who, memory, forces, ahead, command)
        elif kind == CABLE_TEAM:
            cable_team_command(
                seen, reference, vehicles, load, who, tension, memory, forces, ahead, command
            )
        elif kind == ARM:
            read_joints(ints, floats, of_joints, joints)
            arm_command(
                seen[who[0]], joints, reference, wanted[i - first], *arm_law, command[0], efforts
            )
        else:
            rigid_team_command(
                seen, reference, load, who, allocation, shares, shared, memory, ahead, command
            )
        if limits_on and limit_wrenches(unmixing, counts, thrusts, command, asked) > 0:
            limited += 1
        records = i % every == 0 or i == periods
        row = i // every if i % every == 0 else times.shape[0] - 1
        if records:
            for k in range(command.shape[0]):
                for channel in range(4):
                    commands[row, k, channel] = command[k, channel]
        if i < periods:
            if winds.shape[0] > 0:
                hold_wind(ints, floats, airy, winds[i - first])
                status = run(ints, floats, 0)
                if status != OK:
                    return status, limited
            if kind == ARM:
                hold_efforts(ints, floats, of_joints, efforts, most_effort, i == 0)
            limit_to_plant(command, gains, plant_limits)
            hold_commands(ints, floats, command, plant_limits, rotors, i == 0)
            status = run(ints, floats, 0)
            if status != OK:
                return status, limited
            read_touching(ints, floats, touching[i])
        if records:
            times[row] = t
            for b in range(states.shape[1]):
                for j in range(STATE):
                    states[row, b, j] = motion[b, j]
            for j in range(reference.shape[0]):
                references[row, j] = reference[j]
            read_cables(ints, floats, tensions[row], taut[row])
            if kind == ARM:
                read_joints(ints, floats, of_joints, joint_rows[row])
                for j in range(efforts.shape[0]):
                    for column in range(3):
                        wanted_rows[row, j, column] = wanted[i - first, j, column]
                    effort_rows[row, j] = efforts[j]
        if i < periods:
            status = run(ints, floats, steps)
            if status != OK:
                return status, limited
    return OK, limited


def acts_simply(actuators: Actuators, engine: Engine) -> bool:
    """True if commands are wrenches, whose thrust may drift, or speeds of all rotors, which nothing bounds."""
    if isinstance(actuators, RotorActuators):
        rotors = sum(s.count for s in actuators.sets)
        return actuators.are_free and rotors == len(engine.system.rotors)
    return isinstance(actuators, WrenchActuators)


def can_compile(loop: ClosedLoop) -> bool:
    """True if :func:`fly_compiled` can fly what :func:`rotor_flight.fly.fly` would."""
    simulation, controller = loop.simulation, loop.controller
    scenario, joints = simulation.scenario, simulation.engine.joints
    law = controller.laws[0] if len(controller.laws) == 1 else None
    return (
        type(law) in LAWS
        and len(law.team.vehicles) == simulation.n_vehicles  # type: ignore[union-attr]
        and (isinstance(law, ArmLaw) or law.ahead.size == 0)  # type: ignore[union-attr]
        and getattr(law, "cargo", None) is None
        and loop.pilot is None
        and scenario.sensing.estimator is None
        and simulation.told_errors is None
        and all(type(plan) is Plan and plan.motors for plan in loop.plans.values())
        and not scenario.changes
        and acts_simply(simulation.actuators, simulation.engine)
        and not simulation.actuators.drifts
        and not simulation.power
        and simulation.rotor_air is None
        and scenario.environment.wind.is_uniform
        and len(joints) == loop.arms.n
        and not joints.is_driven.any()
    )


def plant_arguments(actuators: Actuators, engine: Engine) -> tuple[np.ndarray, tuple, tuple]:
    """Gains, limits and rotors of a plant that :func:`acts_simply`, as :func:`fly_world` takes them."""
    layouts, none = actuators.layouts, np.zeros(0)
    limits = (
        actuators.limits is not None, layouts.unmixing, layouts.counts, layouts.thrusts, layouts.asked,
    )  # fmt: skip
    if isinstance(actuators, RotorActuators):
        order = engine.rotors.order
        rotors = True, actuators.per_speed2, order, np.zeros(len(order))
        return np.ones(len(actuators.sets)), limits, rotors
    return actuators.gain[:, 0], limits, (False, none, np.zeros(0, np.int64), none)  # type: ignore[attr-defined]


class Rows(NamedTuple):
    """What a compiled flight writes down, a row per recorded period; see :class:`rotor_flight.flight.Flight`."""

    times: np.ndarray
    states: np.ndarray
    references: np.ndarray
    commands: np.ndarray
    tensions: np.ndarray
    taut: np.ndarray
    touching: np.ndarray
    """Of compliant contacts, in every period."""
    joints: np.ndarray
    wanted: np.ndarray
    efforts: np.ndarray

    @classmethod
    def of(cls, loop: ClosedLoop, periods: int, every: int) -> Rows:
        """Empty rows for a flight of so many periods."""
        simulation, n_joints = loop.simulation, loop.arms.n
        rows = periods // every + 1 + (periods % every > 0)
        n_recorded = max(
            [len(simulation.names), *(r + 1 for r in masses_of(simulation.engine.system))]
        )
        n_cables = simulation.engine.n_cables
        return cls(
            np.empty(rows), np.empty((rows, n_recorded, STATE)), np.empty((rows, REFERENCE)),
            np.empty((rows, simulation.n_vehicles, 4)), np.zeros((rows, n_cables)), np.zeros((rows, n_cables), bool),
            np.zeros((periods, len(simulation.engine.system.contacts)), bool),
            np.empty((rows, n_joints, 2)), np.empty((rows, n_joints, 3)), np.empty((rows, n_joints)),
        )  # fmt: skip


def arguments_of(
    loop: ClosedLoop, rows: Rows, first: int, end: int, *, periods: int, every: int
) -> tuple:
    """Arguments of :func:`fly_world` for periods ``first`` to ``end`` of a loop that :func:`can_compile`.

    Args:
        loop: has flown to the start of period ``first``.
        rows: to be written.
        periods: of the whole flight.
        every: periods per row.
    """
    simulation, controller = loop.simulation, loop.controller
    scenario, engine = simulation.scenario, simulation.engine
    law = controller.laws[0]
    n, n_entities, n_joints = simulation.n_vehicles, len(simulation.names), loop.arms.n
    plan = loop.plans[controller.teams[0].entity]
    limits = controller.limits
    gains, plant_limits, rotors = plant_arguments(simulation.actuators, engine)
    truth, is_ideal = engine.motion[:n_entities], scenario.sensing.is_ideal
    packed, arm_law = _packed(law)  # type: ignore[arg-type]
    sensing = simulation.pose_sensor.ahead(truth, 0 if is_ideal else end - first)
    aims = loop.arms.sample(simulation.times(first, end) - START_TIME)
    return (
        engine.ints, engine.floats, engine.member_body, engine.member_pose, engine.motion,
        (not is_ideal, truth, truth if is_ideal else sensing.held, tuple(sensing)),
        (plan.durations, plan.coefficients, plan.radius, plan.rotation), controller.references[0],
        LAWS[type(law)],
        packed,
        (engine.joints.rows(np.full(n_joints, True)), engine.joints.limits, np.zeros((n_joints, 2)),
         controller.efforts, aims, arm_law),
        np.zeros((n, 4)),
        (controller.limits_on, limits.unmixing, limits.counts, limits.thrusts, limits.asked),
        gains,
        plant_limits,
        rotors,
        (simulation.wind_ahead(first, min(end, periods)), np.array(engine.topology.rows, np.int64)),
        (START_TIME, periods, scenario.time.steps_per_control, every, first, end),
        *rows[:7], tuple(rows[7:]),
    )  # fmt: skip


def fly_compiled(
    loop: ClosedLoop,
    duration: float,
    every: int = 1,
    progress: Callable[[float, float], None] | None = None,
) -> Flight | None:
    """Fly a loop that :func:`can_compile` from its start; one row per ``every`` control periods, and the end.

    Args:
        loop: at its start.
        duration: s.
        every: control periods per row.
        progress: called now and then with (flown, total) s.

    Returns:
        The flight; None where the engine stopped on its way: ``fly`` knows why.
    """
    engine = loop.simulation.engine
    periods = periods_of(loop, duration)
    rows = Rows.of(loop, periods, every)
    began, limited = wall.perf_counter(), 0
    for first in range(0, periods + 1, AT_ONCE):
        end = min(first + AT_ONCE, periods + 1)
        status, beyond = fly_world(
            *arguments_of(loop, rows, first, end, periods=periods, every=every)
        )
        if status != OK:
            return None
        limited += beyond
        engine.run(0)  # takes up the events of the log
        if progress is not None:
            progress(engine.time - START_TIME, duration)
    return flight_of(loop, rows, wall.perf_counter() - began, limited)


def periods_of(loop: ClosedLoop, duration: float) -> int:
    """Control periods of a flight of this duration, s."""
    return max(1, round(duration / loop.simulation.scenario.time.control_s))


def flight_of(loop: ClosedLoop, rows: Rows, wall_time: float, limited: int) -> Flight:
    """The flight whose rows have been written, with what the loop knows besides."""
    simulation, engine = loop.simulation, loop.simulation.engine
    heavy, n_entities = masses_of(engine.system), len(simulation.names)
    seen = np.concatenate([rows.states[:, :n_entities], rows.states[:, heavy]], axis=1)
    simulation.note_touching(rows.touching)
    passed = simulation.passing.take(rows.times, seen, rows.taut, rows.joints)
    return Flight(
        simulation.scenario, rows.times, rows.states[:, :n_entities], rows.references[:, None], rows.commands,
        rows.tensions, rows.taut, sorted([*simulation.take_events(), *passed], key=lambda event: event.time),
        wall_time, limited,
        {"redundant_cables": engine.were_redundant, "integration": engine.accuracy.figures()},
        rows.joints, rows.wanted, rows.efforts,
        masses=rows.states[:, heavy, :3], asked=loop.controller.limits.asked,
    )  # fmt: skip


def _packed(law: TeamLaw | ArmLaw) -> tuple[tuple, tuple]:
    """Arrays of the law of a team, and of an arm; those of the other kind are empty."""
    nothing = np.zeros((0, 0))
    none, tension, forces = (nothing, nothing, nothing), NO_TENSION, np.zeros((0, 3))
    if isinstance(law, ArmLaw):
        row = np.array([law.row])
        return (nothing, np.zeros(0), row, none, tension, np.zeros(0), forces, nothing), tuple(
            law.law.packed
        )
    shared, who = none, law.rows
    if isinstance(law, RigidTeamLaw):
        shared, who = (law.allocation, law.shares, law.limits), law.rows[-1:]
    if isinstance(law, CableLaw):
        tension, forces = law.tension.packed, law.forces
    own = law.vehicles, law.load, who, shared, tension, law.memory, forces, law.ahead
    return own, NO_ARM


NO_TENSION = (
    np.zeros((0, 0)),
    np.zeros(0),
    np.zeros((0, 0)),
    np.zeros((0, 0)),
    np.zeros((0, 0)),
    np.zeros(0),
    np.zeros((0, 0)),
    np.zeros((0, 0), np.int64),
)
"""In the place of ``Tension.packed`` where a law has none."""

NO_ARM = (
    np.zeros((0, 0)),
    np.zeros((0, 0), np.int64),
    np.zeros(0),
    np.zeros((0, 0)),
    np.zeros(0),
    np.zeros(0),
    *(np.zeros((0, 0)) for _ in range(4)),
)
"""In the place of the arrays of the law of an arm where there is none."""
