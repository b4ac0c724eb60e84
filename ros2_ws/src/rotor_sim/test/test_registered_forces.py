"""Registered forces: against closed forms, and against the same wrench pushed from outside, for every kind of body."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat

from rotor_core.config.extensions import FORCES
from rotor_core.config.loader import load_scenario, scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError, ContractError, ModelError
from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.forces.buoyancy import Buoyancy
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import Drag, Force, System, Weld
from rotor_sim.simulation import Simulation

LIFT = 3.0
POINT = np.array([0.02, -0.01, 0.05])
STILL = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])


def test_a_balloon_with_drag_approaches_its_terminal_speed():
    """m dv/dt = B - m g - c v: v = v_end (1 - exp(-c t / m)), in closed form."""
    mass, c, g = 0.2, 0.8, 9.81
    system = System(
        (Body("balloon", mass, None),),
        drags=(Drag(0, np.full(3, c)),),
        forces=(Force(0, "buoyancy", np.array([LIFT, 0.0, 0.0, 0.0])),),
        gravity=g,
    )
    engine = Engine(system, step=1e-3)
    engine.set_state(STILL)
    engine.run(1500)
    end, rate = (LIFT - mass * g) / c, c / mass
    t = 1.5
    state = State(engine.update_kinematics()[0])
    # one step of order four errs by about (rate h)^5 / 120 = 3e-15 of the speed
    assert state.velocity[2] == pytest.approx(end * (1.0 - np.exp(-rate * t)), rel=1e-11)
    height = end * (t - (1.0 - np.exp(-rate * t)) / rate)
    assert state.position[2] == pytest.approx(height, rel=1e-11)


def turned(angle_deg, axis):
    from transforms3d.axangles import axangle2mat
    from transforms3d.quaternions import mat2quat

    return mat2quat(axangle2mat(axis, np.radians(angle_deg)))


@pytest.mark.parametrize("welded", [False, True])
def test_the_same_wrench_from_outside_gives_the_same_acceleration(welded):
    """A free body with its centre of mass elsewhere, alone and welded to another one."""
    a = Body("a", 1.3, np.diag([0.01, 0.02, 0.025]), np.array([0.01, 0.02, -0.03]))
    b = Body("b", 0.4, np.diag([0.001, 0.002, 0.0025]))
    weld = Weld(0, 1, np.array([0.1, 0.2, -0.05]), turned(40.0, [1.0, 2.0, 3.0]))
    bodies, welds, row = ((a, b), (weld,), 1) if welded else ((a,), (), 0)
    states = np.repeat(STILL, len(bodies), axis=0)
    states[0, 3:7] = turned(70.0, [3.0, -1.0, 2.0])
    states[0, 10:] = 1.0, -2.0, 0.5
    if welded:
        R = quat2mat(states[0, 3:7])
        states[1, :3] = R @ weld.p
        from transforms3d.quaternions import qmult

        states[1, 3:7] = qmult(states[0, 3:7], weld.q)
        states[1, 7:10] = R @ np.cross(states[0, 10:], weld.p)
        states[1, 10:] = quat2mat(weld.q).T @ states[0, 10:]
    force = Force(row, "buoyancy", np.array([LIFT, *POINT]))
    ours = Engine(System(bodies, welds=welds, forces=(force,)))
    ours.set_state(states)
    theirs = Engine(System(bodies, welds=welds))
    theirs.set_state(states)
    f_W = np.array([0.0, 0.0, LIFT])
    arm = quat2mat(states[row, 3:7]) @ POINT
    theirs.set_external([(row, f_W, np.cross(arm, f_W))])
    theirs.run(0)
    np.testing.assert_allclose(
        ours.update_kinematics(), theirs.update_kinematics(), rtol=0.0, atol=1e-11
    )


def test_on_a_link_of_an_arm_it_is_the_same_wrench_from_outside():
    scenario = load_scenario("arm_coupled")
    vehicle = scenario.model.vehicles[0]
    name = f"{vehicle.name}/{vehicle.links[-1].name}"
    keys = Buoyancy("buoyancy", name, 0.1, tuple(POINT))
    ours = Simulation(dataclasses.replace(scenario, forces=(keys,)))
    theirs = Simulation(scenario)
    lift = FORCES["buoyancy"].parameters(keys, scenario.environment)[0]
    row = theirs.body_names.index(name)
    arm = quat2mat(State(theirs.engine.motion[row]).attitude) @ POINT
    f_W = np.array([0.0, 0.0, lift])
    theirs.engine.set_external([(row, f_W, np.cross(arm, f_W))])
    theirs.engine.run(0)
    np.testing.assert_allclose(
        ours.engine.update_kinematics(), theirs.engine.update_kinematics(), rtol=0.0, atol=1e-9
    )
    assert (
        np.abs(ours.engine.motion[row, 13:] - Simulation(scenario).engine.motion[row, 13:]).max()
        > 1.0
    )


def test_air_density_and_gravity_are_those_of_the_environment():
    text = """
schema: 1
model: {payloads: [{use: box}]}
controller: {type: open_loop}
environment: {gravity_m_s2: 3.0, air: {altitude_m: 3000.0}}
forces: [{type: buoyancy, body: payload, volume_m3: 2.0}]
"""
    scenario = scenario_from_tree(parse_tree(text, "balloon"))
    simulation = Simulation(scenario)
    mass = scenario.model.payloads[0].mass_kg
    density = scenario.environment.air.density
    assert density < 0.95  # 0.909 in the standard atmosphere
    up = State(simulation.motion[0]).acceleration[2]
    assert up == pytest.approx(2.0 * 3.0 * density / mass - 3.0, rel=1e-12)


def test_unknown_bodies_and_bad_numbers_are_refused():
    text = """
schema: 1
model: {payloads: [{use: box}]}
controller: {type: open_loop}
forces: [{type: buoyancy, body: paylod, volume_m3: 2.0}]
"""
    with pytest.raises(ConfigError, match=r'forces\[0\].body: .*paylod.*did you mean "payload"'):
        scenario_from_tree(parse_tree(text, "balloon"))
    body = (Body("a", 1.0, None),)
    with pytest.raises(ModelError, match="at most 16 finite numbers"):
        System(body, forces=(Force(0, "buoyancy", np.array([np.nan])),))
    with pytest.raises(ModelError, match=r"body index must be 0\.\.0"):
        System(body, forces=(Force(1, "buoyancy", np.zeros(4)),))


@pytest.mark.parametrize("given", [None, 3.0, ["a"], [np.nan]])
def test_parameters_that_are_no_numbers_name_their_force(given, monkeypatch):
    """What a package makes of the keys of its force."""
    text = """
schema: 1
model: {payloads: [{use: box}]}
controller: {type: open_loop}
forces: [{type: buoyancy, body: payload, volume_m3: 2.0}]
"""
    scenario = scenario_from_tree(parse_tree(text, "balloon"))
    wrong = replace(FORCES["buoyancy"], parameters=lambda keys, environment: given)
    monkeypatch.setattr("rotor_sim.plant.system.FORCES", {"buoyancy": wrong})
    with pytest.raises(
        ContractError, match=r"forces\[0\]: parameters of 'buoyancy' on 'payload'.*must "
    ):
        Simulation(scenario)
