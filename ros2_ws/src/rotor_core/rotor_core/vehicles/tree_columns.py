"""Columns of the tables that describe an articulated vehicle to controllers and planners."""

from __future__ import annotations

from rotor_core.kernels.jit import constants

# --- link (row 0: the base), constants: pose of its frame in the parent at angle zero, axis of its
#     joint in its own frame, mass properties in its own frame, inertia of the motor about the axis
POINT, TURN, AXIS, MASS, COM, INERTIA, ARMATURE = constants(0, 3, 7, 10, 11, 14, 23)
LINK = 24
# --- its motion and loads, all in the axes of the base frame: attitude, origin and axis from the base;
#     from the parent's origin to its own; rates and accelerations of its frame; force and moment about
#     its origin
ROTATION, PLACE, LINE, LEVER = constants(0, 9, 12, 15)
OMEGA, ALPHA, ACCELERATION, FORCE, MOMENT = constants(18, 21, 24, 27, 30)
# composite mass, first moment and inertia about its origin
TOTAL_MASS, FIRST_MOMENT, TOTAL_INERTIA = constants(33, 34, 37)
WORK = 46
# --- integers: parent row, kind
PARENT, KIND = constants(0, 1)
REVOLUTE, PRISMATIC = constants(0, 1)
