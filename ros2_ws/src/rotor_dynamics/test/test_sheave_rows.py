"""Several pulleys, pegs and edges between two rings: closed forms, the single sheave, what is conserved."""

from dataclasses import replace

import numpy as np
import pytest
from worlds import random_inertia, started, state

from rotor_dynamics import memory
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Sheave
from rotor_dynamics.model.system import System

G = 9.81
ORIGIN = np.zeros(3)
Y = np.array([0.0, 1.0, 0.0])


def points(*masses):
    return tuple(Body(f"m{i}", m) for i, m in enumerate(masses))


def engine_of(bodies, cables, states, gravity=G, **options):
    return started(System(bodies, tuple(cables), gravity=gravity), np.array(states), **options)


@pytest.mark.parametrize("radii", [(0.1, 0.1), (0.05, 0.2)])
def test_atwood_over_two_pulleys(radii):
    """The weights know nothing of what is between them; the length is that of two tangents and arcs."""
    m1, m2 = 0.3, 0.5
    left = Sheave(WORLD, np.array([-0.5, 0, 0]), Y, radii[0], turn=1)
    right = Sheave(WORLD, np.array([0.5, 0, 0]), Y, radii[1], turn=1)
    tilt = np.arcsin((radii[1] - radii[0]) / 1.0)
    arcs = radii[0] * (0.5 * np.pi - tilt) + radii[1] * (0.5 * np.pi + tilt)
    length = 2.0 + np.cos(tilt) + arcs
    starts = [state((-0.5 - radii[0], 0, -1.0)), state((0.5 + radii[1], 0, -1.0))]
    cable = Cable(0, 1, length, through=(left, right))
    engine = engine_of(points(m1, m2), [cable], starts)
    assert engine.distances[0] == pytest.approx(length, abs=1e-14)
    engine.run(300)
    a = (m2 - m1) * G / (m1 + m2)
    z = engine.update_kinematics()[:, 2]
    np.testing.assert_allclose(z, [-1.0 + 0.045 * a, -1.0 - 0.045 * a], atol=1e-12)
    assert engine.tensions[0] == pytest.approx(2 * m1 * m2 * G / (m1 + m2), rel=1e-12)


def tumbling(seed, extra):
    """Bodies and a cable over an oblique pulley of one of them; ``extra``: a peg far away makes a row of it."""
    random = np.random.default_rng(seed)
    inertia = random_inertia(random, 1.0)
    bodies = (Body("drum", 1.0, inertia), Body("a", 0.4), Body("b", 0.6))
    centre, axis = 0.1 * random.normal(size=3), random.normal(size=3)
    axis /= np.linalg.norm(axis)
    x = np.cross(axis, [0.3, -0.5, 0.8])
    x /= np.linalg.norm(x)
    y = np.cross(axis, x)
    a = centre + 0.9 * x + 0.2 * axis - 0.4 * y
    b = centre - 0.7 * x - 0.1 * axis - 0.5 * y
    through = (Sheave(0, centre, axis, 0.15, turn=1),)
    if extra:
        through += (Sheave(WORLD, np.array([0, 0, 50.0]), Y, 0.1),)
    states = [
        state(w=random.normal(size=3)),
        state(a, v=0.3 * random.normal(size=3) + 0.6 * x),
        state(b, v=-0.5 * x),
    ]
    cable = Cable(1, 2, 100.0, through=through)
    probe = engine_of(bodies, [cable], states, gravity=0.0)
    return bodies, replace(cable, length=float(probe.distances[0])), states


@pytest.mark.parametrize("seed", range(8))
def test_a_row_of_one_moves_as_a_single_sheave(seed):
    """Newton's way on an oblique pulley of a tumbling body, and the closed form of one sheave, are two solutions."""
    ends = []
    for extra in (False, True):
        bodies, cable, states = tumbling(seed, extra)
        engine = engine_of(bodies, [cable], states, gravity=0.0)
        engine.run(400)
        ends.append((engine.update_kinematics(), engine.tensions[0], engine.distances[0]))
    np.testing.assert_allclose(ends[1][0], ends[0][0], atol=2e-11)
    assert ends[1][1] == pytest.approx(ends[0][1], rel=1e-9, abs=1e-9)


def over_one(s, p, q):
    """Contacts on one cylinder of the world between two points, and its arc, from the closed form of one (W.9)."""
    z = s.axis / np.linalg.norm(s.axis)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    A = np.column_stack([x, np.cross(z, x), z])
    a, b = A.T @ (p - s.centre), A.T @ (q - s.centre)
    d = np.hypot(*a[:2]), np.hypot(*b[:2])
    begin = np.arctan2(a[1], a[0]) + s.turn * np.arccos(s.radius / d[0])
    end = np.arctan2(b[1], b[0]) - s.turn * np.arccos(s.radius / d[1])
    arc = s.radius * ((s.turn * (end - begin)) % (2.0 * np.pi))
    free = np.sqrt(np.array(d) ** 2 - s.radius**2)
    climb = (b[2] - a[2]) / (free.sum() + arc)
    on = [
        s.centre + A @ [s.radius * np.cos(f), s.radius * np.sin(f), h]
        for f, h in ((begin, a[2] + climb * free[0]), (end, b[2] - climb * free[1]))
    ]
    return on, np.hypot(arc, climb * arc)


@pytest.mark.parametrize("seed", range(10))
def test_the_way_over_skew_pulleys(seed):
    """Three cylinders in different directions: Newton's way, and the closed form of one laid on each in turn."""
    rng = np.random.default_rng(seed)
    centres = np.array([[-0.8, 0.0, 0.0], [0.0, 0.1, 0.5], [0.8, -0.1, 0.1]])
    sheaves = [
        Sheave(WORLD, c + 0.05 * rng.normal(size=3), Y + 0.25 * rng.normal(size=3), r, turn=1)
        for c, r in zip(centres, rng.uniform(0.05, 0.15, 3), strict=True)
    ]
    p, q = np.array([-1.4, 0.1, -1.0]), np.array([1.5, -0.1, -0.8])
    engine = engine_of(
        points(1, 1), [Cable(0, 1, 50.0, through=tuple(sheaves))], [state(p), state(q)]
    )
    nodes, arcs = [p, *(s.centre for s in sheaves for _ in range(2)), q], [0.0] * 3
    for _ in range(200):
        for k, s in enumerate(sheaves):
            nodes[2 * k + 1 : 2 * k + 3], arcs[k] = over_one(s, nodes[2 * k], nodes[2 * k + 3])
    straight = sum(np.linalg.norm(nodes[i + 1] - nodes[i]) for i in range(0, 8, 2))
    assert engine.distances[0] == pytest.approx(straight + sum(arcs), abs=1e-13)
    places = engine.world.pins[1:7, memory.PIN_PLACE : memory.PIN_PLACE + 3]
    np.testing.assert_allclose(places, nodes[1:7], atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_a_tackle_with_sized_pulleys_keeps_energy_and_momentum(seed):
    """Pulleys on two tumbling bodies, a point between: moving rows, skew axes, no gravity."""
    rng = np.random.default_rng(seed)
    bodies = (
        Body("block", 1.5, random_inertia(rng, 1.0)), Body("load", 1.0, random_inertia(rng, 1.0)), Body("hand", 0.4),
    )  # fmt: skip
    tilt = 0.2 * rng.normal(size=(3, 3))
    through = (
        Sheave(1, np.array([0, 0, 0.1]), Y + tilt[0], 0.06, turn=-1),
        Sheave(0, np.array([0.1, 0, 0]), Y + tilt[1], 0.08, turn=1),
    )
    cable = Cable(0, 2, 50.0, r_a=np.array([-0.15, 0.02, -0.1]), through=through)
    starts = [
        state((0, 0, 1.0), w=0.3 * rng.normal(size=3)),
        state((0.05, 0, 0.0), v=(0, 0, -0.6), w=0.3 * rng.normal(size=3)),
        state((0.4, 0.1, 0.1), v=(0.3, 3.0, -0.5)),
    ]
    probe = engine_of(bodies, [cable], starts, gravity=0.0)
    if probe.world.constraints[0, memory.RATE] < 0.0:  # then backwards: it has to pull
        starts = [np.concatenate([x[:7], -x[7:]]) for x in starts]
    cable = replace(cable, length=float(probe.distances[0]))
    engine = engine_of(bodies, [cable], starts, gravity=0.0)
    engine.run(1)
    before = engine.update_kinematics().copy()
    taut = 0
    for _ in range(250):
        engine.run(1)
        taut += int(engine.taut[0])
    after = engine.update_kinematics()
    masses = np.array([b.mass for b in bodies])
    np.testing.assert_allclose(masses @ after[:, 7:10], masses @ before[:, 7:10], atol=1e-11)
    assert abs(engine.accuracy.energy_error_j) < 1e-9
    assert taut > 40


def test_a_beam_with_two_edges():
    """A pendulum that is laid over two edges, one after the other, and leaves them again: arcs around each."""
    places = np.array([[0.0, 0.0, -0.5], [-0.1, 0.0, -0.62]])
    edges = tuple(Sheave(WORLD, x, Y, 0.0) for x in places)
    cable = Cable(WORLD, 0, 1.0, through=edges)
    angle = np.radians(45.0)
    engine = engine_of(points(0.5), [cable], [state((np.sin(angle), 0, -np.cos(angle)))])
    left = 1.0 - 0.5 - np.hypot(0.1, 0.12)
    energy = -0.5 * G * np.cos(angle)
    seen = 0
    for _ in range(1500):
        engine.run(1)
        x = engine.update_kinematics()[0]
        assert 0.5 * 0.5 * x[7:10] @ x[7:10] + 0.5 * G * x[2] == pytest.approx(energy, abs=1e-9)
        lies = engine.world.sheave_int[:, memory.LIES_ON].tolist()
        centre, radius = {0: (ORIGIN, 1.0), 1: (places[0], 0.5), 2: (places[1], left)}[sum(lies)]
        assert np.linalg.norm(x[:3] - centre) == pytest.approx(radius, abs=1e-10)
        seen |= 1 << sum(lies)
    kinds = [e.type for e in engine.take_events()]
    assert kinds[:4] == ["touch", "touch", "leave", "leave"]
    assert seen == 7
    assert abs(engine.accuracy.energy_error_j) < 1e-8


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pegs_need_no_order(order):
    """The two edges of the beam, in either order: what the cable meets first comes first."""
    places = np.array([[0.0, 0.0, -0.5], [-0.1, 0.0, -0.62]])
    edges = tuple(Sheave(WORLD, places[i], Y, 0.0) for i in order)
    angle = np.radians(45.0)
    start = state((np.sin(angle), 0, -np.cos(angle)))
    engine = engine_of(points(0.5), [Cable(WORLD, 0, 1.0, through=edges)], [start])
    engine.run(700)
    both = engine_of(
        points(0.5),
        [
            Cable(
                WORLD,
                0,
                1.0,
                through=tuple(Sheave(WORLD, places[i], Y, 0.0) for i in (0, 1)),
            )
        ],
        [start],
    )
    both.run(700)
    np.testing.assert_allclose(engine.update_kinematics(), both.update_kinematics(), atol=1e-12)
    assert [e.type for e in engine.take_events()][:2] == ["touch", "touch"]


def test_a_cable_wraps_around_a_box_and_comes_off_again():
    """A pendulum swings around a square beam on its edge, of which all edges are pegs: onto two of them, and back."""
    far, middle = 0.085, np.array([0.0, 0.0, -0.5])
    corners = middle + far * np.array([[-1, 0, 0], [0, 0, -1], [0, 0, 1], [1, 0, 0]])
    edges = tuple(Sheave(WORLD, c, Y, 0.0) for c in corners)
    cable = Cable(WORLD, 0, 1.0, r_a=np.array([0.1, 0.0, 0.0]), through=edges)
    angle = np.radians(50.0)
    start = state((0.1 + np.sin(angle), 0, -np.cos(angle)))
    engine = engine_of(points(0.5), [cable], [start])
    energy = 0.5 * G * start[2]
    lain, most = set(), 0.0
    for _ in range(1600):
        engine.run(1)
        if not engine.taut[0]:
            break
        x = engine.update_kinematics()[0]
        lain |= set(np.flatnonzero(engine.world.sheave_int[:, memory.LIES_ON]).tolist())
        most = max(most, abs(0.25 * x[7:10] @ x[7:10] + 0.5 * G * x[2] - energy))
    kinds = [e.type for e in engine.take_events()]
    assert lain == {1, 3}  # the right one, then the one below
    assert kinds[:4] == ["touch", "touch", "leave", "leave"]
    assert most < 1e-9
