"""The quaternion-Lagrange oracle: against frozen numbers, against the laws of mechanics, and against itself by other routes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from validation.oracles.kkt import skew
from validation.oracles.kremer import BASE, Link, QuaternionLagrange, body_rate_map, slope

Y = np.array([0.0, 1.0, 0.0])
BASE_INERTIA = np.diag([0.48, 0.48, 0.95])
LINK_INERTIA = np.diag([0.595e-3, 3.824e-3, 3.7e-3])
MOUNT = np.array([0.0, 0.0, -0.10])
FREE = np.inf  # a step so long that nothing is corrected


def serial_arm(n, mass, com, length):
    """A planar arm below the base, axes along y, links along x."""
    return QuaternionLagrange(
        6.0,
        BASE_INERTIA,
        tuple(
            Link(
                j - 1,
                np.array([length, 0.0, 0.0]) if j else MOUNT,
                Y,
                mass,
                np.array([com, 0.0, 0.0]),
                LINK_INERTIA,
            )
            for j in range(n)
        ),
    )


def branched_tree(parents, seed=3):
    """Random axes, places and full inertias, the same for joint j of any tree of that size."""
    rng = np.random.default_rng(seed)
    links = []
    for parent in parents:
        axis, second_moment = rng.normal(size=3), rng.normal(size=(3, 3))
        second_moment = 0.02 * second_moment @ second_moment.T
        links.append(
            Link(
                parent,
                rng.uniform(-0.4, 0.4, 3),
                axis / np.linalg.norm(axis),
                rng.uniform(0.3, 1.5),
                rng.uniform(-0.3, 0.3, 3),
                np.trace(second_moment) * np.eye(3) - second_moment,
            )
        )
    return QuaternionLagrange(5.0, np.diag([0.3, 0.4, 0.6]), tuple(links))


UAV = serial_arm(0, 0.0, 0.0, 0.0)
V1 = serial_arm(1, 1.0, 0.5, 1.0)
V2 = serial_arm(2, 0.78, 0.22, 0.44)
V3 = serial_arm(3, 0.78, 0.22, 0.44)
PARENTS = (BASE, BASE, 0, 0, 1, 3)
TREE = branched_tree(PARENTS)
MODELS = pytest.mark.parametrize(
    "model", [UAV, V1, V2, V3, TREE], ids=["uav", "v1", "v2", "v3", "tree"]
)
EXTENSIONS = pytest.mark.parametrize("normalised", [False, True], ids=["EGt", "normalised"])


def random_state(rng, model, *, length=1.0):
    """Coordinates with a quaternion of given length, and body velocities."""
    n, q = len(model.links), rng.normal(size=4)
    q *= length / np.linalg.norm(q)
    x = np.concatenate([rng.normal(size=3), q, rng.uniform(-np.pi, np.pi, n)])
    return x, rng.normal(0.0, 1.5, 6 + n)


def frozen_state(theta):
    q = np.array([0.9, 0.1, -0.3, 0.2])
    return np.concatenate([[0.1, -0.2, 1.5], q / np.linalg.norm(q), theta])


def symmetric(size, entries):
    M = np.zeros((size, size))
    for (i, j), value in entries.items():
        M[i - 1, j - 1] = M[j - 1, i - 1] = value
    return M


# Twelve decimals are printed, and sums of up to 1e2 round at 1e-14.
PRINTED = 2e-12

# fmt: off
V1_FROZEN = dict(
    theta=[0.6],
    u=[0.3, -0.2, 0.1, 0.5, -0.4, 0.2, 0.7],
    mass={
        (1, 1): 7.0, (2, 2): 7.0, (3, 3): 7.0, (4, 4): 0.627754467616,
        (5, 5): 0.800288247340, (6, 6): 1.123004779723, (7, 7): 0.253824,
        (1, 5): -0.382321236698, (1, 7): -0.282321236698, (2, 4): 0.382321236698,
        (2, 6): 0.412667807455, (3, 5): -0.412667807455, (3, 7): -0.412667807455,
        (4, 6): 0.159218657172, (5, 7): 0.282056123670,
    },
    bias=[41.832963166624, 4.564922287967, 54.531413895959, 0.263893091447,
          -5.579929049398, 0.325949670866, -4.943190627472],
    gravity=[41.924842105263, 4.337052631579, 54.213157894737, 0.236878189390,
             -5.485826069379, 0.255680285756, -4.886899753590],
    kinetic=0.573557713429,
    potential=102.515598728268,
)
V2_FROZEN = dict(
    theta=[0.6, -0.9],
    u=[0.3, -0.2, 0.1, 0.5, -0.4, 0.2, 0.7, -1.1],
    mass={
        (1, 1): 7.56, (2, 2): 7.56, (3, 3): 7.56, (4, 4): 0.584324394447,
        (5, 5): 0.871621413657, (6, 6): 1.238239019210, (7, 7): 0.328028078089, (8, 8): 0.041576,
        (1, 5): -0.395966677841, (1, 7): -0.239966677841, (1, 8): 0.050711267463,
        (2, 4): 0.395966677841, (2, 6): 0.588818516089,
        (3, 5): -0.588818516089, (3, 7): -0.588818516089, (3, 8): -0.163935741534,
        (4, 6): 0.159072850140, (5, 7): 0.352024745873, (5, 8): 0.083438912298,
        (7, 8): 0.088510039044,
    },
    bias=[45.072521740965, 4.815870491211, 58.877949851286, 0.225314635349,
          -7.004942112131, 0.379280713118, -6.044247832771, -1.000827957384],
    gravity=[45.278829473684, 4.684016842105, 58.550210526316, 0.245332617449,
             -6.931793090217, 0.364819556390, -5.997468037585, -0.965916051289],
    kinetic=0.605763397821,
    potential=111.705331326982,
)
# fmt: on


@pytest.mark.parametrize("model, frozen", [(V1, V1_FROZEN), (V2, V2_FROZEN)], ids=["v1", "v2"])
def test_am_t3_frozen_vectors(model, frozen):
    x, u = frozen_state(frozen["theta"]), np.array(frozen["u"])
    x_dot = model.T(x[3:7]) @ u
    M = symmetric(len(u), frozen["mass"])
    np.testing.assert_allclose(model.body_mass(x), M, rtol=0, atol=PRINTED)
    np.testing.assert_allclose(model.body_bias(x, u), frozen["bias"], rtol=0, atol=PRINTED)
    np.testing.assert_allclose(model.body_gravity(x), frozen["gravity"], rtol=0, atol=PRINTED)
    assert abs(model.kinetic_energy(x, x_dot) - frozen["kinetic"]) < PRINTED
    assert abs(model.potential(x) - frozen["potential"]) < PRINTED
    np.testing.assert_allclose(model.force_map(x[3:7]).T @ x_dot, u, rtol=0, atol=1e-15)


def test_am_t3_frozen_quaternion_coordinates():
    """Of V1, with nu = 1 and R continued by E G^T."""
    x = frozen_state(V1_FROZEN["theta"])
    x_dot = V1.T(x[3:7]) @ V1_FROZEN["u"]
    g = [0.0, 0.0, 68.67, -4.434345826972, 2.430976441106]
    g += [-9.784992486600, -0.708514276740, -4.886899753590]
    np.testing.assert_allclose(V1.gravity_forces(x), g, rtol=0, atol=PRINTED)
    M, C = V1.mass_matrix(x), V1.coriolis(x, x_dot)
    found = [np.trace(M), np.linalg.norm(M), np.linalg.norm(C)]
    expected = [39.458013978716, 15.962654710057, 3.403490215652]
    np.testing.assert_allclose(found, expected, rtol=0, atol=PRINTED)


@MODELS
def test_am_t2_body_quantities_know_neither_nu_nor_the_extension(model):
    rng = np.random.default_rng(2)
    for _ in range(8):
        x, u = random_state(rng, model)
        f_B, T = rng.normal(0.0, 5.0, len(u)), model.T(x[3:7])
        M, bias, gravity = model.body_mass(x), model.body_bias(x, u), model.body_gravity(x)
        moved = T @ np.linalg.solve(M, f_B - bias) + model.T_dot(x[3:7], (T @ u)[3:7]) @ u
        for nu in (0.1, 1.0, 10.0):
            for normalised in (False, True):
                other = replace(model, nu=nu, normalised=normalised)
                assert np.max(np.abs(other.body_mass(x) - M)) < 1e-12
                assert np.max(np.abs(other.body_bias(x, u) - bias)) < 1e-10
                assert np.max(np.abs(other.body_gravity(x) - gravity)) < 1e-11
                v_dot = other.acceleration(x, T @ u, f_B, FREE)
                assert np.max(np.abs(v_dot - moved)) < 1e-12 * (1.0 + np.max(np.abs(moved))) * (
                    np.linalg.cond(M)
                )


@pytest.mark.parametrize(
    "normalised, scale", [(False, 1.21), (True, 1.0)], ids=["EGt", "normalised"]
)
def test_am_t2_rotation_and_its_extension(normalised, scale):
    q = random_state(np.random.default_rng(1), UAV, length=1.1)[0][3:7]
    R = Rotation.from_quat(np.roll(q, -1)).as_matrix()
    found = replace(UAV, normalised=normalised).rotation(q)
    assert np.max(np.abs(found - scale * R)) < 1e-14


@MODELS
@EXTENSIONS
def test_am_t2_stretching_is_an_eigendirection(model, normalised):
    """``M e = 4 nu N_B |q|^2 e``, off the unit sphere too: the projector of (79) needs no M."""
    rng, nu = np.random.default_rng(3), 0.7
    model = replace(model, nu=nu, normalised=normalised)
    for length in (0.9, 1.0, 1.1):
        x, _ = random_state(rng, model, length=length)
        M, A, e = model.mass_matrix(x), model.unity_row(x), np.zeros(len(x))
        e[3:7] = x[3:7]
        bodies = 1 + len(model.links)
        assert np.max(np.abs(M @ e - 4.0 * nu * bodies * length**2 * e)) < 1e-12
        values, vectors = np.linalg.eigh(M)
        root = vectors / np.sqrt(values) @ vectors.T
        assert np.max(np.abs(root @ np.linalg.pinv([A @ root])[:, 0] - A)) < 1e-11


@MODELS
@EXTENSIONS
def test_am_t4_passivity(model, normalised):
    """``M_dot - 2 C`` is skew, on and off the unit sphere."""
    rng = np.random.default_rng(4)
    model = replace(model, normalised=normalised)
    for _ in range(8):
        x, _ = random_state(rng, model, length=rng.uniform(0.9, 1.1))
        x_dot = rng.normal(0.0, 1.5, len(x))
        N = slope(model.mass_matrix, x, x_dot) - 2.0 * model.coriolis(x, x_dot)
        assert np.max(np.abs(N + N.T)) < 1e-11


@MODELS
@EXTENSIONS
def test_am_t5_energy_route_equals_christoffel(model, normalised):
    """(51) by polarisation of the energy and (52), against (44) and (48)."""
    rng = np.random.default_rng(5)
    model = replace(model, normalised=normalised)
    for _ in range(4):
        x, _ = random_state(rng, model, length=rng.uniform(0.9, 1.1))
        x_dot = rng.normal(0.0, 1.5, len(x))
        unit = np.eye(len(x))
        energy = np.array([[model.kinetic_energy(x, a + b) for b in unit] for a in unit])
        alone = np.diag(energy) / 4.0
        M = energy - alone - alone[:, None]
        assert np.max(np.abs(M - model.mass_matrix(x))) < 1e-12
        h = model.coriolis(x, x_dot) @ x_dot
        assert np.max(np.abs(model.energy_bias(x, x_dot) - h)) < 1e-11


@MODELS
def test_am_t6_velocities_are_rates_of_poses(model):
    """The Jacobians (40), (41), lever of (18) and order of (10) included, against derivatives of poses."""
    rng = np.random.default_rng(6)
    x, u = random_state(rng, model)
    x_dot = model.T(x[3:7]) @ u
    for i, (body, J) in enumerate(model.jacobians(x)):

        def place(x, i=i):
            return x[:3] + model.rotation(x[3:7]) @ model.bodies(x[7:])[i].p_BC

        def attitude(x, i=i):
            return model.rotation(x[3:7]) @ model.bodies(x[7:])[i].R_BL

        v_W, stretching, omega_W = np.split(J @ x_dot, [3, 4])
        assert np.max(np.abs(slope(place, x, x_dot) - v_W)) < 1e-13
        turning = slope(attitude, x, x_dot) @ attitude(x).T
        assert np.max(np.abs(turning - skew(omega_W))) < 1e-13
        assert abs(stretching[0]) < 1e-15
        assert np.max(np.abs(body.R_BL.T @ body.R_BL - np.eye(3))) < 1e-14


@MODELS
def test_am_t6_momentum_balance(model):
    """Outer forces alone change linear and angular momentum, whatever the joints do."""
    rng = np.random.default_rng(7)

    def momentum(z):
        x, v = np.split(z, 2)
        out, R_WB = np.zeros(6, z.dtype), model.rotation(x[3:7])
        for body, J in model.jacobians(x):
            linear, p_WC = body.mass * (J[:3] @ v), x[:3] + R_WB @ body.p_BC
            out[:3] += linear
            out[3:] += skew(p_WC) @ linear + R_WB @ body.inertia_B @ R_WB.T @ (J[4:] @ v)
        return out

    for _ in range(4):
        x, u = random_state(rng, model)
        f_B, v = rng.normal(0.0, 5.0, len(u)), model.T(x[3:7]) @ u
        R_WB = model.rotation(x[3:7])
        push = R_WB @ f_B[:3]
        wrench = np.concatenate([push, skew(x[:3]) @ push + R_WB @ f_B[3:6]])
        for body in model.bodies(x[7:]):
            weight = np.array([0.0, 0.0, -body.mass * model.gravity])
            wrench[:3] += weight
            wrench[3:] += skew(x[:3] + R_WB @ body.p_BC) @ weight
        v_dot = model.acceleration(x, v, f_B, FREE)
        rate = slope(momentum, np.concatenate([x, v]), np.concatenate([v, v_dot]))
        assert np.max(np.abs(rate - wrench)) < 1e-11


@MODELS
def test_am_t7_power_balance(model):
    """The energy changes by ``f_B . u``."""
    rng = np.random.default_rng(8)

    def energy(z):
        return model.kinetic_energy(*np.split(z, 2)) + model.potential(z[: len(z) // 2])

    for _ in range(4):
        x, u = random_state(rng, model)
        f_B, v = rng.normal(0.0, 5.0, len(u)), model.T(x[3:7]) @ u
        v_dot = model.acceleration(x, v, f_B, FREE)
        rate = slope(energy, np.concatenate([x, v]), np.concatenate([v, v_dot]))
        assert abs(rate - f_B @ u) < 1e-11


@MODELS
def test_am_t8_constraint_rates(model):
    """(79), (80): ``A x_dot = -phi / dt``, and the radial acceleration that goes with it."""
    rng, dt = np.random.default_rng(9), 1.0 / 240.0
    x, _ = random_state(rng, model, length=1.0005)
    v, f_B = rng.normal(size=len(x)), rng.normal(size=len(x) - 1)
    A, r = model.unity_row(x), x[3:7] / 1.0005
    assert abs(A @ model.velocity(x, v, dt) + 0.0005 / dt) < 1e-12
    across = v[3:7] - r * (r @ v[3:7])
    expected = -across @ across / 1.0005 - A @ v / dt
    assert abs(A @ model.acceleration(x, v, f_B, dt) - expected) < 1e-10


@pytest.mark.parametrize("model", [V1, V2], ids=["v1", "v2"])
def test_am_t8_unity_error_of_explicit_euler(model):
    """``dt^2 |omega|^2 / 8`` after every step, a property of the method."""
    rng, dt = np.random.default_rng(10), 1.0 / 240.0
    x, u = random_state(rng, model)
    z = np.concatenate([x, model.T(x[3:7]) @ u])
    for _ in range(120):
        v = model.velocity(*np.split(z, 2), dt)
        omega_B = 2.0 * body_rate_map(z[3:7]) @ v[3:7]
        z = model.euler_step(z, np.zeros(len(u)), dt)
        predicted = dt**2 * omega_B @ omega_B / 8.0
        assert abs(model.unity_error(z[: len(x)]) / predicted - 1.0) < 0.05


def planar_v1(s, thrust, pitch_torque):
    """Rate of (x, z, pitch, pitch + theta, and their rates) of V1 in its plane, from angles alone."""
    d, c, m, m_base, g = 0.10, 0.5, 1.0, 6.0, 9.81
    _, _, a, b, *_, a_dot, b_dot = s
    J = np.array(
        [[1.0, 0.0, -d * np.cos(a), -c * np.sin(b)], [0.0, 1.0, d * np.sin(a), -c * np.cos(b)]]
    )
    J_dot_s = d * a_dot**2 * np.array([np.sin(a), np.cos(a)])
    J_dot_s += c * b_dot**2 * np.array([-np.cos(b), np.sin(b)])
    M = np.diag([m_base, m_base, BASE_INERTIA[1, 1], LINK_INERTIA[1, 1]]) + m * J.T @ J
    force = np.array([thrust * np.sin(a), thrust * np.cos(a) - m_base * g, pitch_torque, 0.0])
    return np.concatenate(
        [s[4:], np.linalg.solve(M, force - m * J.T @ (J_dot_s + np.array([0.0, g])))]
    )


def test_am_t14_backflip():
    """V1 from 45 deg turns over on -4 and +4 N m: turn, peak rate, unity error, and a planar model in angles.

    The planar model is solved to 1e-11; the bound is a few times the error of Runge-Kutta at 480 Hz.
    """
    rate_hz, theta = 480, np.pi / 4.0
    x = np.array([0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, theta])
    z, planar = np.concatenate([x, np.zeros(8)]), np.array([0.0, 2.0, 0.0, theta, *np.zeros(4)])
    peak, worst = 0.0, 0.0
    for seconds, torque in ((0.6, -4.0), (0.6, 0.0), (0.6, 4.0), (0.2, 0.0)):
        for _ in range(round(seconds * rate_hz)):
            z = V1.rk4_step(z, np.array([0.0, 0.0, 70.0, 0.0, torque, 0.0, 0.0]), 1.0 / rate_hz)
            omega_B = 2.0 * body_rate_map(z[3:7]) @ z[11:15]
            peak = max(peak, float(np.linalg.norm(omega_B)))
            worst = max(worst, abs(V1.unity_error(z[:8])))
        planar = solve_ivp(
            lambda _, s, torque=torque: planar_v1(s, 70.0, torque),
            (0.0, seconds),
            planar,
            method="DOP853",
            rtol=1e-11,
            atol=1e-12,
        ).y[:, -1]
    assert abs(np.degrees(planar[2]) + 311.0) < 0.5
    assert abs(peak - 4.9) < 0.05
    assert abs(worst - 4.3e-7) < 0.05e-7
    half = 0.5 * planar[2]
    q = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
    expected = [planar[0], 0.0, planar[1], *q, planar[3] - planar[2]]
    assert np.max(np.abs(z[:8] - expected)) < 3e-7


def test_am_t16_order_of_joints_does_not_matter():
    """Breadth first and depth first."""
    depth_first = [0, 2, 3, 5, 1, 4]
    new = {BASE: BASE, **{old: i for i, old in enumerate(depth_first)}}
    links = (TREE.links[old] for old in depth_first)
    other = replace(TREE, links=tuple(replace(k, parent=new[k.parent]) for k in links))
    x, _ = random_state(np.random.default_rng(11), TREE)
    order = np.concatenate([np.arange(7), 7 + np.array(depth_first)])
    M = TREE.mass_matrix(x)[np.ix_(order, order)]
    assert np.max(np.abs(other.mass_matrix(x[order]) - M)) < 1e-12


def test_am_t16_children_before_parents_and_long_axes_are_refused():
    link = V1.links[0]
    with pytest.raises(ValueError, match=r"links\[0\].parent: must be in -1..-1, got 0"):
        replace(V1, links=(replace(link, parent=0),))
    with pytest.raises(ValueError, match=r"links\[0\].axis: must have unit length"):
        replace(V1, links=(replace(link, axis=2.0 * Y),))
