"""Access to a world for compiled loops outside the engine: its time, inputs and cables, without Python objects."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined, kernel
from rotor_dynamics import memory
from rotor_dynamics.actuation.joints import command_efforts
from rotor_dynamics.actuation.rotors import command_speeds, scale_rotors, speeds_now
from rotor_dynamics.actuation.swashplates import command_swash
from rotor_dynamics.hybrid.impact import INPUT_CHANGED, RATES_JUMPED


@inlined
def time_of(floats):
    """Time of the state, s."""
    return floats[memory.TIME]


@kernel
def times_at(floats, first, every, out):
    """Write the times at the ends of steps ``first``, ``first + every``, ..., s, as the engine will round them."""
    for i in range(out.shape[0]):
        step = first + i * every
        out[i] = floats[memory.ORIGIN] + step * floats[memory.STEP_LENGTH]


@inlined
def note_change(world, what):
    """Say what has been changed from outside; the next run with no step takes it up."""
    world.head[memory.WHAT] = what
    world.head[memory.WHICH] = 0


@inlined
def hold_wrenches(ints, floats, wrenches):
    """Hold thrust and moment of every input, (n_inputs, 4), from now on.

    The next run with no step takes the change up.
    """
    world = memory.views(ints, floats)
    for k in range(wrenches.shape[0]):
        for channel in range(4):
            world.inputs[k, memory.BIAS + channel] = wrenches[k, channel]
    note_change(world, INPUT_CHANGED)


@inlined
def hold_wrench(ints, floats, row, wrench):
    """Hold thrust and moment of one input, (4,), from now on; the next run with no step takes it up."""
    world = memory.views(ints, floats)
    for channel in range(4):
        world.inputs[row, memory.BIAS + channel] = wrench[channel]
    note_change(world, INPUT_CHANGED)


@inlined
def hold_wind(ints, floats, rows, air):
    """Let the air move at the bodies in these rows, (3,) m/s in W; the next run with no step takes it up."""
    world = memory.views(ints, floats)
    for i in range(rows.shape[0]):
        for axis in range(3):
            world.bodies[rows[i], memory.WIND + axis] = air[axis]
    note_change(world, INPUT_CHANGED)


@inlined
def hold_winds(ints, floats, rows, members, air):
    """Let the air move at the bodies in these rows as at these members, (n_members, 3) m/s in W."""
    world = memory.views(ints, floats)
    for i in range(rows.shape[0]):
        for axis in range(3):
            world.bodies[rows[i], memory.WIND + axis] = air[members[i], axis]
    note_change(world, INPUT_CHANGED)


@inlined
def hold_shares(ints, floats, order, still, factors):
    """Let rotors give these shares (2, n) of thrust and drag torque in air at rest; the next run takes it up.

    As :meth:`rotor_dynamics.actuation.rotors.RotorDrive.scale` does.
    """
    world = memory.views(ints, floats)
    scale_rotors(world.rotors, order, still, factors)
    note_change(world, INPUT_CHANGED)


@inlined
def hold_speeds(ints, floats, order, speeds, begins):
    """Command the speeds of all rotors, or (``begins``) let them have been turning so.

    As :class:`rotor_dynamics.actuation.rotors.RotorDrive` does; the next run with no step takes it up. ``order``: rows
    of the rotors, as the user counts them.
    """
    world = memory.views(ints, floats)
    jumped = False
    if begins:
        for i in range(order.shape[0]):
            world.rotors[order[i], memory.SPEED_BIAS] = speeds[i]
            world.rotors[order[i], memory.SPEED_OFFSET] = 0.0
    else:
        jumped = command_speeds(ints, floats, order, time_of(floats), speeds)
    note_change(world, RATES_JUMPED if jumped else INPUT_CHANGED)


@inlined
def read_speeds(ints, floats, order, speeds):
    """Write the speeds at which rotors turn now, (n,) rad/s. ``order``: their rows, as the user counts them."""
    speeds_now(memory.views(ints, floats).rotors, order, time_of(floats), speeds)


@inlined
def hold_efforts(ints, floats, rows, efforts, limits, at_once):
    """Command the efforts of the joints in these rows, (n,) N m or N; the next run with no step takes it up."""
    world = memory.views(ints, floats)
    command_efforts(world.joints, rows, time_of(floats), efforts, limits, at_once)
    note_change(world, INPUT_CHANGED)


@inlined
def put_time(ints, floats, t):
    """Set the time, s: for inputs that came before a world begins. Nothing moves."""
    memory.views(ints, floats).scalars[memory.TIME] = t


@inlined
def hold_swash(ints, floats, angles, at_once):
    """Command the angles of all swashplates, (n_discs, 3) rad; the next run with no step takes it up."""
    world = memory.views(ints, floats)
    command_swash(world.discs, time_of(floats), angles, at_once)
    note_change(world, INPUT_CHANGED)


@inlined
def joint_rate(ints, floats, joint):
    """Rate of the joint in this row, rad/s or m/s."""
    world = memory.views(ints, floats)
    row = world.joint_int[joint, memory.JOINT_ROW]
    return world.states[memory.START, row, memory.V]


@inlined
def read_joints(ints, floats, rows, joints):
    """Write angle and rate, (n, 2), of the joints in these rows."""
    world = memory.views(ints, floats)
    for i in range(rows.shape[0]):
        row = world.joint_int[rows[i], memory.JOINT_ROW]
        joints[i, 0] = world.states[memory.START, row, memory.P]
        joints[i, 1] = world.states[memory.START, row, memory.V]


@inlined
def read_cables(ints, floats, tensions, taut):
    """Write tension (N) and tautness of the first cables, as many as ``tensions`` has room for."""
    world = memory.views(ints, floats)
    for k in range(tensions.shape[0]):
        tensions[k] = world.constraints[k, memory.TENSION_0]
        row = world.constraint_int[k]
        taut[k] = row[memory.TAUT] + row[memory.STRETCHED] != 0


@inlined
def read_touching(ints, floats, touching):
    """Write which compliant contacts touched at the end of the last step, (n_contacts,) bool."""
    world = memory.views(ints, floats)
    for k in range(touching.shape[0]):
        touching[k] = world.contact_int[k, memory.TOUCHES] != 0
