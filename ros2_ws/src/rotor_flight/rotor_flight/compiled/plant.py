"""Actuators of compiled flights: how commands act on the plant."""

from __future__ import annotations

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_core.vehicles.rotors import limit_wrenches, rotor_speeds, rotor_thrusts
from rotor_dynamics.compiled_world import (
    hold_efforts,
    hold_shares,
    hold_speeds,
    hold_swash,
    hold_winds,
    hold_wrench,
    hold_wrenches,
    joint_rate,
    read_speeds,
    time_of,
)
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_sim.actuation.helicopter import (
    TAIL,
    Helicopters,
    govern,
    limit_steering,
    swash_angles,
)
from rotor_sim.actuation.modes import (
    Actuators,
    RotorActuators,
    WrenchActuators,
    bound_speeds,
    give_in_air,
    thrusts_at,
)
from rotor_sim.actuation.power import PowerSupply, supply
from rotor_sim.environment.rotor_air import look_at_air


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
def feel_air(ints, floats, motion, command, plant_limits, around):
    """Turn commands (n, 4) into what rotors give for them in the air around, which moves; returns the engine's status.

    As :class:`rotor_sim.actuation.modes.WrenchActuators` does. ``motion``: of all bodies.
    """
    _, unmixing, counts, _, _ = plant_limits
    _, thrusts, _, _, mixing, torques, places, seen = around
    rotor_thrusts(unmixing, counts, command, thrusts)
    look_at_air(motion, thrusts, *seen)
    hold_winds(ints, floats, *places, seen[-2])
    give_in_air(thrusts, seen[-1], counts, mixing, torques, command)
    return run(ints, floats, 0)


@inlined
def turn_in_air(ints, floats, motion, rotors, around):
    """Let rotors that turn give what they do in the air around, which moves; returns the status of the engine.

    As :class:`rotor_sim.actuation.modes.RotorActuators` does. The next run with no step takes it up.
    """
    _, _, order, speeds, _, _ = rotors
    _, thrusts, per_speed2, still, _, _, places, seen = around
    read_speeds(ints, floats, order, speeds)
    thrusts_at(speeds, per_speed2, thrusts)
    look_at_air(motion, thrusts, *seen)
    hold_winds(ints, floats, *places, seen[-2])
    status = run(ints, floats, 0)
    if status == OK:
        hold_shares(ints, floats, order, still, seen[-1])
    return status


@inlined
def wanted_speeds(command, plant_limits, rotors):
    """Speeds that rotors are told for commands (n, 4), into the room that they have for them."""
    _, unmixing, counts, _, _ = plant_limits
    _, per_speed2, _, speeds, is_bounded, bounds = rotors
    rotor_speeds(unmixing, counts, per_speed2, command, speeds)
    if is_bounded:
        bound_speeds(speeds, *bounds)


@inlined
def hold_commands(ints, floats, command, plant_limits, rotors, begins):
    """Let commands (n, 4) act, by rotors or at once; the next run with no step takes them up.

    ``begins``: rotors have been turning so.
    """
    rotors_on, _, order, speeds, _, _ = rotors
    if rotors_on:
        wanted_speeds(command, plant_limits, rotors)
        hold_speeds(ints, floats, order, speeds, begins)
    else:
        hold_wrenches(ints, floats, command)


@inlined
def draw_power(ints, floats, order, speeds, train):
    """Let motors and batteries take up the speeds at which rotors turn now, (n_rotors,) rad/s, written."""
    read_speeds(ints, floats, order, speeds)
    supply(time_of(floats), speeds, *train)


@inlined
def steering_of(command, helicopters):
    """Keep what helicopters are told, within what they can do, before all commands (n_vehicles, 4) are limited."""
    vehicles, _, settings, _, _, _, _, told, _, _, _ = helicopters
    limit_steering(command, vehicles, settings)
    for i in range(vehicles.shape[0]):
        for channel in range(4):
            told[i, channel] = command[vehicles[i], channel]


@inlined
def steer(helicopters, i, speed):
    """Let helicopter i do what it is told, into the room for it: angles of its swashplate, force of its tail, torque.

    As :meth:`rotor_sim.actuation.helicopter.Helicopters.act` does. ``speed``: of its rotor, rad/s.
    """
    _, _, settings, health, period, memory, _, told, angles, torques, tails = helicopters
    swash_angles(told[i], settings[i], angles[i])
    tails[i, TAIL] = told[i, TAIL]
    torques[i] = govern(told[i], speed, settings[i], health[i], period, memory[i])


@inlined
def hold_helicopters(ints, floats, helicopters, begins):
    """Let helicopters do what they are told, and their governors act; the next run with no step takes it up.

    ``begins``: swashplates have been there for long.
    """
    vehicles, joints, _, _, _, _, most, _, angles, torques, tails = helicopters
    for i in range(vehicles.shape[0]):
        steer(helicopters, i, joint_rate(ints, floats, joints[i]))
        hold_wrench(ints, floats, vehicles[i], tails[i])
    hold_efforts(ints, floats, joints, torques, most, False)
    hold_swash(ints, floats, angles, begins)


def is_packed(actuators: Actuators, engine: Engine) -> bool:
    """True if :func:`plant_arguments` say all about them: wrenches that only limits bound, or speeds of all rotors."""
    if isinstance(actuators, RotorActuators):
        return len(actuators.health) == len(engine.system.rotors)
    return isinstance(actuators, WrenchActuators) and actuators.are_free


def acts_simply(actuators: Actuators, engine: Engine) -> bool:
    """True if commands are wrenches, whose thrust may drift, or speeds of all rotors, which nothing bounds."""
    if isinstance(actuators, RotorActuators):
        return actuators.are_free and is_packed(actuators, engine)
    return isinstance(actuators, WrenchActuators)


def plant_arguments(actuators: Actuators, engine: Engine) -> tuple[np.ndarray, tuple, tuple]:
    """Gains, limits and rotors of a plant that :func:`is_packed` or :func:`acts_simply`, for :func:`hold_commands`."""
    layouts, none = actuators.layouts, np.zeros(0)
    limits = (
        actuators.limits is not None, layouts.unmixing, layouts.counts, layouts.thrusts, layouts.asked,
    )  # fmt: skip
    if isinstance(actuators, RotorActuators):
        order = engine.rotors.order
        bounded = not actuators.are_free, actuators.bounds()
        rotors = True, actuators.per_speed2, order, np.zeros(len(order)), *bounded
        return np.ones(len(actuators.sets)), limits, rotors
    rows = np.zeros(0, np.int64)
    rotors = False, none, rows, none, False, (rows, none, none, none, none)
    return actuators.gain[:, 0], limits, rotors  # type: ignore[attr-defined]


def air_arguments(actuators: Actuators, engine: Engine) -> tuple:
    """The air around rotors, for :func:`feel_air` and :func:`turn_in_air`: whether they feel it, and the rest."""
    around = actuators.rotor_air
    if around is None:
        return False, *NO_AIR
    mixing, torques = NO_AIR[3:5]
    if isinstance(actuators, WrenchActuators):
        mixing, torques = actuators.mixing, actuators.torques
    members = [group.members[0] for group in engine.groups]
    places = np.array(engine.topology.rows, np.int64), np.array(members, np.int64)
    return (
        True, actuators.thrusts, around.per_speed2, engine.rotors.still, mixing, torques, places, around.packed,
    )  # fmt: skip


def motor_arguments(actuators: Actuators, power: PowerSupply) -> tuple:
    """Arguments of drifting thrust (if any, rates, what is left) and of ``supply`` (if there are trains)."""
    trains = len(power.trains) > 0, power.arguments(actuators)
    return actuators.drifts, actuators.gain_rates, actuators.drifted, *trains


def helicopter_arguments(helicopters: Helicopters, engine: Engine) -> tuple:
    """Helicopters for :func:`hold_helicopters`: rows among vehicles and joints, settings, what they are and do."""
    n = len(helicopters)
    first = np.array([own.start for own in helicopters.joints], np.int64)
    every = engine.joints.rows(np.full(len(engine.joints), True))
    return (
        np.array(helicopters.vehicles, np.int64), every[first], helicopters.settings, helicopters.health,
        helicopters.period, helicopters.memory, engine.joints.limits[first], np.zeros((n, 4)), np.zeros((n, 3)),
        np.zeros(n), np.zeros((n, 4)),
    )  # fmt: skip


_NOTHING, _ROWS, _TABLE, _COUNTS = (
    np.zeros(0),
    np.zeros((0, 0)),
    np.zeros((0, 0, 0)),
    np.zeros(0, np.int64),
)
NO_AIR = (
    _NOTHING, _NOTHING, _ROWS, _TABLE, _TABLE, (_COUNTS, _COUNTS),
    (_ROWS, _NOTHING, _COUNTS, _ROWS, _ROWS, _ROWS, _ROWS, _COUNTS, _TABLE, _ROWS, _COUNTS, _COUNTS, *5 * (_ROWS,)),
)  # fmt: skip
"""In the place of what :func:`air_arguments` says of the air around rotors that do not feel it."""
