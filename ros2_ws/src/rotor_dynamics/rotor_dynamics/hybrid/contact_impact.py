"""Impacts of rigid bodies at an instant (N.11), (N.12), and what a step leaves for the next.

First the plastic impact: impulses at all points in contact, and of all cables at their length, so that nothing closes
any more. Then restitution by Poisson's rule: every point that came fast presses once more with its share of what it
has pressed, and friction and everything else is found anew with at least that. Nothing gains energy by it.
"""

from __future__ import annotations

from math import inf

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, FLOAT, INT, WORLD, linked
from rotor_core.math.vec3 import add, apply, dot, get3, get9, put3, scale
from rotor_core.numbers.derivatives import counts, has_derivatives
from rotor_dynamics import memory
from rotor_dynamics.collisions.features import PART, sphere_gap
from rotor_dynamics.collisions.law import (
    CABLE_IMPULSE,
    CABLE_LEAST,
    begin_sweeps,
    cable_rate,
    note_speeds,
    prepare,
    push_along,
    sweep,
    take_changes,
)
from rotor_dynamics.collisions.looking import gap_between, place_at
from rotor_dynamics.collisions.press import (
    CLOSE,
    LEAVES,
    forget_pushes,
    is_brief,
    list_taut,
    meet,
    press,
    restart,
)
from rotor_dynamics.constraints.unilateral import EVERYTHING, evaluate
from rotor_dynamics.hybrid.doubts import BEGINS, doubt_flush, note_doubt
from rotor_dynamics.hybrid.guards import NO_CABLE
from rotor_dynamics.hybrid.impact import (
    ACCELERATION,
    AT_LENGTH,
    IMPACT,
    INPUT_JUMP,
    LEAVE,
    NO_CAUSE,
    SETTLE,
    SETTLE_SPEED,
    SLACK,
    SNAP,
    TOUCH,
    begin_step,
    choose_taut,
    closing_speed,
    involve,
    join_impact,
    log_event,
    log_tensions,
    wound_rate,
)
from rotor_dynamics.hybrid.pulling import AT_REST, candidates
from rotor_dynamics.integrators.trial import advance

NONE_YET, TOLD = constants(0, 2)
"""Nothing counted; mark of what touched before a state was set, too."""

TOGETHER = 1e-7
"""Points nearer than this take part in an impact of others of the same two hulls, m: faces that meet almost flush."""

AGREEMENTS = 4
"""Most trials in which forces of contact and the cables that pull come to agree where a state has been set."""

MENDED = 1e-11
"""Changes of velocities at the end of a step above this are followed by an evaluation, m/s."""


@inlined
def gather_now(world):
    """Points of all near meetings that are in contact at the start of the step, before an impact; their number."""
    state = world.states[memory.START]
    n = NONE_YET
    for m in range(world.head[memory.N_MEETINGS]):
        if world.meeting_int[m, memory.IS_NEAR] == 0:
            continue
        count = meet(world, state, m, n)
        for i in range(n, n + count):
            prepare(world, state, i)
            row = world.touches[i]
            for j in range(3):
                row[memory.TOUCH_IMPULSE + j] = 0.0
            row[memory.LEAST_IMPULSE] = 0.0
            note_speeds(world, state, i)
            row[memory.CLOSING] = -row[memory.TOUCH_SPEED]
            touches = row[memory.TOUCH_GAP] <= TOGETHER
            world.touch_int[i, memory.TOUCH_KIND] = memory.SLOW if touches else memory.OPEN
        n += count
    return n


@inlined
def cables_at_length(ints, floats, world, snaps):
    """List the cables that an impact of bodies may tighten, with A over them; their number.

    ``snaps``: the cable that has come to its length, if that is the impact.
    """
    if snaps != NO_CABLE:
        join_impact(world, snaps, False)
        return candidates(ints, floats, world)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        holds = world.constraint_int[k, memory.ALIVE] == memory.HOLDS
        there = holds and abs(world.constraints[k, memory.GAP]) <= AT_LENGTH
        taut = world.constraint_int[k, memory.TAUT] != 0
        world.constraint_int[k, memory.CANDIDATE] = 1 if taut or there else 0
    return candidates(ints, floats, world)


@inlined
def bounce(ints, floats, world, n, n_cables):
    """Restitution after the plastic impact that has been found (N.12)."""
    bounces = False
    for i in range(n):
        row, m = world.touches[i], world.touch_int[i, memory.TOUCH_MEETING]
        share = world.meetings[m, memory.MEETING_RESTITUTION]
        comes_fast = row[memory.CLOSING] > world.scalars[memory.REST_SPEED]
        if comes_fast and share == 0.0 and counts(share):
            note_doubt(world, BEGINS, NO_CABLE, world.scalars[memory.STRUCK_AT])
        if comes_fast and share > 0.0:
            more = share * row[memory.TOUCH_IMPULSE]
            if more > 0.0:
                row[memory.LEAST_IMPULSE] = row[memory.TOUCH_IMPULSE] + more
                row[memory.TOUCH_IMPULSE] += more
                push_along(world, i, 0, more)
                bounces = True
    if bounces:
        sweep(ints, floats, n, n_cables, False)


@inlined
def tell_strokes(world, t, n):
    """Log the meetings that came fast, with the first place and the sum of their impulses."""
    i = NONE_YET
    while i < n:
        m = world.touch_int[i, memory.TOUCH_MEETING]
        row, total, fast, place = -1, 0.0, False, i
        while i < n and world.touch_int[i, memory.TOUCH_MEETING] == m:
            touch = world.touches[i]
            total += touch[memory.TOUCH_IMPULSE]
            if touch[memory.CLOSING] > world.scalars[memory.REST_SPEED]:
                if touch[memory.TOUCH_IMPULSE] > 0.0 and not fast:
                    fast, place = True, i
            i += 1
        if fast:
            world.meeting_int[m, memory.IN_TOUCH] = 1
            row = log_event(world, t, TOUCH, NO_CAUSE)
            world.log[row, memory.EVENT_MEETING] = m + 1.0
            world.log[row, memory.EVENT_IMPULSE] = total
            put3(
                world.log[row], memory.EVENT_PLACE,
                get3(world.touches[place], memory.TOUCH_PLACE),
            )  # fmt: skip


@inlined
def sort_cables(world, t, n, settles):
    """After an impact of bodies: the n listed cables that pulled are taut, those that shorten are slack; logged.

    ``settles``: all of them have come to rest at their length.
    """
    snaps, lets_go = -1, -1
    for i in range(n):
        k = world.order[0, i]
        c = world.constraints[k]
        pulled = settles or world.small[CABLE_IMPULSE, i] > 0.0
        if pulled and world.constraint_int[k, memory.TAUT] == 0:
            if snaps < 0:
                snaps = log_event(world, t, SETTLE if settles else SNAP, NO_CAUSE)
            involve(world, snaps, k, 1.0)
            world.constraint_int[k, memory.TAUT] = 1
        elif c[memory.RATE_PLUS] < -AT_REST and world.constraint_int[k, memory.TAUT] != 0:
            if lets_go < 0:
                lets_go = log_event(world, t, SLACK, IMPACT)
            involve(world, lets_go, k, 1.0)
            world.constraint_int[k, memory.TAUT] = 0


@inlined
def evaluate_rates(world, n):
    """Rates of the n listed cables after an impact."""
    for i in range(n):
        k = world.order[0, i]
        rate = world.constraints[k, memory.RATE] + cable_rate(world, k, memory.D_V, memory.D_OMEGA)
        world.constraints[k, memory.RATE_PLUS] = rate


@inlined
def energy_gained(world, state):
    """Kinetic energy that the changes of velocities add to a state, J."""
    gained = 0.0
    for b in range(world.head[memory.N_BODIES]):
        body, s, change = world.bodies[b], state[b], world.slopes[memory.CORRECTION, b]
        v, omega = get3(change, memory.D_V), get3(change, memory.D_OMEGA)
        mean = add(get3(s, memory.V), scale(0.5, v))
        gained += body[memory.MASS] * dot(v, mean)
        mean = add(get3(s, memory.OMEGA), scale(0.5, omega))
        gained += dot(omega, apply(get9(body, memory.INERTIA), mean))
    for j in range(world.head[memory.N_JOINTS]):
        row = world.joint_int[j, memory.JOINT_ROW]
        by = world.slopes[memory.CORRECTION, row, memory.D_V]
        gained += world.joints[j, memory.ARMATURE] * by * (state[row, memory.V] + 0.5 * by)
    return gained


@linked(*WORLD, FLOAT, INT, part=PART)
def strike_hulls(ints, floats, t, snaps):
    """Everything that is in contact at time t, in the start, hits: velocities jump, and cables with them.

    ``snaps``: the cable that has come to its length, if that is the impact; what it pulls at presses what it stands on.
    """
    world = memory.views(ints, floats)
    if world.head[memory.KEEPS_LOG] == 0:
        world.head[memory.N_LOGGED] = 0
    first_row = world.head[memory.N_LOGGED]
    world.scalars[memory.STRUCK_AT] = t
    n = gather_now(world)
    if has_derivatives(t):
        doubt_flush(world, n, TOGETHER, t)
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
    n_constraints = world.head[memory.N_CONSTRAINTS]
    for k in range(n_constraints):
        c = world.constraints[k]
        c[memory.IMPULSE] = 0.0
        c[memory.RATE_PLUS] = c[memory.RATE]
        taut = world.constraint_int[k, memory.TAUT] + world.constraint_int[k, memory.STRETCHED]
        c[memory.TENSION_OLD] = c[memory.TENSION] if taut != 0 else 0.0
    n_cables = cables_at_length(ints, floats, world, snaps) if n_constraints != 0 else NONE_YET
    settles = snaps != NO_CABLE and closing_speed(world, snaps) < SETTLE_SPEED
    least = -inf if settles else 0.0  # a cascade of ever smaller snaps ends
    begin_sweeps(world, n_cables, least)
    if sweep(ints, floats, n, n_cables, False) < 0:
        world.head[memory.UNSETTLED] += 1
    for i in range(n):
        for j in range(3):
            world.touches[i, memory.PLASTIC + j] = world.touches[i, memory.TOUCH_IMPULSE + j]
    bounce(ints, floats, world, n, n_cables)
    if energy_gained(world, world.states[memory.START]) > 0.0:
        # restitutions that differ: as if nothing bounced
        begin_sweeps(world, n_cables, least)
        for i in range(n):
            world.touches[i, memory.LEAST_IMPULSE] = 0.0
            for j in range(3):
                plastic = world.touches[i, memory.PLASTIC + j]
                world.touches[i, memory.TOUCH_IMPULSE + j] = plastic
                push_along(world, i, j, plastic)
        sweep(ints, floats, n, n_cables, False)
    world.scalars[memory.TAKEN] -= energy_gained(world, world.states[memory.START])
    take_changes(world, world.states[memory.START])
    tell_strokes(world, t, n)
    if n_constraints != 0:
        for i in range(n_cables):
            k = world.order[0, i]
            world.constraints[k, memory.IMPULSE] = world.small[CABLE_IMPULSE, i]
            wound = world.small[CABLE_IMPULSE, i] * wound_rate(world, k)  # by winches (W.7)
            world.scalars[memory.TAKEN] -= wound
            world.scalars[memory.WOUND] -= wound
        evaluate_rates(world, n_cables)
        sort_cables(world, t, n_cables, settles)
        choose_taut(ints, floats, t, ACCELERATION, False, False)
        log_tensions(world, first_row)
    else:
        evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)


@inlined
def let_go_of(world, t, n):
    """The n listed cables that would have had to push are slack; logged."""
    row = -1
    for i in range(n):
        k, least = world.order[0, i], world.small[CABLE_LEAST, i]
        gives_all = world.small[CABLE_IMPULSE, i] <= least  # what it shortens by else is rounding
        if gives_all and cable_rate(world, k, memory.D_V, memory.D_OMEGA) < -AT_REST:
            if row < 0:
                row = log_event(world, t, SLACK, IMPACT)
            involve(world, row, k, 1.0)
            world.constraint_int[k, memory.TAUT] = 0


@inlined
def mend_velocities(ints, floats, world, t, h):
    """Make velocities at the end of the step of length h obey the law (N.9); what that takes is work of contact.

    The impulses of the whole step count: what has been pressed too much is taken back, and a cable gives back no more
    than it has pulled. What it would have to push for makes it slack.
    """
    state, n = world.states[memory.END], world.head[memory.N_TOUCHING]
    for i in range(n):
        note_speeds(world, state, i)
    n_cables = list_taut(world)
    begin_sweeps(world, n_cables, 0.0)
    for i in range(n_cables):
        c = world.constraints[world.order[0, i]]
        world.small[CABLE_LEAST, i] -= 0.5 * h * (c[memory.TENSION_0] + c[memory.TENSION])
    if sweep(ints, floats, n, n_cables, True) < 0:
        world.head[memory.UNSETTLED] += 1
    let_go_of(world, t, n_cables)
    gained = energy_gained(world, state)
    world.scalars[memory.STEP_WORK] += gained
    world.scalars[memory.ENERGY_END] += gained
    changed = take_changes(world, state)
    if changed > MENDED * MENDED or has_derivatives(changed):
        evaluate(ints, floats, memory.END, memory.LAST_SLOPE, t, EVERYTHING)
        world.scalars[memory.POWER_END] = world.scalars[memory.POWER_NOW]


@linked(*WORLD, FLOAT, part=PART)
def resume(ints, floats, t):
    """A step begins, at time t, after a brief one: with the forces of contact from before that."""
    world = memory.views(ints, floats)
    restart(world)
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
    world.scalars[memory.POWER] = world.scalars[memory.POWER_NOW]


@inlined
def keep_forces(world, m):
    """The forces of meeting m in the trial are the first guess for the next step."""
    number, row = world.meeting_int[m], world.meetings[m]
    number[memory.WARM_POINTS] = number[memory.TRIAL_POINTS]
    for i in range(3 * memory.MOST_POINTS):
        row[memory.WARM_PLACES + i] = row[memory.TRIAL_PLACES + i]
        row[memory.WARM_FORCES + i] = row[memory.TRIAL_FORCES + i]


@inlined
def mark_touching(world):
    """Meetings that are in contact at the start count as in touch, twice if they did before; their number."""
    n = NONE_YET
    for m in range(world.head[memory.N_MEETINGS]):
        number = world.meeting_int[m]
        a, b = number[memory.HULL_ON_A], number[memory.HULL_ON_B]
        place_at(world, a, 0.0)
        place_at(world, b, 0.0)
        touches = sphere_gap(world, a, b) <= CLOSE and gap_between(world, a, b) <= CLOSE
        if touches:
            number[memory.IN_TOUCH] = TOLD if number[memory.IN_TOUCH] != 0 else 1
            n += 1
        else:
            number[memory.IN_TOUCH] = 0
    return n


@inlined
def taut_digest(world):
    """A number that tells sets of taut cables apart: up to a dozen cables surely, more as good as surely."""
    n = NONE_YET
    for k in range(world.head[memory.N_CONSTRAINTS]):
        n = 31 * n + 1 + world.constraint_int[k, memory.TAUT]
    return n


@linked(*WORLD, FLOAT, FLAG, part=PART)
def feel(ints, floats, t, quiet):
    """Let what touches where a state has been set, at time t, press from there on, before any step is taken (N.14).

    Forces of contact are those of steps: a first step tells them, and is not taken. With them it is asked again which
    cables pull, until both agree; those that let go are logged unless ``quiet``. Accelerations and tensions at t are
    right to the order of a step, as at the ends of all others.
    """
    world = memory.views(ints, floats)
    h = world.scalars[memory.STEP_LENGTH]
    if not h > 0.0 or mark_touching(world) == 0:
        return
    for _ in range(AGREEMENTS):
        advance(ints, floats, t, h)
        pressed = press(ints, floats, t, h)
        stands = pressed > 0.0 and not is_brief(world, pressed)
        world.head[memory.PRESSED] = 1 if stands else 0
        if not stands:  # something hits at once: the step will tell
            forget_pushes(world)
            evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
            break
        for m in range(world.head[memory.N_MEETINGS]):
            if world.meeting_int[m, memory.IS_NEAR] != 0:
                keep_forces(world, m)
        evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, EVERYTHING)
        before = taut_digest(world)
        if world.head[memory.N_CONSTRAINTS] == 0 or world.head[memory.N_CAPSTANS] != 0:
            break
        world.head[memory.PRESSED] = 0  # as if nothing but these forces pressed
        choose_taut(ints, floats, t, INPUT_JUMP, quiet, False)
        world.head[memory.PRESSED] = 1
        if taut_digest(world) == before:
            break
    world.scalars[memory.POWER] = world.scalars[memory.POWER_NOW]
    for m in range(world.head[memory.N_MEETINGS]):
        # the step tells of those that are new
        told = world.meeting_int[m, memory.IN_TOUCH] == TOLD
        world.meeting_int[m, memory.IN_TOUCH] = 1 if told else 0
    begin_step(world)


@linked(*WORLD, FLOAT, FLOAT, part=PART)
def end_in_contact(ints, floats, t, h):
    """A trial step of length h with rigid contact is taken, and ends at time t.

    Its forces are the first guess for the next, unless it was brief.
    """
    world = memory.views(ints, floats)
    if world.head[memory.KEEPS_LOG] == 0:
        world.head[memory.N_LOGGED] = 0
    if world.head[memory.PRESSED] != 0:
        mend_velocities(ints, floats, world, t, h)
    world.scalars[memory.ODOMETER] += world.scalars[memory.TRAVEL]
    if world.head[memory.N_NEAR] == 0:
        return
    for m in range(world.head[memory.N_MEETINGS]):
        number, row = world.meeting_int[m], world.meetings[m]
        if number[memory.IS_NEAR] == 0:
            number[memory.WARM_POINTS] = 0
            continue
        if not is_brief(world, h):
            keep_forces(world, m)
        gap = row[memory.MEETING_GAP]
        touches = gap <= CLOSE or (number[memory.IN_TOUCH] != 0 and gap <= LEAVES)
        if number[memory.ARRIVES] != 0:
            continue  # its impact tells
        if touches != (number[memory.IN_TOUCH] != 0):
            number[memory.IN_TOUCH] = 1 if touches else 0
            event = log_event(world, t, TOUCH if touches else LEAVE, NO_CAUSE)
            world.log[event, memory.EVENT_MEETING] = m + 1.0
            put3(world.log[event], memory.EVENT_PLACE, get3(row, memory.TRIAL_PLACES))
            row[memory.LOOK_AT] = world.scalars[memory.ODOMETER]
    world.scalars[memory.NEXT_LOOK] = min(
        world.scalars[memory.NEXT_LOOK], world.scalars[memory.ODOMETER]
    )
