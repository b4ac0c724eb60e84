"""Changes of the taut set: velocity jumps and the choice between pulling and letting go.

Equations (H.1)-(H.3), docs/theory/hybrid_dynamics.md: both levels are linear complementarity
problems on A = D M^-1 D^T. RotorTM's closed form (43) is the case in which every impulse comes out
positive.
"""

from __future__ import annotations

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, FLOAT, INT, WORLD, linked
from rotor_core.math.factor import solve_shifted
from rotor_core.math.vec3 import get3, put3
from rotor_dynamics import memory
from rotor_dynamics.constraints.capstans import PART as RUBBING
from rotor_dynamics.constraints.capstans import cable_on, rubbing_pin
from rotor_dynamics.constraints.routes import (
    PART,
    cable_routes,
    given_rate,
    law,
    measure,
    turn_sheave,
    wind,
)
from rotor_dynamics.constraints.sheaves import places_on
from rotor_dynamics.constraints.unilateral import (
    ALIGN,
    EVERYTHING,
    evaluate,
    has_more,
    pull,
    solve_redundant,
)
from rotor_dynamics.hybrid.guards import NO_CABLE
from rotor_dynamics.hybrid.pulling import AT_REST, candidates, complement, listed, takes_part
from rotor_dynamics.hybrid.rubbing import (
    any_capstan_turns,
    hold_capstans,
    release_capstans,
    solve_pulls,
    turn_capstan,
)

SNAP, SLACK, SETTLE, CUT, RELEASE, BREAK, TOUCH, LEAVE = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
STICK, SLIP = 9.0, 10.0
NO_CAUSE, TENSION_ZERO, IMPACT, ACCELERATION, INPUT_JUMP, WRAPS = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

(
    NOTHING,
    STATE_SET,
    INPUT_CHANGED,
    CABLE_CUT,
    REACHED_LENGTH,
    LOST_TENSION,
    TOO_SHORT,
    BROKEN,
    RATES_JUMPED,
    TURNED,
) = constants(*range(10))
"""Events that may change the taut set, for :func:`change`."""


SIMULTANEOUS = 1e-9
"""Cables that reach their length within this time of each other snap together, s."""

AT_LENGTH = 1e-12
"""A slack cable this close to its length takes part in an impact, m."""

SETTLE_SPEED = 1e-6
"""Closing speed below which a cascade of snaps is closed at once, m/s."""

SETTLE_GAP, SETTLE_RATE = 3e-11, 1e-5
"""Slack cables this close to their length and to rest join a settling cascade, m and m/s."""

SETTLE_TIME, CLOSING_TIME = 1e-6, 1e-4
"""Times in which a cascade comes to rest and in which gaps close, s.

In the first, tensions outweigh SETTLE_SPEED, so that they decide who holds. Where cables are dependent they cannot:
then it is the gaps that do, then the speeds.
"""

SETTLE_JUMP = 1e-3
"""Settling changes no velocity by more than about this, m/s."""

SMALLEST_SHIFT, LARGER_SHIFT, SHIFTS = 1e-9, 100.0, 5
"""Relative shifts of the diagonal that settling tries: the first, the factor to the next, their number."""

CALM = 1e-8
"""A cable that closes more slowly than this after settling does not snap at once, m/s."""

AT_PEG = 1e-9
"""A cable this close to beginning or ceasing to lie on a peg does so with another one, rad."""

SLIPPED = 1e-9
"""A cable that is shorter by this after it has ceased to lie on something has slipped off its end, m."""

CALMINGS = 2
"""Rounds of taking out speeds and choosing who pulls."""


@inlined
def log_event(world, t, kind, cause):
    """Append a row to the event log from the columns of the cables; returns the row index."""
    world.head[memory.N_EVENTS] += 1
    world.head[memory.EVENT_COUNTS + int(kind) - 1] += 1
    row = world.head[memory.N_LOGGED]
    e = world.log[row]
    e[memory.EVENT_TIME] = t
    e[memory.EVENT_TYPE] = kind
    e[memory.EVENT_CAUSE] = cause
    put3(e, memory.EVENT_PLACE, (0.0, 0.0, 0.0))
    e[memory.EVENT_MEETING] = e[memory.EVENT_IMPULSE] = e[memory.EVENT_SHEAVE] = 0.0
    for k in range(world.head[memory.N_CONSTRAINTS]):
        c = world.constraints[k]
        o = memory.EVENT_HEAD + memory.EVENT_PER_CONSTRAINT * k
        e[o + memory.INVOLVED] = 0.0
        e[o + memory.LOG_IMPULSE] = c[memory.IMPULSE]
        e[o + memory.LOG_RATE_BEFORE] = c[memory.RATE]
        e[o + memory.LOG_RATE_AFTER] = c[memory.RATE_PLUS]
        e[o + memory.LOG_TENSION_BEFORE] = c[memory.TENSION_OLD]
        e[o + memory.LOG_TENSION_AFTER] = 0.0
    world.head[memory.N_LOGGED] = row + 1
    return row


@inlined
def log_tensions(world, first_row):
    """Write the tensions after a change to the rows of the log that tell of it."""
    for row in range(first_row, world.head[memory.N_LOGGED]):
        for k in range(world.head[memory.N_CONSTRAINTS]):
            o = memory.EVENT_HEAD + memory.EVENT_PER_CONSTRAINT * k
            world.log[row, o + memory.LOG_TENSION_AFTER] = world.constraints[k, memory.TENSION]


@inlined
def involve(world, row, k, how):
    """Mark cable k in a row of the log.

    1 it is what happened, 2 it was at its length and took part.
    """
    world.log[row, memory.EVENT_HEAD + memory.EVENT_PER_CONSTRAINT * k + memory.INVOLVED] = how


@inlined
def begin_step(world):
    """Make the measurements just taken the values at the start of the next step."""
    for k in range(world.head[memory.N_CONSTRAINTS]):
        c = world.constraints[k]
        c[memory.GAP_0] = c[memory.GAP]
        c[memory.RATE_0] = c[memory.RATE]
        c[memory.TENSION_0] = c[memory.TENSION]
        c[memory.NEXT_TURN_0] = c[memory.NEXT_TURN]
        world.constraint_int[k, memory.IGNORED] = 0


@inlined
def rests_at_length(world, k, gap, rate):
    """True if cable k is uncut, at its length and at rest.

    It may pull as soon as something pulls it.
    """
    c = world.constraints[k]
    return (
        world.constraint_int[k, memory.ALIVE] == memory.HOLDS
        and world.constraint_int[k, memory.IGNORED] == 0
        and abs(c[gap]) <= AT_LENGTH
        and abs(c[rate]) <= AT_REST
    )


@inlined
def rests_nearby(world, k):
    """True if cable k is so near its length and so slow that it belongs to a cascade that ends."""
    c = world.constraints[k]
    return (
        world.constraint_int[k, memory.ALIVE] == memory.HOLDS
        and world.constraint_int[k, memory.IGNORED] == 0
        and c[memory.GAP] > -SETTLE_GAP
        and abs(c[memory.RATE]) < SETTLE_RATE
    )


@inlined
def let_go(world, t, cause, quiet):
    """Log the cables that were taut (bit 1 of CANDIDATE) and are not any more, in one row."""
    row = -1
    for k in range(world.head[memory.N_CONSTRAINTS]):
        if (
            world.constraint_int[k, memory.TAUT] == 0
            and world.constraint_int[k, memory.CANDIDATE] & 1
            and not quiet
        ):
            if row < 0:
                row = log_event(world, t, SLACK, cause)
            involve(world, row, k, 1.0)


@inlined
def all_pull(world):
    """True if no taut cable pushes, and none is beyond what a capstan holds."""
    if world.head[memory.N_CAPSTANS] != 0:
        if any_capstan_turns(world):
            return False
    for k in range(world.head[memory.N_CONSTRAINTS]):
        holds = world.constraint_int[k, memory.ALIVE] == memory.HOLDS
        if holds and world.constraints[k, memory.TENSION] < 0.0:
            return False
    return True


@inlined
def anyone_rests(world):
    """True if a slack cable is at its length and at rest, so that it might pull."""
    for k in range(world.head[memory.N_CONSTRAINTS]):
        if world.constraint_int[k, memory.TAUT] == 0 and rests_at_length(
            world, k, memory.GAP_0, memory.RATE_0
        ):
            return True
    return False


@inlined
def is_pressed(world, t):
    """True if a body is pushed by another (rigid contact), or will be: bodies have just hit each other."""
    if world.head[memory.PRESSED] == 0:
        return False
    if world.scalars[memory.STRUCK_AT] == t:
        return True
    for b in range(world.head[memory.N_BODIES]):
        for i in range(6):
            if world.bodies[b, memory.CONTACT_PUSH + i] != 0.0:
                return True
    return False


@inlined
def choose_by_acceleration(ints, floats, world, t, cause, quiet):
    """One round of (H.2): who pulls of the taut cables and of those at rest at their length; slope and tensions too."""
    n_cables = world.head[memory.N_CONSTRAINTS]
    for k in range(n_cables):
        world.constraint_int[k, memory.CANDIDATE] = world.constraint_int[k, memory.TAUT]
        world.constraint_int[k, memory.TAUT] = 0
    if world.head[memory.N_CAPSTANS] != 0:
        release_capstans(world)
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
    # every cable is slack now: FREE is the free d_ddot
    for k in range(n_cables):
        # others may pull it, whatever FREE is
        if rests_at_length(world, k, memory.GAP, memory.RATE):
            world.constraint_int[k, memory.CANDIDATE] |= 2
    solve_pulls(ints, floats, world, memory.FREE)
    for k in range(n_cables):
        world.constraint_int[k, memory.TAUT] = 1 if takes_part(world, k) else 0
    if world.head[memory.N_CAPSTANS] != 0:
        hold_capstans(world)
    let_go(world, t, cause, quiet)
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)


@linked(*WORLD, FLOAT, FLOAT, FLAG, FLAG)
def choose_taut(ints, floats, t, cause, quiet, may_keep):
    """Pull or let go.

    Acceleration-level complementarity over the taut cables and those resting at their length (H.2).

    Afterwards slope 0 and the tensions belong to the state in the start, which is projected.
    Cables that were taut and let go are logged with ``cause`` unless ``quiet``. With ``may_keep``
    the present taut set stands if every cable in it pulls (the common case after a change of
    inputs). Where dependent cables cannot all be at their length, the shortest lets go, one after
    the other.

    While bodies press each other the taut set stands: who pulls depends on forces of contact that are not known before
    the step is taken. A cable that would push lets go there (N.13).
    """
    world = memory.views(ints, floats)
    n_cables = world.head[memory.N_CONSTRAINTS]
    stands = world.head[memory.N_CAPSTANS] == 0 and is_pressed(world, t)
    if may_keep and not anyone_rests(world):
        evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
        if all_pull(world) and world.head[memory.INCONSISTENT] == 0:
            begin_step(world)
            return
    for _ in range(n_cables + 1):
        if stands:
            evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
        else:
            choose_by_acceleration(ints, floats, world, t, cause, quiet)
        shortest = world.head[memory.INCONSISTENT] - 1
        if shortest < 0:
            break
        for k in range(n_cables):
            world.constraint_int[k, memory.CANDIDATE] = 1 if k == shortest else 0
        world.constraint_int[shortest, memory.TAUT] = 0
        world.constraint_int[shortest, memory.IGNORED] = 1
        let_go(world, t, ACCELERATION, quiet)
    begin_step(world)


@inlined
def closing_speed(world, k):
    """Speed at which a constraint is violated: a rod may not become shorter either, m/s."""
    rate = world.constraints[k, memory.RATE]
    return abs(rate) if world.constraint_int[k, memory.ALIVE] == memory.JOINS else rate


@linked(*WORLD, FLOAT, returns=INT)
def find_collision(ints, floats, t):
    """After the state was set.

    Cables at their length are put there to rounding; those that shorten are slack; returns the one
    that closes fastest, or -1.
    """
    world = memory.views(ints, floats)
    colliding = NO_CABLE
    fastest = AT_REST
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, ALIGN)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        world.constraint_int[k, memory.IGNORED] = 0
        world.constraint_int[k, memory.CANDIDATE] = world.constraint_int[k, memory.TAUT]
        world.constraint_int[k, memory.TAUT] = 0
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        rate = closing_speed(world, k)
        if listed(world, k) and rate >= -AT_REST:
            world.constraint_int[k, memory.TAUT] = 1
            if rate > fastest:
                fastest, colliding = rate, k
    return colliding


@inlined
def join_impact(world, colliding, settles):
    """Mark the cables that take part in an impact.

    Taut ones, those at their length, and in a settling cascade those near.
    """
    for k in range(world.head[memory.N_CONSTRAINTS]):
        c = world.constraints[k]
        joins = world.constraint_int[k, memory.TAUT] != 0 or k == colliding
        if not joins and world.constraint_int[k, memory.ALIVE] == memory.HOLDS:
            closes = c[memory.RATE] > 0.0 and c[memory.GAP] + SIMULTANEOUS * c[memory.RATE] > 0.0
            joins = (
                (settles and rests_nearby(world, k)) or closes or abs(c[memory.GAP]) <= AT_LENGTH
            )
        world.constraint_int[k, memory.CANDIDATE] = 1 if joins else 0


@inlined
def wound_rate(world, k):
    """Rate at which a winch without a drum makes constraint k longer, m/s."""
    r = world.constraint_int[k, memory.ROUTED] - 1
    return given_rate(world, r) if r >= 0 else 0.0


@inlined
def take(world, k, impulse, rates):
    """Account for an impulse of constraint k, whose rates before and after add up to ``rates`` (E.3), (W.7)."""
    world.scalars[memory.TAKEN] += 0.5 * impulse * rates
    world.scalars[memory.WOUND] -= impulse * wound_rate(world, k)


@linked(*WORLD, FLOAT, INT, FLAG)
def strike(ints, floats, t, colliding, settles):
    """Impulses of an impact of cable ``colliding`` on all that are at their length (H.1), logged."""
    world = memory.views(ints, floats)
    join_impact(world, colliding, settles)
    n = solve_pulls(ints, floats, world, memory.RATE)
    for i in range(n):
        j = world.order[0, i]
        c = world.constraints[j]
        pull(
            ints, floats, world, j, c[memory.MULTIPLIER], world.states[memory.START],
            memory.V, memory.OMEGA, has_more(world),
        )  # fmt: skip
        c[memory.IMPULSE] = c[memory.MULTIPLIER]
        take(world, j, c[memory.MULTIPLIER], c[memory.RATE] + c[memory.RATE_PLUS])
    log_impact(world, t, n, colliding, settles)


@linked(*WORLD, FLOAT, part="settling cables")
def calm(ints, floats, t):
    """End a cascade of ever smaller snaps: find the cables that will hold, and bring them to rest (H.4).

    The cables near their length and near rest are asked what impulses a short while takes in which
    tensions press them and gaps close (a step of Moreau's). Those with an impulse will hold; the others open,
    where dependent cables cannot all be at rest at their length. The holding ones come to rest in the
    sense of least squares, with the smallest shift of the diagonal that changes velocities by no more
    than SETTLE_JUMP.
    """
    world = memory.views(ints, floats)
    n_cables = world.head[memory.N_CONSTRAINTS]
    for k in range(n_cables):
        world.constraint_int[k, memory.CANDIDATE] = world.constraint_int[k, memory.TAUT]
        world.constraint_int[k, memory.TAUT] = 0
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)  # measures, all slack
    for k in range(n_cables):
        c = world.constraints[k]
        if rests_nearby(world, k):
            world.constraint_int[k, memory.CANDIDATE] = 1
        speed = c[memory.RATE] + SETTLE_TIME * c[memory.FREE]
        c[memory.RATE_PLUS] = speed + c[memory.GAP] / CLOSING_TIME
    complement(ints, floats, candidates(ints, floats, world), memory.RATE_PLUS)
    for k in range(n_cables):
        world.constraint_int[k, memory.TAUT] = 1 if takes_part(world, k) else 0
        world.constraint_int[k, memory.CANDIDATE] = world.constraint_int[k, memory.TAUT]
    n = candidates(ints, floats, world)
    b, x, left = world.small[0], world.small[1], world.small[2]
    largest = 0.0
    for i in range(n):
        b[i] = world.constraints[world.order[0, i], memory.RATE]
        largest = max(largest, world.matrix[i, i])
    shift = SMALLEST_SHIFT
    for _ in range(SHIFTS if n > 0 else 0):
        solve_shifted(world.matrix, world.factor, world.block, n, shift, b, x, left, world.order[3])
        squared = 0.0
        for i in range(n):
            squared += x[i] * b[i]
        if squared * largest < SETTLE_JUMP * SETTLE_JUMP:
            break
        shift *= LARGER_SHIFT
    for i in range(n):
        pull(
            ints, floats, world, world.order[0, i], x[i], world.states[memory.START],
            memory.V, memory.OMEGA, has_more(world),
        )  # fmt: skip
        take(world, world.order[0, i], x[i], b[i] + left[i])


@inlined
def log_impact(world, t, n, colliding, settles):
    """Log a snap (or settled cascade) of the n listed cables and set slack those that leave."""
    row = log_event(world, t, SETTLE if settles else SNAP, NO_CAUSE)
    thrown_off = 0
    for i in range(n):
        k = world.order[0, i]
        if world.constraint_int[k, memory.ALIVE] == memory.RUBS:
            continue
        c = world.constraints[k]
        was_taut = world.constraint_int[k, memory.TAUT] != 0
        involve(world, row, k, 1.0 if k == colliding or c[memory.RATE] > AT_REST else 2.0)
        leaves = c[memory.MULTIPLIER] <= 0.0 and c[memory.RATE_PLUS] < (
            -SETTLE_RATE if settles else -AT_REST
        )
        if leaves and was_taut:
            thrown_off += 1
            world.constraint_int[k, memory.CANDIDATE] = 2
        world.constraint_int[k, memory.TAUT] = 0 if leaves else 1
    if thrown_off > 0:
        row = log_event(world, t, SLACK, IMPACT)
        for k in range(world.head[memory.N_CONSTRAINTS]):
            if world.constraint_int[k, memory.CANDIDATE] == 2:
                involve(world, row, k, 1.0)


@inlined
def still_closing(world):
    """A slack cable at its length that closes after all, or -1."""
    for k in range(world.head[memory.N_CONSTRAINTS]):
        c = world.constraints[k]
        slack = (
            world.constraint_int[k, memory.TAUT] == 0
            and world.constraint_int[k, memory.ALIVE] == memory.HOLDS
        )
        if slack and c[memory.GAP] > -AT_LENGTH and c[memory.RATE] > CALM:
            return k
    return NO_CABLE


@linked(*WORLD, FLOAT, FLAG, part=PART)
def choose_stretched(ints, floats, t, quiet):
    """Velocities or winches have jumped: elastic cables pull where their law says so (W.6), logged unless ``quiet``."""
    world = memory.views(ints, floats)
    for r in range(world.head[memory.N_ROUTES]):
        k = world.route_int[r, memory.ROUTE_CONSTRAINT]
        if world.constraint_int[k, memory.ALIVE] != memory.STRETCHES:
            continue
        wind(world, r, t)
        measure(ints, floats, world, r, memory.START, memory.FIRST_SLOPE)
        tension = law(world, r)
        if abs(tension) <= AT_LENGTH * world.routes[r, memory.CABLE_STIFFNESS]:
            continue
        before = world.constraint_int[k, memory.STRETCHED]
        now = 1 if tension > 0.0 and world.constraints[k, memory.GAP] > 0.0 else 0
        world.constraint_int[k, memory.STRETCHED] = now
        if now != before and not quiet:
            kind, cause = (SNAP, NO_CAUSE) if now == 1 else (SLACK, IMPACT)
            involve(world, log_event(world, t, kind, cause), k, 1.0)


@linked(*WORLD, FLOAT, INT, part=PART)
def turn_sheaves(ints, floats, t, k):
    """Cable k begins to lie on what it has reached, or ceases to (W.11), (W.23); logged while it pulls."""
    world = memory.views(ints, floats)
    r = world.constraint_int[k, memory.ROUTED] - 1
    pulls = world.constraint_int[k, memory.TAUT] + world.constraint_int[k, memory.STRETCHED] != 0
    for i in range(world.head[memory.N_SHEAVES]):
        number = world.sheave_int[i]
        if number[memory.SHEAVE_ROUTE] != r or world.sheaves[i, memory.CHANGE_ANGLE] < -AT_PEG:
            continue
        before = places_on(world, i)
        turn_sheave(ints, floats, world, i)
        measure(ints, floats, world, r, memory.START, memory.FIRST_SLOPE)
        after = places_on(world, i)
        if pulls and before != after:
            row = log_event(world, t, LEAVE if after < before else TOUCH, WRAPS)
            involve(world, row, k, 1.0)
            world.log[row, memory.EVENT_SHEAVE] = i + 1.0
            pin = number[memory.SHEAVE_PIN]
            put3(world.log[row], memory.EVENT_PLACE, get3(world.pins[pin], memory.PIN_PLACE))
        if (
            pulls and world.constraints[k, memory.GAP] < -SLIPPED
        ):  # off an end, over a corner: its way is shorter
            row = log_event(world, t, SLACK, WRAPS)
            involve(world, row, k, 1.0)
            world.log[row, memory.EVENT_SHEAVE] = i + 1.0
            world.constraint_int[k, memory.TAUT] = world.constraint_int[k, memory.STRETCHED] = 0
            pulls = False


@linked(*WORLD, FLOAT, part=RUBBING)
def tell_ways(ints, floats, t):
    """Log cables that stick now where they slid, and that slide another way than before the change."""
    world = memory.views(ints, floats)
    for c in range(cable_routes(world), world.head[memory.N_ROUTES]):
        k, cable = world.route_int[c, memory.ROUTE_CONSTRAINT], cable_on(world, c)
        way, before = world.constraint_int[k, memory.SLIDES], world.constraint_int[k, memory.SLID]
        taut = world.constraint_int[cable, memory.TAUT] != 0
        if taut and way != before and world.constraints[cable, memory.TENSION_OLD] > 0.0:
            row = log_event(world, t, STICK if way == 0 else SLIP, NO_CAUSE)
            involve(world, row, cable, 1.0)
            pin = rubbing_pin(world, c)
            if pin >= 0:
                put3(world.log[row], memory.EVENT_PLACE, get3(world.pins[pin], memory.PIN_PLACE))


@linked(*WORLD, FLOAT, INT, INT)
def change(ints, floats, t, what, k):
    """Something happens to the taut set at time t in the start.

    Bring velocities, taut set, slope and tensions up to date.

    Args:
        ints, floats: the world; its measurements (RATE, arms) belong to the start.
        t: s.
        what: STATE_SET (from outside: cables at their length with closing speed snap),
            INPUT_CHANGED, CABLE_CUT, RATES_JUMPED (of winding, or of bodies by their rotors), BROKEN,
            REACHED_LENGTH (a slack cable: impulses (H.1), or the first pull of an elastic one), TURNED (a cable that
            begins or ceases to lie on a peg), LOST_TENSION or TOO_SHORT (the
            cable is slack from here on; the latter one of dependent cables that cannot all be at
            their length).
        k: the cable, where there is one.

    A closing speed under SETTLE_SPEED ends a cascade of snaps: every cable near its length and near
    rest joins, the remaining speeds are taken out (:func:`calm`), accelerations alone decide who pulls,
    and those that do are projected onto their length, with an error of second order in the remaining
    speeds. That projection may leave another cable closing, so it is done twice; if one still closes
    then, it snaps.
    """
    world = memory.views(ints, floats)
    n_cables = world.head[memory.N_CONSTRAINTS]
    if world.head[memory.KEEPS_LOG] == 0:
        world.head[memory.N_LOGGED] = 0
    first_row = world.head[memory.N_LOGGED]
    quiet = what == STATE_SET
    by_input = what == INPUT_CHANGED or what == CABLE_CUT or what == RATES_JUMPED
    cause = INPUT_JUMP if by_input else ACCELERATION
    for j in range(n_cables):
        pulls = (
            world.constraint_int[j, memory.TAUT] + world.constraint_int[j, memory.STRETCHED] != 0
        )
        c = world.constraints[j]
        c[memory.TENSION_OLD] = c[memory.TENSION] if pulls and what != STATE_SET else 0.0
    if what == STATE_SET or what == RATES_JUMPED:
        k = find_collision(ints, floats, t)
        let_go(world, t, INPUT_JUMP, quiet)
    for j in range(n_cables):
        c = world.constraints[j]
        c[memory.IMPULSE] = 0.0
        c[memory.RATE_PLUS] = c[memory.RATE]
        world.constraint_int[j, memory.SLID] = world.constraint_int[j, memory.SLIDES]
    if what == TURNED:
        if world.constraint_int[k, memory.ALIVE] == memory.RUBS:
            turn_capstan(ints, floats, k)
        else:
            turn_sheaves(ints, floats, t, k)
    stretches = what == REACHED_LENGTH and world.constraint_int[k, memory.ALIVE] == memory.STRETCHES
    if stretches:
        involve(world, log_event(world, t, SNAP, NO_CAUSE), k, 1.0)
        world.constraint_int[k, memory.STRETCHED] = 1
    ends = what == CABLE_CUT or what == BROKEN
    if what == LOST_TENSION or ends or what == TOO_SHORT:
        row = log_event(
            world,
            t,
            (CUT if what == CABLE_CUT else BREAK) if ends else SLACK,
            TENSION_ZERO
            if what == LOST_TENSION
            else (ACCELERATION if what == TOO_SHORT else NO_CAUSE),
        )
        involve(world, row, k, 1.0)
        world.constraint_int[k, memory.TAUT] = world.constraint_int[k, memory.STRETCHED] = 0
        world.constraint_int[k, memory.IGNORED] = (
            1  # its tension is rounding: the complementarity problem must not be asked
        )
        if ends:
            world.constraint_int[k, memory.ALIVE] = 0
            world.constraints[k, memory.TENSION] = 0.0
            world.constraints[k, memory.RATE] = 0.0
    found = (what == STATE_SET or what == RATES_JUMPED) and k >= 0
    impact = (what == REACHED_LENGTH and not stretches) or found
    settles = impact and closing_speed(world, k) < SETTLE_SPEED
    if impact:
        strike(ints, floats, t, k, settles)
    jumped = impact or what == STATE_SET or what == RATES_JUMPED
    if jumped and world.head[memory.N_ROUTES] != 0:
        choose_stretched(ints, floats, t, quiet)
    if settles:
        for _ in range(CALMINGS):
            calm(ints, floats, t)
            choose_taut(ints, floats, t, cause, False, False)
        k = still_closing(world)
        if k >= 0:  # tensions undid what impulses did (nearly dependent cables): a plain impact
            strike(ints, floats, t, k, False)
    if not settles or k >= 0:
        turns_freely = what == TURNED and world.head[memory.N_CAPSTANS] == 0
        may_keep = what == INPUT_CHANGED or turns_freely or stretches
        choose_taut(ints, floats, t, cause, quiet and not impact, may_keep)
    if world.head[memory.N_CAPSTANS] != 0:
        tell_ways(ints, floats, t)
    log_tensions(world, first_row)


OF_EVENTS = (strike, calm, solve_shifted, solve_redundant)
"""Kernels that nothing but events call."""
