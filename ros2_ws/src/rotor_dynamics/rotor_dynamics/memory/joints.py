"""Trees of joints: joints with their motors and stops, articulated inertias, responses.

The letters are those of Featherstone's articulated-body algorithm: S, U, D, u, I_A, p_A.
"""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

tree = Row("tree", "A tree of joints.")
ROOT = tree("", "row of its root, or -1 where it stands on the ground")
FIRST_JOINT = tree("", "first of its joints")
END_JOINT = tree("", "end of its joints")
TREE_INT = tree.width

joint = Row("joint", "A joint and the link that it moves.")
joint.group("constants")
JOINT_POINT = joint("m", "joint from the centre of mass of the parent, parent axes", shape=(3,))
JOINT_TURN = joint("", "rotation child to parent at angle zero, w first", shape=(4,))
TO_COM = joint("m", "centre of mass of the link from the joint, link axes", shape=(3,))
JOINT_AXIS = joint("", "unit axis, link axes", shape=(3,))
ARMATURE = joint("kg m^2 or kg", "reflected inertia of the drive")
DAMPING = joint("N m s or N s/m", "viscous")
FRICTION = joint("N m or N", "dry friction")
FRICTION_SPEED = joint("rad/s or m/s", "speed at which friction has three quarters of its value")
STIFFNESS = joint("N m/rad or N/m", "of the joint spring")
REST = joint("rad or m", "rest angle of the spring")
joint.group("effort, or the motion of a driven joint")
EFFORT_BIAS = joint("N m or N", "constant part; of a driven joint: constant angle")
EFFORT_AMPLITUDE = joint("N m or N", "amplitude of the sinusoid; driven: of the angle")
EFFORT_FREQUENCY = joint("rad/s", "of the sinusoid")
EFFORT_PHASE = joint("rad", "of the sinusoid")
EFFORT_OFFSET = joint("N m or N", "what is left of the lag at EFFORT_SINCE")
EFFORT_SINCE = joint("s", "time of the last command")
EFFORT_LAG_RATE = joint("1/s", "inverse time constant of the motor")
COEFFICIENTS = joint("rad/s^k", "driven: polynomial of the angle in t - since", shape=(6,))
HOLDS_AFTER = joint("s", "driven: end of the polynomial")
joint.group("work")
S = joint("", "screw axis at the centre of mass of the link, W: turn, push", shape=(6,))
LEVER = joint("m", "from the parent's centre of mass to the link's, W", shape=(3,))
CENTRIPETAL = joint("rad/s^2, m/s^2", "acceleration that comes from rates, W", shape=(6,))
U = joint("kg m^2, kg m", "I_A S, moment and force", shape=(6,))
D_INV = joint("1/(kg m^2)", "inverse of D = S^T U")
DRIVE = joint(
    "N m, N or rad/s^2, m/s^2", "effort u at the latest evaluation; acceleration of a driven joint"
)
PITCH_EFFORT = joint("N m", "of the pitch link of a blade")
JOINT = joint.width

joint_int = Row("joint_int", "Integers of a joint.")
PARENT_ROW = joint_int("", "row of the parent")
JOINT_ROW = joint_int("", "row of the joint")
LINK_ROW = joint_int("", "row of the link")
JOINT_KIND = joint_int("", "REVOLUTE or PRISMATIC")
DRIVEN = joint_int("", "1 where its motion is prescribed")
PARENT_BODY = joint_int("", "articulated body of the parent, or -1 for the ground")
LINK_BODY = joint_int("", "articulated body of the link")
JOINT_NUMBER = joint_int("", "its number as the user counts")
JOINT_INT = joint_int.width
REVOLUTE, PRISMATIC = constants(0, 1)

articulated = Row(
    "articulated", "An articulated body (all roots, then all links) about its centre of mass, in W."
)
I_A = articulated("kg m^2", "moment per angular acceleration, symmetric", shape=(6,))
H_A = articulated("kg m", "moment per acceleration", shape=(3, 3))
M_A = articulated("kg", "force per acceleration, symmetric", shape=(6,))
P_A_MOMENT = articulated("N m", "bias p_A, its moment", shape=(3,))
P_A_FORCE = articulated("N", "bias p_A, its force", shape=(3,))
TURN_RATE = articulated("rad/s", "angular velocity", shape=(3,))
ALPHA = articulated("rad/s^2", "angular acceleration", shape=(3,))
ACCEL = articulated("m/s^2", "acceleration less gravity", shape=(3,))
ARTICULATED = articulated.width

response = Row("response", "Acceleration of a row of a tree for a unit pull of a constraint.")
RESPONSE_LINEAR = response("1/kg", "linear, W", shape=(3,))
RESPONSE_ANGULAR = response("1/(kg m)", "angular, W", shape=(3,))
RESPONSE = response.width
