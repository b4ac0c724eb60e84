"""Cables that are more than a line between two points: routed through rings, wound by winches, elastic.

Rows of cables come first, then those of capstans: places at which a cable rubs. A capstan has grips of its own, and
no points.
"""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

route = Row("route", "A cable that runs through rings, that a winch winds, or that stretches.")
route.group("constants")
CABLE_STIFFNESS = route("N/m", "of an elastic cable; 0: it does not stretch")
CABLE_DAMPING = route("N s/m", "of an elastic cable")
BREAKING = route("N", "tension at which it breaks")
route.group("winch")
WINDS_FROM = route("s", "time from which the polynomial counts")
WOUND_LENGTH = route("m", "length at that time")
WOUND_RATE = route("m/s", "rate of the length at that time")
WOUND_ACCELERATION = route("m/s^2", "of the length since then")
WAVE = route("m", "amplitude of a sinusoid that is added to the length")
WAVE_FREQUENCY = route("rad/s", "of the sinusoid")
WAVE_PHASE = route("rad", "of the sinusoid")
route.group("work")
LENGTH_RATE = route("m/s", "rate of the length now")
LENGTH_ACCELERATION = route("m/s^2", "acceleration of the length now")
route.group("capstan")
HOLDS_RATIO = route("", "logarithm of the largest ratio of the tensions on both sides of it (work)")
ROUTE = route.width

route_int = Row("route_int", "Integers of a route.")
ROUTE_CONSTRAINT = route_int("", "its constraint")
FIRST_PIN = route_int("", "its first point")
END_PIN = route_int("", "the one behind its last")
FIRST_GRIP = route_int("", "the first body that it touches")
END_GRIP = route_int("", "the one behind the last")
FIRST_CAPSTAN = route_int("", "row of the first of its capstans, in the order of its path")
END_CAPSTAN = route_int("", "the one behind the last")
RUBBED_BY = route_int("", "1 + the route that rubs on it, of a capstan; 0 for a cable")
CAPSTAN_PIN = route_int(
    "", "its first point on that route: a ring, or the first of two on a sheave"
)
LAST_PIN = route_int(
    "", "its last one, on the same body; rings and sheaves between them are one capstan"
)
WAY = route_int("", "NEVER_LAID, or how its cable is laid when a state is set: STAYS or LAID_ANEW")
ROUTE_INT = route_int.width

pin = Row("pin", "A point of a route, in the order of its path.")
PIN_POINT = pin("m", "from the centre of mass, body axes", shape=(3,))
PIN_FRICTION = pin(
    "", "coefficient of friction of the cable there; of a sheave at the first of its two points"
)
PIN_PLACE = pin("m", "place in W (work)", shape=(3,))
PIN_SPEED = pin("m/s", "velocity in W (work)", shape=(3,))
PIN_ACCELERATION = pin("m/s^2", "acceleration in W if nothing pulled (work)", shape=(3,))
PART_RATE = pin("m/s", "rate of the straight part that begins there, in a row of sheaves (work)")
PART_FREE = pin("m/s^2", "acceleration of it if nothing pulled (work)")
PIN = pin.width

pin_int = Row("pin_int", "Integers of a point of a route.")
PIN_GRIP = pin_int("", "the body that it is on, as a row of grips")

PIN_SHEAVE = pin_int("", "1 + its sheave where it is the first of the two points on one, or 0")
IN_ROW = pin_int(
    "", "1 where a part begins that runs over several sheaves, 2 on these, 0 elsewhere"
)
NEXT_PIN = pin_int(
    "", "in a row, where the cable leaves: the point at which it comes to something next"
)
PIN_INT = pin_int.width

sheave = Row(
    "sheave",
    "A pulley with a size, a peg or an edge: a cylinder, a ball or a polyhedron that a route may lie on.",
)
SHEAVE_CENTRE = sheave("m", "of the cylinder, from the centre of mass, body axes", shape=(3,))
SHEAVE_AXES = sheave(
    "",
    "its axes in the body, the third along the cylinder; of a ball across its plane",
    shape=(3, 3),
)
SHEAVE_RADIUS = sheave("m", "of the cylinder; 0: an edge")
SHEAVE_REACH = sheave("m", "half its length")
sheave.group("work")
WRAP_ANGLE = sheave("rad", "for which the cable lies on it")
CHANGE_ANGLE = sheave("rad or m", "how far the next change is: it rises through zero")
CONTACTS = sheave(
    "rad, m, rad, m",
    "in a row: angle and height where the cable comes to it, then where it goes on",
    shape=(4,),
)
ARC = sheave("m", "in a row: length of the cable on it")
BENDS = sheave("rad", "in a row: angle by which the cable bends on it")
SHEAVE = sheave.width

sheave_int = Row("sheave_int", "Integers of a sheave.")
SHEAVE_BODY = sheave_int("", "row of its body")
SHEAVE_ROUTE = sheave_int("", "its route")
SHEAVE_PIN = sheave_int("", "the first of the two points in which the cable meets it")
PULLEY = sheave_int("", "way round of a cable that lies on it from the start, +1 or -1; 0: a peg")
SIDE = sheave_int("", "way round of the cable about the axis, +1 or -1")
LIES_ON = sheave_int("", "1 while the cable lies on it")
FRESH = sheave_int(
    "", "in a row: where the cable meets it is not known, 1 from the start, 2 since a touch; or 0"
)
WAY_AT = sheave_int("", "in a row: the first of its four unknowns (work)")
BEHIND_PIN = sheave_int(
    "", "in a row: the point at which the straight part begins that is nearest to it (work)"
)
BALL = sheave_int("", "1: a ball, around which the cable lies in the plane of its neighbours")
POLYHEDRON_AT = sheave_int("", "1 + its row of polyhedra where it is one, or 0")
SHEAVE_INT = sheave_int.width

NEVER_LAID, STAYS, LAID_ANEW = constants(0, 1, 2)
"""Values of WAY."""

FROM_START, FROM_TOUCH = constants(1, 2)
"""Values of FRESH."""

grip = Row("grip", "What the length of a route owes to the motion of one body (work).")
GRIP_LINEAR = grip("", "slope of the length per displacement, W", shape=(3,))
GRIP_ANGULAR = grip("m", "slope of the length per rotation, body axes", shape=(3,))
GRIP_RESPONSE = grip("1/(kg m)", "J^-1 times GRIP_ANGULAR", shape=(3,))
GRIP = grip.width

grip_int = Row("grip_int", "Integers of a body that a route touches.")
GRIP_BODY = grip_int("", "row of the body")
GRIP_TREE = grip_int("", "its tree, or -1")
GRIP_LEADS = grip_int("", "1 where it is the first of its route on its tree")
GRIP_INT = grip_int.width
