"""Derivatives of flights under their laws: differences of whole flights, and what users may ask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rotor
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.model import DragCoefficients
from rotor_core.config.schema import Change, PlantChange
from rotor_core.config.sensing import Imu, KalmanEstimator, Noise, Sensing
from rotor_core.errors import ConfigError, ContractError, UnknownNameError
from rotor_core.kernels.jit import COMPILED
from rotor_flight.fly import fly
from rotor_flight.sensitivities.flights import sensitivities
from rotor_flight.sensitivities.settings import ABOVE, BELOW, FOURTH, OtherSwitches, slopes_of

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


def with_lag(scenario):
    """Rotors that follow with a lag, in gusts."""
    wind = load_scenario("hexacopter_wind").environment.wind
    model = scenario.model
    vehicles = tuple(
        replace(v, rotors=replace(v.rotors, drag_n_s2_per_m=1e-5, lag_s=0.03))
        for v in model.vehicles
    )
    return replace(
        scenario,
        model=replace(model, vehicles=vehicles),
        actuation=replace(scenario.actuation, mode="rotors"),
        environment=replace(scenario.environment, wind=wind),
    )


PASSES = """
schema: 1
description: a load passes through an obstacle
model: {vehicles: [{use: dragonfly}], payloads: [{use: point_mass}], attachments: [{type: mechanism, use: point_0-5m}]}
environment: {obstacles: [{name: wall, shape: {type: sphere, radius_m: 0.2}, position_m: [0.6, 0.0, 0.0]}]}
controller: {use: point_mass}
trajectory: {type: line, waypoints_m: [[2.0, 0.0, 0.0]], speed_m_s: 1.5, acceleration_m_s2: 2.0}
"""

PULLEY = """
schema: 1
description: a vehicle pulls itself to a pulley
model:
  vehicles: [{use: dragonfly}]
  attachments:
    - type: cable
      a: quad1
      b: world
      b_point_m: [0.1, 0, 1.3]
      length_m: 2.2
      through: [{entity: world, point_m: [0, 0, 2.0], radius_m: 0.1, axis: [0, 1, 0], turn: ccw}]
initial: [{entity: quad1, position_m: [-0.5, 0, 1.2]}]
controller: {use: quadrotor}
trajectory: {type: line, waypoints_m: [[-1.5, 0, 1.2]], speed_m_s: 1.5, acceleration_m_s2: 2.0}
notes_off: [cable]
"""

FLIGHTS = (
    ("hover", 2.0, ("plant.quad1.mass_kg",)),
    ("three_dragonflies_triangular_1m", 3.0, ("plant.payload.mass_kg", "trajectory.radius_m", "trajectory.period_s")),
    ("collision_triangular", 3.0, ("plant.payload.mass_kg", "controller.attitude_n_m.y", "initial.quad2.position_m.z")),
    ("collision_point_mass", 3.0, ("plant.payload.mass_kg", "plant.quad1.mass_kg")),
    ("three_dragonflies_triangular_rigid", 2.0, ("plant.payload.mass_kg", "controller.position_per_s2.z")),
    ("three_dragonflies_motion_capture", 2.0, ("plant.payload.mass_kg", "sensing.noise.position_m")),
    ("arm_slung_load", 2.0, ("plant.am1.mass_kg",)),
    ("hexacopter_wind", 2.0, ("plant.hexa.mass_kg", "environment.wind.steady_m_s.x")),
    ("running_cable", 2.0, ("plant.load.mass_kg",)),
    ("fiori_quadrotor_1", 2.0, ("plant.quad1.mass_kg",)),
    ("block_and_tackle", 2.0, ("plant.load.mass_kg",)),
    ("helicopter_slung_load", 3.0, ("plant.load.mass_kg", "controller.position_per_s2.x")),
    ("pick_and_place", 16.5, ("plant.parcel.mass_kg", "controller.position_per_s2.z")),
)  # fmt: skip
"""One of each law, with snaps, noise, an arm, rotors in wind; two teams, constant commands, nobody, a helicopter; a grip."""


def miss(scenario, found, place, duration):
    """Of the derivative of all states and event times from differences at their best step, relative to the largest."""
    told, at = found[place], rotor.sensitivities(scenario, [place], duration=0.01).parameters
    assert at == (place,)
    value = value_of(scenario, place)
    best = np.full(2, np.inf)
    for share in (1e-3, 1e-4, 1e-5, 1e-6):
        step = share * (abs(value) or 1.0)
        ahead, behind = (
            fly(scenario.changed(place, value + s * step), duration=duration) for s in (1, -1)
        )
        slope = (ahead.states - behind.states) / (2.0 * step)
        best[0] = min(best[0], np.abs(slope - told.states).max() / np.abs(told.states).max())
        stories = [[(e.type, e.cables) for e in f.events] for f in (ahead, behind, found.flight)]
        if not found.flight.events:
            best[1] = 0.0
        elif stories[0] == stories[1] == stories[2]:
            times = [
                (a.time - b.time) / (2.0 * step)
                for a, b in zip(ahead.events, behind.events, strict=True)
            ]
            best[1] = min(
                best[1], np.abs(times - told.event_times).max() / max(np.abs(times).max(), 1e-6)
            )
    return best


def value_of(scenario, place):
    from rotor_core.config.parameters import Variations

    return Variations(scenario, [place]).value(place)


@pytest.mark.parametrize(("name", "duration", "places"), FLIGHTS)
def test_against_differences_of_flights(name, duration, places):
    """Laws, sensing, rotors and events: to 1e-6 of the largest where differences are at their best step."""
    scenario = load_scenario(name)
    found = sensitivities(scenario, places, duration)
    plain = fly(scenario, duration=duration)
    np.testing.assert_allclose(found.flight.states, plain.states, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.flight.taut, plain.taut)
    assert [e.type for e in found.flight.events] == [e.type for e in plain.events]
    for place in places:
        assert np.all(miss(scenario, found, place, duration) < 1e-6), place


def test_through_estimators_and_constant_errors():
    """By what a filter believes, by what its sensors are, by how wrong its states are told, by the plant."""
    sensing = Sensing(
        Noise(2e-3), rate_hz=100.0, delay_s=0.01, estimator=KalmanEstimator("kalman"),
        imu=Imu(gyroscope_density_rad_s_sqrt_hz=0.003, accelerometer_bias_m_s2=(0.0, 0.0, 0.1)),
    )  # fmt: skip
    scenario = replace(
        load_scenario("dragonfly_point_mass"),
        sensing=sensing,
        plant=(
            PlantChange(entity="quad1", velocity_gain=1.05, attitude_bias_rad=(0.01, 0.0, 0.0)),
        ),
    )
    places = (
        "sensing.estimator.position_m", "sensing.imu.gyroscope_density_rad_s_sqrt_hz", "sensing.noise.position_m",
        "sensing.imu.accelerometer_bias_m_s2.z", "plant.quad1.velocity_gain", "plant.quad1.attitude_bias_rad.x",
        "plant.payload.mass_kg", "controller.position_per_s2.z",
    )  # fmt: skip
    found = sensitivities(scenario, places, 2.0)
    for place in places:
        assert np.all(miss(scenario, found, place, 2.0) < 1e-6), place


STACKED = """
schema: 1
description: two vehicles one above the other, in the wakes of each other, and one near the ground, in wind, on circles
model: {vehicles: [{use: crazyflie}, {use: crazyflie}, {use: crazyflie}]}
initial:
  - {entity: quad1, position_m: [0, 0, 0.4]}
  - {entity: quad2, position_m: [0.03, 0, 0.8]}
  - {entity: quad3, position_m: [2, 0, 0.06]}
environment: {wakes: {strength: 1.2}, ground_effect: true, wind: {steady_m_s: [0.3, 0, 0]}}
actuation: {mode: %s}
controller: {use: quadrotor}
trajectory: {type: circle, radius_m: 0.1, period_s: 3.0, cruise_s: 3.0}
"""


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_through_wakes_and_by_the_ground(mode):
    """Teams that follow plans beside each other: they were flown with mixed up times, 1e-6 beside the flight."""
    scenario = scenario_from_text(STACKED % mode)
    places = (
        "environment.wakes.strength",
        "plant.quad3.mass_kg",
        "initial.quad2.position_m.x",
        "trajectory.radius_m",
    )
    found = sensitivities(scenario, places, 1.0)
    plain = fly(scenario, duration=1.0)
    np.testing.assert_allclose(found.flight.states, plain.states, rtol=0, atol=1e-12)
    for place in places:
        assert np.all(miss(scenario, found, place, 1.0) < 1e-6), place


def test_a_cable_that_is_cut():
    """Derivatives go on through what the scenario changes; its instant is its own and moves with nothing."""
    scenario = replace(load_scenario("slalom"), changes=(Change(0.5, cut=2),))
    places = "plant.payload.mass_kg", "controller.attitude_n_m.y"
    found = sensitivities(scenario, places, 1.2)
    for place in places:
        assert np.all(miss(scenario, found, place, 1.2) < 1e-6), place
        assert found[place].event_times.tolist() == [0.0]


WORN = """
schema: 1
description: a drone whose thrust drifts, whose motor weakens and whose battery sags, on shares of its voltage
model:
  vehicles:
    - {use: delivery_drone, name: drone, battery: {voltage_v: [38.4, 50.4], capacity_ah: 10, resistance_ohm: 0.02, assumed_v: 50.4}}
initial: [{entity: drone, position_m: [0, 0, 3]}]
actuation: rotors
controller: {use: %s}
changes: [{at_s: 0.5, motor: {vehicle: drone, rotor: 2, thrust_gain: 0.9}}, {at_s: 0.8, battery: {vehicle: drone, voltage_factor: 0.7}}]
plant: [{entity: drone, thrust_gain_per_s: -0.01}]
trajectory: {type: waypoints, waypoints_m: [[0, 0, 3], [1, 0, 3]], speed_m_s: 1}
"""


@pytest.mark.parametrize("law", ["cascaded_pid", "quadrotor"])
def test_motors_batteries_and_their_faults(law):
    """With the faults themselves, the drift of the thrust, and what batteries and motors lose."""
    scenario = scenario_from_text(WORN % law)
    places = (
        "changes.1.motor.thrust_gain", "changes.2.battery.voltage_factor", "plant.drone.thrust_gain_per_s",
        "model.vehicles.drone.battery.resistance_ohm", "model.vehicles.drone.rotors.motor.resistance_ohm",
    )  # fmt: skip
    found = sensitivities(scenario, places, 1.5)
    for place in places:
        assert np.all(miss(scenario, found, place, 1.5) < 1e-6), place


def test_a_gain_of_zero_with_noise_and_cuts():
    """There are scenarios to one side of it alone; each has the noise of the flight, through both cuts."""
    place, cuts = "controller.integral_per_s3.x", (Change(0.5, cut=2), Change(0.8, cut=1))
    scenario = load_scenario("three_dragonflies_motion_capture")
    scenario = scenario.changed("controller.integral_per_s3", [0.0, 0.0, 0.0])
    scenario = replace(scenario, changes=cuts)
    found = sensitivities(scenario, [place], 1.2)[place].states
    # the sum is held at the limits of the rotors, so that its gain does little: a long step, of fourth order, for the
    # rounding of flights (1e-13, over the step) to stay below what is asked for
    step, middle = 0.05, fly(scenario, duration=1.2).states
    slope = sum(
        weight * (fly(scenario.changed(place, k * step), duration=1.2).states - middle) / step
        for weight, k in ABOVE
    )
    np.testing.assert_allclose(found, slope, rtol=0, atol=1e-6 * np.abs(found).max())


def test_rotors_with_a_lag_in_gusts():
    scenario = with_lag(load_scenario("three_dragonflies_triangular_1m"))
    found = sensitivities(scenario, ["plant.payload.mass_kg"], 2.0)
    assert miss(scenario, found, "plant.payload.mass_kg", 2.0)[0] < 1e-6


AT_REST = """
schema: 1
description: a vehicle whose rotors lag hovers, level and at rest
model:
  vehicles:
    - name: quad1
      mass_kg: 0.9
      inertia_kg_m2: [0.0061, 0.0064, 0.0112]
      rotors: {layout: x, arm_m: 0.18, speed_rpm: [2000, 9500], thrust_n_per_rpm2: 6.0e-8, torque_per_thrust_m: 0.015, lag_s: 0.05}
      gains: {attitude_n_m: [0.62, 0.65, 0.35], rate_n_m_s: [0.09, 0.09, 0.07]}
actuation: rotors
controller: {use: quadrotor}
initial: [{entity: quad1, position_m: [0, 0, 1]}]
trajectory: {type: hover, position_m: [0, 0, 1], duration_s: 2.0}
"""


@pytest.mark.parametrize("place", ["initial.quad1.velocity_m_s.x", "plant.quad1.mass_kg"])
def test_rotors_with_a_lag_that_have_nothing_to_do(place):
    """What is left of their lag is zero to the last bit at times, its derivatives are not: they were taken for none."""
    scenario = scenario_from_text(AT_REST)
    found = sensitivities(scenario, [place], 1.0)
    assert np.ptp(found.flight.states, axis=0).max() < 1e-12  # it stays, but for rounding
    assert miss(scenario, found, place, 1.0)[0] < 1e-6


@pytest.mark.parametrize("place", ["initial.am1.velocity_m_s.x", "plant.am1.mass_kg"])
def test_joints_with_a_lag_that_have_nothing_to_do(place):
    scenario = load_scenario("arm_coupled")
    found = sensitivities(scenario, [place], 0.9)  # it moves later
    assert miss(scenario, found, place, 0.9)[0] < 1e-6


SET_DOWN = """
schema: 1
description: a load is set down on rigid ground, and the vehicle goes on
model: {vehicles: [{use: dragonfly}], payloads: [{use: point_mass}], attachments: [{type: mechanism, use: point_0-5m}]}
initial: [{entity: payload, position_m: [0, 0, 0.4]}]
environment: {contact: {law: rigid, restitution: %s, friction_static: 0.3}}
controller: {use: point_mass}
trajectory: {type: line, waypoints_m: [[0.0, 0.0, -0.1], [0.3, 0.0, -0.1]], speed_m_s: 0.5}
"""


@pytest.mark.parametrize("part", ["friction_n_m", "damping_n_m_s"])
def test_parts_that_are_not_there_yet(part):
    """What is exactly zero is left out of a flight, and counts in its derivatives all the same."""
    scenario, place = load_scenario("arm_coupled"), f"model.vehicles.am1.joints.joint1.{part}"
    assert value_of(scenario, place) == 0.0
    found = sensitivities(scenario, [place], duration=2.0)[place].states
    step = 1e-4  # only to one side: differences of second order
    none, one, two = (
        fly(scenario.changed(place, k * step), duration=2.0).states for k in (0, 1, 2)
    )
    slope = (-3.0 * none + 4.0 * one - two) / (2.0 * step)
    assert np.abs(found).max() > 0.1
    assert np.abs(slope - found).max() < 1e-5 * np.abs(found).max()


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_load_that_is_set_down_on_rigid_ground(restitution):
    """Through touch, slack, bounces and snaps, under the law: the touch is later the lighter the load."""
    scenario = scenario_from_text(SET_DOWN % restitution)
    places = ["plant.payload.mass_kg", "controller.position_per_s2.z"]
    found = sensitivities(scenario, places, 3.0)
    kinds = [event.type for event in found.flight.events]
    assert kinds[:2] == ["touch", "slack"] and "snap" in kinds
    for place in places:
        assert miss(scenario, found, place, 3.0)[0] < 1e-6, place
    touch = found[places[0]].event_times[0]
    value, step = value_of(scenario, places[0]), 1e-6
    ends = [fly(scenario.changed(places[0], value + s * step), duration=3.0) for s in (1, -1)]
    slope = (ends[0].events[0].time - ends[1].events[0].time) / (2.0 * step)
    assert touch == pytest.approx(slope, rel=1e-5)


def test_more_parameters_than_directions_of_one_pass():
    scenario = load_scenario("slalom")
    places = [
        f"controller.{key}.{axis}"
        for key in ("position_per_s2", "velocity_per_s")
        for axis in "xyz"
    ]
    places += [f"plant.quad{i}.mass_kg" for i in (1, 2, 3)]
    found = sensitivities(scenario, places, 1.0)
    for place in (places[0], places[-1]):
        alone = sensitivities(scenario, [place], 1.0)
        np.testing.assert_array_equal(alone[place].states, found[place].states)
    assert len({c.states.tobytes() for c in found.changes}) == len(places)


def rms_error(flight):
    return float(np.sqrt(np.mean(np.sum(flight.position_error() ** 2, axis=1))))


def test_gradient_of_a_cost():
    flight = rotor.fly("collision_triangular", duration=3.0)
    found = flight.gradient(rms_error, ["plant.payload.mass_kg", "controller.position_per_s2.z"])
    for place, told in found.items():
        value = value_of(flight.scenario, place)
        slopes = []
        for share in (1e-3, 1e-4, 1e-5):
            ends = [
                rotor.fly(flight.scenario.changed(place, value * (1 + s * share)), duration=3.0)
                for s in (1, -1)
            ]
            slopes.append((rms_error(ends[0]) - rms_error(ends[1])) / (2.0 * share * value))
        assert min(abs(slope - told) for slope in slopes) < 1e-6 * abs(told), place


def test_the_end_of_a_flight_by_name():
    """Attitudes change by rotation vectors; the cable's tension by newtons per kilogram."""
    scenario = load_scenario("dragonfly_point_mass")
    found = rotor.sensitivities(scenario, ["plant.payload.mass_kg"], duration=1.0)
    change = found["plant.payload.mass_kg"]
    vehicle = change["quad1"]
    assert (
        vehicle.position.shape
        == vehicle.rotation.shape
        == vehicle.velocity.shape
        == vehicle.body_rate.shape
    )
    # the law knows the nominal load: its thrust pulls both up, T = m_L F / (m + m_L)
    m, m_L = 0.25, 0.07
    assert change.tension("cable1")[0] == pytest.approx(9.81 * m / (m + m_L), rel=1e-9)
    near = change.moved(1e-3)
    np.testing.assert_allclose(
        np.linalg.norm(near["quad1"].attitude, axis=1), 1.0, rtol=0, atol=1e-12
    )
    with pytest.raises(UnknownNameError, match=r"known: plant.payload.mass_kg"):
        found["plant.quad1.mass_kg"]
    with pytest.raises(UnknownNameError, match="no entity"):
        change["quad9"]


def test_what_has_no_derivatives_is_told():
    hover = load_scenario("hover")
    with pytest.raises(ConfigError, match=r"has no .mass"):
        rotor.sensitivities(hover, ["plant.quad1.mass"], duration=1.0)
    with pytest.raises(ConfigError, match="must be a number"):
        rotor.sensitivities(hover, ["description"], duration=1.0)
    with pytest.raises(ContractError, match="list of places"):
        rotor.sensitivities(hover, "plant.quad1.mass_kg", duration=1.0)
    with pytest.raises(ConfigError, match="duration"):
        rotor.sensitivities(hover, ["plant.quad1.mass_kg"], duration=-1.0)
    with pytest.raises(ContractError, match="Python between its steps"):
        rotor.sensitivities("delivery", ["time.step_s"], duration=1.0)
    with pytest.raises(ContractError, match="which cables are taut at the start"):
        rotor.sensitivities(
            "collision_triangular", ["initial.payload.velocity_m_s.z"], duration=1.0
        )
    flight = rotor.fly(hover, duration=1.0)
    other = replace(flight, states=flight.states + 0.1)
    with pytest.raises(ContractError, match="not that of its scenario"):
        other.gradient(rms_error, ["plant.quad1.mass_kg"])
    height = flight.states[-1, 0, 2]
    for kinked in (
        lambda f: abs(f.states[-1, 0, 2] - height),
        lambda f: max(f.states[-1, 0, 2] - height, 0.0),
    ):
        with pytest.raises(ContractError, match="kink"):
            flight.gradient(kinked, ["plant.quad1.mass_kg"])
    with pytest.raises(ContractError, match="finite"):
        flight.gradient(lambda f: np.nan, ["plant.quad1.mass_kg"])


def differenced(flight, place, read, share=1e-4):
    """Derivative of what is read of a flight, from two flights of changed scenarios."""
    at = value_of(flight.scenario, place)
    step, duration = share * (abs(at) or 1.0), flight.time[-1] - flight.time[0]
    ends = [
        read(fly(flight.scenario.changed(place, at + s * step), duration=duration)) for s in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2.0 * step)


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    path = tmp_path_factory.mktemp("passing") / "passing.yaml"
    path.write_text(PASSES)
    return fly(load_scenario(path), duration=1.5)


@pytest.mark.parametrize(
    "place",
    ["environment.obstacles.wall.shape.radius_m", "environment.obstacles.wall.position_m.z", "trajectory.speed_m_s"],
)  # fmt: skip
def test_what_is_read_may_read_the_scenario_too(passing, place):
    """A distance from an obstacle changes with the obstacle, though nothing moves otherwise."""

    def distance(flight):
        return float(flight.margins[0].distance)

    told = passing.gradient(distance, [place])[place]
    # among samples: larger steps come to other ones
    assert told == pytest.approx(differenced(passing, place, distance, 1e-6), rel=1e-5)
    assert abs(told) > 0.1


def test_times_of_events_that_only_the_flight_told_have_no_derivative(passing):
    assert passing.events[0].cause == "passes_through"
    with pytest.raises(ContractError, match="Events that only the flight told"):
        passing.gradient(lambda flight: flight.events[0].time, ["trajectory.speed_m_s"])


EVENT_FIGURES = {
    "impulse": lambda event: sum(event.impulses),
    "energy": lambda event: event.energy_change,
    "closing": lambda event: sum(event.closing_speeds),
    "before": lambda event: sum(event.tensions_before),
    "after": lambda event: sum(event.tensions_after),
    "time": lambda event: event.time,
}


@pytest.mark.parametrize("figure", EVENT_FIGURES)
def test_figures_of_events_have_derivatives(figure):
    """What a snap costs, by the mass of the payload and a gain: against differences of whole flights."""
    scenario = load_scenario("collision_triangular")
    places = ["plant.payload.mass_kg", "controller.position_per_s2.z"]

    def read(flight):
        return float(sum(EVENT_FIGURES[figure](event) for event in flight.events))

    flight = fly(scenario, duration=1.5)
    assert any(event.impulses for event in flight.events)
    told = flight.gradient(read, places)
    for place in places:
        assert told[place] == pytest.approx(
            differenced(flight, place, read, 1e-5), rel=1e-6, abs=1e-9
        )


def test_summaries_have_no_derivative():
    flight = fly(load_scenario("collision_triangular"), duration=1.2)
    for read in (
        lambda flight: float(flight.extra["redundant_cables"]) + 1.0,
        lambda flight: (
            np.where(np.isfinite(flight.asked), flight.asked, 0.0).sum() + flight.asked[0, 0]
        ),
    ):
        with pytest.raises(ContractError, match=r"summaries \(asked, extra\) have no derivative"):
            flight.gradient(read, ["plant.payload.mass_kg"])


@pytest.mark.parametrize("place", ["axis.x", "axis.z", "radius_m"])
def test_pulleys_with_axes_along_a_coordinate(tmp_path, place):
    """The frame of a pulley follows its axis without a leap."""
    path = tmp_path / "pulley.yaml"
    path.write_text(PULLEY)
    place = f"model.attachments.1.through.1.{place}"
    flight = fly(load_scenario(path), duration=1.2)

    def end(flown):
        return flown["quad1"].position[-1]

    told = sensitivities(flight.scenario, [place], duration=1.2).jacobian(end)[0]
    np.testing.assert_allclose(told, differenced(flight, place, end, 1e-5), atol=1e-6)


def test_turbulence_changes_smoothly_with_its_altitude():
    """The same stream of chance makes nearly the same gusts in nearly the same air."""
    place = "environment.wind.turbulence.altitude_m"
    flight = fly(load_scenario("hexacopter_wind"), duration=2.0)

    def states(flown):
        return flown.states[-1, 0]

    told = sensitivities(flight.scenario, [place], duration=2.0).jacobian(states)[0]
    apart = differenced(flight, place, states, 1e-3)
    np.testing.assert_allclose(told, apart, atol=1e-4 * np.abs(apart).max())


@pytest.mark.parametrize(
    "leaps",
    [lambda x: abs(x - 1.0), lambda x: float(x > 1.0), lambda x: float(x == 1.0), lambda x: x + 1e-6 * (x > 1.0)],
)  # fmt: skip
def test_what_leaps_or_bends_at_a_number_has_no_derivative(leaps):
    with pytest.raises(OtherSwitches):
        slopes_of(lambda x: (np.array([leaps(x)]),), (np.array([leaps(1.0)]),), 1.0, 1e-3, FOURTH)


@pytest.mark.parametrize(
    "smooth", [np.exp, lambda x: 1.0 / x, lambda x: (x - 1.0) ** 4, lambda x: 3.0]
)
def test_what_is_smooth_has_one(smooth):
    (slope,) = slopes_of(
        lambda x: (np.array([smooth(x)]),), (np.array([smooth(1.0)]),), 1.0, 1e-3, FOURTH
    )
    assert slope[0] == pytest.approx((smooth(1.0 + 1e-6) - smooth(1.0 - 1e-6)) / 2e-6, abs=1e-8)


@pytest.mark.parametrize("points", [ABOVE, BELOW])
def test_differences_to_one_side(points):
    """Of fourth order, and no leap passes."""

    def slope(read):
        return slopes_of(
            lambda x: (np.array([read(x)]),), (np.array([read(1.0)]),), 1.0, 1e-3, points
        )[0][0]

    assert slope(np.exp) == pytest.approx(np.e, rel=1e-11)
    assert slope(lambda x: x**4) == pytest.approx(4.0, rel=1e-11)
    with pytest.raises(OtherSwitches):
        slope(lambda x: float(x == 1.0))


def test_a_number_at_the_end_of_what_is_allowed():
    """A payload without drag: there is no less of it."""
    scenario, place = (
        load_scenario("dragonfly_point_mass"),
        "model.payloads.1.drag.linear_n_s_per_m.x",
    )
    bare = tuple(replace(p, drag=DragCoefficients()) for p in scenario.model.payloads)
    scenario = replace(scenario, model=replace(scenario.model, payloads=bare))

    def end(flown):
        return flown["payload"].position[-1, 0]

    told = sensitivities(scenario, [place], duration=2.0).jacobian(end)[0]
    ends = [end(fly(scenario.changed(place, k * 1e-4), duration=2.0)) for k in range(3)]
    assert told == pytest.approx((4.0 * ends[1] - ends[2] - 3.0 * ends[0]) / 2e-4, rel=1e-5)
    assert abs(told) > 1e-4


@pytest.mark.parametrize(
    "wrong", [{"parameters": [3]}, {"parameters": ["plant.quad1.mass_kg"], "duration": "x"}]
)
def test_arguments_of_another_kind_are_refused(wrong):
    with pytest.raises(ContractError, match="sensitivities: "):
        sensitivities(load_scenario("hover"), **wrong)
