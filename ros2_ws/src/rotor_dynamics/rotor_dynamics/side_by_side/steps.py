"""Smooth steps of several worlds of one structure at once, one in each lane of a vector register.

The numbers of the worlds are packed: a row for every number of a world, a column (lane) for every world; the integers
are those of one of them. What the bodies and taut cables do is computed by the kernels of a single world
(:mod:`rotor_core.numbers.lanes`). What a lane would have to do by itself (an event, a step that is too long, dependent
cables) is not done here: such a lane is named, and takes that step as a world of its own.

Source of the form: structure of arrays, as in ispc (Pharr and Mark, InPar 2012).
"""

from __future__ import annotations

from math import isfinite, nan

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import INT, INTS, ROWS, linked
from rotor_core.math.factor import factorize_small, substitute_small, substitute_three_small
from rotor_core.numbers.lanes import bits
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import (
    EVERYTHING,
    GAPS,
    RATES,
    SEEN_DRIFT,
    SEEN_RATE,
    SMALL_DRIFT,
    TAUT_ONLY,
    TENSIONS,
    clear_correction,
    couple_bodies,
    lay_right_sides,
    move,
    pull_bodies,
    slack_cables_near,
    take_projected_rates,
    update_geometry,
)
from rotor_dynamics.hybrid.guards import GAP_ZERO, leeway
from rotor_dynamics.hybrid.impact import AT_LENGTH, AT_REST, begin_step
from rotor_dynamics.hybrid.stepper import take_end
from rotor_dynamics.integrators.audit import (
    allowed_rate,
    audit_end,
    book,
    energy_at_start,
    excess,
    jump,
    note_error,
)
from rotor_dynamics.integrators.classical import (
    begin_stage,
    displaced,
    normalize,
    note_tensions,
    note_work,
    pull_back,
)
from rotor_dynamics.motion.free import move_freely, sum_inputs

NO_TREES = False
"""Worlds with joints do not run side by side."""


@inlined
def evaluate_lanes(world, which_state, which_slope, t, what, at_start):
    """:func:`rotor_dynamics.constraints.unilateral.evaluate` with at most one projection.

    Returns the lanes that would need more: another projection, or the pulls of dependent cables.
    """
    state, slope = world.states[which_state], world.slopes[which_slope]
    move_freely(world, which_state, which_slope, t)
    n = update_geometry(world, state, slope, what, NO_TREES)
    if n == 0:
        return 0
    couple_bodies(world, n)
    leaving = 0
    if factorize_small(world.matrix, world.factor, n):
        leaving = -1
    drift, rushed = lay_right_sides(world, n)
    tension, gap, rate = world.small[TENSIONS], world.small[GAPS], world.small[RATES]
    if what == TAUT_ONLY:
        substitute_small(world.factor, n, tension)
    else:
        substitute_three_small(world.factor, n, tension, gap, rate)
    for i in range(n):
        k = world.order[0, i]
        world.constraints[k, memory.TENSION] = tension[i]
        pull_bodies(world, k, tension[i], slope, memory.D_V, memory.D_OMEGA)
    if what == TAUT_ONLY:
        return leaving
    clear_correction(world)
    correction = world.slopes[memory.CORRECTION]
    for i in range(n):
        k = world.order[0, i]
        pull_bodies(world, k, gap[i], correction, memory.D_P, memory.D_THETA)
        pull_bodies(world, k, rate[i], state, memory.V, memory.OMEGA)
    move(world, state)
    seen = bits(drift > SEEN_DRIFT)
    if at_start:
        seen |= bits(rushed > SEEN_RATE)
    leaving |= bits(drift >= SMALL_DRIFT) | (seen & slack_cables_near(world))
    take_projected_rates(world, state, slope, n)
    return leaving


@inlined
def trial(world, t, h):
    """A trial step by rkmk4, as :func:`rotor_dynamics.integrators.classical.classical`; lanes that cannot take it."""
    for k in range(world.head[memory.N_CONSTRAINTS]):
        world.constraints[k, memory.TENSION_MIN] = world.constraints[k, memory.TENSION_0]
    leaving = 0
    for stage in range(1, 5):
        last = stage == 4
        c, slope, target = begin_stage(world, stage, h)
        displaced(world, c, world.slopes[slope], world.states[target])
        if last:
            normalize(world)
        slope = memory.LAST_SLOPE if last else np.int64(stage)
        what = EVERYTHING if last else TAUT_ONLY
        leaving |= evaluate_lanes(world, target, slope, t + c, what, False)
        if not last:
            world.scalars[memory.POWER + stage] = world.scalars[memory.POWER_NOW]
            pull_back(world, world.head[memory.VARIANT], stage, c)
        note_tensions(world, stage == 2)
    note_work(world, h)
    return leaving


@inlined
def may_change(world, k, h):
    """Lanes in which cable k may snap taut or let go in the trial step: all that guards find, and few others."""
    c = world.constraints[k]
    if world.constraint_int[k, memory.ALIVE] == 0:
        return 0
    if world.constraint_int[k, memory.TAUT] == 0:
        over = max(c[memory.GAP_0], 0.0)
        g0, r0, g1, r1 = (
            c[memory.GAP_0] - over, c[memory.RATE_0], c[memory.GAP] - over, c[memory.RATE],
        )  # fmt: skip
        peaks = bits(r0 > 0.0) & bits(r1 < 0.0)
        near = leeway(c[memory.FREE], g0, r0, g1, r1, h)
        peaks &= bits(g0 + h * r0 > -near) & bits(g1 - h * r1 > -near)
        return bits(g1 > GAP_ZERO) | peaks
    t0, middle, t1 = c[memory.TENSION_0], c[memory.TENSION_MID], c[memory.TENSION]
    bend = t0 - 2.0 * middle + t1
    s = 0.5 + (t0 - t1) / (4.0 * bend)
    lowest = t0 + s * (4.0 * middle - 3.0 * t0 - t1) + 2.0 * s * s * bend
    dips = bits(bend > 0.0) & bits(0.0 < s) & bits(s < 1.0) & bits(lowest < 0.0)
    return bits(t1 < 0.0) | bits(c[memory.TENSION_MIN] < 0.0) | dips


@inlined
def accept(world, t):
    """The end of the trial step, at time t, becomes the start of the next, in all lanes."""
    take_end(world)
    book(world)
    begin_step(world)
    world.scalars[memory.TIME] = t
    world.scalars[memory.STEP_NUMBER] += 1.0


@linked(INTS, ROWS, INT, INT, returns=INT, part="worlds side by side")
def step_lanes(ints, pack, n_steps, used):
    """Take up to ``n_steps`` fixed steps, until a lane cannot take the next.

    Args:
        ints: integers of one of the worlds.
        pack: numbers of the worlds, (n, WIDTH).
        n_steps: steps.
        used: bits of the lanes that hold a world.

    Returns:
        The lanes that stand before a step that they cannot take with the others, or 0; the number of steps that
        were taken is in STEPS_DONE.
    """
    world = memory.views(ints, pack)
    scalars = world.scalars
    controlled = world.head[memory.CONTROLLED] != 0
    world.head[memory.STEPS_DONE] = 0
    scalars[memory.SPEEDS_AT] = nan
    for _ in range(n_steps):
        t = scalars[memory.TIME]
        t_end = (
            scalars[memory.ORIGIN]
            + (scalars[memory.STEP_NUMBER] + 1.0) * scalars[memory.STEP_LENGTH]
        )
        h = t_end - t
        leaving = trial(world, t, h)
        leaving |= ~bits(audit_end(world))
        if world.head[memory.ESTIMATED] != 0:
            over = excess(world, h, allowed_rate(world, h))
            if controlled:
                leaving |= bits(over > 1.0)
        for k in range(world.head[memory.N_CONSTRAINTS]):
            leaving |= may_change(world, k, h)
        leaving &= used
        if leaving != 0:
            return leaving
        if world.head[memory.ESTIMATED] != 0:
            note_error(world, t_end)
        accept(world, t_end)
        world.head[memory.STEPS_DONE] += 1
    return 0


@linked(INTS, ROWS, INT, returns=INT, part="worlds side by side")
def take_up_inputs(ints, pack, used):
    """Inputs have changed: slope, tensions and power at the start anew, as `change` does where every taut cable pulls.

    Returns the lanes where more happens than that; their part of the pack is of no use then.
    """
    world = memory.views(ints, pack)
    scalars = world.scalars
    t = scalars[memory.TIME]
    scalars[memory.SPEEDS_AT] = nan
    sum_inputs(world, t)
    energy_at_start(world)
    leaving = 0
    for k in range(world.head[memory.N_CONSTRAINTS]):
        c = world.constraints[k]
        if world.constraint_int[k, memory.TAUT] == 0 and world.constraint_int[k, memory.ALIVE] != 0:
            resting = bits(abs(c[memory.GAP_0]) <= AT_LENGTH)
            leaving |= resting & bits(abs(c[memory.RATE_0]) <= AT_REST)
    leaving |= evaluate_lanes(world, memory.START, memory.FIRST_SLOPE, t, EVERYTHING, True)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        leaving |= bits(world.constraints[k, memory.TENSION] < 0.0)
    begin_step(world)
    jump(world, True)
    leaving |= ~bits(isfinite(scalars[memory.ENERGY] + scalars[memory.POWER]))
    return leaving & used
