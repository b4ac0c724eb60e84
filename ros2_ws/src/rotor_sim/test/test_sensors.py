"""Sensors against the laws they must obey: Newton's for accelerometers and load cells, time for delays."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from transforms3d.quaternions import quat2mat

from rotor_core.config import load_scenario
from rotor_core.config.schema import PlantChange
from rotor_core.config.sensing import Imu, LoadCell, Noise, Sensing
from rotor_flight.fly import fly
from rotor_sim.sensing.pose import PoseSensor
from rotor_sim.simulation import Simulation

PERIOD = 0.005


def clock(n):
    """Motion that tells its time: x of body b is t + 100 b."""
    for i in range(n):
        t = 1.0 + i * PERIOD
        motion = np.zeros((2, 19))
        motion[:, 0] = t + np.array([0.0, 100.0])
        motion[:, 3] = 1.0
        yield t, motion


def test_ideal_sensing_is_the_truth_itself():
    sensor = PoseSensor(Sensing(), PERIOD, 0)
    motion = np.random.default_rng(0).normal(size=(2, 19))
    assert sensor.sense(motion, 1.0) is motion


@pytest.mark.parametrize("delay", [0.005, 0.012, 0.02])
def test_delay(delay):
    """Held states are the newest that are at least ``delay`` old, and say when they were taken."""
    sensor = PoseSensor(Sensing(delay_s=delay), PERIOD, 0)
    periods = int(np.ceil(delay / PERIOD - 1e-9))
    for i, (t, motion) in enumerate(clock(50)):
        seen = sensor.sense(motion, t)
        taken = 1.0 + max(0, i - periods) * PERIOD
        np.testing.assert_allclose(seen[:, 0], [taken, taken + 100.0], atol=1e-12)
        np.testing.assert_allclose(sensor.captured, taken, atol=1e-12)
        assert sensor.fresh.all() == (i == 0 or i > periods)


@pytest.mark.parametrize("rate", [100.0, 60.0, 7.0, 1e4])
def test_rate(rate):
    """So many samples a second, one every control period at most, never bunched."""
    sensor = PoseSensor(Sensing(rate_hz=rate), PERIOD, 0)
    fresh = []
    for i, (t, motion) in enumerate(clock(2000)):
        sensor.sense(motion, t)
        if sensor.fresh.all():
            fresh.append(i)
    expected = min(rate, 1.0 / PERIOD) * 10.0
    assert abs(len(fresh) - expected) <= 1.0
    gaps = np.diff(fresh)
    assert gaps.max() - gaps.min() <= 1


def test_dropouts():
    """Each entity on its own loses the stated share of samples; a dropout lasts as long as stated."""
    sensing = Sensing(dropout_probability=0.1)
    sensor = PoseSensor(sensing, PERIOD, 3)
    n = 20000
    heard = np.array([sensor.sense(m, t) is not None and sensor.fresh for t, m in clock(n)])[1:]
    lost = 1.0 - heard.mean(axis=0)
    deviation = np.sqrt(0.1 * 0.9 / n)
    assert np.all(np.abs(lost - 0.1) < 5.0 * deviation)
    assert np.mean(heard[:, 0] == heard[:, 1]) < 0.9  # not the same ones
    long = PoseSensor(replace(sensing, dropout_probability=0.01, dropout_s=0.05), PERIOD, 3)
    silent = ~np.array([long.sense(m, t) is not None and long.fresh for t, m in clock(5000)])[1:, 0]
    starts = np.flatnonzero(np.diff(np.concatenate([[0], silent, [0]])) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], silent, [0]])) == -1)
    lengths = ends - starts
    assert len(lengths) > 10 and lengths[:-1].min() >= 10 and lengths.min() % 1 == 0


def test_measurements_repeat_after_a_reset_and_differ_with_the_seed():
    sensing = Sensing(Noise(1e-3, 1e-3, 1e-3, 1e-3), dropout_probability=0.2, delay_s=0.01)

    def run(sensor):
        return np.array([sensor.sense(m, t).copy() for t, m in clock(60)])

    sensor = PoseSensor(sensing, PERIOD, 5)
    first = run(sensor)
    sensor.reset()
    np.testing.assert_array_equal(first, run(sensor))
    assert not np.array_equal(first, run(PoseSensor(sensing, PERIOD, 6)))


def flying(name, steps=300, **sensing):
    """A team with unequal commands, so that everything turns and swings."""
    scenario = replace(load_scenario(name), sensing=Sensing(**sensing))
    simulation = Simulation(scenario)
    n = simulation.n_vehicles
    mass = sum(e.mass_kg for e in scenario.model.entities)
    wrench = np.zeros((n, 4))
    wrench[:, 0] = 9.81 * mass / n * np.linspace(0.97, 1.06, n)
    wrench[:, 1:] = 1e-4 * np.arange(3 * n).reshape(n, 3)
    for _ in range(steps // 5):
        simulation.sense()
        simulation.step(wrench)
    return simulation


def test_accelerometer_and_load_cell_close_newtons_law():
    """m f_B = thrust + cable force: two sensors and the command know each other only through physics."""
    simulation = flying("three_dragonflies_triangular_1m")
    assert simulation.engine.tensions.min() > 0.1
    imu, cells = simulation.sensors.imu.sense(), simulation.sensors.load_cells.sense()
    for i, vehicle in enumerate(simulation.scenario.model.vehicles):
        thrust = np.array([0.0, 0.0, simulation.applied[i, 0]])
        np.testing.assert_allclose(vehicle.mass_kg * imu[i, :3], thrust + cells[i], atol=1e-10)


def test_accelerometer_matches_the_second_difference_of_position():
    simulation = flying("three_dragonflies_triangular_1m")
    h = simulation.scenario.time.step_s
    before = simulation.motion[:3].copy()
    specific = simulation.sensors.imu.sense()[:, :3]
    simulation.engine.run(1)
    after = simulation.engine.update_kinematics()[:3]
    a = (after[:, 7:10] - before[:, 7:10]) / h
    for i in range(3):
        expected = quat2mat(before[i, 3:7]).T @ (a[i] + [0.0, 0.0, 9.81])
        # over one step the acceleration itself changes by about jerk * h / 2
        np.testing.assert_allclose(specific[i], expected, atol=0.02)


def test_free_fall_shows_nothing_and_standing_shows_gravity():
    simulation = Simulation(
        replace(
            load_scenario("hover"),
            actuation=replace(load_scenario("hover").actuation, limits=False),
        )
    )
    simulation.step(np.zeros((1, 4)))
    np.testing.assert_allclose(simulation.sensors.imu.sense(), 0.0, atol=1e-12)
    simulation.step(np.array([[0.25 * 9.81, 0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(simulation.sensors.imu.sense()[0, :3], [0.0, 0.0, 9.81], atol=1e-12)


def test_imu_noise_and_bias():
    imu = Imu(
        accelerometer_noise_m_s2=0.05,
        gyroscope_noise_rad_s=0.01,
        accelerometer_bias_m_s2=(0.1, 0.0, -0.2),
        gyroscope_bias_rad_s=(0.0, 0.03, 0.0),
    )
    simulation = flying("hover", steps=5, imu=imu)
    samples = np.array([simulation.sensors.imu.sense()[0] for _ in range(4000)])
    ideal = flying("hover", steps=5).sensors.imu.sense()[0]
    bias = np.array([0.1, 0.0, -0.2, 0.0, 0.03, 0.0])
    deviation = np.repeat([0.05, 0.01], 3)
    assert np.all(np.abs(samples.mean(axis=0) - ideal - bias) < 5.0 * deviation / np.sqrt(4000))
    assert np.all(np.abs(samples.std(axis=0) / deviation - 1.0) < 5.0 / np.sqrt(2 * 4000))


def test_load_cell_bias_and_noise():
    cell = LoadCell(noise_n=0.02, bias_n=0.3)
    simulation = flying("three_dragonflies_triangular_1m", load_cell=cell)
    samples = np.array([simulation.sensors.load_cells.sense() for _ in range(4000)])
    clean = flying("three_dragonflies_triangular_1m").sensors.load_cells.sense()
    along = clean / np.linalg.norm(clean, axis=1, keepdims=True)
    error = samples.mean(axis=0) - clean - 0.3 * along
    assert np.all(np.abs(error) < 5.0 * 0.02 / np.sqrt(4000))


def test_attitudes_are_told_with_their_bias_and_nothing_else_is():
    """R_told = R exp(bias); positions, rates and other entities are the truth; the truth does not turn."""
    bias = (0.02, -0.03, 0.01)
    scenario = load_scenario("dragonfly_point_mass")
    name = scenario.model.vehicles[0].name
    plant = (PlantChange(entity=name, attitude_bias_rad=bias),)
    simulation = Simulation(replace(scenario, plant=plant))
    truth = simulation.motion.copy()
    told = simulation.sense().array
    own = Rotation.from_quat(truth[0, 3:7], scalar_first=True) * Rotation.from_rotvec(bias)
    np.testing.assert_allclose(quat2mat(told[0, 3:7]), own.as_matrix(), atol=1e-15)
    others = np.ones_like(truth, bool)
    others[0, 3:7] = False
    np.testing.assert_array_equal(told[others], truth[others])
    np.testing.assert_array_equal(simulation.motion, truth)


def test_a_vehicle_that_believes_to_be_level_drifts_to_where_its_law_holds_it():
    """Told level it leans by the bias: at rest the force k_p e_x m holds m g tan(bias)."""
    bias = 0.01
    scenario = load_scenario("hover")
    name = scenario.model.vehicles[0].name
    plant = (PlantChange(entity=name, attitude_bias_rad=(0.0, bias, 0.0)),)
    flight = fly(replace(scenario, plant=plant), duration=20.0)
    stiffness = scenario.model.vehicles[0].gains.position_per_s2[0]
    away = flight.states[-1, 0, :3] - flight.references[-1, 0, :3]
    # told to lean forward it leans back: it stands behind its place
    assert away[0] == pytest.approx(-9.81 * np.tan(bias) / stiffness, rel=1e-2)
    assert abs(away[1]) < 1e-6
