"""Your own law in place of ours: states in, thrusts and moments out."""

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config import load_scenario
from rotor_sim import Simulation

GOAL = np.array([0.5, -0.3, 1.0])


def law(state: np.ndarray, mass: float) -> np.ndarray:
    """A plain position controller: wanted force, small-angle attitude, body moments."""
    p, q, v, omega = state[0:3], state[3:7], state[7:10], state[10:13]
    force = mass * (4.0 * (GOAL - p) - 3.0 * v + np.array([0.0, 0.0, 9.81]))
    up = quat2mat(q).T @ force / np.linalg.norm(force)  # where thrust should point, in the body
    moment = 0.25 * np.array([-up[1], up[0], 0.0]) - 0.025 * omega
    return np.array([[force @ quat2mat(q)[:, 2], *moment]])


scenario = load_scenario("hover")
simulation = Simulation(scenario)
for _ in range(1200):
    simulation.step(law(simulation.measure()[0], scenario.model.vehicles[0].mass_kg))
error = np.linalg.norm(simulation.motion[0, :3] - GOAL)
print(f"after 6 s the vehicle is {1e3 * error:.2f} mm from its goal")
assert error < 0.01
