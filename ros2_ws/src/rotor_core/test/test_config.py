"""Scenarios.

Every shipped file loads; every mistake is answered with file, line, value and remedy; fuzz never
breaks it.
"""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat

from rotor_core.config.catalog import FOLDERS, config_directory, shipped
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import (
    dump_scenario,
    load_scenario,
    scenario_from_text,
    scenario_from_tree,
    scenario_heading,
)
from rotor_core.config.parameters import Variations
from rotor_core.config.schema import InitialState, PlantChange
from rotor_core.config.teams import attachment_points, cable_lengths, teams
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError

GOOD = """\
schema: 1
description: test
model:
  vehicles:
    - {use: dragonfly}
    - {use: dragonfly}
  payloads:
    - {use: bar}
  attachments:
    - {type: mechanism, use: bar_0-5m}
controller: {use: cable_team_bar}
trajectory: {type: circle, radius_m: 1.0, period_s: 10.0, cruise_s: 5.0}
time: {step_s: 0.001, control_s: 0.005}
seed: 3
"""


def load(text):
    return scenario_from_tree(parse_tree(text, "test.yaml"))


@pytest.mark.parametrize("name", shipped("scenarios"))
def test_every_shipped_scenario_loads_and_round_trips(name):
    scenario = load_scenario(name)
    assert scenario.description
    assert load(dump_scenario(scenario)) == scenario
    states = initial_states(scenario)
    for team in teams(scenario.model):
        if team.cables:
            assert (
                len(cable_lengths(scenario.model, team))
                == len(attachment_points(scenario.model, team))
                == len(team.vehicles)
            )
    assert states.shape == (len(scenario.model.entities), 13)


def test_every_shipped_file_is_used_by_a_scenario_or_loads_alone():
    for folder in FOLDERS:
        assert shipped(folder), folder
    texts = " ".join(p.read_text() for p in (config_directory() / "scenarios").glob("*.yaml"))
    base = GOOD.splitlines()
    for name in shipped("vehicles"):
        short = "\n".join(base).replace("step_s: 0.001", "step_s: 0.0002")  # as blades need
        load(short.replace("dragonfly", name))
    for name in shipped("payloads"):
        load(
            "\n".join(
                line for line in base if "attach" not in line and "mechanism" not in line
            ).replace("{use: bar}", f"{{use: {name}}}")
        )
    for name in shipped("trajectories"):
        load(
            "\n".join(
                f"trajectory: {{use: {name}}}" if line.startswith("trajectory") else line
                for line in base
            )
        )
    for name in shipped("controllers"):
        load(
            "\n".join(
                f"controller: {{use: {name}}}" if line.startswith("controller") else line
                for line in base
            )
        )
    for name in shipped("attachments"):
        assert f"use: {name}}}" in texts, f"{name} is used by no scenario"


def test_table_of_the_paper():
    """Spot checks of section 4: nothing got lost between table and files."""
    scenario = load_scenario("three_dragonflies_triangular_1-2m_0-8m_1m")
    assert [c.length_m for c in scenario.model.cables] == [1.2, 0.8, 1.0]
    assert scenario.model.payloads[0].mass_kg == 0.278
    assert scenario.model.cables[1].b_point_m == (0.3083, 0.0, 0.01125)
    assert [v.mass_kg for v in load_scenario("heterogeneous_triangular_1m").model.vehicles] == [
        0.25,
        0.95,
        0.5,
    ]
    assert len(load_scenario("six_dragonflies_box").model.cables) == 6


MISTAKES = [
    ("schema: 1", "schema: 2", r"test\.yaml:1: schema: must be 1, got 2"),
    ("schema: 1\n", "", r"schema: is missing"),
    ("use: bar}", "use: baar}", r"test\.yaml:8: model\.payloads\[0\]\.use: 'baar': no shipped payload.*did you mean \"bar\"\?"),
    ("radius_m: 1.0", "radius_m: -1.0", r"test\.yaml:12: trajectory\.radius_m: must be > 0, got -1"),
    ("radius_m: 1.0", "radius_m: .nan", r"test\.yaml:12: trajectory\.radius_m: must be a finite number, got nan"),
    ("radius_m: 1.0", 'radius_m: "1.0"', r"trajectory\.radius_m: must be a number, got '1\.0'"),
    ("radius_m", "radios_m", r"test\.yaml:12: trajectory\.radios_m: unknown key 'radios_m'; did you mean \"radius_m\"\?"),
    ("type: circle", "type: circel", r"trajectory\.type: must be one of hover.*got 'circel'; did you mean \"circle\"\?"),
    ("cruise_s: 5.0", "", r"trajectory\.cruise_s: is missing|must be a mapping|valid YAML"),
    ("control_s: 0.005", "control_s: 0.0055", r"test\.yaml:13: time: control_s must be a whole multiple of step_s"),
    ("seed: 3", "seed: 3.5", r"test\.yaml:14: seed: must be a whole number, got 3\.5"),
    ("seed: 3", "seed: true", r"seed: must be a whole number, got True"),
    ("seed: 3", "seed: 3\nseed: 4", r"test\.yaml:15: key 'seed' appears twice"),
    ("seed: 3", "seed: [", r"test\.yaml:1\d: is not valid YAML"),
    ("- {use: dragonfly}\n    - {use: dragonfly}", "- {use: dragonfly}", r"test\.yaml:9: .*bar_0-5m has 2 attachment points, but there are 1 vehicles"),
    ("- {use: bar}", "- {use: bar, mass_kg: 0}", r"test\.yaml:8: model\.payloads\[0\]\.mass_kg: must be > 0, got 0"),
    ("- {use: bar}", "- {use: bar, inertia_kg_m2: [1, 1, 9]}", r"payloads\[0\]: inertia_kg_m2 belongs to no rigid body"),
    ("- {use: bar}", "- {use: bar, name: quad1}", r"payloads\[0\].name: 'quad1' appears twice"),
    ("- {use: bar}", "- {use: bar, name: 1bar}", r"name must start with a letter"),
    ("seed: 3", "plant: [{entity: qad1, mass_kg: 1.0}]", r"plant\[0\]\.entity: there is no entity 'qad1'; did you mean \"quad1\"\?"),
    ("seed: 3", "plant: [{cable: 3, length_m: 1.0}]", r"plant\[0\]\.cable: must be 1\.\.2, got 3"),
    ("seed: 3", "plant: [{entity: quad1, mass_kg: 1.0}, {entity: quad1, thrust_gain: 0.5}, {entity: quad1, mass_kg: 2.0}]", r"plant\[2\]\.mass_kg: that of 'quad1' stands in plant\[0\] too"),
    ("seed: 3", "plant: [{cable: 1, mass_kg: 1.0}]", r"plant\[0\]\.mass_kg: is an entity's"),
    ("seed: 3", "plant: [{entity: quad1, length_m: 1.0}]", r"plant\[0\]\.length_m: is a cable's"),
    ("seed: 3", "plant: [{entity: payload, thrust_gain_per_s: -0.01}]", r"plant\[0\]\.thrust_gain_per_s: 'payload' has no rotors"),
    ("seed: 3", "initial: [{entity: quad1, position_m: [1, 2]}]", r"test\.yaml:14: initial\[0\]\.position_m: must have 3 entries, got 2"),
    ("type: circle, radius_m: 1.0, period_s: 10.0, cruise_s: 5.0", "type: line, waypoints_m: []", r"test\.yaml:12: trajectory: waypoints_m must hold at least one point"),
    ("type: circle", "type: [circle]", r"test\.yaml:12: trajectory\.type: must be one of hover.*got a list"),
    ("type: circle", "type: {a: 1}", r"trajectory\.type: must be one of hover.*got a mapping"),
    ("schema: 1", "schema: [1]", r"test\.yaml:1: schema: must be 1, got a list\."),
    ("seed: 3", '"a\\nb": 3', r"test\.yaml:14: 'a\\nb': unknown key 'a\\nb'"),
    ("seed: 3", '"\\u202ed": 3', r"test\.yaml:14: '\\u202ed': unknown key '\\u202ed'"),
    ("seed: 3", "x" * 500 + ": 3", r"unknown key 'x{36}\.\.\."),
    ("seed: 3", "seed: " + "9" * 5000, r"test\.yaml:14: '9{40}' is not a number"),
    ("use: bar_0-5m", "use: [bar_0-5m]", r"test\.yaml:10: model\.attachments\[0\]\.use: must be a text, got a list"),
    ("use: bar_0-5m", "use: bar_0-5m, payload: [bar]", r"test\.yaml:10: model\.attachments\[0\]\.payload: must be a text, got a list"),
    ("use: bar_0-5m", "use: bar_0-5m, vehicles: [{a: 1}, quad2]", r"model\.attachments\[0\]\.vehicles\[0\]: must be a text, got a mapping"),
]  # fmt: skip


@pytest.mark.parametrize("old, new, message", MISTAKES)
def test_mistakes_are_explained(old, new, message):
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 1000


def test_all_mistakes_are_told_at_once():
    """A line each, with its place; the text of the error is the first, because others quote it in a line."""
    text = GOOD.replace("seed: 3", "sed: 3\nduration: 1").replace("radius_m: 1.0", "radius_m: -1.0")
    text = text.replace("- {use: bar}", "- {use: baar}").replace("period_s: 10.0", "period: 10.0")
    with pytest.raises(ConfigError) as caught:
        load(text)
    told = caught.value.lines
    wanted = [
        r":8: model\.payloads\[0\]\.use: 'baar'", r":12: trajectory\.radius_m: must be > 0",
        r":12: trajectory\.period: unknown key", r":14: sed: unknown key", r":15: duration: unknown key",
    ]  # fmt: skip
    assert len(told) == len(wanted), told  # what is misspelt is not missing, too
    for message in wanted:
        assert sum(re.search(message, line) is not None for line in told) == 1, (message, told)
    assert str(caught.value) == f"{told[0]} (And 4 more.)"
    assert all(line.isprintable() for line in told)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.lines) == (str(caught.value), told)


def test_a_thousand_mistakes_are_some():
    text = GOOD.replace("seed: 3", "\n".join(f"key{i}: 1" for i in range(1000)))
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert len(caught.value.lines) <= 21 and "more" in str(caught.value)
    inside = caught.value.within("flight 3")
    assert all(line.startswith("flight 3: test.yaml:") for line in inside.lines[:20])


def test_what_is_wrong_with_several_parts_is_told_together():
    text = GOOD.replace("- {use: dragonfly}", "- {use: dragonflie}").replace(
        "use: bar}", "use: baar}"
    )
    with pytest.raises(ConfigError) as caught:
        load(text + "environment: {air: {densit: 3}}\n")
    told = "\n".join(caught.value.lines)
    assert len(caught.value.lines) == text.count("dragonflie") + 2
    for word in ("model.vehicles[1].use", "model.payloads[0].use", "environment.air.densit"):
        assert word in told


def test_a_point_mass_does_not_turn():
    """Its angles and rates were dropped without a word; on a rigid link they turn what hangs on it."""
    text = dump_scenario(load_scenario("dragonfly_point_mass"))
    scenario = replace(
        load_scenario("dragonfly_point_mass"),
        initial=(InitialState("payload", (0.0, 0.0, 0.0), rate_rad_s=(0.0, 0.0, 2.0)),),
    )
    assert scenario_from_text(text)
    with pytest.raises(ConfigError, match=r"initial\[0\]: 'payload' is a point mass"):
        scenario_from_text(dump_scenario(scenario))


def test_unknown_scenarios_are_suggested():
    with pytest.raises(ConfigError, match=r"did you mean \"slalom\"\?"):
        load_scenario("slalmo")
    with pytest.raises(ConfigError, match="there is no such file"):
        load_scenario("nowhere/else.yaml")


@pytest.mark.parametrize(
    "name", ["~nosuchuser/x.yaml", "x" * 300, "x" * 300 + ".yaml", "a/" * 3000, "a\0b", "a\0b.yaml", "a/\ud800"]
)  # fmt: skip
def test_names_that_cannot_be_files_are_explained(name):
    with pytest.raises(
        ConfigError, match=r"no shipped scenario of this name|there is no such file"
    ) as caught:
        load_scenario(name)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 2500


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), st.sampled_from(["1e400", "~", "dragonfly", "-0", "0x1F"]),
    st.lists(st.floats(allow_nan=True), max_size=4), st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_fuzzed_values_never_break_the_loader(data):
    """Any key may hold anything: the answer is a scenario or a ConfigError, nothing else."""
    import json

    keys = [
        "seed",
        "time",
        "model",
        "controller",
        "trajectory",
        "initial",
        "plant",
        "sensing",
        "schema",
        "environment",
        "name",
    ]
    out = dict(zip(["schema", "seed"], [1, 3], strict=True))
    out["model"] = {
        "vehicles": [{"use": "dragonfly"}],
        "payloads": [{"use": "point_mass"}],
        "attachments": [{"type": "mechanism", "use": "point_0-5m"}],
    }
    out["controller"], out["trajectory"] = {"use": "point_mass"}, {"use": "hover"}
    for _ in range(data.draw(st.integers(1, 3))):
        target = out
        while True:
            key = data.draw(
                st.sampled_from(list(target) + keys)
                if isinstance(target, dict)
                else st.integers(0, max(0, len(target) - 1))
            )
            inner = (
                target.get(key) if isinstance(target, dict) else (target[key] if target else None)
            )
            if isinstance(inner, (dict, list)) and inner and data.draw(st.booleans()):
                target = inner
                continue
            if isinstance(target, dict) or target:
                target[key] = data.draw(LEAVES)
            break
    try:
        load(json.dumps(out))
    except ConfigError as error:
        assert (
            str(error).startswith(("test.yaml:", "/"))
            or "no shipped" in str(error)
            or "no such file" in str(error)
        ), str(error)


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from(list("abz:-[]{}&*!|>%@#,'\"\n\t 01.~é\u2028\x00")), max_size=80
    )
)
def test_fuzzed_text_never_breaks_the_parser(text):
    try:
        parse_tree(text, "fuzz.yaml")
    except ConfigError as error:
        assert str(error).startswith("fuzz.yaml:")


def test_alias_bombs_are_refused():
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ConfigError, match="more than 100000 values"):
        parse_tree("\n".join(lines), "bomb.yaml")
    with pytest.raises(ConfigError, match="alias contains itself"):
        parse_tree("a: &a [*a]", "loop.yaml")


def test_a_description_is_that_of_the_scenario():
    for name in shipped("scenarios"):
        scenario = load_scenario(name)
        assert scenario_heading(name) == (scenario.group, scenario.description)
        assert scenario.group


WORLD = """
schema: 1
model:
  vehicles: [{{use: dragonfly{vehicle}}}]
  payloads: [{{name: {payload}, mass_kg: 0.05, inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-4]{shape}}}]
controller: {{use: quadrotor}}
environment: {{obstacles: [{{name: {obstacle}, shape: {{type: sphere, radius_m: 0.1}}, position_m: [3, 0, 0]}}]}}
"""


def world(vehicle="", payload="box", shape="", obstacle="ball"):
    return WORLD.format(vehicle=vehicle, payload=payload, shape=shape, obstacle=obstacle)


MOTORS = "rotors: {layout: plus, arm_m: 0.1, speed_rpm: [0, 9000], thrust_n_per_rpm2: 1.0e-8, torque_per_thrust_m: 0.01, motors: [1, 2, 3, 4, 4]}"
NONE = "rotors: {layout: none, speed_rpm: [0, 1000], thrust_n_per_rpm2: 1.0e-7, torque_per_thrust_m: 0.01}"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"obstacle": "quad1"}, "'quad1' is a vehicle or payload of the model"),
        ({"obstacle": "ground"}, "'ground' is taken"),
        ({"obstacle": "cable1"}, "'cable1' is taken: it is that of the ground or a cable"),
        ({"payload": "cable2"}, "'cable2' is taken"),
        ({"vehicle": f", {MOTORS}"}, "must be 4 different numbers"),
        ({"vehicle": f", {NONE}"}, "rotors: is missing"),
        ({"shape": ", shape: {type: plate, outline_m: []}"}, "must go around an area, got 0 points"),
        ({"shape": ", shape: {type: plate, outline_m: [[0, 0], [1, 1], [2, 2]]}"}, "around an area, got 3 points"),
    ],
)  # fmt: skip
def test_what_was_ignored_or_broke_in_flight_is_refused(keys, message):
    """Pairs are kept by their names: an obstacle named like a vehicle was flown through unseen."""
    scenario_from_text(world())
    with pytest.raises(ConfigError, match=message):
        scenario_from_text(world(**keys))


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\n{}", "{}"])
def test_words_of_another_yaml_are_not_read_as_their_opposite(text):
    """`yes` and `on` were false."""
    word = "yes" if text.startswith("%") else '!!bool "on"'
    own = world().strip() + f"\nactuation: {{mode: rotors, limits: {word}}}\n"
    with pytest.raises(ConfigError, match="write true or false"):
        scenario_from_text(text.format(own))


def test_what_the_loader_computes_is_computed_anew_where_its_place_changes():
    """Thrust follows from the propeller and the air: at 3000 m it was that of the ground."""
    low = load_scenario("delivery")
    name = low.model.vehicles[0].name
    high = low.changed("environment.air.altitude_m", 3000.0)
    rotors = [s.model.vehicles[0].rotors for s in (low, high)]
    thin = high.environment.air.density / low.environment.air.density
    assert 0.6 < thin < 0.8
    assert rotors[1].thrust_n_per_rpm2 == pytest.approx(
        thin * rotors[0].thrust_n_per_rpm2, rel=1e-12
    )
    place = f"model.vehicles.{name}.rotors.propeller.pitch_m"
    pitch = rotors[0].propeller.pitch_m
    other = low.changed(place, 0.5 * pitch).model.vehicles[0].rotors
    assert other.thrust_n_per_rpm2 == other.propeller.thrust_n_per_rpm2(low.environment.air.density)
    assert other.thrust_n_per_rpm2 != rotors[0].thrust_n_per_rpm2
    together = Variations(
        low, ["environment.air.temperature_c", "environment.air.altitude_m", place]
    )
    assert together.value("environment.air.altitude_m") == low.environment.air.altitude_m
    own = f"model.vehicles.{name}.rotors.thrust_n_per_rpm2"
    assert (
        Variations(low, ["environment.air.altitude_m", own]).value(own)
        == rotors[0].thrust_n_per_rpm2
    )
    with pytest.raises(ConfigError, match="a URDF is read with the file"):
        load_scenario("kremer_tracking").changed("model.vehicles.am1.urdf", "nowhere.urdf")


def test_every_key_of_the_plant_is_implied():
    scenario = load_scenario("hover")
    for key, value in (
        ("velocity_gain", 1.1), ("thrust_gain_per_s", -0.01), ("attitude_bias_rad", [0.0, 0.1, 0.0]),
        ("inertia_kg_m2", [7e-4, 7e-4, 1.1e-3]),
    ):  # fmt: skip
        (change,) = scenario.changed(f"plant.quad1.{key}", value).plant
        assert getattr(change, key) == (tuple(value) if isinstance(value, list) else value)
    twice = scenario.changed("plant.quad1.thrust_gain", 0.9)
    twice = replace(twice, plant=(*twice.plant, PlantChange(entity="quad1", mass_kg=0.4)))
    places = ["plant.quad1.mass_kg", "plant.quad1.thrust_gain"]
    assert [Variations(twice, places).value(place) for place in places] == [0.4, 0.9]


def test_a_start_without_a_position_is_where_it_is_computed_to_be():
    """A velocity alone does not hold a vehicle where it was before its cable became longer."""
    length, push = "plant.cable1.length_m", "initial.quad1.velocity_m_s.x"
    base = load_scenario("dragonfly_point_mass")
    varied = Variations(base, [length, push])
    longer = varied.changed(length, varied.value(length) + 0.05)
    pushed = longer.changed(push, 0.2)
    start = initial_states(pushed)[0]
    assert pushed.initial == (InitialState("quad1", velocity_m_s=(0.2, 0.0, 0.0)),)
    assert pushed.model.entities[0].name == "quad1"
    assert list(start[:7]) == list(initial_states(longer)[0, :7]) and start[2] == pytest.approx(
        0.55
    )
    assert list(start[7:10]) == [0.2, 0.0, 0.0]
    assert longer.initial == base.initial and not varied.changed(push, 0.2).plant


def test_vehicles_that_hold_a_turned_payload_head_as_it_does():
    """Their laws want its heading: they were turned by 120 degrees in the first second."""
    scenario = load_scenario("four_dragonflies_box").changed(
        "initial", [{"entity": "payload", "rpy_deg": [10.0, 0.0, 120.0]}]
    )
    for attitude in initial_states(scenario)[:4, 3:7]:
        assert attitude.tolist() == pytest.approx([0.5, 0.0, 0.0, 0.75**0.5], abs=1e-12)


def test_hooks_are_where_given_attitudes_put_them():
    """Of a vehicle that holds a turned payload, with its hook beside its centre: the cable is as long as it is."""
    scenario = load_scenario("dragonfly_point_mass").changed(
        "initial", [{"entity": "quad1", "rpy_deg": [10.0, 0.0, 45.0]}]
    )
    (cable,) = scenario.model.cables
    assert cable.a == "quad1"
    model = replace(scenario.model, attachments=(replace(cable, a_point_m=(0.05, 0.03, -0.02)),))
    quad, load = initial_states(replace(scenario, model=model))
    hook = quad[:3] + quat2mat(quad[3:7]) @ [0.05, 0.03, -0.02]
    assert np.linalg.norm(hook - load[:3]) == pytest.approx(cable.length_m, abs=1e-12)


def test_decimal_commas_are_no_columns(tmp_path):
    (tmp_path / "hill.csv").write_text("0,5;0,7;0,9\n0,6;0,8;1,0\n")
    text = world().replace(
        "{type: sphere, radius_m: 0.1}", "{type: heights, heights_file: hill.csv, size_m: [2, 2]}"
    )
    (tmp_path / "hilly.yaml").write_text(text)
    with pytest.raises(ConfigError, match="decimal points"):
        load_scenario(tmp_path / "hilly.yaml")


def test_a_name_in_place_of_a_mapping_is_shown_how_to_be_used():
    with pytest.raises(
        ConfigError, match=r"vehicles\[0\]: must be a mapping.*Write `{use: dragonfly}`"
    ):
        scenario_from_text(
            "schema: 1\nmodel: {vehicles: [dragonfly]}\ncontroller: {use: quadrotor}\n"
        )
    with pytest.raises(ConfigError, match=r"environment: must be a mapping of keys, got a list\.$"):
        scenario_from_text(
            "schema: 1\nmodel: {vehicles: [{use: dragonfly}]}\ncontroller: {use: quadrotor}\nenvironment: [3]\n"
        )
