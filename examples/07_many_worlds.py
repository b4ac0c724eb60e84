"""Hundreds of payloads of different mass, the same commands: how high do they rise, what do the cables carry?

./rotor python examples/07_many_worlds.py
"""

from dataclasses import replace

import numpy as np

from rotor_core.config import load_scenario
from rotor_core.config.initial import initial_states
from rotor_dynamics.batch import Batch
from rotor_sim.plant.system import system_from_scenario

WORLDS, PERIODS, STEPS = 500, 100, 5

scenario = load_scenario("three_dragonflies_triangular_1m")
system = system_from_scenario(scenario)
payload = scenario.model.index("payload")
masses = np.linspace(0.1, 0.6, WORLDS)

systems = []
for mass in masses:
    body = system.bodies[payload]
    bodies = list(system.bodies)
    bodies[payload] = replace(body, mass=mass, inertia_B=body.inertia_B * mass / body.mass)
    systems.append(replace(system, bodies=tuple(bodies)))

# thrust that carries the nominal payload, with a pulse upwards
thrust = (0.25 + 0.278 / 3) * 9.81
wrenches = np.zeros((PERIODS, 3, 4))
wrenches[:, :, 0] = thrust
wrenches[20:40, :, 0] *= 1.5

states = np.tile(initial_states(scenario), (WORLDS, 1, 1))
batch = Batch(systems, states, wrenches=wrenches[0])
out = batch.rollout(wrenches, steps=STEPS).require()

heights = out.motion[:, -1, payload, 2]
carried = int(np.argmin(np.abs(heights)))
print(
    f"{WORLDS} worlds to t = {out.times[0]:g} s; cables pulled with up to {out.tensions.max():.2f} N"
)
print(
    f"{masses[0]:.2f} kg ends {heights[0]:+.3f} m from the start, {masses[-1]:.2f} kg {heights[-1]:+.3f} m"
)
print(f"these commands bring {masses[carried]:.3f} kg back to where it was")
