"""Changes of the taut set inside a step, estimated from the values at both ends.

The stepper then iterates.

Two kinds: a slack cable reaches its length (gap rises through zero), or the tension of a taut one
falls through zero. A third one of elastic cables: the tension rises through what breaks them. A fourth one of cables
at pegs: they begin to lie on one, or cease to.
Source of the guards: design decision E-P4 (a taut cable never shortens under its own dynamics, so
its tension decides).
"""

from __future__ import annotations

from math import sqrt

from rotor_core.kernels.jit import constants, inlined, kernel
from rotor_core.numbers.derivatives import without_derivatives
from rotor_dynamics import memory
from rotor_dynamics.hybrid.pulling import AT_REST

NONE, REACHES_LENGTH, LOSES_TENSION, BREAKS, TURNS = 0.0, 1.0, 2.0, 3.0, 4.0
(NO_CABLE,) = constants(-1)

GAP_ZERO = 1e-13
"""A slack cable is over its length above this, m.

Just after a release the gap is rounding of +-1e-16.
"""

NEAR, UNSURE = 1e-9, 0.125
"""A peak of the interpolated gap is examined by a partial step when it comes this close to zero, m: and nearer than
the gap may be from the cubic, four times the quartic that its acceleration at the end of the step asks for."""

SAMPLES, PEAK_TRIALS = 16, 4
"""Places at which the cubic is looked at; trials in which a peak is looked for beyond what the cubic says."""


@inlined
def cubic(g0, r0, g1, r1, h, s):
    """Hermite cubic through gap and gap rate at both ends of a step of length h, at the fraction s."""
    c2 = 3.0 * (g1 - g0) - h * (2.0 * r0 + r1)
    c3 = 2.0 * (g0 - g1) + h * (r0 + r1)
    return g0 + s * (h * r0 + s * (c2 + s * c3))


@inlined
def first_rise(g0, r0, g1, r1, h):
    """Fraction of the step at which the interpolated gap first rises above zero, or -1."""
    low = 0.0
    high = -1.0
    for i in range(1, SAMPLES + 1):
        s = i / SAMPLES
        if cubic(g0, r0, g1, r1, h, s) > GAP_ZERO:
            high = s
            break
        low = s
    if high < 0.0:
        return high
    for _ in range(40):
        middle = 0.5 * (low + high)
        if cubic(g0, r0, g1, r1, h, middle) > 0.0:
            high = middle
        else:
            low = middle
    return high


@inlined
def leeway(free, g0, r0, g1, r1, h):
    """Distance from zero, m, at which a peak of the interpolated gap is examined; ``free``: its end acceleration."""
    bend = 6.0 * (g0 - g1) + h * (2.0 * r0 + 4.0 * r1)  # of the cubic, times h^2
    return max(NEAR, UNSURE * abs(h * h * free - bend))


@inlined
def peak(g0, r0, g1, r1, h, near):
    """Fraction of the step at which the interpolated gap is largest inside, or -1 where it stays under ``-near``."""
    c1 = h * r0
    c2 = 3.0 * (g1 - g0) - h * (2.0 * r0 + r1)
    c3 = 2.0 * (g0 - g1) + h * (r0 + r1)
    discriminant = c2 * c2 - 3.0 * c1 * c3
    if discriminant < 0.0:
        return -1.0
    denominator = -c2 + sqrt(discriminant) if c2 < 0.0 else -c2 - sqrt(discriminant)
    if denominator == 0.0:
        return -1.0
    # root of c1 + 2 c2 s + 3 c3 s^2 at which the second derivative is negative, in the form without
    # cancellation
    s = c1 / denominator if c2 < 0.0 else denominator / (3.0 * c3)
    if not (0.0 < s < 1.0) or cubic(g0, r0, g1, r1, h, s) < -near:
        return -1.0
    return s


@inlined
def nearer_peak(world, kind, cable, h, longest, trials):
    """Length of a trial that ends nearer to the peak of a gap than this one of length h, which ends below zero; or -1.

    Where the parabola through gap, rate and free acceleration at the end stays below zero too, there is no use.
    """
    c = world.constraints[cable]
    curve = -c[memory.FREE]
    if kind != REACHES_LENGTH or trials > PEAK_TRIALS or not curve > 0.0:
        return -1.0
    ahead = c[memory.RATE] / curve
    reach = c[memory.GAP] - max(c[memory.GAP_0], 0.0) + 0.5 * c[memory.RATE] * ahead
    if reach > GAP_ZERO and 0.0 < h + ahead < longest:
        return h + ahead
    return -1.0


@inlined
def breaking_load(world, k):
    """Tension at which elastic cable k breaks, N."""
    return world.routes[world.constraint_int[k, memory.ROUTED] - 1, memory.BREAKING]


@inlined
def breaks(world, k):
    """Fraction of the step at which an elastic cable breaks, or -1."""
    c, limit = world.constraints[k], breaking_load(world, k)
    t0, tm, t1 = c[memory.TENSION_0], c[memory.TENSION_MID], c[memory.TENSION]
    if t1 > limit:
        return min(max((limit - t0) / (t1 - t0), 0.0), 1.0) if t1 > t0 else 0.5
    return 0.5 if tm > limit else -1.0


@inlined
def allowance(world, k):
    """Value to which the measure of the next change of cable or capstan k may rise without a change.

    A capstan that was chosen at rest may stand a little beyond its limit, of speeds that count as none.
    """
    c = world.constraints[k]
    rests = world.constraint_int[k, memory.ALIVE] == memory.RUBS and c[memory.NEXT_TURN_0] > 0.0
    return AT_REST if rests else 0.0


@inlined
def turning(world, k):
    """Measure of the next change of cable or capstan k at the end of the trial: it rises through zero."""
    return world.constraints[k, memory.NEXT_TURN] - allowance(world, k)


@inlined
def turning_at_start(world, k):
    """The same at the start of the step, where it is not above zero."""
    return min(world.constraints[k, memory.NEXT_TURN_0] - allowance(world, k), 0.0)


@inlined
def guard(world, kind, cable):
    """The quantity that rises through zero when cable ``cable`` changes, at the end of the trial.

    Gap, minus tension, tension over the breaking load, or the angle of a peg.
    """
    c = world.constraints[cable]
    if kind == BREAKS:
        return c[memory.TENSION] - breaking_load(world, cable)
    if kind == TURNS:
        return turning(world, cable)
    if kind == REACHES_LENGTH:
        # where it begins does not move with it: what is at its length there has come to it earlier or later
        return c[memory.GAP] - max(without_derivatives(c[memory.GAP_0]), 0.0)
    return -c[memory.TENSION]


@inlined
def guard_at_start(world, kind, cable):
    """The same at the start of the step."""
    c = world.constraints[cable]
    if kind == BREAKS:
        return c[memory.TENSION_0] - breaking_load(world, cable)
    if kind == TURNS:
        return turning_at_start(world, cable)
    if kind == REACHES_LENGTH:
        return min(c[memory.GAP_0], 0.0)
    return -c[memory.TENSION_0]


@kernel
def earliest(ints, floats, h, skipped):
    """First change of the taut set in the trial step of length h, cable ``skipped`` left out.

    Returns:
        (kind, cable, estimated time within the step, whether the end of the step is past the
        change).
    """
    world = memory.views(ints, floats)
    kind, cable, when, past = NONE, NO_CABLE, h, False
    for k in range(world.head[memory.N_CONSTRAINTS]):
        alive = world.constraint_int[k, memory.ALIVE]
        if k == skipped or alive == 0 or alive == memory.JOINS:
            continue
        c = world.constraints[k]
        may_turn = world.head[memory.N_SHEAVES] + world.head[memory.N_CAPSTANS] != 0
        if may_turn and turning(world, k) > 0.0:
            t0, t1 = turning_at_start(world, k), turning(world, k)
            if kind == NONE or -t0 * h < when * (t1 - t0):
                kind, cable, when, past = TURNS, k, -t0 * h / (t1 - t0), True
        if alive == memory.RUBS:
            continue
        if world.constraint_int[k, memory.TAUT] + world.constraint_int[k, memory.STRETCHED] == 0:
            over = max(
                c[memory.GAP_0], 0.0
            )  # others may have moved it there; it must not get longer
            g0, r0, g1, r1 = (
                c[memory.GAP_0] - over,
                c[memory.RATE_0],
                c[memory.GAP] - over,
                c[memory.RATE],
            )
            s = -1.0
            if g1 > GAP_ZERO:
                s = first_rise(g0, r0, g1, r1, h)
                if s < 0.0:
                    s = 1.0
                if kind == NONE or s * h < when:
                    kind, cable, when, past = REACHES_LENGTH, k, s * h, True
            elif (
                world.constraint_int[k, memory.IGNORED] == 0
                and r0 > 0.0
                and r1 < 0.0
                and g0 + h * r0 > -leeway(c[memory.FREE], g0, r0, g1, r1, h)
                and g1 - h * r1 > -leeway(c[memory.FREE], g0, r0, g1, r1, h)
            ):
                near = leeway(c[memory.FREE], g0, r0, g1, r1, h)
                s = peak(
                    g0, r0, g1, r1, h, near
                )  # where it rises the gap is zero, which decides nothing
                if s > 0.0 and (kind == NONE or s * h < when):
                    kind, cable, when, past = REACHES_LENGTH, k, s * h, False
        else:
            if world.constraint_int[k, memory.STRETCHED] != 0:
                s = breaks(world, k)
                if s >= 0.0 and (kind == NONE or s * h < when):
                    past = c[memory.TENSION] > breaking_load(world, k)
                    kind, cable, when = BREAKS, k, s * h
            t0, tm, t1 = c[memory.TENSION_0], c[memory.TENSION_MID], c[memory.TENSION]
            if t1 < 0.0:
                s = t0 / (t0 - t1) if t0 > 0.0 else 0.5
                if kind == NONE or s * h < when:
                    kind, cable, when, past = LOSES_TENSION, k, s * h, True
            elif world.constraint_int[k, memory.IGNORED] == 0:
                # a dip between the ends: lowest point of the parabola through start, middle and end
                bend = t0 - 2.0 * tm + t1
                s = 0.5
                if bend > 0.0:
                    s = 0.5 + (t0 - t1) / (4.0 * bend)
                lowest = t0 + s * (4.0 * tm - 3.0 * t0 - t1) + 2.0 * s * s * bend
                dips = c[memory.TENSION_MIN] < 0.0 or (
                    bend > 0.0 and 0.0 < s < 1.0 and lowest < 0.0
                )
                if dips:
                    s = min(max(s, 0.05), 0.95)
                    if kind == NONE or s * h < when:
                        kind, cable, when, past = LOSES_TENSION, k, s * h, False
    return kind, cable, when, past
