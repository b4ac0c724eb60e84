"""What stands in which column of the tables of :mod:`rotor_sim.model.layout`, which re-exports all of it."""

from __future__ import annotations

from rotor_core._jit import constants

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
#     STOP_JOINT is its joint or -1, STOP_SIDE +1 (largest angle) or -1 (smallest). COUPLED_FROM: first
#     cable that pulls at what it pulls at
BODY_A, BODY_B, ALIVE, TAUT, CANDIDATE, IGNORED, HAS_ARM_A, HAS_ARM_B = constants(*range(8))
TREE_A, TREE_B, STOP_JOINT, STOP_SIDE, COUPLED_FROM = constants(8, 9, 10, 11, 12)
CABLE_INT = 13

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
#     along its axes for velocity (N s/m, N s^2/m^2) and rate (N m s, N m s^3). Lifting surface: half the
#     density times area, its lift slope, share of the inflow of a rotor that it is in
PLACE, TURN, LINEAR, QUADRATIC, RATE_LINEAR, RATE_CUBIC = constants(0, 3, 12, 15, 18, 21)
SURFACE_LOAD, SURFACE_SLOPE, WAKE_SHARE = constants(24, 25, 26)
DRAG = 27
# --- integers of a drag: its body; whether it is where and as its body is; whether it is linear only;
#     the disc in whose wake it is, or -1
DRAG_BODY, ALIGNED, ONLY_LINEAR, WAKE_OF = constants(0, 1, 2, 3)
DRAG_INT = 4

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
(PITCH_EFFORT,) = constants(56)  # of the pitch link of a blade
JOINT = 57
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

# --- blade: a force element on a link, which spans it along x; phase ahead of the azimuth of the rotor; what
#     drives its pitch joint: stiffness and damping of the pitch link, axial inertia
BLADE_PHASE, LINK_STIFFNESS, LINK_DAMPING, FEATHER_INERTIA = constants(*range(4))
BLADE = 4
# --- integers of a blade: its link; its disc; its pitch joint (or -1); its stations and the points of the
#     table of its section are rows FIRST to END - 1 (no points: lift and drag are linear)
BLADE_ROW, BLADE_DISC, PITCH_JOINT, FIRST_STATION, END_STATION, FIRST_POINT, END_POINT = constants(
    *range(7)
)
BLADE_INT = 7
# --- station: place along the blade, half the air density times length times chord, twist, lift slope, drag
STATION_X, STATION_LOAD, TWIST, LIFT_SLOPE, DRAG_COEFFICIENT = constants(*range(5))
STATION = 5
# --- point of a section: angle of attack, lift, drag
SECTION_ANGLE, SECTION_LIFT, SECTION_DRAG = constants(0, 1, 2)
SECTION = 3
# --- rotor disc: twice the air density times area; time constant of the inflow; delay, frequency and damping
#     of the filtered loop; angles of the swashplate: collective, cosine, sine, as bias + offset
#     exp(-(t - since) rate). Then work: induced velocity, thrust, torque against the rotation and power that
#     the air gives to the blades, and the induced velocity that momentum asks for
TWICE_MASS_FLOW, INFLOW_LAG, INFLOW_DELAY, FILTER_FREQUENCY, FILTER_DAMPING = constants(*range(5))
SWASH, SWASH_OFFSET, SWASH_SINCE, SWASH_LAG_RATE = constants(5, 8, 11, 12)
INFLOW, THRUST, AIR_TORQUE, AIR_POWER, INFLOW_TARGET = constants(13, 14, 15, 16, 17)
(TURNS,) = constants(18)  # +1 where it pushes along the axis of its joint, -1 against it
DISC = 19
# --- integers of a disc: the joint it turns on; law of its inflow; newest sample of its history, and their number
AZIMUTH_JOINT, INFLOW_LAW, NEWEST, SAMPLES = constants(0, 1, 2, 3)
DISC_INT = 4
HELD, RELAXED, FILTERED = constants(0, 1, 2)
"""Laws of the inflow: constant; first-order towards momentum theory; delayed and filtered."""
INFLOW_COLUMN = 1
"""The row of the azimuth joint carries the inflow beside angle and rate: relaxed or held in the second column
of V, filtered in that of P with its rate in that of V. Integrators move all three columns alike."""
SAMPLES_PER_DELAY = 256
"""Accepted steps that a delayed inflow keeps are at least this share of the delay apart."""
HISTORY = 2 * SAMPLES_PER_DELAY
"""Room for them."""
SAMPLE = 2  # time, induced velocity that momentum asked for
