"""Body decomposition, and a helicopter of 13 coordinates: against Lagrange's equations, frozen numbers, the laws of
mechanics; and the errors of the paper, by showing that its formulas fail as printed.
"""

from dataclasses import replace

import numpy as np
import pytest
from helicopters import HELICOPTERS, ROUNDING, SOLVED, close, drawn, in_angles, in_twists
from trees import unit
from worlds import random_inertia

from validation.oracles.kkt import skew
from validation.oracles.kremer import axis_rotation, block_diagonal, gradient, slope
from validation.oracles.palacios import (
    BASE,
    EZ,
    Body,
    Link,
    Tree,
    base_of_twist,
    frame_change,
    frame_change_rate,
    frame_change_rate_from_parent,
    momentum_commutator,
    shifted,
    sweep,
    turned,
    twist_commutator,
)
from validation.oracles.palacios_helicopter import ORDERS, Helicopter
from validation.oracles.palacios_lagrange import ExplicitLagrange


def random_tree(seed, n=6):
    rng = np.random.default_rng(seed)

    def body(mass):
        return Body(mass, rng.uniform(-0.2, 0.2, 3), random_inertia(rng, mass))

    links = (
        Link(
            int(rng.integers(BASE, i)), unit(rng), rng.uniform(-0.4, 0.4, 3),
            axis_rotation(2.0, unit(rng)), body(rng.uniform(0.2, 1.5)),
        )
        for i in range(n)
    )  # fmt: skip
    return Tree(body(4.0), tuple(links))


# --- HE-T1: Lagrange, without any recursion -------------------------------------------------------


@HELICOPTERS
def test_he_t1_against_lagrange(tree):
    lagrange = ExplicitLagrange(tree)
    for rng, x, x_dot in drawn(1):
        s, tau = in_angles(tree, x, x_dot), rng.normal(0.0, 5.0, 13)
        close(s.mass_matrix(), lagrange.mass_matrix(x), ROUNDING)
        close(s.gravity(), lagrange.gravity(x), ROUNDING)
        h = lagrange.bias(x, x_dot)
        close(s.bias(), h, ROUNDING)
        close(s.coriolis() @ x_dot + s.gravity(), h, ROUNDING)
        close(s.accelerations(tau), np.linalg.solve(lagrange.mass_matrix(x), tau - h), SOLVED)


@pytest.mark.parametrize("seed", range(5))
def test_he_t1_any_tree_against_lagrange(seed):
    tree = random_tree(seed)
    lagrange = ExplicitLagrange(tree)
    for _, x, x_dot in drawn(seed, n=6, count=3):
        s = in_angles(tree, x, x_dot)
        close(s.mass_matrix(), lagrange.mass_matrix(x), ROUNDING)
        close(s.bias(), lagrange.bias(x, x_dot), ROUNDING)
        energy = 0.5 * x_dot @ s.mass_matrix() @ x_dot
        assert lagrange.kinetic_energy(x, x_dot) == pytest.approx(energy, rel=ROUNDING)


# --- HE-T2: frozen vectors ------------------------------------------------------------------------

X_FROZEN = np.array([0, 0, 0, 0.1, -0.2, 0.3, 0.7, 0.1, 0.05, 0.03, 0.12, -0.02, 0.01])
RATES_FROZEN = np.array([0.5, -0.3, 0.2, 0.4, -0.1, 0.6, 167, 1, 2, -1, -1, 3, 0.5])
PRINTED = 1e-9
"""HE-T2; the numbers have ten decimals."""

# fmt: off
FROZEN = {
    ORDERS[0]: {
        "diagonal": [8.2, 8.2, 8.2, 0.2377080182, 0.4126037270, 0.3528700146, 0.0761934977, 0.0001716745,
                     0.0379694766, 0.0305305915, 0.0000676892, 0.0379966077, 0.0305305915],
        "trace, norm": [25.8166418884, 14.2181022408],
        "h": [-45.6843754208, -30.0387544008, 68.1996211295, -34.3606096454, -59.7241265127, -12.3179409169,
              -0.3893641082, -1.2164805613, 44.9591909488, 0.1183442410, 0.2803439125, -15.6815477344, 1.7112428361],
        "g": [0, 0, 80.442, 0.0119957774, -0.0064257893, 0, 0.0017780078, -0.0147617696, 0.7069874324,
              0.0624561922, -0.0013115755, 0.6763871238, -0.1974831699],
    },
    ORDERS[1]: {
        "diagonal": [8.2, 8.2, 8.2, 0.2448900813, 0.4197858052, 0.3530602284, 0.0753807225, 0.0379696685,
                     0.0000768298, 0.0305305915, 0.0379966287, 0.0000524926, 0.0305305915],
        "trace, norm": [25.8302736399, 14.2185209607],
        "h": [-43.9857406527, -13.7878294801, 70.8934534432, 20.7882077166, 11.9602960655, 4.9266412130,
              0.3830921985, 99.5489039331, -2.5908501087, -0.5909289718, 130.4646501045, -1.1964706144, 1.6175576405],
        "g": [0, 0, 80.442, -0.0069728192, 0.0222432360, 0, 0.0008142192, 0.6903321220, -0.0181320362,
              0.0927416650, 0.7028756092, -0.0061214761, -0.1143011421],
    },
}
# fmt: on


@pytest.mark.parametrize("order", FROZEN)
def test_he_t2_frozen_vectors(order):
    tree = Helicopter().tree(order)
    s, frozen = in_angles(tree, X_FROZEN, RATES_FROZEN), FROZEN[order]
    H = s.mass_matrix()
    found = {
        "diagonal": np.diag(H),
        "trace, norm": [np.trace(H), np.linalg.norm(H)],
        "h": s.bias(),
        "g": s.gravity(),
    }
    for what, expected in frozen.items():
        np.testing.assert_allclose(found[what], expected, rtol=0.0, atol=PRINTED, err_msg=what)


def test_he_t2_derived_data():
    """Blade, fuselage and the centre of mass of everything, which is the origin."""
    helicopter = Helicopter()
    tree, blade = helicopter.tree(), helicopter.blade
    assert blade.mass == pytest.approx(0.1763954973, abs=1e-10)
    np.testing.assert_allclose(
        np.diag(blade.inertia), [4.944954e-5, 7.620285e-3, 7.669735e-3], rtol=1e-6
    )
    assert tree.base.mass == pytest.approx(7.7472090055, abs=1e-10)
    assert tree.base.com[2] == pytest.approx(-0.0137347377, abs=1e-10)
    assert ExplicitLagrange(tree).potential(np.zeros(13)) == pytest.approx(0.0, abs=1e-14)
    with pytest.raises(ValueError, match="lag not first"):
        helicopter.tree(("lag", "flap", "pitch"))


@pytest.mark.parametrize("sense", [-1, 1])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_he_t2_signs(order, sense):
    """Blades turn towards their leading edge; pitch is nose up, flap up, lag aft; the blades are opposite."""
    tree = Helicopter().tree(order, sense)
    s = sweep(tree, base_of_twist(np.eye(3), np.zeros(6)), np.zeros(7), np.zeros(7))
    edge, span = sense * np.array([0.0, 0.03, 0.0]), np.array([0.72, 0.0, 0.0])
    for blade, outboard in ((4, 1.0), (7, -1.0)):
        columns = dict(zip(order, s.J[blade].T[blade + 3 : blade + 6], strict=True))
        np.testing.assert_allclose(s.R[blade] @ span, outboard * span)
        for column, point, towards in (
            (s.J[blade, :, 6], span, edge), (columns["pitch"], edge, EZ), (columns["flap"], span, EZ),
            (columns["lag"], span, -edge),
        ):  # fmt: skip
            v = (shifted(point) @ column)[:3]
            assert v @ towards == pytest.approx(np.linalg.norm(v) * np.linalg.norm(towards))


def test_he_t2_senses_mirror_each_other():
    """In the plane of x and z: left and right, roll and yaw change their signs, the rotor's own angles do not."""
    mirror = np.ones(13)
    mirror[[1, 3, 5]] = -1.0
    for order in ORDERS:
        one, other = Helicopter().tree(order, -1), Helicopter().tree(order, 1)
        for _, x, x_dot in drawn(10, count=2):
            s, m = in_angles(one, x, x_dot), in_angles(other, mirror * x, mirror * x_dot)
            close(np.outer(mirror, mirror) * m.mass_matrix(), s.mass_matrix(), ROUNDING)
            close(mirror * m.bias(), s.bias(), ROUNDING)


# --- HE-T3: structure -----------------------------------------------------------------------------


@HELICOPTERS
def test_he_t3_passivity(tree):
    """``2 C - H_dot`` is skew, and H_dot is the rate of H, by complex steps: in both kinds of velocities."""
    for _, x, x_dot in drawn(6, count=5):
        for s in (in_angles(tree, x, x_dot), in_twists(tree, x, x_dot)):
            N = 2.0 * s.coriolis() - s.mass_matrix_rate()
            assert np.max(np.abs(N + N.T)) < ROUNDING * np.max(np.abs(s.mass_matrix_rate()))
        angles = slope(lambda y, v=x_dot: in_angles(tree, y, v).mass_matrix(), x, x_dot)
        close(in_angles(tree, x, x_dot).mass_matrix_rate(), angles, ROUNDING)
        twists = slope(lambda y, v=x_dot: in_twists(tree, y, v).mass_matrix(), x, x_dot)
        close(in_twists(tree, x, x_dot).mass_matrix_rate(), twists, ROUNDING)


def test_he_t3_power_balance():
    """Of every motion: the power of tau, (9), is the rate of kinetic and potential energy."""
    tree = Helicopter().tree()
    lagrange = ExplicitLagrange(tree)

    def energy(z):
        x, x_dot = np.split(z, 2)
        return 0.5 * x_dot @ lagrange.mass_matrix(x) @ x_dot + lagrange.potential(x)

    for rng, x, x_dot in drawn(7, count=5):
        s, x_ddot = in_angles(tree, x, x_dot), rng.normal(0.0, 50.0, 13)
        power = x_dot @ (s.mass_matrix() @ x_ddot + s.bias())
        rate = slope(energy, np.concatenate([x, x_dot]), np.concatenate([x_dot, x_ddot]))
        largest = np.max(np.abs(x_dot * (s.mass_matrix() @ x_ddot)))
        assert abs(rate - power) < ROUNDING * largest


def test_he_t3_sizes():
    """8 bodies, half of them without mass, 13 coordinates: not one per body (H8), joints behind the base (H9)."""
    tree = Helicopter().tree()
    s = in_angles(tree, X_FROZEN, RATES_FROZEN)
    assert s.J.shape == (8, 6, 13)
    assert sum(body.mass == 0.0 for body in tree.bodies) == 4
    for i in range(7):
        assert np.any(s.J[i + 1, :, 6 + i]) and not np.any(s.J[: i + 1, :, 6 + i])


# --- HE-T4: operators, and what is printed wrong --------------------------------------------------


def relative_motion(rng):
    """A frame in another at t = 0: place and attitude as functions of time, and their rates there."""
    d, d_dot, w = rng.normal(size=(3, 3))
    R, rate = axis_rotation(1.0, unit(rng)), np.linalg.norm(w)
    return lambda t: d + t * d_dot, lambda t: axis_rotation(t * rate, w / rate) @ R, d_dot, w


def at_zero(function):
    """Derivative with respect to time at t = 0."""
    return slope(lambda t: function(t[0]), np.zeros(1), np.ones(1))


EXACT = 1e-13
"""Of products of matrices with entries near one."""


@pytest.mark.parametrize("seed", range(5))
def test_he_t4_operators(seed):
    """(2)-(5): both forms of X, duality of twists and wrenches, commutators."""
    rng = np.random.default_rng(seed)
    d, a, b, c = rng.normal(size=3), *rng.normal(size=(3, 6))
    R = axis_rotation(2.0, unit(rng))
    X = frame_change(d, R)
    Om, S = twist_commutator, momentum_commutator
    close(X, shifted(R.T @ d) @ turned(R).T, EXACT)
    close(shifted(a[:3]) @ shifted(b[:3]), shifted(a[:3] + b[:3]), EXACT)
    close(shifted(a[:3]) @ b, np.concatenate([b[:3] + np.cross(b[3:], a[:3]), b[3:]]), EXACT)
    close(shifted(a[:3]).T @ b, np.concatenate([b[:3], b[3:] + np.cross(a[:3], b[:3])]), EXACT)
    close(Om(a) @ b, -Om(b) @ a, EXACT)
    close(Om(a) @ Om(b) - Om(b) @ Om(a), Om(Om(a) @ b), EXACT)
    close(Om(X @ a) @ X, X @ Om(a), EXACT)
    close(Om(a).T @ b, S(b) @ a, EXACT)
    close(S(b).T, -S(b), EXACT)
    close(X.T @ S(c) @ X, S(X.T @ c), EXACT)


@pytest.mark.parametrize("seed", range(5))
def test_he_t4_rate_of_a_frame_change(seed):
    """(6): its second form, its first form corrected, and as printed (H1), which fails."""
    place, attitude, d_dot, w = relative_motion(np.random.default_rng(seed))
    d, R = place(0.0), attitude(0.0)
    X, X_dot = frame_change(d, R), at_zero(lambda t: frame_change(place(t), attitude(t)))
    v_child = turned(R).T @ np.concatenate([d_dot, w])
    v_parent = np.concatenate([d_dot - np.cross(w, d), w])
    close(at_zero(lambda t: turned(attitude(t))), turned(skew(w) @ R), EXACT)
    close(v_child, X @ v_parent, EXACT)
    close(frame_change_rate(X, v_child), X_dot, EXACT)
    close(frame_change_rate_from_parent(X, v_parent), X_dot, EXACT)
    printed = frame_change_rate_from_parent(X, turned(R) @ v_child)
    assert np.max(np.abs(printed - X_dot)) > 0.1


BLADE = Helicopter().blade
LEVEL = sweep(Tree(BLADE), base_of_twist(np.eye(3), np.zeros(6)), np.zeros(0), np.zeros(0))


def test_he_t4_mass_of_a_body():
    """(7): momentum about the origin of what is known about the centre; as printed (H2) it is asymmetric."""
    to_centre = shifted(BLADE.com)
    about_centre = block_diagonal(BLADE.mass * np.eye(3), BLADE.inertia)
    close(BLADE.M, to_centre.T @ about_centre @ to_centre, EXACT)
    printed = BLADE.M.copy()
    printed[3:, 3:] = BLADE.inertia - BLADE.mass * skew(BLADE.com)
    assert np.max(np.abs(printed - printed.T)) == pytest.approx(0.127, abs=5e-4)
    assert (BLADE.M - printed)[5, 5] == pytest.approx(0.0229, abs=5e-5)  # kg m2


def test_he_t4_weight_has_a_moment():
    """(8): M G holds a level blade at its hinge; m G, as printed (H3), forgets the lever."""
    held = LEVEL.forces(np.zeros((1, 6)))[0]
    g_W = -9.81 * EZ
    close(held, -np.concatenate([BLADE.mass * g_W, np.cross(BLADE.com, BLADE.mass * g_W)]), EXACT)
    printed = -BLADE.mass * LEVEL.G[0]
    assert np.linalg.norm(held - printed) == pytest.approx(0.623, abs=5e-4)  # N m


def test_he_t4_rate_of_jacobians():
    """By complex steps; with J instead of its rate in the recursion, as printed (H4), it fails."""
    tree = Helicopter().tree()
    for _, x, x_dot in drawn(8, count=5):
        s = in_angles(tree, x, x_dot)
        exact = slope(lambda y, v=x_dot: in_angles(tree, y, v).J, x, x_dot)
        close(s.J_dot, exact, ROUNDING)
        close(s.v, s.J @ x_dot, ROUNDING)
        close(s.a, s.J_dot @ x_dot, ROUNDING)
        hub, turn = tree.links[0], axis_rotation(x[6], tree.links[0].axis)
        own = x_dot[6] * np.concatenate([np.zeros(3), hub.axis])
        X = frame_change(turn @ hub.offset, turn @ hub.turn)
        printed = X @ (s.J[0] - twist_commutator(own) @ s.J[0])
        assert np.max(np.abs(printed - exact[1])) > 0.1


def test_he_t4_efforts_of_bodies():
    """(16) over (8) with rates of twists by complex steps is ``H u_dot + h``; ``H u + h``, as printed (H5), is not."""
    tree = Helicopter().tree()
    for rng, x, x_dot in drawn(9, count=5):
        x_ddot = rng.normal(0.0, 50.0, 13)
        z, z_dot = np.concatenate([x, x_dot]), np.concatenate([x_dot, x_ddot])
        v_dot = slope(lambda y: in_angles(tree, *np.split(y, 2)).v, z, z_dot)
        s = in_angles(tree, x, x_dot)
        tau = s.gathered(s.forces(v_dot))
        close(s.mass_matrix() @ x_ddot + s.bias(), tau, ROUNDING)
        assert np.max(np.abs(s.mass_matrix() @ x_dot + s.bias() - tau)) > 0.1 * np.max(np.abs(tau))


# --- HE-T5: the spinning blade --------------------------------------------------------------------

SPEED = 167.0  # rad/s
PER_REV = 1e-5


def frequencies(tree, blade, stiffness):
    """Of a blade on a hub that turns steadily, per revolution, (3,), rising; without weight.

    Complex steps make the linear equations ``M b'' + D b' + K b = 0`` from the bias.
    """
    hinges, tree = 1 + 3 * blade + np.arange(3), replace(tree, gravity=0.0)
    own = 6 + hinges

    def motion(y):
        theta, rates = np.zeros((2, 7), y.dtype)
        theta[hinges], rates[hinges] = np.split(y, 2)
        rates[0] = SPEED
        return sweep(tree, base_of_twist(np.eye(3), np.zeros(6)), theta, rates)

    K, D = np.split(gradient(lambda y: motion(y).bias()[own], np.zeros(6)).T, 2, axis=1)
    M = motion(np.zeros(6)).mass_matrix()[np.ix_(own, own)]
    below = -np.linalg.solve(M, np.hstack([K + np.diag(stiffness), D]))
    values = np.linalg.eigvals(np.vstack([np.eye(3, 6, 3), below])) / SPEED
    assert np.max(np.abs(values.real)) < PER_REV
    return np.sort(values.imag)[3:]


LAG = np.sqrt(0.055 * BLADE.mass * BLADE.com[0] / BLADE.M[5, 5])


@pytest.mark.parametrize("sense", [-1, 1])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_he_t5_frequencies_in_vacuo(order, sense):
    """Lag sqrt(e m L / 2 I), flap and feather of a flat blade once per revolution, flap stiffened by its spring."""
    tree = Helicopter().tree(order, sense)
    spring = 54.0  # N m/rad
    stiff = np.sqrt(1.0 + spring / (0.038 * SPEED**2))
    assert LAG == pytest.approx(0.338227, abs=1e-6)
    assert stiff == pytest.approx(1.0252, abs=5e-5)
    for blade in (0, 1):
        close(frequencies(tree, blade, np.zeros(3)), [LAG, 1.0, 1.0], PER_REV)
        stiffness = spring * np.array([hinge == "flap" for hinge in order])
        close(frequencies(tree, blade, stiffness), [LAG, 1.0, stiff], PER_REV)
