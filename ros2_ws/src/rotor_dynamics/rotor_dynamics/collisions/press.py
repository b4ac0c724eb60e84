"""Rigid contact in a trial step (N.9), (N.10): forces that are constant over it, so that its end obeys the law.

Bodies in contact press each other with forces that do not change within a step. They are those of the step before,
and the step is taken; if what the points of contact have moved does not obey the law of contact, the impulses that
mend it are added to the forces, and the step is taken again. So no gap closes too far, what sticks has not moved,
and forces of contact do no work but by sliding. In the end the velocities are made to obey the law too, by impulses
that only take energy. What comes fast is met inside the step: the step is cut where it happens, and the next one
begins with an impact.

Source of positions and velocities side by side: Bruels, Acary and Cardona 2014.
"""

from __future__ import annotations

from math import inf

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
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
from rotor_core.numbers.derivatives import (
    as_variable,
    has_derivatives,
    rate_between,
    root_of,
    size_of,
    without_derivatives,
)
from rotor_dynamics import memory
from rotor_dynamics.collisions.features import PART, meet_ground, meet_hulls, place_hull
from rotor_dynamics.collisions.law import (
    begin_sweeps,
    note_speeds,
    prepare,
    speed_along,
    sweep,
)
from rotor_dynamics.collisions.looking import look
from rotor_dynamics.constraints.unilateral import TAUT_ONLY, evaluate
from rotor_dynamics.integrators.trial import advance

(NONE_YET,) = constants(0)
HITS, TOO_DEEP = -1, -2

CLOSE = 1e-9
"""Points nearer than this count as in contact, m."""

LEAVES = 1e-6
"""What touched has left once it is farther away than this, m."""

SAME_PLACE = 0.2
"""A point is that of the step before if it is nearer to it than this share of the size of the smaller hull."""

ROUNDS = 12
"""Most trials of one step for its forces of contact."""

SETTLED = 2e-11
"""Forces are found when they change no velocity by more than this and this share of it, m/s."""

MET = 1e-12
"""A step that is cut where two hulls meet ends this close to it, m."""

CUTS = 60
"""Most trials for that."""

SHORTEST_CUT = 1e-13
"""Steps are not cut shorter than this, s."""

SHORTEST_DEEP = 1e-8
"""Steps at whose end cores overlap are halved down to this, s."""

SHORTEST_WAY = 1e-5
"""In shorter steps rounding of places would be large forces: velocities at the end take the place of ways, s."""

TURNED = 1e-12
"""Square of a rotation in a step below which its work does not count, rad^2."""


@inlined
def is_brief(world, h):
    """True of a piece of a step, between events, in which what presses is an impulse rather than a force."""
    return h < SHORTEST_WAY and h < 0.5 * world.scalars[memory.STEP_LENGTH]


@inlined
def force_of(world, i, h):
    """Force on b in W that has the impulse of touch i over a step of length h, N."""
    row = world.touches[i]
    force = (0.0, 0.0, 0.0)
    for j in range(3):
        size = row[memory.TOUCH_IMPULSE + j] / h
        force = add(force, scale(size, get3(row, memory.DIRECTIONS + 3 * j)))
    return force


@inlined
def remember_force(world, m, n, count, h):
    """Impulses of the first ``count`` touches from n on, over the step, as forces of meeting m in the trial."""
    row = world.meetings[m]
    for i in range(count):
        place = get3(world.touches[n + i], memory.TOUCH_PLACE)
        put3(row, memory.TRIAL_PLACES + 3 * i, place)
        put3(row, memory.TRIAL_FORCES + 3 * i, force_of(world, n + i, h))
    world.meeting_int[m, memory.TRIAL_POINTS] = count


@inlined
def begin_trial(world, m):
    """The forces of the step before are the first guess."""
    row = world.meetings[m]
    for i in range(3 * memory.MOST_POINTS):
        row[memory.TRIAL_PLACES + i] = row[memory.WARM_PLACES + i]
        row[memory.TRIAL_FORCES + i] = row[memory.WARM_FORCES + i]
    world.meeting_int[m, memory.TRIAL_POINTS] = world.meeting_int[m, memory.WARM_POINTS]


@inlined
def take_forces(world, m, n, count, h):
    """Give the impulses that the trial contained to the nearest of the touches from n on."""
    row = world.meetings[m]
    a, b = world.meeting_int[m, memory.HULL_ON_A], world.meeting_int[m, memory.HULL_ON_B]
    size = world.hulls[a, memory.HULL_REACH]
    if world.hull_int[b, memory.IS_GROUND] == 0:
        size = min(size, world.hulls[b, memory.HULL_REACH])
    for i in range(world.meeting_int[m, memory.TRIAL_POINTS]):
        place = get3(row, memory.TRIAL_PLACES + 3 * i)
        force = get3(row, memory.TRIAL_FORCES + 3 * i)
        nearest, at = SAME_PLACE * SAME_PLACE * size * size, -1
        for j in range(n, n + count):
            away = sub(get3(world.touches[j], memory.TOUCH_PLACE), place)
            if dot(away, away) < nearest:
                nearest, at = dot(away, away), j
        if at >= 0:
            touch = world.touches[at]
            for j in range(3):
                along = h * dot(force, get3(touch, memory.DIRECTIONS + 3 * j))
                touch[memory.TOUCH_IMPULSE + j] += along


@inlined
def is_round(world, i, side):
    """True where the point of contact of touch i wanders over the surface of body a (side 0) or b as it rolls."""
    m = world.touch_int[i, memory.TOUCH_MEETING]
    row = world.hulls[world.meeting_int[m, memory.HULL_ON_A + side]]
    return row[memory.HULL_BALL] + row[memory.HULL_DISC] > 0.0


@inlined
def arm_then(world, i, side):
    """Arm at the start of the step, in W, of what is the point of touch i on body a (side 0) or b at its end.

    Of a round body: as at the end, because the point does not turn with it.
    """
    r = get3(world.touches[i], memory.TOUCH_ARM_A if side == 0 else memory.TOUCH_ARM_B)
    if is_round(world, i, side):
        return r
    b = world.touch_int[i, memory.TOUCH_BODY_A + side]
    start, end = world.states[memory.START, b], world.states[memory.END, b]
    r_B = apply_transposed(so3.matrix(so3.get4(end, memory.Q)), r)
    return apply(so3.matrix(so3.get4(start, memory.Q)), r_B)


@inlined
def place_then(world, i, side):
    """The same as a place in W, m."""
    b = world.touch_int[i, memory.TOUCH_BODY_A + side]
    return add(get3(world.states[memory.START, b], memory.P), arm_then(world, i, side))


@inlined
def way_of(world, i, side, h):
    """Way of the point of touch i with body a (side 0) or b in the trial step of length h, m, and its first velocity.

    Of a round body that of the point where it touches, by the velocities at both ends.
    """
    b = world.touch_int[i, memory.TOUCH_BODY_A + side]
    r = get3(world.touches[i], memory.TOUCH_ARM_A if side == 0 else memory.TOUCH_ARM_B)
    then = arm_then(world, i, side)
    start, end = world.states[memory.START, b], world.states[memory.END, b]
    R = so3.matrix(so3.get4(start, memory.Q))
    speed = add(get3(start, memory.V), cross(apply(R, get3(start, memory.OMEGA)), then))
    if is_round(world, i, side):
        R = so3.matrix(so3.get4(end, memory.Q))
        later = add(get3(end, memory.V), cross(apply(R, get3(end, memory.OMEGA)), r))
        return scale(0.5 * h, add(speed, later)), speed
    return add(sub(get3(end, memory.P), get3(start, memory.P)), sub(r, then)), speed


@inlined
def classify(world, i, h, pressed):
    """Kind of touch i: if it counts, and how it comes (N.4); its ways over half the step in place of speeds (N.9)."""
    row = world.touches[i]
    gap = row[memory.TOUCH_GAP]
    n = get3(row, memory.DIRECTIONS)
    way_b, speed_b = way_of(world, i, 1, h)
    way_a, speed_a = way_of(world, i, 0, h)
    way = sub(way_b, way_a)
    if h < SHORTEST_WAY:
        note_speeds(world, world.states[memory.END], i)
    else:
        row[memory.TOUCH_SPEED] = 2.0 / h * gap
        for j in range(1, 3):
            along = dot(way, get3(row, memory.DIRECTIONS + 3 * j))
            row[memory.TOUCH_SPEED + j] = 2.0 / h * along + 2.0 * row[memory.BELTS + j]
    if gap > CLOSE and not pressed:
        return memory.OPEN
    if pressed:
        return memory.SLOW
    rest = world.scalars[memory.REST_SPEED]
    earlier = gap - dot(n, way)
    if earlier <= CLOSE:
        return memory.HITS_NOW if dot(n, sub(speed_b, speed_a)) < -rest else memory.SLOW
    return memory.COMES_FAST if (earlier - gap) > rest * h else memory.SLOW


@linked(*WORLD, FLOAT, returns=INT, part=PART)
def gather(ints, floats, h):
    """Points of all near meetings at the end of the trial step of length h, with the impulses it contained (N.2).

    Their number. A place that presses is a place that has been.
    """
    world = memory.views(ints, floats)
    state = world.states[memory.END]
    n = NONE_YET
    world.head[memory.DEEP] = 0
    for m in range(world.head[memory.N_MEETINGS]):
        if world.meeting_int[m, memory.IS_NEAR] == 0:
            continue
        count = meet(world, state, m, n)
        for i in range(n, n + count):
            prepare(world, state, i)
            for j in range(3):
                world.touches[i, memory.TOUCH_IMPULSE + j] = 0.0
            world.touches[i, memory.LEAST_IMPULSE] = 0.0
        take_forces(world, m, n, count, h)
        least, arrives = world.touches[n, memory.TOUCH_GAP], False
        for i in range(n, n + count):
            pressed = world.touches[i, memory.TOUCH_IMPULSE] > 0.0
            kind = classify(world, i, h, pressed)
            world.touch_int[i, memory.TOUCH_KIND] = kind
            gap = world.touches[i, memory.TOUCH_GAP]
            least = min(least, gap)
            if gap <= CLOSE and not pressed:
                speed = speed_along(world, state, i, 0)
                arrives = arrives or speed < -world.scalars[memory.REST_SPEED]
        world.meetings[m, memory.MEETING_GAP] = least
        world.meeting_int[m, memory.ARRIVES] = 1 if arrives else 0
        n += count
    world.head[memory.N_TOUCHING] = n
    return n


@inlined
def meet(world, state, m, n):
    """Points of meeting m in a state, as touches from n on; their number."""
    a, b = world.meeting_int[m, memory.HULL_ON_A], world.meeting_int[m, memory.HULL_ON_B]
    s = state[world.hull_int[a, memory.HULL_BODY]]
    place_hull(world, a, get3(s, memory.P), so3.get4(s, memory.Q))
    s = state[world.hull_int[b, memory.HULL_BODY]]
    place_hull(world, b, get3(s, memory.P), so3.get4(s, memory.Q))
    if world.hull_int[b, memory.IS_GROUND] != 0:
        return meet_ground(world, m, a, b, n)
    return meet_hulls(world, m, a, b, n)


@inlined
def list_taut(world):
    """The taut cables, in ``world.order[0]``, with their diagonal of A in ``world.matrix``; their number."""
    n = NONE_YET
    for k in range(world.head[memory.N_CONSTRAINTS]):
        if world.constraint_int[k, memory.TAUT] != 0:
            world.order[0, n] = k
            n += 1
    return n


@inlined
def turn_of(world, b, h):
    """Integral of the body rate of a body over the trial step, in W, rad: by rates and accelerations at both ends."""
    start, end = world.states[memory.START, b], world.states[memory.END, b]
    R, R_end = so3.matrix(so3.get4(start, memory.Q)), so3.matrix(so3.get4(end, memory.Q))
    rates = add(apply(R, get3(start, memory.OMEGA)), apply(R_end, get3(end, memory.OMEGA)))
    first = get3(world.slopes[memory.FIRST_SLOPE, b], memory.D_OMEGA)
    last = get3(world.slopes[memory.LAST_SLOPE, b], memory.D_OMEGA)
    bend = sub(apply(R, first), apply(R_end, last))
    return add(scale(0.5 * h, rates), scale(h * h / 12.0, bend))


@inlined
def moment_of(world, i, side, force, h):
    """Constant moment on body a (side 0) or b of a force at the point of touch i (N.10).

    Of the body whose point it is: that which does the work of the force. On the other one the point wanders.
    """
    r = get3(world.touches[i], memory.TOUCH_ARM_A if side == 0 else memory.TOUCH_ARM_B)
    owner, b = world.touch_int[i, memory.OWNER], world.touch_int[i, memory.TOUCH_BODY_A + side]
    if owner == side:
        if is_round(world, i, side):
            return cross(r, force)
        then = arm_then(world, i, side)
        moment = cross(scale(0.5, add(r, then)), force)
        turn = turn_of(world, b, h)
        squared = dot(turn, turn)
        if squared > TURNED:
            lacks = dot(force, sub(r, then)) - dot(moment, turn)
            moment = add(moment, scale(lacks / squared, turn))
        return moment
    place = place_then(world, i, 1 - side)
    if owner == memory.NOBODY_OWNS:
        place = scale(0.5, add(place, place_then(world, i, side)))
    then = sub(place, get3(world.states[memory.START, b], memory.P))
    return cross(scale(0.5, add(r, then)), force)


@inlined
def squared_size(a):
    """Square of the size of a vector, with a share of its derivatives where it has some."""
    x, y, z = size_of(a[0]), size_of(a[1]), size_of(a[2])
    return x * x + y * y + z * z


@inlined
def set_pushes(world, n, h):
    """Impulses of the first n touches over the step as forces on the bodies; True if they are those of before."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS] + 1):
        body = world.bodies[b]
        for i in range(6):
            body[memory.PUSH_BEFORE + i] = body[memory.CONTACT_PUSH + i]
            body[memory.CONTACT_PUSH + i] = 0.0
    for i in range(n):
        row, number = world.touches[i], world.touch_int[i]
        if row[memory.TOUCH_IMPULSE] <= 0.0:
            continue
        on_b = force_of(world, i, h)
        for side in range(2):
            b = number[memory.TOUCH_BODY_A + side]
            body = world.bodies[b]
            if body[memory.INV_MASS] == 0.0:
                continue
            force = scale(-1.0 if side == 0 else 1.0, on_b)
            put3(body, memory.CONTACT_PUSH, add(get3(body, memory.CONTACT_PUSH), force))
            moment = moment_of(world, i, side, force, h)
            put3(body, memory.CONTACT_PUSH + 3, add(get3(body, memory.CONTACT_PUSH + 3), moment))
    largest, fast = 0.0, 1.0
    for b in range(world.head[memory.N_BODIES]):
        body, s = world.bodies[b], world.states[memory.END, b]
        if body[memory.INV_MASS] == 0.0:
            continue
        change = sub(get3(body, memory.CONTACT_PUSH), get3(body, memory.PUSH_BEFORE))
        change = scale(h * body[memory.INV_MASS], change)
        largest = max(largest, squared_size(change))
        R = so3.matrix(so3.get4(s, memory.Q))
        change = sub(get3(body, memory.CONTACT_PUSH + 3), get3(body, memory.PUSH_BEFORE + 3))
        change = scale(h, apply(get9(body, memory.INV_INERTIA), apply_transposed(R, change)))
        largest = max(largest, squared_size(change))
        v, omega = get3(s, memory.V), get3(s, memory.OMEGA)
        fast = max(fast, max(squared_size(v), squared_size(omega)))
    return largest <= SETTLED * SETTLED * fast


@inlined
def forget_pushes(world):
    """No body is pushed."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS] + 1):
        for i in range(6):
            world.bodies[b, memory.CONTACT_PUSH + i] = 0.0


@linked(*WORLD, FLOAT, FLOAT, part=PART)
def again(ints, floats, t, h):
    """Take the trial step once more from t, with other forces of contact from its start on."""
    world = memory.views(ints, floats)
    evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, t, TAUT_ONLY)
    world.scalars[memory.POWER] = world.scalars[memory.POWER_NOW]
    for k in range(world.head[memory.N_CONSTRAINTS]):
        if world.constraint_int[k, memory.TAUT] != 0:
            world.constraints[k, memory.TENSION_0] = world.constraints[k, memory.TENSION]
    advance(ints, floats, t, h)


@inlined
def hits_now(world, n, t):
    """True if a touch hits at the start of the step, t; once: what still comes after an impact is pressed away."""
    for i in range(n):
        if world.touch_int[i, memory.TOUCH_KIND] == memory.HITS_NOW:
            if world.scalars[memory.STRUCK_AT] != t:
                return True
            world.touch_int[i, memory.TOUCH_KIND] = memory.SLOW
    return False


@inlined
def remember_forces(world, n, h):
    """Impulses of the first n touches as forces of their meetings in the trial."""
    i = NONE_YET
    while i < n:
        first, m = i, world.touch_int[i, memory.TOUCH_MEETING]
        while i < n and world.touch_int[i, memory.TOUCH_MEETING] == m:
            i += 1
        remember_force(world, m, first, i - first, h)


@linked(*WORLD, FLOAT, FLOAT, returns=INT, part=PART)
def settle(ints, floats, t, h):
    """Take the trial step until its forces of contact are those that its end asks for; number of touches, or why not.

    HITS: something hits at its start. TOO_DEEP: its end does not tell the directions in which bodies touch.
    """
    world = memory.views(ints, floats)
    n = NONE_YET
    for repeat in range(ROUNDS):
        n = gather(ints, floats, h)
        if world.head[memory.DEEP] != 0 and h > SHORTEST_DEEP:
            return TOO_DEEP
        if hits_now(world, n, t):
            return HITS
        n_cables = list_taut(world)
        begin_sweeps(world, n_cables, -inf)
        sweeps = sweep(ints, floats, n, n_cables, True)
        remember_forces(world, n, h)
        done = set_pushes(world, n, h)
        if done or repeat == ROUNDS - 1:
            if sweeps < 0 or not done:
                world.head[memory.UNSETTLED] += 1
            return n
        again(ints, floats, t, h)
    return n


@inlined
def time_to_meet(world, n):
    """By how much the step must end sooner for the fast touch that is met first, s; 0 if there is none.

    Below zero where one is so near that it would count as in contact before it is met.
    """
    sooner, later = 0.0, 0.0
    for i in range(n):
        if world.touch_int[i, memory.TOUCH_KIND] == memory.COMES_FAST:
            gap, speed = (
                world.touches[i, memory.TOUCH_GAP],
                -speed_along(world, world.states[memory.END], i, 0),
            )
            # a point that has been slowed down inside the step says too much
            speed = max(speed, world.scalars[memory.REST_SPEED])
            if gap < -MET:
                sooner = max(sooner, -gap / speed)
            elif gap > MET and gap <= CLOSE and (later == 0.0 or gap / speed < -later):
                later = -gap / speed
    return sooner if sooner > 0.0 else later


@inlined
def restart(world):
    """The forces of the step before are the first guess once more, on all bodies."""
    forget_pushes(world)
    for m in range(world.head[memory.N_MEETINGS]):
        if world.meeting_int[m, memory.IS_NEAR] == 0:
            continue
        begin_trial(world, m)
        for side in range(2):
            h = world.meeting_int[m, memory.HULL_ON_A + side]
            b = world.hull_int[h, memory.HULL_BODY]
            body, row = world.bodies[b], world.meetings[m]
            if body[memory.INV_MASS] == 0.0:
                continue
            for i in range(world.meeting_int[m, memory.TRIAL_POINTS]):
                force = scale(-1.0 if side == 0 else 1.0, get3(row, memory.TRIAL_FORCES + 3 * i))
                arm = sub(
                    get3(row, memory.TRIAL_PLACES + 3 * i),
                    get3(world.states[memory.START, b], memory.P),
                )
                put3(body, memory.CONTACT_PUSH, add(get3(body, memory.CONTACT_PUSH), force))
                moment = add(get3(body, memory.CONTACT_PUSH + 3), cross(arm, force))
                put3(body, memory.CONTACT_PUSH + 3, moment)


@inlined
def meets_next(world, n):
    """The fast touch that is met where the step ends, or -1."""
    nearest, at = CLOSE, -1
    for i in range(n):
        if world.touch_int[i, memory.TOUCH_KIND] == memory.COMES_FAST:
            if world.touches[i, memory.TOUCH_GAP] <= nearest:
                nearest, at = without_derivatives(world.touches[i, memory.TOUCH_GAP]), i
    return at


@inlined
def when_it_meets(ints, floats, world, t, h):
    """Length of a step that ends where something meets, with the derivatives that keep it there (D.14).

    The step is taken with a constant length, which tells how the gap depends on everything else, with a variable one,
    which tells its rate, and with the one that is found.
    """
    at = meets_next(world, world.head[memory.N_TOUCHING])
    if at < 0:
        return h
    before, h = world.touches[at, memory.TOUCH_GAP], without_derivatives(h)
    for look_again in range(3):
        if look_again == 1:
            before, h = world.touches[at, memory.TOUCH_GAP], as_variable(h)
        elif look_again == 2:
            h = root_of(h, before, rate_between(before, world.touches[at, memory.TOUCH_GAP]))
        advance(ints, floats, t, h)
        settle(ints, floats, t, h)
    return h


@linked(*WORLD, FLOAT, FLOAT, returns=FLOAT, part=PART)
def press(ints, floats, t, h):
    """Rigid contact in the trial step from t of length h that has been taken.

    Takes it again where contact changes it, shorter where something meets.

    Returns:
        Its length then, s; 0 where something hits at its start, before any time goes by.
    """
    world = memory.views(ints, floats)
    share = look(ints, floats, h)
    if world.head[memory.N_NEAR] == 0:
        world.head[memory.N_TOUCHING] = 0
        if world.head[memory.PRESSED] != 0:
            world.head[memory.PRESSED] = 0
            forget_pushes(world)
            again(ints, floats, t, h)
        return h
    for m in range(world.head[memory.N_MEETINGS]):
        if world.meeting_int[m, memory.IS_NEAR] != 0:
            begin_trial(world, m)
    most = h
    if share < 1.0:
        h = max(share * h, SHORTEST_CUT)
        advance(ints, floats, t, h)
    for _ in range(CUTS):
        n = settle(ints, floats, t, h)
        if n == TOO_DEEP:
            h *= 0.5
            restart(world)
            again(ints, floats, t, h)
            continue
        if n == HITS:
            world.head[memory.PRESSED] = 1
            restart(world)
            return 0.0
        sooner = time_to_meet(world, n)
        if sooner == 0.0 or h <= SHORTEST_CUT or (sooner < 0.0 and h >= most):
            break
        h = min(max(h - sooner, 0.1 * h, SHORTEST_CUT), most)
        advance(ints, floats, t, h)
    if has_derivatives(h):
        h = when_it_meets(ints, floats, world, t, h)
    world.head[memory.PRESSED] = 1
    return h
