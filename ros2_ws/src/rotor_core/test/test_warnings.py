"""Notes on what is possible but implausible: each kind where it belongs, none in shipped scenarios."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rotor_core.config.catalog import shipped
from rotor_core.config.loader import load_scenario, scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.warnings import notes

LONE = """
schema: 1
model: {vehicles: [{use: dragonfly, %s}]}
controller: {type: quadrotor}
"""
LOADED = """
schema: 1
model:
  vehicles: [{use: dragonfly}, {use: dragonfly}, {use: dragonfly}]
  payloads: [{use: triangular, %s}]
  attachments: [{type: mechanism, use: triangular_1m}]
controller: {use: cable_team}
"""
TILTED = """
schema: 1
model:
  vehicles:
    - name: q
      mass_kg: 1.0
      inertia_kg_m2: [0.01, 0.01, 0.02]
      rotors:
        layout: custom
        hubs:
          - &hub {position_m: [0.2, 0.2, 0.0], spin: ccw, axis: &axis %s}
          - {position_m: [-0.2, 0.2, 0.0], spin: cw, axis: *axis}
          - {position_m: [-0.2, -0.2, 0.0], spin: ccw, axis: *axis}
          - {position_m: [0.2, -0.2, 0.0], spin: cw, axis: *axis}
        speed_rpm: [1500, 9000]
        thrust_n_per_rpm2: 1.0e-7
        torque_per_thrust_m: 0.016
      gains:
        position_per_s2: [6, 6, 10]
        velocity_per_s: [3, 3, 6]
        attitude_n_m: [4, 4, 2]
        rate_n_m_s: [0.4, 0.4, 0.2]
        cable_direction_per_s2: [16, 16, 16]
        cable_rate_per_s: [6, 6, 6]
controller: {type: quadrotor}
"""
MIXED = """
schema: 1
model:
  vehicles: [{use: dragonfly}, {use: dragonfly_bullnose}, {use: hummingbird}]
  payloads: [{use: triangular}]
  attachments: [{type: mechanism, use: triangular_rigid_3}]
controller: {use: rigid_team, allocation: %s}
"""
ON_A_ROD = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: a}, {use: dragonfly, name: b}, {use: dragonfly, name: c}]
  payloads: [{name: rod, mass_kg: 0.2, inertia_kg_m2: [0.001, 0.01, 0.01], shape: {type: box, size_m: [0.9, 0.1, 0.1]}}]
  attachments:
    - {type: cable, a: a, b: rod, length_m: 1.0, b_point_m: [-0.4, 0, 0]}
    - {type: cable, a: b, b: rod, length_m: 1.0, b_point_m: [0.0, 0, 0]}
    - {type: cable, a: c, b: rod, length_m: 1.0, b_point_m: [0.4, 0, 0]}
controller: {use: cable_team}
"""
ALONE = """
schema: 1
model: {vehicles: [{use: dragonfly}], payloads: [{name: parcel, mass_kg: 0.1}]}
controller: {use: quadrotor}
%s"""
LONG_ARMS = (
    "rotors: {layout: plus, arm_m: 10.75, speed_rpm: [5500.0, 16400.0], thrust_n_per_rpm2: 3.94e-9, "
    "torque_per_thrust_m: 0.012}"
)


def found(text):
    return notes(scenario_from_tree(parse_tree(text, "mine.yaml")))


def test_a_law_that_solves_longer_than_a_period():
    scenario = load_scenario("three_dragonflies_predictive")
    fast = replace(scenario, time=replace(scenario.time, control_s=0.005))
    (note,) = notes(fast)
    assert note.kind == "rate" and "control_s: 0.02" in note.text


@pytest.mark.parametrize("name", shipped("scenarios"))
def test_shipped_scenarios_mean_what_they_say(name):
    assert notes(load_scenario(name)) == []


@pytest.mark.parametrize(
    ("text", "kinds", "words"),
    [
        (LONE % LONG_ARMS, {"arm", "inertia"}, "hubs 10.75 m from the centre"),
        (LONE % "inertia_kg_m2: [0.601, 0.589, 1.076]", {"inertia", "gains"}, "radius of gyration of 1.55 m"),
        (LONE % "mass_kg: 278.0", {"arm", "inertia", "thrust"}, "mass over length cubed is 2.24e+05"),
        (LONE % "mass_kg: 0.43", {"thrust"}, "give 4.24 N at most, 1.01 of the weight of 0.43 kg"),
        (LONE % "gains: {attitude_n_m: [250.0, 0.25, 0.08], rate_n_m_s: [0.025, 0.025, 0.005]}", {"gains"}, "about x of 250"),
        (LONE % "gains: {attitude_n_m: [0.25, 0.25, 0.08], rate_n_m_s: [0.0, 0.025, 0.005]}", {"gains"}, "by 0 of what"),
        (LOADED % "mass_kg: 2.0", {"thrust"}, "team of payload"),
        (LOADED % "inertia_kg_m2: [2.0, 4.0, 5.0]", {"gains", "inertia"}, "controller.attitude_n_m about y"),
        (LOADED % "inertia_kg_m2: [0.06, 0.06, 0.1]", {"inertia"}, "more than its shape reaches"),
        (ON_A_ROD, {"cable"}, "attached along one line"),
        (LONE % "mass_kg: 0.25" + "sensing: {imu: {rate_hz: 700}}\n", {"rate"}, "at 1000 Hz"),
        (MIXED % "moments", {"allocation"}, "cannot give alike"),
        (MIXED % "rotors", set(), ""),
        (TILTED % "[0.3, 0.0, 1.0]", {"allocation"}, "push sideways by 0.3 of the weight"),
        (TILTED % "[0.0, 0.0, 1.0]", set(), ""),
        (ALONE % "", {"free"}, "'parcel' hangs on nothing"),
        (ALONE % "environment: {contact: {}}\n", set(), ""),
    ],
)  # fmt: skip
def test_what_is_implausible_is_noted(text, kinds, words):
    made = found(text)
    assert {n.kind for n in made} == kinds
    assert any(words in str(n) for n in made) or not kinds
    for note in made:
        assert str(note).endswith(f"(If it is meant: notes_off: [{note.kind}].)")
    off = text + f"notes_off: [{', '.join(sorted(kinds))}]\n"
    assert found(off) == []


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError, match="must be one of arm, inertia"):
        found(LONE % "mass_kg: 0.25" + "notes_off: [weight]\n")
