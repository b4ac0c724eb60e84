"""Close the loop by hand: sense, plan, control, step."""

from rotor_control import make_controller
from rotor_core.config import load_scenario
from rotor_planning import make_plans
from rotor_sim import Simulation

scenario = load_scenario("quadrotor_circle")
simulation, controller = Simulation(scenario), make_controller(scenario)
(plan,) = make_plans(scenario).values()
start = simulation.time
while simulation.time - start < 10.0:
    controller.references[0] = plan.sample(simulation.time - start)
    simulation.step(controller.command(simulation.measure(), controller.references))
error = controller.references[0, :3] - simulation.motion[0, :3]
print(f"after {simulation.time - start:.2f} s the error is {1e3 * abs(error).max():.2f} mm")
