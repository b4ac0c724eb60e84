"""Close the loop by hand: sense, decide, step."""

import rotor
from rotor_planning.trajectories.from_config import make_plans

scenario = rotor.load_scenario("quadrotor_circle")
sim, controller = rotor.Simulation(scenario), rotor.make_controller(scenario)
((name, plan),) = make_plans(scenario).items()
start = sim.time
while sim.time - start < 10.0:
    wanted = plan.at(sim.time - start)
    sim.step(controller(sim.sense(), wanted))
error = wanted.position - sim.state[name].position
print(f"after {sim.time - start:.2f} s the error is {1e3 * abs(error).max():.2f} mm")
