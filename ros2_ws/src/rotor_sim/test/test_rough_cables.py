"""Friction of cables in scenarios: keys, a load that a drone drags over a rough edge, what is refused."""

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError, ModelError, SolverError
from rotor_dynamics import memory
from rotor_sim.simulation import Simulation

EDGE = """
schema: 1
model:
  vehicles: [{{use: dragonfly}}]
  payloads: [{{name: load, mass_kg: 0.1}}]
  attachments:
    - type: cable
      a: quad1
      b: load
      length_m: 2.2
      around: [{{ends_m: [[0, -1, 2], [0, 1, 2]], radius_m: 0.02, friction: {friction}}}]
      {more}
initial:
  - {{entity: quad1, position_m: [0.9, 0.0, 2.6]}}
  - {{entity: load, position_m: [-0.9, 0.0, 1.42]}}
environment: {{contact: {{law: {law}}}}}
controller: {{use: point_mass}}
"""


def over_the_edge(tmp_path, *, friction=0.3, more="", law="compliant"):
    path = tmp_path / "scenario.yaml"
    path.write_text(EDGE.format(friction=friction, more=more, law=law))
    return load_scenario(path)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_load_is_dragged_over_a_rough_edge(tmp_path, friction):
    """While it is drawn up, the drone pulls with e^(mu theta) times what the load feels."""
    simulation = Simulation(over_the_edge(tmp_path, friction=friction))
    weight = simulation.scenario.model.vehicles[0].mass_kg * 9.81
    ratios, kinds = [], set()
    for _ in range(220):
        simulation.step(np.array([[1.9 * weight, 0.0, 0.0, 0.0]]))
        engine = simulation.engine
        kinds |= {e.type for e in simulation.take_events()}
        if engine.taut[0] and len(engine.slides) and engine.slides[0] == -1:
            ratios.append(
                (
                    np.log(engine.tensions[0] / engine.tensions_at_b[0]),
                    friction * engine.world.sheaves[0, memory.WRAP_ANGLE],
                )
            )
    if friction:
        assert len(ratios) > 50
        np.testing.assert_allclose(*np.transpose(ratios), rtol=1e-9)
    else:
        assert engine.tensions[0] == engine.tensions_at_b[0]
    assert "touch" in kinds or "snap" in kinds


def test_what_does_not_go_with_friction_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="a cable that stretches does not rub"):
        over_the_edge(tmp_path, more="stiffness_n_per_m: 100.0")
    with pytest.raises(ConfigError, match="friction"):
        over_the_edge(tmp_path, friction=3.0)
    with pytest.raises(ModelError, match="do not rub where bodies are in rigid contact"):
        Simulation(over_the_edge(tmp_path, law="rigid"))


def test_a_load_that_comes_to_the_edge_is_told(tmp_path):
    """Drawn up into what the cable runs over: an error that says so."""
    simulation = Simulation(over_the_edge(tmp_path))
    weight = simulation.scenario.model.vehicles[0].mass_kg * 9.81
    with pytest.raises(SolverError, match="come to the surface of the pulley, peg, box or hull"):
        for _ in range(400):
            simulation.step(np.array([[1.9 * weight, 0.0, 0.0, 0.0]]))
