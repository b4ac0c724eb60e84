"""Active set of cables that rub, and where they stick or slide: complementarity with friction on capstans.

Between changes every capstan sticks or slides one way. A change asks which, for impulses or for tensions: cables that
pull are those of the complementarity problem (H.1), (H.2) with the forces of capstans that slide on its right side;
what sticks is an equation. Ways that the solution contradicts are changed until none is left. Equation (W.16),
docs/theory/routes.md.
"""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import INT, WORLD, linked
from rotor_core.math.factor import factorize
from rotor_dynamics import memory
from rotor_dynamics.constraints.capstans import (
    FORCES,
    PART,
    PULLS,
    cable_on,
    gain,
    list_sliding,
    rub,
)
from rotor_dynamics.constraints.routes import cable_routes
from rotor_dynamics.constraints.unilateral import NONE_YET, assemble, has_more, least_norm
from rotor_dynamics.hybrid.pulling import (
    AT_REST,
    candidates,
    complement,
    is_equation,
    listed,
)

ATTEMPTS = 60
"""Most changes of ways before a problem counts as unsolved."""

ALL_AT_ONCE = 10
"""Attempts in which all ways that are contradicted change; then the first one does."""

ROUNDS = 30
"""Most exchanges between the forces of capstans and who pulls."""

SAME = 1e-13
"""Share of the largest force below which two rounds agree."""

BEYOND = 1e-12
"""Share of its limit by which a capstan that sticks may be beyond it."""

BACKWARDS = 1e-11
"""Speed (or acceleration) against its way at which a cable does not slide, m/s (m/s^2)."""


@inlined
def capstan_row(world, c):
    """Constraint of capstan c."""
    return world.route_int[c, memory.ROUTE_CONSTRAINT]


@inlined
def release_capstans(world):
    """Nothing sticks to any capstan while it is asked who pulls."""
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k = capstan_row(world, c)
        world.constraint_int[k, memory.TAUT] = world.constraint_int[k, memory.CANDIDATE] = 0


@inlined
def list_rubbing(ints, floats, world):
    """List what may pull, then the capstans that stick, and assemble A over them and those that slide behind.

    Returns:
        (number of the former two, number of those that slide).
    """
    n = NONE_YET
    for k in range(world.head[memory.N_CONSTRAINTS]):
        if listed(world, k):
            world.order[0, n] = k
            n += 1
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k = capstan_row(world, c)
        if world.constraint_int[k, memory.CANDIDATE] != 0:
            world.order[0, n] = k
            n += 1
    m = list_sliding(ints, floats, n, memory.CANDIDATE)
    assemble(ints, floats, world, n + m, has_more(world))
    return n, m


@inlined
def begin_ways(world):
    """First guess: cables slide as they do, and stick where they are at rest."""
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k = capstan_row(world, c)
        number, speed = world.constraint_int[k], world.constraints[k, memory.RATE]
        bent = world.routes[c, memory.HOLDS_RATIO] > 0.0
        if number[memory.IGNORED] == 0:
            number[memory.SLIDES] = 0
            if bent and abs(speed) > AT_REST:
                number[memory.SLIDES] = 1 if speed > 0.0 else -1
        may = world.constraint_int[cable_on(world, c), memory.CANDIDATE] != 0
        sticks = may and bent and number[memory.SLIDES] == 0
        number[memory.CANDIDATE] = 1 if sticks else 0


@inlined
def solve_exactly(ints, floats, world, n, m, column):
    """Pulls of those of n listed constraints that pull, and forces of m capstans that slide behind them.

    Into MULTIPLIER, with what the cables slide by afterwards in RATE_PLUS; True if the forces are those of before.
    """
    pulls, forces = world.small[PULLS], world.small[FORCES]
    active = NONE_YET
    for i in range(n):
        k = world.order[0, i]
        if is_equation(world, k) or world.constraints[k, memory.MULTIPLIER] > 0.0:
            world.order[0, active] = k
            active += 1
    for j in range(m):
        k = world.order[0, n + j]
        world.order[0, active + j] = k
        world.constraints[k, memory.MULTIPLIER] = forces[j]
    assemble(ints, floats, world, active + m, has_more(world))
    redundant = factorize(world.matrix, world.factor, active, world.order[3])
    for i in range(active):
        pulls[i] = world.constraints[world.order[0, i], column]
    least_norm(world, active, pulls)
    rub(ints, floats, active, m, redundant)
    largest, moved = 0.0, 0.0
    for j in range(m):
        c = world.constraints[world.order[0, active + j]]
        largest = max(largest, abs(forces[j]))
        moved = max(moved, abs(forces[j] - c[memory.MULTIPLIER]))
        c[memory.MULTIPLIER] = forces[j]
        left = c[column]
        for i in range(active):
            left -= world.matrix[active + j, i] * pulls[i]
        for h in range(m):
            left -= world.matrix[active + max(j, h), active + min(j, h)] * forces[h]
        c[memory.RATE_PLUS] = left
    return moved <= SAME * largest


@inlined
def solve_given_ways(ints, floats, world, column):
    """Solve for the present ways of all capstans; True if that went well."""
    for j in range(world.head[memory.N_CAPSTANS]):
        world.small[FORCES, j] = 0.0
    for _ in range(ROUNDS):
        n, m = list_rubbing(ints, floats, world)
        for i in range(n):
            c = world.constraints[world.order[0, i]]
            value = c[column]
            for j in range(m):
                value -= world.matrix[n + j, i] * world.small[FORCES, j]
            c[memory.RATE_PLUS] = value
        complement(ints, floats, n, memory.RATE_PLUS)
        if m == 0:
            return True
        if solve_exactly(ints, floats, world, n, m, column):
            return True
    return False


@inlined
def revise_ways(world, column, once):
    """Change ways that the solution contradicts, the first one only with ``once``; how many.

    What slides at a speed keeps its way where accelerations are asked for.
    """
    changes = NONE_YET
    before = 0.0
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k, cable = capstan_row(world, c), cable_on(world, c)
        number, row = world.constraint_int[k], world.constraints[k]
        if c == world.route_int[world.route_int[c, memory.RUBBED_BY] - 1, memory.FIRST_CAPSTAN]:
            before = world.constraints[cable, memory.MULTIPLIER]
        force, way = row[memory.MULTIPLIER], number[memory.SLIDES]
        pulls, sticks = before > 0.0, number[memory.CANDIDATE] != 0
        before += force
        if world.constraint_int[cable, memory.CANDIDATE] == 0 or (once and changes > 0):
            continue
        fixed = number[memory.IGNORED] != 0
        fixed = fixed or (column == memory.FREE and abs(row[memory.RATE]) > AT_REST)
        if not pulls:
            if sticks:  # it pulls behind only, which nothing holds; or not at all
                number[memory.SLIDES] = 1 if force > 0.0 else 0
                number[memory.CANDIDATE] = 0
                changes += 1
        elif sticks:
            most, least = (
                (before - force) * gain(world, c, 1.0),
                (before - force) * gain(world, c, -1.0),
            )
            if force > most * (1.0 + BEYOND) or force < least * (1.0 + BEYOND):
                number[memory.SLIDES] = 1 if force > 0.0 else -1
                number[memory.CANDIDATE] = 0
                changes += 1
        elif way != 0 and not fixed and way * row[memory.RATE_PLUS] < -BACKWARDS:
            number[memory.SLIDES] = 0
            number[memory.CANDIDATE] = 1
            changes += 1
        elif way == 0 and world.routes[c, memory.HOLDS_RATIO] > 0.0:
            number[memory.CANDIDATE] = 1
            changes += 1
    return changes


@linked(*WORLD, INT, returns=INT, part=PART)
def settle_rubbing(ints, floats, column):
    """Solve for who pulls and where cables slide, with right side ``column`` (RATE or FREE).

    Multipliers, also of capstans, in MULTIPLIER; their rows are listed behind the candidates in ``world.order[0]``.

    Returns:
        How many are listed.
    """
    world = memory.views(ints, floats)
    begin_ways(world)
    solved, unsolved = False, world.head[memory.UNSOLVED]
    for attempt in range(ATTEMPTS):
        # what ways that are given up leave unsolved counts no more
        world.head[memory.UNSOLVED] = unsolved
        if not solve_given_ways(ints, floats, world, column):
            break
        if revise_ways(world, column, attempt >= ALL_AT_ONCE) == 0:
            solved = True
            break
    if not solved:
        world.head[memory.UNSOLVED] = 1
    n, m = list_rubbing(ints, floats, world)
    return n + m


@inlined
def solve_pulls(ints, floats, world, column):
    """Solve the complementarity problem of the candidates with right side ``column``; how many are listed."""
    if world.head[memory.N_CAPSTANS] != 0:
        return settle_rubbing(ints, floats, column)
    n = candidates(ints, floats, world)
    complement(ints, floats, n, column)
    return n


@inlined
def hold_capstans(world):
    """Cables stick and slide as :func:`settle_rubbing` has found, where they are taut."""
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        number = world.constraint_int[capstan_row(world, c)]
        taut = world.constraint_int[cable_on(world, c), memory.TAUT]
        number[memory.TAUT] = taut * number[memory.CANDIDATE]
        number[memory.SLIDES] *= taut


@inlined
def any_capstan_turns(world):
    """True if a cable is beyond what a capstan holds."""
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        if world.constraints[capstan_row(world, c), memory.NEXT_TURN] > BACKWARDS:
            return True
    return False


@linked(*WORLD, INT, part=PART)
def turn_capstan(ints, floats, k):
    """The cable that sticks to the capstan of constraint k slides now; where one slides, forces decide what follows."""
    world = memory.views(ints, floats)
    number = world.constraint_int[k]
    if number[memory.TAUT] != 0:
        number[memory.SLIDES] = 1 if world.constraints[k, memory.TENSION] > 0.0 else -1
        number[memory.TAUT], number[memory.IGNORED] = 0, 1
