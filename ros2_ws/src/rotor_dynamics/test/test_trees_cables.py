"""Cables on links: lengths, tensions, snaps and complementarity against dense equations, on chosen and random worlds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls
from tree_worlds import distances, drape, random_scene
from trees import (
    ARMS,
    Maximal,
    X,
    Y,
    Z,
    at_rest,
    centres,
    energy,
    joint_state,
    masses_of,
    planted,
    random_start,
    random_tree,
    serial_arm,
    system_of,
    vehicle,
)
from worlds import state

from rotor_core.errors import ModelError, SolverError
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Cable, System
from validation.oracles import kkt
from validation.oracles.kremer import slope

LENGTH = 1e-10
"""Promised accuracy of the length of cables, m."""

TIP = 0.44 * X


def lifting(ends=((2, TIP, None, None),), **changes):
    """V2 with cables from its links; None ends on a payload of 0.4 kg, 1 m below the tip, else in the world.

    Returns system, states, joints and the thrust that carries everything.
    """
    system = vehicle("V2", damping=0.3, **changes)
    rows, joints = at_rest(4), np.array([[0.5, 0.0], [-0.4, 0.0]])
    rows[0, :3] = 2.0 * Z
    rows[3, :3] = planted(system, rows[:3], joints).motion[2, :3] + 0.4 * X - Z
    system = replace(system, bodies=(*system.bodies, Body("payload", 0.4, 0.004 * np.eye(3))))
    cables = []
    for a, r_a, b, r_b in ends:
        b, r_b = (3, 0.05 * Z) if b is None else (b, r_b)
        cables.append(drape(system, rows, joints, Cable(a, b, 1.0, r_a, r_b)))
    system = replace(system, cables=tuple(cables))
    weight = 9.81 * sum(b.mass for b in system.bodies)
    return system, rows, joints, np.array([[weight, 0.0, 0.0, 0.0]])


def check_lengths(engine):
    """Run 2 s: no cable is ever too long, taut ones are at their length."""
    system, taut = engine.system, 0
    lengths = np.array([c.length for c in system.cables])
    for _ in range(1000):
        engine.run(2)
        gaps = distances(system, engine.update_kinematics()) - lengths
        assert np.all(gaps < LENGTH)
        assert np.all(np.abs(gaps[engine.taut]) < LENGTH)
        assert np.all(engine.tensions >= 0.0)
        taut += engine.taut.any()
    assert taut > 300


def judge(engine, efforts=None, wrenches=None, tolerance=1e-9):
    """Tensions and accelerations of the present taut set by the dense equations."""
    taut = np.flatnonzero(engine.taut)
    dense = Maximal(
        engine.system, engine.update_kinematics(), joint_state(engine), efforts, wrenches
    )
    expected, accelerations, tensions = dense.solve(taut)
    scale = 1.0 + np.max(np.abs(expected))
    assert np.max(np.abs(engine.tensions[taut] - tensions), initial=0.0) < tolerance * scale
    assert np.max(np.abs(engine.joints.accelerations - accelerations)) < tolerance * scale
    has = [b.inertia_B is not None for b in engine.system.bodies]
    assert np.max(np.abs(engine.motion[:, 13:16] - expected[:, :3])) < tolerance * scale
    assert np.max(np.abs(engine.motion[has, 16:] - expected[has, 3:])) < tolerance * scale


# --- chosen worlds --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["payload", "ground", "two on a link", "two links", "within"])
def test_taut_cables_keep_their_length_for_two_seconds_with_the_tension_of_dense_equations(case):
    ends = {
        "payload": ((2, TIP, None, None),),
        "ground": ((2, TIP, WORLD, np.array([1.5, 0.3, 0.2])),),
        "two on a link": ((2, TIP, None, None), (2, 0.2 * X, WORLD, np.array([-1.0, 0.5, 0.3]))),
        "two links": ((1, 0.3 * X, None, None), (2, TIP, None, None)),
        "within": ((0, 0.1 * X, 2, TIP),),
    }[case]
    system, rows, joints, wrench = lifting(ends)
    engine = planted(system, rows, joints, wrenches=wrench)
    judge(engine, wrenches=wrench)
    check_lengths(engine)
    # slopes belong to the state before the projection of the step, which shrinks with step^5
    judge(engine, wrenches=wrench, tolerance=1e-7)


def test_the_tension_is_that_of_quaternion_lagrange_with_a_multiplier():
    """M_body, bias and gradient of the distance from the oracle alone; payload as a point."""
    model = serial_arm(*ARMS["V2"], normalised=True)
    system = system_of(model)
    states, joints = random_start(np.random.default_rng(3), system)
    away = np.array([0.5, -0.4, 0.2])
    there = planted(system, states, joints).motion[2, :3] + away
    rows = np.vstack([states, state(there, v=20.0 * away)])
    system = replace(system, bodies=(*system.bodies, Body("payload", 0.4)))
    system = replace(system, cables=(drape(system, rows, joints, Cable(2, 3, 1.0, TIP)),))
    engine = planted(system, rows, joints)
    assert engine.taut[0]  # it snapped: velocities are those behind the impact
    motion, angles = engine.motion, joint_state(engine)
    R = kkt.rotation(motion[0, 3:7])
    x = np.concatenate([motion[0, :7], angles[:, 0], motion[3, :3]])
    u = np.concatenate([R.T @ motion[0, 7:10], motion[0, 10:13], angles[:, 1], motion[3, 7:10]])

    def distance(x):
        tip = model.bodies(x[7:9])[2]
        apart = x[9:] - x[:3] - model.rotation(x[3:7]) @ (tip.p_BC + tip.R_BL @ (TIP - 0.22 * X))
        return np.sqrt(apart @ apart)

    def spread(x):
        T = np.eye(12, 11)
        T[:9, :8], T[:9, 8:], T[9:, :8], T[9:, 8:] = model.T(x[3:7]), 0.0, 0.0, np.eye(3)
        return T

    T = spread(x)
    D = np.array([slope(distance, x, column) for column in T.T])
    h, x_dot = 1e-4, T @ u
    rates = [
        slope(distance, x + s * h * x_dot, spread(x + s * h * x_dot) @ u) for s in (-2, -1, 1, 2)
    ]
    bias = np.array([1, -8, 8, -1]) @ rates / (12 * h)
    M = np.zeros((11, 11))
    M[:8, :8], M[8:, 8:] = model.body_mass(x[:9]), 0.4 * np.eye(3)
    force = np.concatenate([-model.body_bias(x[:9], u[:8]), [0.0, 0.0, -0.4 * 9.81]])
    free = D @ np.linalg.solve(M, force) + bias
    tension = free / (D @ np.linalg.solve(M, D))
    assert tension > 0.1
    assert D @ u == pytest.approx(0.0, abs=1e-12)
    assert engine.tensions[0] == pytest.approx(tension, rel=1e-10)  # rounding over h


def test_a_load_hangs_from_an_arm_on_the_ground_with_its_weight():
    """Statics: the motors hold the moments of links and load, and nothing moves."""
    arm = system_of(serial_arm(*ARMS["V2"]))
    links = arm.bodies[1:]
    joints = (Joint(WORLD, 0, Y, Z), replace(arm.joints[1], parent=0, child=1))
    system = System((*links, Body("load", 2.0)), joints=joints)
    angles, rows = np.array([[0.3, 0.0], [0.4, 0.0]]), at_rest(3)
    tip = (
        Z + 0.44 * (np.cos(0.3) * X - np.sin(0.3) * Z) + 0.44 * (np.cos(0.7) * X - np.sin(0.7) * Z)
    )
    rows[2, :3] = tip - 0.8 * Z
    system = replace(system, cables=(Cable(2, 1, 0.8, r_b=TIP),))
    second = -9.81 * (0.78 * 0.22 + 2.0 * 0.44) * np.cos(0.7)
    first = second - 9.81 * ((0.78 * 0.22 + (0.78 + 2.0) * 0.44) * np.cos(0.3))
    engine = planted(system, rows, angles, efforts=np.array([first, second]))
    assert engine.tensions[0] == pytest.approx(2.0 * 9.81, rel=1e-12)
    engine.run(100)
    np.testing.assert_allclose(joint_state(engine), angles, atol=1e-11)


def test_a_winch_of_a_driven_slider_lifts_a_load_with_the_force_of_its_acceleration():
    body = Body("carriage", 1.0, 0.01 * np.eye(3))
    rail = Joint(WORLD, 0, Z, kind="prismatic", driven=True)
    system = System((body, Body("load", 0.5)), (Cable(0, 1, 1.0),), joints=(rail,))
    rows = at_rest(2)
    rows[1, 2] = -1.0
    engine = planted(system, rows, np.zeros((1, 2)))
    engine.joints.move(0, 0.3, 1.0)
    for t in (0.1, 0.3, 0.45):
        engine.run_until(t)
        up = 0.3 * (60 * t - 180 * t**2 + 120 * t**3)
        assert engine.tensions[0] == pytest.approx(0.5 * (9.81 + up), rel=1e-9)
        assert engine.update_kinematics()[1, 2] == pytest.approx(
            engine.joints.angles[0] - 1.0, abs=1e-12
        )


@pytest.mark.parametrize("seed", range(8))
def test_a_cable_across_a_driven_joint_is_refused_or_does_nothing(seed):
    """Its length is prescribed, so that no tension is defined: a state must not change because of it."""
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 2, kinds=("revolute",))
    system = replace(system, joints=tuple(replace(j, driven=j.child == 1) for j in system.joints))
    states, joints = random_start(rng, system)
    joints[0] = 0.0
    before = planted(system, states, joints).motion[:, :13].copy()
    cable = Cable(0, 1, 1.0, *rng.uniform(-0.3, 0.3, (2, 3)))
    system = replace(system, cables=(drape(system, states, joints, cable),))
    try:
        engine = planted(system, states, joints)
    except (ModelError, SolverError):
        return
    np.testing.assert_allclose(engine.motion[:, :13], before, atol=1e-9)


# --- snaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_a_snap_keeps_momenta_and_is_that_of_dense_impulses(seed):
    """Trees, bodies and points in free flight, some cables at their length and drawn apart.

    What the jump of a set state gives: momenta to rounding, impulses of least squares under z >= 0.
    """
    system, states, joints = random_scene(seed, gravity=0.0, anchors=False)
    bare = planted(replace(system, cables=()), states, joints)
    dense = Maximal(system, bare.motion, joints)
    engine = planted(system, states, joints)
    rows = centres(system, engine.motion)
    both = [kkt.momenta(masses_of(system), r) for r in (centres(system, bare.motion), rows)]
    assert np.max(np.abs(both[1] - both[0])) < 1e-12 * max(1.0, np.max(np.abs(both[0])))
    gaps = distances(system, bare.motion) - [c.length for c in system.cables]
    listed = [
        k
        for k in np.flatnonzero(np.abs(gaps) < 1e-9)
        if dense.cable(system.cables[k])[0] @ dense.u > -1e-10
    ]
    events = engine.take_events()
    if not any(dense.cable(system.cables[k])[0] @ dense.u > 1e-10 for k in listed):
        assert not any(e.type == "snap" for e in events)
        return
    # all at their length take part, also those that shorten
    listed = [k for k in range(len(gaps)) if abs(gaps[k]) < 1e-12 or k in listed]
    D = np.array([dense.cable(system.cables[k])[0] for k in listed])
    responses = np.array([dense.respond(row) for row in D])
    L = np.linalg.cholesky(D @ responses.T)
    impulses, _ = nnls(L.T, np.linalg.solve(L, D @ dense.u))
    after = dense.u - impulses @ responses
    found = np.concatenate([[*row[7:10], *(kkt.rotation(row[3:7]) @ row[10:13])] for row in rows])
    scale = 1.0 + np.max(np.abs(dense.u))
    np.testing.assert_allclose(found, after, atol=1e-9 * scale)
    snap = next(e for e in events if e.type == "snap")
    given = np.zeros(len(system.cables))
    given[list(snap.at_length)] = snap.impulses
    np.testing.assert_allclose(given[listed], impulses, atol=1e-9 * scale)
    assert snap.energy_change < 1e-12
    assert energy(engine) - energy(bare) == pytest.approx(snap.energy_change, abs=1e-9 * scale**2)


@pytest.mark.parametrize("seed", range(6))
def test_two_trees_on_one_cable_snap_in_flight_and_keep_their_momenta(seed):
    """Momenta 1 ns on both sides of the event, in free flight: only the internal impulse lies between."""
    rng = np.random.default_rng(seed)
    halves = [random_tree(rng, 3, gravity=0.0, passive=False) for _ in range(2)]
    second = tuple(replace(j, parent=j.parent + 4, child=j.child + 4) for j in halves[1].joints)
    bodies = tuple(b for half in halves for b in half.bodies)
    system = System(bodies, gravity=0.0, joints=(*halves[0].joints, *second))
    states, joints = random_start(rng, system)
    a, b = int(rng.integers(1, 4)), int(rng.integers(5, 8))
    cable = drape(system, states, joints, Cable(a, b, 1.0, *rng.uniform(-0.2, 0.2, (2, 3))))
    system = replace(system, cables=(replace(cable, length=cable.length + 0.1),))
    engine = planted(system, states, joints)
    while not (events := engine.take_events()):
        assert engine.time < 10.0
        engine.run(1)
    snap = events[0]
    assert snap.type == "snap" and snap.energy_change < 0.0
    twin = planted(system, states, joints)
    twin.run_until(0.0)
    n = int(snap.time / 1e-3)
    twin.run(n)
    sides = []
    for time in (snap.time - 1e-9, snap.time + 1e-9):
        twin.run_until(time)
        rows = centres(system, twin.update_kinematics())
        sides.append((kkt.momenta(masses_of(system), rows), energy(twin)))
    scale = max(1.0, np.max(np.abs(sides[0][0])))
    assert np.max(np.abs(sides[1][0] - sides[0][0])) < 1e-12 * scale
    assert sides[1][1] - sides[0][1] == pytest.approx(snap.energy_change, rel=1e-6, abs=1e-9)


# --- random worlds --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_random_worlds_of_trees_and_cables_obey_the_laws_of_complementarity(seed):
    """0.2 s: lengths, tensions of the dense problem with inequalities, and no energy from nowhere."""
    system, states, joints = random_scene(seed, stops=seed % 2 == 0)
    engine = planted(system, states, joints)
    before = energy(engine)
    lengths = np.array([c.length for c in system.cables])
    for i in range(200):
        engine.run(1)
        gaps = distances(system, engine.update_kinematics()) - lengths
        assert np.all(gaps < LENGTH) and np.all(np.abs(gaps[engine.taut]) < LENGTH)
        after = energy(engine)
        assert after - before < 1e-9
        before = after
        if i % 20 == 19 and not engine.were_redundant and not engine.stop_efforts.any():
            dense = Maximal(system, engine.motion, joint_state(engine))
            rows = [dense.cable(c) for c in system.cables]
            rates = np.array([row @ dense.u for row, _ in rows])
            listed = np.flatnonzero(engine.taut | ((np.abs(gaps) < 1e-10) & (np.abs(rates) < 1e-8)))
            if len(listed):
                D = np.array([rows[k][0] for k in listed])
                A = D @ np.array([dense.respond(row) for row in D]).T
                free = D @ dense.free() + np.array([rows[k][1] for k in listed])
                L = np.linalg.cholesky(A)
                T, _ = nnls(L.T, np.linalg.solve(L, free))
                # tensions belong to the state before the projection of the step: 1e-6, as for bodies
                np.testing.assert_allclose(engine.tensions[listed], T, atol=1e-6 * (1 + np.max(T)))
    assert all(e.energy_change < 1e-12 for e in engine.take_events())


@pytest.mark.parametrize("seed", range(8))
def test_order_of_bodies_joints_and_cables_does_not_matter(seed):
    """Also with the ends of cables exchanged; 50 ms, before rounding grows in impacts."""
    system, states, joints = random_scene(seed, stops=True)
    rng = np.random.default_rng(seed)
    rows, hinges, ropes = (
        rng.permutation(len(x)) for x in (system.bodies, system.joints, system.cables)
    )
    place = {int(old): new for new, old in enumerate(rows)} | {WORLD: WORLD}
    other = System(
        tuple(system.bodies[i] for i in rows),
        tuple(
            Cable(place[c.b], place[c.a], c.length, c.r_b, c.r_a)
            for c in (system.cables[k] for k in ropes)
        ),
        joints=tuple(
            replace(j, parent=place[j.parent], child=place[j.child])
            for j in (system.joints[i] for i in hinges)
        ),
    )
    one, two = planted(system, states, joints), planted(other, states[rows], joints[hinges])
    one.run(50)
    two.run(50)
    tolerance = 1e-8
    np.testing.assert_allclose(
        two.update_kinematics()[:, :3], one.update_kinematics()[rows, :3], atol=tolerance
    )
    np.testing.assert_allclose(two.motion[:, 7:10], one.motion[rows, 7:10], atol=10 * tolerance)
    np.testing.assert_allclose(joint_state(two), joint_state(one)[hinges], atol=10 * tolerance)
    np.testing.assert_allclose(two.tensions, one.tensions[ropes], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(two.stop_efforts, one.stop_efforts[hinges], rtol=1e-6, atol=1e-6)
