"""When and how controllers see: times of the scenario, rates, streams of errors, the air of a period."""

import numpy as np
import pytest

from rotor_core.config.loader import scenario_from_text
from rotor_sim.simulation import Simulation

OUTAGE = """
schema: 1
description: a hovering vehicle that is not seen from 1 to 1.5 s of its scenario on
model: {vehicles: [{use: dragonfly}]}
sensing: {outages: [{entity: quad1, from_s: 1.0, duration_s: 0.5}]}
controller: {use: quadrotor}
trajectory: {type: hover, duration_s: 10.0}
"""


def unseen(simulation, until=2.5, first=0.0):
    """When what is seen is not of now, s of the scenario; nobody looks before ``first``."""
    hover = np.array([[2.4, 0.0, 0.0, 0.0]])
    times = []
    while simulation.elapsed < until:
        if simulation.elapsed >= first - 1e-9:
            seen = simulation.sense().array[0, :3]
            if not np.array_equal(seen, simulation.motion[0, :3]):
                times.append(simulation.elapsed)
        simulation.step(hover)
    return times


def test_outages_are_at_times_of_the_scenario():
    """They counted from the first sample after a reset, a new state, or a world that took over."""
    scenario = scenario_from_text(OUTAGE)
    period = scenario.time.control_s
    expected = np.arange(1.0, 1.5 - 1e-9, period)[
        1:
    ]  # the first holds the sample of the period before
    whole = Simulation(scenario)
    np.testing.assert_allclose(unseen(whole)[1:], expected, atol=1e-9)
    late = Simulation(scenario)
    late.reset(elapsed=0.6)
    np.testing.assert_allclose(unseen(late)[1:], expected, atol=1e-9)
    np.testing.assert_allclose(unseen(Simulation(scenario), first=0.5)[1:], expected, atol=1e-9)
    moved = Simulation(scenario)
    unseen(moved, until=0.5)
    moved.set_states({"quad1": moved.motion[0, :13]}, project=False)
    np.testing.assert_allclose(unseen(moved)[1:], expected, atol=1e-9)
    other = Simulation(scenario)
    other.reset(time=moved.time, elapsed=0.75)
    np.testing.assert_allclose(unseen(other)[1:], expected, atol=1e-9)


@pytest.mark.parametrize("every", [1, 2, 4])
def test_samples_come_at_their_rate_however_seldom_somebody_looks(every):
    """They counted looks."""
    scenario = scenario_from_text(
        OUTAGE.replace("outages:", "rate_hz: 50, noise: {position_m: 0.1}, outages:")
    )
    simulation, seen = Simulation(scenario), []
    for k in range(160):
        if k % every == 0:
            seen.append(simulation.sense().array[0, 0])
        simulation.step(np.array([[2.4, 0.0, 0.0, 0.0]]))
    assert len(set(seen)) == 40  # in 0.8 s


def test_where_an_entity_is_put_changes_no_error_of_its_sensors():
    """The noise began anew, and the bias that a gyroscope had come to was gone."""
    text = OUTAGE.replace(
        "outages: [{entity: quad1, from_s: 1.0, duration_s: 0.5}]",
        "noise: {position_m: 0.1}, imu: {gyroscope_walk_rad_s2_sqrt_hz: 1.0}, estimator: {type: kalman}",
    )
    simulation = Simulation(scenario_from_text(text))
    hover = np.array([[2.4, 0.0, 0.0, 0.0]])
    noise = []
    for _ in range(2):
        for _ in range(50):
            noise.append(
                simulation.measurement.pose_sensor.sense(simulation.motion, simulation.time)[0, 0]
            )
            simulation.sense(), simulation.step(hover)
        bias = simulation.measurement.on_board._units.biases.copy()
        assert np.abs(bias).max() > 0.01
        simulation.set_states({"quad1": simulation.motion[0, :13]}, project=False)
        np.testing.assert_array_equal(simulation.measurement.on_board._units.biases, bias)
    assert not set(noise[:50]) & set(noise[50:])


def test_commands_of_one_period_share_its_air():
    """A second command in a period took the next gust, and the wind blew twice as fast."""
    text = (
        OUTAGE
        + "environment: {wind: {turbulence: {wind_at_6m_m_s: 8.0, altitude_m: 6.0, airspeed_m_s: 4.0}}}"
    )
    text = text.replace(
        "use: dragonfly}", "use: dragonfly, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}"
    )
    hover, paths = np.array([[2.4, 0.0, 0.0, 0.0]]), []
    for again in (False, True):
        simulation = Simulation(scenario_from_text(text))
        airs = []
        for _ in range(30):
            if again:
                simulation.act(hover)
            simulation.step(hover)
            airs.append(simulation.air[0].copy())
        paths.append(airs)
    np.testing.assert_array_equal(paths[0], paths[1])
    assert np.ptp(paths[0], axis=0).min() > 0.01
