"""Where everything lies in memory: the only file that knows columns and offsets.

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

# --- state of a body: position p_WB, attitude q_WB, velocity v_WB (in W), body rate omega_B (in B)
P, Q, V, OMEGA = constants(0, 3, 7, 10)
STATE = 13

# --- slope of a body: v_WB, rate of the rotation vector since the start of the step, a_WB, alpha_B
D_P, D_THETA, D_V, D_OMEGA = constants(0, 3, 6, 9)
SLOPE = 12
FIRST_SLOPE, LAST_SLOPE, COMBINED, CORRECTION, SLOPES = constants(0, 6, 7, 8, 9)  # 1..5: stages
START, END, STAGE, STATES = constants(0, 1, 2, 3)  # states of a step: its two ends, and one inside

# --- body: constants, then work. COMMAND is the wrench of the inputs; SPIN the momentum of rotors
INV_MASS, INERTIA, INV_INERTIA, ROTATES = constants(0, 1, 10, 19)  # ROTATES: 0, 1, or 2: diagonal J
ROTATION, COMMAND, SPIN, SPIN_DOT = constants(20, 29, 35, 38)
WIND, PRINCIPAL, MOMENTS = constants(41, 44, 53)  # air in W; principal axes (columns), moments
(MASS,) = constants(56)  # of roots and links of trees, whose INV_MASS and INV_INERTIA are zero
(CONTACT_WRENCH,) = constants(57)  # of all contacts: force and moment about the centre of mass, B
BODY = 63

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

# --- integers of a cable. HAS_ARM_A, HAS_ARM_B: the end is off the centre of mass of its body;
#     TREE_A, TREE_B: tree of that body, or -1. A stop of a joint is a cable without bodies:
#     STOP_JOINT is its joint or -1, STOP_SIDE +1 (largest angle) or -1 (smallest)
BODY_A, BODY_B, ALIVE, TAUT, CANDIDATE, IGNORED, HAS_ARM_A, HAS_ARM_B = constants(*range(8))
TREE_A, TREE_B, STOP_JOINT, STOP_SIDE = constants(8, 9, 10, 11)
CABLE_INT = 12

# --- a pair of cables k > j that share a body: columns of the arm of k and of the response of j there;
#     +1 where both have the same end there, -1 elsewhere; KEY is the same where all about k is
PAIR_K, PAIR_J, PAIR_BODY, PAIR_ARM, PAIR_RESPONSE, PAIR_SIGN, PAIR_KEY = constants(*range(7))
PAIR_INT = 7

# --- input k: thrust and moment of a member, as bias + amplitude sin(omega t + phase), 4 channels e
#     and the 6 x 4 map from (f, M) to force and moment about the centre of mass of its body
BIAS, AMPLITUDE, ANGULAR_FREQUENCY, PHASE, MAP = constants(0, 4, 8, 12, 16)
INPUT = 40
# --- external wrench: point in the body, force and moment in W
POINT, FORCE_W, MOMENT_W = constants(0, 3, 6)
EXTERNAL = 9

# --- rotor: axis and hub in the body; force and moment about the centre of mass per speed^2; axial
#     inertia (with its turning sense); drag; radius where the ground is felt. Its speed is
#     bias + amplitude sin(frequency t + phase) + offset exp(-(t - since) lag_rate)
AXIS, HUB, PER_SPEED2, AXIAL_INERTIA, ROTOR_DRAG, RADIUS = constants(0, 3, 6, 12, 13, 14)
SPEED_BIAS, SPEED_AMPLITUDE, SPEED_FREQUENCY, SPEED_PHASE = constants(15, 16, 17, 18)
SPEED_OFFSET, SINCE, LAG_RATE, SPEED, SPEED_DOT = constants(19, 20, 21, 22, 23)
ROTOR = 24
# --- integers of a rotor: its body; whether its lag is that of the row before; its kind; its
#     number as the user counts; joint (from 1, with the turning sense of the rotor) that it turns with, or 0
ROTOR_BODY, SAME_LAG, KIND, ROTOR_NUMBER, TURNS_WITH = constants(0, 1, 2, 3, 4)
ROTOR_INT = 5

UPRIGHT, PLAIN, FELT = constants(0, 1, 2)
"""Kinds: a rotor that pushes along body z by its speed alone; in any direction; or drag and ground matter."""

# --- drag of a member: where it is in its body (point, and rotation member to body), coefficients
#     along its axes for velocity (N s/m, N s^2/m^2) and rate (N m s, N m s^3)
PLACE, TURN, LINEAR, QUADRATIC, RATE_LINEAR, RATE_CUBIC = constants(0, 3, 12, 15, 18, 21)
DRAG = 24
# --- integers of a drag: its body; whether it is where and as its body is; whether it is linear only
DRAG_BODY, ALIGNED, ONLY_LINEAR = constants(0, 1, 2)
DRAG_INT = 3

# --- integers of a body: its rotors and drags are rows FIRST to END - 1
FIRST_ROTOR, END_ROTOR, FIRST_DRAG, END_DRAG = constants(0, 1, 2, 3)
BODY_INT = 4

# --- tree: its root row (-1: it stands on the ground) and its joints
ROOT, FIRST_JOINT, END_JOINT = constants(0, 1, 2)
TREE_INT = 3

# --- joint: pose of the link at angle zero in the parent (point from the centre of mass of the parent
#     to the joint, turn child to parent), from the joint to the centre of mass of the link, axis (both
#     in the link); what resists; then its effort bias + amplitude sin(frequency t + phase) + offset
#     exp(-(t - since) rate), or, if driven, its angle as a polynomial of t - since up to HOLDS_AFTER
#     plus the sine
JOINT_POINT, JOINT_TURN, TO_COM, JOINT_AXIS = constants(0, 3, 7, 10)
ARMATURE, DAMPING, FRICTION, FRICTION_SPEED, STIFFNESS, REST = constants(*range(13, 19))
EFFORT_BIAS, EFFORT_AMPLITUDE, EFFORT_FREQUENCY, EFFORT_PHASE = constants(19, 20, 21, 22)
EFFORT_OFFSET, EFFORT_SINCE, EFFORT_LAG_RATE, COEFFICIENTS, HOLDS_AFTER = constants(
    23, 24, 25, 26, 32
)
# work: screw axis at the centre of mass of the link (turn, push) and from the parent's centre of mass
# to that of the link, in W; accelerations that come from rates; response of the articulated body to the
# axis; inverse of its inertia about it; effort
SCREW, LEVER, CENTRIPETAL, REACTION, INV_AXIAL, EFFORT = constants(33, 39, 42, 48, 54, 55)
JOINT = 56
# --- integers of a joint: rows of the parent, of itself and of its link; kind; driven; rows of the
#     table of articulated bodies of parent (-1: ground) and link
PARENT_ROW, JOINT_ROW, LINK_ROW, JOINT_KIND, DRIVEN, PARENT_BODY, LINK_BODY, JOINT_NUMBER = (
    constants(*range(8))
)
JOINT_INT = 8
REVOLUTE, PRISMATIC = constants(0, 1)
# --- articulated body (all roots, then all links): inertia about its centre of mass in W, as
#     symmetric 6, full 9 (moment per acceleration) and symmetric 6; bias moment and force; acceleration
#     (angular, linear less gravity); the same two for a response; body rate in W
TURNING, COUPLING, MOVING, BIAS_MOMENT, BIAS_FORCE = constants(0, 6, 15, 21, 24)
TURN_RATE, ALPHA, ACCEL = constants(27, 30, 33)
ARTICULATED = 36
# --- response of a row of a tree to a unit pull of a cable: linear, angular
RESPONSE = 6

# --- contact: a probe (a point, or a ball about it, which may spin) of one body against a surface (a box,
#     or all below its top) of another. Point and spin in the frame of its body; place and turn of the
#     surface in its body, half sizes, speed of its belt in its own axes; the law. Then work: the anchor of
#     the friction spring and the travel per time since then, in the axes of the surface; depth, force
#     along the normal, stretch of the spring, largest friction then
PROBE, PROBE_RADIUS, PROBE_SPIN, SURFACE_PLACE, SURFACE_TURN = constants(0, 3, 4, 7, 10)
HALF_SIZE, BELT_SPEED, NORMAL_STIFFNESS, DISSIPATION = constants(19, 22, 25, 26)
TANGENT_STIFFNESS, TANGENT_DAMPING, STATIC, DYNAMIC, STICTION_SPEED = constants(*range(27, 32))
ANCHOR, TRAVEL_RATE, ANCHORED_AT, DEPTH, NORMAL_FORCE, STRETCH = constants(32, 35, 38, 39, 40, 41)
(FRICTION_LIMIT,) = constants(44)
CONTACT = 45
# --- integers of a contact: rows of the bodies of probe and surface; whether the surface is a box; whether
#     it can be at all; whether it touches, since the start of the step, and which face (1..3 along +axis,
#     -1..-3) it does
PROBE_BODY, SURFACE_BODY, IS_BOX, CAN_TOUCH, TOUCHES, FACE = constants(*range(6))
CONTACT_INT = 6

# --- event log
EVENT_TIME, EVENT_TYPE, EVENT_CAUSE, EVENT_HEAD = constants(0, 1, 2, 3)
INVOLVED, LOG_IMPULSE, LOG_RATE_BEFORE, LOG_RATE_AFTER, LOG_TENSION_BEFORE, LOG_TENSION_AFTER = (
    constants(0, 1, 2, 3, 4, 5)
)
EVENT_PER_CABLE = 6
MAX_EVENTS = 1000
"""Rows of the event log in one step before it counts as an error."""
EVENTS = 2 * MAX_EVENTS
"""Rows of the log of a single world; a run stops for it to be emptied when one more step might not fit."""

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
) = constants(*range(30))
HEADER = 30
SHAPE = 11
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

    @property
    def start(self) -> np.ndarray:
        """State at the start of the next step."""
        return self.states[START]


def event_width(n_cables: int) -> int:
    """Columns of the event log."""
    return EVENT_HEAD + EVENT_PER_CABLE * n_cables


def sizes(shape: Sequence[int]) -> tuple[int, int]:
    """Lengths of the two flat arrays of a world whose header starts with ``shape``."""
    nb, nc, n_pairs, n_inputs, n_external, n_rotors, n_drags, log_rows, n_trees, nj, n_contacts = (
        shape
    )
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
        + 3 * nc
        + TREE_INT * n_trees
        + JOINT_INT * nj
        + CONTACT_INT * n_contacts
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
    i8 = i7 + 3 * nc
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
    n_contacts = ints[N_CONTACTS]
    return World(
        ints[0:HEADER],
        shaped(ints[HEADER:i1], (nc, CABLE_INT))[0],
        shaped(ints[i1:i2], (n_pairs, PAIR_INT))[0],
        ints[i2:i3],
        ints[i3:i4],
        shaped(ints[i4:i5], (n_rotors, ROTOR_INT))[0],
        shaped(ints[i5:i6], (n_drags, DRAG_INT))[0],
        shaped(ints[i6:i7], (nb, BODY_INT))[0],
        shaped(ints[i7:i8], (3, nc))[0],
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
        shaped(ints[i10 : i10 + n_contacts * CONTACT_INT], (n_contacts, CONTACT_INT))[0],
        shaped(floats[f16 : f16 + n_contacts * CONTACT], (n_contacts, CONTACT))[0],
    )
