"""An arm on a flying base: reach for a point, and see what the base feels when the arm moves.

./rotor python examples/08_arm.py
"""

import numpy as np

from rotor_core.config import load_scenario
from rotor_flight.fly import fly
from rotor_planning.arms.inverse_kinematics import InverseKinematics

scenario = load_scenario("arm_coupled")
vehicle = scenario.model.vehicles[0]

reach = InverseKinematics(vehicle, "link2", np.array([0.44, 0.0, 0.0]))
angles = reach.joints(np.array([0.5, 0.0, -0.5]), start=np.zeros(2))
print(
    f"to reach (0.5, 0, -0.5) m: {np.round(np.degrees(angles), 1)} deg, it is {reach.place(angles).round(4)} m"
)

for name in ("arm_coupled", "arm_uncoupled"):
    flight = fly(load_scenario(name))
    worst = np.linalg.norm(flight.position_error(), axis=1).max()
    print(f"{name}: the base moves {100.0 * worst:.1f} cm at most while the arm swings")
