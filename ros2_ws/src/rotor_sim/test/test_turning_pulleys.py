"""Pulleys that turn with their cables: closed forms of Atwood's machine, slip, and wheels on what moves."""

import numpy as np
import pytest

from rotor_core.config.loader import scenario_from_text
from rotor_core.errors import ConfigError
from rotor_core.warnings import notes
from rotor_sim.simulation import Simulation

G = 9.81
RADIUS = 0.1

ATWOOD = """
schema: 1
model:
  payloads: [{{name: a, mass_kg: {a}}}, {{name: b, mass_kg: {b}}}]
  attachments:
    - type: cable
      a: a
      b: b
      length_m: {length}
      through:
        - {{entity: world, point_m: [0, 0, 3], radius_m: 0.1, axis: [0, 1, 0], turn: ccw, friction: {friction}, {wheel}}}
initial:
  - {{entity: a, position_m: [-0.1, 0.0, 2.0]}}
  - {{entity: b, position_m: [0.1, 0.0, 2.0]}}
controller: {{type: open_loop}}
"""


def atwood(a, b, *, friction=0.4, wheel="wheel: {mass_kg: 0.5}"):
    length = repr(2.0 + np.pi * RADIUS)
    text = ATWOOD.format(a=a, b=b, length=length, friction=friction, wheel=wheel)
    return Simulation(scenario_from_text(text, "atwood"))


def fall(simulation, periods=60):
    """Time that has passed, and how far the first weight went up."""
    start, z = simulation.time, simulation.motion[0, 2]
    for _ in range(periods):
        simulation.step()
    return simulation.time - start, simulation.motion[0, 2] - z


@pytest.mark.parametrize(
    ("wheel", "inertia"),
    [
        ("wheel: {mass_kg: 0.5}", 0.5 * 0.5 * RADIUS**2),
        ("wheel: {mass_kg: 0.1, inertia_kg_m2: 0.004}", 0.004),
    ],
)
def test_atwood_with_a_wheel(wheel, inertia):
    """a = (m1 - m2) g / (m1 + m2 + J/r^2); the tensions on both sides differ by what turns the wheel."""
    a, b = 1.0, 0.8
    simulation = atwood(a, b, wheel=wheel)
    passed, up = fall(simulation)
    acceleration = (a - b) * G / (a + b + inertia / RADIUS**2)
    assert up == pytest.approx(-0.5 * acceleration * passed**2, abs=1e-12)
    engine = simulation.engine
    assert engine.tensions[0] == pytest.approx(a * (G - acceleration), rel=1e-12)
    assert engine.tensions_at_b[0] == pytest.approx(b * (G + acceleration), rel=1e-12)
    angle, rate = engine.joints.angles[0], engine.joints.rates[0]
    assert abs(rate) * RADIUS == pytest.approx(acceleration * passed, rel=1e-12)
    assert abs(angle) * RADIUS == pytest.approx(-up, rel=1e-12)


def test_a_cable_slips_on_a_wheel_that_is_too_heavy():
    """T1 = e^(mu pi) T2 while it slips, and the wheel gathers speed by their difference."""
    a, b, friction, inertia = 1.0, 0.3, 0.2, 0.05
    simulation = atwood(
        a, b, friction=friction, wheel=f"wheel: {{mass_kg: 1.0, inertia_kg_m2: {inertia}}}"
    )
    passed, up = fall(simulation)
    ratio = np.exp(friction * np.pi)
    acceleration = G * (a - ratio * b) / (a + ratio * b)
    assert up == pytest.approx(-0.5 * acceleration * passed**2, abs=1e-12)
    force = a * (G - acceleration) * (1.0 - 1.0 / ratio)
    rate = abs(simulation.engine.joints.rates[0])
    assert rate == pytest.approx(force * RADIUS / inertia * passed, rel=1e-12)
    assert rate * RADIUS < acceleration * passed
    assert abs(simulation.engine.accuracy.energy_error_j) < 1e-11


def test_a_wheel_that_weighs_nothing_is_a_pulley():
    """The limit of small inertia, with the slip that friction leaves: (J/r^2) / (m1 + m2) of the acceleration."""
    light = atwood(1.0, 0.8, wheel="wheel: {mass_kg: 1.0e-9}")
    plain = atwood(1.0, 0.8, friction=0.0, wheel="wheel: null")
    assert fall(light)[1] == pytest.approx(fall(plain)[1], rel=1e-9)
    assert light.body_names == ["a", "b", "cable1/wheel1"] and plain.body_names == ["a", "b"]


CARRIED = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{name: a, mass_kg: 0.1}, {name: b, mass_kg: 0.06}]
  attachments:
    - type: cable
      a: a
      b: b
      length_m: 1.157079632679
      through:
        - {entity: quad1, point_m: [0.0, 0.0, -0.1], radius_m: 0.05, axis: [0, 1, 0], turn: ccw, friction: 0.5,
           wheel: {mass_kg: 0.03, inertia_kg_m2: 4.0e-5}}
initial:
  - {entity: quad1, position_m: [0.0, 0.0, 2.0]}
  - {entity: a, position_m: [-0.05, 0.0, 1.4]}
  - {entity: b, position_m: [0.05, 0.0, 1.4]}
controller: {use: point_mass}
"""


def test_a_wheel_on_a_vehicle():
    """Without thrust all fall alike: the cable is slack, and nothing turns the wheel. With thrust it turns."""
    for thrust, turns in ((0.0, False), (1.0, True)):
        simulation = Simulation(scenario_from_text(CARRIED, "carried"))
        weight = simulation.scenario.model.vehicles[0].mass_kg * G
        for _ in range(40):
            simulation.step(np.array([[2.0 * thrust * weight, 0.0, 0.0, 0.0]]))
        assert (abs(simulation.engine.joints.rates[0]) > 1.0) == turns
        assert abs(simulation.engine.accuracy.energy_error_j) < 1e-9


def test_the_law_is_said_not_to_know_of_heavy_wheels():
    text = CARRIED.replace("mass_kg: 0.03", "mass_kg: 0.3")
    found = [str(note) for note in notes(scenario_from_text(text, "carried"))]
    assert any("cable1: its wheels weigh 0.3 kg" in note for note in found), found
    text = CARRIED.replace("mass_kg: 0.03", "mass_kg: 0.003")
    found = [str(note) for note in notes(scenario_from_text(text, "carried"))]
    assert not any("wheels" in note for note in found), found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("friction: 0.4, ", ""),
        ("radius_m: 0.1, axis: [0, 1, 0], turn: ccw, ", ""),
        ("wheel: {mass_kg: 0.5}", "wheel: {mass_kg: 0.0}"),
        ("wheel: {mass_kg: 0.5}", "wheel: {mass_kg: 1.0, inertia_kg_m2: -1.0}"),
    ],
)
def test_wheels_that_cannot_be_are_refused(old, new):
    text = ATWOOD.format(a=1.0, b=0.8, length=2.3, friction=0.4, wheel="wheel: {mass_kg: 0.5}")
    assert old in text
    with pytest.raises(ConfigError, match="wheel"):
        scenario_from_text(text.replace(old, new), "atwood")
