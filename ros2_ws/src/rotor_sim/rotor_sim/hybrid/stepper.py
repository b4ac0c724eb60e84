"""Fixed steps through a hybrid system.

Locate events inside a step, cross them, and end exactly on time.

Each trial of a shorter step starts again from the same state, so every state on the way is a full
fourth-order step with exact constraints; nothing is interpolated.
"""

from __future__ import annotations

from math import isfinite

from rotor_core._jit import constants, kernel
from rotor_sim.dynamics.motion import sum_inputs
from rotor_sim.hybrid.guards import (
    GAP_ZERO,
    LOSES_TENSION,
    NO_CABLE,
    NONE,
    REACHES_LENGTH,
    earliest,
)
from rotor_sim.hybrid.impact import LOST_TENSION, REACHED_LENGTH, begin_step, change
from rotor_sim.integrators.rkmk4 import advance
from rotor_sim.model import layout as at

OK, NOT_FINITE, TOO_MANY_EVENTS, NOT_LOCATED, LOG_FULL, CONTRADICTION = constants(0, 1, 2, 3, 4, 5)

ROOT_GAP = 2e-14
"""A located snap is this close to the length of the cable, m (rounding of positions of the order of metres)."""

ROOT_TENSION = 1e-13
"""A located loss of tension is this close to zero, relative to the largest tension at the ends of the step."""

ROOT_TIME = 1e-14
"""Width of the bracket at which a root counts as located, s."""

MAX_TRIALS = 120

EVENT_ROWS = 8
"""One event writes at most this many rows (a snap, cables it throws off, cables that let go)."""


@kernel
def first_not_finite(world, state):
    """Index of the first body whose state is not finite, or -1."""
    for b in range(world.head[at.N_BODIES]):
        total = 0.0
        for i in range(at.STATE):
            total += state[b, i]
        if not isfinite(total):
            return b
    return -1


@kernel
def past_limit(world, kind, cable):
    """The quantity that rises through zero when cable ``cable`` changes.

    Gap, or minus tension, at the end of the trial.
    """
    return (
        world.cables[cable, at.GAP] if kind == REACHES_LENGTH else -world.cables[cable, at.TENSION]
    )


@kernel
def past_limit_at_start(world, kind, cable):
    """The same quantity at the start of the step."""
    return (
        world.cables[cable, at.GAP_0]
        if kind == REACHES_LENGTH
        else -world.cables[cable, at.TENSION_0]
    )


@kernel
def accept(world):
    """The end of the trial step becomes the start of the next."""
    for b in range(world.head[at.N_BODIES]):
        for i in range(at.STATE):
            world.start[b, i] = world.end[b, i]
        for i in range(at.SLOPE):
            world.slopes[at.FIRST_SLOPE, b, i] = world.slopes[at.LAST_SLOPE, b, i]
    begin_step(world)


@kernel
def run_to(world, t_end):
    """Integrate from the time of the world to exactly ``t_end``.

    Any number of events on the way. Returns a status.
    """
    t = world.scalars[at.TIME]
    rows = world.head[at.N_LOGGED]
    h = t_end - t
    kind, cable, when, past = NONE, NO_CABLE, 0.0, False
    low, high, value_low, value_high = 0.0, 0.0, 0.0, 0.0
    trials = 0
    while True:
        advance(world, t, h)
        world.head[at.TRIALS] += 1
        bad = first_not_finite(world, world.end)
        if bad >= 0:
            world.head[at.BAD_BODY] = bad
            return NOT_FINITE
        if kind == NONE:
            kind, cable, when, past = earliest(world, h, NO_CABLE)
            if kind == NONE:
                accept(world)
                world.scalars[at.TIME] = t_end
                return OK
            low, value_low = 0.0, past_limit_at_start(world, kind, cable)
            high, value_high = h, past_limit(world, kind, cable)
            trials = 0
            h = min(max(when, ROOT_TIME), h)
            continue
        # a partial step for the located change: value rises through zero
        trials += 1
        if trials > MAX_TRIALS:
            return NOT_LOCATED
        c = world.cables[cable]
        value = past_limit(world, kind, cable)
        tolerance = (
            ROOT_GAP if kind == REACHES_LENGTH else ROOT_TENSION * max(c[at.TENSION_0], value_high)
        )
        if not past:
            if value <= (GAP_ZERO if kind == REACHES_LENGTH else 0.0):
                # the peak between the ends does not reach the limit after all: the whole step
                # stands
                world.cable_int[cable, at.IGNORED] = 1
                kind = NONE
                h = t_end - t
                continue
            past = True
            high, value_high = h, value
        elif value > 0.0:
            high, value_high = h, value
        else:
            low, value_low = h, value
        rising = kind == LOSES_TENSION or c[at.RATE] > 0.0
        if (rising and abs(value) <= tolerance) or high - low <= ROOT_TIME:
            other, rival, rival_when, rival_past = earliest(world, h, cable)
            if other != NONE and rival_when < h - ROOT_TIME:
                kind, cable, when, past = other, rival, rival_when, rival_past
                low, value_low = 0.0, past_limit_at_start(world, kind, cable)
                high, value_high = h, past_limit(world, kind, cable)
                h = max(when, ROOT_TIME)
                continue
            accept(world)
            t += h
            world.scalars[at.TIME] = t
            change(world, t, REACHED_LENGTH if kind == REACHES_LENGTH else LOST_TENSION, cable)
            if world.head[at.N_LOGGED] - rows > at.MAX_EVENTS - EVENT_ROWS:
                return TOO_MANY_EVENTS
            kind = NONE
            h = t_end - t
            if h <= 0.0:
                world.scalars[at.TIME] = t_end
                return OK
            continue
        if kind == REACHES_LENGTH and c[at.RATE] > 0.0:
            h = h - value / c[at.RATE]
        elif value_high > value_low:
            h = high - value_high * (high - low) / (value_high - value_low)
        if not (low < h < high) or trials % 8 == 7:
            h = 0.5 * (low + high)


(NOTHING,) = constants(-1)
"""For :func:`run`: nothing has changed from outside."""


@kernel
def run(ints, floats, what, k, t_origin, step_length, first_step, n_steps):
    """Take up a change from outside, then integrate ``n_steps`` steps.

    Step i ends at ``t_origin + i * step_length``.

    The one entry of a simulation: two flat arrays in, changed in place.

    Args:
        ints, floats: the world.
        what: NOTHING, or STATE_SET, INPUT_CHANGED or CABLE_CUT of :mod:`rotor_sim.hybrid.impact`.
        k: the cable that is cut.
        t_origin: s.
        step_length: s.
        first_step: steps already done since ``t_origin``.
        n_steps: may be zero.

    Returns:
        A status; the state stays at the last good instant where it is not OK. STEPS_DONE counts the
        steps of this call.
    """
    world = at.views(ints, floats)
    world.head[at.STEPS_DONE] = 0
    world.head[at.INCONSISTENT] = 0
    world.head[at.UNSOLVED] = 0
    if what != NOTHING:
        sum_inputs(world, world.scalars[at.TIME])
        change(world, world.scalars[at.TIME], what, k)
    for i in range(n_steps):
        if world.head[at.N_LOGGED] > at.EVENTS - at.MAX_EVENTS:
            return LOG_FULL
        status = run_to(world, t_origin + (first_step + i + 1) * step_length)
        if status != OK:
            return status
        if world.head[at.INCONSISTENT] != 0 or world.head[at.UNSOLVED] != 0:
            return CONTRADICTION
        world.head[at.STEPS_DONE] += 1
    if world.head[at.INCONSISTENT] != 0 or world.head[at.UNSOLVED] != 0:
        return CONTRADICTION
    return OK
