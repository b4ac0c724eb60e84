"""Access to a world for compiled loops outside the engine: its time, inputs and cables, without Python objects."""

from __future__ import annotations

from rotor_core._jit import inlined
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED


@inlined
def time_of(floats):
    """Time of the state, s."""
    return floats[memory.TIME]


@inlined
def hold_wrenches(ints, floats, wrenches):
    """Hold thrust and moment of every input, (n_inputs, 4), from now on.

    The next run with no step takes the change up.
    """
    world = memory.views(ints, floats)
    for k in range(wrenches.shape[0]):
        for channel in range(4):
            world.inputs[k, memory.BIAS + channel] = wrenches[k, channel]
    world.head[memory.WHAT] = INPUT_CHANGED
    world.head[memory.WHICH] = 0


@inlined
def read_cables(ints, floats, tensions, taut):
    """Write tension (N) and tautness of the first cables, as many as ``tensions`` has room for."""
    world = memory.views(ints, floats)
    for k in range(tensions.shape[0]):
        tensions[k] = world.constraints[k, memory.TENSION_0]
        taut[k] = world.constraint_int[k, memory.TAUT] != 0
