"""Cables that run through rings, wind, stretch and break: closed forms, an independent solution, and what must not change."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from tree_worlds import random_scene
from trees import planted, whole_state
from worlds import begun, play, random_inertia, random_world, started, state

from rotor_core.errors import ContractError, ModelError
from rotor_dynamics import memory
from rotor_dynamics.batch import Batch
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring
from rotor_dynamics.model.system import System
from validation.cables.cases import CASES
from validation.cables.report import ours

G = 9.81
ORIGIN = np.zeros(3)


def points(*masses):
    return tuple(Body(f"m{i}", m) for i, m in enumerate(masses))


def engine_of(bodies, cables, states, **options):
    return started(System(bodies, tuple(cables)), np.array(states), **options)


def work_of(engine):
    """Of all forces but gravity since the state was set, J."""
    return float(engine.world.scalars[memory.WORK])


# --- what must not change -------------------------------------------------------------------------


def as_routes(system):
    """The same cables, but with winches that stand still: they are computed as routes."""
    return replace(system, cables=tuple(replace(c, winds=True) for c in system.cables))


@pytest.mark.parametrize("seed", range(30))
def test_a_line_computed_as_a_route_moves_as_a_line(seed):
    """Tensions, snaps and cuts of random worlds; the two differ by rounding, which snaps amplify."""
    world = random_world(seed)
    line, route = begun(world), begun(replace(world, system=as_routes(world.system)))
    for engine in (line, route):
        play(world, engine, 0.15)
    np.testing.assert_allclose(route.motion, line.motion, rtol=0, atol=1e-7)
    np.testing.assert_allclose(route.tensions, line.tensions, rtol=1e-6, atol=1e-6)
    theirs, mine = line.take_events(), route.take_events()
    assert [(e.type, e.cables) for e in mine] == [(e.type, e.cables) for e in theirs]
    np.testing.assert_allclose([e.time for e in mine], [e.time for e in theirs], atol=1e-8)
    assert abs(route.accuracy.energy_error_j - line.accuracy.energy_error_j) < 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_a_line_between_trees_computed_as_a_route_moves_as_a_line(seed):
    system, states, joints = random_scene(seed, stops=seed % 2 == 1)
    if not system.cables:
        pytest.skip("no cable in this scene")
    mixed = replace(
        system, cables=tuple(replace(c, winds=i % 2 == 0) for i, c in enumerate(system.cables))
    )
    ends, tensions = [], []
    for one in (system, as_routes(system), mixed):
        engine = planted(one, states, joints)
        engine.run(100)
        ends.append(whole_state(engine))
        tensions.append(engine.tensions.copy())
    for other in (1, 2):
        np.testing.assert_allclose(tensions[other], tensions[0], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ends[other], ends[0], rtol=0, atol=1e-7)


# --- rings ----------------------------------------------------------------------------------------


def test_atwood():
    """a = (m2 - m1) g / (m1 + m2), T = 2 m1 m2 g / (m1 + m2)."""
    m1, m2 = 0.3, 0.5
    cable = Cable(0, 1, 2.0, through=(Ring(WORLD, ORIGIN),))
    engine = engine_of(points(m1, m2), [cable], [state((0, 0, -1.2)), state((0, 0, -0.8))])
    engine.run(500)
    a = (m2 - m1) * G / (m1 + m2)
    z = engine.update_kinematics()[:, 2]
    assert z[0] == pytest.approx(-1.2 + 0.125 * a, abs=1e-12)
    assert z[1] == pytest.approx(-0.8 - 0.125 * a, abs=1e-12)
    assert engine.tensions[0] == pytest.approx(2 * m1 * m2 * G / (m1 + m2), rel=1e-12)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_block_and_tackle(parts):
    """A load on n parts of a cable: a (M + n^2 m) = g (n m - M), if strands are vertical."""
    load, weight = 1.5, 0.4
    top, block = (WORLD, ORIGIN), (0, ORIGIN)
    path = [top, block, top, block, top][
        -1 - parts :
    ]  # ends at the top, from where the weight hangs
    length = parts * 1.0 + 0.7
    cable = Cable(path[0][0], 1, length, through=tuple(Ring(*point) for point in path[1:]))
    engine = engine_of(points(load, weight), [cable], [state((0, 0, -1.0)), state((0, 0, -0.7))])
    engine.run(200)
    a = G * (parts * weight - load) / (load + parts**2 * weight)
    z = engine.update_kinematics()[:, 2]
    assert z[0] == pytest.approx(-1.0 + 0.02 * a, abs=1e-12)
    assert z[1] == pytest.approx(-0.7 - parts * 0.02 * a, abs=1e-12)
    assert engine.tensions[0] == pytest.approx((load * (G + a)) / parts, rel=1e-11)


def test_a_snap_through_a_ring_shares_the_impulse():
    """p = (closing speed) / (1/m1 + 1/m2); both masses stop where they are equal."""
    cable = Cable(0, 1, 2.0, through=(Ring(WORLD, ORIGIN),))
    start = [state((0, 0, -0.9), v=(0, 0, -1.0)), state((0, 0, -1.0), v=(0, 0, -0.5))]
    engine = engine_of(points(0.2, 0.3), [cable], start)
    engine.run(200)
    (snap,) = engine.take_events()
    closing = 1.5 + 2.0 * G * snap.time
    assert snap.type == "snap" and snap.closing_speeds[0] == pytest.approx(closing, rel=1e-12)
    assert snap.impulses[0] == pytest.approx(closing / (1 / 0.2 + 1 / 0.3), rel=1e-10)
    assert snap.time == pytest.approx(
        (-1.5 + np.sqrt(1.5**2 + 4.0 * G * 0.1)) / (2.0 * G), abs=1e-12
    )
    assert abs(engine.accuracy.energy_error_j) < 1e-12


def length_of(path, positions, rotations):
    """Of a path of points, also with complex positions and rotations."""
    places = [p if b == WORLD else positions[b] + rotations[b] @ p for b, p in path]
    return sum(np.sqrt(np.sum((q - p) ** 2)) for p, q in pairwise(places))


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def gradient(path, x, R):
    """Per displacement in W and rotation in the body, by complex steps (exact to rounding)."""
    n, h, D = len(x), 1e-30, []
    for b in range(n):
        for i in range(6):
            e = np.eye(6)[i]
            moved, turned = x.astype(complex), R.astype(complex)
            moved[b] += 1j * h * e[:3]
            turned[b] = R[b] @ (np.eye(3) + 1j * h * skew(e[3:]))
            D.append(length_of(path, moved, turned).imag / h)
    return np.array(D)


def independent(system, start, until):
    """Newton, Euler and one multiplier per taut cable in maximal coordinates, by DOP853."""
    n = len(system.bodies)
    J = [np.eye(3) if b.inertia_B is None else b.inertia_B for b in system.bodies]
    Minv = np.zeros((6 * n, 6 * n))
    for b, body in enumerate(system.bodies):
        Minv[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.eye(3) / body.mass
        Minv[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = np.linalg.inv(J[b])

    def slope(_, y):
        y = y.reshape(n, 18)
        x, R, v, w = y[:, :3], y[:, 3:12].reshape(n, 3, 3), y[:, 12:15], y[:, 15:]
        u = np.hstack([v, w]).ravel()
        free = np.zeros(6 * n)
        for b in range(n):
            free[6 * b + 2] = -G
            free[6 * b + 3 : 6 * b + 6] = -np.linalg.solve(J[b], np.cross(w[b], J[b] @ w[b]))
        D = np.array([gradient(c.path, x, R) for c in system.cables])
        bias = np.zeros(len(D))
        for s, weight in (
            (1e-3, 8.0),
            (-1e-3, -8.0),
            (2e-3, -1.0),
            (-2e-3, 1.0),
        ):  # along the motion
            turned = R @ Rotation.from_rotvec(s * w).as_matrix()
            ahead = np.array([gradient(c.path, x + s * v, turned) for c in system.cables])
            bias += weight * (ahead @ u) / 12e-3
        T = np.linalg.solve(D @ Minv @ D.T, D @ free + bias)
        a = (free - Minv @ D.T @ T).reshape(n, 6)
        spin = np.array([R[b] @ skew(w[b]) for b in range(n)])
        return np.hstack([v, spin.reshape(n, 9), a]).ravel()

    R = Rotation.from_quat(start[:, [4, 5, 6, 3]]).as_matrix().reshape(n, 9)
    y = np.hstack([start[:, :3], R, start[:, 7:]]).ravel()
    out = solve_ivp(slope, (0.0, until), y, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    return out.reshape(n, 18)


def at_length(system, states):
    """The system with cables at their length, and its state with velocities that keep them so."""
    x, R = states[:, :3], Rotation.from_quat(states[:, [4, 5, 6, 3]]).as_matrix()
    cables = tuple(replace(c, length=float(length_of(c.path, x, R))) for c in system.cables)
    D = np.array([gradient(c.path, x, R) for c in cables])
    out = states.copy()
    u = states[:, 7:].ravel()
    out[:, 7:] = (u - np.linalg.pinv(D) @ (D @ u)).reshape(-1, 6)
    return replace(system, cables=cables), out


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 6])  # of 0 one cable is slack at once
def test_rings_on_bodies_against_an_independent_solution(seed):
    """Two cables through rings on three rigid bodies, a point and the world; one body holds two rings."""
    rng = np.random.default_rng(seed)
    bodies = [Body(f"b{i}", m, random_inertia(rng, m)) for i, m in enumerate((0.8, 0.6, 0.5))]
    bodies.append(Body("point", 0.3))

    def spot(body):
        return Ring(body, np.zeros(3) if body == 3 else rng.uniform(-0.15, 0.15, 3))

    high, higher = Ring(WORLD, np.array([0.0, 0.3, 2.5])), Ring(WORLD, np.array([0.4, -0.2, 2.6]))
    begin, *one = [spot(0), high, spot(1), spot(1), higher]
    first = Cable(begin.body, 3, 1.0, begin.point, ORIGIN, tuple(one))
    second = Cable(2, WORLD, 1.0, spot(2)[1], np.array([0.1, 0.9, 2.4]), (spot(0), spot(2)))
    states = np.array(
        [
            state(
                (0.5 * i - 0.7, 0.3 * (i % 2), 0.3 * i),
                np.roll(Rotation.random(random_state=10 * seed + i).as_quat(), 1)
                if i < 3
                else (1, 0, 0, 0),
                rng.normal(size=3) * 0.4,
                rng.normal(size=3) * (i < 3),
            )
            for i in range(4)
        ]
    )
    system, states = at_length(System(tuple(bodies), (first, second)), states)
    states[3, 10:] = 0.0
    engine = started(system, states)
    until = 0.0
    while engine.taut.all() and until < 0.3:
        engine.run(10)
        until = engine.time
    if not engine.taut.all():
        until -= 0.01
        engine = started(system, states)
        engine.run(round(until / 1e-3))
    assert until > 0.02, "slack at once"
    expected = independent(system, states, until)
    motion = engine.update_kinematics()
    np.testing.assert_allclose(motion[:, :3], expected[:, :3], rtol=0, atol=5e-9)
    np.testing.assert_allclose(motion[:, 7:10], expected[:, 12:15], rtol=0, atol=5e-8)
    np.testing.assert_allclose(motion[:3, 10:13], expected[:3, 15:], rtol=0, atol=5e-7)
    assert abs(engine.accuracy.energy_error_j) < 1e-9


def test_rings_on_an_arm_keep_length_and_energy():
    """A cable along the links of an arm to a load, over the world: as a tendon, with all that it couples."""
    for seed in (3, 5, 11):
        system, states, joints = random_scene(seed, anchors=False)
        system = replace(
            system,
            cables=(),
            joints=tuple(replace(j, friction=0.0, damping=0.0) for j in system.joints),
        )
        links = sorted({j.child for j in system.joints})[:3]
        point = next(
            i for i, b in enumerate(system.bodies) if b.name == f"b{len(system.bodies) - 2}"
        )
        rings = tuple(Ring(b, np.array([0.05, 0.02, 0.1])) for b in links)
        cable = Cable(point, WORLD, 1.0, ORIGIN, np.array([0.5, 0.0, 3.0]), rings)
        motion = planted(system, states, joints).motion
        R = Rotation.from_quat(motion[:, [4, 5, 6, 3]]).as_matrix()
        length = float(length_of(cable.path, motion[:, :3], R))
        engine = planted(replace(system, cables=(replace(cable, length=length),)), states, joints)
        for _ in range(50):
            engine.run(10)
            motion = engine.update_kinematics()
            R = Rotation.from_quat(motion[:, [4, 5, 6, 3]]).as_matrix()
            assert length_of(cable.path, motion[:, :3], R) - length < 1e-10
        assert abs(engine.accuracy.energy_error_j) < 1e-8


@pytest.mark.parametrize("make", CASES, ids=lambda make: make().name)
def test_cases_of_the_results_page(make):
    """Those that MuJoCo is compared on, to what the page says."""
    miss, tension, energy = ours(make())
    assert miss < 1e-11 and tension < 1e-8 and energy < 1e-8


def test_worlds_of_a_batch_are_the_same_as_alone():
    """A ring and a spring in three worlds at once, to the bit; events are counted by their types."""
    bodies = points(0.3, 0.5, 0.2)
    cables = (
        Cable(0, 1, 2.0, through=(Ring(WORLD, ORIGIN),)),
        Cable(1, 2, 0.5, stiffness=40.0, damping=0.1),
    )
    start = np.array([state((0.1, 0, -1.1)), state((0, 0, -0.8)), state((0, 0.1, -1.4))])
    starts = np.array([start + np.eye(3, 13) * 0.01 * w for w in range(3)])
    starts[:, 0, 2] += 0.2  # slack at first
    found = Batch(System(bodies, cables), starts).rollout(np.zeros((40, 0, 4)), steps=5)
    for w in range(3):
        alone = started(System(bodies, cables), starts[w])
        for _ in range(40):
            alone.set_wrenches(np.zeros((0, 4)))
            alone.run(5)
        np.testing.assert_array_equal(
            found.motion[w, -1, :, :13], alone.update_kinematics()[:, :13]
        )
        seen = [e.type for e in alone.take_events()]
        assert {k: int(v[w]) for k, v in found.events.items() if v[w]} == {
            k: seen.count(k) for k in set(seen)
        }


# --- winches --------------------------------------------------------------------------------------


def hoisted(length=1.0, **options):
    cable = Cable(WORLD, 0, length, winds=True)
    return engine_of(points(0.5), [cable], [state((0, 0, -length))], **options)


def test_winding_lifts_with_the_tension_of_newton():
    """T = m (g + a); the work of the winch is what the load gains, to 1e-9."""
    engine = hoisted()
    engine.winches.act(0, -0.8)  # 0.8 m/s^2 upwards
    assert engine.tensions[0] == pytest.approx(0.5 * (G + 0.8), rel=1e-13)
    engine.run(500)
    assert engine.winches.length(0) == pytest.approx(0.9, abs=1e-15)
    assert engine.winches.rate(0) == pytest.approx(-0.4, abs=1e-15)
    assert engine.update_kinematics()[0, 2] == pytest.approx(-0.9, abs=1e-12)
    gained = 0.5 * G * 0.1 + 0.5 * 0.5 * 0.4**2
    assert work_of(engine) == pytest.approx(gained, rel=1e-9)
    assert abs(engine.accuracy.energy_error_j) < 1e-12


def test_paying_out_faster_than_falling_is_slack_and_braking_snaps():
    """Free fall under a cable that is paid out at 12 m/s^2; then the winch stops: the load falls into it."""
    engine = hoisted()
    engine.winches.act(0, 12.0)
    assert not engine.taut[0]
    engine.run(100)
    assert engine.update_kinematics()[0, 2] == pytest.approx(-1.0 - 0.005 * G, abs=1e-12)
    engine.winches.act(0, -30.0)
    engine.run(100)
    snap = next(e for e in engine.take_events() if e.type == "snap")
    s = brentq(lambda s: (0.06 + 1.2 * s - 15.0 * s * s) - 0.5 * G * (0.1 + s) ** 2, 1e-3, 0.2)
    assert snap.time == pytest.approx(0.1 + s, abs=1e-10)
    assert snap.closing_speeds[0] == pytest.approx(G * (0.1 + s) - (1.2 - 30.0 * s), rel=1e-9)
    assert engine.taut[0]
    assert abs(engine.accuracy.energy_error_j) < 1e-11


def test_a_rate_that_jumps_is_an_impact():
    """Reeling in at once at 0.3 m/s: the load does too, and the winch gives the energy."""
    engine = hoisted()
    engine.winches.act(0, 0.0, rate=-0.3)
    (snap,) = engine.take_events()
    assert snap.type == "snap" and snap.impulses[0] == pytest.approx(0.5 * 0.3, rel=1e-12)
    assert engine.update_kinematics()[0, 9] == pytest.approx(0.3, abs=1e-14)
    engine.winches.act(0, 0.0, rate=0.5)
    (slack,) = engine.take_events()
    assert (slack.type, slack.cause) == ("slack", "input_jump") and not engine.taut[0]
    assert abs(engine.accuracy.energy_error_j) < 1e-12


def test_a_pendulum_that_is_reeled_in_gains_what_the_winch_works():
    """Reeled in to the half while it swings widely; angular momentum changes by the moment of gravity alone."""
    cable = Cable(WORLD, 0, 1.0, winds=True)
    a = 1.0
    engine = engine_of(points(0.4), [cable], [state((np.sin(a), 0, -np.cos(a)))])
    engine.winches.act(0, -0.5)
    engine.run(1000)
    moments = engine.accuracy
    assert work_of(engine) > 0.0
    assert abs(moments.energy_error_j) < 1e-9
    p, v = engine.update_kinematics()[0, :3], engine.motion[0, 7:10]
    assert np.linalg.norm(p) == pytest.approx(0.75, abs=1e-12)

    def swing(t, y):  # theta'' = -(2 l' theta' + g sin(theta)) / l
        length, rate = 1.0 - 0.25 * t * t, -0.5 * t
        return [y[1], -(2.0 * rate * y[1] + G * np.sin(y[0])) / length]

    y = solve_ivp(swing, (0, 1), [a, 0.0], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    np.testing.assert_allclose(
        p[[0, 2]], 0.75 * np.array([np.sin(y[0]), -np.cos(y[0])]), atol=2e-10
    )
    assert np.hypot(v[0], v[2]) == pytest.approx(np.hypot(0.75 * y[1], 0.5), abs=2e-9)


def test_winches_refuse_what_they_cannot_do():
    engine = hoisted()
    with pytest.raises(ContractError, match="finite"):
        engine.winches.act(0, np.nan)
    plain = engine_of(points(0.5), [Cable(WORLD, 0, 1.0)], [state((0, 0, -1.0))])
    with pytest.raises(ContractError, match="cable1: has no winch"):
        plain.winches.act(0, 1.0)


# --- elastic cables -------------------------------------------------------------------------------


def falling(k, c=0.0, *, height=0.2, mass=0.5, breaking_load=np.inf):
    """A point that falls ``height`` before its cable of 1 m pulls."""
    cable = Cable(WORLD, 0, 1.0, stiffness=k, damping=c, breaking_load=breaking_load)
    return engine_of(points(mass), [cable], [state((0, 0, height - 1.0))])


@pytest.mark.parametrize("k", [50.0, 2e3, 1e5])
def test_the_peak_of_a_snap_is_that_of_one_dimensional_impact(k):
    """T = m g (1 + sqrt(1 + 2 k h / (m g))), when the load stands still."""
    engine, m, h = falling(k), 0.5, 0.2
    w = np.sqrt(k / m)
    v = np.sqrt(2.0 * G * h)
    stops = np.sqrt(2.0 * h / G) + (np.pi - np.arctan(v * w / G)) / w
    engine.run(int(stops / 1e-3))
    engine.run_until(float(stops))
    snap = engine.take_events()[0]
    assert snap.type == "snap" and snap.time == pytest.approx(np.sqrt(2.0 * h / G), abs=1e-12)
    peak = m * G * (1.0 + np.sqrt(1.0 + 2.0 * k * h / (m * G)))
    assert engine.tensions[0] == pytest.approx(peak, rel=1e-8)
    assert abs(engine.accuracy.energy_error_j) < 1e-8


def test_damping_jumps_in_and_lets_go_before_the_length():
    """A damped oscillator from first touch to the instant at which k x + c x' = 0; both to 1e-10 s."""
    k, c, m, h = 180.0, 1.5, 0.5, 0.2
    engine = falling(k, c)
    v, t0 = np.sqrt(2.0 * G * h), np.sqrt(2.0 * h / G)
    decay, w = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)

    def stretch(s):
        x0 = -m * G / k
        b = (v + decay * x0) / w
        e = np.exp(-decay * s)
        x = e * (x0 * np.cos(w * s) + b * np.sin(w * s))
        rate = -decay * x + e * w * (b * np.cos(w * s) - x0 * np.sin(w * s))
        return x - x0, rate

    free = brentq(
        lambda s: k * stretch(s)[0] + c * stretch(s)[1], 0.05, np.pi / w + 0.1, xtol=1e-14
    )
    engine.run(600)
    snap, slack = engine.take_events()[:2]
    assert (snap.type, slack.type, slack.cause) == ("snap", "slack", "tension_zero")
    assert snap.time == pytest.approx(t0, abs=1e-11)
    assert slack.time == pytest.approx(t0 + free, abs=1e-9)
    assert stretch(free)[0] > 0.0


def test_stiff_cables_converge_to_cables_that_do_not_stretch():
    """A swinging pendulum: the difference falls with 1 / k, to the limit of 1e6 N/m at steps of 1 ms."""
    start = np.array([np.sin(0.8), 0.0, -np.cos(0.8)])
    rigid = engine_of(points(0.5), [Cable(WORLD, 0, 1.0)], [state(start)])
    rigid.run(500)
    expected = rigid.update_kinematics()[0, :3].copy()
    misses = []
    for k in (1e4, 1e5, 1e6):
        stretched = start * (1.0 + 0.5 * G * np.cos(0.8) / k)  # no oscillation at the start
        cable = Cable(WORLD, 0, 1.0, stiffness=k, damping=2.0 * np.sqrt(0.5 * k) * 0.05)
        engine = engine_of(points(0.5), [cable], [state(stretched)])
        engine.run(500)
        assert engine.taut[0] and not engine.take_events()
        misses.append(float(np.linalg.norm(engine.update_kinematics()[0, :3] - expected)))
    assert misses[0] < 3e-3 and misses[2] < 3e-5
    assert 8.0 < misses[0] / misses[1] < 12.5 and 8.0 < misses[1] / misses[2] < 12.5


def test_elastic_and_stiff_cables_mix():
    """A load on an exact cable below a ring, which an elastic one holds: energy and lengths stay."""
    bodies = points(0.3, 0.4)
    cables = [Cable(WORLD, 0, 0.8, stiffness=60.0), Cable(0, 1, 0.6)]
    engine = engine_of(bodies, cables, [state((0.3, 0, -0.8)), state((0.3, 0.1, -1.2))])
    for _ in range(1500):
        engine.run(1)
        p = engine.update_kinematics()[:, :3]
        assert np.linalg.norm(p[1] - p[0]) < 0.6 + 1e-10
    stretch = max(np.linalg.norm(engine.motion[0, :3]) - 0.8, 0.0)
    stored = 0.5 * 60.0 * stretch**2
    found = engine.accuracy
    assert any(e.cables == (1,) for e in engine.take_events())
    assert abs(found.energy_error_j) < 1e-8
    first = -np.hypot(0.3, 0.8) + 0.8
    assert work_of(engine) == pytest.approx(0.5 * 60.0 * first**2 - stored, abs=1e-8)


def test_an_elastic_cable_breaks_at_its_load():
    """The load breaks it on the way down, when k x = 20 N; then it falls freely."""
    k, m, h, limit = 400.0, 0.5, 0.2, 20.0
    engine = falling(k, breaking_load=limit)
    w, v, x0 = np.sqrt(k / m), np.sqrt(2.0 * G * h), m * G / k

    def pull(s):
        return k * (x0 * (1.0 - np.cos(w * s)) + v / w * np.sin(w * s))

    s = brentq(lambda s: pull(s) - limit, 0.0, 0.5 * np.pi / w, xtol=1e-14)
    engine.run(400)
    snap, broken = engine.take_events()
    assert (snap.type, broken.type) == ("snap", "break")
    assert broken.time == pytest.approx(np.sqrt(2.0 * h / G) + s, abs=1e-10)
    assert broken.tensions_before[0] == pytest.approx(limit, rel=1e-10)
    assert not engine.alive[0] and engine.tensions[0] == 0.0
    assert engine.update_kinematics()[0, 15] == pytest.approx(-G)


def test_elastic_cables_on_trees_conserve_energy():
    for seed in (1, 4, 9):
        system, states, joints = random_scene(seed, anchors=False)
        if not system.cables:
            continue
        system = replace(
            system,
            joints=tuple(replace(j, friction=0.0, damping=0.0) for j in system.joints),
            cables=tuple(replace(c, stiffness=80.0, length=0.9 * c.length) for c in system.cables),
        )
        engine = planted(system, states, joints)
        engine.run(300)
        assert abs(engine.accuracy.energy_error_j) < 1e-7


def test_impossible_cables_are_refused():
    for changes, text in (
        ({"stiffness": -1.0}, "stiffness"),
        ({"damping": 1.0}, "Give it a stiffness"),
        ({"breaking_load": 5.0}, "Give it a stiffness"),
        ({"through": (Ring(7, ORIGIN),)}, "body index"),
        ({"through": (Ring(0, np.array([0.1, 0, 0])),)}, "point mass"),
    ):
        with pytest.raises(ModelError, match=text):
            System(points(1.0, 1.0), (Cable(0, 1, 1.0, **changes),))
    with pytest.raises(ModelError, match="is only"):
        engine_of(
            points(0.3, 0.5), [Cable(0, 1, 1.5, through=(Ring(WORLD, ORIGIN),))],
            [state((0, 0, -1.2)), state((0, 0, -0.8))],
        )  # fmt: skip
    with pytest.raises(ContractError, match="run through rings"):
        Engine(System(points(1.0, 1.0), (Cable(0, 1, 1.0, winds=True),)), integrator="splitting")
