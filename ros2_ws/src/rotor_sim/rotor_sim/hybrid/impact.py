"""Changes of the taut set: velocity jumps and the choice between pulling and letting go.

Equations (H.1)-(H.3), docs/theory/hybrid_dynamics.md: both levels are linear complementarity problems on A = D M^-1 D^T.
RotorTM's closed form (43) is the case in which every impulse comes out positive.
"""

from __future__ import annotations

import numpy as np

from rotor_core._jit import kernel
from rotor_sim.dynamics.constraints import EVERYTHING, assemble, evaluate, pull
from rotor_sim.hybrid.complementarity import solve_complementarity
from rotor_sim.model import layout as at

SNAP, SLACK, SETTLE, CUT, RELEASE = 1.0, 2.0, 3.0, 4.0, 5.0
NO_CAUSE, TENSION_ZERO, IMPACT, ACCELERATION, INPUT_JUMP = 0.0, 1.0, 2.0, 3.0, 4.0

LOGGED, QUIET = np.int64([0, 1])

SIMULTANEOUS = 1e-9
"""Cables that reach their length within this time of each other snap together, s."""

AT_LENGTH = 1e-12
"""A slack cable this close to its length takes part in an impact, m."""

AT_REST = 1e-10
"""Gap rates below this count as zero when the taut set is chosen, m/s."""

SETTLE_SPEED = 1e-6
"""Closing speed below which a cascade of snaps is closed at once, m/s."""

SETTLE_GAP, SETTLE_RATE = 1e-9, 1e-5
"""Slack cables this close to their length and to rest join a settling cascade, m and m/s."""


@kernel
def log_event(world, t, kind, cause):
    """Append a row to the event log from the columns of the cables; returns the row index."""
    row = world.head[at.N_LOGGED]
    e = world.log[row]
    e[at.EVENT_TIME] = t
    e[at.EVENT_TYPE] = kind
    e[at.EVENT_CAUSE] = cause
    for k in range(world.head[at.N_CABLES]):
        c = world.cables[k]
        o = at.EVENT_HEAD + at.EVENT_PER_CABLE * k
        e[o + at.INVOLVED] = 0.0
        e[o + at.LOG_IMPULSE] = c[at.IMPULSE]
        e[o + at.LOG_RATE_BEFORE] = c[at.RATE]
        e[o + at.LOG_RATE_AFTER] = c[at.RATE_PLUS]
        e[o + at.LOG_TENSION_BEFORE] = c[at.TENSION_OLD]
        e[o + at.LOG_TENSION_AFTER] = 0.0
    world.head[at.N_LOGGED] = row + 1
    return row


@kernel
def involve(world, row, k, how):
    """Mark cable k in a row of the log: 1 it is what happened, 2 it was at its length and took part."""
    world.log[row, at.EVENT_HEAD + at.EVENT_PER_CABLE * k + at.INVOLVED] = how


@kernel
def finish_rows(world, first_row):
    """Fill in the tensions after the event, once the new taut set is known."""
    for row in range(first_row, world.head[at.N_LOGGED]):
        for k in range(world.head[at.N_CABLES]):
            o = at.EVENT_HEAD + at.EVENT_PER_CABLE * k
            world.log[row, o + at.LOG_TENSION_AFTER] = world.cables[k, at.TENSION]


@kernel
def candidates(world):
    """List the cables with CANDIDATE set in ``world.order[0]`` and assemble A over them; their number."""
    n = 0
    for k in range(world.head[at.N_CABLES]):
        if world.cable_int[k, at.CANDIDATE] != 0:
            world.order[0, n] = k
            n += 1
    assemble(world, n)
    return n


@kernel
def complement(world, n, column):
    """Solve the complementarity problem of the n listed cables with right side ``column``; multipliers in MULTIPLIER."""
    b = world.small[0]
    for i in range(n):
        b[i] = world.cables[world.order[0, i], column]
    inside = world.order[2]
    place = world.order[1]
    z = world.small[1]
    w = world.small[2]
    solve_complementarity(world.matrix, b, n, z, w, inside, place, world.block, world.factor, world.small[3:6])
    for k in range(world.head[at.N_CABLES]):
        world.cables[k, at.MULTIPLIER] = 0.0
    for i in range(n):
        k = world.order[0, i]
        world.cables[k, at.MULTIPLIER] = z[i]
        world.cables[k, at.RATE_PLUS] = -w[i]


@kernel
def choose_taut(world, t, cause, quiet):
    """Pull or let go: acceleration-level complementarity over the taut cables and those resting at their length (H.2).

    Afterwards slope 0 and the tensions belong to the state in ``world.start``. Cables that were taut and let go are
    logged with ``cause`` unless ``quiet``.
    """
    n_cables = world.head[at.N_CABLES]
    first = world.slopes[at.FIRST_SLOPE]
    for k in range(n_cables):
        world.cable_int[k, at.CANDIDATE] = world.cable_int[k, at.TAUT]
        world.cable_int[k, at.TAUT] = 0
    evaluate(world, world.start, first, t, EVERYTHING)  # every cable slack: FREE is the free d_ddot
    for k in range(n_cables):
        c = world.cables[k]
        if (
            world.cable_int[k, at.ALIVE] != 0
            and world.cable_int[k, at.IGNORED] == 0
            and abs(c[at.GAP]) <= AT_LENGTH
            and abs(c[at.RATE]) <= AT_REST
            and c[at.FREE] > 0.0
        ):
            world.cable_int[k, at.CANDIDATE] |= 2
    n = candidates(world)
    complement(world, n, at.FREE)
    left = 0
    for k in range(n_cables):
        taut = world.cables[k, at.MULTIPLIER] > 0.0
        world.cable_int[k, at.TAUT] = 1 if taut else 0
        if not taut and world.cable_int[k, at.CANDIDATE] & 1:
            left += 1
    if left > 0 and quiet == LOGGED:
        row = log_event(world, t, SLACK, cause)
        for k in range(n_cables):
            if world.cable_int[k, at.TAUT] == 0 and world.cable_int[k, at.CANDIDATE] & 1:
                involve(world, row, k, 1.0)
    evaluate(world, world.start, first, t, EVERYTHING)
    begin_step(world)


@kernel
def begin_step(world):
    """Make the measurements just taken the values at the start of the next step."""
    for k in range(world.head[at.N_CABLES]):
        c = world.cables[k]
        c[at.GAP_0] = c[at.GAP]
        c[at.RATE_0] = c[at.RATE]
        c[at.TENSION_0] = c[at.TENSION]
        world.cable_int[k, at.IGNORED] = 0


@kernel
def clear_jump(world):
    """Forget impulses and remember tensions before an event."""
    for k in range(world.head[at.N_CABLES]):
        c = world.cables[k]
        c[at.IMPULSE] = 0.0
        c[at.RATE_PLUS] = c[at.RATE]
        c[at.TENSION_OLD] = c[at.TENSION] if world.cable_int[k, at.TAUT] != 0 else 0.0


@kernel
def calm(world, t):
    """After a settled cascade: the projection of the pulling cables may leave another one closing; take that out too."""
    for k in range(world.head[at.N_CABLES]):
        c = world.cables[k]
        near = world.cable_int[k, at.ALIVE] != 0 and c[at.GAP] > -SETTLE_GAP and abs(c[at.RATE]) < SETTLE_RATE
        world.cable_int[k, at.CANDIDATE] = 1 if near or world.cable_int[k, at.TAUT] != 0 else 0
    n = candidates(world)
    complement(world, n, at.RATE)
    for i in range(n):
        k = world.order[0, i]
        pull(world, k, world.cables[k, at.MULTIPLIER], world.start, at.V, at.OMEGA)
        if world.cables[k, at.RATE_PLUS] > -AT_REST:
            world.cable_int[k, at.TAUT] = 1
    choose_taut(world, t, ACCELERATION, QUIET)


@kernel
def snap(world, t, colliding):
    """Cable ``colliding`` reaches its length at time t in ``world.start``: impulses, new velocities, new taut set (H.1).

    Measurements (RATE, arms) must belong to ``world.start``. A closing speed under SETTLE_SPEED ends a cascade: every
    cable near its length and near rest joins; whether it stays is then decided by accelerations alone, and those that
    pull are projected onto their length, with an error of second order in the remaining speeds.
    """
    n_cables = world.head[at.N_CABLES]
    first_row = world.head[at.N_LOGGED]
    clear_jump(world)
    settles = world.cables[colliding, at.RATE] < SETTLE_SPEED
    for k in range(n_cables):
        c = world.cables[k]
        joins = world.cable_int[k, at.TAUT] != 0 or k == colliding
        if not joins and world.cable_int[k, at.ALIVE] != 0:
            closes = c[at.RATE] > 0.0 and c[at.GAP] + SIMULTANEOUS * c[at.RATE] > 0.0
            joins = closes or abs(c[at.GAP]) <= AT_LENGTH
            if settles and c[at.GAP] > -SETTLE_GAP and abs(c[at.RATE]) < SETTLE_RATE:
                joins = True
        world.cable_int[k, at.CANDIDATE] = 1 if joins else 0
    n = candidates(world)
    complement(world, n, at.RATE)
    for i in range(n):
        k = world.order[0, i]
        c = world.cables[k]
        c[at.IMPULSE] = c[at.MULTIPLIER]
        pull(world, k, c[at.MULTIPLIER], world.start, at.V, at.OMEGA)
    row = log_event(world, t, SETTLE if settles else SNAP, NO_CAUSE)
    thrown_off = 0
    for i in range(n):
        k = world.order[0, i]
        c = world.cables[k]
        was_taut = world.cable_int[k, at.TAUT] != 0
        involve(world, row, k, 2.0 if was_taut else 1.0)
        leaves = c[at.MULTIPLIER] <= 0.0 and c[at.RATE_PLUS] < (-SETTLE_RATE if settles else -AT_REST)
        if leaves and was_taut:
            thrown_off += 1
            world.cable_int[k, at.CANDIDATE] = 2
        world.cable_int[k, at.TAUT] = 0 if leaves else 1
    if thrown_off > 0:
        row = log_event(world, t, SLACK, IMPACT)
        for k in range(n_cables):
            if world.cable_int[k, at.CANDIDATE] == 2:
                involve(world, row, k, 1.0)
    choose_taut(world, t, ACCELERATION, LOGGED)
    if settles:
        calm(world, t)
    finish_rows(world, first_row)


@kernel
def let_go(world, t, k):
    """The tension of cable k has come to zero at time t in ``world.start``: it is slack from here on."""
    first_row = world.head[at.N_LOGGED]
    clear_jump(world)
    row = log_event(world, t, SLACK, TENSION_ZERO)
    involve(world, row, k, 1.0)
    world.cable_int[k, at.TAUT] = 0
    world.cable_int[k, at.IGNORED] = 1  # its tension is rounding: the complementarity problem must not be asked
    choose_taut(world, t, ACCELERATION, LOGGED)
    finish_rows(world, first_row)


@kernel
def begin(world, t):
    """Make the state in ``world.start`` consistent: cables at their length with closing speed snap, then pull or let go.

    Used when a simulation starts or its state is set: no events but snaps are logged.
    """
    for k in range(world.head[at.N_CABLES]):
        world.cable_int[k, at.IGNORED] = 0
    first = world.slopes[at.FIRST_SLOPE]
    fastest, colliding = AT_REST, -1
    for k in range(world.head[at.N_CABLES]):
        world.cables[k, at.TENSION] = 0.0
    taut_before = world.order[2]
    for k in range(world.head[at.N_CABLES]):
        taut_before[k] = world.cable_int[k, at.TAUT]
        world.cable_int[k, at.TAUT] = 0
    evaluate(world, world.start, first, t, EVERYTHING)
    for k in range(world.head[at.N_CABLES]):
        if taut_before[k] != 0:
            if world.cables[k, at.RATE] < -AT_REST:
                continue
            world.cable_int[k, at.TAUT] = 1
            if world.cables[k, at.RATE] > fastest:
                fastest, colliding = world.cables[k, at.RATE], k
    if colliding >= 0:
        snap(world, t, colliding)
    else:
        choose_taut(world, t, ACCELERATION, QUIET)
