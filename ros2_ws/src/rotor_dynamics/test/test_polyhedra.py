"""Cables around convex polyhedra: shortest ways, corners over which they slip, conservation laws, what is refused."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.transform import Rotation
from worlds import random_inertia, started, state

from rotor_core.errors import ModelError, SolverError
from rotor_core.math.polyhedron import CORNERS, Polyhedron
from rotor_dynamics import memory
from rotor_dynamics.constraints.polyhedra import COMES_OFF, SLIPS_LEFT, SLIPS_RIGHT, look_at_line
from rotor_dynamics.constraints.polyhedron_changes import turn_polyhedron
from rotor_dynamics.constraints.polyhedron_ways import one_polyhedron, ways_over
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring, Sheave
from rotor_dynamics.model.system import System

G = 9.81
ORIGIN, Y = np.zeros(3), np.array([0.0, 1.0, 0.0])


def box(half, axes=None):
    """A box of half these edges."""
    corners = np.asarray(half) * CORNERS
    return Polyhedron.around(corners if axes is None else corners @ axes.T)


def box_of(half, *, body=WORLD, centre=ORIGIN, axes=None, friction=0.0):
    return Sheave(body, np.array(centre), Y, 0.0, friction=friction, polyhedron=box(half, axes))


def engine_of(masses, cable, states, *, gravity=G, inertia=None, step=1e-3):
    bodies = tuple(
        Body(f"m{i}", m, inertia if i == 0 and inertia is not None else None)
        for i, m in enumerate(masses)
    )
    return started(System(bodies, (cable,), gravity=gravity), np.array(states), step=step)


def length_of(points):
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def rock(random, corners):
    """The hull of random points on an ellipsoid: corners at which three to eight faces meet, at all angles."""
    points = random.normal(size=(corners, 3))
    points *= random.uniform(0.3, 1.0, 3) / np.linalg.norm(points, axis=1)[:, None]
    return Polyhedron.around(points)


def shape_of(seed, size=1.0):
    """A box for even seeds, a rock of 4 to 30 corners for odd ones."""
    random = np.random.default_rng(seed)
    if seed % 2 == 0:
        return box(size * random.uniform(0.3, 1.0, 3))
    shape = rock(random, int(random.integers(4, 31)))
    return Polyhedron.around(size * shape.corners)


def beside(random, shape, near=None, apart=0.05):
    """A place outside a shape; about opposite ``near`` if given."""
    while True:
        place = random.uniform(-2.0, 2.0, 3)
        if near is not None:
            place = -near * random.uniform(0.8, 1.2) + 0.3 * random.normal(size=3)
        if shape.is_outside(place, apart):
            return place


# --- ways --------------------------------------------------------------------------------------------


def on_a_grid(p, q, shape, n=41):
    """Length of the shortest way through points of a grid on the edges, between neighbours of one face or seen freely.

    Another way than the engine's: a graph, and Dijkstra's algorithm. It is too long by the square of the spacing.
    """
    share = np.linspace(0.0, 1.0, n)[:, None]
    places, members = [np.array([p, q])], []
    for face in shape.faces:
        points = shape.corners[list(face)]
        round_it = np.concatenate(
            [a + share * (b - a) for a, b in zip(points, np.roll(points, -1, axis=0), strict=True)]
        )
        members.append(np.arange(len(round_it)) + sum(map(len, places)))
        places.append(round_it)
    x = np.concatenate(places)
    rows, columns = [], []
    for member in members:
        i, j = np.meshgrid(member, member, indexing="ij")
        rows.append(i[i < j]), columns.append(j[i < j])
    _, first, same = np.unique(np.round(x, 9), axis=0, return_index=True, return_inverse=True)
    for end in (0, 1):
        sees = np.array([j for j in first if j != end and is_free(x[end], x[j], shape)])
        rows.append(np.full(len(sees), end)), columns.append(sees)
    i, j = np.concatenate(rows).astype(int), np.concatenate(columns).astype(int)
    i, j, lengths = same.ravel()[i], same.ravel()[j], np.linalg.norm(x[i] - x[j], axis=1)
    kept = i != j
    pairs, at = np.unique(np.stack([i, j])[:, kept], axis=1, return_index=True)
    graph = coo_array((lengths[kept][at], pairs), shape=(len(x),) * 2).tocsr()
    ends = same.ravel()[:2]
    return float(dijkstra(graph, directed=False, indices=ends[0])[ends[1]])


def is_free(p, q, shape):
    """True if a segment does not pass through the inside of a shape (half spaces)."""
    a, b = (shape.planes[:, :3] @ end - shape.planes[:, 3] for end in (p, q))
    if ((a > -1e-12) & (b > -1e-12)).any():
        return True
    with np.errstate(divide="ignore", invalid="ignore"):
        t = a / (a - b)
    first, last = t[a > b].max(initial=0.0), t[a < b].min(initial=1.0)
    return last - first < 1e-9


@pytest.mark.parametrize("seed", range(24))
def test_the_way_over_a_polyhedron_is_the_shortest_one(seed):
    random, shape = np.random.default_rng(seed), shape_of(seed)
    p, q = beside(random, shape), beside(random, shape)
    while is_free(p, q, shape):
        p, q = beside(random, shape), beside(random, shape)
    ways = [length_of(np.vstack([p, way, q])) for way in ways_over(p, q, shape)]
    n = 41
    about = on_a_grid(p, q, shape, n)
    spacing = max(length_of(shape.corners[list(edge)]) for edge in shape.edges) / (n - 1)
    assert ways[0] <= about + 1e-12
    assert about - ways[0] < 2.0 * spacing**2 / 0.05  # beside an edge that is 0.05 m off at least
    assert ways == sorted(ways)


def test_every_way_is_the_shortest_of_all_near_it():
    """Moving its bends along their edges, however, makes it longer; and no part of it is inside."""
    found = 0
    for seed in range(60):
        random, shape = np.random.default_rng(seed), shape_of(seed)
        edges = np.array([(a, b) for a, b in shape.edges if a < b])
        start, way_along = shape.corners[edges[:, 0]], np.diff(shape.corners[edges], axis=1)[:, 0]
        p, q = beside(random, shape), beside(random, shape)
        for way in ways_over(p, q, shape):
            points = np.vstack([p, way, q])
            assert all(is_free(a, b, shape) for a, b in pairwise(points))
            away = way[:, None] - start
            share = np.einsum("bec,ec->be", away, way_along) / (way_along**2).sum(axis=1)
            off = np.linalg.norm(away - share[:, :, None] * way_along, axis=2)
            on = np.where((share > 0.0) & (share < 1.0), off, np.inf).argmin(axis=1)
            k = np.arange(len(way))
            assert off[k, on].max() < 1e-12  # every bend is on an edge, and none at a corner

            def length(moved, p=p, q=q, start=start[on], way_along=way_along[on]):
                return length_of(np.vstack([p, start + moved[:, None] * way_along, q]))

            for before, bend, after, edge in zip(points, way, points[2:], on, strict=False):
                pull = (after - bend) / np.linalg.norm(after - bend)
                pull += (before - bend) / np.linalg.norm(before - bend)
                faces = [k for k, face in enumerate(shape.faces) if set(edges[edge]) <= set(face)]
                normals = shape.planes[faces, :3].T
                force, *_ = np.linalg.lstsq(normals, pull, rcond=None)
                assert (force <= 1e-9).all()  # both faces are pressed
                np.testing.assert_allclose(normals @ force, pull, atol=1e-9)
            best = minimize(length, share[k, on], method="BFGS", options={"gtol": 1e-10})
            assert length(share[k, on]) <= best.fun + 1e-13
            found += 1
    assert found > 50


def changed(shape, p, q, crossed, rule):
    """The edges that a way crosses after a change, from those before it; and whether it has found one."""
    ints, floats = one_polyhedron(shape)
    world = memory.world_of(ints, floats)
    row, number = world.polyhedra[0], world.polyhedron_int[0]
    world.sheave_int[0, memory.LIES_ON] = 1
    row[memory.END_P : memory.END_P + 3], row[memory.END_Q : memory.END_Q + 3] = p, q
    number[memory.N_BENDS] = len(crossed)
    number[memory.CROSSED : memory.CROSSED + len(crossed)] = crossed
    number[memory.CHANGE_RULE], number[memory.CHANGE_BEND] = rule
    turn_polyhedron(ints, floats, 0)
    after = number[memory.CROSSED : memory.CROSSED + number[memory.N_BENDS]]
    return after.tolist(), number[memory.WAY_LOST] == 0


def test_a_cable_that_comes_off_inside_is_laid_on_again():
    """One end comes off an edge, the other goes under the face beside it in the same step: the line goes 4 mm inside."""
    shape, p, q = box([0.3] * 3), np.array([0.32, 0.0, 0.35]), np.array([0.295, 0.0, -0.32])
    assert not is_free(p, q, shape)
    crossed, found = changed(shape, p, q, [0], (COMES_OFF, 0))
    assert found and len(crossed) == 1
    ends = shape.corners[list(shape.edges[crossed[0]])]  # of the edge at the bottom, beside q
    np.testing.assert_allclose(ends[:, [0, 2]], [[0.3, -0.3]] * 2, atol=1e-15)


def test_a_cable_slides_off_the_end_of_a_beam():
    """Its unfolded edges are the wrong way round after a slip: the farthest corner is not where the taut way bends."""
    beam = box([1.0, 0.07270707, 0.16545528])
    p, q = np.array([0.9637575, 0.27925, -0.1409766]), np.array([1.0359873, 0.51075, 0.513726])
    assert is_free(p, q, beam)
    slips, face = 0, np.repeat(np.arange(6), 4)
    above_p, above_q = (beam.planes[:, :3] @ end > beam.planes[:, 3] for end in (p, q))
    for crossed in permutations(range(beam.n_edges), 3):
        beyond = face[[beam.edges.index(beam.edges[h][::-1]) for h in crossed]]
        follows = (beyond[:2] == face[list(crossed[1:])]).all()
        if not follows or not above_p[face[crossed[0]]] or not above_q[beyond[2]]:
            continue
        for rule in (SLIPS_LEFT, SLIPS_RIGHT):
            after, found = changed(beam, p, q, crossed, (rule, 0))
            slips += 1
            assert found and len(after) != 1  # one edge is beyond the line
    assert slips > 10


def test_a_cable_around_a_needle_slips_off_one_turn_after_the_other():
    """Less than 24 degrees meet at its tip: a cable that winds around it twice winds once when it has slipped."""
    angle = 2.0 * np.pi * np.arange(3) / 3
    base = 0.08 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    needle = Polyhedron.around(np.vstack([base, [0.0, 0.0, 1.0]]))
    tip = int(np.argmax(needle.corners[:, 2]))
    ups = [h for h, (_, end) in enumerate(needle.edges) if end == tip]
    face = np.repeat(np.arange(4), 3)
    chain = [ups[0]]
    while len(chain) < 5:
        twin = needle.edges.index(needle.edges[chain[-1]][::-1])
        chain.append(next(h for h in ups if face[h] == face[twin]))
    p, q = np.array([-0.6, 0.1, 0.9]), np.array([0.3, 0.5, 0.808])
    after, found = changed(needle, p, q, chain, (SLIPS_LEFT, 2))
    assert found and 0 < len(after) < 5


# --- motion ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_the_edges_of_a_plate_are_two_edges_in_a_row(friction):
    """A cable is laid over the two lower edges of a plate: the engine's ways over single edges agree.

    A pendulum that comes off again; and, as an anchor on the same body would hold it, a mass that swings from a heavy
    one over rough edges, obliquely.
    """
    anchor, bob = np.array([-0.1, 0.0, 0.6]), np.array([-1.2, 0.0, -0.3])
    length = float(np.linalg.norm(bob - anchor))
    edges = tuple(
        Sheave(WORLD, np.array([0.0, 0.0, z]), Y, 0.0, reach=2.0, friction=friction)
        for z in (0.0, -0.04)
    )
    plate = box_of([0.3, 2.0, 0.02], centre=[0.3, 0.0, -0.02], friction=friction)
    paths, angles = [], []
    for through in (edges, (plate,)):
        if friction:
            cable = Cable(0, 1, length, through=through)
            states = [state(anchor), state(bob, v=(0.4, 0.35, -0.6))]
            engine = engine_of([1e3, 0.4], cable, states, gravity=0.0, step=5e-3)
        else:
            cable = Cable(WORLD, 0, length, r_a=anchor, through=through)
            engine = engine_of([0.4], cable, [state(bob, v=(0.0, 0.2, 0.0))])
        path = []
        for _ in range(6 if friction else 15):
            engine.run(100)
            path.append(engine.update_kinematics()[-1, :3].copy())
            if friction and engine.world.sheave_int[:, memory.LIES_ON].any():
                angles.append(engine.world.routes[1, memory.HOLDS_RATIO])
        kinds = [(e.type, e.cause) for e in engine.take_events()]
        paths.append((np.array(path), kinds))
    np.testing.assert_allclose(paths[1][0], paths[0][0], atol=1e-13 if friction == 0.0 else 1e-12)
    assert paths[1][1] == paths[0][1] and ("touch", "wraps") in paths[0][1]
    if friction:
        np.testing.assert_allclose(*np.split(np.array(angles), 2), atol=1e-12)
        assert max(angles) > 0.1


def momenta(engine, masses, inertia):
    engine.update_kinematics()
    x = engine.motion
    linear = sum(m * x[i, 7:10] for i, m in enumerate(masses))
    angular = sum(m * np.cross(x[i, :3], x[i, 7:10]) for i, m in enumerate(masses))
    turn = Rotation.from_quat(x[0, [4, 5, 6, 3]])
    return linear, angular + turn.apply(inertia @ x[0, 10:13])


MASSES = (1.0, 0.4, 0.6)


def tumbling(seed, *, friction=0.0, corners=0, slack=1.05, step=1e-3):
    """A polyhedron on a free body, and two masses on a cable that comes around it; nothing else acts.

    ``corners``: of a rock; 0: a box. ``slack``: how long the cable is at most, of its way.
    """
    random = np.random.default_rng(seed)
    inertia, half = random_inertia(random, 1.0), random.uniform(0.2, 0.5, 3)
    axes, centre = Rotation.random(random_state=random).as_matrix(), 0.1 * random.normal(size=3)
    shape = box(half, axes)
    if corners:
        shape = Polyhedron.around(0.5 * rock(random, corners).corners)
    side = beside(random, shape, apart=0.1)
    other = beside(random, shape, side, 0.1)
    a, b = centre + side, centre + other
    around = Sheave(0, centre, Y, 0.0, friction=friction, polyhedron=shape)
    probe = engine_of(
        MASSES, Cable(1, 2, 100.0, through=(around,)), [state(), state(a), state(b)], gravity=0.0, inertia=inertia,
    )  # fmt: skip
    length = float(probe.distances[0]) * (random.uniform(1.0, 1.05) if slack < 2.0 else slack)
    u = (a - b) / np.linalg.norm(a - b)
    states = [
        state(w=2.0 * random.normal(size=3)),
        state(a, v=0.8 * random.normal(size=3) + 0.6 * u),
        state(b, v=0.8 * random.normal(size=3) - 0.6 * u),
    ]
    cable = Cable(1, 2, length, through=(around,))
    return engine_of(MASSES, cable, states, gravity=0.0, inertia=inertia, step=step), inertia


@pytest.mark.parametrize("corners", [0, 5, 20, 60])
def test_cables_around_tumbling_polyhedra_keep_energy_and_momentum(corners):
    """Edges, corners over which they slip, snaps. Runs end early only where a mass has come to the surface."""
    touched = slipped = ended = 0
    for seed in range(60 if corners < 60 else 25):
        engine, inertia = tumbling(seed, corners=corners)
        before = momenta(engine, MASSES, inertia)
        try:
            engine.run(2500)
        except SolverError as error:
            assert "has come to the surface" in str(error)
            ends = engine.world.polyhedra[0, memory.END_P : memory.END_P + 6].reshape(2, 3)
            heights = engine.world.facets[:, memory.FACET_HEIGHT]
            normals = engine.world.facets[:, memory.FACET_NORMAL : memory.FACET_NORMAL + 3]
            assert (ends @ normals.T - heights).max(axis=1).min() < 0.02
            ended += 1
        after = momenta(engine, MASSES, inertia)
        np.testing.assert_allclose(after[0], before[0], atol=1e-12)
        np.testing.assert_allclose(after[1], before[1], atol=1e-9)
        assert abs(engine.accuracy.energy_error_j) < 1e-8
        kinds = [(e.type, e.cause) for e in engine.take_events()]
        touched += ("touch", "wraps") in kinds
        slipped += ("slack", "wraps") in kinds
    assert touched > 10 and slipped > 6 and ended < 10  # each of them is looked at


def test_the_order_of_the_integrator_survives_edges():
    """Oblique over one edge, then another: the error falls with the fourth power of the step."""
    ends = []
    for step in (8e-3, 4e-3, 5e-4):
        around = box_of([0.25, 0.4, 0.02], centre=[0.25, 0.05, -0.02])
        anchor, bob = np.array([-0.1, 0.2, 0.6]), np.array([-1.2, 0.0, -0.3])
        cable = Cable(WORLD, 0, float(np.linalg.norm(bob - anchor)), r_a=anchor, through=(around,))
        engine = engine_of([0.4], cable, [state(bob, v=(0.0, 0.3, 0.0))], step=step)
        engine.run(round(0.9 / step) if step < 8e-3 else 112)
        engine.run(max(0, round((0.896 - engine.time) / step)))
        ends.append((engine.time, engine.update_kinematics()[0, :3].copy(), engine.take_events()))
    assert [e.type for e in ends[0][2]] == [e.type for e in ends[2][2]]
    errors = [np.abs(end[1] - ends[2][1]).max() for end in ends[:2]]
    assert errors[0] / errors[1] > 10.0


def test_a_cable_slips_over_a_corner_and_is_slack():
    """Drawn along an edge past its end: the corner holds nothing, the way over the other edges is shorter."""
    half = np.full(3, 0.3)
    anchor, bob = np.array([-1.0, -0.2, 0.4]), np.array([0.8, 0.1, -0.5])
    length = length_of(np.vstack([anchor, ways_over(anchor, bob, box(half))[0], bob]))
    cable = Cable(WORLD, 0, length, r_a=anchor, through=(box_of(half),))
    engine = engine_of([0.3], cable, [state(bob, v=(0.0, 2.5, 0.0))], gravity=0.0)
    engine.run(1)
    assert engine.world.sheave_int[0, memory.LIES_ON]
    engine.run(1500)
    events = engine.take_events()
    slack = next(e for e in events if (e.type, e.cause) == ("slack", "wraps"))
    assert slack.sheave == 0
    assert any(e.type == "snap" and e.time > slack.time for e in events)
    assert abs(engine.accuracy.energy_error_j) < 1e-9


def test_a_prism_of_many_sides_is_a_cylinder():
    """A pendulum wraps around a peg of 12, 24, 48 sides: paths come to that of a cylinder as the square of their angle."""
    length, radius, begin = 1.2, 0.2, np.radians(50.0)
    anchor, bob = np.array([0.0, 0.0, 0.5]), length * np.array([np.sin(begin), 0.0, -np.cos(begin)])
    paths = []
    for n in (12, 24, 48, 0):
        angle = 2.0 * np.pi * (np.arange(n) + 0.25) / max(n, 1)
        # as far round as the circle
        far = radius * np.pi / n / np.sin(np.pi / n) if n else radius
        ring = far * np.stack([np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1)
        shape = Polyhedron.around(np.vstack([ring + Y, ring - Y])) if n else None
        peg = Sheave(WORLD, ORIGIN, Y, 0.0 if n else radius, polyhedron=shape)
        cable = Cable(WORLD, 0, length, r_a=anchor, through=(peg,))
        engine = engine_of([0.4], cable, [state(anchor + bob)])
        path = []
        for _ in range(8):
            engine.run(100)
            path.append(engine.update_kinematics()[0, :3].copy())
        assert abs(engine.accuracy.energy_error_j) < 1e-9
        paths.append(np.array(path))
    errors = [np.abs(path - paths[-1]).max() for path in paths[:-1]]
    assert errors[2] < 0.005
    assert errors[0] / errors[1] > 2.5 and errors[1] / errors[2] > 2.5


@pytest.mark.parametrize("corners", [0, 20])
def test_lengths_have_the_rates_and_accelerations_that_they_say(corners):
    """A slack cable around a body that turns freely: rates are differenced, of all of it and of what is given off."""
    looked = 0
    for seed in range(12):
        engine, _ = tumbling(seed, friction=0.1, corners=corners, slack=3.0, step=1e-4)
        if not engine.world.sheave_int[0, memory.LIES_ON]:
            continue
        rows, crossed = [], engine.world.polyhedron_int.copy()
        for _ in range(100):
            engine.run(1)
            rows.append(
                engine.world.constraints[:2, [memory.DISTANCE, memory.RATE, memory.FREE]].copy()
            )
            if (
                engine.world.polyhedron_int[0, : memory.CHANGE_RULE]
                != crossed[0, : memory.CHANGE_RULE]
            ).any():
                break
        length, rate, free = np.moveaxis(np.array(rows[:-1]), 2, 0)
        # central differences: h^2 / 6 of third derivatives of some 100 m/s^3
        lengthens = (length[2:, 0] - length[:-2, 0]) / 2e-4
        np.testing.assert_allclose(lengthens, rate[1:-1, 0], atol=2e-6)
        np.testing.assert_allclose((rate[2:] - rate[:-2]) / 2e-4, free[1:-1], atol=2e-5)
        looked += len(rows)
    assert looked > 300


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.25])
def test_atwood_over_a_rough_box(friction):
    """a = (m2 - r m1) g / (m2 + r m1), r = exp(mu pi) for two right angles: two edges are one capstan of their sum."""
    m1, m2, aside = 0.3, 0.9, 1e-6
    half, centre = np.array([0.2, 1.0, 1.0]), np.array([0.0, 0.0, -1.0])
    around = box_of(half, centre=centre, friction=friction)
    a, b = np.array([-0.2 - aside, 0.0, -0.8]), np.array([0.2 + aside, 0.0, -0.6])
    corners = np.array([[-0.2, 0.0, 0.0], [0.2, 0.0, 0.0]])
    cable = Cable(0, 1, length_of(np.vstack([a, corners, b])), through=(around,))
    engine = engine_of([m1, m2], cable, [state(a), state(b)])
    engine.run(200)
    r = np.exp(friction * np.pi)
    acceleration = (m2 - r * m1) * G / (m2 + r * m1)
    z = engine.update_kinematics()[:, 2]
    # strands that lean by a millionth of their length
    assert z[0] == pytest.approx(-0.8 + 0.02 * acceleration, abs=1e-5)
    assert z[1] == pytest.approx(-0.6 - 0.02 * acceleration, abs=1e-5)
    assert abs(engine.accuracy.energy_error_j) < 1e-9


def test_an_oblique_edge_rubs_as_a_thin_cylinder():
    """The angle of friction of one edge of a box, crossed obliquely, is that of a helix on a pulley of a micrometre."""
    a, b = np.array([-0.3, -0.5, -0.9]), np.array([0.9, 0.7, 0.05])
    edge = box_of(
        [1.0, 3.0, 1.0], centre=[1.0, 0.0, -1.0], friction=0.2
    )  # its upper edge at x = 0 along y
    pulley = Sheave(WORLD, np.zeros(3), Y, 1e-6, turn=1, friction=0.2)
    held = []
    for around in (edge, pulley):
        probe = engine_of([1.0, 1.0], Cable(0, 1, 9.0, through=(around,)), [state(a), state(b)])
        cable = Cable(0, 1, float(probe.distances[0]), through=(around,))
        engine = engine_of([1.0, 1.0], cable, [state(a), state(b)])
        held.append(float(engine.world.routes[1, memory.HOLDS_RATIO]))
    assert held[0] == pytest.approx(held[1], abs=1e-5) and held[0] > 0.05


def test_an_elastic_cable_that_slips_is_told():
    """As one that does not stretch: it was stretched, by a mass that nothing stops, and is slack."""
    half = np.full(3, 0.3)
    anchor, bob = np.array([-1.0, -0.2, 0.4]), np.array([0.8, 0.1, -0.5])
    length = length_of(np.vstack([anchor, ways_over(anchor, bob, box(half))[0], bob]))
    cable = Cable(WORLD, 0, 1.1 * length, r_a=anchor, through=(box_of(half),), stiffness=200.0)
    engine = engine_of([1e4], cable, [state(bob, v=(0.0, 2.5, 0.0))], gravity=0.0)
    engine.run(400)
    assert ("slack", "wraps") in [(e.type, e.cause) for e in engine.take_events()]


@pytest.mark.parametrize("corners", [0, 20])
def test_cables_that_rub_on_tumbling_polyhedra_keep_momentum(corners):
    """Friction acts between parts of the world: momenta stay, and its work is in the balance of energy."""
    rubbed = 0
    for seed in range(20):
        engine, inertia = tumbling(seed, friction=0.2, corners=corners)
        before = momenta(engine, MASSES, inertia)
        try:
            engine.run(1200)
        except SolverError as error:
            assert "has come to the surface" in str(error)
        after = momenta(engine, MASSES, inertia)
        np.testing.assert_allclose(after[0], before[0], atol=1e-11)
        np.testing.assert_allclose(after[1], before[1], atol=1e-8)
        assert abs(engine.accuracy.energy_error_j) < 1e-7
        rubbed += any(e.type in ("slip", "stick") for e in engine.take_events())
    assert rubbed > 3


@pytest.mark.parametrize("tilt", [0.0, 1e-16, -1e-13, 1e-10, -1e-8])
def test_a_cable_comes_down_flat_on_a_crate(tilt):
    """Two masses at one height lower it over both edges at once: it snaps, and each swings about its edge."""
    side, length, fall = 0.725, 2.05, 1.0
    cable = Cable(0, 1, length, through=(box_of(np.full(3, 0.3)),))
    x = np.array([[-1.0, 0.0, 0.3001], [1.0, 0.0, 0.3001 + tilt]])
    v = (0.0, 0.0, -fall)
    engine = engine_of([0.3, 0.3], cable, [state(x[0], v=v), state(x[1], v=v)])
    engine.run(400)
    assert [e.type for e in engine.take_events()] == ["snap"]
    deep = np.sqrt(side**2 - 0.7**2)
    until = (-fall + np.sqrt(fall**2 + 2.0 * G * (deep + 1e-4))) / G
    start = np.arcsin(0.7 / side)  # from the vertical through the edge
    rate = -(fall + G * until) * 0.7 / side**2
    angle = solve_ivp(
        lambda _, y: (y[1], -G / side * np.sin(y[0])), (until, 0.4), (start, rate), rtol=1e-12, atol=1e-13
    ).y[0, -1]  # fmt: skip
    there = np.array([0.3 + side * np.sin(angle), 0.0, 0.3 - side * np.cos(angle)])
    places = engine.update_kinematics()[:, :3]
    np.testing.assert_allclose(places[1], there, atol=1e-7)  # fourth order in the step
    np.testing.assert_allclose(places[0], there * [-1.0, 1.0, 1.0], atol=1e-7)
    assert engine.world.polyhedron_int[0, memory.N_BENDS] == 2


def test_an_end_level_with_a_face_of_its_own_body_lies_on_it_without_a_word():
    """A line fixed at the height of a lid, beside it, hangs over the other side of the box, which tumbles."""
    inertia = np.diag([0.02, 0.03, 0.04])
    hull = box_of([0.3, 0.3, 0.1], body=0)
    a, b = np.array([-0.5, 0.0, 0.1]), np.array([0.5, 0.05, 0.0])
    bends = np.array([[0.3, 0.04, 0.1]])
    states = [
        state((3.3, 1.7, 2.1), v=(0.3, 0.1, 0.0), w=(0.2, 0.1, 0.3)),
        state(np.array([3.3, 1.7, 2.1]) + b, v=(0.3, 0.1, -0.5)),
    ]
    slack = Cable(0, 1, 9.0, r_a=a, through=(hull,))
    probe = engine_of((1.0, 0.3), slack, states, inertia=inertia)
    length = float(probe.distances[0])
    # shorter than over another place of that edge
    assert length < length_of(np.vstack([a, bends, b]))
    cable = Cable(0, 1, length, r_a=a, through=(hull,))
    engine = engine_of((1.0, 0.3), cable, states, inertia=inertia)
    engine.run(200)
    assert [e.type for e in engine.take_events()] == ["snap"]
    assert engine.taut[0] and abs(engine.accuracy.energy_error_j) < 1e-9


def test_lines_that_are_fixed_level_with_a_lid_do_not_come_and_go():
    """Fixed beside a box, at the height of one face or in line with an edge, while the box tumbles.

    Close to its own end a line goes down slowly: where it is found to touch, it has not touched but for rounding.
    """
    inertia, flown = np.diag([0.03, 0.04, 0.05]), 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        a = np.array([0.3, 0.2, 0.1]) * random.choice([-1.0, 1.0], 3)
        beyond, inside, _ = random.permutation(3)
        a[beyond] *= random.uniform(1.3, 2.0)
        if random.random() < 0.5:
            a[inside] *= random.uniform(-0.9, 0.9)
        axes = Rotation.random(random_state=seed).as_matrix()
        if random.random() < 0.5:
            axes = np.eye(3)
        a, friction = axes @ a, 0.2 if random.random() < 0.3 else 0.0
        around = box_of([0.3, 0.2, 0.1], body=0, axes=axes, friction=friction)
        b = -a * random.uniform(0.8, 1.5) + 0.2 * random.normal(size=3)
        if not around.polyhedron.is_outside(b, 0.05):
            continue
        at = 3.0 * random.normal(size=3)
        states = [
            state(at, v=(0.3, 0.1, 0.0), w=random.normal(size=3)),
            state(at + b, v=0.5 * random.normal(size=3)),
        ]
        length = 9.0
        for _ in range(2):
            cable = Cable(0, 1, length, r_a=a, through=(around,))
            engine = engine_of((1.0, 0.4), cable, states, inertia=inertia, gravity=0.0)
            length = float(engine.distances[0])
        try:
            engine.run(1000)
        except SolverError as error:
            assert "has come to the surface" in str(error)
            continue
        assert len(engine.take_events()) < 12, seed
        assert abs(engine.accuracy.energy_error_j) < 1e-8
        flown += 1
    assert flown > 25


@pytest.mark.parametrize("own", [False, True])
def test_a_cable_that_starts_in_line_with_an_edge_runs(own):
    """Of a turned box, in the world or of the body that an end is fixed to: measures are rounding there."""
    for seed in range(24):
        random, axes = np.random.default_rng(seed), Rotation.random(random_state=seed).as_matrix()
        a, b = axes @ [-0.6, 0.2, 0.1], axes @ [0.7, 0.2, 0.1]
        around = box_of([0.3, 0.2, 0.1], body=0 if own else WORLD, axes=axes)
        v, w = 0.3 * random.normal(size=3), random.normal(size=3)
        if seed % 3 == 0:
            v = w = ORIGIN
        other = 0.3 * random.normal(size=3) if seed % 3 else ORIGIN
        if own:
            starts = [state(ORIGIN, v=v, w=w), state(b, v=v + np.cross(w, b) + other)]
            inertia = np.diag([0.03, 0.04, 0.05])
            cable = Cable(0, 1, 1.3, r_a=a, through=(around,))
            engine = engine_of([1.0, 0.4], cable, starts, gravity=0.0, inertia=inertia)
        else:
            cable = Cable(WORLD, 0, 1.3, r_a=a, through=(around,))
            engine = engine_of([0.4], cable, [state(b, v=other)])
        engine.run(40)
        assert len(engine.take_events()) < 12, seed
        assert abs(engine.accuracy.energy_error_j) < 1e-8
        pins = engine.world.pins[:, memory.PIN_POINT : memory.PIN_POINT + 3]
        assert np.abs(pins).max() < 1.0, seed  # bends stay on their edges


@pytest.mark.parametrize("seed", range(20))
def test_how_deep_a_line_goes_is_the_lowest_of_its_heights(seed):
    """Against all places of the line, 1 of 4000; lines that cross it, pass by it, and end before it."""
    random, shape = np.random.default_rng(seed), shape_of(seed)
    ints, floats = one_polyhedron(shape)
    world = memory.world_of(ints, floats)
    for _ in range(20):
        p = beside(random, shape)
        q = beside(random, shape, p if random.random() < 0.5 else None)
        world.polyhedra[0, memory.END_P : memory.END_P + 3] = p
        world.polyhedra[0, memory.END_Q : memory.END_Q + 3] = q
        look_at_line(ints, floats, 0)
        depth = world.polyhedra[0, memory.WAY_CHANGE]
        t = np.linspace(0.0, 1.0, 4001)[:, None]
        heights = ((p + t * (q - p)) @ shape.planes[:, :3].T - shape.planes[:, 3]).max(axis=1)
        assert -1e-14 <= heights.min() + depth <= np.linalg.norm(q - p) / 8000.0 + 1e-12


def test_a_cable_over_too_many_edges_is_told():
    angle = 2.0 * np.pi * (np.arange(120) + 0.5) / 120
    ring = 0.3 * np.stack([np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1)
    around = Sheave(
        WORLD, ORIGIN, Y, 0.0, polyhedron=Polyhedron.around(np.vstack([ring + Y, ring - Y]))
    )
    cable = Cable(WORLD, 0, 9.0, r_a=np.array([-0.301, 0.0, -0.01]), through=(around,))
    with pytest.raises(SolverError, match="lies over more than 48 edges of a box or hull"):
        engine_of([0.3], cable, [state((0.301, 0.0, -0.01))]).run(1)


def test_an_end_that_comes_to_the_box_is_told():
    around = box_of([0.3, 0.3, 0.3])
    cable = Cable(WORLD, 0, 2.0, r_a=np.array([0.0, 0.0, 1.5]), through=(around,))
    engine = engine_of([0.3], cable, [state((0.0, 0.0, 0.5))])  # slack, and it falls on the box
    with pytest.raises(SolverError, match="has come to the surface"):
        engine.run(1000)
    assert engine.motion[0, 2] == pytest.approx(0.3, abs=1e-3)


def test_a_line_that_passes_through_a_box_lies_on_its_nearer_side():
    around = box_of([0.3, 0.2, 0.5])
    anchor, bob = np.array([-1.0, 0.05, 0.0]), np.array([1.0, 0.05, 0.1])
    cable = Cable(WORLD, 0, 5.0, r_a=anchor, through=(around,))
    engine = engine_of([0.3], cable, [state(bob)])
    assert engine.distances[0] == pytest.approx(
        length_of(np.vstack([anchor, ways_over(anchor, bob, box([0.3, 0.2, 0.5]))[0], bob])), abs=1e-12,
    )  # fmt: skip
    number = engine.world.polyhedron_int[0]
    assert number[memory.N_BENDS] == 2
    between = engine.world.edge_int[number[memory.CROSSED + 1], memory.EDGE_FACET]
    np.testing.assert_allclose(engine.world.facets[between], [0.0, 1.0, 0.0, 0.2], atol=1e-15)


def test_boxes_are_checked():
    good = box_of([0.3, 0.3, 0.3])
    with pytest.raises(ModelError, match="not in one plane"):
        box_of([0.3, 0.0, 0.3])
    with pytest.raises(ModelError, match="is a peg and no ball"):
        Sheave(WORLD, ORIGIN, Y, 0.0, turn=1, polyhedron=box(np.ones(3)))
    peg = Sheave(WORLD, np.array([2.0, 0.0, 0.0]), Y, 0.1)
    masses = (Body("m", 1.0),)
    with pytest.raises(ModelError, match="a ball, box or hull and something else to lie on"):
        System(masses, (Cable(WORLD, 0, 9.0, r_a=np.array([1.0, 0, 0]), through=(good, peg)),))
    with pytest.raises(ModelError, match="on the surface of the box or hull of its own body"):
        System(masses, (Cable(WORLD, 0, 9.0, r_a=np.array([0.3, 0, 0]), through=(good,)),))
    ring = Ring(WORLD, np.array([1.0, 0.0, 0.0]))
    System(masses, (Cable(WORLD, 0, 9.0, r_a=np.array([0.4, 0, 0]), through=(good, ring, peg)),))
