"""Fixed steps through a hybrid system.

Locate events inside a step, cross them, and end exactly on time.

Each trial of a shorter step starts again from the same state, so every state on the way is a full
fourth-order step with exact constraints; nothing is interpolated.
"""

from __future__ import annotations

from math import ceil, inf, isfinite, nan

from rotor_core._jit import constants, inlined, kernel
from rotor_core._link import FLOAT, FLOATS, INT, TABLES, WORLD, linked
from rotor_core.numbers.derivatives import (
    as_variable,
    has_derivatives,
    rate_between,
    root_of,
    without_derivatives,
)
from rotor_dynamics import memory
from rotor_dynamics.collisions.press import is_brief, press
from rotor_dynamics.forces.blades import remember_inflow
from rotor_dynamics.forces.contact import move_anchors, passed_through
from rotor_dynamics.hybrid.contact_impact import end_in_contact, resume, strike_hulls
from rotor_dynamics.hybrid.doubts import (
    PRESSES,
    doubt_anchors,
    doubt_event,
    doubt_miss,
    note_doubt,
    rough_touches,
)
from rotor_dynamics.hybrid.guards import (
    BREAKS,
    GAP_ZERO,
    LOSES_TENSION,
    NO_CABLE,
    NONE,
    REACHES_LENGTH,
    TURNS,
    breaking_load,
    earliest,
    turning,
    turning_at_start,
)
from rotor_dynamics.hybrid.impact import (
    BROKEN,
    INPUT_CHANGED,
    LOST_TENSION,
    NOTHING,
    REACHED_LENGTH,
    STATE_SET,
    TOO_SHORT,
    TURNED,
    WINCH_JUMPED,
    begin_step,
    change,
)
from rotor_dynamics.integrators.audit import (
    allowed_rate,
    audit_end,
    book,
    book_jump,
    excess,
    note_energy,
    note_error,
)
from rotor_dynamics.integrators.dopri5 import SAFETY, estimated_error, sample, step_factor
from rotor_dynamics.integrators.trial import advance
from rotor_dynamics.motion.free import sum_inputs

(
    OK,
    NOT_FINITE,
    TOO_MANY_EVENTS,
    NOT_LOCATED,
    LOG_FULL,
    CONTRADICTION,
    TOO_SMALL,
    DRIVEN_CABLE,
    AT_SHEAVE,
    ROUGH,
    BETWEEN_PEGS,
) = constants(*range(11))

ROOT_GAP = 2e-14
"""A located snap is this close to the length of the cable, m (rounding of positions of the order of metres)."""

ROOT_TENSION = 1e-13
"""A located loss of tension is this close to zero, relative to the largest tension at the ends of the step."""

ROOT_ANGLE = 1e-14
"""A cable that begins or ceases to lie on a peg does so at this angle from there, rad."""

ROOT_TIME = 1e-14
"""Width of the bracket at which a root counts as located, s."""

MOST_TURNS = 100
"""Changes at pegs in one step before they count as endless: where edges meet, or at an end, one may undo another."""

LEAP = 1e-9
"""Measure of a change at a peg just behind the instant that was found: above this it leaps there, rad or m."""

SMOOTH_ROOT, KINKED_ROOT = 8, 2
"""Every which trial halves the interval: the measure of a change at a hull may have a kink at its root, and a tension
leaps where bodies come to press; false position alone is slow there."""

MAX_TRIALS, PRESSED_TRIALS = 120, 300
"""Most trials for one change; and where bodies press each other, which makes several cables let go at one instant.
After these a cable lets go where the step begins."""

COARSEST_RETRY = 1e-6
"""Trials that leave cables too long or numbers infinite are halved down to this length, s."""

SMALLEST_STEP = 1e-12
"""Adaptive methods give up below this step, s."""

CRAWL, MOST_CRAWLED = 1e-8, 100_000
"""And after so many trials in one call that are shorter than this, s: a second would take minutes."""

EVENT_ROWS = 4
"""One event writes at most this many rows and two more per cable (of dependent ones that let go one by one)."""

SHORTEST_SUBSTEP = 1e-5
"""Error control cuts a fixed step into parts of this share of it, not shorter ones."""

HOPELESS = 100.0
"""Steps that short which miss what is allowed by this factor end the run; others are taken as they are."""

CAUTION, STRONGEST_CUT, ORDER = 0.9, 0.1, 4.0
"""Of the next step over this one: below what the estimate says, at least; and the order of the error per second."""


@inlined
def first_not_finite(world):
    """First body whose state or slope at the end of the trial is not finite; the first of all where it is their sum."""
    for b in range(world.head[memory.N_BODIES]):
        for i in range(memory.STATE):
            if not isfinite(world.states[memory.END, b, i]):
                return b
        for i in range(memory.SLOPE):
            if not isfinite(world.slopes[memory.LAST_SLOPE, b, i]):
                return b
    return 0


@inlined
def past_limit(world, kind, cable):
    """The quantity that rises through zero when cable ``cable`` changes.

    Gap, or minus tension, or tension over the breaking load, or the angle of a peg, at the end of the trial.
    """
    if kind == BREAKS:
        return world.constraints[cable, memory.TENSION] - breaking_load(world, cable)
    if kind == TURNS:
        return turning(world, cable)
    return (
        world.constraints[cable, memory.GAP] - max(world.constraints[cable, memory.GAP_0], 0.0)
        if kind == REACHES_LENGTH
        else -world.constraints[cable, memory.TENSION]
    )


@inlined
def turns_before(world, cable):
    """True if the cable whose change is found has also begun or ceased to lie on something in the trial."""
    if world.head[memory.N_SHEAVES] + world.head[memory.N_CAPSTANS] == 0:
        return False
    c = world.constraints[cable]
    return turning(world, cable) > ROOT_ANGLE and c[memory.NEXT_TURN_0] <= 0.0


@inlined
def reaches_before(world, cable):
    """True if the cable whose change at a peg is found has also come to its length in the trial."""
    number = world.constraint_int[cable]
    if number[memory.ALIVE] == memory.RUBS or number[memory.TAUT] + number[memory.STRETCHED] != 0:
        return False
    return past_limit(world, REACHES_LENGTH, cable) > GAP_ZERO


@inlined
def past_limit_at_start(world, kind, cable):
    """The same quantity at the start of the step."""
    if kind == BREAKS:
        return world.constraints[cable, memory.TENSION_0] - breaking_load(world, cable)
    if kind == TURNS:
        return turning_at_start(world, cable)
    return (
        min(world.constraints[cable, memory.GAP_0], 0.0)
        if kind == REACHES_LENGTH
        else -world.constraints[cable, memory.TENSION_0]
    )


@inlined
def take_end(world):
    """State and slope at the end of the trial step become those at the start of the next."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]):
        for i in range(memory.STATE):
            world.states[memory.START, b, i] = world.states[memory.END][b, i]
        for i in range(memory.SLOPE):
            world.slopes[memory.FIRST_SLOPE, b, i] = world.slopes[memory.LAST_SLOPE, b, i]


@inlined
def accept(ints, floats, world, t, h):
    """The end of the trial step of length h, at time t, becomes the start of the next."""
    if world.head[memory.N_MEETINGS] != 0:
        end_in_contact(ints, floats, t, h)
    take_end(world)
    if world.head[memory.PRESSED] != 0 and is_brief(world, h):
        resume(ints, floats, t)
    if world.head[memory.N_CONTACTS] != 0:
        before = rough_touches(world) if has_derivatives(t) else 0
        move_anchors(ints, floats, memory.START, t)
        if has_derivatives(t):
            doubt_anchors(world, before, t)
    if world.head[memory.N_DISCS] != 0:
        remember_inflow(ints, floats, t)
    book(world)
    begin_step(world)


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
def room_for_event(world):
    """Rows that the log must have left for one more event."""
    return EVENT_ROWS + 2 * world.head[memory.N_CONSTRAINTS]


@linked(*WORLD, FLOAT, FLOATS, TABLES, returns=INT)
def run_to(ints, floats, t_end, times, out):
    """Integrate from the time of the world to exactly ``t_end``.

    Any number of events on the way. Returns a status. ``times`` and ``out``: dense output of
    adaptive methods, see :func:`rotor_dynamics.integrators.dopri5.sample`.
    """
    world = memory.views(ints, floats)
    adaptive = world.head[memory.ADAPTIVE] != 0
    estimated = world.head[memory.ESTIMATED] != 0
    controlled = world.head[memory.CONTROLLED] != 0
    t = world.scalars[memory.TIME]
    events = world.head[memory.N_EVENTS]
    allowed = allowed_rate(world, t_end - t)
    shortest = (t_end - t) * SHORTEST_SUBSTEP
    h = trial_length(world, t, t_end)
    kind, cable, when, past = NONE, NO_CABLE, 0.0, False
    low, high, value_low, value_high = 0.0, 0.0, 0.0, 0.0
    trials, turns, crawled = 0, 0, 0
    looks, before = 0, 0.0  # at a located change, of numbers with derivatives
    while True:
        if has_derivatives(h) and kind != NONE and looks == 0:
            h = without_derivatives(h)
        advance(ints, floats, t, h)
        world.head[memory.TRIALS] += 1
        if world.head[memory.N_MEETINGS] != 0:
            pressed = press(ints, floats, t, h)
            if pressed == 0.0:  # something hits before any time goes by
                strike_hulls(ints, floats, t, NO_CABLE)
                book_jump(ints, floats, False)
                if world.head[memory.N_EVENTS] - events > memory.MAX_EVENTS:
                    return TOO_MANY_EVENTS
                kind = NONE
                h = trial_length(world, t, t_end)
                continue
            if pressed < h:  # something meets
                h, kind = pressed, NONE
        finite = audit_end(world)
        if world.head[memory.N_CONTACTS] != 0 and finite and h > COARSEST_RETRY:
            if passed_through(ints, floats):
                world.head[memory.COARSE] = 1
        if not finite or world.head[memory.COARSE] != 0:
            if h > COARSEST_RETRY:
                kind = NONE  # the step is too long for the motion: half of it first
                h *= 0.5
                if controlled:
                    world.scalars[memory.NEXT_STEP] = h
                continue
            if not finite:
                world.head[memory.BAD_BODY] = first_not_finite(world)
                return AT_SHEAVE if world.head[memory.ARRIVED] != 0 else NOT_FINITE
        if kind == NONE:
            if adaptive:
                error = estimated_error(ints, floats, h)
                crawled += 1 if h < CRAWL else 0
                if crawled > MOST_CRAWLED:
                    return TOO_SMALL
                if error > 1.0:
                    h *= min(SAFETY, step_factor(error))
                    world.scalars[memory.NEXT_STEP] = h
                    if h < SMALLEST_STEP:
                        return TOO_SMALL
                    continue
                longer = h * step_factor(error)
                if h < world.scalars[memory.NEXT_STEP]:  # it was cut short, and says little
                    longer = max(longer, world.scalars[memory.NEXT_STEP])
                world.scalars[memory.NEXT_STEP] = longer
            elif estimated:
                over = excess(world, h, allowed)
                if world.head[memory.PRESSED] != 0 and is_brief(world, h):
                    over = (
                        0.0  # pieces between impacts: what presses there presses hard, for no time
                    )
                if controlled and over > 1.0:
                    if h > shortest:
                        world.scalars[memory.NEXT_STEP] = max(h * factor_of(over), shortest)
                        h = trial_length(world, t, t_end)
                        continue
                    if over > HOPELESS and world.head[memory.KINKED] == 0:
                        world.head[memory.BAD_BODY] = int(world.scalars[memory.WORST_BODY])
                        return TOO_SMALL
                elif world.scalars[memory.NEXT_STEP] < inf:
                    longer = h * factor_of(over)
                    world.scalars[memory.NEXT_STEP] = max(world.scalars[memory.NEXT_STEP], longer)
            kind, cable, when, past = earliest(ints, floats, h, NO_CABLE)
            if kind == NONE:
                left = t_end - t - h
                if times.shape[0] > 0:
                    world.head[memory.SAMPLED] = sample(
                        ints, floats, t, h, times, world.head[memory.SAMPLED], out
                    )
                t = t_end if left <= ROOT_TIME else t + h
                if estimated:
                    note_error(world, t)
                if t < t_end:
                    world.head[memory.SUBSTEPS] += 1
                accept(ints, floats, world, t, h)
                world.scalars[memory.TIME] = t
                if world.head[memory.INCONSISTENT] > 0:
                    change(ints, floats, t, TOO_SHORT, world.head[memory.INCONSISTENT] - 1)
                    book_jump(ints, floats, False)
                    if world.head[memory.N_EVENTS] - events > memory.MAX_EVENTS:
                        return TOO_MANY_EVENTS
                if t == t_end:
                    return OK
                h = trial_length(world, t, t_end)
                continue
            low, value_low = 0.0, past_limit_at_start(world, kind, cable)
            high, value_high = h, past_limit(world, kind, cable)
            trials = 0
            h = min(max(when, ROOT_TIME), h)
            continue
        # a partial step for the located change: value rises through zero
        trials += 1
        lets_go = kind == LOSES_TENSION and world.head[memory.PRESSED] != 0
        if trials > MAX_TRIALS and not lets_go:
            return BETWEEN_PEGS if kind == TURNS else NOT_LOCATED
        c = world.constraints[cable]
        value = past_limit(world, kind, cable)
        tolerance = (
            ROOT_GAP
            if kind == REACHES_LENGTH
            else (
                ROOT_ANGLE if kind == TURNS else ROOT_TENSION * max(c[memory.TENSION_0], value_high)
            )
        )
        if not past:
            if value <= (GAP_ZERO if kind == REACHES_LENGTH else 0.0):
                # the peak between the ends does not reach the limit after all: the whole step
                # stands
                if has_derivatives(h):
                    doubt_miss(world, kind, cable, t + h, value)
                world.constraint_int[cable, memory.IGNORED] = 1
                kind = NONE
                h = trial_length(world, t, t_end)
                continue
            past = True
            high, value_high = h, value
        elif value > 0.0:
            high, value_high = h, value
        else:
            low, value_low = h, value
        rising = kind != REACHES_LENGTH or c[memory.RATE] > 0.0
        if kind == TURNS and value <= 0.0:  # what began at zero may fall before it rises
            rising = past_limit_at_start(world, kind, cable) < -tolerance
        if kind == TURNS and high - low <= ROOT_TIME and value_high > LEAP:
            return BETWEEN_PEGS
        leaps = lets_go and high - low <= ROOT_TIME and value_high > tolerance
        if (
            leaps and value > tolerance and 0.0 < low < h
        ):  # bodies come to press just behind the instant before
            h = low
            continue
        if (leaps and value > tolerance and h > low) or trials > PRESSED_TRIALS:
            resume(ints, floats, t)
            change(ints, floats, t, LOST_TENSION, cable)
            book_jump(ints, floats, False)
            if has_derivatives(h):
                note_doubt(world, PRESSES, cable, t)
            if world.head[memory.N_EVENTS] - events > memory.MAX_EVENTS:
                return TOO_MANY_EVENTS
            kind = NONE
            h = trial_length(world, t, t_end)
            continue
        if (rising and abs(value) <= tolerance) or high - low <= ROOT_TIME:
            other, rival, rival_when, rival_past = earliest(ints, floats, h, cable)
            if kind != TURNS and turns_before(
                world, cable
            ):  # estimates had them the other way round
                other, rival, rival_when, rival_past = TURNS, cable, 0.5 * h, True
            elif kind == TURNS and reaches_before(world, cable):
                other, rival, rival_when, rival_past = REACHES_LENGTH, cable, 0.5 * h, True
            if other != NONE and rival_when < h - ROOT_TIME:
                kind, cable, when, past = other, rival, rival_when, rival_past
                low, value_low = 0.0, past_limit_at_start(world, kind, cable)
                high, value_high = h, past_limit(world, kind, cable)
                h = max(when, ROOT_TIME)
                looks = 0
                continue
            if has_derivatives(h) and leaps:
                note_doubt(world, PRESSES, cable, t + h)
            elif has_derivatives(h) and looks < 2:  # when depends on everything, too (D.14)
                if looks == 0:
                    before = value
                    h = as_variable(h)
                else:
                    rate = rate_between(before, value)
                    doubt_event(world, kind, cable, t, h, value, rate)
                    h = root_of(h, before, rate)
                looks += 1
                continue
            looks = 0
            if times.shape[0] > 0:
                world.head[memory.SAMPLED] = sample(
                    ints, floats, t, h, times, world.head[memory.SAMPLED], out
                )
            t += h
            accept(ints, floats, world, t, h)
            world.scalars[memory.TIME] = t
            what = REACHED_LENGTH if kind == REACHES_LENGTH else LOST_TENSION
            if kind == BREAKS:
                what = BROKEN
            elif kind == TURNS:
                what = TURNED
                turns += 1  # of slack cables they are no events
                if turns > MOST_TURNS:
                    return BETWEEN_PEGS
            holds = world.constraint_int[cable, memory.ALIVE] == memory.HOLDS
            if what == REACHED_LENGTH and holds and world.head[memory.PRESSED] != 0:
                strike_hulls(ints, floats, t, cable)
            else:
                change(ints, floats, t, what, cable)
            book_jump(ints, floats, False)
            if world.head[memory.N_EVENTS] - events > memory.MAX_EVENTS:
                return TOO_MANY_EVENTS
            kind = NONE
            h = trial_length(world, t, t_end)
            if h <= 0.0:
                world.scalars[memory.TIME] = t_end
                return OK
            continue
        if kind == REACHES_LENGTH and c[memory.RATE] > 0.0:
            h = h - value / c[memory.RATE]
        elif value_high > value_low:
            h = high - value_high * (high - low) / (value_high - value_low)
        smooth = kind != TURNS and world.head[memory.PRESSED] == 0
        often = SMOOTH_ROOT if smooth else KINKED_ROOT
        if not (low < h < high) or trials % often == often - 1:
            h = 0.5 * (low + high)


@inlined
def conflict(world):
    """OK, or why the taut cables leave no possible motion."""
    if world.head[memory.IMMOVABLE] != 0:
        return DRIVEN_CABLE
    if world.head[memory.INCONSISTENT] < 0 or world.head[memory.UNSOLVED] != 0:
        return ROUGH if world.head[memory.N_CAPSTANS] != 0 else CONTRADICTION
    return OK


@linked(*WORLD, INT, returns=INT)
def run(ints, floats, n_steps):
    """Take up a change from outside, then integrate ``n_steps`` steps.

    The one entry of a simulation: two flat arrays in, changed in place. The change is in the
    header: WHAT (NOTHING, STATE_SET, INPUT_CHANGED or CABLE_CUT of
    :mod:`rotor_dynamics.hybrid.impact`) and WHICH (the cable that is cut). Fixed step i ends at
    ``ORIGIN + i STEP_LENGTH``.

    Args:
        ints, floats: the world.
        n_steps: may be zero.

    Returns:
        A status; the state stays at the last good instant where it is not OK. STEPS_DONE counts the
        steps of this call, STEP those since ORIGIN.
    """
    world = memory.views(ints, floats)
    world.scalars[memory.SPEEDS_AT] = nan
    world.head[memory.STEPS_DONE] = 0
    world.head[memory.INCONSISTENT] = 0
    world.head[memory.UNSOLVED] = 0
    world.head[memory.ARRIVED] = 0
    world.head[memory.IMMOVABLE] = 0
    what = world.head[memory.WHAT]
    if what != NOTHING:
        world.head[memory.WHAT] = NOTHING
        sum_inputs(world, world.scalars[memory.TIME])
        note_energy(ints, floats)
        change(ints, floats, world.scalars[memory.TIME], what, world.head[memory.WHICH])
        book_jump(ints, floats, what == INPUT_CHANGED or what == STATE_SET or what == WINCH_JUMPED)
    status = conflict(world)
    if status != OK:
        return status
    times, out = floats[0:0], world.states[0:0]  # no dense output
    room = memory.MAX_EVENTS + room_for_event(world)
    for _ in range(n_steps):
        full = (
            world.head[memory.N_LOGGED] > 0
            and world.head[memory.N_LOGGED] > world.head[memory.LOG_ROWS] - room
        )
        if world.head[memory.KEEPS_LOG] != 0 and full:
            return LOG_FULL
        step = world.head[memory.STEP] + 1
        t_end = world.scalars[memory.ORIGIN] + step * world.scalars[memory.STEP_LENGTH]
        status = run_to(ints, floats, t_end, times, out)
        if status != OK:
            return status
        status = conflict(world)
        if status != OK:
            return status
        world.head[memory.STEP] = step
        world.head[memory.STEPS_DONE] += 1
    return OK


@kernel
def run_dense(ints, floats, times, out):
    """Integrate to the last of ``times`` (increasing, none in the past), sampling on the way.

    For adaptive methods, after :func:`run` has taken up all changes. Events are on the way too; the
    log must have room for them.

    Args:
        ints, floats: the world.
        times: (n,) s.
        out: (n, n_bodies + 1, STATE), written.

    Returns:
        A status.
    """
    world = memory.views(ints, floats)
    world.head[memory.SAMPLED] = 0
    status = run_to(ints, floats, times[times.shape[0] - 1], times, out)
    return conflict(world) if status == OK else status
