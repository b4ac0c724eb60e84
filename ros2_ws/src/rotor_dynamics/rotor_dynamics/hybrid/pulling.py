"""Active set of cables and stops: the complementarity problems of impacts and of accelerations (H.1), (H.2)."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import INT, WORLD, linked
from rotor_core.math.complementarity import ALWAYS, solve_complementarity
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import NONE_YET, assemble, has_more

AT_REST = 1e-10
"""Gap rates below this count as zero when the taut set is chosen, m/s."""


@inlined
def listed(world, k):
    """True if constraint k may pull and is not a capstan, whose part depends on its cable."""
    numbers = world.constraint_int[k]
    return numbers[memory.CANDIDATE] != 0 and numbers[memory.ALIVE] != memory.RUBS


@inlined
def is_equation(world, k):
    """True if constraint k pulls and pushes: a rod, a capstan to which its cable sticks."""
    alive = world.constraint_int[k, memory.ALIVE]
    return alive == memory.JOINS or alive == memory.RUBS


@inlined
def candidates(ints, floats, world):
    """List the cables with CANDIDATE set in ``world.order[0]`` and assemble A over them.

    Their number.
    """
    n = NONE_YET
    for k in range(world.head[memory.N_CONSTRAINTS]):
        if listed(world, k):
            world.order[0, n] = k
            n += 1
    assemble(ints, floats, world, n, has_more(world))
    return n


@inlined
def takes_part(world, k):
    """True if constraint k pulls after a complementarity problem was solved, or is a rod (S.3)."""
    rod = world.constraint_int[k, memory.ALIVE] == memory.JOINS
    return rod or world.constraints[k, memory.MULTIPLIER] > 0.0


@linked(*WORLD, INT, INT)
def complement(ints, floats, n, column):
    """Solve the complementarity problem of the n listed cables with right side ``column``.

    Multipliers in MULTIPLIER.
    """
    world = memory.views(ints, floats)
    b = world.small[0]
    inside = world.order[2]
    for i in range(n):
        b[i] = world.constraints[world.order[0, i], column]
        inside[i] = ALWAYS if is_equation(world, world.order[0, i]) else 1
    place = world.order[1]
    z = world.small[1]
    w = world.small[2]
    exchanges = solve_complementarity(
        world.matrix,
        b,
        n,
        z,
        w,
        inside,
        place,
        world.order[3],
        world.order[4],
        world.block,
        world.factor,
        world.small[3:6],
    )
    if exchanges < 0:
        world.head[memory.UNSOLVED] = 1
    else:
        world.head[memory.EXCHANGES] += exchanges
    for k in range(world.head[memory.N_CONSTRAINTS]):
        world.constraints[k, memory.MULTIPLIER] = 0.0
    for i in range(n):
        k = world.order[0, i]
        world.constraints[k, memory.MULTIPLIER] = z[i]
        world.constraints[k, memory.RATE_PLUS] = -w[i]
