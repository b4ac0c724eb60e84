"""What is told of driven joints, spinning propellers and their motors beside the motion, against closed forms and twins."""

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.errors import ContractError
from rotor_recordings.predict.case import system_from_case
from rotor_sim.analysis.trim import trim
from rotor_sim.simulation import Simulation

ARM = """
schema: 1
description: an arm with a spring
model:
  vehicles:
    - name: am
      mass_kg: 2.0
      inertia_kg_m2: [0.03, 0.03, 0.05]
      rotors: {{layout: x, arm_m: 0.3, speed_rpm: [0, 9000], thrust_n_per_rpm2: 2.5e-7, torque_per_thrust_m: 0.016}}
      gains: {{attitude_n_m: [4, 4, 1.5], rate_n_m_s: [0.6, 0.6, 0.5]}}
      links: [{{name: a, mass_kg: 0.3, com_m: [0.1, 0, 0], inertia_kg_m2: [0.0005, 0.002, 0.002]}}]
      joints:
        - {{name: j1, type: revolute, parent: base_link, child: a, position_m: [0, 0, -0.1], axis: [0, 1, 0],
           mode: {mode}, initial_rad: 0.4, stiffness_n_m: 0.5, rest_rad: 0.2, friction_n_m: 0.1}}
initial: [{{entity: am, position_m: [0, 0, 1]}}]
controller: {{use: manipulator}}
trajectory: {{type: moves, duration_s: 2.0, moves: []}}
"""


@pytest.mark.parametrize("mode", ["torque", "driven"])
def test_the_motor_of_a_joint_holds_the_weight_less_the_spring(mode):
    """Whether the joint is moved by decree or by torque; in trim, and as joints tell of it."""
    scenario = scenario_from_text(ARM.format(mode=mode), "arm")
    wanted = -0.3 * 9.81 * 0.1 * np.cos(0.4) - 0.5 * (0.2 - 0.4)
    found = trim(scenario)
    np.testing.assert_allclose(found.efforts, [wanted], rtol=1e-6)
    if mode == "driven":
        simulation = Simulation(scenario)
        simulation.act(found.commands)
        simulation.engine.update_kinematics()
        np.testing.assert_allclose(simulation.engine.joints.told_efforts, [wanted], rtol=1e-6)


DRAGGED = """
schema: 1
description: hubs above the centre, wind on the body
model:
  vehicles:
    - use: delivery_drone
      name: drone
      com_m: [0.02, 0.0, -0.05]
      drag: {{linear_n_s_per_m: [0.5, 0.5, 0.5]}}
initial: [{{entity: drone, position_m: [0, 0, 5]}}]
environment: {{wind: {{steady_m_s: [6.0, 0.0, 0.0]}}}}
actuation: {actuation}
controller: {{use: quadrotor}}
trajectory: {{type: hover, duration_s: 1.0}}
"""


def test_the_air_pushes_at_the_same_place_whether_propellers_are_bodies_or_not():
    states = []
    for actuation in ("rotors", "propellers"):
        simulation = Simulation(scenario_from_text(DRAGGED.format(actuation=actuation), "dragged"))
        drone = simulation.scenario.model.vehicles[0]
        for _ in range(100):
            simulation.step(np.array([[9.81 * drone.total_mass, 0.0, 0.0, 0.0]]))
        states.append(simulation.motion[0, :13].copy())
    assert np.abs(states[0][10:]).max() > 1e-3  # it turns
    np.testing.assert_allclose(states[0], states[1], atol=1e-9)


def test_power_is_what_flows_and_its_limit_is_that_of_the_shaft():
    """At the fastest speed the shaft has all it may; losses of the winding and the idle current come on top."""
    scenario = scenario_from_text(DRAGGED.format(actuation="rotors"), "dragged")
    most = 400.0
    simulation = Simulation(scenario.changed("model.vehicles.drone.rotors.motor.max_power_w", most))
    drone, train = simulation.scenario.model.vehicles[0], simulation.power[0]
    for _ in range(200):
        simulation.step(np.array([[100.0 * drone.total_mass, 0.0, 0.0, 0.0]]))
    shaft = train.torque * simulation.rotor_speeds()[0]
    np.testing.assert_allclose(shaft, most, rtol=1e-3)  # as fast as its power allows
    np.testing.assert_allclose(train.power, train.current * train.voltage, rtol=1e-12)
    assert (train.power > 1.05 * most).all()


def test_trim_refuses_to_climb_in_ground_effect():
    with pytest.raises(ContractError, match="ground_effect on the way up or down"):
        trim(load_scenario("hexacopter_wind"), (0.0, 0.0, -0.3))


def test_axes_of_rotors_in_cases_may_be_rounded():
    """A file holds six digits; a joint's axis was always taken so."""
    case = {
        "g": 9.81,
        "bodies": [{"m": 1.0, "J": np.eye(3).tolist()}],
        "rotors": [{"body": 0, "axis": [0.119712, 0.0, -0.992809], "inertia": 0.01}],
    }
    axis = system_from_case(case).rotors[0].axis
    assert np.linalg.norm(axis) == pytest.approx(1.0, abs=1e-15)
