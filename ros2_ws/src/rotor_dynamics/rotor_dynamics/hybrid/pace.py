"""Lengths of the trials of a step: what is left of it, or what an adaptive method or error control asks for."""

from __future__ import annotations

from math import ceil, inf

from rotor_core.kernels.jit import constants, inlined
from rotor_dynamics import memory
from rotor_dynamics.collisions.press import is_brief
from rotor_dynamics.integrators.audit import excess
from rotor_dynamics.integrators.dopri5 import SAFETY, estimated_error, step_factor

STANDS, SHORTER, HOPELESS = constants(*range(3))
"""What becomes of a trial: its error is allowed, it is taken again in a shorter step, or no shorter one will do."""

SMALLEST_STEP = 1e-12
"""Adaptive methods give up below this step, s."""

SHORTEST_SUBSTEP = 1e-5
"""Error control cuts a fixed step into parts of this share of it, not shorter ones."""

MOST_EXCESS = 100.0
"""Steps that short which miss what is allowed by this factor end the run; others are taken as they are."""

CAUTION, STRONGEST_CUT, ORDER = 0.9, 0.1, 4.0
"""Of the next step over this one: below what the estimate says, at least; and the order of the error per second."""


@inlined
def trial_length(world, t, t_end):
    """Length of the next trial: all that is left, or what an adaptive method or error control proposes."""
    left = t_end - t
    proposed = world.scalars[memory.NEXT_STEP]
    if proposed >= left:
        return left
    if world.head[memory.ADAPTIVE] != 0:
        return 0.5 * left if proposed > 0.5 * left else proposed  # no tiny remainder
    return left / ceil(left / proposed)


@inlined
def factor_of(over):
    """The step that an error ``over`` times the allowed one asks for, over the present one."""
    if over == 0.0:
        return inf
    return max(STRONGEST_CUT, CAUTION * over ** (-1.0 / ORDER))


@inlined
def adapt(ints, floats, world, h):
    """Judge a trial of length h of an adaptive method, and propose the next length.

    Returns:
        What becomes of the trial.
    """
    error = estimated_error(ints, floats, h)
    if error > 1.0:
        world.scalars[memory.NEXT_STEP] = h * min(SAFETY, step_factor(error))
        return HOPELESS if world.scalars[memory.NEXT_STEP] < SMALLEST_STEP else SHORTER
    longer = h * step_factor(error)
    if h < world.scalars[memory.NEXT_STEP]:  # it was cut short, and says little
        longer = max(longer, world.scalars[memory.NEXT_STEP])
    world.scalars[memory.NEXT_STEP] = longer
    return STANDS


@inlined
def control(world, h, allowed, shortest):
    """Judge a trial of length h of a fixed step by its estimated error, and propose the next length.

    Args:
        allowed: error per second.
        shortest: length that error control does not go below, s.

    Returns:
        What becomes of the trial; it stands always where errors are only estimated.
    """
    over = excess(world, h, allowed)
    if world.head[memory.PRESSED] != 0 and is_brief(world, h):
        over = 0.0  # pieces between impacts: what presses there presses hard, for no time
    if world.head[memory.CONTROLLED] != 0 and over > 1.0:
        if h > shortest:
            world.scalars[memory.NEXT_STEP] = max(h * factor_of(over), shortest)
            return SHORTER
        if over > MOST_EXCESS and world.head[memory.KINKED] == 0:
            world.head[memory.BAD_BODY] = int(world.scalars[memory.WORST_BODY])
            return HOPELESS
    elif world.scalars[memory.NEXT_STEP] < inf:
        longer = h * factor_of(over)
        world.scalars[memory.NEXT_STEP] = max(world.scalars[memory.NEXT_STEP], longer)
    return STANDS
