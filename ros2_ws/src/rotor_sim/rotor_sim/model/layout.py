"""Where everything lies in memory: the only file that knows columns and offsets.

One world is two flat arrays, ``ints`` and ``floats``. :func:`views` cuts them into the named arrays
of :class:`World` without copying, inside a kernel and outside alike. Rows are bodies, cables or
inputs; columns are named below. The last body row is the ground: infinitely heavy, at rest in W, so
that a cable to the world is a cable like any other.

Joints of articulated vehicles will get arrays of their own behind these; free bodies keep their
rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotor_core._jit import constants, kernel

# --- state of a body: position p_WB, attitude q_WB, velocity v_WB (in W), body rate omega_B (in B)
P, Q, V, OMEGA = constants(0, 3, 7, 10)
STATE = 13

# --- slope of a body: v_WB, rate of the rotation vector since the start of the step, a_WB, alpha_B
D_P, D_THETA, D_V, D_OMEGA = constants(0, 3, 6, 9)
SLOPE = 12
FIRST_SLOPE, LAST_SLOPE, SLOPES = constants(0, 4, 5)  # slopes 1..3 are the inner stages of a step

# --- body: constants, then work
INV_MASS, INERTIA, INV_INERTIA, ROTATES = constants(0, 1, 10, 19)
ROTATION, FORCE_B, MOMENT_B = constants(20, 29, 32)
BODY = 35

# --- cable: constants, then work. End a is the vehicle side, end b the payload side.
R_A, R_B, LENGTH = constants(0, 3, 6)
XI, DISTANCE, GAP, RATE = constants(7, 10, 11, 12)  # unit vector a -> b in W; d; d - l; d_dot
ARM_A, ARM_B, INV_ARM_A, INV_ARM_B = constants(
    13, 16, 19, 22
)  # r x R^T xi in the body, and J^-1 of it
(FREE,) = constants(25)  # d_ddot if no cable pulled
TENSION, TENSION_MID, TENSION_MIN = constants(26, 27, 28)
GAP_0, RATE_0, TENSION_0 = constants(29, 30, 31)  # at the start of the step
RATE_PLUS, IMPULSE, TENSION_OLD, MULTIPLIER = constants(32, 33, 34, 35)
CABLE = 36

# --- integers of a cable
BODY_A, BODY_B, ALIVE, TAUT, CANDIDATE, IGNORED = constants(0, 1, 2, 3, 4, 5)
CABLE_INT = 6

# --- a pair of cables that share a body: +1 for end b, -1 for end a
PAIR_K, PAIR_J, PAIR_BODY, PAIR_SIDE_K, PAIR_SIDE_J = constants(0, 1, 2, 3, 4)
PAIR_INT = 5

# --- input k: thrust and moment of a member, as bias + amplitude sin(omega t + phase), 4 channels e
#     and the 6 x 4 map from (f, M) to force and moment about the centre of mass of its body
BIAS, AMPLITUDE, ANGULAR_FREQUENCY, PHASE, MAP = constants(0, 4, 8, 12, 16)
INPUT = 40
# --- external wrench: point in the body, force and moment in W
POINT, FORCE_W, MOMENT_W = constants(0, 3, 6)
EXTERNAL = 9

# --- event log
EVENT_TIME, EVENT_TYPE, EVENT_CAUSE, EVENT_HEAD = constants(0, 1, 2, 3)
INVOLVED, LOG_IMPULSE, LOG_RATE_BEFORE, LOG_RATE_AFTER, LOG_TENSION_BEFORE, LOG_TENSION_AFTER = (
    constants(0, 1, 2, 3, 4, 5)
)
EVENT_PER_CABLE = 6
MAX_EVENTS = 1000
"""Rows of the event log in one step before it counts as an error."""
EVENTS = 2 * MAX_EVENTS
"""Rows of the log; a run stops for it to be emptied when one more step might not fit."""

# --- header (ints) and scalars (floats). N_EXTERNAL is the room for external wrenches, N_ACTING how many
#     act; TRIALS counts steps tried while events are located, EXCHANGES pivots of the complementarity solver
(
    N_BODIES,
    N_CABLES,
    N_PAIRS,
    N_INPUTS,
    N_EXTERNAL,
    SINUSOIDS,
    N_LOGGED,
    N_ACTING,
    BAD_BODY,
    STEPS_DONE,
    INCONSISTENT,
    UNSOLVED,
    TRIALS,
    EXCHANGES,
) = constants(*range(14))
HEADER = 14
TIME, GRAVITY = constants(0, 1)
SCALARS = 4
SMALL_VECTORS = 8  # work vectors of length n_cables


class World(NamedTuple):
    """Views of one world. Mathematics only; see the column names of this module."""

    head: np.ndarray
    cable_int: np.ndarray
    pairs: np.ndarray
    input_body: np.ndarray
    external_body: np.ndarray
    order: np.ndarray
    scalars: np.ndarray
    start: np.ndarray
    end: np.ndarray
    stage: np.ndarray
    slopes: np.ndarray
    bodies: np.ndarray
    cables: np.ndarray
    inputs: np.ndarray
    externals: np.ndarray
    matrix: np.ndarray
    block: np.ndarray
    factor: np.ndarray
    small: np.ndarray
    log: np.ndarray


def event_width(n_cables: int) -> int:
    """Columns of the event log."""
    return EVENT_HEAD + EVENT_PER_CABLE * n_cables


def sizes(
    n_bodies: int, n_cables: int, n_pairs: int, n_inputs: int, n_external: int
) -> tuple[int, int]:
    """Lengths of the two flat arrays of a world."""
    ints = HEADER + CABLE_INT * n_cables + PAIR_INT * n_pairs + n_inputs + n_external + 3 * n_cables
    floats = (
        SCALARS
        + (n_bodies + 1) * (3 * STATE + SLOPES * SLOPE + BODY)
        + CABLE * n_cables
        + INPUT * n_inputs
        + EXTERNAL * n_external
        + 3 * n_cables * n_cables
        + SMALL_VECTORS * n_cables
        + EVENTS * event_width(n_cables)
    )
    return ints, floats


@kernel
def views(ints, floats):
    """Named views of a world; the order here and in :func:`sizes` is the memory layout."""
    nb = ints[N_BODIES] + 1
    nc = ints[N_CABLES]
    n_pairs = ints[N_PAIRS]
    n_inputs = ints[N_INPUTS]
    n_external = ints[N_EXTERNAL]
    i1 = HEADER + CABLE_INT * nc
    i2 = i1 + PAIR_INT * n_pairs
    i3 = i2 + n_inputs
    i4 = i3 + n_external
    f0 = SCALARS
    f1 = f0 + nb * STATE
    f2 = f1 + nb * STATE
    f3 = f2 + nb * STATE
    f4 = f3 + SLOPES * nb * SLOPE
    f5 = f4 + nb * BODY
    f6 = f5 + nc * CABLE
    f7 = f6 + n_inputs * INPUT
    f8 = f7 + n_external * EXTERNAL
    f9 = f8 + nc * nc
    f10 = f9 + nc * nc
    f11 = f10 + nc * nc
    f12 = f11 + SMALL_VECTORS * nc
    width = EVENT_HEAD + EVENT_PER_CABLE * nc
    return World(
        ints[0:HEADER],
        ints[HEADER:i1].reshape((nc, CABLE_INT)),
        ints[i1:i2].reshape((n_pairs, PAIR_INT)),
        ints[i2:i3],
        ints[i3:i4],
        ints[i4 : i4 + 3 * nc].reshape((3, nc)),
        floats[0:f0],
        floats[f0:f1].reshape((nb, STATE)),
        floats[f1:f2].reshape((nb, STATE)),
        floats[f2:f3].reshape((nb, STATE)),
        floats[f3:f4].reshape((SLOPES, nb, SLOPE)),
        floats[f4:f5].reshape((nb, BODY)),
        floats[f5:f6].reshape((nc, CABLE)),
        floats[f6:f7].reshape((n_inputs, INPUT)),
        floats[f7:f8].reshape((n_external, EXTERNAL)),
        floats[f8:f9].reshape((nc, nc)),
        floats[f9:f10].reshape((nc, nc)),
        floats[f10:f11].reshape((nc, nc)),
        floats[f11:f12].reshape((SMALL_VECTORS, nc)),
        floats[f12 : f12 + EVENTS * width].reshape((EVENTS, width)),
    )
