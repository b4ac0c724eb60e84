"""Decisions of a period as numbers: from what controllers see and their law to commands as the engine takes them."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined, kernel_without_gil
from rotor_dynamics.compiled_world import (
    hold_efforts,
    hold_speeds,
    hold_swash,
    hold_wind,
    hold_wrenches,
    read_joints,
)
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_dynamics.kinematics.members import member_motion
from rotor_flight.compiled.plant import limit_to_plant, steer, steering_of, wanted_speeds
from rotor_flight.compiled.teams import decide


@inlined
def decided_numbers(seen, joints, since, wanted, law, out):
    """Commands of a period, ``out`` (n_commands,), as the engine takes them.

    Wrenches of vehicles (of helicopters the force of their tail) or speeds of all their rotors; efforts of arms;
    torques of the engines of helicopters, and angles of their swashplates.

    Args:
        seen: states of all entities, (n, >= 13).
        joints: of all arms, then the shafts of helicopters, (n_joints + n_helicopters, 2).
        since: time since the start of the plan of every team, (n_teams,) s.
        wanted: angles, rates and accelerations of the joints of arms, (n_joints, 3).
        law: teams, references, efforts, commands, limits of the controller, the plant, and helicopters; as of
            :func:`rotor_flight.compiled.flights.fly_world`.
        out: written.
    """
    teams, references, efforts, command, limits, (gains, plant_limits, rotors), helicopters = law
    vehicles, _, _, _, _, _, _, _, angles, torques, tails = helicopters
    decide(seen, since, teams, references, joints, wanted, efforts, limits, command)
    n_arms, n_heads = efforts.shape[0], vehicles.shape[0]
    if n_heads > 0:
        steering_of(command, helicopters)
    limit_to_plant(command, gains, plant_limits)
    for i in range(n_heads):
        steer(helicopters, i, joints[n_arms + i, 1])
        for channel in range(4):
            command[vehicles[i], channel] = tails[i, channel]
    n = 4 * command.shape[0]
    if rotors[0]:
        wanted_speeds(command, plant_limits, rotors)
        speeds = rotors[3]
        n = speeds.shape[0]
        for i in range(n):
            out[i] = speeds[i]
    else:
        for k in range(command.shape[0]):
            for channel in range(4):
                out[4 * k + channel] = command[k, channel]
    for j in range(n_arms):
        out[n + j] = efforts[j]
    for i in range(n_heads):
        out[n + n_arms + i] = torques[i]
        for k in range(3):
            out[n + n_arms + n_heads + 3 * i + k] = angles[i, k]


@kernel_without_gil
def fly_noted(world, arms, law, since, wanted, air, steps, numbers, noted, commands, kept):
    """Fly under a law, as :func:`rotor_flight.compiled.flights.fly_world` does, and note what it remembers.

    Args:
        world: ints and floats of the engine, bodies and poses of all members, and their motion, changed.
        arms: rows of the joints in the world that the law sees, limits of the efforts of arms, and room for the states
            of these joints.
        law: as for :func:`decided_numbers`; its numbers are views of ``numbers``.
        since, wanted: of all periods, (N, n_teams) s and (N, n_joints, 3).
        air: its velocity in all periods, (N, 3) m/s, or (N, 0): as it was; rows of the bodies in it.
        steps: of a period.
        numbers: of the law, (n,), changed.
        noted: those that are noted before every period, (n_noted,).
        commands: of all periods, (N, n_commands), written.
        kept: what is noted, (N, n_noted), written.

    Returns:
        Status of the engine.
    """
    ints, floats, member_body, member_pose, motion = world
    of_joints, most_effort, joints = arms
    _, _, efforts, command, _, (_, _, rotors), helicopters = law
    n_arms = efforts.shape[0]
    winds, airy = air
    for i in range(since.shape[0]):
        for c in range(noted.shape[0]):
            kept[i, c] = numbers[noted[c]]
        member_motion(ints, floats, member_body, member_pose, motion)
        read_joints(ints, floats, of_joints, joints)
        decided_numbers(motion, joints, since[i], wanted[i], law, commands[i])
        if winds.shape[1] > 0:
            hold_wind(ints, floats, airy, winds[i])
            status = run(ints, floats, 0)
            if status != OK:
                return status
        if n_arms > 0:
            hold_efforts(ints, floats, of_joints[:n_arms], efforts, most_effort, i == 0)
        if rotors[0]:
            hold_speeds(ints, floats, rotors[2], rotors[3], i == 0)
        else:
            hold_wrenches(ints, floats, command)
        if helicopters[0].shape[0] > 0:
            _, shafts, _, _, _, _, most_torque, _, angles, torques, _ = helicopters
            hold_efforts(ints, floats, shafts, torques, most_torque, False)
            hold_swash(ints, floats, angles, i == 0)
        status = run(ints, floats, 0)
        if status == OK:
            status = run(ints, floats, steps)
        if status != OK:
            return status
    return OK
