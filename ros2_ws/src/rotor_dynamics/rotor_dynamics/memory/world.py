"""A world: two flat arrays, ``ints`` and ``floats``, and the tables that lie in them.

:class:`World` declares every table once: the array that holds it, its rows, its columns, what it is. Sizes
of the arrays and the function :func:`views`, which cuts them into tables without copying, follow from that
declaration, inside kernels and outside alike.

Rows of bodies: free bodies come first, then the roots of trees, then one row per joint (a point that moves
along one axis: angle in the first column of P, rate in that of V), so that every integrator moves joints
without knowing them. Behind these rows the links (the body that joint j moves is row N_BODIES + j) follow
from the joints. The last row is the ground: infinitely heavy, at rest in W, so that a cable to the world is
a cable like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Annotated, NamedTuple, get_type_hints

import numpy as np

from rotor_core.kernels.tables import Place, Size, make_views
from rotor_core.rows import Row
from rotor_core.state import STATE
from rotor_dynamics.memory.bodies import (
    BODY,
    BODY_INT,
    DRAG,
    DRAG_INT,
    EXTERNAL,
    FORCE,
    FORCE_INT,
    INPUT,
    SLOPE,
    SLOPES,
    START,
    STATES,
)
from rotor_dynamics.memory.constraints import (
    CONSTRAINT,
    CONSTRAINT_INT,
    EVENT_HEAD,
    EVENT_PER_CONSTRAINT,
    ORDERS,
    PAIR_INT,
    SMALL_VECTORS,
)
from rotor_dynamics.memory.contacts import CONTACT, CONTACT_INT
from rotor_dynamics.memory.discs import (
    BLADE,
    BLADE_INT,
    DISC,
    DISC_INT,
    HISTORY,
    SAMPLE,
    SECTION,
    STATION,
)
from rotor_dynamics.memory.hulls import (
    CORNER,
    GJK_ROWS,
    HULL,
    HULL_INT,
    MEETING,
    MEETING_INT,
    NEAREST_ROWS,
    TOUCH,
    TOUCH_INT,
)
from rotor_dynamics.memory.joints import ARTICULATED, JOINT, JOINT_INT, RESPONSE, TREE_INT
from rotor_dynamics.memory.polyhedra import (
    EDGE,
    EDGE_INT,
    FACET,
    FACET_INT,
    POLYHEDRON,
    POLYHEDRON_INT,
)
from rotor_dynamics.memory.rotors import ROTOR, ROTOR_INT
from rotor_dynamics.memory.routes import (
    GRIP,
    GRIP_INT,
    PIN,
    PIN_INT,
    ROUTE,
    ROUTE_INT,
    SHEAVE,
    SHEAVE_INT,
)

N_TABLES = 64
"""Fields of :class:`World`."""

header = Row("header", "Integers of a world.")
header.group("sizes")
N_BODIES = header("", "rows that are integrated: free bodies, then roots of trees")
N_CONSTRAINTS = header("", "unilateral constraints: cables, then stops of joints; then capstans")
N_PAIRS = header("", "pairs of constraints that share a body")
N_INPUTS = header("", "inputs")
N_EXTERNAL = header("", "room for external wrenches")
N_ROTORS = header("", "rotors")
N_DRAGS = header("", "drags and lifting surfaces")
LOG_ROWS = header("", "room for events")
N_TREES = header("", "trees")
N_JOINTS = header("", "joints")
N_CONTACTS = header("", "contacts")
N_BLADES = header("", "blades")
N_STATIONS = header("", "stations of blades")
N_POINTS = header("", "points of section tables")
N_DISCS = header("", "discs")
N_FORCES = header("", "registered forces, and masses of heavy cables in the air")
N_ROUTES = header("", "cables that run through rings, wind or stretch; then capstans")
N_PINS = header("", "points of routes")
N_GRIPS = header("", "bodies that routes touch, route by route")
N_SHEAVES = header("", "pulleys with a size, pegs and edges")
N_POLYHEDRA = header("", "polyhedra that cables wrap around")
N_FACETS = header("", "their faces")
N_EDGES = header("", "their edges, once for every face")
N_CAPSTANS = header("", "rings and sheaves on which cables rub")
N_WAYS = header("", "unknowns of the longest row of sheaves")
N_HULLS = header("", "solids in rigid contact")
N_CORNERS = header("", "their points")
N_MEETINGS = header("", "pairs of them")
N_TOUCHES = header("", "room for points at which they touch")
N_SCRATCH = header("", "rows of work for geometry")
SHAPE = header.width
"""Leading entries of the header that fix the sizes."""
header.group("state and counters")
N_FREE = header("", "bodies that are not part of a tree")
SINUSOIDS = header("", "1 where an input varies in time")
N_LOGGED = header("", "rows of the event log in use")
N_ACTING = header("", "external wrenches that act")
METHOD = header("", "integrator, by the order of registration")
VARIANT = header("", "variant of the integrator")
ADAPTIVE = header("", "1 where the integrator chooses its steps")
WHAT = header("", "change from outside that the next run takes up")
WHICH = header("", "constraint that it is about")
STEP = header("", "fixed steps since ORIGIN")
BAD_BODY = header("", "first body whose state is not finite")
STEPS_DONE = header("", "steps that the last run has finished")
INCONSISTENT = header(
    "", "1 + the dependent constraint that cannot be taut, or negative where there is none"
)
UNSOLVED = header("", "1 where a complementarity problem was not solved")
ARRIVED = header("", "1 + the cable whose neighbour of a sheave has come into it")
COARSE = header("", "1 while projections do not find the lengths of cables")
DEPENDENT = header("", "1 while the taut constraints are dependent")
REDUNDANT = header("", "1 where they ever were")
SAMPLED = header("", "times of dense output that are done")
TRIALS = header("", "steps tried, with those that locate events")
EXCHANGES = header("", "pivots of the complementarity solver")
IMMOVABLE = header("", "1 + the constraint whose length nothing but driven joints decides")
ESTIMATED = header("", "1 where the integrator tells the error of its steps")
CONTROLLED = header("", "1 where fixed steps are cut by that error")
KINKED = header("", "1 where forces may have kinks that no step resolves")
SUBSTEPS = header("", "steps that were added because the estimated error was too large")
KEEPS_LOG = header("", "0 where events are counted and their rows used again")
N_EVENTS = header("", "rows ever written to the event log")
EVENT_COUNTS = header("", "of them, by type", shape=(10,))
ABREAST = header("", "1 where bodies are moved abreast")
SPOKES = header("", "1 where the cables are those of a hub, and measured abreast")
N_TOUCHING = header("", "points at which hulls touch in the trial step")
IS_PUSHED = header("", "1 where contacts, registered forces or solids push bodies")
N_NEAR = header("", "meetings that may touch in the trial step")
PRESSED = header("", "1 where bodies pushed each other in the step before or do in the trial step")
DEEP = header(
    "", "1 where cores overlap at the end of the trial step: their direction is not known"
)
UNSETTLED = header("", "steps in which forces of rigid contact were not found to rounding")
DOUBT = header(
    "", "why derivatives may be undefined, of numbers with derivatives; 0: nothing is known"
)
DOUBTED = header("", "constraint that it is about")
header.group("places")
FIRST = header(
    "", "where every table begins in its array, in the order of World", shape=(N_TABLES,)
)
ROWS_IN_ALL = header("", "rows of bodies: those that are integrated, joints, the ground")
N_ARTICULATED = header("", "articulated bodies")
TREE_ROWS = header("", "rows of trees")
EVENT_WIDTH = header("", "columns of the event log")
WAY_ROWS = header("", "rows of the matrix of a row of sheaves, with its right side")
HEADER = header.width

scalar = Row("scalar", "Numbers of a world.")
TIME = scalar("s", "time of the state")
GRAVITY = scalar("m/s^2", "along -z of W")
ORIGIN = scalar("s", "fixed steps end at ORIGIN + i STEP_LENGTH")
STEP_LENGTH = scalar("s", "of a fixed step")
STEP_NUMBER = scalar("", "fixed steps since ORIGIN, of worlds that run side by side")
TOLERANCE = scalar(
    "m/s, rad/s", "error that a step of 1 ms may have, or any step of an adaptive method"
)
NEXT_STEP = scalar("s", "that an adaptive method, or one under error control, tries next")
GROUND = scalar("m", "height of the ground that rotors feel")
SPEEDS_AT = scalar("s", "time for which the rotor speeds are known")
WEIGHTS = scalar("", "of dense output", shape=(8,))
scalar.group("audit")
ERROR_SQUARED = scalar(
    "", "square of the estimated error of the last step that was examined, per second and SHARE"
)
LARGEST_SQUARED = scalar("", "the largest of a step that was taken")
LARGEST_ERROR_AT = scalar("s", "time of it")
WORST_BODY = scalar("", "row with the largest estimated error of the last step that was examined")
LARGEST_BODY = scalar("", "row with the largest estimated error of all steps")
ENERGY = scalar(
    "J",
    "kinetic and potential energy of all bodies at the start of the step (where there are constraints)",
)
ENERGY_END = scalar("J", "the same at its end")
ENERGY_SCALE = scalar(
    "J", "kinetic energy at its end, and that of all bodies at 1 m/s and in a fall of 1 m"
)
OPENING_ENERGY = scalar("J", "the same when the state was set")
POWER_NOW = scalar("W", "of all forces but gravity and taut constraints, at the latest evaluation")
POWER = scalar("W", "the same at the start of the step and in its stages", shape=(7,))
POWER_END = scalar("W", "the same at the end of the step")
STEP_WORK = scalar("J", "work of these forces in the step, by the weights of the method")
TAKEN = scalar("J", "energy that the impacts of the present change took, by their impulses")
WOUND = scalar("J", "work of winches in the impacts of the present change")
WORK = scalar("J", "their work since the state was set")
LOST = scalar("J", "energy that impacts have taken since then, by their impulses")
scalar.group("rigid contact")
ODOMETER = scalar("m", "more than any two points have come nearer since the state was set")
TRAVEL = scalar("m", "the same in the trial step")
NEXT_LOOK = scalar("m", "the least LOOK_AT of all meetings")
STRUCK_AT = scalar("s", "time of the last impact of hulls")
SET_AT = scalar("s", "time of the state that was set last")
REST_SPEED = scalar("m/s", "what comes together more slowly does not bounce")
scalar.group("derivatives")
DOUBT_AT = scalar("s", "time of what DOUBT tells")
SCALARS = scalar.width


class Table(NamedTuple):
    """Declaration of a table: the flat array that holds it, its shape, what it is.

    A dimension is a number, a size of the header in lower case, or one of :data:`SUMS`.
    """

    array: str
    shape: tuple[int | str, ...]
    meaning: str


INTS, FLOATS = "ints", "floats"
SUMS = {
    "n_rows": "n_bodies + n_joints + 1",
    "n_articulated": "n_trees + n_joints",
    "n_tree_rows": "n_articulated + n_joints",
    "event_width": f"{EVENT_HEAD} + {EVENT_PER_CONSTRAINT} * n_constraints",
    "way_rows": "n_ways + 1",
}
"""Sizes that follow from those of the header: rows of bodies (and joints, then the ground), and so on."""
Array = np.ndarray


class World(NamedTuple):
    """Views of one world; every field is a table, in the order of memory."""

    def __reduce__(self) -> tuple:
        """Pickled as what it shows, so that a copy shows the copy."""
        return world_of, (self.head.base, self.scalars.base)

    head: Annotated[Array, Table(INTS, (HEADER,), "sizes, switches, counters (header)")]
    constraint_int: Annotated[
        Array, Table(INTS, ("n_constraints", CONSTRAINT_INT), "integers of constraints")
    ]
    pairs: Annotated[Array, Table(INTS, ("n_pairs", PAIR_INT), "constraints that share a body")]
    input_body: Annotated[Array, Table(INTS, ("n_inputs",), "body of every input")]
    external_body: Annotated[Array, Table(INTS, ("n_external",), "body of every external wrench")]
    rotor_int: Annotated[Array, Table(INTS, ("n_rotors", ROTOR_INT), "integers of rotors")]
    drag_int: Annotated[Array, Table(INTS, ("n_drags", DRAG_INT), "integers of drags")]
    body_int: Annotated[Array, Table(INTS, ("n_rows", BODY_INT), "force elements of every body")]
    order: Annotated[Array, Table(INTS, (ORDERS, "n_constraints"), "lists of constraints (work)")]
    scalars: Annotated[Array, Table(FLOATS, (SCALARS,), "numbers of the world (scalar)")]
    states: Annotated[
        Array, Table(FLOATS, (STATES, "n_rows", STATE), "states at both ends of a step and inside")
    ]
    slopes: Annotated[Array, Table(FLOATS, (SLOPES, "n_rows", SLOPE), "slopes of the stages")]
    bodies: Annotated[Array, Table(FLOATS, ("n_rows", BODY), "bodies")]
    constraints: Annotated[
        Array, Table(FLOATS, ("n_constraints", CONSTRAINT), "unilateral constraints")
    ]
    inputs: Annotated[Array, Table(FLOATS, ("n_inputs", INPUT), "inputs")]
    externals: Annotated[Array, Table(FLOATS, ("n_external", EXTERNAL), "external wrenches")]
    rotors: Annotated[Array, Table(FLOATS, ("n_rotors", ROTOR), "rotors")]
    drags: Annotated[Array, Table(FLOATS, ("n_drags", DRAG), "drags and lifting surfaces")]
    matrix: Annotated[
        Array, Table(FLOATS, ("n_constraints", "n_constraints"), "A = D M^-1 D^T, lower half")
    ]
    block: Annotated[
        Array, Table(FLOATS, ("n_constraints", "n_constraints"), "part of A that is solved (work)")
    ]
    factor: Annotated[Array, Table(FLOATS, ("n_constraints", "n_constraints"), "factor of A")]
    small: Annotated[
        Array, Table(FLOATS, (SMALL_VECTORS, "n_constraints"), "vectors over constraints (work)")
    ]
    log: Annotated[Array, Table(FLOATS, ("log_rows", "event_width"), "event log")]
    tree_int: Annotated[Array, Table(INTS, ("n_trees", TREE_INT), "trees")]
    joint_int: Annotated[Array, Table(INTS, ("n_joints", JOINT_INT), "integers of joints")]
    joints: Annotated[Array, Table(FLOATS, ("n_joints", JOINT), "joints")]
    articulated: Annotated[
        Array, Table(FLOATS, ("n_articulated", ARTICULATED), "articulated bodies")
    ]
    responses: Annotated[
        Array,
        Table(
            FLOATS,
            ("n_constraints", "n_tree_rows", RESPONSE),
            "responses of trees to unit pulls",
        ),
    ]
    contact_int: Annotated[Array, Table(INTS, ("n_contacts", CONTACT_INT), "integers of contacts")]
    contacts: Annotated[Array, Table(FLOATS, ("n_contacts", CONTACT), "contacts")]
    blade_int: Annotated[Array, Table(INTS, ("n_blades", BLADE_INT), "integers of blades")]
    blades: Annotated[Array, Table(FLOATS, ("n_blades", BLADE), "blades")]
    stations: Annotated[Array, Table(FLOATS, ("n_stations", STATION), "stations of blades")]
    sections: Annotated[Array, Table(FLOATS, ("n_points", SECTION), "points of section tables")]
    disc_int: Annotated[Array, Table(INTS, ("n_discs", DISC_INT), "integers of discs")]
    discs: Annotated[Array, Table(FLOATS, ("n_discs", DISC), "rotor discs")]
    histories: Annotated[
        Array, Table(FLOATS, ("n_discs", HISTORY, SAMPLE), "inflow that momentum asked for")
    ]
    force_int: Annotated[Array, Table(INTS, ("n_forces", FORCE_INT), "integers of forces")]
    forces: Annotated[Array, Table(FLOATS, ("n_forces", FORCE), "forces")]
    route_int: Annotated[Array, Table(INTS, ("n_routes", ROUTE_INT), "integers of routes")]
    routes: Annotated[
        Array, Table(FLOATS, ("n_routes", ROUTE), "cables that run through rings, wind or stretch")
    ]
    pin_int: Annotated[Array, Table(INTS, ("n_pins", PIN_INT), "integers of points of routes")]
    pins: Annotated[Array, Table(FLOATS, ("n_pins", PIN), "points of routes")]
    grip_int: Annotated[Array, Table(INTS, ("n_grips", GRIP_INT), "integers of grips")]
    grips: Annotated[Array, Table(FLOATS, ("n_grips", GRIP), "bodies that routes touch")]
    sheave_int: Annotated[Array, Table(INTS, ("n_sheaves", SHEAVE_INT), "integers of sheaves")]
    sheaves: Annotated[
        Array, Table(FLOATS, ("n_sheaves", SHEAVE), "pulleys with a size, pegs and edges")
    ]
    polyhedron_int: Annotated[
        Array, Table(INTS, ("n_polyhedra", POLYHEDRON_INT), "integers of polyhedra")
    ]
    polyhedra: Annotated[
        Array, Table(FLOATS, ("n_polyhedra", POLYHEDRON), "polyhedra that cables wrap around")
    ]
    facet_int: Annotated[Array, Table(INTS, ("n_facets", FACET_INT), "integers of faces")]
    facets: Annotated[Array, Table(FLOATS, ("n_facets", FACET), "faces of polyhedra")]
    edge_int: Annotated[Array, Table(INTS, ("n_edges", EDGE_INT), "integers of edges")]
    edges: Annotated[Array, Table(FLOATS, ("n_edges", EDGE), "edges of polyhedra")]
    hull_int: Annotated[Array, Table(INTS, ("n_hulls", HULL_INT), "integers of hulls")]
    hulls: Annotated[Array, Table(FLOATS, ("n_hulls", HULL), "solids in rigid contact")]
    corners: Annotated[Array, Table(FLOATS, ("n_corners", CORNER), "points of hulls")]
    meeting_int: Annotated[Array, Table(INTS, ("n_meetings", MEETING_INT), "integers of meetings")]
    meetings: Annotated[Array, Table(FLOATS, ("n_meetings", MEETING), "pairs of hulls")]
    touch_int: Annotated[Array, Table(INTS, ("n_touches", TOUCH_INT), "integers of touches")]
    touches: Annotated[Array, Table(FLOATS, ("n_touches", TOUCH), "points where hulls touch")]
    scratch: Annotated[Array, Table(FLOATS, ("n_scratch", 4), "features of hulls (work)")]
    gjk: Annotated[Array, Table(FLOATS, (GJK_ROWS, 4), "work of distances")]
    nearest: Annotated[Array, Table(FLOATS, (NEAREST_ROWS, 3), "nearest points (work)")]
    ways: Annotated[
        Array, Table(FLOATS, ("way_rows", "n_ways"), "slopes of a way over sheaves in a row (work)")
    ]

    @property
    def start(self) -> np.ndarray:
        """State at the start of the next step."""
        return self.states[START]


SIZES = ("n_bodies", "n_constraints", "n_pairs", "n_inputs", "n_external", "n_rotors", "n_drags",
         "log_rows", "n_trees", "n_joints", "n_contacts", "n_blades", "n_stations", "n_points",
         "n_discs", "n_forces", "n_routes", "n_pins", "n_grips", "n_sheaves", "n_polyhedra", "n_facets", "n_edges",
         "n_capstans", "n_ways", "n_hulls", "n_corners", "n_meetings", "n_touches", "n_scratch")  # fmt: skip
"""Names of the sizes in the header, in their order."""


@cache
def tables() -> dict[str, Table]:
    """Declarations of all tables, by the name of their field in :class:`World`."""
    hints = get_type_hints(World, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in World._fields}


def blank(shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The two arrays of a world, zero but for the sizes and places of its tables; ``shape``: :data:`SIZES`."""
    known = {name: int(n) for name, n in zip(SIZES, shape, strict=True)}
    for name, total in SUMS.items():
        known[name] = eval(total, {}, known)  # of our own declarations
    ends = {INTS: 0, FLOATS: 0}
    places = []
    for table in tables().values():
        places.append(ends[table.array])
        ends[table.array] += prod(known[d] if isinstance(d, str) else int(d) for d in table.shape)
    ints, floats = np.zeros(ends[INTS], np.int64), np.zeros(ends[FLOATS])
    ints[:SHAPE], ints[FIRST : FIRST + N_TABLES] = shape, places
    ints[ROWS_IN_ALL : ROWS_IN_ALL + len(SUMS)] = [known[name] for name in SUMS]
    return ints, floats


def _places() -> dict[str, Place]:
    """Places of all tables, as the header tells them."""
    sizes: dict[str, Size] = {name: Size(i) for i, name in enumerate(SIZES)}
    sums = (ROWS_IN_ALL, N_ARTICULATED, TREE_ROWS, EVENT_WIDTH, WAY_ROWS)
    sizes |= {name: Size(int(at)) for name, at in zip(SUMS, sums, strict=True)}
    found: dict[str, Place] = {}
    for number, (name, table) in enumerate(tables().items()):
        shape = tuple(sizes[d] if isinstance(d, str) else int(d) for d in table.shape)
        begins = all(p.whole != (table.array == INTS) for p in found.values())
        found[name] = Place(table.array == INTS, -1 if begins else int(FIRST) + number, shape)
    return found


views = make_views(World, _places())
"""Named views of a world from its two arrays.

Linked kernels take the two flat arrays and name them again. Tables that are not named cost nothing.
"""


def world_of(ints: np.ndarray, floats: np.ndarray) -> World:
    """Views for Python."""
    return views(ints, floats)
