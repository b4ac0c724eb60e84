"""Control laws against golden vectors G7-G9, and signs that a typo would turn."""

from dataclasses import replace

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat, rotate_vector

from rotor_control.controller import make_controller
from rotor_control.gains import CABLE_RATE_GAIN
from rotor_control.laws.attitude import desired_rotation, rotation_error, tracking_moment
from rotor_control.laws.limits import LEAST_LIFT, clamp_norm, limit_tilt
from rotor_control.laws.rigid_team import structure_allocation
from rotor_control.team_laws import structure
from rotor_core.config.controllers import QuadrotorControl
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Actuation
from rotor_core.errors import ConfigError
from rotor_core.reference import ACCELERATION, ATTITUDE, POSITION, REFERENCE, VELOCITY


def unlimited(name):
    return make_controller(replace(load_scenario(name), actuation=Actuation(limits=False)))


def target():
    """The target of G7 and G8."""
    r = np.zeros((1, REFERENCE))
    (
        r[0, POSITION : POSITION + 3],
        r[0, VELOCITY : VELOCITY + 3],
        r[0, ACCELERATION : ACCELERATION + 3],
    ) = (0.1, 0.2, 0.1), (0.05, 0, 0), (0, 0.1, 0)
    r[0, ATTITUDE] = 1.0
    return r


def test_point_mass_law():
    """G7."""
    xi = np.array([0.1, -0.05, -1.0])
    xi /= np.linalg.norm(xi)
    states = np.zeros((2, 13))
    states[:, 3] = 1.0
    states[0, :3] = (0, 0, 0.5)
    states[0, 3:7] = (np.cos(0.05), 0, np.sin(0.05), 0)
    states[0, 7:10], states[0, 10:13] = (0.05, 0.02, 0.05), (0.1, 0.2, 0.3)
    states[1, :3], states[1, 7:10] = states[0, :3] + 0.5 * xi, (0.1, 0, 0.05)
    out = unlimited("dragonfly_point_mass").decide(states, target())
    np.testing.assert_allclose(out[0], (3.1681140, -0.0111713, -0.0344644, -0.0016143), atol=1e-7)


def rest_geometry():
    scenario = load_scenario("three_dragonflies_triangular_1m")
    states = np.zeros((4, 13))
    states[:, 3] = 1.0
    for k, cable in enumerate(scenario.model.cables):
        states[k, :3] = np.array(cable.b_point_m) + (0, 0, 1.0)
    return states


def test_cable_team_law():
    """G8: states are vehicles first, then the payload."""
    states = rest_geometry()
    states[3, 7:10], states[3, 10:13] = (0.1, -0.05, 0.02), (0.1, 0.05, -0.1)
    states[3, 3:7] = (np.cos(0.05), np.sin(0.05), 0, 0)
    states[0, 0] += 0.05
    states[1, 1] -= 0.04
    out = unlimited("three_dragonflies_triangular_1m").decide(states, target())
    expected = [
        (3.6615692, -0.0258520, 0.0081706, -0.0001356),
        (3.5753619, -0.0360150, 0.0200940, -0.0004664),
        (3.4156970, -0.0389612, 0.0235105, -0.0005912),
    ]
    np.testing.assert_allclose(out, expected, atol=1e-7)


def test_hover_distribution():
    """G8: thrusts at rest on the reference."""
    reference = np.zeros((1, REFERENCE))
    reference[0, ATTITUDE] = 1.0
    out = unlimited("three_dragonflies_triangular_1m").decide(rest_geometry(), reference)
    np.testing.assert_allclose(out[:, 0], (3.3618550, 3.3609701, 3.3618550), atol=1e-7)
    np.testing.assert_allclose(out[:, 1:], 0.0, atol=1e-12)


def test_two_vehicles_on_a_bar_have_a_finite_distribution():
    """E-P7.

    P P^T has rank 5; the pseudo-inverse shares equally and asks nothing about the bar's axis.
    """
    controller = unlimited("two_dragonflies_bar")
    states = np.zeros((3, 13))
    states[:, 3] = 1.0
    states[0, :3], states[1, :3] = (0, -0.19, 0.5097), (0, 0.19, 0.5097)
    reference = np.zeros((1, REFERENCE))
    reference[0, ATTITUDE] = 1.0
    out = controller.decide(states, reference)
    np.testing.assert_allclose(out[:, 0], 9.81 * (0.25 + 0.104 / 2), rtol=1e-9)


def test_rigid_allocation():
    """G9 and RT-A14: the wrench comes back through the true A."""
    scenario = load_scenario("three_dragonflies_triangular_rigid")
    paper = replace(scenario.controller, allocation="moments")
    controller = make_controller(replace(scenario, controller=paper))
    mass, _, _, points, rotations = structure(scenario.model, controller.teams[0])
    assert structure_allocation(points, rotations).shape == (4, 12)
    allocation = controller.laws[0].allocation
    first = (allocation @ (mass * 9.81, 0, 0, 0, 1.0)).reshape(3, 4)
    np.testing.assert_allclose(first[:, 0], (3.4186416, 3.2473967, 3.4186416), atol=1e-7)
    np.testing.assert_allclose(first[:, 2], 0.0370419, atol=1e-7)
    second = (allocation @ (mass * 9.81, 0.1, -0.05, 0.02, 1.0)).reshape(3, 4)
    np.testing.assert_allclose(second[:, 0], (3.3409001, 3.2822231, 3.4615568), atol=1e-7)
    np.testing.assert_allclose(second[:, 1:], [(0.0225949, 0.0257420, 0.0066667)] * 3, atol=1e-7)


@pytest.mark.parametrize(
    "name",
    [
        "three_dragonflies_triangular_rigid",
        "heterogeneous_triangular_rigid",
        "five_dragonflies_triangular_rigid",
    ],
)
def test_allocation_returns_the_request(name):
    scenario = load_scenario(name)
    controller = make_controller(scenario)
    _, _, _, points, rotations = structure(scenario.model, controller.teams[0])
    A = structure_allocation(points, rotations)
    rng = np.random.default_rng(0)
    for _ in range(50):
        request = rng.normal(size=4) * (10, 0.3, 0.3, 0.1)
        np.testing.assert_allclose(
            A @ controller.laws[0].allocation @ np.append(request, 1.0), request, atol=1e-9
        )


def test_attitude_law_pulls_towards_the_target():
    """E-P2.

    With the paper's sign in eq 73 the error grows; here the moment has the sign of the wanted
    rotation.
    """
    identity = (1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0)
    J = (6e-4, 0, 0, 0, 6e-4, 0, 0, 0, 1e-3)
    for axis in range(3):
        turn = np.zeros(3)
        turn[axis] = 0.1
        q = np.concatenate([[np.cos(0.05)], np.sin(0.05) * turn / 0.1])
        R_des = tuple(quat2mat(q).ravel())
        np.testing.assert_allclose(
            rotation_error(identity, R_des), np.sin(0.1) * turn / 0.1, atol=1e-14
        )
        tau = tracking_moment(
            identity, (0.0, 0, 0), R_des, (0.0, 0, 0), (0.0, 0, 0), J, (0.25,) * 3, (0.025,) * 3
        )
        assert tau[axis] > 0.02


def test_exact_tracking_of_a_turning_attitude_needs_no_feedback():
    """Feed-forward: with zero errors the moment is J alpha + omega x J omega."""
    rng = np.random.default_rng(1)
    q = rng.normal(size=4)
    R = tuple(quat2mat(q / np.linalg.norm(q)).ravel())
    omega, alpha, J = rng.normal(size=3), rng.normal(size=3), np.diag([6e-4, 5e-4, 1e-3])
    tau = tracking_moment(
        R, tuple(omega), R, tuple(omega), tuple(alpha), tuple(J.ravel()), (0.2,) * 3, (0.02,) * 3
    )
    np.testing.assert_allclose(tau, J @ alpha + np.cross(omega, J @ omega), atol=1e-15)


def test_desired_rotation_points_along_the_force_and_heads_to_yaw():
    rng = np.random.default_rng(2)
    for _ in range(100):
        force, yaw = rng.normal(size=3), rng.uniform(-3, 3)
        R = np.array(desired_rotation(tuple(force), yaw)).reshape(3, 3)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(R) == pytest.approx(1.0)
        np.testing.assert_allclose(R[:, 2], force / np.linalg.norm(force), atol=1e-12)
        heading = np.array([np.cos(yaw), np.sin(yaw), 0])
        assert R[:, 0] @ heading > 0 and abs(R[:, 1] @ heading) < 1e-12
    for force in (
        (0.0, 0.0, 0.0),
        (2.0, 0.0, 0.0),
        (-2.0, 0.0, 0.0),
    ):  # no force; thrust along the heading
        R = np.array(desired_rotation(force, 0.0)).reshape(3, 3)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)


def test_tilt_limit():
    limited = np.array(limit_tilt((5.0, 0.0, 1.0), np.cos(np.radians(30)), 0.5))
    assert np.degrees(np.arctan2(limited[0], limited[2])) == pytest.approx(30.0)
    assert limit_tilt((0.1, 0.0, 1.0), np.cos(np.radians(30)), 0.5) == (0.1, 0.0, 1.0)


@pytest.mark.parametrize("upward", [1e-9, 0.0, -1e-9, -3.0])
def test_a_vehicle_that_should_fall_stays_upright(upward):
    """A small force to one side leans it a little, whatever the sign of the upward force; never as far as it may."""
    mass, side = 0.5, 1e-3
    force = limit_tilt((side, 0.0, upward), np.cos(np.radians(80)), mass)
    assert force[0] == side and force[2] == LEAST_LIFT * mass
    far = limit_tilt((5.0, 0.0, upward), np.cos(np.radians(30)), mass)
    assert np.degrees(np.arctan2(far[0], far[2])) == pytest.approx(30.0)


def test_the_tilt_limit_has_no_step():
    """Along any path of wanted forces, through nothing and downward, what is limited moves no faster."""
    cos_max, mass = np.cos(np.radians(60)), 0.5
    for upward in (0.3, 0.24, 0.0, -1.0):
        sides = np.linspace(-2.0, 2.0, 4001)
        limited = np.array([limit_tilt((x, 0.2, upward), cos_max, mass) for x in sides])
        assert np.abs(np.diff(limited, axis=0)).max() <= (sides[1] - sides[0]) * (1.0 + 1e-9)
    heights = np.linspace(-1.0, 1.0, 4001)
    limited = np.array([limit_tilt((0.7, -0.2, z), cos_max, mass) for z in heights])
    steepest = np.tan(np.radians(60))  # the side follows the height at the limit
    assert np.abs(np.diff(limited, axis=0)).max() <= (heights[1] - heights[0]) * steepest * 1.01


def test_far_targets_seem_near():
    assert clamp_norm((0.3, 0.0, 0.4), 0.5) == (0.3, 0.0, 0.4)
    np.testing.assert_allclose(clamp_norm((3.0, 0.0, 4.0), 0.5), (0.3, 0.0, 0.4))


def test_rotated_worlds_get_rotated_answers():
    """Turning states, target and heading about the vertical changes no thrust and no body moment."""
    states = rest_geometry()
    rng = np.random.default_rng(3)
    states[:, :3] += rng.normal(0, 0.05, (4, 3))
    states[:, 7:13] = rng.normal(0, 0.2, (4, 6))
    # gains that do not single out x and y are needed for this symmetry
    controller = unlimited("three_dragonflies_triangular_1m")
    controller.laws[0].vehicles[:, CABLE_RATE_GAIN : CABLE_RATE_GAIN + 3] = 6.7
    q = np.array([np.cos(0.4), 0, 0, np.sin(0.4)])
    turned, reference, turned_reference = states.copy(), target(), target()
    from transforms3d.quaternions import qmult

    for row in turned:
        row[:3], row[7:10], row[3:7] = (
            rotate_vector(row[:3], q),
            rotate_vector(row[7:10], q),
            qmult(q, row[3:7]),
        )
    for column in (POSITION, VELOCITY, ACCELERATION):
        turned_reference[0, column : column + 3] = rotate_vector(
            reference[0, column : column + 3], q
        )
    turned_reference[0, ATTITUDE : ATTITUDE + 4] = q
    turned_reference[0, 25] = 0.8
    a = controller.decide(states, reference).copy()
    np.testing.assert_allclose(controller.decide(turned, turned_reference), a, atol=1e-10)


def test_wrong_controllers_are_refused():
    scenario = replace(load_scenario("slalom"), controller=QuadrotorControl("quadrotor"))
    with pytest.raises(ConfigError, match="needs cable_team, got quadrotor"):
        make_controller(scenario)
