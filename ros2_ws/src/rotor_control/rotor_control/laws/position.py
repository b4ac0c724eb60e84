"""The position loop that all laws share: from reference and motion to a commanded specific force."""

from __future__ import annotations

from rotor_control.gains import (
    ERROR_LIMIT,
    GRAVITY,
    HELD,
    INTEGRAL_LIMIT,
    LOAD_INTEGRAL_GAIN,
    LOAD_POSITION_GAIN,
    LOAD_VELOCITY_GAIN,
    PERIOD,
)
from rotor_control.laws.limits import clamp_norm
from rotor_core.kernels.jit import kernel
from rotor_core.math.vec3 import add, get3, sub, times
from rotor_core.numbers.derivatives import counts
from rotor_core.reference import ACCELERATION, POSITION, VELOCITY


@kernel
def integrate(memory, error, period):
    """Add ``error * period`` to the integral in ``memory``, clamped; return it."""
    for i in range(3):
        memory[i] = min(max(memory[i] + error[i] * period, -INTEGRAL_LIMIT), INTEGRAL_LIMIT)
    return memory[0], memory[1], memory[2]


@kernel
def integrate_unless_held(memory, error, period, held):
    """:func:`integrate`, but what is held only shrinks (C.50)."""
    before = memory[0], memory[1], memory[2]
    integrate(memory, error, period)
    if held > 0.0:
        for i in range(3):
            grows = abs(memory[i]) > abs(before[i])
            # from nothing it can only grow
            if grows or (memory[i] == 0.0 and before[i] == 0.0 and counts(memory[i])):
                memory[i] = before[i]
    return memory[0], memory[1], memory[2]


@kernel
def commanded_acceleration(reference, p, v, load, memory):
    """Wanted acceleration plus g e3, in W: feed-forward and feedback of position and velocity.

    Args:
        reference: (28,).
        p, v: position and velocity of what is controlled.
        load: (LOAD,) gains, gravity, period, error limit, whether sums are held.
        memory: integral of the position error, (3,), updated.
    """
    e_x = sub(get3(reference, POSITION), p)
    e_v = sub(get3(reference, VELOCITY), v)
    return acceleration_from_errors(e_x, e_v, get3(reference, ACCELERATION), load, memory)


@kernel
def acceleration_from_errors(e_x, e_v, wanted, load, memory):
    """:func:`commanded_acceleration` from errors of position and velocity and the wanted acceleration."""
    e_x = clamp_norm(e_x, load[ERROR_LIMIT])
    integral = integrate_unless_held(memory, e_x, load[PERIOD], load[HELD])
    feedback = add(
        times(get3(load, LOAD_POSITION_GAIN), e_x), times(get3(load, LOAD_VELOCITY_GAIN), e_v)
    )
    feedback = add(feedback, times(get3(load, LOAD_INTEGRAL_GAIN), integral))
    return add(add(wanted, feedback), (0.0, 0.0, load[GRAVITY]))
