"""A whole flight in one compiled call: sense, plan, control, limit, step, record.

For what most studies fly: teams of multirotors under their laws, vehicles with arms, helicopters, or nobody at all;
sensing with or without faults, filters on board; wrenches that act at once or rotors that follow with a lag; wakes and
air that moves; contact.
What changes on the way at a time (a cut, a grip, a release) happens in Python, between two calls. Every kernel is that
of :func:`rotor_flight.fly.fly`, called in the same order: the results are the same bits, without Python between the
steps.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rotor_core.config.schema import Change
from rotor_core.kernels.jit import kernel_without_gil
from rotor_core.plans.plan import Plan
from rotor_core.reference import REFERENCE
from rotor_dynamics.compiled_world import (
    hold_efforts,
    hold_wind,
    read_cables,
    read_joints,
    read_touching,
    time_of,
)
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_dynamics.kinematics.members import member_motion
from rotor_flight.compiled.plant import (
    air_arguments,
    draw_power,
    feel_air,
    helicopter_arguments,
    hold_commands,
    hold_helicopters,
    is_packed,
    limit_to_plant,
    motor_arguments,
    plant_arguments,
    steering_of,
    turn_in_air,
)
from rotor_flight.compiled.rows import Rows, copy_into, flight_of
from rotor_flight.compiled.seen import sensor_arguments
from rotor_flight.compiled.teams import decide, is_known, packed_teams
from rotor_flight.flight import Flight
from rotor_flight.loop import ClosedLoop
from rotor_sim.actuation.modes import WrenchActuators, age_rotors
from rotor_sim.estimation.on_board import estimate
from rotor_sim.estimation.told_errors import tell_wrongly
from rotor_sim.sensing.pose import sense_pose
from rotor_sim.simulation import START_TIME, Simulation

AT_ONCE = 2000
"""Control periods between which a flight tells of its progress and hears of Ctrl-C."""


@kernel_without_gil
def fly_world(
    world,
    sensor,
    teams,
    since,
    references,
    arms,
    command,
    limits,
    plant,
    motors,
    helicopters,
    air,
    timing,
    rows,
):
    """Fly some periods of one world; returns the status of the engine, and how many commands were beyond the rotors.

    Args:
        world: ints and floats of the engine, bodies and poses of all members, and their motion, (n, 19).
        sensor: motion of the entities, and what controllers see of it (the same where nothing is in between);
            whether it is measured with errors, and the arrays of :func:`rotor_sim.sensing.pose.sense_pose`; the same
            of estimators (:func:`rotor_sim.estimation.on_board.estimate`) and of constant errors
            (:func:`rotor_sim.estimation.told_errors.tell_wrongly`).
        teams: of :func:`rotor_flight.compiled.teams.packed_teams`.
        since: time since the start of the plan of every team, in the periods from ``first`` on, (n, n_teams) s.
        references: of all teams, (n_teams, 28); written.
        arms: rows of their joints in the world, limits of their efforts, room for their states and efforts, and what is
            wanted of them in the periods from ``first`` on, (n, n_joints, 3).
        command: room for those of all vehicles, (n_vehicles, 4).
        limits: whether they act, and the arrays of :class:`rotor_core.vehicles.rotors.RotorLimits`, of the controller's
            rotors.
        plant, motors, helicopters: of :func:`rotor_flight.compiled.plant.plant_arguments`, ``motor_arguments`` and
            ``helicopter_arguments`` there.
        air: velocities of the air in the periods from ``drawn`` on, (n, 3) m/s, or none; rows of the bodies in it;
            and of ``air_arguments`` there.
        timing: start s, periods of the whole flight, steps per period, periods per recorded row; the periods from
            where to where are flown now; ``drawn``, the first whose command has not acted yet (the first, or the one
            after it); whether to return once the command of the last period acts, before it is recorded and flown.
        rows: :class:`rotor_flight.compiled.rows.Rows`, written; the last row is the end.
    """
    ints, floats, member_body, member_pose, motion = world
    truth, seen, (is_measured, sensing), (is_estimated, estimation), (is_askew, askew) = sensor
    of_joints, most_effort, joints, efforts, wanted = arms
    gains, plant_limits, rotors = plant
    drifts, gain_rates, drifted, has_trains, trains = motors
    train_states = trains[4]
    _, _, order, speeds, _, _ = rotors
    winds, airy, around = air
    feels, before_wakes = around[0], around[-1][0]
    start, periods, steps, every, first, end, drawn, stops = timing
    (
        times, states, reference_rows, commands, tensions, taut, touching, joint_rows, wanted_rows, effort_rows,
        seen_taut, train_rows,
    ) = rows  # fmt: skip
    n_joints, n_helicopters = efforts.shape[0], helicopters[0].shape[0]
    limited = 0
    for i in range(first, end):
        member_motion(ints, floats, member_body, member_pose, motion)
        t = time_of(floats)
        records = i % every == 0 or i == periods
        row = i // every if i % every == 0 else times.shape[0] - 1
        if records and seen_taut.shape[0] > 0:  # before anybody decides
            read_cables(ints, floats, tensions[row], seen_taut[row])
            copy_into(train_rows[row], train_states)
        if i >= drawn:
            if is_measured:
                sense_pose(truth, t, *sensing)
            if is_estimated:
                estimate(truth, t, *estimation)
            if is_askew:
                tell_wrongly(*askew)
            if n_joints > 0:
                read_joints(ints, floats, of_joints, joints)
            beyond = decide(
                seen, since[i - first], teams, references, joints, wanted[i - first], efforts, limits, command
            )  # fmt: skip
            if beyond > 0:
                limited += 1
            if records:
                copy_into(commands[row], command)
            if i < periods:
                if winds.shape[0] > 0 and feels:
                    for b in range(before_wakes.shape[0]):
                        for axis in range(3):
                            before_wakes[b, axis] = winds[i - drawn, axis]
                elif winds.shape[0] > 0:
                    hold_wind(ints, floats, airy, winds[i - drawn])
                    status = run(ints, floats, 0)
                    if status != OK:
                        return status, limited
                if n_joints > 0:
                    hold_efforts(ints, floats, of_joints, efforts, most_effort, i == 0)
                if has_trains and i > 0:
                    draw_power(ints, floats, order, speeds, trains)
                if drifts:
                    age_rotors(t - start, gain_rates, drifted)
                if n_helicopters > 0:
                    steering_of(command, helicopters)
                limit_to_plant(command, gains, plant_limits)
                if feels and not rotors[0]:
                    status = feel_air(ints, floats, motion, command, plant_limits, around)
                    if status != OK:
                        return status, limited
                hold_commands(ints, floats, command, plant_limits, rotors, i == 0)
                status = run(ints, floats, 0)
                if status == OK and feels and rotors[0]:
                    status = turn_in_air(ints, floats, motion, rotors, around)
                    if status == OK:
                        status = run(ints, floats, 0)
                if status == OK and n_helicopters > 0:
                    hold_helicopters(ints, floats, helicopters, i == 0)
                    status = run(ints, floats, 0)
                if status != OK:
                    return status, limited
                if has_trains and i == 0:  # the first command finds rotors at speed
                    draw_power(ints, floats, order, speeds, trains)
                read_touching(ints, floats, touching[i])
                if stops and i == end - 1:
                    return OK, limited
        if records:
            times[row] = t
            copy_into(states[row], motion)
            copy_into(reference_rows[row], references)
            read_cables(ints, floats, tensions[row], taut[row])
            if n_joints > 0:
                read_joints(ints, floats, of_joints, joint_rows[row])
                copy_into(wanted_rows[row], wanted[i - first])
                for j in range(n_joints):
                    effort_rows[row, j] = efforts[j]
        if i < periods:
            status = run(ints, floats, steps)
            if status != OK:
                return status, limited
    return OK, limited


def is_made_between(change: Change, simulation: Simulation) -> bool:
    """True if a change happens at once, in a plant that stays packed: no winch, no grip where contacts are counted."""
    if change.wind is not None:
        return False
    if change.attach is not None or change.release is not None:
        return not simulation.engine.system.contacts
    return change.motor is None or not isinstance(simulation.actuators, WrenchActuators)


def can_compile(loop: ClosedLoop) -> bool:
    """True if :func:`fly_compiled` can fly what :func:`rotor_flight.fly.fly` would."""
    simulation = loop.simulation
    return (
        is_flown_by_kernels(loop)
        and loop.pilot is None
        and all(type(plan) is Plan and plan.motors for plan in loop.plans.values())
        and all(is_made_between(change, simulation) for change in simulation.scenario.changes)
    )


def is_flown_by_kernels(loop: ClosedLoop) -> bool:
    """True if :func:`fly_world` does what a loop does in periods in which nobody but its laws decides."""
    simulation, controller = loop.simulation, loop.controller
    scenario, joints = simulation.scenario, simulation.engine.joints
    return (
        scenario.follows_plans
        and all(is_known(law) for law in controller.laws)
        and sum(len(team.vehicles) for team in controller.teams) == simulation.n_vehicles
        and is_packed(simulation.actuators, simulation.engine)
        and (simulation.rotor_air is None or not simulation.rotor_air.has_ceilings)
        and scenario.environment.wind.is_uniform
        and len(joints)
        == loop.arms.n + sum(h.stop - h.start for h in simulation.helicopters.joints)
        and not joints.is_driven.any()
    )


class Stretch(NamedTuple):
    """Control periods that are flown in one call.

    Attributes:
        first, end: from where to where.
        drawn: first whose command has not acted yet: ``first``, or the one after it.
        stops: once the command of the last one acts, the scenario changes something.
        changes: the scenario changes something at its end, then or with a fault.
    """

    first: int
    end: int
    drawn: int
    stops: bool
    changes: bool


def stretches(loop: ClosedLoop, periods: int, *, at_once: int) -> Iterator[Stretch]:
    """The calls in which a loop that :func:`can_compile` flies so many periods from its start, and records the end.

    ``at_once``: periods of the longest.
    """
    simulation, changes = loop.simulation, loop.simulation.changes
    faults = set(changes.fault_periods(simulation, periods))
    cuts = [(i + 1, False) for i in changes.periods(simulation, periods)]
    cuts += [(i, True) for i in {*range(at_once, periods + 1, at_once), *faults, periods + 1}]
    first = drawn = 0
    for end, is_flown in sorted(cuts):
        yield Stretch(first, end, drawn, not is_flown, not is_flown or end in faults)
        first, drawn = end if is_flown else end - 1, end


class Call:
    """A flight between two compiled calls.

    Args:
        loop: at its start; one that :func:`can_compile`.
        periods: of the whole flight.
        every: periods per row.
        rows: to be written; default new ones.

    Attributes:
        loop: as it goes on.
        rows: as they are written.
    """

    def __init__(
        self, loop: ClosedLoop, periods: int, every: int, rows: Rows | None = None
    ) -> None:
        self.loop, self.rows = loop, rows or Rows.of(loop, periods, every)
        self._periods, self._every = periods, every

    def arguments(self, stretch: Stretch) -> tuple:
        """Of :func:`fly_world` for the next stretch; the last one are the rows."""
        loop, periods = self.loop, self._periods
        loop.note_lengths()
        simulation, controller = loop.simulation, loop.controller
        scenario, engine = simulation.scenario, simulation.engine
        first, end, drawn, stops, _ = stretch
        n, n_joints = simulation.n_vehicles, loop.arms.n
        limits = controller.limits
        times = simulation.times(first, end)
        aims, (plans, since) = loop.arms.sample(times - START_TIME), loop.following(times)
        references = controller.references if controller.laws else np.zeros((1, REFERENCE))
        return (
            (engine.ints, engine.floats, engine.member_body, engine.member_pose, engine.motion),
            sensor_arguments(simulation, end - drawn),
            packed_teams(loop, plans),  # type: ignore[arg-type]
            since if controller.laws else np.zeros((end - first, 1)),
            references,
            (engine.joints.rows(np.arange(len(engine.joints)) < n_joints), engine.joints.limits[:n_joints],
             np.zeros((n_joints, 2)), controller.efforts, aims),
            np.zeros((n, 4)),
            (controller.limits_on, limits.unmixing, limits.counts, limits.thrusts, limits.asked),
            plant_arguments(simulation.actuators, engine),
            motor_arguments(simulation.actuators, simulation.supply),
            helicopter_arguments(simulation.helicopters, engine),
            (simulation.wind_ahead(drawn, min(end, periods)), np.array(engine.topology.rows, np.int64),
             air_arguments(simulation.actuators, engine)),
            (START_TIME, periods, scenario.time.steps_per_control, self._every, first, end, drawn, stops),
            tuple(self.rows),
        )  # fmt: skip

    def end(self, stretch: Stretch) -> None:
        """Take up what a stretch has left, and let the scenario change what it changes then."""
        simulation = self.loop.simulation
        simulation.engine.run(0)  # takes up the events of the log
        if stretch.stops:
            simulation.changes.make(simulation)
        elif stretch.changes:
            simulation.changes.begin_faults(simulation)


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

    Raises:
        SolverError: what the scenario attaches is out of reach.
    """
    if (
        every > 1 and loop.simulation.passing.watches
    ):  # what is passed through is seen in every period
        whole = fly_compiled(loop, duration, 1, progress)
        return None if whole is None else thinned(whole, every)
    periods = periods_of(loop, duration)
    call = Call(loop, periods, every)
    began, limited = wall.perf_counter(), 0
    for stretch in stretches(loop, periods, at_once=AT_ONCE):
        status, beyond = fly_world(*call.arguments(stretch))
        if status != OK:
            return None
        limited += beyond
        call.end(stretch)
        if progress is not None:
            progress(loop.simulation.time - START_TIME, duration)
    loop.simulation.note_touching(call.rows.touching)
    return flight_of(loop, call.rows, wall.perf_counter() - began, limited)


def thinned(flight: Flight, every: int) -> Flight:
    """One row per ``every`` control periods of a flight that has all, and the end."""
    rows = np.append(np.arange(0, len(flight.time), every), len(flight.time) - 1)
    return flight.at(np.unique(rows))


def periods_of(loop: ClosedLoop, duration: float) -> int:
    """Control periods of a flight of this duration, s."""
    return max(1, round(duration / loop.simulation.scenario.time.control_s))
