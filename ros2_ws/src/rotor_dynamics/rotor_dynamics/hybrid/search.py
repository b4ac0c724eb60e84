"""Search for the instant at which the taut set changes: false position on full steps, inside a bracket."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_dynamics import memory
from rotor_dynamics.hybrid.guards import (
    GAP_ZERO,
    NONE,
    REACHES_LENGTH,
    TURNS,
    earliest,
    guard,
    guard_at_start,
    turning,
)

ROOT_GAP = 2e-14
"""A located snap is this close to the length of the cable, m (rounding of positions of the order of metres)."""

ROOT_TENSION = 1e-13
"""A located loss of tension is this close to zero, relative to the largest tension at the ends of the step."""

ROOT_ANGLE = 1e-14
"""A cable that begins or ceases to lie on a peg does so at this angle from there, rad."""

ROOT_TIME = 1e-14
"""Width of the bracket at which a root counts as located, s."""

SMOOTH_ROOT, KINKED_ROOT = 8, 2
"""Every which trial halves the interval: the measure of a change at a hull may have a kink at its root, and a tension
leaps where bodies come to press; false position alone is slow there."""


@inlined
def bracket(world, kind, cable, when, h):
    """Begin a search in a trial of length h for a change that is expected ``when`` s from its start.

    Returns:
        (low, value_low, high, value_high, length of the next trial): both ends, and the guard there.
    """
    first = min(max(when, ROOT_TIME), h)
    return 0.0, guard_at_start(world, kind, cable), h, guard(world, kind, cable), first


@inlined
def tolerance_of(world, kind, cable, value_high):
    """Tolerance to which the guard of a located change is zero."""
    if kind == REACHES_LENGTH:
        return ROOT_GAP
    if kind == TURNS:
        return ROOT_ANGLE
    return ROOT_TENSION * max(world.constraints[cable, memory.TENSION_0], value_high)


@inlined
def rises(world, kind, cable, value, tolerance):
    """True if a guard of this value at the end of the trial is on its way up there."""
    if kind == TURNS and value <= 0.0:  # what began at zero may fall before it rises
        return guard_at_start(world, kind, cable) < -tolerance
    return kind != REACHES_LENGTH or world.constraints[cable, memory.RATE] > 0.0


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
    return guard(world, REACHES_LENGTH, cable) > GAP_ZERO


@inlined
def rival(ints, floats, world, kind, cable, h):
    """Another change that comes first in the trial of length h, which ends where the one in search is found.

    Returns:
        (kind, cable, estimated time within the step, whether the end is past it); kind NONE: no other.
    """
    other, which, when, past = earliest(ints, floats, h, cable)
    if kind != TURNS and turns_before(world, cable):  # estimates had them the other way round
        other, which, when, past = TURNS, cable, 0.5 * h, True
    elif kind == TURNS and reaches_before(world, cable):
        other, which, when, past = REACHES_LENGTH, cable, 0.5 * h, True
    if when < h - ROOT_TIME:
        return other, which, when, past
    return NONE, cable, h, False


@inlined
def next_trial(world, kind, cable, h, value, low, value_low, high, value_high, trials):
    """Length of the next trial of a search, inside its bracket."""
    rate = world.constraints[cable, memory.RATE]
    if kind == REACHES_LENGTH and rate > 0.0:
        h = h - value / rate
    elif value_high > value_low:
        h = high - value_high * (high - low) / (value_high - value_low)
    smooth = kind != TURNS and world.head[memory.PRESSED] == 0
    often = SMOOTH_ROOT if smooth else KINKED_ROOT
    if not (low < h < high) or trials % often == often - 1:
        h = 0.5 * (low + high)
    return h
