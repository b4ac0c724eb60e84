"""Where everything lies in memory; :mod:`rotor_sim.model.columns` says what stands in which column.

One world is two flat arrays, ``ints`` and ``floats``. :func:`views` cuts them into the named arrays
of :class:`World` without copying, inside a kernel and outside alike. Rows are bodies, cables or
inputs; columns are named below. The last body row is the ground: infinitely heavy, at rest in W, so
that a cable to the world is a cable like any other.

Articulated vehicles: free bodies come first, then the roots of trees, then one row per joint (a
point that moves along one axis: angle in the first column of P, rate in that of V), so that every
integrator moves joints without knowing them. Behind these N_BODIES rows the links (the body that
joint j moves is row N_BODIES + j) follow from the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rotor_core._jit import constants, inlined, shaped
from rotor_sim.model.columns import *

# --- header (ints). N_FREE bodies are no part of a tree. N_EXTERNAL is the room for external wrenches,
#     N_ACTING how many act; LOG_ROWS the room for events; METHOD the integrator; WHAT and WHICH a
#     change from outside that the next run takes up; STEP counts fixed steps since ORIGIN; TRIALS
#     counts steps tried while events are located, EXCHANGES pivots of the complementarity solver;
#     DEPENDENT tells whether the taut cables are dependent now, REDUNDANT whether they ever were;
#     SAMPLED counts times of dense output that are done; COARSE is set while projections do not find
#     the lengths of cables; INCONSISTENT is 1 + the dependent cable that cannot be taut, or negative
#     where there is none; IMMOVABLE is 1 + the cable whose length nothing but driven joints decides
(
    N_BODIES,
    N_CABLES,
    N_PAIRS,
    N_INPUTS,
    N_EXTERNAL,
    N_ROTORS,
    N_DRAGS,
    LOG_ROWS,
    N_TREES,
    N_JOINTS,
    N_CONTACTS,
    N_BLADES,
    N_STATIONS,
    N_POINTS,
    N_DISCS,
    N_FREE,
    SINUSOIDS,
    N_LOGGED,
    N_ACTING,
    METHOD,
    WHAT,
    WHICH,
    STEP,
    BAD_BODY,
    STEPS_DONE,
    INCONSISTENT,
    UNSOLVED,
    COARSE,
    DEPENDENT,
    REDUNDANT,
    SAMPLED,
    TRIALS,
    EXCHANGES,
    IMMOVABLE,
) = constants(*range(34))
HEADER = 34
SHAPE = 15
"""Leading entries of the header that fix the sizes."""

# --- scalars (floats): fixed steps end at ORIGIN + i STEP_LENGTH; TOLERANCE and NEXT_STEP are of
#     adaptive methods; GROUND is the height of the ground;
#     SPEEDS_AT the time for which the rotor speeds are known
TIME, GRAVITY, ORIGIN, STEP_LENGTH, TOLERANCE, NEXT_STEP, GROUND, SPEEDS_AT = constants(*range(8))
WEIGHTS = 8  # first of eight of dense output
SCALARS = 16
SMALL_VECTORS = 8  # work vectors of length n_cables


class World(NamedTuple):
    """Views of one world. Mathematics only; see the column names of this module."""

    def __reduce__(self) -> tuple:
        """Pickled as what it shows, so that a copy shows the copy."""
        return world_of, (self.head.base, self.scalars.base)

    head: np.ndarray
    cable_int: np.ndarray
    pairs: np.ndarray
    input_body: np.ndarray
    external_body: np.ndarray
    rotor_int: np.ndarray
    drag_int: np.ndarray
    body_int: np.ndarray
    order: np.ndarray
    scalars: np.ndarray
    states: np.ndarray
    slopes: np.ndarray
    bodies: np.ndarray
    cables: np.ndarray
    inputs: np.ndarray
    externals: np.ndarray
    rotors: np.ndarray
    drags: np.ndarray
    matrix: np.ndarray
    block: np.ndarray
    factor: np.ndarray
    small: np.ndarray
    log: np.ndarray
    tree_int: np.ndarray
    joint_int: np.ndarray
    joints: np.ndarray
    articulated: np.ndarray
    responses: np.ndarray
    contact_int: np.ndarray
    contacts: np.ndarray
    blade_int: np.ndarray
    blades: np.ndarray
    stations: np.ndarray
    sections: np.ndarray
    disc_int: np.ndarray
    discs: np.ndarray
    histories: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """State at the start of the next step."""
        return self.states[START]


def event_width(n_cables: int) -> int:
    """Columns of the event log."""
    return EVENT_HEAD + EVENT_PER_CABLE * n_cables


def sizes(shape: Sequence[int]) -> tuple[int, int]:
    """Lengths of the two flat arrays of a world whose header starts with ``shape``."""
    nb, nc, n_pairs, n_inputs, n_external, n_rotors, n_drags, log_rows, n_trees, nj = shape[:10]
    n_contacts, n_blades, n_stations, n_points, n_discs = shape[10:]
    rows = nb + nj + 1
    ints = (
        HEADER
        + CABLE_INT * nc
        + PAIR_INT * n_pairs
        + n_inputs
        + n_external
        + ROTOR_INT * n_rotors
        + DRAG_INT * n_drags
        + BODY_INT * rows
        + 5 * nc
        + TREE_INT * n_trees
        + JOINT_INT * nj
        + CONTACT_INT * n_contacts
        + BLADE_INT * n_blades
        + DISC_INT * n_discs
    )
    floats = (
        SCALARS
        + rows * (STATES * STATE + SLOPES * SLOPE + BODY)
        + CABLE * nc
        + INPUT * n_inputs
        + EXTERNAL * n_external
        + ROTOR * n_rotors
        + DRAG * n_drags
        + 3 * nc * nc
        + SMALL_VECTORS * nc
        + log_rows * event_width(nc)
        + JOINT * nj
        + ARTICULATED * (n_trees + nj)
        + nc * RESPONSE * (n_trees + 2 * nj)
        + CONTACT * n_contacts
        + BLADE * n_blades
        + STATION * n_stations
        + SECTION * n_points
        + (DISC + HISTORY * SAMPLE) * n_discs
    )
    return int(ints), int(floats)


@inlined
def views(ints, floats):
    """Named views of a world; the order here and in :func:`sizes` is the memory layout.

    Functions that are called (not inlined) take the two flat arrays and make the views again:
    passing two arrays is cheap, passing twenty is not, and views that are not used cost nothing.
    """
    n_joints = ints[N_JOINTS]
    n_trees = ints[N_TREES]
    nb = ints[N_BODIES] + n_joints + 1
    nc = ints[N_CABLES]
    n_pairs = ints[N_PAIRS]
    n_inputs = ints[N_INPUTS]
    n_external = ints[N_EXTERNAL]
    n_rotors = ints[N_ROTORS]
    n_drags = ints[N_DRAGS]
    log_rows = ints[LOG_ROWS]
    i1 = HEADER + CABLE_INT * nc
    i2 = i1 + PAIR_INT * n_pairs
    i3 = i2 + n_inputs
    i4 = i3 + n_external
    i5 = i4 + ROTOR_INT * n_rotors
    i6 = i5 + DRAG_INT * n_drags
    i7 = i6 + BODY_INT * nb
    i8 = i7 + 5 * nc
    i9 = i8 + TREE_INT * n_trees
    f0 = SCALARS
    f1 = f0 + STATES * nb * STATE
    f2 = f1 + SLOPES * nb * SLOPE
    f3 = f2 + nb * BODY
    f4 = f3 + nc * CABLE
    f5 = f4 + n_inputs * INPUT
    f6 = f5 + n_external * EXTERNAL
    f7 = f6 + n_rotors * ROTOR
    f8 = f7 + n_drags * DRAG
    f9 = f8 + nc * nc
    f10 = f9 + nc * nc
    f11 = f10 + nc * nc
    f12 = f11 + SMALL_VECTORS * nc
    width = EVENT_HEAD + EVENT_PER_CABLE * nc
    f13 = f12 + log_rows * width
    f14 = f13 + n_joints * JOINT
    n_articulated = n_trees + n_joints
    f15 = f14 + n_articulated * ARTICULATED
    n_rows = n_articulated + n_joints
    f16 = f15 + nc * n_rows * RESPONSE
    i10 = i9 + n_joints * JOINT_INT
    n_contacts, n_blades, n_discs = ints[N_CONTACTS], ints[N_BLADES], ints[N_DISCS]
    n_stations, n_points = ints[N_STATIONS], ints[N_POINTS]
    i11 = i10 + n_contacts * CONTACT_INT
    i12 = i11 + n_blades * BLADE_INT
    f17 = f16 + n_contacts * CONTACT
    f18 = f17 + n_blades * BLADE
    f19 = f18 + n_stations * STATION
    f20 = f19 + n_points * SECTION
    f21 = f20 + n_discs * DISC
    return World(
        ints[0:HEADER],
        shaped(ints[HEADER:i1], (nc, CABLE_INT))[0],
        shaped(ints[i1:i2], (n_pairs, PAIR_INT))[0],
        ints[i2:i3],
        ints[i3:i4],
        shaped(ints[i4:i5], (n_rotors, ROTOR_INT))[0],
        shaped(ints[i5:i6], (n_drags, DRAG_INT))[0],
        shaped(ints[i6:i7], (nb, BODY_INT))[0],
        shaped(ints[i7:i8], (5, nc))[0],
        floats[0:f0],
        shaped(floats[f0:f1], (STATES, nb, STATE))[0],
        shaped(floats[f1:f2], (SLOPES, nb, SLOPE))[0],
        shaped(floats[f2:f3], (nb, BODY))[0],
        shaped(floats[f3:f4], (nc, CABLE))[0],
        shaped(floats[f4:f5], (n_inputs, INPUT))[0],
        shaped(floats[f5:f6], (n_external, EXTERNAL))[0],
        shaped(floats[f6:f7], (n_rotors, ROTOR))[0],
        shaped(floats[f7:f8], (n_drags, DRAG))[0],
        shaped(floats[f8:f9], (nc, nc))[0],
        shaped(floats[f9:f10], (nc, nc))[0],
        shaped(floats[f10:f11], (nc, nc))[0],
        shaped(floats[f11:f12], (SMALL_VECTORS, nc))[0],
        shaped(floats[f12:f13], (log_rows, width))[0],
        shaped(ints[i8:i9], (n_trees, TREE_INT))[0],
        shaped(ints[i9:i10], (n_joints, JOINT_INT))[0],
        shaped(floats[f13:f14], (n_joints, JOINT))[0],
        shaped(floats[f14:f15], (n_articulated, ARTICULATED))[0],
        shaped(floats[f15:f16], (nc, n_rows, RESPONSE))[0],
        shaped(ints[i10:i11], (n_contacts, CONTACT_INT))[0],
        shaped(floats[f16:f17], (n_contacts, CONTACT))[0],
        shaped(ints[i11:i12], (n_blades, BLADE_INT))[0],
        shaped(floats[f17:f18], (n_blades, BLADE))[0],
        shaped(floats[f18:f19], (n_stations, STATION))[0],
        shaped(floats[f19:f20], (n_points, SECTION))[0],
        shaped(ints[i12 : i12 + n_discs * DISC_INT], (n_discs, DISC_INT))[0],
        shaped(floats[f20:f21], (n_discs, DISC))[0],
        shaped(floats[f21 : f21 + n_discs * HISTORY * SAMPLE], (n_discs, HISTORY, SAMPLE))[0],
    )


def world_of(ints: np.ndarray, floats: np.ndarray) -> World:
    """Views for Python."""
    return views.py_func(ints, floats)
