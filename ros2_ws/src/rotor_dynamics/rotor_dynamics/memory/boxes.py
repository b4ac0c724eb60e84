"""Boxes that cables wrap around: where a cable bends over their edges.

A face is a number: twice its axis, and 1 more where its normal points along it. A cable on a box passes over a list
of faces; between two neighbours it bends over the edge that they share.
"""

from __future__ import annotations

from rotor_core._jit import constants
from rotor_core.rows import Row

(MOST_BENDS,) = constants(10)
"""Edges of one box that a cable may lie on at once: nearly two turns."""

box = Row("box", "A box that a cable may lie on, in its own axes from its middle.")
HALF = box("m", "half its edges", shape=(3,))
box.group("work")
BEND_AT = box("m", "where the cable bends, along each edge from its middle", shape=(MOST_BENDS,))
BEND_STEP = box("m", "step of these unknowns, or their rates in m/s", shape=(MOST_BENDS,))
BEND_SLOPE = box("", "slope of the length per unknown", shape=(MOST_BENDS,))
OWN_CURVE = box("1/m", "second derivatives of the length", shape=(MOST_BENDS,))
NEXT_CURVE = box("1/m", "mixed ones of neighbours", shape=(MOST_BENDS,))
END_P = box("m", "place of the neighbour before it", shape=(3,))
END_Q = box("m", "place of the neighbour behind it", shape=(3,))
BOX_LENGTH = box("m", "of the way from one to the other")
BOX_RATE = box("m/s", "its rate")
BOX_FREE = box("m/s^2", "its acceleration if nothing pulled")
COMES = box("", "direction in which the cable comes, W", shape=(3,))
GOES = box("", "direction in which it goes on, W", shape=(3,))
GIVEN_OFF = box("m/s", "rate at which the cable is given off behind it, seen from the box")
GIVEN_FREE = box("m/s^2", "acceleration of that if nothing pulled")
BOX_ANGLE = box("rad", "by which the cable bends in all")
BOX_CHANGE = box("m", "largest measure of a change, which rises through zero")
BOX = box.width

box_int = Row("box_int", "Integers of a box.")
N_BENDS = box_int("", "edges on which the cable lies")
FACES = box_int("", "faces that it passes over, one more than edges", shape=(MOST_BENDS + 1,))
AT_CORNER = box_int(
    "", "-1 or +1 where it stands at that end of an edge; or 0", shape=(MOST_BENDS,)
)
CLOSED = box_int("", "1 + the first of two bends that have come to one corner, or 0")
BOX_RULE = box_int("", "which change has the largest measure")
BOX_BEND = box_int("", "the bend that it is about")
WAY_LOST = box_int("", "1 where the cable lies in no way that is known")
BOX_INT = box_int.width
