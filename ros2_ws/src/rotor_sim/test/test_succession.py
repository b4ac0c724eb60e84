"""A world that takes over from another one of other entities: nobody heals, and nothing is whole again."""

from dataclasses import replace

import numpy as np
import pytest

from rotor_core.config.loader import scenario_from_text
from rotor_core.config.schema import Change, InitialState
from rotor_core.errors import ConfigError
from rotor_sim.simulation import Simulation
from rotor_sim.spawning import read_entity, with_entity, without_entity
from rotor_sim.succession import take_over

WORLD = """
schema: 1
description: two loads on winches in gusts, one of them to be cut; a drone whose motor and battery weaken; a free box
model:
  vehicles: [{use: delivery_drone, name: drone}, {use: dragonfly, name: quad}]
  payloads:
    - {name: load, mass_kg: 0.05}
    - {name: box, mass_kg: 0.1, inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-4]}
    - {name: weight, mass_kg: 0.3, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}
  attachments:
    - {type: cable, a: quad, b: load, length_m: 0.5}
    - {type: cable, a: world, b: weight, length_m: 1.0, winch: {lengths_m: [0.2, 3.0], rate_m_s: 0.5, acceleration_m_s2: 0.8}}
initial: [{entity: drone, position_m: [0, 0, 50]}, {entity: load, position_m: [4, 0, 50]}, {entity: box, position_m: [8, 0, 50]}, {entity: weight, position_m: [0, 0, -1]}]
actuation: rotors
controller: {type: open_loop, commands: [{vehicle: drone, speeds_rpm: [2500, 2500, 2500, 2500]}, {vehicle: quad, speeds_rpm: [4000, 4000, 4000, 4000]}]}
environment: {wind: {gusts: [{start_s: 0.9, peak_m_s: [1, 0, 0], duration_s: 1.0}]}}
changes:
  - {at_s: 0.2, motor: {vehicle: drone, rotor: 2, thrust_gain: 0.8}}
  - {at_s: 0.4, battery: {vehicle: drone, voltage_factor: 0.7}}
trajectory: {type: hover, duration_s: 10.0}
"""


def flown(text=WORLD, seconds=0.7):
    """A simulation some time into its flight, on constant commands."""
    simulation = Simulation(scenario_from_text(text))
    go_on(simulation, seconds)
    return simulation


def go_on(simulation, seconds):
    wrenches = np.zeros((simulation.n_vehicles, 4))
    wrenches[:, 0] = [v.total_mass * 9.7 for v in simulation.scenario.model.vehicles]
    for _ in range(round(seconds / simulation.scenario.time.control_s)):
        simulation.step(wrenches)
    return simulation


def spawned(scenario):
    entity = replace(read_entity("payloads/box", scenario.environment.air), name="crate")
    return with_entity(scenario, entity, InitialState(entity="crate", position_m=(30.0, 0.0, 3.0)))


def test_faults_batteries_winches_cuts_and_time_go_on():
    """The world with a crate more flies on like the one without: the crate is far away from everything."""
    old = flown()
    old.winches.ask(1, length=2.0)
    go_on(old, 0.2)
    old.engine.cut(0)
    go_on(old, 0.1)
    assert old.actuators.health.min() == 0.8 and old.power[0].sag == 0.7
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    assert new.take_events() == []
    assert new.elapsed == pytest.approx(old.elapsed, abs=1e-12)
    np.testing.assert_array_equal(new.actuators.health, old.actuators.health)
    assert (new.power[0].sag, new.power[0].charge) == (old.power[0].sag, old.power[0].charge)
    np.testing.assert_array_equal(new.engine.is_cut, [True, False])
    rows = [new.names.index(name) for name in old.names]
    np.testing.assert_allclose(new.motion[rows, :13], old.motion[:, :13], atol=1e-14)
    drone = rows[:1]
    for simulation in (new, old):
        go_on(simulation, 0.5)
    others = [n for n in old.names if n not in ("drone", "quad")]  # rotors begin at speed again
    for name in others:
        np.testing.assert_allclose(
            new.state[name].position, old.state[name].position, atol=1e-9, err_msg=name
        )
    assert new.engine.winches.length(1) == pytest.approx(old.engine.winches.length(1), abs=1e-12)
    np.testing.assert_allclose(new.motion[drone, :3], old.motion[:1, :3], atol=0.05)
    np.testing.assert_array_equal(new.actuators.health, old.actuators.health)
    go_on(new, 3.0)
    assert new.engine.winches.length(1) == pytest.approx(2.0, abs=1e-9)


def test_what_was_attached_stays_and_what_was_released_is_free():
    old = flown()
    old.attach("drone", "box")
    go_on(old, 0.1)
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    apart = old.state["box"].position - old.state["drone"].position
    go_on(new, 0.3)
    turned = new.state["box"].position - new.state["drone"].position
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(apart), abs=1e-9)
    new.release("box")
    third = Simulation(spawned_again(new.scenario))
    take_over(third, new)
    go_on(third, 0.5)
    fallen = third.state["box"].position - third.state["drone"].position
    assert np.linalg.norm(fallen) > np.linalg.norm(apart) + 0.1


def spawned_again(scenario):
    entity = replace(read_entity("payloads/box", scenario.environment.air), name="other")
    return with_entity(scenario, entity, InitialState(entity="other", position_m=(40.0, 0.0, 3.0)))


def test_an_entity_that_goes_takes_its_cables_and_leaves_the_rest():
    old = flown()
    new = Simulation(without_entity(old.scenario, "load"))
    take_over(new, old)
    assert new.engine.n_cables == 1 and new.engine.winches.length(0) == 1.0
    np.testing.assert_allclose(new.state["quad"].position, old.state["quad"].position, atol=1e-14)
    changed = replace(old.scenario, changes=(Change(5.0, cut=2),))
    with pytest.raises(ConfigError, match="`changes` names cables by their number"):
        without_entity(changed, "load")


def test_a_drum_turns_on_and_who_was_weakened_by_hand_stays_weak():
    """No brake falls in: the drum keeps its rate, and nothing snaps."""
    drum = "acceleration_m_s2: 0.8, drum: {radius_m: 0.05, inertia_kg_m2: 1.0e-3, torque_n_m: 0.5}}"
    text = WORLD.replace("acceleration_m_s2: 0.8}", drum)
    old = flown(text.split("changes:")[0] + "trajectory: {type: hover, duration_s: 10.0}\n")
    old.weaken("quad", 1, 0.5)
    old.winches.ask(1, length=2.0)
    go_on(old, 0.8)
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    for simulation in (new, old):
        go_on(simulation, 0.3)
    mine, theirs = new.engine.winches, old.engine.winches
    assert theirs.rate(1) > 0.4
    assert mine.rate(1) == pytest.approx(theirs.rate(1), abs=1e-6)
    assert mine.length(1) == pytest.approx(theirs.length(1), abs=1e-6)
    assert not any(1 in event.cables for event in new.take_events())
    assert not new.actuators.are_free
    np.testing.assert_array_equal(new.actuators.health, old.actuators.health)
