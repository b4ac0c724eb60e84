"""Rigid contact: solids of bodies, pairs of them, and the points at which they touch."""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

MOST_POINTS, MOST_CORNERS = constants(32, 64)
"""Points at which two hulls touch, and corners of one feature of a hull."""

hull = Row("hull", "A convex solid of a body: the hull of points, widened by a disc and a ball.")
hull.group("constants")
HULL_AXIS = hull("", "of the disc, body axes", shape=(3,))
HULL_DISC = hull("m", "radius of the disc")
CORE_DISC = hull("m", "the same of the core")
HULL_BALL = hull("m", "radius of the ball: by so much edges are round")
HULL_CENTRE = hull("m", "centre from the centre of mass, body axes", shape=(3,))
HULL_REACH = hull("m", "radius of the sphere about the centre that holds it")
HULL_FLUSH = hull("m", "corners of one face lie no farther behind each other")
HULL_ARM = hull("m", "of its farthest point from the centre of mass")
HULL_BELT = hull("m/s", "of its surface against the body, body axes", shape=(3,))
hull.group("work")
HULL_AXIS_W = hull("", "axis of the disc in W", shape=(3,))
HULL_CENTRE_W = hull("m", "centre in W", shape=(3,))
HULL_TRAVEL = hull("m", "no point of it moves farther in the trial step")
HULL = hull.width

hull_int = Row("hull_int", "Integers of a hull.")
HULL_BODY = hull_int("", "row of its body")
FIRST_CORNER = hull_int("", "first of its points")
END_CORNER = hull_int("", "end of its points, first of its core")
END_CORE = hull_int("", "end of its core")
IS_GROUND = hull_int("", "1: everything below the height of its centre")
HULL_INT = hull_int.width

corner = Row("corner", "A point of a hull, or of its core: the same a little smaller.")
CORNER_W = corner("m", "in W (work)", shape=(3,))
CORNER_B = corner("m", "from the centre of mass, body axes", shape=(3,))
CORNER = corner.width

meeting = Row("meeting", "Two hulls that may touch.")
meeting.group("constants")
MEETING_FRICTION = meeting("", "coefficient of Coulomb's friction")
MEETING_RESTITUTION = meeting("", "speed after an impact over that before")
meeting.group("work")
MEETING_NORMAL = meeting("", "from a to b in W, as last found", shape=(3,))
LOOK_AT = meeting("m", "reading of the odometer before which they cannot meet")
MEETING_GAP = meeting("m", "least gap of its points at the end of the trial step")
WARM_PLACES = meeting("m", "its points at the start of the step, in W", shape=(int(MOST_POINTS), 3))
WARM_FORCES = meeting("N", "on b at these in the step before, in W", shape=(int(MOST_POINTS), 3))
TRIAL_PLACES = meeting("m", "its points in the trial step, in W", shape=(int(MOST_POINTS), 3))
TRIAL_FORCES = meeting("N", "on b at these in the trial step, in W", shape=(int(MOST_POINTS), 3))
MEETING = meeting.width

meeting_int = Row("meeting_int", "Integers of a meeting.")
HULL_ON_A = meeting_int("", "hull a")
HULL_ON_B = meeting_int("", "hull b, or the ground")
IN_TOUCH = meeting_int("", "1 while they touch")
IS_NEAR = meeting_int("", "1 if they may touch in the trial step (work)")
ARRIVES = meeting_int("", "1 if the trial step ends with an impact of the two")
WARM_POINTS = meeting_int("", "points of the step before")
TRIAL_POINTS = meeting_int("", "points of the trial step")
MEETING_INT = meeting_int.width

touch = Row("touch", "A point at which two hulls touch (work of a trial step).")
TOUCH_PLACE = touch("m", "in W", shape=(3,))
TOUCH_GAP = touch("m", "between the surfaces")
DIRECTIONS = touch("", "normal from a to b and two tangents, in W, as rows", shape=(3, 3))
TOUCH_ARM_A = touch("m", "from the centre of mass of a, in W", shape=(3,))
TOUCH_ARM_B = touch("m", "from that of b, in W", shape=(3,))
ARMS_A = touch("m", "moments on a of unit forces along the directions, body axes", shape=(3, 3))
ARMS_B = touch("m", "the same on b", shape=(3, 3))
TURNED_A = touch("1/(kg m)", "angular accelerations of a by these", shape=(3, 3))
TURNED_B = touch("1/(kg m)", "the same of b", shape=(3, 3))
MOBILITY = touch("1/kg", "accelerations along the directions by unit forces", shape=(3, 3))
BELTS = touch("m/s", "of surface b past surface a by belts, along the directions", shape=(3,))
TOUCH_SPEED = touch("m/s", "of b past a along the directions before the sweeps", shape=(3,))
CLOSING = touch("m/s", "at which the two come together before an impact")
SEARCH = touch("N s", "direction in which impulses are searched, or zero", shape=(3,))
FOUND = touch("N s", "what the search has added to the impulses", shape=(3,))
LEAST_IMPULSE = touch("N s", "along the normal")
TOUCH_IMPULSE = touch("N s", "on b along each direction", shape=(3,))
PLASTIC = touch("N s", "the same of an impact that does not bounce", shape=(3,))
TOUCH = touch.width

touch_int = Row("touch_int", "Integers of a touch.")
TOUCH_MEETING = touch_int("", "its meeting")
TOUCH_BODY_A = touch_int("", "row of body a")
TOUCH_BODY_B = touch_int("", "row of body b")
TOUCH_KIND = touch_int("", "OPEN, SLOW, COMES_FAST or HITS_NOW")
OWNER = touch_int("", "whose point it is that touches: A_OWNS, B_OWNS or NOBODY_OWNS")
STICKS = touch_int("", "1 where its impulse is one of those that are solved for at once")
TOUCH_INT = touch_int.width

OPEN, SLOW, COMES_FAST, HITS_NOW = constants(0, 1, 2, 3)
"""A point of a touch: apart; in contact; meets inside the step, with a speed; does so at its start."""

A_OWNS, B_OWNS, NOBODY_OWNS = constants(0, 1, 2)
"""A corner or a round surface belongs to one body and slides over the other; a crossing of edges to none."""

FEATURE_A, FEATURE_B, CLIPPED, CLIPPED_NEXT, SCRATCH = constants(0, 64, 128, 256, 384)
"""Rows of ``scratch``: two features, and the two sides of clipping."""
GJK_ROWS, NEAREST_ROWS = constants(14, 2)
"""Rows of the work of :mod:`rotor_core.clearance.gjk`."""
