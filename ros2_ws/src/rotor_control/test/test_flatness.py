"""Nominal motions of cables and vehicles: against exact dynamics, closed forms and the tracking they are for."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from rotor_control.controller import make_controller
from rotor_control.laws.flatness import (
    CABLE_ACCELERATION,
    CABLE_RATE,
    NOMINAL_ACCELERATION,
    NOMINAL_RATE,
    SPACING,
    differentiation_matrix,
)
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Actuation
from rotor_core.plans.plan import AXES, PHASE, YAW, Plan
from rotor_planning.trajectories.plans import waypoints


def nominal(name, **control):
    scenario = load_scenario(name)
    chosen = replace(scenario.controller, feedforward="nominal", **control)
    return replace(scenario, controller=chosen, actuation=Actuation(limits=False))


def steady_circle(radius, rate):
    """A circle for ever at a constant rate, 100 s of it."""
    coefficients = np.zeros((1, AXES, 2))
    coefficients[0, PHASE] = [0.0, 100.0 * rate]
    return Plan(np.array([100.0]), coefficients, radius)


def test_differentiation_is_exact_for_polynomials():
    """Seven samples: degree six, first and second derivatives everywhere."""
    D, t = differentiation_matrix(7, SPACING), SPACING * (np.arange(7) - 3)
    p = Polynomial([0.3, -1.0, 2.0, 0.7, -5.0, 11.0, 30.0])
    np.testing.assert_allclose(D @ p(t), p.deriv()(t), rtol=1e-9)
    np.testing.assert_allclose(D @ D @ p(t), p.deriv(2)(t), rtol=1e-7)


def test_steady_circle_of_a_point_mass_in_closed_form():
    """A conical pendulum: cable and vehicle lean by fixed angles and turn with the circle about the vertical.

    Load: tan(lean) = r w^2 / g inwards. Vehicle at radius r - l sin(lean): its thrust leans by the
    total of both accelerations. Rate about the vertical w (0, 0, 1) for the cable's direction.
    """
    radius, rate = 0.8, 1.7
    scenario = nominal("dragonfly_point_mass")
    controller = make_controller(scenario)
    plan = steady_circle(radius, rate)
    t = 40.0
    controller.follow(0, plan, t)
    law = controller.laws[0]
    ahead = law.ahead[0]
    phase = rate * t
    inwards = -np.array([np.cos(phase), np.sin(phase), 0.0])
    lean = np.arctan2(radius * rate**2, 9.81)
    xi = -(np.sin(lean) * inwards + np.cos(lean) * np.array([0, 0, 1.0]))
    xi_d = np.cross([0, 0, rate], xi)
    np.testing.assert_allclose(ahead[CABLE_RATE : CABLE_RATE + 3], np.cross(xi, xi_d), atol=1e-7)
    xi_dd = np.cross([0, 0, rate], xi_d)
    np.testing.assert_allclose(
        ahead[CABLE_ACCELERATION : CABLE_ACCELERATION + 3], np.cross(xi, xi_dd), atol=1e-5
    )
    m, m_L, l = 0.25, 0.07, 0.5
    thrust = m_L * (radius * rate**2 * inwards + [0, 0, 9.81])
    thrust = thrust + m * ((radius - l * np.sin(lean)) * rate**2 * inwards + [0, 0, 9.81])
    b3 = thrust / np.linalg.norm(thrust)
    b3_d = np.cross([0, 0, rate], b3)
    heading = np.array([1.0, 0, 0])
    b2 = np.cross(b3, heading)
    b2 /= np.linalg.norm(b2)
    b1 = np.cross(b2, b3)
    got = ahead[NOMINAL_RATE : NOMINAL_RATE + 3]
    np.testing.assert_allclose(got[:2], (-b3_d @ b2, b3_d @ b1), atol=1e-7)


@pytest.mark.parametrize(
    "name, control",
    [
        ("dragonfly_point_mass", {}),
        ("three_dragonflies_triangular_1m", {}),
        ("four_dragonflies_box", {"spread_deg": 12.0, "least_tension_n": 0.1}),
        ("two_dragonflies_bar", {}),
    ],
)
def test_rates_are_derivatives_of_attitudes(name, control):
    """Body rate and acceleration ahead against differences of body rate ahead, and cable rates likewise."""
    controller = make_controller(nominal(name, **control))
    plan, t, h = steady_circle(0.7, 1.3), 30.0, 1e-3

    def ahead(when):
        controller.follow(0, plan, when)
        return controller.laws[0].ahead.copy()

    before, now, after = ahead(t - h), ahead(t), ahead(t + h)
    slope = (after - before) / (2.0 * h)
    np.testing.assert_allclose(
        slope[:, NOMINAL_RATE : NOMINAL_RATE + 3],
        now[:, NOMINAL_ACCELERATION : NOMINAL_ACCELERATION + 3],
        atol=1e-4,
    )
    # (xi x xi')' = xi x xi''
    np.testing.assert_allclose(
        slope[:, CABLE_RATE : CABLE_RATE + 3],
        now[:, CABLE_ACCELERATION : CABLE_ACCELERATION + 3],
        atol=1e-4,
    )


def test_a_hover_has_no_nominal_motion():
    controller = make_controller(nominal("three_dragonflies_triangular_1m"))
    controller.follow(0, Plan(np.array([10.0]), np.zeros((1, AXES, 1))), 5.0)
    np.testing.assert_allclose(controller.laws[0].ahead, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "three_dragonflies_triangular_rigid",
        "three_dragonflies_triangular_1m",
        "dragonfly_point_mass",
    ],
)
def test_joints_of_plans_are_not_differentiated(name):
    """A plan whose acceleration jumps at its waypoints gives no spikes: every segment is continued beyond its ends."""
    controller = make_controller(nominal(name))
    goals = np.array([[1.0, 0, 1], [1, 1, 1.5], [0, 1, 1]])
    plan = waypoints(np.array([0.0, 0, 1]), goals, derivative=2)
    fastest = 0.0
    for t in np.linspace(-0.2, plan.duration + 0.2, 3000):
        controller.follow(0, plan, t)
        fastest = max(fastest, np.abs(controller.laws[0].ahead).max())
    # its jerk is below 0.25 m/s^3, so directions turn with less than 0.03 rad/s, and heads with them
    assert fastest < 0.5


def test_a_rigid_team_spins_on_a_circle():
    """Three rounds for the offset of the centre of mass: what it needs differs little from what four would give."""
    controller = make_controller(nominal("three_dragonflies_triangular_rigid"))
    coefficients = np.zeros((1, AXES, 2))
    coefficients[0, PHASE] = [0.0, 100.0 * 2.1]
    coefficients[0, YAW] = [0.0, 100.0 * 4.2]
    plan = Plan(np.array([100.0]), coefficients, 0.7)
    h = 1e-3

    def speed(t):
        controller.follow(0, plan, t)
        return controller.laws[0].ahead[0, :3].copy()

    slope = (speed(40.0 + h) - speed(40.0 - h)) / (2.0 * h)
    controller.follow(0, plan, 40.0)
    np.testing.assert_allclose(controller.laws[0].ahead[0, 3:6], slope, atol=0.02)
