"""One trial step by whatever method a world asks for."""

from __future__ import annotations

from rotor_core._jit import kernel
from rotor_dynamics import memory
from rotor_dynamics.integrators.classical import classical, euler
from rotor_dynamics.integrators.dopri5 import dopri5
from rotor_dynamics.integrators.methods import DOPRI5, EULER, SPLITTING
from rotor_dynamics.integrators.splitting import splitting


@kernel
def advance(ints, floats, t, h):
    """One trial step of length h from the start (its slope is slope 0) to the end (its slope is the last).

    The taut set stays fixed. The end is projected onto the taut constraints. Writes per taut cable
    the tension at the end (TENSION), near the middle (TENSION_MID) and the smallest over all stages
    (TENSION_MIN).
    """
    world = memory.views(ints, floats)
    method = world.head[memory.METHOD]
    world.head[memory.INCONSISTENT] = 0
    world.head[memory.COARSE] = 0
    for k in range(world.head[memory.N_CONSTRAINTS]):
        world.constraints[k, memory.TENSION_MIN] = world.constraints[k, memory.TENSION_0]
    if method == EULER:
        euler(ints, floats, t, h)
    elif method == SPLITTING:
        splitting(ints, floats, t, h)
    elif method == DOPRI5:
        dopri5(ints, floats, t, h)
    else:
        classical(ints, floats, world, t, h)
