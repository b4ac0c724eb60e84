"""A capture while a driven joint moves or a brake holds: that goes on, and momentum is kept."""

import numpy as np

from rotor_core.config.loader import scenario_from_text
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System
from rotor_dynamics.reconfigure import attached, momentum, rebuilt
from rotor_sim.simulation import Simulation


def momenta(engine):
    """Linear and angular momentum about the origin of W."""
    total = np.zeros(6)
    for body, state in zip(engine.system.bodies, engine.update_kinematics()[:, :13], strict=True):
        linear, angular = momentum(body, state)
        total += np.concatenate([linear, angular + np.cross(state[:3], linear)])
    return total


def test_a_driven_joint_goes_on_through_a_capture():
    J = np.diag([0.1, 0.1, 0.1])
    system = System(
        (
            Body("base", 3.0, J),
            Body("link", 1.0, 0.1 * J, np.array([0.3, 0.0, 0.0])),
            Body("box", 0.5, 0.02 * J),
        ),
        gravity=0.0,
        joints=(Joint(0, 1, np.array([0.0, 1.0, 0.0]), driven=True),),
    )
    engine = Engine(system)
    engine.joints.prescribe(0, np.array([0.2, 1.5]))
    states = np.zeros((3, 13))
    states[:, 3] = 1.0
    states[0, 7:10], states[2, :3], states[2, 7:10] = (
        (0.1, 0.2, 0.3), (0.6, 0.1, 0.0), (0.3, -0.4, 0.2),
    )  # fmt: skip
    engine.set_state(states, joints=np.array([[0.2, 1.5]]))
    before = momenta(engine)
    after = rebuilt(engine, *attached(engine, 1, 2), after=engine)
    np.testing.assert_allclose(momenta(after), before, atol=1e-13)
    assert after.joints.rates[0] == 1.5


BRAKED = """
schema: 1
description: a parcel on a drum that its brake holds, and two boxes beside it
model:
  vehicles: [{use: dragonfly}]
  payloads: [{use: point_mass, name: parcel}, {use: six_pack, name: box1}, {use: six_pack, name: box2, inertia_kg_m2: [0.01, 0.01, 0.01]}]
  attachments:
    - type: cable
      a: quad1
      b: parcel
      length_m: 1.5
      winch: {lengths_m: [0.3, 4], rate_m_s: 1, acceleration_m_s2: 1, drum: {radius_m: 0.02, inertia_kg_m2: 1.0e-5, torque_n_m: 0.3}}
initial:
  - {entity: parcel, position_m: [0, 0, 1.5]}
  - {entity: box1, position_m: [9, 0, 9]}
  - {entity: box2, position_m: [9, 0, 9.5]}
controller: {use: point_mass}
trajectory: {type: hover}
"""


def test_the_brake_of_a_drum_goes_on_to_hold():
    """While two others are joined: tension and length stay to rounding."""
    simulation = Simulation(scenario_from_text(BRAKED))
    for _ in range(20):
        simulation.step(np.array([[4.0, 0.0, 0.01, 0.0]]))
    engine = simulation.engine
    tension, length = engine.tensions.copy(), engine.winches.length(0)
    simulation.attach("box1", "box2")
    after = simulation.engine
    assert engine.winches.is_locked(0) and after.winches.is_locked(0) and tension[0] > 0.1
    np.testing.assert_allclose(after.tensions, tension, rtol=1e-12)
    assert after.winches.length(0) == length
