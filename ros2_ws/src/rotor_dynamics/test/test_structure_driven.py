"""A capture while a driven joint moves: the joint goes on at its rate, and momentum is kept."""

import numpy as np

from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System
from rotor_dynamics.reconfigure import attached, momentum, rebuilt


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
    after = rebuilt(engine, *attached(engine, 1, 2))
    np.testing.assert_allclose(momenta(after), before, atol=1e-13)
    assert after.joints.rates[0] == 1.5
