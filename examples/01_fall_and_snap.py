"""A mass is thrown from its anchor, reaches the end of its cable, snaps, and swings."""

import numpy as np

from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System

system = System(bodies=(Body("mass", 0.1),), cables=(Cable(WORLD, 0, length=0.5),))
engine = Engine(system, step=1e-3)
# position (3), quaternion w x y z (4), velocity (3), body rate (3)
engine.set_state(np.array([[0.05, 0.0, 0.1, 1, 0, 0, 0, 0.2, 0.0, 3.0, 0.0, 0.0, 0.0]]))
for _ in range(10):
    engine.run(100)
    x, _, z = State(engine.update_kinematics()).position[0]
    print(
        f"t = {engine.time:.1f} s  x = {x:6.3f} m  z = {z:6.3f} m  tension = {engine.tensions[0]:5.2f} N"
    )
for event in engine.take_events():
    print(f"{event.type} at {event.time:.6f} s {event.cause}")
    if event.impulses:
        print(f"  impulse {event.impulses[0]:.4f} N s, energy {event.energy_change:.4f} J")
