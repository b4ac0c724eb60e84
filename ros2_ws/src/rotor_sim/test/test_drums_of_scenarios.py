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
    assert lengths(flight)[-1] == pytest.approx(
        2.0, abs=0.03
    )  # the brake acts a control period late
    assert flight.tensions[-1, 0] == pytest.approx(0.5 * 9.81, rel=0.5)


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
        ("{at_s: 0.5, wind: {cable: 1}}", "wind is to a length_m or with a torque_n_m"),
        ("{at_s: 0.5, wind: {cable: 1, torque_n_m: 0.1, rate_m_s: 0.1}}", "a torque gives no rate"),
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
