"""One trial step by whatever method a world asks for."""

from __future__ import annotations

from rotor_core._jit import kernel
from rotor_sim.integrators.classical import classical, euler
from rotor_sim.integrators.dopri5 import dopri5
from rotor_sim.integrators.methods import DOPRI5, EULER, SPLITTING
from rotor_sim.integrators.splitting import splitting
from rotor_sim.model import layout as at


@kernel
def advance(ints, floats, t, h):
    """One trial step of length h from the start (its slope is slope 0) to the end (its slope is the last).

    The taut set stays fixed. The end is projected onto the taut constraints. Writes per taut cable
    the tension at the end (TENSION), near the middle (TENSION_MID) and the smallest over all stages
    (TENSION_MIN).
    """
    world = at.views(ints, floats)
    method = world.head[at.METHOD]
    world.head[at.INCONSISTENT] = 0
    world.head[at.COARSE] = 0
    for k in range(world.head[at.N_CABLES]):
        world.cables[k, at.TENSION_MIN] = world.cables[k, at.TENSION_0]
    if method == EULER:
        euler(ints, floats, t, h)
    elif method == SPLITTING:
        splitting(ints, floats, t, h)
    elif method == DOPRI5:
        dopri5(ints, floats, t, h)
    else:
        classical(ints, floats, world, t, h)
