"""Cables that are more than a line between two points: routed through rings, wound by winches, elastic."""

from __future__ import annotations

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
ROUTE = route.width

route_int = Row("route_int", "Integers of a route.")
ROUTE_CONSTRAINT = route_int("", "its constraint")
FIRST_PIN = route_int("", "its first point")
END_PIN = route_int("", "the one behind its last")
FIRST_GRIP = route_int("", "the first body that it touches")
END_GRIP = route_int("", "the one behind the last")
ROUTE_INT = route_int.width

pin = Row("pin", "A point of a route, in the order of its path.")
PIN_POINT = pin("m", "from the centre of mass, body axes", shape=(3,))
PIN_PLACE = pin("m", "place in W (work)", shape=(3,))
PIN_SPEED = pin("m/s", "velocity in W (work)", shape=(3,))
PIN_ACCELERATION = pin("m/s^2", "acceleration in W if nothing pulled (work)", shape=(3,))
PIN = pin.width

pin_int = Row("pin_int", "Integers of a point of a route.")
PIN_GRIP = pin_int("", "the body that it is on, as a row of grips")
PIN_INT = pin_int.width

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
