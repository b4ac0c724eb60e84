"""Fixed steps through a hybrid system: locate events inside a step, cross them, and end exactly on time.

Each trial of a shorter step starts again from the same state, so every state on the way is a full fourth-order step with
exact constraints; nothing is interpolated.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from rotor_core._jit import kernel
from rotor_sim.dynamics.constraints import EVERYTHING, evaluate
from rotor_sim.dynamics.motion import sum_inputs
from rotor_sim.hybrid.guards import GAP_ZERO, LOSES_TENSION, NONE, REACHES_LENGTH, earliest
from rotor_sim.hybrid.impact import (
    AT_LENGTH,
    AT_REST,
    CUT,
    INPUT_JUMP,
    LOGGED,
    NO_CAUSE,
    begin,
    begin_step,
    choose_taut,
    clear_jump,
    finish_rows,
    involve,
    let_go,
    log_event,
    snap,
)
from rotor_sim.integrators.rkmk4 import advance
from rotor_sim.model import layout as at

OK, NOT_FINITE, TOO_MANY_EVENTS, NOT_LOCATED, LOG_FULL = np.int64([0, 1, 2, 3, 4])

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
    """The quantity that rises through zero when cable ``cable`` changes: gap, or minus tension, at the end of the trial."""
    return world.cables[cable, at.GAP] if kind == REACHES_LENGTH else -world.cables[cable, at.TENSION]


@kernel
def past_limit_at_start(world, kind, cable):
    """The same quantity at the start of the step."""
    return world.cables[cable, at.GAP_0] if kind == REACHES_LENGTH else -world.cables[cable, at.TENSION_0]


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
    """Integrate from the time of the world to exactly ``t_end``; any number of events on the way. Returns a status."""
    t = world.scalars[at.TIME]
    rows = world.head[at.N_LOGGED]
    h = t_end - t
    kind, cable, when, past = NONE, -1, 0.0, False
    low, high, value_low, value_high = 0.0, 0.0, 0.0, 0.0
    trials = 0
    while True:
        advance(world, t, h)
        bad = first_not_finite(world, world.end)
        if bad >= 0:
            world.head[at.BAD_BODY] = bad
            return NOT_FINITE
        if kind == NONE:
            kind, cable, when, past = earliest(world, h, -1)
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
        tolerance = ROOT_GAP if kind == REACHES_LENGTH else ROOT_TENSION * max(c[at.TENSION_0], value_high)
        if not past:
            if value <= (GAP_ZERO if kind == REACHES_LENGTH else 0.0):
                # the peak between the ends does not reach the limit after all: the whole step stands
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
            if kind == REACHES_LENGTH:
                snap(world, t, cable)
            else:
                let_go(world, t, cable)
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


@kernel
def run(ints, floats, t_origin, step_length, first_step, n_steps):
    """Integrate ``n_steps`` steps; step i ends at ``t_origin + i * step_length`` with i counted from ``first_step``.

    The one entry of a simulation: two flat arrays in, changed in place. Returns a status; the state stays at the last
    good instant where it is not OK. STEPS_DONE counts the steps of this call.
    """
    world = at.views(ints, floats)
    world.head[at.STEPS_DONE] = 0
    for i in range(n_steps):
        if world.head[at.N_LOGGED] > at.EVENTS - at.MAX_EVENTS:
            return LOG_FULL
        status = run_to(world, t_origin + (first_step + i + 1) * step_length)
        if status != OK:
            return status
        world.head[at.STEPS_DONE] += 1
    return OK


@kernel
def keeps_taut_set(world, t):
    """Evaluate at the start with the taut set as it is; True if every taut cable pulls and no slack one rests at its length."""
    for k in range(world.head[at.N_CABLES]):
        c = world.cables[k]
        if world.cable_int[k, at.ALIVE] != 0 and world.cable_int[k, at.TAUT] == 0:
            if c[at.GAP_0] >= -AT_LENGTH and abs(c[at.RATE_0]) <= AT_REST:
                return False
    evaluate(world, world.start, world.slopes[at.FIRST_SLOPE], t, EVERYTHING)
    for k in range(world.head[at.N_CABLES]):
        if world.cables[k, at.TENSION] < 0.0:
            return False
    begin_step(world)
    return True


STATE_SET, INPUT_CHANGED, CABLE_CUT = np.int64([0, 1, 2])


@kernel
def restart(ints, floats, what, k):
    """Bring slope, tensions and taut set up to date after a change from outside.

    Args:
        ints, floats: the world.
        what: STATE_SET, INPUT_CHANGED (inputs or external wrenches) or CABLE_CUT.
        k: the cable that is cut.
    """
    world = at.views(ints, floats)
    t = world.scalars[at.TIME]
    sum_inputs(world, t)
    if what == STATE_SET:
        begin(world, t)
        return
    if what == INPUT_CHANGED and keeps_taut_set(world, t):
        return
    first_row = world.head[at.N_LOGGED]
    clear_jump(world)
    if what == CABLE_CUT:
        row = log_event(world, t, CUT, NO_CAUSE)
        involve(world, row, k, 1.0)
        world.cable_int[k, at.ALIVE] = 0
        world.cable_int[k, at.TAUT] = 0
        world.cables[k, at.TENSION] = 0.0
        world.cables[k, at.RATE] = 0.0
    choose_taut(world, t, INPUT_JUMP, LOGGED)
    finish_rows(world, first_row)
