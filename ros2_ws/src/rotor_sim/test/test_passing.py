"""What passes through each other is told once, and never costs a control period many searches."""

from types import SimpleNamespace

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.state import State
from rotor_dynamics.hybrid.events import PASSES_THROUGH
from rotor_sim.environment.passing import BLOCK, PassingEvents
from rotor_sim.simulation import Simulation


def swinging():
    """A scenario, and states in which six vehicles pass through each other all at once, again and again."""
    scenario = load_scenario("six_dragonflies_box")
    start = initial_states(scenario)
    time = 1.0 + 0.005 * np.arange(3 * BLOCK + 7)
    states = np.repeat(start[None], len(time), axis=0)
    states = np.concatenate([states, np.zeros((*states.shape[:2], 19 - states.shape[2]))], axis=2)
    middle = State(start).position[:6].mean(axis=0)
    share = np.cos(2.0 * np.pi * (time - 1.0) / 0.2)[:, None, None]
    away = State(start).position[None, :6] - middle
    State(states).position[:, :6] = middle + share * away
    return scenario, time, states


def test_meetings_are_found_few_in_a_period():
    """The same events as by looking at everything in the end, but few in each control period."""
    scenario, time, states = swinging()
    n_cables = len(scenario.model.cables)
    taut = np.zeros((len(time), n_cables), bool)
    whole = PassingEvents(scenario).take(time, states[:, :, :13], taut, np.zeros((len(time), 0, 2)))
    assert len(whole) > 2 * BLOCK  # many more than any team does
    passing = PassingEvents(scenario)
    told = []
    for t, now in zip(time, states, strict=True):
        engine = SimpleNamespace(time=t, motion=now, taut=taut[0])
        found = passing.look(SimpleNamespace(engine=engine))
        assert len(found) <= 1 + len(whole) // BLOCK
        told += found
    assert told
    told += passing.flush()
    key = lambda event: (event.time, event.bodies, event.type)  # noqa: E731
    assert sorted(told, key=key) == sorted(whole, key=key)


WITHOUT_GRAVITY = """
schema: 1
model:
  vehicles:
    - {use: dragonfly, name: drone}
  payloads:
    - {name: parcel, mass_kg: 0.1, inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-4], shape: {type: sphere, radius_m: 0.02}}
  attachments:
    - {type: rigid_link, parent: drone, child: parcel, position_m: [0.0, 0.0, -0.1]}
initial:
  - {entity: drone, position_m: [0.0, 0.0, 1.0]}
environment: {gravity_m_s2: 0.0}
controller: {use: quadrotor}
trajectory: {type: hover, duration_s: 1.0}
"""


def test_what_was_linked_is_seen_after_its_release():
    """A parcel is let go, pulled down and then up through its vehicle: one event as they meet, one as they part."""
    simulation = Simulation(scenario_from_text(WITHOUT_GRAVITY))
    for _ in range(2):
        simulation.reset()
        simulation.release("parcel")
        begun = simulation.time
        simulation.push("parcel", np.array([0.0, 0.0, 0.2]), np.zeros(3))  # 2 m/s^2
        for _ in range(100):
            simulation.step()
        told = [e for e in simulation.take_events() if e.cause == PASSES_THROUGH]
        assert [e.type for e in told] == ["touch", "leave"]
        assert all(set(e.bodies) == {"drone", "parcel"} for e in told)
        under, over = (begun + np.sqrt(2.0 * z / 2.0) for z in (0.1, 0.2))
        assert under - 0.2 < told[0].time < under < told[1].time < over
