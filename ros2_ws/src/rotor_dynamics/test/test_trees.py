"""Articulated bodies: accelerations against independent equations, conservation laws, symmetries, prescribed joints."""

from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import (
    ARMS,
    Maximal,
    X,
    Y,
    Z,
    at_rest,
    energy,
    joint_state,
    momenta,
    planted,
    random_start,
    random_tree,
    serial_arm,
    system_of,
    unit,
    vehicle,
    whole_state,
)
from worlds import quaternion, random_inertia, state

from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System, Weld
from validation.oracles.kkt import rotation
from validation.oracles.kremer import Link, QuaternionLagrange

ROUNDING = 1e-10
"""Relative: mass matrices of condition 1e5 in double precision."""


def branched(nu, normalised):
    """Six revolute joints on three levels."""
    rng = np.random.default_rng(3)
    links = tuple(
        Link(
            parent, rng.uniform(-0.4, 0.4, 3), unit(rng), m, rng.uniform(-0.3, 0.3, 3), random_inertia(rng, m)
        )
        for parent, m in zip((-1, -1, 0, 0, 1, 3), rng.uniform(0.3, 1.5, 6), strict=True)
    )  # fmt: skip
    inertia = np.diag([0.3, 0.4, 0.6])
    return QuaternionLagrange(5.0, inertia, links, nu=nu, normalised=normalised)


def size(values):
    return max(1.0, float(np.max(np.abs(values))))


# --- accelerations --------------------------------------------------------------------------------


@pytest.mark.parametrize("normalised", [False, True], ids=["EGt", "normalised"])
@pytest.mark.parametrize("nu", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", [*ARMS, "branched"])
def test_am_t2_accelerations_against_quaternion_lagrange(name, nu, normalised):
    """By the T-projection (2.6) and by (79), with thrust, moments and joint torques."""
    if name == "branched":
        model = branched(nu, normalised)
    else:
        model = serial_arm(*ARMS[name], nu=nu, normalised=normalised)
    system, rng = system_of(model), np.random.default_rng(5)
    for _ in range(3):
        states, joints = random_start(rng, system)
        wrench, efforts = rng.uniform(-9.0, 9.0, (1, 4)), rng.uniform(-2.0, 2.0, len(joints))
        engine = planted(system, states, joints, wrenches=wrench, efforts=efforts)
        base, R = engine.motion[0], rotation(states[0, 3:7])
        x = np.concatenate([states[0, :7], joints[:, 0]])
        u = np.concatenate([R.T @ states[0, 7:10], states[0, 10:13], joints[:, 1]])
        f_B = np.concatenate([[0.0, 0.0, wrench[0, 0]], wrench[0, 1:], efforts])
        expected = np.linalg.solve(model.body_mass(x), f_B - model.body_bias(x, u))
        linear = R.T @ base[13:16] - np.cross(u[3:6], u[:3])
        found = np.concatenate([linear, base[16:19], engine.joints.accelerations])
        assert np.max(np.abs(found - expected)) < ROUNDING * size(expected)
        x_ddot = model.acceleration(x, model.T(x[3:7]) @ u, f_B, np.inf)
        assert np.max(np.abs(base[13:16] - x_ddot[:3])) < ROUNDING * size(x_ddot)
        assert np.max(np.abs(found[6:] - x_ddot[7:])) < ROUNDING * size(x_ddot)


@pytest.mark.parametrize("seed", range(40))
def test_accelerations_against_bodies_held_together_by_constraints(seed):
    """Both kinds of joints, driven ones among them, with and without a base, inputs on links."""
    rng = np.random.default_rng(seed)
    system = random_tree(rng, int(rng.integers(1, 9)), on_ground=seed % 3 == 0)
    joints = tuple(replace(j, driven=bool(rng.random() < 0.3)) for j in system.joints)
    inputs = tuple(int(i) for i in rng.permutation(len(system.bodies))[:2])
    system = replace(system, joints=joints, inputs=inputs)
    states, start = random_start(rng, system)
    wrenches = rng.uniform(-5.0, 5.0, (len(inputs), 4))
    efforts, driven = rng.normal(size=(2, len(joints)))
    engine = planted(system, states, start, wrenches=wrenches, efforts=efforts)
    for i in np.flatnonzero(engine.joints.is_driven):
        engine.joints.prescribe(int(i), np.array([*start[i], 0.5 * driven[i]]))
    rows = engine.update_kinematics()
    np.testing.assert_allclose(joint_state(engine), start, atol=1e-14)
    dense = Maximal(system, rows, start, efforts, wrenches, driven)
    assert np.max(np.abs(dense.drift)) < 1e-12  # velocities of links
    expected, accelerations, _ = dense.solve()
    assert np.max(np.abs(rows[:, 13:] - expected)) < ROUNDING * size(expected)
    found = engine.joints.accelerations
    assert np.max(np.abs(found - accelerations)) < ROUNDING * size(accelerations)


@pytest.mark.parametrize("on_ground", [False, True])
def test_an_external_wrench_acts_at_the_origin_of_a_link(on_ground):
    system = random_tree(np.random.default_rng(8), 3, on_ground=on_ground)
    states, joints = random_start(np.random.default_rng(9), system)
    engine = planted(system, states, joints)
    push = (len(system.bodies) - 1, np.array([1.0, -2.0, 3.0]), np.array([0.2, 0.1, -0.3]))
    engine.set_external([push])
    i, force, moment = push  # the same about the centre of mass
    arm = -rotation(engine.motion[i, 3:7]) @ system.bodies[i].com
    shifted = [(i, force, moment + np.cross(arm, force))]
    expected, accelerations, _ = Maximal(system, engine.motion, joints, pushes=shifted).solve()
    assert np.max(np.abs(engine.update_kinematics()[:, 13:] - expected)) < ROUNDING * size(expected)
    np.testing.assert_allclose(engine.joints.accelerations, accelerations, rtol=1e-9)


def test_a_link_without_mass_makes_two_joints_a_universal_joint():
    """Exactly so in the dense equations; and the limit of ever lighter links, to first order."""
    found = {}
    for m in (0.0, 1e-6, 1e-5):
        middle = Body("cross", 0.0) if m == 0.0 else Body("cross", m, m * 0.01 * np.eye(3))
        base, arm = Body("base", 2.0, np.diag([0.02, 0.03, 0.04])), 0.01 * np.diag([1.0, 2.0, 2.5])
        system = System(
            (base, middle, Body("arm", 0.7, arm, np.array([0.3, 0.05, -0.1]))), (), (), (0,),
            joints=(Joint(0, 1, X, 0.1 * Z), Joint(1, 2, Y)),
        )  # fmt: skip
        states = at_rest(3)
        states[0] = state(Z, quaternion(0.9, 0.2, -0.1, 0.3), (0.1, 0.2, 0.3), (0.5, -1.0, 0.7))
        joints = np.array([[0.4, 1.5], [-0.7, -2.0]])
        wrench = np.array([[30.0, 0.1, 0.2, 0.3]])
        engine = planted(system, states, joints, wrenches=wrench)
        expected, accelerations, _ = Maximal(system, engine.motion, joints, None, wrench).solve()
        assert np.max(np.abs(engine.motion[:, 13:] - expected)) < ROUNDING * size(expected)
        np.testing.assert_allclose(engine.joints.accelerations, accelerations, rtol=ROUNDING)
        engine.run(500)
        found[m] = whole_state(engine)
    change = [np.max(np.abs(found[m] - found[0.0])) for m in (1e-6, 1e-5)]
    assert 0.0 < change[0] < 1e-4
    assert change[1] / change[0] == pytest.approx(10.0, rel=0.01)


def test_a_welded_link_is_a_merged_one_whichever_member_its_joints_name():
    """A joint may sit on any member of a rigid group: the same tree as with one body per link."""
    rng = np.random.default_rng(11)
    inertias = [random_inertia(rng, m) for m in (3.0, 0.5, 0.4, 0.6)]
    base, one, two, tip = (
        Body(n, m, J) for n, m, J in zip("bcde", (3.0, 0.5, 0.4, 0.6), inertias, strict=True)
    )
    p, q = np.array([0.2, -0.1, 0.05]), unit(rng, 4)
    mount = Joint(0, 1, unit(rng), rng.normal(size=3) * 0.2, unit(rng, 4))
    r, q_tip = np.array([0.1, 0.1, 0.2]), unit(rng, 4)
    welded = System(
        (base, one, two, tip), (), (Weld(1, 2, p, q),), (0,),
        joints=(mount, Joint(2, 3, Z, r, q_tip)),
    )  # fmt: skip
    fixed = Joint(1, 2, Z, p, q, driven=True)  # at rest at zero: a weld by other means
    jointed = System(
        (base, one, two, tip), (), (), (0,), joints=(mount, fixed, Joint(2, 3, Z, r, q_tip))
    )
    states, ends = at_rest(4), []
    states[0] = state(q=unit(rng, 4), v=(1, 2, 3), w=(1, -1, 2))
    for system, joints in (
        (welded, [[0.3, 1], [0.5, -2]]),
        (jointed, [[0.3, 1], [0, 0], [0.5, -2]]),
    ):
        engine = planted(system, states, np.array(joints, float))
        engine.run(300)
        ends.append(engine.update_kinematics().copy())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)


# --- conservation ---------------------------------------------------------------------------------


def falls(system, states, joints, step):
    """Largest deviations of energy, angular momentum and linear momentum in 2 s of free fall."""
    engine = planted(system, states, joints, step=step)
    start, e0 = momenta(system, engine.motion), energy(engine)
    weight = sum(b.mass for b in system.bodies) * system.gravity
    worst = np.zeros(3)
    for _ in range(50):
        engine.run(round(0.04 / step))
        change = momenta(system, engine.update_kinematics()) - start
        change[2] += weight * engine.time
        norms = np.linalg.norm(change[3:]), np.linalg.norm(change[:3])
        worst = np.maximum(worst, np.array([abs(energy(engine) - e0), *norms]))
    return worst


@pytest.mark.parametrize("name", list(ARMS))
def test_am_t6_free_fall_keeps_energy_and_momentum(name):
    """Bounds of the specification at 1 ms; for V2 also the slope, between errors well above rounding."""
    system = vehicle(name)
    n, states = len(system.joints), at_rest(len(system.bodies))
    states[0] = state(Z, quaternion(0.9, 0.1, -0.3, 0.2), (0.3, -0.2, 0.1), (0.5, -0.4, 0.2))
    joints = np.column_stack([(0.6, -0.9, 0.4), (0.7, -1.1, 0.5)])[:n]
    at_1_ms = falls(system, states, joints, 1e-3)
    assert np.all(at_1_ms < (1e-7, 1e-9, 1e-8)), at_1_ms
    if name == "V2":
        joints = np.array([[0.6, 3.0], [-0.9, -4.0]])
        ratio = falls(system, states, joints, 4e-3) / falls(system, states, joints, 2e-3)
        assert ratio == pytest.approx(16.0, rel=0.1)


@pytest.mark.parametrize("name", [*ARMS, "tree"])
def test_am_t7_power_balance_with_actuators_on(name):
    """d(energy)/dt from accelerations against force times velocity, every 20 ms of half a second."""
    lag = {"lag": 0.05, "damping": 0.1, "armature": 0.01, "stiffness": 0.5}
    tree = random_tree(np.random.default_rng(4), 6, gravity=9.81)
    system = tree if name == "tree" else vehicle(name, **lag)
    rng = np.random.default_rng(6)
    engine = planted(system, *random_start(rng, system, 0.5))
    for i in range(len(system.joints)):
        engine.joints.oscillate(i, 1.0, 2.0 + i, 0.3 * i)
    engine.joints.act(rng.uniform(-3.0, 3.0, len(system.joints)))
    engine.set_wrenches(np.array([[60.0, 0.5, -0.8, 0.3]]))
    for _ in range(25):
        engine.run(20)
        rows, joints = engine.update_kinematics(), joint_state(engine)
        change, parts = 0.0, []
        for body, row in zip(system.bodies, rows, strict=True):
            R, w, alpha = rotation(row[3:7]), row[10:13], row[16:19]
            v = row[7:10] + R @ np.cross(w, body.com)
            a = row[13:16] + R @ (np.cross(alpha, body.com) + np.cross(w, np.cross(w, body.com)))
            parts += [body.mass * v @ a, w @ body.inertia_B @ alpha, body.mass * 9.81 * v[2]]
        for j, (angle, rate), accel in zip(
            system.joints, joints, engine.joints.accelerations, strict=True
        ):
            change += j.stiffness * (angle - j.rest) * rate + j.damping * rate**2
            parts.append(j.armature * rate * accel)
        R, wrench = rotation(rows[0, 3:7]), engine.world.inputs[0, :4]
        power = wrench[0] * R[:, 2] @ rows[0, 7:10] + wrench[1:] @ rows[0, 10:13]
        power += engine.joints.efforts @ joints[:, 1]
        change += sum(parts)
        assert abs(change - power) < 1e-8 * max(1.0, *np.abs(parts))


# --- the order of things does not matter ----------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_am_t16_order_of_bodies_and_joints_does_not_matter(seed):
    """Breadth-first, depth-first and any order of numbers: the same accelerations, the same motion."""
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 7, on_ground=seed % 2 == 1)
    states, joints = random_start(rng, system)
    engine = planted(system, states, joints)
    depth_first, stack = [], [j.parent for j in system.joints[:1]]
    while stack:
        body = stack.pop()
        depth_first += [i for i, j in enumerate(system.joints) if j.child == body]
        stack += [j.child for j in system.joints if j.parent == body]
    shuffled = rng.permutation(7)
    for order, bodies in (
        (np.array(depth_first), np.arange(len(states))),
        (shuffled, np.arange(len(states))),
        (shuffled, rng.permutation(len(states))),
    ):
        place = {int(old): new for new, old in enumerate(bodies)} | {-1: -1}
        other = replace(
            system,
            bodies=tuple(system.bodies[i] for i in bodies),
            joints=tuple(
                replace(j, parent=place[j.parent], child=place[j.child])
                for j in (system.joints[i] for i in order)
            ),
            inputs=tuple(place[i] for i in system.inputs),
        )
        twin = planted(other, states[bodies], joints[order])
        scale = size(engine.motion)
        assert np.max(np.abs(twin.motion - engine.motion[bodies])) < 1e-12 * scale
        difference = twin.joints.accelerations - engine.joints.accelerations[order]
        assert np.max(np.abs(difference)) < 1e-12 * size(engine.joints.accelerations)


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_motion_turns_and_shifts_with_the_start(gravity):
    """About the vertical with gravity, about any axis without."""
    rng = np.random.default_rng(7)
    system = random_tree(rng, 5, gravity=gravity)
    states, joints = random_start(rng, system)
    turn = Rotation.from_rotvec(1.3 * (Z if gravity else unit(rng)))
    shift = np.array([3.0, -5.0, 2.0])
    ends = []
    for moved in (False, True):
        rows = states.copy()
        if moved:
            rows[:, :3], rows[:, 7:10] = turn.apply(rows[:, :3]) + shift, turn.apply(rows[:, 7:10])
            rows[:, 3:7] = (turn * Rotation.from_quat(rows[:, [4, 5, 6, 3]])).as_quat()[
                :, [3, 0, 1, 2]
            ]
        engine = planted(system, rows, joints)
        engine.run(500)
        ends.append((engine.update_kinematics()[:, :13].copy(), joint_state(engine)))
    (here, angles), (there, others) = ends
    np.testing.assert_allclose(others, angles, atol=1e-10)
    np.testing.assert_allclose(there[:, :3], turn.apply(here[:, :3]) + shift, atol=1e-10)
    np.testing.assert_allclose(there[:, 7:10], turn.apply(here[:, 7:10]), atol=1e-10)
    np.testing.assert_allclose(there[:, 10:13], here[:, 10:13], atol=1e-10)


def test_am_t15_cost_grows_linearly_with_links():
    """Exponent of the time of a step from 3 to 20 links; the best of several runs, so that others do not count."""
    costs = []
    for n in (3, 20):
        system = random_tree(np.random.default_rng(1), n, chain=True)
        engine = Engine(system)
        engine.set_state(at_rest(n + 1))
        best = np.inf
        for _ in range(15):
            start = perf_counter()
            engine.run(40)
            best = min(best, perf_counter() - start)
        costs.append(best)
    assert np.log(costs[1] / costs[0]) / np.log(20 / 3) < 1.3
