"""Rigid-body quantities of vehicles with arms: sums over bodies, differences, conservation, closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rotor_core.config.loader import load_scenario
from rotor_core.config.model import Model, Rotors, Vehicle, VehicleGains
from rotor_core.config.vehicles.arm import BASE, JOINTS, Link, PrismaticJoint, RevoluteJoint
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.errors import ContractError
from rotor_core.vehicles.arm_motion import ArmMotion
from rotor_core.vehicles.articulated import ArticulatedVehicle

X, Y, Z = np.eye(3)
ROTORS = Rotors("x", (0.0, 4500.0), 2e-6, 0.02, arm_m=0.5)
GAINS = VehicleGains((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
SEEDS = range(20)

ROUNDING = 1e-12
"""Relative: sums of some dozen products in double precision, of chains of at most eight links."""

SLOPE = 1e-7
"""Relative error of a derivative by extrapolated central differences: rounding over the step, 1e-3."""


def triple(v):
    return tuple(float(x) for x in v)


def random_inertia(rng, mass):
    """Of three perpendicular rods in a random attitude: full, and that of a body."""
    squares = rng.uniform(0.05, 0.3, 3) ** 2
    axes = Rotation.random(None, rng).as_matrix()
    J = mass * axes @ np.diag(squares.sum() - squares) @ axes.T
    return tuple(triple(row) for row in 0.5 * (J + J.T))


def vehicle_of(links=(), joints=(), mass=3.0, inertia=(0.1, 0.12, 0.2), com=(0.0, 0.0, 0.0)):
    return Vehicle(
        "am", mass, inertia, ROTORS, GAINS, com_m=com, links=tuple(links), joints=tuple(joints)
    )


def random_vehicle(rng, n=None):
    """Branches, all kinds of joints, full inertias, centres of mass and mounts anywhere, points and massless links."""
    n = int(rng.integers(1, 9)) if n is None else n
    links, joints = [], []
    for i in range(n):
        parent = rng.choice([BASE, *(k.name for k in links)])
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "fixed"]))
        mass = float(rng.uniform(0.2, 1.5))
        what = rng.random()
        inertia = random_inertia(rng, mass) if what > 0.2 else None  # None: a point
        mass = 0.0 if what < 0.1 and i else mass
        links.append(Link(f"l{i}", mass, triple(rng.uniform(-0.2, 0.2, 3)), inertia))
        joints.append(
            JOINTS[kind](
                f"j{i}", str(parent), f"l{i}", triple(rng.uniform(-0.4, 0.4, 3)),
                triple(rng.uniform(-170, 170, 3)), triple(2.0 * rng.normal(size=3)),
                **{
                    JOINTS[kind].UNITS[name]: value
                    for name, value in (("armature", float(rng.uniform(0.001, 0.05))), ("initial", 0.1))
                    if kind != "fixed"
                },
            )
        )  # fmt: skip
    shuffled = tuple(joints[i] for i in rng.permutation(n))
    com = triple(rng.uniform(-0.1, 0.1, 3))
    return vehicle_of(links, shuffled, 4.0, random_inertia(rng, 4.0), com)


class Bodies:
    """All bodies of a vehicle one by one, in W, from its description alone.

    Args:
        R, p: attitude and position of the base.
        u, theta: velocities in the axes of the base, and the posture.
    """

    def __init__(self, vehicle, R, p, u, theta):
        self.vehicle = vehicle
        names = [j.name for j in vehicle.moving_joints]
        self.frames = {BASE: (R, p, R @ u[:3], R @ u[3:6])}
        for j in vehicle.joints:
            R, p, v, w = self.frames[j.parent]
            arm = R @ np.array(j.position_m)
            p, v = p + arm, v + np.cross(w, arm)
            R = R @ Rotation.from_euler("xyz", j.rpy_deg, degrees=True).as_matrix()
            axis = np.array(j.axis) / np.linalg.norm(j.axis)
            if j.type == "revolute":
                i = names.index(j.name)
                R, w = (
                    R @ Rotation.from_rotvec(theta[i] * axis).as_matrix(),
                    w + R @ axis * u[6 + i],
                )
            elif j.type == "prismatic":
                i = names.index(j.name)
                slide = R @ axis * theta[i]
                p, v = p + slide, v + np.cross(w, slide) + R @ axis * u[6 + i]
            self.frames[j.child] = (R, p, v, w)

    def momenta(self):
        """Of each body: mass, J omega in W, centre of mass, its velocity, angular velocity; motors apart."""
        rows = [(BASE, self.vehicle), *((k.name, k) for k in self.vehicle.links)]
        for name, body in rows:
            R, p, v, w = self.frames[name]
            c = R @ np.array(body.com_m)
            J = (
                np.zeros((3, 3))
                if body.inertia_kg_m2 is None
                else inertia_matrix(body.inertia_kg_m2)
            )
            yield body.mass_kg, R @ J @ R.T, p + c, v + np.cross(w, c), w

    def kinetic_energy(self, rates):
        motors = sum(
            0.5 * j.armature * r**2 for j, r in zip(self.vehicle.moving_joints, rates, strict=True)
        )
        return motors + sum(0.5 * (m * v @ v + w @ J @ w) for m, J, _, v, w in self.momenta())


def drawn(seed):
    """A vehicle, its model at a random posture, and a motion."""
    rng = np.random.default_rng(seed)
    vehicle = random_vehicle(rng)
    model = ArticulatedVehicle(vehicle)
    theta = rng.uniform(-2.0, 2.0, model.n)
    model.place(theta)
    R = Rotation.random(None, rng).as_matrix()
    return rng, vehicle, model, theta, R, rng.normal(size=6 + model.n)


def size(values):
    return max(1.0, float(np.max(np.abs(values))))


def close(a, b, tolerance):
    np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * size(b))


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_is_that_of_the_kinetic_energy_of_all_bodies(seed):
    rng, vehicle, model, theta, R, _ = drawn(seed)
    M = model.mass_matrix()
    close(M, M.T, ROUNDING)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    for _ in range(5):
        u = rng.normal(size=6 + model.n)
        energy = Bodies(vehicle, R, np.zeros(3), u, theta).kinetic_energy(u[6:])
        assert 0.5 * u @ M @ u == pytest.approx(energy, rel=ROUNDING)
    # entry by entry: the velocities of all bodies are linear in u
    expected = np.diag([0.0] * 6 + [j.armature for j in vehicle.moving_joints])
    units = [list(Bodies(vehicle, R, np.zeros(3), e, theta).momenta()) for e in np.eye(6 + model.n)]
    for parts in zip(*units, strict=True):
        V, W = (np.column_stack([part[i] for part in parts]) for i in (3, 4))
        expected += parts[0][0] * V.T @ V + W.T @ parts[0][1] @ W
    close(M, expected, ROUNDING)


def slope(f, h=1e-3):
    """Derivative at 0 by extrapolated central differences."""
    wide, narrow = (f(2 * h) - f(-2 * h)) / (4 * h), (f(h) - f(-h)) / (2 * h)
    return (4.0 * narrow - wide) / 3.0


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_is_newton_and_euler_for_each_body(seed):
    """Principle of d'Alembert: momenta of all bodies differentiated along the motion, on their unit velocities."""
    rng, vehicle, model, theta, R, u = drawn(seed)
    u_dot, gravity = rng.normal(size=6 + model.n), rng.normal(size=3)

    def base(t):  # exact to t^2, and the path beyond does not matter
        turn = u[3:6] * t + 0.5 * u_dot[3:6] * t**2
        return R @ Rotation.from_rotvec(turn).as_matrix()

    def motion(t):
        angles = theta + u[6:] * t + 0.5 * u_dot[6:] * t**2
        bodies = Bodies(vehicle, base(t), np.zeros(3), u + u_dot * t, angles)
        return np.array([[*(m * v), *(J @ w)] for m, J, _, v, w in bodies.momenta()])

    rates = slope(motion)
    expected = np.concatenate(
        [np.zeros(6), [j.armature for j in vehicle.moving_joints] * u_dot[6:]]
    )
    for k, e in enumerate(np.eye(6 + model.n)):
        for row, (m, _, _, v, w) in zip(
            rates, Bodies(vehicle, R, np.zeros(3), e, theta).momenta(), strict=True
        ):
            expected[k] += v @ (row[:3] - m * R @ gravity) + w @ row[3:]
    close(model.inverse_dynamics(u, u_dot, gravity), expected, SLOPE)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_is_mass_matrix_and_bias(seed):
    rng, _, model, _, _, u = drawn(seed)
    u_dot, gravity = rng.normal(size=6 + model.n), rng.normal(size=3)
    M, bias = model.mass_matrix(), model.bias(u, gravity)
    close(model.inverse_dynamics(u, u_dot, gravity), M @ u_dot + bias, ROUNDING)
    # columns one by one, at rest and without weight
    still = np.zeros(6 + model.n)
    columns = [model.inverse_dynamics(still, e, np.zeros(3)) for e in np.eye(6 + model.n)]
    close(np.column_stack(columns), M, ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bias_does_the_work_that_changes_the_energy(seed):
    """Passivity: without weight ``u . b = 1/2 u . M_dot u``, however fast; weight works on heights alone."""
    _, vehicle, model, theta, R, u = drawn(seed)
    power = u @ model.bias(u, np.zeros(3))

    def doubled_energy(t):
        model.place(theta + u[6:] * t)
        return u @ model.mass_matrix() @ u

    assert power == pytest.approx(0.5 * slope(doubled_energy), rel=SLOPE, abs=SLOPE * u @ u)
    model.place(theta)
    weight = np.array([0.0, 0.0, -9.81])
    sinking = -sum(
        m * weight @ v for m, _, _, v, _ in Bodies(vehicle, R, np.zeros(3), u, theta).momenta()
    )
    work = u @ (model.bias(u, R.T @ weight) - model.bias(u, np.zeros(3)))
    assert work == pytest.approx(sinking, rel=ROUNDING, abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_poses_and_jacobians(seed):
    """Against the description and its differences, for every link and a point of it."""
    rng, vehicle, model, theta, _, u = drawn(seed)
    one = np.eye(3)
    for name in (BASE, *(k.name for k in vehicle.links)):
        point = rng.uniform(-0.5, 0.5, 3)
        R, p, v, w = Bodies(vehicle, one, np.zeros(3), u, theta).frames[name]
        found_R, found_p = model.pose(name, point)
        np.testing.assert_allclose(found_R, R, atol=ROUNDING)
        np.testing.assert_allclose(found_p, p + R @ point, atol=ROUNDING)
        np.testing.assert_array_equal(model.pose(name)[1], model.pose(name, np.zeros(3))[1])
        J = model.jacobian(name, point)
        close(J @ u, np.concatenate([v + np.cross(w, R @ point), w]), ROUNDING)

        def place(t, name=name, point=point):
            model.place(theta + u[6:] * t)
            own, x = model.pose(name, point)
            return np.concatenate([x, own.ravel()])

        rates, angles = slope(place), u.copy()
        angles[:6] = 0.0
        model.place(theta)
        swept = J @ angles
        np.testing.assert_allclose(rates[:3], swept[:3], atol=1e-9 * size(u) ** 5)
        spin = rates[3:].reshape(3, 3) @ R.T
        np.testing.assert_allclose(
            (spin[2, 1], spin[0, 2], spin[1, 0]), swept[3:], atol=1e-9 * size(u) ** 5
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_composite_is_the_sum_of_all_bodies(seed):
    _, vehicle, model, theta, _, u = drawn(seed)
    parts = list(Bodies(vehicle, np.eye(3), np.zeros(3), u, theta).momenta())
    mass = sum(m for m, *_ in parts)
    centre = sum(m * c for m, _, c, *_ in parts) / mass
    J = np.zeros((3, 3))
    for m, own, c, *_ in parts:
        r = c - centre
        J += own + m * (r @ r * np.eye(3) - np.outer(r, r))
    found_centre, found_J = model.composite()
    assert model.mass == pytest.approx(mass, rel=ROUNDING)
    np.testing.assert_allclose(found_centre, centre, atol=ROUNDING)
    close(found_J, J, ROUNDING)


def arm(**changes):
    """Two links in the plane x, z below a base; the angles turn from x downwards (about y)."""
    links = [
        Link("l1", 1.3, (0.3, 0, 0), (0.01, 0.02, 0.02)),
        Link("l2", 0.7, (0.2, 0, 0), (0.01, 0.015, 0.02)),
    ]
    joints = [
        RevoluteJoint("j1", BASE, "l1", axis=triple(Y), **changes),
        RevoluteJoint("j2", "l1", "l2", position_m=(0.5, 0, 0), axis=triple(Y), **changes),
    ]
    return vehicle_of(links, joints)


def test_two_link_arm_in_closed_form():
    """Textbook equations of the planar arm, base held still."""
    model, m1, m2, l1, c1, c2, I1, I2, g = (
        ArticulatedVehicle(arm(armature_kg_m2=0.03)),
        1.3,
        0.7,
        0.5,
        0.3,
        0.2,
        0.02,
        0.015,
        9.81,
    )
    for a, b, a_dot, b_dot in np.random.default_rng(1).normal(size=(10, 4)):
        model.place(np.array([a, b]))
        coupling = I2 + m2 * (c2**2 + l1 * c2 * np.cos(b))
        first = I1 + m1 * c1**2 + I2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(b))
        M = np.array([[first, coupling], [coupling, I2 + m2 * c2**2]]) + 0.03 * np.eye(2)
        np.testing.assert_allclose(model.mass_matrix()[6:, 6:], M, atol=ROUNDING)
        h = m2 * l1 * c2 * np.sin(b)
        bias = np.array([-h * (2 * a_dot * b_dot + b_dot**2), h * a_dot**2])
        second = m2 * g * c2 * np.cos(a + b)  # a positive angle lowers the arm
        bias -= (m1 * c1 + m2 * l1) * g * np.cos(a) * X[:2] + second
        u = np.concatenate([np.zeros(6), [a_dot, b_dot]])
        np.testing.assert_allclose(model.bias(u, -g * Z)[6:], bias, atol=1e-11)


def test_slide_on_a_turntable_in_closed_form():
    """Centrifugal and Coriolis forces of a point that slides on a turning arm: r w^2, 2 r r_dot w."""
    links = [Link("table", 1.0, inertia_kg_m2=(0.1, 0.1, 0.2)), Link("slider", 0.8)]
    joints = [
        RevoluteJoint("turn", BASE, "table", axis=triple(Z)),
        PrismaticJoint("slide", "table", "slider", axis=triple(X)),
    ]
    model, r, w, r_dot = ArticulatedVehicle(vehicle_of(links, joints)), 0.6, 1.7, -0.4
    model.place(np.array([0.3, r]))
    u = np.concatenate([np.zeros(6), [w, r_dot]])
    torque, force = model.bias(u, np.zeros(3))[6:]
    assert force == pytest.approx(-0.8 * r * w**2, rel=ROUNDING)
    assert torque == pytest.approx(2 * 0.8 * r * r_dot * w, rel=ROUNDING)
    np.testing.assert_allclose(
        model.mass_matrix()[6:, 6:], np.diag([0.2 + 0.8 * r**2, 0.8]), atol=ROUNDING
    )


def test_a_vehicle_without_joints_is_a_rigid_body():
    model = ArticulatedVehicle(vehicle_of(mass=2.0))
    J = np.diag([0.1, 0.12, 0.2])
    assert model.n == 0 and model.joints == [] and model.mass == 2.0
    np.testing.assert_array_equal(model.mass_matrix(), np.diag([2, 2, 2, 0.1, 0.12, 0.2]))
    u = np.array([0.3, -0.1, 0.2, 1.0, 2.0, -3.0])
    expected = [*(2.0 * (np.cross(u[3:], u[:3]) + 9.81 * Z)), *np.cross(u[3:], J @ u[3:])]
    np.testing.assert_allclose(model.bias(u, -9.81 * Z), expected, atol=1e-13)


@pytest.mark.parametrize("name", ["kremer_v2", "picker"])
def test_shipped_vehicles_hold_their_weight(name):
    """At rest the force is the weight, on the centre of mass of everything."""
    scenario = load_scenario("arm_coupled" if name == "kremer_v2" else "pick_and_place")
    model = ArticulatedVehicle(scenario.model.vehicles[0])
    f = model.bias(np.zeros(6 + model.n), -9.81 * Z)
    centre, _ = model.composite()
    weight = 9.81 * model.mass * Z
    np.testing.assert_allclose(f[:6], [*weight, *np.cross(centre, weight)], atol=1e-12)
    assert model.mass == pytest.approx(7.56)


def test_frozen_vectors_of_kremer_v2():
    """AM-T3: section 7.1 of the specification, to its printed digits."""
    model = ArticulatedVehicle(load_scenario("arm_coupled").model.vehicles[0])
    model.place(np.array([0.6, -0.9]))
    M = model.mass_matrix()
    np.testing.assert_allclose(
        np.diag(M), [7.56, 7.56, 7.56, 0.584324394447, 0.871621413657, 1.238239019210, 0.328028078089, 0.041576],
        atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(
        M[[0, 0, 0, 1, 1, 2, 3, 4, 4, 6], [4, 6, 7, 3, 5, 7, 5, 6, 7, 7]],
        [
            -0.395966677841, -0.239966677841, 0.050711267463, 0.395966677841, 0.588818516089,
            -0.163935741534, 0.159072850140, 0.352024745873, 0.083438912298, 0.088510039044,
        ],
        atol=1e-12,
    )  # fmt: skip
    q = np.array([0.9, 0.1, -0.3, 0.2])
    R = Rotation.from_quat([*q[1:], q[0]]).as_matrix()
    u = np.array([0.3, -0.2, 0.1, 0.5, -0.4, 0.2, 0.7, -1.1])
    expected = [
        45.072521740965, 4.815870491211, 58.877949851286, 0.225314635349, -7.004942112131, 0.379280713118,
        -6.044247832771, -1.000827957384,
    ]  # fmt: skip
    np.testing.assert_allclose(model.bias(u, R.T @ (-9.81 * Z)), expected, atol=1e-10)


def test_results_depend_on_the_posture_alone():
    """Not on what was computed before: scratch is shared."""
    _, _, model, theta, _, u = drawn(4)
    M, bias = model.mass_matrix(), model.bias(u, Z)
    J = model.jacobian(model_last(model))
    model.place(theta + 1.0)
    model.mass_matrix(), model.bias(2.0 * u, X)
    model.place(theta)
    np.testing.assert_array_equal(model.jacobian(model_last(model)), J)
    np.testing.assert_array_equal(model.bias(u, Z), bias)
    np.testing.assert_array_equal(model.mass_matrix(), M)


def model_last(model):
    """Name of the last link of a random vehicle that a joint moves."""
    names = [f"l{i}" for i in range(8)]
    return [name for name in names if name in model._frames and model.frame(name)[0]][-1]


def test_an_unknown_link_is_refused():
    with pytest.raises(ContractError, match="no link 'hand'; known: base_link, l1, l2"):
        ArticulatedVehicle(arm()).pose("hand")


@pytest.mark.parametrize("seed", SEEDS)
def test_links_of_two_arms_move_as_their_bodies_do(seed):
    """Poses and velocities of all links, behind a mass of a cable; two instants at once."""
    rng = np.random.default_rng(seed)
    vehicles = [replace(random_vehicle(rng), name=name) for name in ("am1", "am2")]
    motion = ArmMotion(Model(vehicles=tuple(vehicles)))
    u = rng.normal(size=(2, 2, 3, 3))  # instant, vehicle: position, velocity, rate
    turns = [Rotation.random(2, rng) for _ in range(2)]
    joints = rng.normal(size=(2, motion.n, 2))
    states = np.zeros((2, 3, 13))
    for s in range(2):
        states[s, :2] = np.hstack(
            [u[s, :, 0], turns[s].as_quat(scalar_first=True), u[s, :, 1], u[s, :, 2]]
        )
    out = motion.behind(states, joints)
    assert np.array_equal(out[:, :3], states)
    for s in range(2):
        first = 0
        for k, vehicle in enumerate(vehicles):
            n, R = len(vehicle.moving_joints), turns[s][k].as_matrix()
            theta, rates = joints[s, first : first + n].T
            own = np.concatenate([R.T @ u[s, k, 1], u[s, k, 2], rates])
            oracle = Bodies(vehicle, R, u[s, k, 0], own, theta)
            for link in vehicle.links:
                row, turn, at = motion.frame(f"{vehicle.name}/{link.name}", 3)
                body = out[s, row]
                B = Rotation.from_quat(body[3:7], scalar_first=True).as_matrix()
                R_link, p, v, w = oracle.frames[link.name]
                arm = B @ at
                np.testing.assert_allclose(B @ turn, R_link, atol=1e-13)
                np.testing.assert_allclose(body[:3] + arm, p, atol=1e-12)
                np.testing.assert_allclose(B @ body[10:13], w, atol=1e-12)
                np.testing.assert_allclose(body[7:10] + np.cross(w, arm), v, atol=1e-12)
            first += n
    assert first == motion.n == joints.shape[1]
