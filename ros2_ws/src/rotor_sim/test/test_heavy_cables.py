"""Heavy cables of scenarios: their masses and pieces, how they lie, what the air and the ground do, what is refused."""

import re

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError, ContractError, ModelError
from rotor_core.state import State
from rotor_core.warnings import notes
from rotor_sim.analysis.trim import trim
from rotor_sim.simulation import Simulation

TETHER = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad}]
  attachments:
    - {type: cable, a: quad, b: world, b_point_m: [0.0, 0.0, 0.0], length_m: 2.0, mass_kg_per_m: 0.01, segments: 12,
       diameter_m: 0.004}
initial: [{entity: quad, position_m: [0.9, 0.0, 1.5]}]
controller: {use: quadrotor}
trajectory: {use: hover}
"""
KEYS = "mass_kg_per_m: 0.01, segments: 12"
HOVER = (0.25 + 0.02) * 9.81
"""Thrust that holds the vehicle and all of its tether, N."""


def scenario(tmp_path, text=TETHER):
    path = tmp_path / "tether.yaml"
    path.write_text(text)
    return load_scenario(str(path))


def test_masses_and_pieces(tmp_path):
    """12 masses of 2 m x 10 g/m / 12; pieces half as long at both ends; users see one cable."""
    simulation = Simulation(scenario(tmp_path))
    system = simulation.engine.system
    assert simulation.body_names == ["quad", *(f"cable1/{i + 1}" for i in range(12))]
    np.testing.assert_allclose([b.mass for b in system.bodies[1:]], 0.02 / 12)
    lengths = [c.length for c in system.cables]
    np.testing.assert_allclose(lengths, [1 / 12, *[1 / 6] * 11, 1 / 12])
    (strand,) = system.strands
    density = simulation.scenario.environment.air.density
    assert strand.drag == pytest.approx(0.5 * density * 1.1 * 0.004 * 2.0 / 12)
    assert simulation.engine.n_cables == 1 and simulation.names == ["quad"]
    assert simulation.masses.shape == (12, 3)


def test_it_begins_at_rest_and_weighs_what_it_weighs(tmp_path):
    """Held where it is, the vehicle feels the tension that a balance of the cable gives."""
    simulation = Simulation(scenario(tmp_path))
    engine, begin = simulation.engine, simulation.masses.copy()
    lift = 0.25 * 9.81
    for _ in range(3):  # the thrust that carries what the cable does not leave to the ground
        simulation.reset()
        simulation.engine.wrenches[0, 0] = lift
        simulation.engine.set_state(simulation.engine.motion[:, :13].copy())
        engine = simulation.engine
        lift = 0.25 * 9.81 - engine.directions[0, 2] * engine.tensions[0]
    up = -engine.directions[0, 2] * engine.tensions[0]
    down = engine.directions_at_b[0, 2] * engine.tensions_at_b[0]
    assert up + down == pytest.approx(0.02 * 9.81, rel=0.02)  # but for what it is pulled aside
    simulation.step(np.array([[lift, 0.0, 0.0, 0.0]]))
    assert np.abs(simulation.masses - begin).max() < 1e-4


def test_putting_the_vehicle_elsewhere_lays_the_cable_anew(tmp_path):
    simulation = Simulation(scenario(tmp_path))
    for _ in range(40):
        simulation.step(np.array([[1.5 * HOVER, 0.0, 0.0, 0.0]]))
    there = np.array([-0.5, 0.8, 1.2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])
    simulation.set_states({"quad": there}, project=False)
    pieces = np.diff(np.vstack([there[:3], simulation.masses, np.zeros(3)]), axis=0)
    np.testing.assert_allclose(
        np.linalg.norm(pieces, axis=1),
        [c.length for c in simulation.engine.system.cables],
        atol=1e-9,
    )
    simulation.step()
    before = simulation.motion.copy()
    with pytest.raises(
        ContractError, match=r"cable1: its ends are .* apart, but it is only 2 m long"
    ):
        simulation.set_states(
            {"quad": np.array([3.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])}, project=False
        )
    np.testing.assert_array_equal(simulation.motion, before)


def test_wind_blows_the_cable_aside(tmp_path):
    """Steady wind along y: the cable leans that way, and pulls the vehicle with it."""
    text = TETHER + "environment: {wind: {steady_m_s: [0.0, 6.0, 0.0]}}\n"
    simulation = Simulation(scenario(tmp_path, text))
    for _ in range(60):
        simulation.step(np.array([[HOVER, 0.0, 0.0, 0.0]]))
    assert simulation.masses[:, 1].max() > 0.05
    calm = scenario(tmp_path, text.replace(", diameter_m: 0.004", "").replace("segments: 12,\n       diameter_m: 0.004", "segments: 12")
                    .replace("environment", "# environment"))  # fmt: skip
    simulation = Simulation(calm)
    for _ in range(60):
        simulation.step(np.array([[HOVER, 0.0, 0.0, 0.0]]))
    assert np.abs(simulation.masses[:, 1]).max() < 1e-12


def test_slack_lies_on_the_ground_and_touches_it_audibly(tmp_path):
    """The part that is too long lies there, the vehicle carries the rest; an event for what lands or lifts off."""
    text = TETHER.replace("[0.9, 0.0, 1.5]", "[0.9, 0.0, 0.6]") + "environment: {contact: {}}\n"
    simulation = Simulation(scenario(tmp_path, text))
    assert simulation.masses[:, 2].min() >= -1e-9
    for _ in range(300):
        state = State(simulation.motion[0])
        lift = HOVER - 2.0 * (state.position[2] - 0.6) - 1.0 * state.velocity[2]
        simulation.step(np.array([[lift, 0.0, 0.0, 0.0]]))
    low = simulation.masses[:, 2]
    assert low.min() > -0.01 and np.count_nonzero(low < 0.01) >= 4
    events = simulation.take_events()
    assert {"cable1/12"} & {name for e in events if e.type == "touch" for name in e.bodies}
    on_the_ground = simulation.engine.contact_forces.sum()
    carried = -simulation.engine.directions[0, 2] * simulation.engine.tensions[0]
    assert 0.0 < on_the_ground < 0.02 * 9.81 and carried > 0.0


def test_attaching_keeps_its_shape(tmp_path):
    text = TETHER.replace(
        "  attachments:", "  payloads: [{use: point_mass, name: load, mass_kg: 0.05}]\n  attachments:"
    ).replace(
        "initial: [", "initial: [{entity: load, position_m: [0.9, 0.0, 1.45]}, "
    )  # fmt: skip
    simulation = Simulation(scenario(tmp_path, text))
    for _ in range(4):
        simulation.step(np.array([[HOVER, 0.0, 0.0, 0.0]]))
    before = simulation.masses.copy()
    simulation.attach("quad", "load")
    np.testing.assert_allclose(simulation.masses, before, atol=1e-12)
    simulation.step()
    simulation.release("load")
    simulation.step()
    assert np.isfinite(simulation.masses).all()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (KEYS + ", stiffness_n_per_m: 100.0", "mass_kg_per_m: a heavy cable runs through no rings"),
        (KEYS + ", winch: {lengths_m: [1.0, 3.0]}", "has no winch"),
        (KEYS + ", through: [{entity: world, point_m: [0.0, 0.0, 1.0]}]", "through no rings"),
        ("segments: 12", "diameter_m needs mass_kg_per_m"),
        ("mass_kg_per_m: 0.01, segments: 0", "segments: must be >= 2"),
        ("mass_kg_per_m: 0.01, segments: 1000", "must be <= 200"),
        ("mass_kg_per_m: -0.01", "mass_kg_per_m: must be >= 0"),
        ("mass_kg_per_m: heavy", "mass_kg_per_m"),
    ],
)
def test_impossible_ones_are_refused_with_their_place(tmp_path, keys, words):
    with pytest.raises(ConfigError, match=r"tether\.yaml:\d+: .*attachments\[0\]") as caught:
        scenario(tmp_path, TETHER.replace(KEYS, keys))
    assert words in str(caught.value)


def test_one_that_does_not_reach_is_refused(tmp_path):
    with pytest.raises((ConfigError, ModelError), match="m apart"):
        Simulation(scenario(tmp_path, TETHER.replace("[0.9, 0.0, 1.5]", "[1.9, 0.0, 1.5]")))


def test_its_weight_is_noted(tmp_path):
    (note,) = [n for n in notes(scenario(tmp_path)) if n.kind == "cable"]
    assert re.search(r"cable1: weighs 0\.02 kg, 8%", str(note)) and "notes_off: [cable]" in str(
        note
    )
    light = scenario(tmp_path, TETHER.replace("mass_kg_per_m: 0.01", "mass_kg_per_m: 0.001"))
    assert not [n for n in notes(light) if n.kind == "cable"]
    off = scenario(tmp_path, TETHER + "notes_off: [cable]\n")
    assert not [n for n in notes(off) if n.kind == "cable"]


def test_trim_says_that_it_does_not_know_them(tmp_path):
    with pytest.raises(ModelError, match="cable1 has mass"):
        trim(scenario(tmp_path))


LOAD = "  payloads: [{use: point_mass, name: load, mass_kg: 0.05}]\n  attachments:"


def pose(x, y, z):
    return np.array([x, y, z, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])


def pieces_fit(simulation, ends):
    pieces = np.diff(np.vstack([ends[0], simulation.masses, ends[1]]), axis=0)
    lengths = [c.length for c in simulation.engine.system.cables if c.rod]
    np.testing.assert_allclose(np.linalg.norm(pieces, axis=1), lengths, atol=1e-9)


def test_projection_beside_a_heavy_cable(tmp_path):
    """A light cable is projected, the heavy one laid between the ends that come of it."""
    text = TETHER.replace(
        "  attachments:", LOAD + "\n    - {type: cable, a: quad, b: load, length_m: 0.5}"
    )
    text = text.replace("initial: [", "initial: [{entity: load, position_m: [0.9, 0.0, 1.0]}, ")
    simulation = Simulation(scenario(tmp_path, text))
    moved = simulation.set_states({"quad": pose(0.9, 0.0, 1.6)}, project=True)
    assert moved > 0.0
    place = simulation.motion[0, :3]
    pieces_fit(simulation, (place, np.zeros(3)))


def test_what_is_not_touched_stays(tmp_path):
    """Another entity is put elsewhere: the cable swings on as it was."""
    text = TETHER.replace("  attachments:", LOAD)
    text = text.replace("initial: [", "initial: [{entity: load, position_m: [5.0, 0.0, 1.0]}, ")
    simulation = Simulation(scenario(tmp_path, text))
    for _ in range(20):
        simulation.step(np.array([[HOVER, 0.0, 0.0, 0.0]]))
    before = simulation.engine.motion[2:, :13].copy()
    assert np.abs(before[:, 7:10]).max() > 1e-3
    simulation.set_states({"load": pose(6.0, 0.0, 1.0)}, project=False)
    np.testing.assert_allclose(simulation.engine.motion[2:, :13], before, atol=1e-12)


def test_one_that_was_cut_hangs_on_its_end_b(tmp_path):
    text = TETHER.replace("  attachments:", LOAD).replace(
        "b: world, b_point_m: [0.0, 0.0, 0.0]", "b: load"
    )
    text = text.replace("initial: [", "initial: [{entity: load, position_m: [0.2, 0.0, 0.5]}, ")
    simulation = Simulation(scenario(tmp_path, text))
    simulation.engine.cut(0)
    for _ in range(40):
        simulation.step(np.array([[HOVER, 0.0, 0.0, 0.0]]))
    before = simulation.masses.copy()
    simulation.set_states({"quad": pose(5.0, 0.0, 3.0)}, project=False)
    np.testing.assert_allclose(simulation.masses, before, atol=1e-12)
    simulation.set_states({"load": pose(-2.0, 1.0, 4.0)}, project=False)
    np.testing.assert_allclose(simulation.masses[:, :2], [[-2.0, 1.0]] * 12, atol=1e-12)
    np.testing.assert_allclose(simulation.masses[0, 2], 4.0 - 2.0 * 23 / 24, atol=1e-9)
    simulation.step()
    simulation.attach("quad", "load")  # what was cut stays cut
    simulation.step()
    assert not simulation.engine.alive[0] and simulation.engine.lengths[0] == pytest.approx(2.0)


def test_an_end_on_what_a_rigid_link_or_an_arm_moves(tmp_path):
    text = TETHER.replace("  attachments:", LOAD).replace(
        "  attachments:",
        "  attachments:\n    - {type: rigid_link, parent: quad, child: load, position_m: [0.0, 0.0, -0.1]}",
    ).replace("{type: cable, a: quad", "{type: cable, a: load")  # fmt: skip
    simulation = Simulation(scenario(tmp_path, text))
    simulation.set_states({"quad": pose(1.0, 0.2, 1.4)}, project=False)
    pieces_fit(simulation, ([1.0, 0.2, 1.3], np.zeros(3)))
    arm = load_scenario("pick_and_place")
    name = next(link for v in arm.model.vehicles for link in [f"{v.name}/{v.links[-1].name}"])
    cable = {"type": "cable", "a": name, "b": "world", "length_m": 9.0, "mass_kg_per_m": 0.01}
    held = Simulation(arm.changed("model.attachments", [*_attachments(arm), cable]))
    place = held.engine.motion[held.body(name), :3]
    pieces_fit(held, (place, np.zeros(3)))


def _attachments(scenario):
    from ruamel.yaml import YAML

    from rotor_core.config.loader import dump_scenario

    return YAML(typ="safe").load(dump_scenario(scenario))["model"].get("attachments", [])


def test_a_thick_one_lies_on_the_ground_and_not_in_it(tmp_path):
    text = TETHER.replace("[0.9, 0.0, 1.5]", "[0.9, 0.0, 0.6]").replace("0.004", "0.05")
    simulation = Simulation(scenario(tmp_path, text + "environment: {contact: {}}\n"))
    assert simulation.masses[:, 2].min() == pytest.approx(0.025, abs=1e-9)
    for _ in range(60):
        simulation.step(np.array([[HOVER, 0.0, 0.0, 0.0]]))
    assert np.abs(simulation.engine.motion[-4:, 9]).max() < 0.1
