"""Inputs and outputs of a controller in a shared library, as kernels over its block of memory."""

from __future__ import annotations

from math import isfinite

from rotor_core.kernels.jit import constants, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import apply_transposed, get3, put3
from rotor_core.state import OMEGA, A, Q

TIME, STATE, ACCELEROMETER, REFERENCE, TEAM = constants(*range(5))
"""Places in a block, among its doubles."""

MEMBER = 6 + 13
"""Doubles of a row of the team."""

MEMBER_STATE = 6
WRENCH, FORCES, PWM = constants(0, 1, 2)
"""Kinds of output."""


@kernel
def write_input(floats, places, states, rows, own, reference, gravity, time):
    """Write what a controller sees of ``states`` (N, 19) and its ``reference`` (28,) at ``time``.

    Args:
        floats: the block.
        places: of its fields.
        states: position, attitude, velocity, body rate, accelerations.
        rows: of the team in the states, vehicles first; those of point masses are -1 - row, (n,).
        own: row of the vehicle.
        reference, gravity, time: (28,); m/s^2; s.
    """
    floats[places[TIME]] = time
    state = states[own]
    for i in range(13):
        floats[places[STATE] + i] = state[i]
    a = get3(state, A)
    R = so3.matrix(so3.get4(state, Q))
    put3(floats, places[ACCELEROMETER], apply_transposed(R, (a[0], a[1], a[2] + gravity)))
    put3(floats, places[ACCELEROMETER] + 3, get3(state, OMEGA))
    for i in range(reference.shape[0]):
        floats[places[REFERENCE] + i] = reference[i]
    for k in range(rows.shape[0]):
        at = places[TEAM] + MEMBER * k + MEMBER_STATE
        row = rows[k] if rows[k] >= 0 else -1 - rows[k]
        for i in range(13):
            floats[at + i] = states[row, i]
        if rows[k] < 0:
            for i in range(4):
                floats[at + Q + i] = float("nan")


@kernel
def read_output(floats, kind, at, mixing, speeds, per_speed2, out):
    """Write the wrench (4,) that a controller asks for; False where it is not finite or of no kind.

    Args:
        floats: the block.
        kind, at: of the output, and where it begins.
        mixing: (4, n) of the rotors.
        speeds: smallest and largest, (2,) rad/s.
        per_speed2: thrust over squared speed, N s^2/rad^2.
        out: (4,), written.
    """
    if kind < WRENCH or kind > PWM:
        return False
    if kind == WRENCH:
        for i in range(4):
            out[i] = floats[at + i]
    else:
        for i in range(4):
            out[i] = 0.0
        for k in range(mixing.shape[1]):
            thrust = floats[at + 4 + k]
            if kind == PWM:
                duty = floats[at + 20 + k]
                if not isfinite(duty):
                    return False
                speed = speeds[0] + min(max(duty, 0.0), 1.0) * (speeds[1] - speeds[0])
                thrust = per_speed2 * speed * speed
            for i in range(4):
                out[i] += mixing[i, k] * thrust
    return isfinite(out[0]) and isfinite(out[1]) and isfinite(out[2]) and isfinite(out[3])
