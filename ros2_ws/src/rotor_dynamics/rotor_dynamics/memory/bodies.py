"""Bodies: state, slope, mass properties and work, and what acts on them from outside."""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

# --- state and slope -----------------------------------------------------------------------------

slope = Row("slope", "Rate of change of a state.")
D_P = slope("m/s", "velocity v_WB in W", shape=(3,))
D_THETA = slope("rad/s", "rate of the rotation vector since the start of the step", shape=(3,))
D_V = slope("m/s^2", "acceleration a_WB in W", shape=(3,))
D_OMEGA = slope("rad/s^2", "angular acceleration alpha_B in body axes", shape=(3,))
SLOPE = slope.width

FIRST_SLOPE, LAST_SLOPE, COMBINED, CORRECTION, SLOPES = constants(0, 6, 7, 8, 9)
"""Slopes of a step: at its start, stages 1 to 5, at its end, their combination, the projection; their number."""
START, END, STAGE, STATES = constants(0, 1, 2, 3)
"""States of a step: its two ends and one inside; their number."""

# --- body ----------------------------------------------------------------------------------------

body = Row("body", "A merged body; rows of links of trees follow the rows that are integrated.")
body.group("constants")
INV_MASS = body("1/kg", "inverse mass; zero for roots and links of trees and for the ground")
INERTIA = body("kg m^2", "inertia about the centre of mass, body axes", shape=(3, 3))
INV_INERTIA = body("1/(kg m^2)", "its inverse; zero where INV_MASS is", shape=(3, 3))
body.group("work")
ROTATION = body("", "rotation matrix body to world", shape=(3, 3))
COMMAND = body("N, N m", "force and moment of the inputs, body axes", shape=(6,))
ROTOR_WRENCH = body(
    "N, N m", "of rotors by their speeds alone about the centre of mass, body axes", shape=(6,)
)
SPIN = body("kg m^2/s", "angular momentum of the rotors, body axes", shape=(3,))
SPIN_DOT = body("N m", "its rate", shape=(3,))
body.group("set from outside")
WIND = body("m/s", "velocity of the air in W", shape=(3,))
body.group("constants, continued")
PRINCIPAL = body("", "principal axes as columns, body axes", shape=(3, 3))
MOMENTS = body("kg m^2", "principal moments of inertia", shape=(3,))
MASS = body("kg", "mass of roots and links of trees")
body.group("work, continued")
OUTER_WRENCH = body(
    "N, N m", "of contacts and registered forces about the centre of mass, body axes", shape=(6,)
)
CONTACT_PUSH = body(
    "N, N m", "of rigid contact over the step, about the centre of mass, in W", shape=(6,)
)
BODY_POWER = body(
    "W", "of all forces but gravity and taut constraints, where bodies are moved abreast"
)
PUSH_BEFORE = body("N, N m", "the same in the trial before (work)", shape=(6,))
BODY = body.width

body_int = Row("body_int", "Rows of the force elements of a body; ends are exclusive.")
FIRST_ROTOR = body_int("", "first row of its rotors")
END_ROTOR = body_int("", "end of its rotors")
FIRST_DRAG = body_int("", "first row of its drags")
END_DRAG = body_int("", "end of its drags")
FEELS_AIR = body_int("", "1 where the thrust of a rotor depends on the motion or place of the body")
ROTATES = body_int("", "TURNLESS, FULL_INERTIA or DIAGONAL_INERTIA")
BODY_INT = body_int.width

TURNLESS, FULL_INERTIA, DIAGONAL_INERTIA = constants(0, 1, 2)
"""How bodies rotate: a point mass does not; with any inertia; with principal axes along those of the body."""

# --- inputs and external wrenches ----------------------------------------------------------------

input = Row(
    "input", "Thrust and moment of a member: bias + amplitude sin(omega t + phase), four channels."
)
BIAS = input("N, N m", "constant part of thrust and moments", shape=(4,))
AMPLITUDE = input("N, N m", "amplitude of the sinusoid", shape=(4,))
ANGULAR_FREQUENCY = input("rad/s", "of the sinusoid", shape=(4,))
PHASE = input("rad", "of the sinusoid", shape=(4,))
MAP = input(
    "1, m", "from the four channels to force and moment about the centre of mass", shape=(6, 4)
)
INPUT = input.width

external = Row("external", "An external wrench on a body.")
POINT = external("m", "point of attack from the centre of mass, body axes", shape=(3,))
FORCE_W = external("N", "force in W", shape=(3,))
MOMENT_W = external("N m", "moment in W", shape=(3,))
EXTERNAL = external.width

# --- drag and lifting surfaces -------------------------------------------------------------------

drag = Row("drag", "Drag and rate damping of a member, or a lifting surface.")
PLACE = drag("m", "its point, from the centre of mass of its body", shape=(3,))
TURN = drag("", "rotation member to body", shape=(3, 3))
LINEAR = drag("N s/m", "of the airspeed along the axes of the member", shape=(3,))
QUADRATIC = drag("N s^2/m^2", "of the squared airspeed", shape=(3,))
RATE_LINEAR = drag("N m s", "of the body rate", shape=(3,))
RATE_CUBIC = drag("N m s^3", "of the cubed body rate", shape=(3,))
SURFACE_LOAD = drag("kg/m", "lifting surface: half the air density times its area")
SURFACE_SLOPE = drag("1/rad", "lifting surface: slope of its lift coefficient")
WAKE_SHARE = drag("", "lifting surface: share of the inflow of the rotor above that it meets")
DRAG = drag.width

drag_int = Row("drag_int", "Integers of a drag.")
DRAG_BODY = drag_int("", "row of its body")
ALIGNED = drag_int("", "1 where it lies at the centre of mass with the axes of its body")
ONLY_LINEAR = drag_int("", "1 where only the linear coefficients are set")
WAKE_OF = drag_int("", "disc in whose wake it is, or -1")
DRAG_INT = drag_int.width

# --- forces ---------------------------------------------------------------------------

PARAMETERS = constants(16)[0]
"""Numbers that a registered force may have."""

force = Row(
    "force",
    "A registered force on a member, or drag or bending of a heavy cable at one of its masses.",
)
FORCE_PLACE = force("m", "origin of the member, from the centre of mass of its body", shape=(3,))
FORCE_TURN = force("", "rotation member to body", shape=(3, 3))
FORCE_PARAMETERS = force("", "its numbers", shape=(int(PARAMETERS),))
FORCE = force.width

force_int = Row("force_int", "Integers of a force.")
FORCE_BODY = force_int("", "row of its body")
FORCE_CODE = force_int(
    "", "its kind, by the order of registration; -1: drag of a heavy cable, -2: its bending"
)
NODE_BEFORE = force_int(
    "", "row of the mass before it on its cable, or its own; of bending that of an end"
)
NODE_AFTER = force_int("", "row of the mass after it, or its own; of bending that of an end")
FORCE_INT = force_int.width

STRAND_DRAG, STRAND_BEND = constants(-1, -2)
"""Values of FORCE_CODE that are not registered."""
