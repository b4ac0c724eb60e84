"""Fixed steps through a hybrid system.

Locate events inside a step, cross them, and end exactly on time.

Each trial of a shorter step starts again from the same state, so every state on the way is a full
fourth-order step with exact constraints; nothing is interpolated.
"""

from __future__ import annotations

from math import inf, isfinite, nan

from rotor_core.kernels.jit import constants, inlined, kernel
from rotor_core.kernels.link import FLOAT, FLOATS, INT, TABLES, WORLD, linked
from rotor_core.numbers.derivatives import (
    as_variable,
    counts,
    has_derivatives,
    rate_between,
    root_of,
    without_derivatives,
)
from rotor_dynamics import memory
from rotor_dynamics.collisions.press import is_brief, meets_next, press
from rotor_dynamics.forces.blades import remember_inflow
from rotor_dynamics.forces.contact import move_anchors, passed_through
from rotor_dynamics.hybrid.contact_impact import end_in_contact, feel, resume, strike_hulls
from rotor_dynamics.hybrid.doubts import (
    AT_END,
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
    earliest,
    guard,
    nearer_peak,
)
from rotor_dynamics.hybrid.impact import (
    BROKEN,
    INPUT_CHANGED,
    LOST_TENSION,
    NOTHING,
    RATES_JUMPED,
    REACHED_LENGTH,
    STATE_SET,
    TOO_SHORT,
    TURNED,
    begin_step,
    change,
)
from rotor_dynamics.hybrid.pace import (
    HOPELESS,
    SHORTER,
    SHORTEST_SUBSTEP,
    STANDS,
    adapt,
    control,
    trial_length,
)
from rotor_dynamics.hybrid.search import (
    ROOT_TIME,
    bracket,
    next_trial,
    rises,
    rival,
    tolerance_of,
)
from rotor_dynamics.integrators.audit import (
    allowed_rate,
    audit_end,
    book,
    book_jump,
    note_energy,
    note_error,
)
from rotor_dynamics.integrators.dopri5 import sample
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

MOST_TURNS = 100
"""Changes at pegs in one step before they count as endless: where edges meet, or at an end, one may undo another."""

LEAP = 1e-9
"""Measure of a change at a peg just behind the instant that was found: above this it leaps there, rad or m."""

MAX_TRIALS, PRESSED_TRIALS = 120, 300
"""Most trials for one change; and where bodies press each other, which makes several cables let go at one instant.
After these a cable lets go where the step begins."""

COARSEST_RETRY = 1e-6
"""Trials that leave cables too long or numbers infinite are halved down to this length, s."""

CRAWL, MOST_CRAWLED = 1e-8, 100_000
"""Adaptive methods give up after so many trials in one call below this length, s: a second would take minutes."""

LONGER = 2.0
"""What presses in a brief piece of a step, over its length, is no guess of the forces in one longer by this factor."""

EVENT_ROWS = 4
"""One event writes at most this many rows and two more per cable (of dependent ones that let go one by one)."""


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
def take_end(world):
    """State and slope at the end of the trial step become those at the start of the next."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]):
        for i in range(memory.STATE):
            world.states[memory.START, b, i] = world.states[memory.END][b, i]
        for i in range(memory.SLOPE):
            world.slopes[memory.FIRST_SLOPE, b, i] = world.slopes[memory.LAST_SLOPE, b, i]


@inlined
def is_coarse(ints, floats, world, h):
    """True if a trial of length h is too long for the motion, or passes through something."""
    if world.head[memory.N_CONTACTS] != 0 and h > COARSEST_RETRY and passed_through(ints, floats):
        world.head[memory.COARSE] = 1
    return world.head[memory.COARSE] != 0


@inlined
def accept(ints, floats, world, t, h, end, times, out):
    """The trial from time t of length h stands: its end, at time ``end``, is the start of the next."""
    if times.shape[0] > 0:
        world.head[memory.SAMPLED] = sample(
            ints, floats, t, h, times, world.head[memory.SAMPLED], out
        )
    if world.head[memory.N_MEETINGS] != 0:
        end_in_contact(ints, floats, end, h)
    take_end(world)
    if world.head[memory.PRESSED] != 0 and is_brief(world, h):
        resume(ints, floats, end)
    if world.head[memory.N_CONTACTS] != 0:
        before = rough_touches(world) if has_derivatives(end) else 0
        move_anchors(ints, floats, memory.START, end)
        if has_derivatives(end):
            doubt_anchors(world, before, end)
    if world.head[memory.N_DISCS] != 0:
        remember_inflow(ints, floats, end)
    book(world)
    begin_step(world)
    world.scalars[memory.TIME] = end


@inlined
def cross(ints, floats, world, kind, cable, t):
    """The change of a cable that was found happens, at time t."""
    if kind == REACHES_LENGTH:
        holds = world.constraint_int[cable, memory.ALIVE] == memory.HOLDS
        if holds and world.head[memory.PRESSED] != 0:
            strike_hulls(ints, floats, t, cable)
        else:
            change(ints, floats, t, REACHED_LENGTH, cable)
    elif kind == BREAKS:
        change(ints, floats, t, BROKEN, cable)
    elif kind == TURNS:
        change(ints, floats, t, TURNED, cable)
    else:
        change(ints, floats, t, LOST_TENSION, cable)


@inlined
def ends_change(ints, floats, world, events):
    """Book the energy of a change; true if there are too many since there were ``events``."""
    book_jump(ints, floats, False)
    return world.head[memory.N_EVENTS] - events > memory.MAX_EVENTS


@inlined
def is_lost(world):
    """True if the way of a cable that is not cut has ended in a sheave: what is told of it, taut or slack, is void."""
    cable = world.head[memory.ARRIVED] - 1
    return cable >= 0 and world.constraint_int[cable, memory.ALIVE] != 0


@linked(*WORLD, FLOAT, FLOATS, TABLES, returns=INT)
def run_to(ints, floats, t_end, times, out):
    """Integrate from the time of the world to exactly ``t_end``.

    Any number of events on the way. Returns a status. ``times`` and ``out``: dense output of
    adaptive methods, see :func:`rotor_dynamics.integrators.dopri5.sample`.
    """
    world = memory.views(ints, floats)
    adaptive = world.head[memory.ADAPTIVE] != 0
    estimated = world.head[memory.ESTIMATED] != 0
    t = world.scalars[memory.TIME]
    events = world.head[memory.N_EVENTS]
    allowed = allowed_rate(world, t_end - t)
    shortest = (t_end - t) * SHORTEST_SUBSTEP
    h = trial_length(world, t, t_end)
    # the search for a change: its bracket, and how often it was looked at with numbers that have derivatives
    kind, cable, when, past = NONE, NO_CABLE, 0.0, False
    low, high, value_low, value_high = 0.0, 0.0, 0.0, 0.0
    trials, looks, before = 0, 0, 0.0
    turns, crawled, tried = 0, 0, inf
    while True:
        if has_derivatives(h) and kind != NONE and looks == 0:
            h = without_derivatives(h)
        if world.head[memory.PRESSED] != 0 and is_brief(world, tried) and h > LONGER * tried:
            resume(ints, floats, t)
        world.head[memory.ARRIVED] = 0
        advance(ints, floats, t, h)
        world.head[memory.TRIALS] += 1
        meets_at_end = False
        if world.head[memory.N_MEETINGS] != 0:
            pressed = press(ints, floats, t, h)
            if pressed == 0.0:  # something hits before any time goes by
                strike_hulls(ints, floats, t, NO_CABLE)
                if ends_change(ints, floats, world, events):
                    return TOO_MANY_EVENTS
                kind, h = NONE, trial_length(world, t, t_end)
                continue
            if pressed < h:  # something meets
                kind, h = NONE, pressed
            elif has_derivatives(h):
                meets_at_end = meets_next(world, world.head[memory.N_TOUCHING]) >= 0
            tried = h
        finite = audit_end(world) and not is_lost(world)
        if not finite or is_coarse(ints, floats, world, h):
            if h > COARSEST_RETRY:  # the step is too long for the motion: half of it first
                kind, h = NONE, 0.5 * h
                if world.head[memory.CONTROLLED] != 0:
                    world.scalars[memory.NEXT_STEP] = h
                continue
            if not finite:
                world.head[memory.BAD_BODY] = first_not_finite(world)
                return AT_SHEAVE if world.head[memory.ARRIVED] != 0 else NOT_FINITE

        if kind == NONE:
            fate = STANDS
            if adaptive:
                crawled += 1 if h < CRAWL else 0
                fate = adapt(ints, floats, world, h) if crawled <= MOST_CRAWLED else HOPELESS
            elif estimated:
                fate = control(world, h, allowed, shortest)
            if fate == HOPELESS:
                return TOO_SMALL
            if fate == SHORTER:
                h = world.scalars[memory.NEXT_STEP] if adaptive else trial_length(world, t, t_end)
                continue
            kind, cable, when, past = earliest(ints, floats, h, NO_CABLE)
            if kind != NONE:
                low, value_low, high, value_high, h = bracket(world, kind, cable, when, h)
                trials, looks = 0, 0
                continue
            end = t_end if t_end - t - h <= ROOT_TIME else t + h
            if estimated:
                note_error(world, end)
            if meets_at_end:
                note_doubt(world, AT_END, NO_CABLE, end)
            if end < t_end:
                world.head[memory.SUBSTEPS] += 1
            accept(ints, floats, world, t, h, end, times, out)
            t = end
            if world.head[memory.INCONSISTENT] > 0:
                change(ints, floats, t, TOO_SHORT, world.head[memory.INCONSISTENT] - 1)
                if ends_change(ints, floats, world, events):
                    return TOO_MANY_EVENTS
            if t == t_end:
                return OK
            h = trial_length(world, t, t_end)
            continue

        # a partial step for the located change: the value of its guard rises through zero
        trials += 1
        lets_go = kind == LOSES_TENSION and world.head[memory.PRESSED] != 0
        if trials > MAX_TRIALS and not lets_go:
            return BETWEEN_PEGS if kind == TURNS else NOT_LOCATED
        value = guard(world, kind, cable)
        tolerance = tolerance_of(world, kind, cable, value_high)
        if not past and value <= (GAP_ZERO if kind == REACHES_LENGTH else 0.0):
            higher = nearer_peak(world, kind, cable, h, high, trials)
            if higher > 0.0:
                h = higher
                continue
            # the peak between the ends does not reach the limit after all: the whole step stands
            if has_derivatives(h):
                doubt_miss(world, kind, cable, t + h, value)
            world.constraint_int[cable, memory.IGNORED] = 1
            kind, h = NONE, trial_length(world, t, t_end)
            continue
        past = True
        if value > 0.0:
            high, value_high = h, value
        else:
            low, value_low = h, value
        narrow = high - low <= ROOT_TIME
        if kind == TURNS and narrow and value_high > LEAP:
            return BETWEEN_PEGS
        leaps = lets_go and narrow and value_high > tolerance
        if leaps and value > tolerance and 0.0 < low < h:
            h = low  # bodies come to press just behind the instant before
            continue
        if (leaps and value > tolerance and h > low) or trials > PRESSED_TRIALS:
            resume(ints, floats, t)
            change(ints, floats, t, LOST_TENSION, cable)
            if has_derivatives(t):
                note_doubt(world, PRESSES, cable, t)
            if ends_change(ints, floats, world, events):
                return TOO_MANY_EVENTS
            kind, h = NONE, trial_length(world, t, t_end)
            continue
        located = abs(value) <= tolerance and rises(world, kind, cable, value, tolerance)
        if not (located or narrow):
            h = next_trial(world, kind, cable, h, value, low, value_low, high, value_high, trials)
            continue
        other, which, when, other_past = rival(ints, floats, world, kind, cable, h)
        if other != NONE:
            kind, cable, past = other, which, other_past
            low, value_low, high, value_high, h = bracket(world, kind, cable, when, h)
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
        accept(ints, floats, world, t, h, t + h, times, out)
        t += h
        if kind == TURNS:
            turns += 1  # of slack cables they are no events
            if turns > MOST_TURNS:
                return BETWEEN_PEGS
        cross(ints, floats, world, kind, cable, t)
        if ends_change(ints, floats, world, events):
            return TOO_MANY_EVENTS
        if t >= t_end:
            if has_derivatives(t) and counts(t - without_derivatives(t)):
                note_doubt(world, AT_END, cable, t)
            world.scalars[memory.TIME] = t_end
            return OK
        kind, h = NONE, trial_length(world, t, t_end)


@inlined
def room_for_event(world):
    """Rows that the log must have left for one more event."""
    return EVENT_ROWS + 2 * world.head[memory.N_CONSTRAINTS]


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
        if what == STATE_SET:
            world.scalars[memory.SET_AT] = world.scalars[memory.TIME]
        # no step has been taken since the state was set: its forces of contact are not known yet
        if (
            world.head[memory.N_MEETINGS] != 0
            and world.scalars[memory.SET_AT] == world.scalars[memory.TIME]
        ):
            feel(ints, floats, world.scalars[memory.TIME], what == STATE_SET)
        book_jump(ints, floats, what == INPUT_CHANGED or what == STATE_SET or what == RATES_JUMPED)
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
