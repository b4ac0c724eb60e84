"""Contacts: a probe of one body against a surface of another, and the spring of their friction."""

from __future__ import annotations

from rotor_core.rows import Row

contact = Row(
    "contact",
    "A probe (a point, or a ball about it, which may spin) against a surface (a box, or all below its top).",
)
contact.group("constants")
PROBE = contact("m", "probe, axes of its body", shape=(3,))
PROBE_RADIUS = contact("m", "of the ball")
PROBE_SPIN = contact("rad/s", "of the ball, axes of its body", shape=(3,))
SURFACE_PLACE = contact("m", "origin of the surface, axes of its body", shape=(3,))
SURFACE_TURN = contact("", "rotation surface to body", shape=(3, 3))
HALF_SIZE = contact("m", "half sizes of the box", shape=(3,))
BELT_SPEED = contact("m/s", "of the belt, axes of the surface", shape=(3,))
NORMAL_STIFFNESS = contact("N/m", "along the normal")
DISSIPATION = contact("s/m", "of the normal force, per speed of approach")
TANGENT_STIFFNESS = contact("N/m", "of the friction spring")
TANGENT_DAMPING = contact("N s/m", "of the friction spring")
STATIC = contact("", "coefficient of friction at rest")
DYNAMIC = contact("", "coefficient of friction in motion")
STICTION_SPEED = contact("m/s", "speed between the two")
contact.group("work")
ANCHOR = contact("m", "anchor of the friction spring, axes of the surface", shape=(3,))
TRAVEL_RATE = contact("m/s", "of the probe over the surface since then", shape=(3,))
ANCHORED_AT = contact("s", "time of the anchor")
CAME_FROM = contact(
    "m", "place of the probe at the start of the step, axes of the surface", shape=(3,)
)
DEPTH = contact("m", "depth of the probe below the surface")
NORMAL_FORCE = contact("N", "along the normal")
STRETCH = contact("m", "of the friction spring", shape=(3,))
FRICTION_LIMIT = contact("N", "largest friction now")
CONTACT = contact.width

contact_int = Row("contact_int", "Integers of a contact.")
PROBE_BODY = contact_int("", "row of the body of the probe")
SURFACE_BODY = contact_int("", "row of the body of the surface")
IS_BOX = contact_int("", "1: box, 0: everything below the top")
CAN_TOUCH = contact_int("", "0 where the two cannot meet at all")
TOUCHES = contact_int("", "1 while it touches, as of the start of the step")
FACE = contact_int("", "face that it touches: 1..3 along +axis, -1..-3 along -axis")
PLACED = contact_int("", "1 where CAME_FROM is known")
CONTACT_INT = contact_int.width
