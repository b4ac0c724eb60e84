"""Winches with a drum in scenarios: orders, limits of the motor, brakes, and what is refused."""

import numpy as np
import pytest

from rotor_core.config.loader import scenario_from_text
from rotor_core.errors import ConfigError, ContractError
from rotor_flight.fly import fly
from rotor_sim.simulation import Simulation

SCENE = """
schema: 1
model:
  payloads: [{{use: point_mass, name: load, mass_kg: 0.5}}]
  attachments:
    - type: cable
      a: world
      a_point_m: [0.0, 0.0, 3.0]
      b: load
      length_m: 1.0
      winch: {{lengths_m: [0.2, 2.0], rate_m_s: 0.5, acceleration_m_s2: 1.0, drum: {drum}}}
initial: [{{entity: load, position_m: [0.0, 0.0, 2.0]}}]
controller: {{type: open_loop}}
trajectory: {{type: hover, duration_s: 4.0}}
settle_s: 0.0
changes: [{changes}]
"""
STRONG = (
    "{radius_m: 0.05, inertia_kg_m2: 5.0e-4, torque_n_m: 0.5}"  # 0.2 kg, 10 N: twice the weight
)
WEAK = "{radius_m: 0.05, inertia_kg_m2: 5.0e-4, torque_n_m: 0.1}"  # 2 N: less than the weight


def flown(changes, drum=STRONG):
    return fly(scenario_from_text(SCENE.format(drum=drum, changes=changes)))


def lengths(flight):
    return 3.0 - flight["load"].position[:, 2]


def test_a_brake_holds_what_nobody_asks_for():
    flight = flown("")
    assert np.abs(lengths(flight) - 1.0).max() < 1e-12
    assert not flight.events


@pytest.mark.parametrize("length", [1.6, 0.4])
def test_an_order_ends_at_its_length(length):
    flight = flown(f"{{at_s: 0.5, wind: {{cable: 1, length_m: {length}}}}}")
    assert lengths(flight)[-1] == pytest.approx(length, abs=2e-4)  # where the brake takes over
    assert np.ptp(lengths(flight)[-100:]) < 1e-6
    rate = np.abs(np.gradient(lengths(flight), flight.time))
    assert rate.max() == pytest.approx(0.5, rel=0.02)  # rate_m_s
    assert flight.tensions[flight.taut[:, 0], 0].max() < 0.5 * (9.81 + 1.3)


def test_a_motor_that_is_too_weak_pays_out_to_the_end_and_is_held_there():
    """It is asked to reel in, and the load pulls it out: its weight less 2 N on 0.7 kg."""
    flight = flown("{at_s: 0.5, wind: {cable: 1, length_m: 0.4}}", WEAK)
    after = flight.elapsed > 0.52
    a = (0.5 * 9.81 - 2.0) / 0.7
    t = flight.elapsed[after] - 0.5
    falls = t < np.sqrt(2.0 / a) - 0.02
    np.testing.assert_allclose(
        lengths(flight)[after][falls], 1.0 + 0.5 * a * t[falls] ** 2, atol=1e-9
    )
    ends = np.sqrt(2.0 / a)  # at the instant at which its cable ends, not at that of a period
    (end,) = flight.events
    assert (end.type, end.cause, end.cables) == ("touch", "end_of_cable", (0,))
    assert end.time - flight.time[0] - 0.5 == pytest.approx(ends, abs=1e-9)
    assert end.impulses[0] == pytest.approx(0.5 * a * ends, rel=1e-9)  # stops the load
    np.testing.assert_allclose(lengths(flight)[flight.elapsed > 0.5 + ends], 2.0, atol=1e-12)
    assert flight.tensions[-1, 0] == pytest.approx(0.5 * 9.81, rel=1e-9)


def test_it_is_reeled_in_from_the_end_again():
    """Held there by the end of its cable while its motor is too weak; a lighter load would let it go at once."""
    world = Simulation(scenario_from_text(SCENE.format(drum=STRONG, changes="")))
    world.winches.turn(0, 0.1)  # 2 N
    for _ in range(600):
        world.step()
    assert world.engine.winches.length(0) == pytest.approx(2.0, abs=1e-12)
    assert abs(world.engine.winches.rate(0)) < 1e-15
    world.winches.turn(0, 0.3)  # 6 N
    a, start = (6.0 - 0.5 * 9.81) / 0.7, world.time
    for _ in range(100):
        world.step()
    t = world.time - start
    assert world.engine.winches.length(0) == pytest.approx(2.0 - 0.5 * a * t * t, abs=1e-9)


def test_a_drum_that_reels_in_stops_where_its_cable_does():
    """At its shortest the drum stops at once; its load flies on, and the cable is slack."""
    flight = flown("{at_s: 0.5, wind: {cable: 1, torque_n_m: 0.5}}")
    a = (10.0 - 0.5 * 9.81) / 0.7
    ends = np.sqrt(2.0 * 0.8 / a)
    touch, slack = flight.events[:2]
    assert (touch.type, touch.cause, slack.type) == ("touch", "end_of_cable", "slack")
    assert touch.time == slack.time
    assert touch.time - flight.time[0] == pytest.approx(0.5 + ends, abs=1e-8)
    t = flight.elapsed - 0.5 - ends
    up = (t > 0.0) & (t < 0.14)  # then it is above, as far as its cable goes
    height = 0.2 - (a * ends * t - 0.5 * 9.81 * t * t)
    np.testing.assert_allclose(lengths(flight)[up], height[up], atol=1e-7)


def test_a_torque_is_a_force_at_the_rim():
    flight = flown("{at_s: 0.5, wind: {cable: 1, torque_n_m: 0.3}}")
    a = (0.3 / 0.05 - 0.5 * 9.81) / 0.7
    t = flight.elapsed - 0.5
    rising = (t > 0.02) & (1.0 - 0.5 * a * t**2 > 0.25)
    np.testing.assert_allclose(lengths(flight)[rising], 1.0 - 0.5 * a * t[rising] ** 2, atol=2e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "{at_s: 0.5, wind: {cable: 1, torque_n_m: 0.6}}",
            r"torque_n_m: at most 0\.5 \(that of the drum\), got 0\.6",
        ),
        (
            "{at_s: 0.5, wind: {cable: 1}}",
            "wind is to a length_m, with a torque_n_m or along a profile",
        ),
        (
            "{at_s: 0.5, wind: {cable: 1, torque_n_m: 0.1, rate_m_s: 0.1}}",
            "rate_m_s belongs to length_m",
        ),
        ("{at_s: 0.5, wind: {cable: 1, length_m: 3.0}}", "must be 0.2 to 2"),
    ],
)
def test_orders_are_checked(change, message):
    with pytest.raises(ConfigError, match=message):
        scenario_from_text(SCENE.format(drum=STRONG, changes=change))


def test_orders_in_flight_are_checked():
    world = Simulation(scenario_from_text(SCENE.format(drum=STRONG, changes="")))
    with pytest.raises(ContractError, match=r"torque must be at most 0\.5 N m, got 1"):
        world.winches.turn(0, 1.0)
    plain = Simulation("winch_delivery")
    with pytest.raises(ContractError, match="has no winch with a drum"):
        plain.winches.turn(0, 0.1)
