"""Convex polyhedra that cables wrap around: their faces and edges, and the edges over which a cable bends.

Every edge is there twice, once for each of its two faces, along which it runs counter-clockwise seen from outside: to
cross it is to pass from its face to that of its twin. A cable on a polyhedron crosses a list of edges.
"""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

(MOST_BENDS,) = constants(48)
"""Edges of one polyhedron that a cable may lie on at once."""

END_INSIDE, TOO_MANY_BENDS, NO_WAY = constants(1, 2, 3)
"""Values of WAY_LOST: an end is inside, the cable bends over too many edges, no shortest way is found."""

facet = Row("facet", "A face of a polyhedron, in the axes of its sheave.")
FACET_NORMAL = facet("", "unit, outwards", shape=(3,))
FACET_HEIGHT = facet("m", "of its plane over the origin")
FACET = facet.width

facet_int = Row("facet_int", "Integers of a face.")
FIRST_EDGE = facet_int("", "the first of its edges, which stand in their order")
END_EDGE = facet_int("", "behind the last one")
FACET_INT = facet_int.width

edge = Row("edge", "An edge of a polyhedron, as one of its two faces has it.")
EDGE_FROM = edge("m", "corner at which it begins", shape=(3,))
EDGE_ALONG = edge("", "unit, from its beginning to its end", shape=(3,))
EDGE_LENGTH = edge("m", "of it")
EDGE_BEYOND = edge("", "unit, away from it in the plane of the face beyond", shape=(3,))
EDGE = edge.width

edge_int = Row("edge_int", "Integers of an edge.")
EDGE_FACET = edge_int("", "its face")
EDGE_TWIN = edge_int("", "the same edge, as the face beyond has it")
EDGE_NEXT = edge_int("", "the next one around its face")
EDGE_BEFORE = edge_int("", "the one before it around its face")
EDGE_CORNER = edge_int("", "number of the corner at which it begins")
EDGE_INT = edge_int.width

polyhedron = Row("polyhedron", "A convex polyhedron that a cable may lie on.")
UNFOLDED = polyhedron(
    "m",
    "its edges in one plane, as the cable crosses them: right end, then left end",
    shape=(MOST_BENDS, 4),
)
polyhedron.group("work")
END_P = polyhedron("m", "place of the neighbour before it", shape=(3,))
END_Q = polyhedron("m", "place of the neighbour behind it", shape=(3,))
WAY_LENGTH = polyhedron("m", "of the way from one to the other")
WAY_RATE = polyhedron("m/s", "its rate")
WAY_FREE = polyhedron("m/s^2", "its acceleration if nothing pulled")
COMES = polyhedron("", "direction in which the cable comes, W", shape=(3,))
GOES = polyhedron("", "direction in which it goes on, W", shape=(3,))
GIVEN_OFF = polyhedron("m/s", "rate at which the cable is given off behind it, seen from it")
GIVEN_FREE = polyhedron("m/s^2", "acceleration of that if nothing pulled")
WAY_ANGLE = polyhedron("rad", "by which the cable bends in all")
WAY_CHANGE = polyhedron("m", "largest measure of a change, which rises through zero")
POLYHEDRON = polyhedron.width

polyhedron_int = Row("polyhedron_int", "Integers of a polyhedron.")
FIRST_FACET = polyhedron_int("", "the first of its faces")
END_FACET = polyhedron_int("", "behind the last one")
N_BENDS = polyhedron_int("", "edges on which the cable lies")
CROSSED = polyhedron_int("", "these edges", shape=(MOST_BENDS,))
CHANGE_RULE = polyhedron_int("", "which change has the largest measure")
CHANGE_BEND = polyhedron_int("", "the bend that it is about")
GOES_DOWN = polyhedron_int("", "face by which the straight line goes down to its lowest place")
RISES = polyhedron_int("", "and by which it rises again")
WAY_LOST = polyhedron_int(
    "", "0, or why it is not known how the cable lies: END_INSIDE, TOO_MANY_BENDS, NO_WAY"
)
POLYHEDRON_INT = polyhedron_int.width
