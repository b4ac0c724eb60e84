"""Your own law in place of ours: state and reference in, thrust and moment out."""

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import quat2mat

import rotor


@dataclass(frozen=True)
class NearHoverGains:
    """Gains of a law for small angles."""

    position_per_s2: float = 4.0
    velocity_per_s: float = 3.0
    tilt_n_m: float = 0.25
    rate_n_m_s: float = 0.025


@rotor.control_law("near_hover", gains=NearHoverGains)
def near_hover(
    state: rotor.State, reference: rotor.Reference, vehicle, gains: NearHoverGains
) -> rotor.Wrench:
    """Wanted force, small-angle attitude, body moments."""
    error, R = reference.position - state.position, quat2mat(state.attitude)
    wanted = gains.position_per_s2 * error - gains.velocity_per_s * state.velocity
    force = vehicle.mass_kg * (wanted + [0.0, 0.0, 9.81])
    up = R.T @ force / np.linalg.norm(force)  # where thrust should point, in the body
    moment = gains.tilt_n_m * np.array([-up[1], up[0], 0.0]) - gains.rate_n_m_s * state.body_rate
    return rotor.Wrench(force @ R[:, 2], moment)


scenario = rotor.load_scenario("hover").changed("controller", {"type": "near_hover"})
goal = np.array([0.5, -0.3, 1.0])
flight = rotor.fly(scenario, duration=6.0, plans={"quad1": rotor.trajectories.hover(goal)})
error = np.linalg.norm(flight["quad1"].position[-1] - goal)
print(f"after 6 s the vehicle is {1e3 * error:.2f} mm from its goal")
assert error < 0.01
