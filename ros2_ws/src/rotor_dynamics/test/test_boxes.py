"""Cables around boxes: their shortest ways, corners over which they slip, conservation laws, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.transform import Rotation
from worlds import random_inertia, started, state

from rotor_core.errors import ModelError, SolverError
from rotor_dynamics import memory
from rotor_dynamics.constraints.box_ways import ways_over_box
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring, Sheave
from rotor_dynamics.model.system import System

G = 9.81
ORIGIN, Y = np.zeros(3), np.array([0.0, 1.0, 0.0])


def box_of(half, *, body=WORLD, centre=ORIGIN, axes=None):
    axes = np.eye(3) if axes is None else axes
    return Sheave(body, np.array(centre), Y, 0.0, half=np.array(half), axes=axes)


def engine_of(masses, cable, states, *, gravity=G, inertia=None, step=1e-3):
    bodies = tuple(
        Body(f"m{i}", m, inertia if i == 0 and inertia is not None else None)
        for i, m in enumerate(masses)
    )
    return started(System(bodies, (cable,), gravity=gravity), np.array(states), step=step)


def length_of(points):
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def outside(random, half, apart=0.05):
    while True:
        point = random.uniform(-2.0, 2.0, 3)
        if (np.abs(point) > half + apart).any():
            return point


# --- ways --------------------------------------------------------------------------------------------


def on_a_grid(p, q, half, n=41):
    """Length of the shortest way through points of a grid on the edges, between neighbours of one face or seen freely.

    Another way than the engine's: a graph, and Dijkstra's algorithm. It is too long by the square of the spacing.
    """
    points = [p, q]
    for axis in range(3):
        for a in (-1, 1):
            for b in (-1, 1):
                for s in np.linspace(-1.0, 1.0, n):
                    point = np.empty(3)
                    point[axis], point[(axis + 1) % 3], point[(axis + 2) % 3] = s, a, b
                    points.append(point * half)
    x = np.array(points)
    faces = np.abs(np.abs(x / half) - 1.0) < 1e-12
    on = np.stack([faces[:, a] & (np.sign(x[:, a]) == side) for a in range(3) for side in (-1, 1)])
    rows, columns = [], []
    for face in on:
        members = np.flatnonzero(face[2:]) + 2
        i, j = np.meshgrid(members, members, indexing="ij")
        rows.append(i[i < j]), columns.append(j[i < j])
    for end in (0, 1):
        sees = np.array([j for j in range(len(x)) if j != end and is_free(x[end], x[j], half)])
        rows.append(np.full(len(sees), end)), columns.append(sees)
    i, j = np.concatenate(rows).astype(int), np.concatenate(columns).astype(int)
    graph = coo_array((np.linalg.norm(x[i] - x[j], axis=1), (i, j)), shape=(len(x),) * 2).tocsr()
    return float(dijkstra(graph, directed=False, indices=0)[1])


def is_free(p, q, half):
    """True if a segment does not pass through the inside of the box (slabs)."""
    first, last = 0.0, 1.0
    for a in range(3):
        d = q[a] - p[a]
        if abs(d) < 1e-15:
            if abs(p[a]) >= half[a] - 1e-12:
                return True
            continue
        t = sorted(((-half[a] - p[a]) / d, (half[a] - p[a]) / d))
        first, last = max(first, t[0]), min(last, t[1])
    return last - first < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_the_way_over_a_box_is_the_shortest_one(seed):
    random = np.random.default_rng(seed)
    half = random.uniform(0.3, 1.0, 3)
    p, q = outside(random, half), outside(random, half)
    while is_free(p, q, half):
        p, q = outside(random, half), outside(random, half)
    ways = [length_of(np.vstack([p, way, q])) for way in ways_over_box(p, q, half)]
    about = on_a_grid(p, q, half)
    spacing = 2.0 * half.max() / 40
    assert ways[0] <= about + 1e-12
    assert about - ways[0] < 2.0 * spacing**2 / 0.05  # beside an edge that is 0.05 m off at least
    assert ways == sorted(ways)


def test_every_way_is_the_shortest_of_all_near_it():
    """Moving its bends along their edges, however, makes it longer; and no part of it is inside."""
    random = np.random.default_rng(7)
    found = 0
    for _ in range(60):
        half = random.uniform(0.3, 1.0, 3)
        p, q = outside(random, half), outside(random, half)
        for way in ways_over_box(p, q, half):
            points = np.vstack([p, way, q])
            assert all(is_free(a, b, half) for a, b in pairwise(points))
            free = np.abs(np.abs(way / half) - 1.0) > 1e-9  # the one coordinate along its edge
            assert (free.sum(axis=1) == 1).all()  # none stands at a corner

            def length(moved, way=way, free=free, p=p, q=q):
                bends = way.copy()
                bends[free] = moved
                return length_of(np.vstack([p, bends, q]))

            best = minimize(length, way[free], method="BFGS", options={"gtol": 1e-10})
            assert length(way[free]) <= best.fun + 1e-13
            found += 1
    assert found > 50


# --- motion ------------------------------------------------------------------------------------------


def test_the_edges_of_a_plate_are_two_edges_in_a_row():
    """A pendulum is laid over the two lower edges of a plate, and comes off: the engine's ways over single edges agree."""
    anchor, bob = np.array([-0.1, 0.0, 0.6]), np.array([-1.2, 0.0, -0.3])
    length = float(np.linalg.norm(bob - anchor))
    edges = tuple(Sheave(WORLD, np.array([0.0, 0.0, z]), Y, 0.0, reach=2.0) for z in (0.0, -0.04))
    plate = box_of([0.3, 2.0, 0.02], centre=[0.3, 0.0, -0.02])
    paths = []
    for through in (edges, (plate,)):
        cable = Cable(WORLD, 0, length, r_a=anchor, through=through)
        engine = engine_of([0.4], cable, [state(bob, v=(0.0, 0.2, 0.0))])
        path = []
        for _ in range(15):
            engine.run(100)
            path.append(engine.update_kinematics()[0, :3].copy())
        kinds = [(e.type, e.cause) for e in engine.take_events()]
        paths.append((np.array(path), kinds))
    np.testing.assert_allclose(paths[1][0], paths[0][0], atol=1e-13)
    assert paths[1][1] == paths[0][1] and ("touch", "wraps") in paths[0][1]


def momenta(engine, masses, inertia):
    engine.update_kinematics()
    x = engine.motion
    linear = sum(m * x[i, 7:10] for i, m in enumerate(masses))
    angular = sum(m * np.cross(x[i, :3], x[i, 7:10]) for i, m in enumerate(masses))
    turn = Rotation.from_quat(x[0, [4, 5, 6, 3]])
    return linear, angular + turn.apply(inertia @ x[0, 10:13])


MASSES = (1.0, 0.4, 0.6)


def tumbling(seed, *, friction=0.0):
    """A box on a free body, and two masses on a cable that comes around it; nothing else acts."""
    random = np.random.default_rng(seed)
    inertia, half = random_inertia(random, 1.0), random.uniform(0.2, 0.5, 3)
    axes, centre = Rotation.random(random_state=random).as_matrix(), 0.1 * random.normal(size=3)
    side, other = outside(random, half, 0.1), np.zeros(3)
    while (np.abs(other) <= half + 0.1).all():
        other = -side * random.uniform(0.8, 1.2) + 0.3 * random.normal(size=3)
    a, b = centre + axes @ side, centre + axes @ other
    box = Sheave(0, centre, Y, 0.0, friction=friction, half=half, axes=axes)
    probe = engine_of(
        MASSES, Cable(1, 2, 100.0, through=(box,)), [state(), state(a), state(b)], gravity=0.0, inertia=inertia,
    )  # fmt: skip
    length = float(probe.distances[0]) * random.uniform(1.0, 1.05)
    u = (a - b) / np.linalg.norm(a - b)
    states = [
        state(w=2.0 * random.normal(size=3)),
        state(a, v=0.8 * random.normal(size=3) + 0.6 * u),
        state(b, v=0.8 * random.normal(size=3) - 0.6 * u),
    ]
    cable = Cable(1, 2, length, through=(box,))
    return engine_of(MASSES, cable, states, gravity=0.0, inertia=inertia), inertia


def test_cables_around_tumbling_boxes_keep_energy_and_momentum():
    """Edges, corners over which they slip, snaps. Runs end early only where a mass has come to the box.

    In the last three a triangle closes beside other bends, late in a step that a snap ends, and with a kink in its measure.
    """
    touched = slipped = ended = 0
    for seed in (*range(57), 906, 1844, 285):
        engine, inertia = tumbling(seed)
        before = momenta(engine, MASSES, inertia)
        try:
            engine.run(2500)
        except SolverError as error:
            assert "has come to the surface" in str(error)
            ends = engine.world.boxes[0, memory.END_P : memory.END_P + 6].reshape(2, 3)
            gaps = (np.abs(ends) - engine.world.boxes[0, memory.HALF : memory.HALF + 3]).max(axis=1)
            assert gaps.min() < 0.02
            ended += 1
        after = momenta(engine, MASSES, inertia)
        np.testing.assert_allclose(after[0], before[0], atol=1e-11)
        np.testing.assert_allclose(after[1], before[1], atol=1e-8)
        assert abs(engine.accuracy.energy_error_j) < 1e-8
        kinds = [(e.type, e.cause) for e in engine.take_events()]
        touched += ("touch", "wraps") in kinds
        slipped += ("slack", "wraps") in kinds
    assert touched > 10 and slipped > 10 and ended < 20  # each of them is looked at


def test_the_order_of_the_integrator_survives_edges():
    """Oblique over one edge, then another: the error falls with the fourth power of the step."""
    ends = []
    for step in (8e-3, 4e-3, 5e-4):
        box = box_of([0.25, 0.4, 0.02], centre=[0.25, 0.05, -0.02])
        anchor, bob = np.array([-0.1, 0.2, 0.6]), np.array([-1.2, 0.0, -0.3])
        cable = Cable(WORLD, 0, float(np.linalg.norm(bob - anchor)), r_a=anchor, through=(box,))
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
    length = length_of(np.vstack([anchor, ways_over_box(anchor, bob, half)[0], bob]))
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


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.25])
def test_atwood_over_a_rough_box(friction):
    """a = (m2 - r m1) g / (m2 + r m1), r = exp(mu pi) for two right angles: two edges are one capstan of their sum."""
    m1, m2, aside = 0.3, 0.9, 1e-6
    half, centre = np.array([0.2, 1.0, 1.0]), np.array([0.0, 0.0, -1.0])
    box = Sheave(WORLD, centre, Y, 0.0, friction=friction, half=half)
    a, b = np.array([-0.2 - aside, 0.0, -0.8]), np.array([0.2 + aside, 0.0, -0.6])
    corners = np.array([[-0.2, 0.0, 0.0], [0.2, 0.0, 0.0]])
    cable = Cable(0, 1, length_of(np.vstack([a, corners, b])), through=(box,))
    engine = engine_of([m1, m2], cable, [state(a), state(b)])
    engine.run(200)
    r = np.exp(friction * np.pi)
    acceleration = (m2 - r * m1) * G / (m2 + r * m1)
    z = engine.update_kinematics()[:, 2]
    # strands that lean by a millionth of their length
    assert z[0] == pytest.approx(-0.8 + 0.02 * acceleration, abs=1e-5)
    assert z[1] == pytest.approx(-0.6 - 0.02 * acceleration, abs=1e-5)
    assert abs(engine.accuracy.energy_error_j) < 1e-9


def test_cables_that_rub_on_tumbling_boxes_keep_momentum():
    """Friction acts between parts of the world: momenta stay, and its work is in the balance of energy."""
    rubbed = 0
    for seed in range(20):
        engine, inertia = tumbling(seed, friction=0.2)
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


def test_an_end_that_comes_to_the_box_is_told():
    box = box_of([0.3, 0.3, 0.3])
    cable = Cable(WORLD, 0, 2.0, r_a=np.array([0.0, 0.0, 1.5]), through=(box,))
    engine = engine_of([0.3], cable, [state((0.0, 0.0, 0.5))])  # slack, and it falls on the box
    with pytest.raises(SolverError, match="has come to the surface"):
        engine.run(1000)
    assert engine.motion[0, 2] == pytest.approx(0.3, abs=1e-3)


def test_a_line_that_passes_through_a_box_lies_on_its_nearer_side():
    box = box_of([0.3, 0.2, 0.5])
    anchor, bob = np.array([-1.0, 0.05, 0.0]), np.array([1.0, 0.05, 0.1])
    cable = Cable(WORLD, 0, 5.0, r_a=anchor, through=(box,))
    engine = engine_of([0.3], cable, [state(bob)])
    assert engine.distances[0] == pytest.approx(
        length_of(np.vstack([anchor, ways_over_box(anchor, bob, np.array([0.3, 0.2, 0.5]))[0], bob])), abs=1e-12,
    )  # fmt: skip
    bends = engine.world.boxes[0, memory.BEND_AT : memory.BEND_AT + 2]
    assert engine.world.box_int[0, memory.N_BENDS] == 2
    assert engine.world.box_int[0, memory.FACES + 1] == 3  # +y
    np.testing.assert_allclose(bends, [0.0, 0.1], atol=0.1)


def test_boxes_are_checked():
    good = box_of([0.3, 0.3, 0.3])
    with pytest.raises(ModelError, match="a peg with edges > 0"):
        box_of([0.3, 0.0, 0.3])
    with pytest.raises(ModelError, match="a peg with edges > 0"):
        Sheave(WORLD, ORIGIN, Y, 0.0, turn=1, half=np.ones(3))
    peg = Sheave(WORLD, np.array([2.0, 0.0, 0.0]), Y, 0.1)
    masses = (Body("m", 1.0),)
    with pytest.raises(ModelError, match="a ball or box and something else to lie on"):
        System(masses, (Cable(WORLD, 0, 9.0, r_a=np.array([1.0, 0, 0]), through=(good, peg)),))
    with pytest.raises(ModelError, match="on the surface of the box of its own body"):
        System(masses, (Cable(WORLD, 0, 9.0, r_a=np.array([0.3, 0, 0]), through=(good,)),))
    ring = Ring(WORLD, np.array([1.0, 0.0, 0.0]))
    System(masses, (Cable(WORLD, 0, 9.0, r_a=np.array([0.4, 0, 0]), through=(good, ring, peg)),))
