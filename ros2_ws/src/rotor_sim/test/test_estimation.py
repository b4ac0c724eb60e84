"""The filter on board: textbook truths, and what a cable does to it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from scipy.spatial.transform import Rotation

from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.sensing import KalmanEstimator
from rotor_core.config.trajectories import HoverPlan
from rotor_core.errors import ContractError
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import FULL_STATE, State
from rotor_flight.checkpoint import load, save
from rotor_flight.loop import ClosedLoop
from rotor_sim.estimation.kalman import Kalman
from rotor_sim.simulation import Simulation

KEYS = KalmanEstimator("kalman", vertical_density_m_s2_sqrt_hz=0.016)


def level(n=1):
    return Kalman(KEYS, 9.81, n)


def test_covariance_at_rest_is_that_of_the_riccati_equation():
    """Hovering level without yaw, which positions do not tell: the stationary filter is linear."""
    dt, g = 0.01, 9.81
    found = level()
    for _ in range(6000):
        found.predict(np.array([[0.0, 0.0, g]]), np.zeros((1, 3)), dt)
        found.correct(np.zeros((1, 3)), np.array([True]))
    F, Q = np.eye(9), np.zeros((9, 9))
    F[:3, 3:6] = dt * np.eye(3)
    F[3, 7], F[4, 6] = dt * g, -dt * g
    Q[3:6, 3:6] = dt * 0.016**2 * np.eye(3)
    Q[6:, 6:] = dt * 0.0032**2 * np.eye(3)
    H = np.eye(3, 9)
    told = np.arange(8)  # all but yaw
    before = solve_discrete_are(
        F[np.ix_(told, told)].T, H[:, told].T, Q[np.ix_(told, told)], 1e-4 * np.eye(3)
    )
    S = H[:, told] @ before @ H[:, told].T + 1e-4 * np.eye(3)
    K = before @ H[:, told].T @ np.linalg.inv(S)
    after = before - K @ H[:, told] @ before
    np.testing.assert_allclose(
        found.covariance[0][np.ix_(told, told)], after, rtol=1e-6, atol=1e-12
    )


CIRCLE = """
schema: 1
model: {{vehicles: [{{use: dragonfly}}]}}
controller: {{use: quadrotor}}
trajectory: {{use: circle_10s}}
sensing: {{estimator: {{type: kalman, accelerometer: all}} {more}}}
time: {{step_s: 0.001, control_s: {control}}}
"""


def flown(control=0.004, more="", duration=4.0):
    """Told and true motion of a flight on estimates, (N, 13)."""
    loop = ClosedLoop(scenario_from_text(CIRCLE.format(control=control, more=more), "mine"))
    told, true = [], []
    for _ in range(round(duration / control)):
        told.append(loop.simulation.sense().array[0, FULL_STATE].copy())
        true.append(loop.simulation.motion[0, FULL_STATE].copy())
        loop.period()
    return State(np.array(told)), State(np.array(true))


def turned(told, true):
    """Angle between attitudes, (N,) rad."""
    return (rotation_from(told.attitude).inv() * rotation_from(true.attitude)).magnitude()


def test_covariances_in_messages_are_of_the_same_errors():
    """Errors drawn from the filter's covariance, made as messages have them, have the covariances that are told."""
    text = """
schema: 1
description: a filter in flight
model: {vehicles: [{use: dragonfly}]}
controller: {use: quadrotor}
sensing: {noise: {position_m: 0.01}, estimator: {type: kalman}}
"""
    simulation = Simulation(scenario_from_text(text))
    on_board = simulation.measurement.on_board
    kalman = on_board._filter
    q = np.array([[0.8, 0.3, -0.4, 0.33]])
    kalman.attitude = q / np.linalg.norm(q)
    root = np.random.default_rng(0).normal(size=(9, 9))
    kalman.covariance = (root @ root.T)[None]
    kalman.velocity = np.array([[8.0, -3.0, 1.0]])
    told = rotation_from(kalman.attitude[0])
    R = told.as_matrix()
    turn = np.zeros((6, 9))  # of position and rotation in W
    turn[:3, :3], turn[3:, 6:] = np.eye(3), R
    pose, twist = on_board.covariances()[0]
    np.testing.assert_allclose(pose, turn @ kalman.covariance[0] @ turn.T, rtol=1e-12)
    errors = 1e-4 * np.random.default_rng(1).normal(size=(40_000, 9)) @ root.T
    true = told * Rotation.from_rotvec(errors[:, 6:])
    off = true.inv().apply(kalman.velocity + errors[:, 3:6]) - told.inv().apply(kalman.velocity)
    # of so many samples a correlation is known to 0.005; what is left out by (F.6) is some 1e-4 of it
    scale = np.sqrt(np.outer(np.diag(twist)[:3], np.diag(twist)[:3]))
    np.testing.assert_allclose(np.cov(off.T) / 1e-8 / scale, twist[:3, :3] / scale, atol=0.025)
    assert twist[3, 3] == pytest.approx(0.0032**2 / 0.005) and not twist[:3, 3:].any()


def test_ideal_sensors_are_believed():
    """Nothing acts that the sensors do not feel: the estimate is the truth, to second order in the period.

    Rates and forces are means over a period, so that halving it must quarter what is left.
    """
    far, near = (turned(*flown(control)).max() for control in (0.008, 0.004))
    assert near < 1e-3 and near < 0.4 * far
    told, true = flown()
    assert np.abs(told.position - true.position).max() < 1e-4
    assert np.abs(told.velocity - true.velocity).max() < 1e-3


def test_a_pull_from_the_side_is_taken_for_level():
    """A vehicle at rest that leans by 4 degrees against a pull reports level, with whatever patience."""
    lean = np.radians(4.0)
    found = level()
    found.attitude = np.array([[np.cos(lean / 2.0), np.sin(lean / 2.0), 0.0, 0.0]])
    force = np.array([[0.0, 0.0, 9.81 / np.cos(lean)]])  # a level pull: height is held
    for _ in range(6000):
        found.predict(force, np.zeros((1, 3)), 0.01)
        found.correct(np.zeros((1, 3)), np.array([True]))
    assert rotation_from(found.attitude[0]).magnitude() < 1e-6
    assert np.abs(found.velocity[0, :2]).max() < 1e-3
    assert 1e-3 < found.velocity[0, 2] < 1e-2  # the pull's part of the thrust is taken for a climb


def test_vehicles_that_lean_against_their_payload_report_level():
    """In a world, with a controller that flies on it: all that is left of the lean is the pull's share."""
    scenario = load_scenario("three_crazyflies_point_mass")
    estimator = KalmanEstimator("kalman", vertical_density_m_s2_sqrt_hz=0.8)
    sensing = replace(scenario.sensing, estimator=estimator)
    loop = ClosedLoop(replace(scenario, sensing=sensing, trajectory=HoverPlan("hover")))
    for _ in range(round(12.0 / scenario.time.control_s)):
        loop.period()
    told, true = State(loop.simulation.sense().array[:3]), State(loop.simulation.motion[:3])
    assert np.degrees(told.tilt).max() < 0.3 < 1.0 < np.degrees(true.tilt).min()


def test_a_filter_begins_with_what_the_vehicle_believed():
    """The first estimate is what was told; a reset forgets it; vehicles without a filter believe nothing."""
    loop = ClosedLoop(scenario_from_text(CIRCLE.format(control=0.004, more=""), "mine"))
    simulation = loop.simulation
    askew = np.array([np.cos(0.05), np.sin(0.05), 0.0, 0.0])
    simulation.believe({"quad1": askew})
    np.testing.assert_allclose(simulation.sense()["quad1"].attitude, askew, atol=1e-15)
    np.testing.assert_array_equal(
        simulation.sense()["quad1"].position, simulation.state["quad1"].position
    )
    simulation.reset()
    truth = simulation.state["quad1"].attitude
    np.testing.assert_allclose(simulation.sense()["quad1"].attitude, truth, atol=1e-15)
    with pytest.raises(ContractError, match="got nobody"):
        simulation.believe({"nobody": askew})
    with pytest.raises(ContractError, match="which this scenario has not"):
        Simulation("hover").believe({"quad1": askew})


def test_without_positions_inertial_units_carry_on():
    """An outage of motion capture on a circle: what is held is off by 0.2 m, the estimate by millimetres."""
    told, true = flown(more=", outages: [{entity: quad1, from_s: 2.0, duration_s: 1.5}]")
    assert np.abs(told.position - true.position).max() < 5e-3
    moved = np.linalg.norm(true.position[875] - true.position[500])
    assert moved > 0.2


def test_delayed_positions_count_as_new():
    """As small vehicles do: velocity times delay is missing, and the same errors come back with the same seed."""
    noisy = (
        ", delay_s: 0.02, noise: {position_m: 0.001}, imu: {gyroscope_density_rad_s_sqrt_hz: 0.001}"
    )
    told, true = flown(more=noisy)
    again, _ = flown(more=noisy)
    np.testing.assert_array_equal(told.position, again.position)
    speed = np.linalg.norm(true.velocity[-500:], axis=1)
    behind = np.sum((true.position - told.position) * true.velocity, axis=1)[-500:] / speed
    assert np.mean(behind) == pytest.approx(0.02 * np.mean(speed), rel=0.15)


def test_a_flight_on_estimates_is_saved_and_resumed(tmp_path):
    """The filter, its covariance and the wandering biases are part of the saved flight: the same bits."""
    wandering = (
        ", delay_s: 0.01, noise: {position_m: 0.001}, imu: {gyroscope_walk_rad_s2_sqrt_hz: 0.001}"
    )
    loop = ClosedLoop(scenario_from_text(CIRCLE.format(control=0.004, more=wandering), "mine"))
    for _ in range(100):
        loop.period()
    save(loop, tmp_path / "flight")
    resumed = load(tmp_path / "flight")
    for _ in range(100):
        loop.period()
        resumed.period()
    np.testing.assert_array_equal(loop.simulation.motion, resumed.simulation.motion)
    np.testing.assert_array_equal(loop.simulation.sense().array, resumed.simulation.sense().array)
