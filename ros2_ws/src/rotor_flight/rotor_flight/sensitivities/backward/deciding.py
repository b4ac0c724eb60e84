"""Decisions of a period as numbers: from what controllers see and their law to commands as the engine takes them."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined, kernel_without_gil
from rotor_dynamics.compiled_world import hold_efforts, hold_speeds, hold_wrenches, read_joints
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_dynamics.kinematics.members import member_motion
from rotor_flight.compiled.plant import limit_to_plant, wanted_speeds
from rotor_flight.compiled.teams import decide


@inlined
def decided_numbers(seen, joints, since, wanted, law, out):
    """Commands of a period, ``out`` (n_commands,): wrenches of vehicles or speeds of all their rotors, then efforts.

    Args:
        seen: states of all entities, (n, >= 13).
        joints: of all arms, (n_joints, 2).
        since: time since the start of the plan of every team, (n_teams,) s.
        wanted: angles, rates and accelerations of the joints, (n_joints, 3).
        law: teams, references, efforts, commands, limits of the controller, and the plant; as of
            :func:`rotor_flight.compiled.flights.fly_world`.
        out: written.
    """
    teams, references, efforts, command, limits, (gains, plant_limits, rotors) = law
    decide(seen, since, teams, references, joints, wanted, efforts, limits, command)
    limit_to_plant(command, gains, plant_limits)
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
    for j in range(efforts.shape[0]):
        out[n + j] = efforts[j]


@kernel_without_gil
def fly_noted(world, arms, law, since, wanted, steps, numbers, noted, commands, kept):
    """Fly under a law, as :func:`rotor_flight.compiled.flights.fly_world` does, and note what it remembers.

    Args:
        world: ints and floats of the engine, bodies and poses of all members, and their motion, changed.
        arms: rows of their joints in the world, limits of their efforts, and room for their states, (n_joints, 2).
        law: as for :func:`decided_numbers`; its numbers are views of ``numbers``.
        since, wanted: of all periods, (N, n_teams) s and (N, n_joints, 3).
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
    _, _, efforts, command, _, (_, _, rotors) = law
    for i in range(since.shape[0]):
        for c in range(noted.shape[0]):
            kept[i, c] = numbers[noted[c]]
        member_motion(ints, floats, member_body, member_pose, motion)
        read_joints(ints, floats, of_joints, joints)
        decided_numbers(motion, joints, since[i], wanted[i], law, commands[i])
        if efforts.shape[0] > 0:
            hold_efforts(ints, floats, of_joints, efforts, most_effort, i == 0)
        if rotors[0]:
            hold_speeds(ints, floats, rotors[2], rotors[3], i == 0)
        else:
            hold_wrenches(ints, floats, command)
        status = run(ints, floats, 0)
        if status == OK:
            status = run(ints, floats, steps)
        if status != OK:
            return status
    return OK
