"""Derivatives of flights at values at which an `if` decides: no yaw at the limits of rotors, sums that begin at zero,
friction, restitution and resistances of zero. Truth: differences, to both sides where numbers may be on both.
"""

import numpy as np
import pytest

import rotor
from rotor_core.config.loader import scenario_from_text
from rotor_core.kernels.jit import COMPILED
from rotor_flight.sensitivities.backward.loop import LoopFunction

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")

CLIMB = """
schema: 1
description: A climb at the limits of the rotors, without any yaw.
model: {vehicles: [{use: dragonfly, name: quad1}]}
initial: [{entity: quad1, position_m: [0, 0, 0], rate_rad_s: [0, 0, 0]}]
controller: {use: quadrotor}
trajectory: {type: line, waypoints_m: [[0, 0, 9]], speed_m_s: 20, acceleration_m_s2: 25}
"""

HELD = """
schema: 1
description: A climb at the limits of the rotors, in which sums of errors are held.
model: {vehicles: [{use: dragonfly}], payloads: [{use: point_mass}], attachments: [{type: mechanism, use: point_0-5m}]}
initial: [{entity: payload, position_m: [0, 0, 0], velocity_m_s: [0, 0, 0]}]
controller: {use: point_mass, integral_per_s3: [1, 1, 1]}
trajectory: {type: line, waypoints_m: [[0, 0, 12]], speed_m_s: 20, acceleration_m_s2: 25}
"""

RINGS = """
schema: 1
description: A load and its weight on a cable through three rings, of which the middle one is smooth.
model:
  payloads:
    - {name: load, mass_kg: 0.9, shape: {type: sphere, radius_m: 0.08}}
    - {name: weight, mass_kg: 0.3, shape: {type: sphere, radius_m: 0.05}}
  attachments:
    - type: cable
      a: load
      through:
        - {entity: world, point_m: [-0.3, 0, 3.0], friction: 0.2}
        - {entity: world, point_m: [0, 0, 3.2], friction: 0.0}
        - {entity: world, point_m: [0.3, 0, 3.0], friction: 0.2}
      b: weight
      length_m: 1.7211102550927978
initial: [{entity: load, position_m: [-0.3, 0, 2.5]}, {entity: weight, position_m: [0.3, 0, 2.5]}]
controller: {type: open_loop}
trajectory: {type: hover, duration_s: 0.5}
"""

BATTERY = """
schema: 1
description: A battery without resistance that runs empty fast.
model:
  vehicles:
    - {use: delivery_drone, name: drone, battery: {voltage_v: [38.4, 50.4], capacity_ah: 0.1, resistance_ohm: 0.0, assumed_v: 50.4}}
initial: [{entity: drone, position_m: [0, 0, 3]}]
actuation: rotors
controller: {use: quadrotor}
trajectory: {type: hover, duration_s: 2}
"""

BALLS = """
schema: 1
description: A ball hits another one, without restitution.
model:
  payloads:
    - {name: a, mass_kg: 1, shape: {type: sphere, radius_m: 0.1}}
    - {name: b, mass_kg: 1, shape: {type: sphere, radius_m: 0.1}}
initial: [{entity: a, position_m: [0, 0, 5], velocity_m_s: [1, 0, 0]}, {entity: b, position_m: [0.3003, 0.02, 5]}]
environment: {contact: {law: rigid, restitution: 0.0, friction_static: 0.3}}
controller: {type: open_loop}
trajectory: {type: hover, duration_s: 0.5}
"""

CASES = {
    "yaw at the limits of rotors": (CLIMB, "initial.quad1.rate_rad_s.z", 0.3, (0, 12), 1e-5, True),
    "a sum that is held": (HELD, "initial.payload.velocity_m_s.y", 1.0, (1, 1), 1e-6, True),
    "friction of a smooth ring": (RINGS, "model.attachments.1.through.2.friction", 0.4, (0, 2), 1e-6, False),
    "resistance of a battery": (BATTERY, "model.vehicles.drone.battery.resistance_ohm", 2.0, (0, 2), 1e-5, False),
}  # fmt: skip
"""Scenario, place of a number, duration, what is read at the end, step of the difference, whether to both sides."""


@pytest.mark.parametrize("name", CASES)
def test_against_differences(name):
    text, place, seconds, read, step, both = CASES[name]
    scenario = scenario_from_text(text)
    found = rotor.sensitivities(scenario, [place], duration=seconds)
    told, at = found[place].states[-1][read], found.changes[0].number

    def end(by):
        return rotor.fly(scenario.changed(place, at + by), duration=seconds).states[-1][read]

    sides = [(end(step) - end(0.0)) / step]
    if both:
        sides.append((end(0.0) - end(-step)) / step)
    assert found.doubt is None
    # to one side a difference is of first order
    np.testing.assert_allclose(told, sides, rtol=1e-3 if not both else 1e-6)


def test_yaw_at_the_limits_of_rotors_backward():
    text, place, seconds, read, *_ = CASES["yaw at the limits of rotors"]
    scenario = scenario_from_text(text)
    flight = LoopFunction(scenario, seconds)()
    weights = np.zeros(flight.states.shape)
    weights[-1][read] = 1.0
    forward = rotor.sensitivities(scenario, [place], duration=seconds)[place].states[-1][read]
    (told,) = flight.gradient(weights, parameters=[place]).parameters
    assert told == pytest.approx(forward, rel=1e-7)


def test_restitution_of_zero_is_doubted():
    scenario, place = scenario_from_text(BALLS), "environment.contact.restitution"
    found = rotor.sensitivities(scenario, [place], duration=0.5)
    assert found.doubt is not None and "without restitution" in str(found.doubt)
    beside = rotor.sensitivities(scenario.changed(place, 0.1), [place], duration=0.5)
    assert beside.doubt is None and abs(beside[place].states[-1][0, 0]) > 0.1
