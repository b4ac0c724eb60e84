"""Rigid contact in scenarios: a drone lands on a moving belt and on another's payload, keys that do not belong."""

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError, ModelError
from rotor_sim.simulation import Simulation

VEHICLES = """
schema: 1
model:
  vehicles:
{vehicles}
  payloads:
    - {{name: parcel, mass_kg: 0.4, inertia_kg_m2: [0.003, 0.003, 0.005], shape: {{type: box, size_m: [0.6, 0.6, 0.1]}}}}
{attachments}
initial:
{initial}
environment:
  contact: {{{contact}}}
  obstacles: [{obstacles}]
controller: {{use: point_mass}}
"""


def scenario(
    tmp_path, *, vehicles=1, attachments="", initial="  []", contact="law: rigid", obstacles=""
):
    path = tmp_path / "scenario.yaml"
    rows = "\n".join("    - {use: dragonfly}" for _ in range(vehicles))
    path.write_text(
        VEHICLES.format(
            vehicles=rows,
            attachments=attachments,
            initial=initial,
            contact=contact,
            obstacles=obstacles,
        )
    )
    return load_scenario(path)


def fall(simulation, seconds):
    """No thrust."""
    for _ in range(round(seconds / simulation.scenario.time.control_s)):
        simulation.step(np.zeros((simulation.n_vehicles, 4)))


def test_a_drone_lands_on_a_moving_belt(tmp_path):
    """It is taken along at the speed of the belt, level, without sinking in."""
    belt = "{name: belt, shape: {type: box, size_m: [6, 1, 0.2]}, position_m: [0, 0, 0.3], belt_m_s: [0.5, 0, 0]}"
    simulation = Simulation(
        scenario(
            tmp_path,
            initial="  - {entity: quad1, position_m: [0, 0, 0.8]}\n  - {entity: parcel, position_m: [0, 3, 0.05]}",
            obstacles=belt,
        )
    )
    fall(simulation, 2.0)
    row = simulation.motion[0]
    np.testing.assert_allclose(row[7:13], [0.5, 0, 0, 0, 0, 0], atol=1e-6)
    first = next(e for e in simulation.take_events() if e.type == "touch" and "quad1" in e.bodies)
    assert first.bodies == ("quad1", "belt")
    assert first.place[2] == pytest.approx(0.4, abs=1e-9)
    low = simulation.engine.system.solids[0].points[:, 2].min()
    assert row[2] + low == pytest.approx(0.4, abs=1e-9)


def test_a_drone_lands_on_a_hanging_payload(tmp_path):
    """The parcel hangs on four cables; the drone drops onto it, and the cables carry both."""
    attachments = "  attachments:\n" + "\n".join(
        f"    - {{type: cable, a: world, a_point_m: [{x}, {y}, 2.0], b: parcel, b_point_m: [{x}, {y}, 0.05], length_m: 1.0}}"
        for x in (-0.3, 0.3)
        for y in (-0.3, 0.3)
    )
    simulation = Simulation(
        scenario(
            tmp_path,
            attachments=attachments,
            initial="  - {entity: quad1, position_m: [0, 0, 1.4]}\n  - {entity: parcel, position_m: [0, 0, 0.95]}",
        )
    )
    fall(simulation, 3.0)
    masses = sum(body.mass for body in simulation.engine.system.bodies)
    assert simulation.engine.tensions.sum() == pytest.approx(9.81 * masses, rel=1e-6)
    low = simulation.engine.system.solids[0].points[:, 2].min()
    assert simulation.motion[0, 2] + low == pytest.approx(1.0, abs=1e-6)
    assert np.abs(simulation.motion[:, 7:13]).max() < 1e-3


def test_obstacles_of_every_shape_carry(tmp_path):
    """A parcel falls onto a cylinder that lies, a sphere, a capsule and a mesh: it touches each where it stands."""
    for shape, top in (
        ("type: sphere, radius_m: 0.3", 0.3),
        ("type: cylinder, radius_m: 0.2, height_m: 0.5", 0.25),
        ("type: capsule, radius_m: 0.1, height_m: 0.6", 0.3),
    ):
        simulation = Simulation(
            scenario(
                tmp_path,
                initial="  - {entity: parcel, position_m: [0, 0, 1.5]}\n  - {entity: quad1, position_m: [3, 0, 1]}",
                obstacles=f"{{name: thing, shape: {{{shape}}}, position_m: [0, 0, 0.5]}}",
            )
        )
        fall(simulation, 0.5)
        hit = next(
            e for e in simulation.take_events() if e.type == "touch" and "parcel" in e.bodies
        )
        assert hit.place[2] == pytest.approx(0.5 + top, abs=1e-9)
        assert hit.time - 1.0 == pytest.approx(np.sqrt(2 * (1.45 - 0.5 - top) / 9.81), abs=1e-9)


@pytest.mark.parametrize(
    "contact, key",
    [
        ("restitution: 0.5", "restitution"),
        ("law: rigid, stiffness_n_per_m: 1000.0", "stiffness_n_per_m"),
        ("law: rigid, friction_dynamic: 0.2", "friction_dynamic"),
        ("law: soft", "law"),
    ],
)
def test_keys_that_do_not_belong_are_refused(tmp_path, contact, key):
    with pytest.raises(ConfigError, match=key):
        scenario(tmp_path, contact=contact)


def test_an_overlap_at_the_start_is_refused(tmp_path):
    config = scenario(tmp_path, initial="  - {entity: parcel, position_m: [0, 0, 0.02]}")
    with pytest.raises(ModelError, match="inside each other"):
        Simulation(config).reset()


def test_arms_are_refused(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(
        "schema: 1\nmodel:\n  vehicles:\n    - {use: picker}\nenvironment:\n  contact: {law: rigid}\ncontroller: {use: manipulator}\n"
    )
    with pytest.raises((ModelError, ConfigError), match="compliant"):
        Simulation(load_scenario(path))
