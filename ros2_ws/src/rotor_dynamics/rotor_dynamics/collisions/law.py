"""The law of rigid contact at points: Signorini's condition and Coulomb's friction, in impulses (N.6)-(N.8).

Impulses are found point by point, each as if the others were known (the nonsmooth contact dynamics of Jean 1999);
cables that pull are rows of the same sweeps. What is found depends on where the sweeps begin: with the impulses of the
step before.
"""

from __future__ import annotations

from math import inf, sqrt

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLAG, FLOAT, INT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    put3,
    scale,
    sub,
)
from rotor_core.numbers.derivatives import has_derivatives, size_of, without_derivatives
from rotor_dynamics import memory
from rotor_dynamics.collisions.features import PART, tangents
from rotor_dynamics.constraints.unilateral import has_more, pull

MOST_SWEEPS = 2000
"""Over all points, for the impulses of one step."""

STILL = 1e-12
"""Sweeps end when they change no speed by more than this and this share of the fastest, m/s."""

AT_PEACE = 1e-11
"""The same for the first sweep: what rests is not stirred by rounding."""

PLATEAU, NO_NEARER = 1e-8, 32
"""Derivatives of values that rest have come as near as their rounding lets them where they change by no more than this
share of the fastest, and not less than half of what they did so many sweeps before."""

CABLE_LEAST, CABLE_FOUND, CABLE_SEARCH, CABLE_IMPULSE = 4, 5, 6, 7
"""Rows of ``world.small``: least impulses of cables, what a search has added to them, its direction, and the impulses,
N s."""

SOFT, SOLVES = 1e-6, 2
"""Share of the mobilities that is added to them so that dependent equations can be solved; solutions in a row."""

FIRST_SOLVE, LATER_SOLVE, MOST_SEARCHES = 8, 4, 200
"""Sweeps before what sticks is solved for at once, the factor to the next time, and most searches of one."""

SLIDES = 1e-9
"""Friction this near to its bound, in shares of its square, slides."""


@inlined
def inverse_mass(world, b):
    """Of a body, 1/kg; 0 of what does not move."""
    return world.bodies[b, memory.INV_MASS]


@inlined
def prepare_side(world, state, row, b, at_place, arm_column, arms, turned):
    """Arms and responses of one of the two bodies of a touch to forces along its directions."""
    body = world.bodies[b]
    R = so3.matrix(so3.get4(state[b], memory.Q))
    r = sub(at_place, get3(state[b], memory.P))
    put3(row, arm_column, r)
    for i in range(3):
        moment = apply_transposed(R, cross(r, get3(row, memory.DIRECTIONS + 3 * i)))
        put3(row, arms + 3 * i, moment)
        put3(row, turned + 3 * i, apply(get9(body, memory.INV_INERTIA), moment))


@inlined
def prepare(world, state, i):
    """Directions, arms and mobility of touch i, whose place and normal are known (N.6); belts."""
    row, number = world.touches[i], world.touch_int[i]
    m = number[memory.TOUCH_MEETING]
    h_a, h_b = world.meeting_int[m, memory.HULL_ON_A], world.meeting_int[m, memory.HULL_ON_B]
    a, b = world.hull_int[h_a, memory.HULL_BODY], world.hull_int[h_b, memory.HULL_BODY]
    number[memory.TOUCH_BODY_A], number[memory.TOUCH_BODY_B] = a, b
    n = get3(row, memory.DIRECTIONS)
    x, y = tangents(n)
    put3(row, memory.DIRECTIONS + 3, x)
    put3(row, memory.DIRECTIONS + 6, y)
    place, half = get3(row, memory.TOUCH_PLACE), scale(0.5 * row[memory.TOUCH_GAP], n)
    prepare_side(
        world, state, row, a, sub(place, half), memory.TOUCH_ARM_A, memory.ARMS_A, memory.TURNED_A
    )
    prepare_side(
        world, state, row, b, add(place, half), memory.TOUCH_ARM_B, memory.ARMS_B, memory.TURNED_B
    )
    for j in range(3):
        for k in range(3):
            entry = dot(get3(row, memory.ARMS_A + 3 * j), get3(row, memory.TURNED_A + 3 * k))
            entry += dot(get3(row, memory.ARMS_B + 3 * j), get3(row, memory.TURNED_B + 3 * k))
            if j == k:
                entry += inverse_mass(world, a) + inverse_mass(world, b)
            row[memory.MOBILITY + 3 * j + k] = entry
    R_a = so3.matrix(so3.get4(state[a], memory.Q))
    R_b = so3.matrix(so3.get4(state[b], memory.Q))
    belts = sub(
        apply(R_b, get3(world.hulls[h_b], memory.HULL_BELT)),
        apply(R_a, get3(world.hulls[h_a], memory.HULL_BELT)),
    )
    for j in range(3):
        row[memory.BELTS + j] = dot(belts, get3(row, memory.DIRECTIONS + 3 * j))


@inlined
def along(world, rows, i, j, linear, angular):
    """Motion of b past a at touch i along its direction j, by two columns of ``rows``."""
    row, number = world.touches[i], world.touch_int[i]
    a, b = number[memory.TOUCH_BODY_A], number[memory.TOUCH_BODY_B]
    d = get3(row, memory.DIRECTIONS + 3 * j)
    found = dot(d, sub(get3(rows[b], linear), get3(rows[a], linear)))
    found += dot(get3(row, memory.ARMS_B + 3 * j), get3(rows[b], angular))
    return found - dot(get3(row, memory.ARMS_A + 3 * j), get3(rows[a], angular))


@inlined
def speed_along(world, state, i, j):
    """Speed of b past a at touch i along its direction j, with belts, m/s."""
    return along(world, state, i, j, memory.V, memory.OMEGA) + world.touches[i, memory.BELTS + j]


@inlined
def note_speeds(world, state, i):
    """The sweeps begin with the speeds of a state."""
    for j in range(3):
        world.touches[i, memory.TOUCH_SPEED + j] = speed_along(world, state, i, j)


@inlined
def speed_now(world, i, j):
    """Speed at touch i along its direction j in the sweeps."""
    change = along(world, world.slopes[memory.CORRECTION], i, j, memory.D_V, memory.D_OMEGA)
    return world.touches[i, memory.TOUCH_SPEED + j] + change


@inlined
def push_columns(world, i, j, amount, linear, angular):
    """Add what an impulse along direction j of touch i does to two columns of the row CORRECTION."""
    row, number = world.touches[i], world.touch_int[i]
    a, b = number[memory.TOUCH_BODY_A], number[memory.TOUCH_BODY_B]
    target = world.slopes[memory.CORRECTION]
    d = scale(amount, get3(row, memory.DIRECTIONS + 3 * j))
    put3(target[a], linear, sub(get3(target[a], linear), scale(inverse_mass(world, a), d)))
    put3(target[b], linear, add(get3(target[b], linear), scale(inverse_mass(world, b), d)))
    turned = scale(amount, get3(row, memory.TURNED_A + 3 * j))
    put3(target[a], angular, sub(get3(target[a], angular), turned))
    turned = scale(amount, get3(row, memory.TURNED_B + 3 * j))
    put3(target[b], angular, add(get3(target[b], angular), turned))


@inlined
def push_along(world, i, j, amount):
    """Add what an impulse along direction j of touch i does to the changes of velocities in the row CORRECTION."""
    push_columns(world, i, j, amount, memory.D_V, memory.D_OMEGA)


@inlined
def value_of(change):
    """Size of a change, whatever its derivatives."""
    return size_of(without_derivatives(change))


@inlined
def press_along(world, i):
    """Signorini's condition at touch i (N.7); the change of speed, with a share of its derivatives and without."""
    row = world.touches[i]
    before = row[memory.TOUCH_IMPULSE]
    wanted = before - speed_now(world, i, 0) / row[memory.MOBILITY]
    now = max(wanted, row[memory.LEAST_IMPULSE])
    change = size_of(now - before)
    if change != 0.0:
        row[memory.TOUCH_IMPULSE] = now
        push_along(world, i, 0, now - before)
    mobility = without_derivatives(row[memory.MOBILITY])
    return change * mobility, value_of(now - before) * mobility


@inlined
def rub(world, i):
    """Coulomb's friction at touch i (N.8): it sticks if the cone lets it, else it slides; changes of speed as above."""
    row = world.touches[i]
    friction = world.meetings[world.touch_int[i, memory.TOUCH_MEETING], memory.MEETING_FRICTION]
    most = friction * row[memory.TOUCH_IMPULSE]
    p_x, p_y = row[memory.TOUCH_IMPULSE + 1], row[memory.TOUCH_IMPULSE + 2]
    u_x, u_y = speed_now(world, i, 1), speed_now(world, i, 2)
    xx, yy = row[memory.MOBILITY + 4], row[memory.MOBILITY + 8]
    xy = row[memory.MOBILITY + 5]
    determinant = xx * yy - xy * xy
    new_x = p_x - (yy * u_x - xy * u_y) / determinant
    new_y = p_y - (xx * u_y - xy * u_x) / determinant
    if new_x * new_x + new_y * new_y > most * most:
        middle, half = 0.5 * (xx + yy), 0.5 * (xx - yy)
        largest = middle + sqrt(half * half + xy * xy)
        new_x, new_y = p_x - u_x / largest, p_y - u_y / largest
        length = sqrt(new_x * new_x + new_y * new_y)
        if length > most:
            new_x, new_y = new_x * most / length, new_y * most / length
    elif (
        most == 0.0
    ):  # nothing sticks here, though it stands still: any small change of speed stays
        new_x, new_y = 0.0 * p_x, 0.0 * p_y
    change_x, change_y = size_of(new_x - p_x), size_of(new_y - p_y)
    value_x, value_y = value_of(new_x - p_x), value_of(new_y - p_y)
    if change_x != 0.0:
        push_along(world, i, 1, new_x - p_x)
    if change_y != 0.0:
        push_along(world, i, 2, new_y - p_y)
    row[memory.TOUCH_IMPULSE + 1], row[memory.TOUCH_IMPULSE + 2] = new_x, new_y
    x, y = without_derivatives(xx), without_derivatives(yy)
    return max(change_x * x, change_y * y), max(value_x * x, value_y * y)


@inlined
def cable_rate(world, k, linear, angular):
    """Change of the rate at which cable k gets longer, by two columns of the row CORRECTION, m/s."""
    rows = world.slopes[memory.CORRECTION]
    routed = world.constraint_int[k, memory.ROUTED]
    if routed != 0:
        longer = 0.0
        first = world.route_int[routed - 1, memory.FIRST_GRIP]
        for g in range(first, world.route_int[routed - 1, memory.END_GRIP]):
            b = world.grip_int[g, memory.GRIP_BODY]
            longer += dot(get3(world.grips[g], memory.GRIP_LINEAR), get3(rows[b], linear))
            longer += dot(get3(world.grips[g], memory.GRIP_ANGULAR), get3(rows[b], angular))
        drum = world.constraint_int[k, memory.DRUM_JOINT] - 1
        if drum >= 0:  # it pays out (W.12)
            longer -= rows[world.joint_int[drum, memory.JOINT_ROW], linear]
        return longer
    c, number = world.constraints[k], world.constraint_int[k]
    stop = number[memory.STOP_JOINT]
    if stop >= 0:
        return number[memory.STOP_SIDE] * rows[world.joint_int[stop, memory.JOINT_ROW], linear]
    a, b = number[memory.BODY_A], number[memory.BODY_B]
    longer = dot(get3(c, memory.XI), sub(get3(rows[b], linear), get3(rows[a], linear)))
    longer += dot(get3(c, memory.ARM_B), get3(rows[b], angular))
    return longer - dot(get3(c, memory.ARM_A), get3(rows[a], angular))


@inlined
def hold_cables(ints, floats, world, n, holds):
    """Let the n listed cables pull at what the sweeps have done. Changes of speed as above.

    ``holds``: they keep the rates that the step has given them; else they come to rest at their length.
    """
    change = value = 0.0
    for i in range(n):
        k = world.order[0, i]
        diagonal = world.matrix[i, i]
        if diagonal <= 0.0:
            continue
        rate = cable_rate(world, k, memory.D_V, memory.D_OMEGA)
        if not holds:
            rate += world.constraints[k, memory.RATE]
        before = world.small[CABLE_IMPULSE, i]
        now = max(before + rate / diagonal, world.small[CABLE_LEAST, i])
        by = size_of(now - before)
        if by != 0.0:
            world.small[CABLE_IMPULSE, i] = now
            pull(
                ints, floats, world, k, now - before, world.slopes[memory.CORRECTION],
                memory.D_V, memory.D_OMEGA, has_more(world),
            )  # fmt: skip
        change = max(change, by * without_derivatives(diagonal))
        value = max(value, value_of(now - before) * without_derivatives(diagonal))
    return change, value


@inlined
def begin_sweeps(world, n_cables, least):
    """No velocity has changed yet, and no cable has pulled; ``least``: impulse of those that are no rods, N s."""
    correction = world.slopes[memory.CORRECTION]
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS] + 1):
        for i in range(memory.SLOPE):
            correction[b, i] = 0.0
    for i in range(n_cables):
        rod = world.constraint_int[world.order[0, i], memory.ALIVE] == memory.JOINS
        world.small[CABLE_LEAST, i] = -inf if rod else least
        world.small[CABLE_IMPULSE, i] = 0.0


@inlined
def take_changes(world, state):
    """Add the changes of velocities to a state; the square of the largest."""
    largest = 0.0
    for b in range(world.head[memory.N_BODIES]):
        change = world.slopes[memory.CORRECTION, b]
        v, omega = get3(change, memory.D_V), get3(change, memory.D_OMEGA)
        put3(state[b], memory.V, add(get3(state[b], memory.V), v))
        put3(state[b], memory.OMEGA, add(get3(state[b], memory.OMEGA), omega))
        largest = max(largest, max(dot(v, v), dot(omega, omega)))
    return largest


@inlined
def fastest(world, n):
    """Largest speed at the first n touches that count, m/s."""
    most = 0.0
    for i in range(n):
        if world.touch_int[i, memory.TOUCH_KIND] == memory.SLOW:
            for j in range(3):
                most = max(most, size_of(world.touches[i, memory.TOUCH_SPEED + j]))
    return most


@inlined
def all_stick(world, n):
    """True if all of the first n touches that press stick: their impulses solve linear equations. Marks them."""
    for i in range(n):
        row = world.touches[i]
        presses = row[memory.TOUCH_IMPULSE] > 0.0
        presses = presses and world.touch_int[i, memory.TOUCH_KIND] == memory.SLOW
        world.touch_int[i, memory.STICKS] = 1 if presses else 0
        if not presses:
            continue
        m = world.touch_int[i, memory.TOUCH_MEETING]
        most = world.meetings[m, memory.MEETING_FRICTION] * row[memory.TOUCH_IMPULSE]
        x, y = row[memory.TOUCH_IMPULSE + 1], row[memory.TOUCH_IMPULSE + 2]
        bound = row[memory.TOUCH_IMPULSE] <= row[memory.LEAST_IMPULSE]
        if bound or x * x + y * y >= (1.0 - SLIDES) * most * most:
            return False
    return True


@inlined
def respond(ints, floats, world, n, n_cables):
    """Response of all bodies to the direction of search, in the columns of places of the row CORRECTION."""
    correction = world.slopes[memory.CORRECTION]
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS] + 1):
        put3(correction[b], memory.D_P, (0.0, 0.0, 0.0))
        put3(correction[b], memory.D_THETA, (0.0, 0.0, 0.0))
    for i in range(n):
        if world.touch_int[i, memory.STICKS] != 0:
            for j in range(3):
                amount = world.touches[i, memory.SEARCH + j]
                push_columns(world, i, j, amount, memory.D_P, memory.D_THETA)
    for i in range(n_cables):
        pull(
            ints, floats, world, world.order[0, i], world.small[CABLE_SEARCH, i], correction,
            memory.D_P, memory.D_THETA, has_more(world),
        )  # fmt: skip


@inlined
def lacks(world, i, j):
    """Residual of the regularized equation of touch i along its direction j, m/s."""
    row = world.touches[i]
    soft = SOFT * row[memory.MOBILITY + 4 * j] * row[memory.FOUND + j]
    return -speed_now(world, i, j) - soft


@inlined
def cable_lacks(world, i):
    """The same of the listed cable i."""
    rate = cable_rate(world, world.order[0, i], memory.D_V, memory.D_OMEGA)
    return rate - SOFT * world.matrix[i, i] * world.small[CABLE_FOUND, i]


@linked(*WORLD, INT, INT, FLOAT, part=PART)
def solve_sticking(ints, floats, n, n_cables, still):
    """Impulses of touches that all stick, and of cables that all hold, by conjugate gradients (N.8).

    What many sweeps do slowly in stacks; the next sweep puts right what the cones do not hold. Preconditioned by the
    mobilities. The equations may be dependent, and are softened by a little for that. Of numbers with derivatives the
    values alone are solved for: sweeps find the rest.
    """
    world = memory.views(ints, floats)
    correction = world.slopes[memory.CORRECTION]
    for i in range(n):
        put3(world.touches[i], memory.FOUND, (0.0, 0.0, 0.0))
        put3(world.touches[i], memory.SEARCH, (0.0, 0.0, 0.0))
    for i in range(n_cables):
        world.small[CABLE_FOUND, i] = world.small[CABLE_SEARCH, i] = 0.0
    before = 0.0
    for repeat in range(MOST_SEARCHES):
        now, largest = 0.0, 0.0
        for i in range(n):
            if world.touch_int[i, memory.STICKS] != 0:
                for j in range(3):
                    lack = lacks(world, i, j)
                    largest = max(largest, abs(lack))
                    now += lack * lack / world.touches[i, memory.MOBILITY + 4 * j]
        for i in range(n_cables):
            lack = cable_lacks(world, i)
            largest = max(largest, abs(lack))
            now += lack * lack / world.matrix[i, i]
        if largest <= still:
            break
        turn = without_derivatives(now / before) if repeat > 0 else 0.0
        before = now
        for i in range(n):
            if world.touch_int[i, memory.STICKS] != 0:
                row = world.touches[i]
                for j in range(3):
                    step = without_derivatives(lacks(world, i, j) / row[memory.MOBILITY + 4 * j])
                    row[memory.SEARCH + j] = step + turn * row[memory.SEARCH + j]
        for i in range(n_cables):
            step = without_derivatives(cable_lacks(world, i) / world.matrix[i, i])
            world.small[CABLE_SEARCH, i] = step + turn * world.small[CABLE_SEARCH, i]
        respond(ints, floats, world, n, n_cables)
        bend = 0.0
        for i in range(n):
            if world.touch_int[i, memory.STICKS] != 0:
                row = world.touches[i]
                for j in range(3):
                    response = along(world, correction, i, j, memory.D_P, memory.D_THETA)
                    response += SOFT * row[memory.MOBILITY + 4 * j] * row[memory.SEARCH + j]
                    bend += row[memory.SEARCH + j] * response
        for i in range(n_cables):
            rate = cable_rate(world, world.order[0, i], memory.D_P, memory.D_THETA)
            search = world.small[CABLE_SEARCH, i]
            bend += search * (SOFT * world.matrix[i, i] * search - rate)
        if not bend > 0.0:
            break
        size = without_derivatives(now / bend)
        for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS] + 1):
            for i in range(3):
                correction[b, memory.D_V + i] += size * correction[b, memory.D_P + i]
                correction[b, memory.D_OMEGA + i] += size * correction[b, memory.D_THETA + i]
        for i in range(n):
            if world.touch_int[i, memory.STICKS] != 0:
                row = world.touches[i]
                for j in range(3):
                    row[memory.FOUND + j] += size * row[memory.SEARCH + j]
                    row[memory.TOUCH_IMPULSE + j] += size * row[memory.SEARCH + j]
        for i in range(n_cables):
            world.small[CABLE_FOUND, i] += size * world.small[CABLE_SEARCH, i]
            world.small[CABLE_IMPULSE, i] += size * world.small[CABLE_SEARCH, i]


@linked(*WORLD, INT, INT, FLAG, returns=INT, part=PART)
def sweep(ints, floats, n, n_cables, holds):
    """Impulses at the first n touches, and of the listed cables, that the laws ask for; ``holds``: of those that hold.

    Touches that are not SLOW do not count. Begins with the speeds in TOUCH_SPEED, the impulses in TOUCH_IMPULSE that
    they contain, and the changes of velocities in the row CORRECTION that they do not.

    Returns:
        Number of sweeps, or -1 where they did not come to rest.
    """
    world = memory.views(ints, floats)
    size = 1.0 + fastest(world, n)
    solve_at, value, look_at, before = FIRST_SOLVE, inf, NO_NEARER, inf
    still = size * STILL
    for repeat in range(MOST_SWEEPS):
        if repeat == solve_at:
            solve_at *= LATER_SOLVE
            # of values that rest it would find their rounding
            moves = not has_derivatives(world.scalars[0]) or value > still
            if moves and (holds or n_cables == 0) and all_stick(world, n):
                for _ in range(SOLVES):
                    solve_sticking(ints, floats, n, n_cables, 0.1 * size * STILL)
        change = value = 0.0
        for i in range(n):
            if world.touch_int[i, memory.TOUCH_KIND] != memory.SLOW:
                continue
            pressed, pressed_value = press_along(world, i)
            rubbed, rubbed_value = rub(world, i)
            change = max(change, max(pressed, rubbed))
            value = max(value, max(pressed_value, rubbed_value))
        if n_cables != 0:
            held, held_value = hold_cables(ints, floats, world, n_cables, holds)
            change, value = max(change, held), max(value, held_value)
        if not change > (size * AT_PEACE if repeat == 0 else still):
            return repeat + 1
        if has_derivatives(world.scalars[0]):
            if repeat == 0 and not value > size * AT_PEACE:
                still = (
                    size * AT_PEACE
                )  # only derivatives are sought: values are where a flight without leaves them
            if repeat == look_at:
                if not value > still and change <= size * PLATEAU and change > 0.5 * before:
                    return repeat + 1
                before, look_at = change, look_at + NO_NEARER
    return -1
