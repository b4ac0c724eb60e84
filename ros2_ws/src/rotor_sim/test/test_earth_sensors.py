"""Sensors that know where on the earth they are, and errors of inertial units, against closed forms and tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.config.environment import Air, Environment, Origin
from rotor_core.config.loader import scenario_from_text
from rotor_core.config.sensing import GpsErrors, InertialErrors, MagnetometerErrors
from rotor_core.errors import ConfigError
from rotor_sim.sensing.earth import Earth, pressure_altitude
from rotor_sim.sensing.gps import GpsModel
from rotor_sim.sensing.inertial import InertialModel
from rotor_sim.sensing.magnetometer import MagnetometerModel
from rotor_sim.simulation import Simulation

RADIUS, FLATTENING = 6378137.0, 1.0 / 298.257223563
"""Of WGS 84, m."""


def seed(n=0):
    return np.random.SeedSequence(n)


def earth(latitude=47.397742, longitude=8.545594, altitude=0.0, year=2026.0):
    return Earth(
        Environment(air=Air(altitude_m=altitude), origin=Origin(latitude, longitude, year))
    )


@settings(max_examples=50, deadline=None)
@given(st.floats(-80, 80), st.floats(-170, 170), st.floats(-100, 5000), st.integers(0, 2**32 - 1))
def test_places_near_the_origin_are_those_of_the_ellipsoid(latitude, longitude, altitude, number):
    """Angles by the radii of curvature of the meridian and across it; height with the curvature of the earth."""
    there = earth(latitude, longitude, altitude)
    east, north, up = np.random.default_rng(number).uniform(-100.0, 100.0, 3)
    e2 = FLATTENING * (2.0 - FLATTENING)
    w = np.sqrt(1.0 - e2 * np.sin(np.radians(latitude)) ** 2)
    across, along = RADIUS / w, RADIUS * (1.0 - e2) / w**3
    lat, lon, height = there.place(np.array([east, north, up]))
    # the second terms are up to d^2 tan(80 deg) / R: 100 m of 100 m give 9 mm; the height up to d^2 / R
    np.testing.assert_allclose(np.radians(lat - latitude) * (along + altitude), north, atol=0.02)
    turned = np.radians(lon - longitude) * (across + altitude) * np.cos(np.radians(latitude))
    np.testing.assert_allclose(turned, east, atol=0.03)
    np.testing.assert_allclose(
        height, altitude + up + (east**2 + north**2) / (2.0 * RADIUS), atol=2e-4
    )
    np.testing.assert_allclose(
        there.place_nearby(np.array([east, north, up])), (lat, lon, height), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("where", [(47.4, 8.5), (10.0, 179.999), (-60.0, -179.999), (89.0, 3.0)])
def test_the_fast_place_is_good_to_a_millimetre(where):
    """Beside the date line and near the poles, and farther away than its polynomial reaches, too."""
    there, rng = earth(*where), np.random.default_rng(3)
    for distance in [*30 * [2000.0], 50e3]:
        p = rng.normal(size=3) * (1.0, 1.0, 0.1)
        p *= distance / np.linalg.norm(p)
        found = there.place_nearby(p)
        apart = (there.place(p) - found) * (111e3, 111e3 * np.cos(np.radians(where[0])), 1.0)
        assert np.abs(apart).max() < 1e-3
        assert -180.0 <= found[1] <= 180.0


@pytest.mark.parametrize(
    "place, field",
    [
        ((80.0, 0.0, 0.0), (6521.6, 145.9, 54791.5)),
        ((0.0, 120.0, 0.0), (39677.8, -109.6, -10580.2)),
        ((-80.0, -120.0, 0.0), (6117.5, 15751.9, -52022.5)),
    ],
)
def test_the_magnetic_field_is_that_of_the_published_test_values(place, field):
    """World Magnetic Model 2025, test values of its report: north, east, down in nT at 2025.0."""
    north, east, down = field
    found = earth(*place, year=2025.0).field * 1e9
    np.testing.assert_allclose(found, (east, north, -down), atol=0.06)


def test_the_standard_atmosphere():
    """ISO 2533: pressures by geopotential height."""
    for height, pascal in (
        (0.0, 101325.0),
        (1000.0, 89874.6),
        (5000.0, 54019.9),
        (11000.0, 22632.1),
        (15000.0, 12044.6),
        (20000.0, 5474.89),
    ):
        if height <= 11000.0:  # the most of `environment.air`
            assert earth(altitude=height).pressure(0.0) == pytest.approx(pascal, rel=2e-5)
        assert earth().pressure(height) == pytest.approx(pascal, rel=2e-5)
        assert pressure_altitude(earth().pressure(height)) == pytest.approx(height, abs=1e-6)
    assert earth().temperature(1000.0) == pytest.approx(8.5)
    assert earth().temperature(15000.0) == pytest.approx(-56.5)


def test_the_magnetometer_turns_with_its_body():
    there = earth()
    model = MagnetometerModel(MagnetometerErrors(), there, seed())
    motion = np.zeros(13)
    motion[3:7] = np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)  # heading north
    x, y, z = model.sample(motion)
    np.testing.assert_allclose(
        (x, y, z), (there.field[1], -there.field[0], there.field[2]), atol=1e-18
    )
    noisy = MagnetometerModel(MagnetometerErrors(noise_t=1e-7, bias_t=(1e-6, 0, 0)), there, seed())
    samples = np.array([noisy.sample(motion) for _ in range(4000)]) - (x, y, z)
    # five standard deviations of the mean and of the deviation
    np.testing.assert_allclose(samples.mean(axis=0), (1e-6, 0, 0), atol=5e-7 / np.sqrt(4000))
    np.testing.assert_allclose(samples.std(axis=0), 1e-7, rtol=5 / np.sqrt(8000))


def test_inertial_noise_has_its_density_at_any_rate():
    """Standard deviation per sample: density times the square root of the rate."""
    errors = InertialErrors(
        accelerometer_density_m_s2_sqrt_hz=0.02, gyroscope_density_rad_s_sqrt_hz=0.003
    )
    for rate in (100.0, 1000.0):
        model = InertialModel(errors, 4, 1.0 / rate, seed())
        told = np.array([model.sample(np.zeros((4, 6))) for _ in range(2000)])
        n = told[..., 0].size
        deviations = told.reshape(-1, 6).std(axis=0)
        np.testing.assert_allclose(
            deviations, np.repeat([0.02, 0.003], 3) * np.sqrt(rate), rtol=5 / np.sqrt(2 * n)
        )


def test_inertial_biases_walk_with_the_square_root_of_time():
    errors = InertialErrors(
        accelerometer_walk_m_s3_sqrt_hz=0.05, gyroscope_walk_rad_s2_sqrt_hz=0.01,
        accelerometer_bias_m_s2=(1.0, 2.0, 3.0),
    )  # fmt: skip
    model = InertialModel(errors, 500, 0.01, seed())
    for _ in range(401):
        told = model.sample(np.zeros((500, 6)))
    off = told - (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)
    expected = np.repeat([0.05, 0.01], 3) * np.sqrt(4.0)
    np.testing.assert_allclose(off.std(axis=0), expected, rtol=5 / np.sqrt(1000))
    model.reset()
    again = model.sample(np.zeros((500, 6)))
    np.testing.assert_array_equal(again, np.tile([1.0, 2.0, 3.0, 0.0, 0.0, 0.0], (500, 1)))


def test_inertial_units_saturate():
    errors = InertialErrors(accelerometer_limit_m_s2=5.0, gyroscope_limit_rad_s=2.0)
    told = InertialModel(errors, 1, 0.01, seed()).sample(
        np.array([[9.0, -9.0, 4.0, 3.0, -3.0, 1.0]])
    )
    np.testing.assert_array_equal(told, [[5.0, -5.0, 4.0, 2.0, -2.0, 1.0]])


def test_gps_tells_of_the_past_by_its_delay():
    model = GpsModel(GpsErrors(delay_s=0.1), earth(), seed())
    motion = np.zeros(13)
    motion[3] = 1.0
    motion[7:10] = 1.0, 2.0, 3.0
    model.take(0.0, motion)
    assert model.told(0.099) is None
    told = model.told(0.1)
    np.testing.assert_allclose(told[0], (47.397742, 8.545594, 0.0), atol=1e-9)
    np.testing.assert_array_equal(told[1], (1.0, 2.0, 3.0))
    assert model.captured == 0.0  # what a message is stamped with
    assert model.told(0.2) is None  # nothing new


SENSORS = """
schema: 1
description: A vehicle with everything.
model: {vehicles: [{use: dragonfly, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}]}
controller: {use: quadrotor}
environment: {wind: {steady_m_s: [-4.0, 0.0, 0.0]}, air: {altitude_m: 500.0}}
sensing:
  sensors:
    - {type: gps, body: quad1, rate_hz: 10, delay_s: 0.2}
    - {type: magnetometer, body: quad1}
    - {type: barometer, body: quad1, bias_pa: 100.0}
    - {type: pitot, body: quad1}
"""


def test_sensors_of_a_scenario_measure_its_world():
    simulation = Simulation(scenario_from_text(SENSORS, "sensors"))
    simulation.act(np.array([[0.25 * 9.81, 0.0, 0.0, 0.0]]))
    gps, magnetometer, barometer, pitot = (simulation.sensors[i] for i in range(2, 6))
    density = simulation.scenario.environment.air.density
    # standing in 4 m/s that come from ahead (the nose is to the east, the wind blows to the west)
    assert pitot.sense()[0, 0] == pytest.approx(0.5 * density * 16.0)
    z = simulation.engine.motion[0, 2]
    assert barometer.sense()[0, 0] == pytest.approx(earth(altitude=500.0).pressure(z) + 100.0)
    np.testing.assert_allclose(magnetometer.sense()[0], earth(altitude=500.0).field, atol=1e-15)
    first = gps.sense()
    assert first[0, 2] == pytest.approx(500.0 + z, abs=1e-6)
    for _ in range(4):  # 0.1 s each
        for _ in range(20):
            simulation.act(np.array([[0.25 * 9.81, 0.0, 0.0, 0.0]]))
            simulation.step()
        last = gps.sense()
    assert gps.captured == pytest.approx(simulation.time - 0.2)
    assert last[1, 0] < 0.0 and abs(last[1, 0]) < abs(simulation.engine.motion[0, 7])  # of the past
    simulation.reset()
    np.testing.assert_array_equal(gps.sense(), first)


def test_sensors_name_topics_that_fit():
    import re

    from rotor_sim.sensing.suite import sensors_of

    topics = [
        (c.topic, c.message)
        for kind, keys in sensors_of(scenario_from_text(SENSORS, "sensors"))[2:]
        for c in kind.channels(keys, scenario_from_text(SENSORS, "sensors").model)
    ]
    assert topics == [
        ("quad1/gps/fix", "sensor_msgs/msg/NavSatFix"),
        ("quad1/gps/vel", "geometry_msgs/msg/TwistStamped"),
        ("quad1/magnetometer", "sensor_msgs/msg/MagneticField"),
        ("quad1/barometer", "sensor_msgs/msg/FluidPressure"),
        ("quad1/pitot", "sensor_msgs/msg/FluidPressure"),
    ]
    with pytest.raises(
        ConfigError, match=re.escape("sensing.sensors[0].body: there is no body 'quad2'")
    ):
        scenario_from_text(SENSORS.replace("gps, body: quad1", "gps, body: quad2"), "sensors")
    with pytest.raises(ConfigError, match="name must start with a letter"):
        scenario_from_text(
            SENSORS.replace("gps, body: quad1", "gps, body: quad1, name: 1x"), "sensors"
        )
