"""Pulleys with a size, pegs and edges: closed forms, an independent solution, conservation laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation
from worlds import random_inertia, started, state

from rotor_core.errors import ModelError, SolverError
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Sheave
from rotor_dynamics.model.system import System
from validation.cables.involute import on_peg

G = 9.81
ORIGIN = np.zeros(3)
Y = np.array([0.0, 1.0, 0.0])


def points(*masses):
    return tuple(Body(f"m{i}", m) for i, m in enumerate(masses))


def engine_of(bodies, cables, states, **options):
    gravity = options.pop("gravity", G)
    return started(System(bodies, tuple(cables), gravity=gravity), np.array(states), **options)


@pytest.mark.parametrize("radius", [0.0, 0.05, 0.3])
def test_atwood_over_a_pulley_with_a_size(radius):
    """a = (m2 - m1) g / (m1 + m2), T = 2 m1 m2 g / (m1 + m2); half a turn lies on the pulley."""
    m1, m2 = 0.3, 0.5
    # from -x over the top to +x: clockwise seen against y
    pulley = Sheave(WORLD, ORIGIN, Y, radius, turn=1)
    cable = Cable(0, 1, 2.0 + np.pi * radius, through=(pulley,))
    side = max(radius, 1e-6)
    engine = engine_of(points(m1, m2), [cable], [state((-side, 0, -1.2)), state((side, 0, -0.8))])
    assert engine.taut.all() or radius == 0.0
    engine.run(500)
    a = (m2 - m1) * G / (m1 + m2)
    z = engine.update_kinematics()[:, 2]
    tolerance = 1e-11 if radius else 1e-5  # beside an edge the strands lean
    assert z[0] == pytest.approx(-1.2 + 0.125 * a, abs=tolerance)
    assert z[1] == pytest.approx(-0.8 - 0.125 * a, abs=tolerance)
    assert engine.tensions[0] == pytest.approx(
        2 * m1 * m2 * G / (m1 + m2), rel=max(tolerance, 1e-11)
    )


def unrolled(p, q, radius, side):
    """Length of the shortest way from p to q round a cylinder about z: a search over the height of the arc's ends.

    Another way than the closed form: tangents from geometry, the helix by its slope, minimized numerically.
    """

    def angles(v, sign):
        return np.arctan2(v[1], v[0]) + sign * side * np.arccos(radius / np.hypot(*v[:2]))

    on_p, on_q = angles(p, 1.0), angles(q, -1.0)
    turn = (side * (on_q - on_p)) % (2.0 * np.pi)
    a = p[:2] - radius * np.array([np.cos(on_p), np.sin(on_p)])
    b = q[:2] - radius * np.array([np.cos(on_q), np.sin(on_q)])
    arc = radius * turn

    def length(z1):
        def rest(z2):
            return (
                np.hypot(np.linalg.norm(a), z1 - p[2])
                + np.hypot(arc, z2 - z1)
                + np.hypot(np.linalg.norm(b), q[2] - z2)
            )

        return minimize_scalar(rest, bounds=(-9, 9), method="bounded", options={"xatol": 1e-12}).fun

    return minimize_scalar(
        length, bounds=(-9, 9), method="bounded", options={"xatol": 1e-12}
    ).fun, turn


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_way_over_a_cylinder_is_the_shortest_one(seed):
    random = np.random.default_rng(seed)
    radius, side = random.uniform(0.05, 0.5), int(random.choice([-1, 1]))
    R, centre = Rotation.random(random_state=seed).as_matrix(), random.normal(size=3)
    p, q = (np.array([*(d * np.array([np.cos(t), np.sin(t)])), z])
            for d, t, z in zip(random.uniform(0.6, 2.0, 2), random.uniform(0, 2 * np.pi, 2), random.normal(size=2), strict=True))  # fmt: skip
    shortest, turn = unrolled(p, q, radius, side)
    if not 0.1 < turn < 6.0:
        return
    cable = Cable(0, 1, 100.0, through=(Sheave(WORLD, centre, R[:, 2], radius, turn=side),))
    engine = engine_of(points(1.0, 1.0), [cable], [state(centre + R @ p), state(centre + R @ q)])
    assert engine.distances[0] == pytest.approx(shortest, abs=1e-7)  # of the search


@pytest.mark.parametrize("radius", [0.0, 0.02, 0.1])
def test_a_pendulum_on_a_peg_is_the_involute_of_an_independent_solution(radius):
    length, drop = 1.0, 0.4
    peg = Sheave(WORLD, np.array([0.0, 0.0, -drop]), Y, radius)
    cable = Cable(WORLD, 0, length, through=(peg,))
    begin = np.radians(50.0)
    engine = engine_of(
        points(0.7), [cable], [state(length * np.array([np.sin(begin), 0, -np.cos(begin)]))]
    )
    times = np.arange(1, 16) * 0.1
    found = []
    for t in times:
        engine.run(round((t - engine.time) / 1e-3))
        found.append(engine.update_kinematics()[0, [0, 2]].copy())
    bobs, changes = on_peg(begin, length, drop, radius, times)
    exact = [bob.place for bob in bobs]
    events = [e for e in engine.take_events() if e.type in ("touch", "leave")]
    assert [e.type for e in events] == ["touch", "leave", "touch", "leave"][: len(events)]
    assert len(events) == len(changes) >= 2
    np.testing.assert_allclose([e.time for e in events], changes, atol=1e-9)
    np.testing.assert_allclose(found, exact, atol=1e-9)
    assert events[0].cause == "wraps"
    assert np.linalg.norm(np.array(events[0].place) - [0, 0, -drop]) == pytest.approx(
        radius, abs=1e-9
    )
    assert abs(engine.accuracy.energy_error_j) < 1e-11


def momenta(engine, masses, inertia):
    m = engine.update_kinematics()
    p = (masses[:, None] * m[:, 7:10]).sum(axis=0)
    L = np.cross(m[:, :3], masses[:, None] * m[:, 7:10]).sum(axis=0)
    w, x, y, z = m[0, 3:7]
    R = Rotation.from_quat([x, y, z, w]).as_matrix()
    return p, L + R @ inertia @ m[0, 10:13]


@pytest.mark.parametrize("seed", range(12))
def test_a_cable_round_a_free_body_keeps_energy_and_momentum(seed):
    """Two masses on a cable that lies on a cylinder of a free, tumbling body; nothing else acts."""
    random = np.random.default_rng(seed)
    inertia = random_inertia(random, 1.0) if seed % 2 else np.diag([0.02, 0.03, 0.025])
    masses = np.array([1.0, 0.4, 0.6])
    bodies = (Body("drum", 1.0, inertia), Body("a", 0.4), Body("b", 0.6))
    centre, axis = 0.1 * random.normal(size=3), random.normal(size=3)
    axis /= np.linalg.norm(axis)
    x = np.cross(axis, [0.3, -0.5, 0.8])
    x /= np.linalg.norm(x)
    y = np.cross(axis, x)
    radius = 0.0 if seed % 3 == 0 else 0.15
    a = centre + 0.9 * x + 0.2 * axis - 0.4 * y
    b = centre - 0.7 * x - 0.1 * axis - 0.5 * y
    sheave = Sheave(0, centre, axis, radius, turn=1)
    probe = engine_of(
        bodies, [Cable(1, 2, 100.0, through=(sheave,))], [state(), state(a), state(b)], gravity=0.0
    )
    cable = Cable(1, 2, float(probe.distances[0]), through=(sheave,))
    omega = random.normal(size=3)
    states = [
        state(w=omega),
        state(a, v=0.3 * random.normal(size=3) + 0.6 * x),
        state(b, v=-0.5 * x),
    ]
    engine = engine_of(bodies, [cable], states, gravity=0.0)
    engine.run(1)
    before = momenta(engine, masses, inertia)
    energy = engine.accuracy.energy_error_j
    engine.run(600)
    after = momenta(engine, masses, inertia)
    np.testing.assert_allclose(after[0], before[0], atol=1e-11)
    np.testing.assert_allclose(after[1], before[1], atol=1e-9)
    assert abs(engine.accuracy.energy_error_j - energy) < 1e-8


def test_the_order_of_the_integrator_survives_pegs():
    """Halving the step takes the error of a wrapping pendulum down by about 2^4, events inside steps and all."""
    length, drop, radius, begin = 1.0, 0.4, 0.1, np.radians(50.0)
    peg = Sheave(WORLD, np.array([0.0, 0.0, -drop]), Y, radius)
    errors = []
    (bob,), _ = on_peg(begin, length, drop, radius, [1.0])
    for step in (0.02, 0.01):
        engine = engine_of(
            points(0.7), [Cable(WORLD, 0, length, through=(peg,))],
            [state(length * np.array([np.sin(begin), 0, -np.cos(begin)]))], step=step, tolerance=np.inf,
        )  # fmt: skip
        engine.run(round(1.0 / step))
        errors.append(np.linalg.norm(engine.update_kinematics()[0, [0, 2]] - bob.place))
    assert 9.0 < errors[0] / errors[1] < 40.0


def test_a_snap_over_a_pulley_shares_the_impulse():
    """p = closing speed / (1/m1 + 1/m2) along the strands."""
    radius = 0.2
    pulley = Sheave(WORLD, ORIGIN, Y, radius, turn=1)
    cable = Cable(0, 1, 2.0 + np.pi * radius, through=(pulley,))
    engine = engine_of(
        points(0.5, 0.3), [cable],
        [state((-radius, 0, -0.9)), state((radius, 0, -1.0), v=(0.0, 0.0, -2.0))], gravity=0.0,
    )  # fmt: skip
    engine.run(200)
    (snap,) = [e for e in engine.take_events() if e.type == "snap"]
    assert snap.time == pytest.approx(0.05, abs=1e-12)
    assert snap.impulses[0] == pytest.approx(2.0 / (1 / 0.5 + 1 / 0.3), rel=1e-12)


def test_a_line_that_passes_through_a_peg_lies_on_its_nearer_side():
    peg = Sheave(WORLD, np.array([0.02, 0.0, -0.5]), Y, 0.1)
    cable = Cable(WORLD, 0, 2.0, through=(peg,))
    engine = engine_of(points(1.0), [cable], [state((0.0, 0.0, -1.0))])
    straight = engine_of(points(1.0), [Cable(WORLD, 0, 2.0, winds=True)], [state((0.0, 0.0, -1.0))])
    assert engine.distances[0] > straight.distances[0] + 1e-3
    assert engine.world.sheave_int[0, memory.LIES_ON] == 1
    assert (
        engine.world.pins[1, memory.PIN_PLACE] < 0.02
    )  # the pivot is left of the middle of the peg


def test_a_short_peg_is_passed_by():
    """A cable that swings past the end of a peg does not touch it."""
    events = []
    for reach in (0.5, 0.05):
        peg = Sheave(WORLD, np.array([0.0, 0.2, -0.4]), Y, 0.05, reach=reach)
        begin = np.array([0.8, 0.0, -0.6])
        engine = engine_of(points(1.0), [Cable(WORLD, 0, 1.0, through=(peg,))], [state(begin)])
        engine.run(600)
        events.append([e.type for e in engine.take_events()])
    assert events[0][:1] == ["touch"]
    assert events[1] == []


def test_an_edge_that_ends_is_passed_beyond_its_end():
    """The line swings by beyond the end, comes back, and meets the edge from the other side when that has grown."""
    for reach, met in ((0.15, False), (0.25, True)):
        edge = Sheave(WORLD, np.array([0.0, 0.2, -0.5]), Y, 0.0, reach=reach)
        begin = (np.sin(0.5), 0.0, -np.cos(0.5))
        engine = engine_of(points(1.0), [Cable(WORLD, 0, 1.0, through=(edge,))], [state(begin)])
        engine.run(3000)
        kinds = [e.type for e in engine.take_events()]
        assert ("touch" in kinds) == met
        assert kinds.count("touch") == kinds.count("leave") or met


# --- balls ----------------------------------------------------------------------------------------


def test_a_weight_that_circles_on_a_ball_is_an_independent_solution():
    """The ball stands below the anchor: polar angle and distance, with the moment about the vertical kept.

    ``sqrt(h^2 - r^2) + sqrt(d^2 - r^2) + r (theta - acos(r/h) - acos(r/d)) = l`` gives d' = -r d / sqrt(d^2 - r^2).
    """
    h, r, theta, psi_dot = 0.5, 0.3, 2.4, 4.0
    d, theta_dot = 0.7, 0.4

    def slope_of(d):
        return -r * d / np.sqrt(d * d - r * r)

    moment = (d * np.sin(theta)) ** 2 * psi_dot

    def flow(_, x):
        theta, theta_dot, d, _ = x
        free = np.sqrt(d * d - r * r)
        first = slope_of(d)
        second = -r * (first * free - d * d * first / free) / free**2
        inertia, change = first**2 + d * d, 2.0 * first * (second + d)
        out, out_slope = d * np.sin(theta), first * np.sin(theta) + d * np.cos(theta)
        pull = -(moment**2) * out_slope / out**3 + G * (first * np.cos(theta) - d * np.sin(theta))
        faster = -(0.5 * change * theta_dot**2 + pull) / inertia
        return [theta_dot, faster, first * theta_dot, moment / out**2]

    start = [theta, theta_dot, d, 0.0]
    exact = solve_ivp(flow, (0.0, 1.2), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]

    place = d * np.array([np.sin(theta), 0.0, np.cos(theta)])
    speed = theta_dot * np.array([np.cos(theta), 0.0, -np.sin(theta)]) * d
    speed += slope_of(d) * theta_dot * place / d + np.array([0.0, d * np.sin(theta) * psi_dot, 0.0])
    ball = Sheave(WORLD, ORIGIN, Y, r, ball=True)
    length = np.sqrt(h * h - r * r) + np.sqrt(d * d - r * r)
    length += r * (theta - np.arccos(r / h) - np.arccos(r / d))
    cable = Cable(WORLD, 0, length, r_a=np.array([0.0, 0.0, h]), through=(ball,))
    engine = engine_of(points(0.7), [cable], [state(place, v=speed)])
    assert engine.taut[0] and engine.distances[0] == pytest.approx(length, abs=1e-12)
    engine.run(1200)
    assert not engine.take_events()  # it lies on the ball all the time
    theta, _, d, psi = exact
    want = d * np.array([np.sin(theta) * np.cos(psi), np.sin(theta) * np.sin(psi), np.cos(theta)])
    np.testing.assert_allclose(engine.update_kinematics()[0, :3], want, atol=1e-9)
    assert abs(engine.accuracy.energy_error_j) < 1e-10


@pytest.mark.parametrize(("friction", "g"), [(0.0, 9.81), (0.2, 9.81), (0.2, 3.0)])
def test_in_its_plane_a_rough_ball_is_a_rough_cylinder(friction, g):
    """Two weights hang over it, and swing."""
    ends = []
    for ball in (False, True):
        around = Sheave(WORLD, ORIGIN, Y, 0.3, friction=friction, ball=ball)
        cable = Cable(0, 1, 2.0, through=(around,))
        left, right = (-0.6, 0.0, -0.55), (0.6, 0.0, -0.5)
        starts = [state(left, v=(0.0, 0.0, -0.5)), state(right, v=(0.0, 0.0, 0.5))]
        engine = engine_of(points(0.5, 0.55), [cable], starts, gravity=g)
        engine.run(500)
        events = [(e.type, e.cause) for e in engine.take_events()]
        ends.append((engine.update_kinematics().copy(), events))
    np.testing.assert_allclose(ends[1][0], ends[0][0], atol=1e-11)
    assert ends[1][1] == ends[0][1]


@pytest.mark.parametrize("ball", [True, False])
def test_what_a_sheave_gives_off_has_the_acceleration_that_it_says(ball):
    """A slack cable around a body that turns freely: rates are differenced; what pulls is zero (W.13), (W.20)."""
    around = Sheave(0, ORIGIN, Y, 0.3, friction=0.2, ball=ball)
    starts = [
        state(w=(0.3, -0.5, 0.4)),
        state((-0.5, 0.1, -0.1), v=(0.3, 0.5, 0.2)),
        state((0.45, 0.2, -0.1), v=(-0.2, 1.2, 0.3)),
    ]
    cable = Cable(1, 2, 9.0, through=(around,))
    engine = engine_of(points(1.0, 0.7, 0.5), [cable], starts, gravity=0.0, step=1e-4)
    assert engine.world.sheave_int[0, memory.LIES_ON]
    rows = []
    for _ in range(200):
        engine.run(1)
        rows.append(engine.world.constraints[:2, [memory.RATE, memory.FREE]].copy())
    rates, free = np.moveaxis(np.array(rows), 2, 0)
    # central differences: h^2 / 6 of a third derivative of some 100 m/s^4
    np.testing.assert_allclose((rates[2:] - rates[:-2]) / 2e-4, free[1:-1], atol=1e-6)


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(8))
def test_a_cable_round_a_tumbling_ball_keeps_energy_and_momentum(seed, friction):
    """A ball off the middle of a free body, both ends moving across the plane of the cable; nothing else acts."""
    random = np.random.default_rng(seed)
    inertia = random_inertia(random, 1.0)
    masses = np.array([1.0, 0.4, 0.6])
    bodies = (Body("carrier", 1.0, inertia), Body("a", 0.4), Body("b", 0.6))
    centre = 0.1 * random.normal(size=3)
    a, b = centre + [0.7, 0.1, -0.3], centre + [-0.6, -0.1, -0.35]
    ball = Sheave(0, centre, Y, 0.4, friction=friction, ball=True)
    probe = engine_of(
        bodies, [Cable(1, 2, 100.0, through=(ball,))], [state(), state(a), state(b)], gravity=0.0
    )
    cable = Cable(1, 2, float(probe.distances[0]), through=(ball,))
    states = [
        state(w=random.normal(size=3)),
        state(a, v=0.4 * random.normal(size=3) + [0.6, 0.0, 0.0]),
        state(b, v=0.4 * random.normal(size=3) - [0.5, 0.0, 0.0]),
    ]
    engine = engine_of(bodies, [cable], states, gravity=0.0)
    engine.run(1)
    before, energy = momenta(engine, masses, inertia), engine.accuracy.energy_error_j
    lay = 0
    for _ in range(400):
        engine.run(1)
        lies = engine.taut[0] and engine.world.sheave_int[0, memory.LIES_ON]
        lay += lies
        if friction and lies and engine.world.constraint_int[1, memory.SLIDES] == 0:
            assert abs(engine.world.constraints[1, memory.RATE_0]) < 1e-9  # it sticks
    after = momenta(engine, masses, inertia)
    np.testing.assert_allclose(after[0], before[0], atol=1e-11)
    np.testing.assert_allclose(after[1], before[1], atol=1e-9)
    assert abs(engine.accuracy.energy_error_j - energy) < 1e-8
    assert lay > 30


@pytest.mark.parametrize(
    ("radius", "length", "slack", "share", "angle", "speed", "swing", "tilt"),
    [
        (0.0, 1.3976, 8.29e-6, 0.5173, 1.8156e-5, 0.01267, 0.04392, 0.9671),
        (0.1, 1.3139, 3.67e-5, 0.3330, 3.8165e-5, 0.05258, 0.07160, 0.7280),
    ],
)
def test_a_cable_that_snaps_as_it_comes_to_a_peg_snaps_at_its_length(
    radius, length, slack, share, angle, speed, swing, tilt
):
    """Both in one step, the touch after the snap; estimates have them the other way round. Against short steps."""
    ends, snaps = [], []
    turned = Rotation.from_rotvec(tilt * Y).as_matrix()
    down, out = (
        np.array([np.sin(angle), 0.0, np.cos(angle)]),
        np.array([np.cos(angle), 0, -np.sin(angle)]),
    )
    centre = turned @ (share * length * out - radius * down)
    cable = Cable(WORLD, 0, length + slack, through=(Sheave(WORLD, centre, Y, radius, reach=2.0),))
    start = state(turned @ [length, 0, 0], v=turned @ [speed, 0, -swing])
    for step, n in ((1e-3, 3), (1e-5, 300)):
        engine = engine_of(points(0.5), [cable], [start], step=step)
        engine.run(n)
        assert abs(engine.accuracy.energy_error_j) < 1e-12
        snaps.append(next(e.time for e in engine.take_events() if e.type == "snap"))
        ends.append(engine.update_kinematics()[0].copy())
    assert snaps[0] == pytest.approx(snaps[1], abs=1e-12)
    np.testing.assert_allclose(ends[0][:13], ends[1][:13], atol=1e-12)


def test_a_cable_that_would_slip_over_a_ball_is_told():
    """In one plane, until its ends stand on opposite sides: which way it goes on nothing says."""
    ball = Sheave(WORLD, np.array([0.0, 0.0, -0.5]), Y, 0.1, ball=True)
    cable = Cable(WORLD, 0, 1.2, through=(ball,))
    begin = np.radians(50.0)
    engine = engine_of(
        points(0.7), [cable], [state(1.2 * np.array([np.sin(begin), 0, -np.cos(begin)]))]
    )
    with pytest.raises(SolverError, match="opposite the other end on a ball"):
        engine.run(2000)


def test_sheaves_are_checked():
    with pytest.raises(ModelError, match="an axis with a length"):
        Sheave(WORLD, ORIGIN, ORIGIN, 0.1)
    with pytest.raises(ModelError, match="turn must be"):
        Sheave(WORLD, ORIGIN, Y, 0.1, turn=2)
    for wrong in ({"turn": 1}, {"radius": 0.0}):
        with pytest.raises(ModelError, match="a peg with a radius > 0"):
            Sheave(WORLD, ORIGIN, Y, **{"radius": 0.1, "ball": True, **wrong})
    assert Engine is not None


@pytest.mark.parametrize(
    "sheave",
    [Sheave(WORLD, ORIGIN, Y, 0.1, turn=1), Sheave(WORLD, ORIGIN, Y, 0.1, reach=0.3), Sheave(WORLD, ORIGIN, Y, 0.1, ball=True)],
)  # fmt: skip
def test_a_slack_cable_whose_end_comes_inside_is_told_too(sheave):
    """Its way is lost there, whether it pulls or not: it had run on with a length that meant nothing."""
    cable = Cable(0, WORLD, 5.0, r_b=np.array([0.6, 0.0, -1.0]), through=(sheave,))
    inwards = state((-0.5, 0.0, 0.02), v=(1.0, 0.0, 0.0))
    engine = engine_of(points(1.0), [cable], [inwards], gravity=0.0)
    assert not engine.taut[0]
    with pytest.raises(SolverError, match="has come to the surface"):
        engine.run(600)
    assert engine.time == pytest.approx(0.4, abs=5e-3)  # 0.4 m to the surface at 1 m/s
