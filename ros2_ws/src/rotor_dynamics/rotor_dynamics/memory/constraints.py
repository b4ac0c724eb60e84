"""Unilateral constraints (cables, and stops of joints) and the log of their events."""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

constraint = Row(
    "constraint",
    "A unilateral constraint d <= l. Cables come first; end a is the vehicle's, end b the payload's. "
    "A stop of a joint is a constraint without bodies.",
)
constraint.group("constants")
R_A = constraint("m", "point of end a from the centre of mass, body axes", shape=(3,))
R_B = constraint("m", "point of end b from the centre of mass, body axes", shape=(3,))
LENGTH = constraint("m", "unstretched length l; of a stop its angle (rad) or travel (m)")
constraint.group("work")
XI = constraint("", "unit vector a to b in W", shape=(3,))
DISTANCE = constraint("m", "distance d of its ends")
GAP = constraint("m", "d - l")
RATE = constraint("m/s", "rate of d")
ARM_A = constraint("m", "r x R^T xi at end a, body axes", shape=(3,))
ARM_B = constraint("m", "r x R^T xi at end b, body axes", shape=(3,))
INV_ARM_A = constraint("1/(kg m)", "J^-1 times ARM_A", shape=(3,))
INV_ARM_B = constraint("1/(kg m)", "J^-1 times ARM_B", shape=(3,))
FREE = constraint("m/s^2", "acceleration of d if nothing pulled")
TENSION = constraint("N", "tension at the latest evaluation")
TENSION_MID = constraint("N", "tension in the middle of the step")
TENSION_MIN = constraint("N", "smallest tension of all stages")
GAP_0 = constraint("m", "gap at the start of the step")
RATE_0 = constraint("m/s", "rate at the start of the step")
TENSION_0 = constraint("N", "tension at the start of the step")
RATE_PLUS = constraint("m/s", "rate after an impact")
IMPULSE = constraint("N s", "impulse of an impact")
TENSION_OLD = constraint("N", "tension before a change of the taut set")
MULTIPLIER = constraint("", "solution of the last system")
NEXT_TURN = constraint(
    "rad or m", "largest measure of a change at its sheaves, which rises through zero"
)
NEXT_TURN_0 = constraint("rad or m", "the same at the start of the step")
CONSTRAINT = constraint.width

constraint_int = Row("constraint_int", "Integers of a constraint.")
BODY_A = constraint_int("", "row of the body at end a")
BODY_B = constraint_int("", "row of the body at end b")
ALIVE = constraint_int(
    "", "0 after a cut, 1 if it holds its length, 2 if it stretches, 3 a rod, 4 a capstan"
)
TAUT = constraint_int("", "1 in the taut set")
CANDIDATE = constraint_int("", "1 while a change of the taut set considers it")
IGNORED = constraint_int("", "1 where it depends on others and is left out of the system")
HAS_ARM_A = constraint_int("", "1 where end a is off the centre of mass")
HAS_ARM_B = constraint_int("", "1 where end b is off the centre of mass")
TREE_A = constraint_int("", "tree of the body at end a, or -1")
TREE_B = constraint_int("", "tree of the body at end b, or -1")
STOP_JOINT = constraint_int("", "joint that it stops, or -1 for a cable")
STOP_SIDE = constraint_int("", "+1: largest angle, -1: smallest")
COUPLED_FROM = constraint_int("", "first constraint that acts on what it acts on")
ROUTED = constraint_int("", "1 + its route, or 0 for a line between two points")
STRETCHED = constraint_int("", "1 while an elastic cable pulls")
DRUM_JOINT = constraint_int("", "1 + the joint that is the drum of its winch, or 0")
SLIDES = constraint_int(
    "", "way in which a cable slides over this capstan: +1 to end b, -1 to end a, 0"
)
SLID = constraint_int("", "the same before a change")
CONSTRAINT_INT = constraint_int.width

HOLDS, STRETCHES, JOINS, RUBS = constants(1, 2, 3, 4)
"""Values of ALIVE: a cable that does not stretch, one that does, a rod (it pulls and pushes, and is always taut), a
capstan (in the taut set while the cable sticks to it)."""

pair = Row("pair", "Two constraints k > j that share a body.")
PAIR_K = pair("", "constraint k")
PAIR_J = pair("", "constraint j")
PAIR_BODY = pair("", "row of the shared body")
PAIR_ARM = pair("", "column of the arm of k there")
PAIR_RESPONSE = pair("", "column of the response of j there")
PAIR_SIGN = pair("", "+1 where both have the same end there, else -1")
PAIR_KEY = pair("", "the same for pairs that agree in all that concerns k")
PAIR_INT = pair.width

# --- event log -----------------------------------------------------------------------------------

event = Row("event", "Head of a row of the event log; a block per constraint follows.")
EVENT_TIME = event("s", "time")
EVENT_TYPE = event("", "type")
EVENT_CAUSE = event("", "cause")
EVENT_PLACE = event("m", "place in W, where it has one", shape=(3,))
EVENT_MEETING = event("", "1 + the two hulls that it is about, or 0")
EVENT_SHEAVE = event("", "1 + what a cable begins or ceases to lie on, or 0")
EVENT_IMPULSE = event("N s", "between them")
EVENT_HEAD = event.width

event_block = Row("event_block", "One constraint in a row of the event log.")
INVOLVED = event_block("", "1 where it takes part")
LOG_IMPULSE = event_block("N s", "impulse")
LOG_RATE_BEFORE = event_block("m/s", "rate before")
LOG_RATE_AFTER = event_block("m/s", "rate after")
LOG_TENSION_BEFORE = event_block("N", "tension before")
LOG_TENSION_AFTER = event_block("N", "tension after")
EVENT_PER_CONSTRAINT = event_block.width

MAX_EVENTS = 1000
"""Rows of the event log in one step before it counts as an error."""
EVENTS = 2 * MAX_EVENTS
"""Rows of the log of a single world; a run stops for it to be emptied when one more step might not fit."""
SMALL_VECTORS, ORDERS = constants(8, 5)
"""Work vectors of one number, and lists of one index, per constraint."""
