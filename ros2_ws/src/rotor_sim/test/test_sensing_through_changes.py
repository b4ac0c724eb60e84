"""What is measured where velocities, states or worlds jump, and at rates that are no whole number of steps."""

import numpy as np
import pytest

from rotor_adapters.sitl.senses import Senses
from rotor_core.config.loader import scenario_from_text
from rotor_core.state import FULL_STATE, State
from rotor_flight.checkpoint import load, save
from rotor_flight.loop import ClosedLoop
from rotor_sim.sensing.sensor import SensorKind
from rotor_sim.sensing.suite import sensors_of
from rotor_sim.simulation import Simulation
from rotor_sim.succession import take_over

WORLD = """
schema: 1
description: vehicles in a row
model: {{vehicles: [{vehicles}]{more}}}
initial: [{initial}]
environment: {{wind: {wind}}}
controller: {{use: {controller}}}
trajectory: {{type: hover, duration_s: 5.0}}
time: {time}
sensing: {sensing}
"""

LOAD = ", payloads: [{name: load, mass_kg: 0.1}], attachments: [{type: cable, a: v0, b: load, length_m: 1.0}]"


def world(
    n=1,
    *,
    more="",
    initial="",
    wind="{}",
    controller="quadrotor",
    time="{}",
    sensing="{}",
):
    vehicles = ", ".join(
        f"{{use: hummingbird, name: v{i}, drag: {{linear_n_s_per_m: [0.1, 0.1, 0.1]}}}}"
        for i in range(n)
    )
    initial = initial or ", ".join(
        f"{{entity: v{i}, position_m: [0, {3 * i}, 2]}}" for i in range(n)
    )
    text = WORLD.format(
        vehicles=vehicles, more=more, initial=initial, wind=wind, controller=controller, time=time, sensing=sensing,
    )  # fmt: skip
    return scenario_from_text(text, "row")


def hover(simulation):
    wrenches = np.zeros((simulation.n_vehicles, 4))
    wrenches[:, 0] = [9.81 * v.total_mass for v in simulation.scenario.model.vehicles]
    return wrenches


def test_accelerometers_feel_a_snap():
    """Their sum is what the velocity has changed by, the snap with it; until then it is that of the instant."""
    scenario = world(
        more=LOAD,
        initial="{entity: v0, position_m: [0, 0, 2.0]}, {entity: load, position_m: [0, 0, 1.8]}",
        controller="point_mass",
        sensing="{imu: {rate_hz: 200}}",
    )
    simulation, period = Simulation(scenario), scenario.time.control_s
    senses = Senses(scenario, [0], None)
    wrenches = hover(simulation)
    wrenches[:, 0] *= 1.02  # away from the falling load
    before, told = State(simulation.motion).velocity[0, 2], []
    for k in range(140):
        simulation.act(wrenches)
        simulation.engine.update_kinematics()
        topic = simulation.sensors.imu.sense()[0, 2]
        told.append((topic, -senses.sample(simulation.motion, k)[0].seen[2]))
        simulation.step(wrenches)
    after = State(simulation.motion).velocity[0, 2]
    snap = next(e for e in simulation.take_events() if e.type == "snap")
    assert snap.impulses[0] > 0.2
    told = np.array(told)
    np.testing.assert_allclose(told[:, 0], told[:, 1], atol=1e-12)
    last = (
        State(simulation.motion).acceleration[0, 2] + 9.81
    )  # of the period that nobody asked about
    felt = period * (told[1:].sum(axis=0) + last)
    np.testing.assert_allclose(felt - 9.81 * 140 * period, after - before, atol=1e-4)


@pytest.mark.parametrize("step, rate", [(0.005, 1000.0), (0.001, 700.0), (0.004, 200.0)])
def test_densities_hold_at_the_rate_that_a_sensor_has(step, rate):
    """1000 Hz are 200 Hz at steps of 5 ms: noise of the density times the root of that, in samples and covariances."""
    sensing = f"{{imu: {{rate_hz: {rate}, gyroscope_density_rad_s_sqrt_hz: 0.01}}}}"
    scenario = world(sensing=sensing, time=f"{{step_s: {step}, control_s: {4.0 * step}}}")
    kind, keys = sensors_of(scenario)[0]
    real = 1.0 / (max(1, round(1.0 / (rate * step))) * step)
    assert isinstance(kind, SensorKind) and keys.rate_hz == pytest.approx(real)
    constants = kind.channels(keys, scenario.model)[0].constants
    assert constants["angular_velocity_covariance[0]"] == pytest.approx(1e-4 * real)
    imu = Simulation(scenario).sensors.imu
    samples = np.array([imu.sense()[0, 3:] for _ in range(4000)])
    # 12000 numbers tell a deviation to 0.65 %
    assert samples.std() == pytest.approx(0.01 * np.sqrt(real), rel=0.03)


def test_noise_per_sample_is_heard_by_the_filter():
    """As that of a density: a unit at another rate than that of control has the same errors."""
    errors = []
    for noise in (0.0, 1.0):
        sensing = f"{{estimator: {{type: kalman}}, imu: {{gyroscope_noise_rad_s: {noise}}}}}"
        simulation = Simulation(world(sensing=sensing))
        for _ in range(200):
            simulation.sense()
            simulation.step(hover(simulation))
        rates = State(simulation.sense().array).body_rate[0]
        errors.append(np.abs(rates - State(simulation.motion).body_rate[0]).max())
    assert errors[0] < 1e-12 and errors[1] > 0.05


GPS = "{sensors: [{type: gps, body: v0, rate_hz: 10, delay_s: 0.5}, {type: pitot, body: v0}]}"


def test_what_is_on_its_way_does_not_outlive_a_jump():
    simulation = Simulation(world(sensing=GPS))
    gps = simulation.sensors[2]
    for _ in range(10):
        gps.sense()
        simulation.step(hover(simulation))
    there = simulation.motion[0, FULL_STATE].copy()
    there[:3] = 100.0, 0.0, 50.0
    simulation.set_states({"v0": there}, project=False)
    assert gps.sense()[0, 2] == pytest.approx(50.0, abs=2e-3)  # the earth is round


def test_a_pitot_tube_feels_the_wind_before_anybody_acts():
    simulation = Simulation(world(wind="{steady_m_s: [8.0, 0.0, 0.0]}", sensing=GPS))
    density = simulation.scenario.environment.air.density
    assert simulation.sensors[3].sense()[0, 0] == pytest.approx(-0.5 * density * 64.0)


def test_a_sensor_that_has_told_something_is_saved(tmp_path):
    """With samples on their way, too: the same bits."""
    sensing = GPS.replace("}]}", "}, {type: barometer, body: v0, noise_pa: 1.0}]}")
    loop = ClosedLoop(world(sensing=sensing))

    def go_on(loop):
        out = []
        for _ in range(20):
            loop.period()
            out.append([float(loop.simulation.sensors[i].sense()[0, 0]) for i in (2, 3, 4)])
        return out

    go_on(loop)
    save(loop, tmp_path / "flight")
    again = load(tmp_path / "flight")
    assert go_on(loop) == go_on(again)


def test_errors_go_on_where_somebody_comes():
    """Biases, filters, what is on its way and random streams of those who stay; who comes begins with the truth."""
    sensing = """{estimator: {type: kalman}, noise: {position_m: 0.05}, delay_s: 0.02,
      imu: {gyroscope_walk_rad_s2_sqrt_hz: 0.1},
      sensors: [{type: barometer, body: v0, noise_pa: 1.0}, {type: gps, body: v0, rate_hz: 10, delay_s: 0.5}]}"""
    old = Simulation(world(1, sensing=sensing))
    first = []
    for _ in range(100):
        old.sense()
        old.sensors.imu.sense()
        first.append(float(old.sensors[2].sense()[0, 0]))
        old.sensors[3].sense()
        old.step(hover(old))
    new = Simulation(world(2, sensing=sensing))
    told = old.sense().array[0]
    take_over(new, old)
    assert np.abs(told - old.motion[0]).max() > 1e-3
    np.testing.assert_array_equal(new.sense().array[0], told)
    np.testing.assert_array_equal(new.sense().array[1], new.motion[1])
    np.testing.assert_array_equal(new.sensors[3].sense(), old.sensors[3].sense())
    np.testing.assert_array_equal(new.sensors[2].sense(), old.sensors[2].sense())
    assert new.sensors[2].sense()[0, 0] not in first
    biases = [s.sensors.imu.sense()[0] - old.sensors.imu.sense()[0] for s in (new,)]
    assert np.abs(biases).max() < 1.0  # of the same walk, a sample apart
    for s in (new, old):
        for _ in range(20):
            s.step(hover(s))
            s.sense()
    apart = State(new.sense().array[0]).position - State(new.motion[0]).position
    assert 1e-4 < np.linalg.norm(apart) < 0.2
    assert np.linalg.norm(new.sense().array[1, :3] - new.motion[1, :3]) < 0.2


def test_what_is_attached_in_the_wind_has_the_air_of_its_holder():
    """As in the periods after it: in a field that grows with height, the payload below feels less."""
    more = ", payloads: [{name: box, mass_kg: 0.1, inertia_kg_m2: [1e-4, 1e-4, 1e-4], drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}]"
    scenario = world(
        more=more,
        initial="{entity: v0, position_m: [0, 0, 4.0]}, {entity: box, position_m: [0, 0, 1.0]}",
        wind="{steady_m_s: [8.0, 0.0, 0.0], profile: {law: log}}",
    )
    simulation = Simulation(scenario)
    simulation.step(hover(simulation))
    simulation.act(hover(simulation))
    simulation.attach("v0", "box")
    simulation.engine.update_kinematics()
    at_once = simulation.motion[0, 13]
    simulation.act(hover(simulation))
    simulation.engine.update_kinematics()
    assert simulation.motion[0, 13] == pytest.approx(at_once, rel=1e-9)


def test_a_sensor_more_does_not_change_the_noise_of_another():
    barometer = "{type: barometer, body: v0, noise_pa: 1.0}"
    pressures = []
    for sensors in (barometer, "{type: gps, body: v0}, " + barometer):
        simulation = Simulation(world(sensing=f"{{sensors: [{sensors}]}}"))
        pressures.append([float(simulation.sensors[-1].sense()[0, 0]) for _ in range(5)])
    assert pressures[0] == pressures[1]
