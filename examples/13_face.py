"""The whole face of the suite in one file: scenarios, flights, loops, studies, recordings.

The table of its study needs ``./rotor setup studies`` once.
"""

import tempfile
from pathlib import Path

import rotor

scenario = rotor.load_scenario("three_dragonflies_triangular_1m")
scenario = scenario.changed("plant.payload.mass_kg", 0.35)  # reality differs from the model

flight = rotor.fly(scenario, duration=4.0)
load = flight["payload"]
print(f"{len(flight.time)} samples, the payload ends at {load.position[-1].round(3)} m")
print(f"thrust of quad1: {flight.command['quad1'].thrust.mean():.2f} N in the mean")

sim = rotor.Simulation(scenario, seed=1)
controller = rotor.make_controller(scenario)
start = rotor.initial_states(scenario)["payload"].position
plan = rotor.trajectories.circle(start, radius=1.0, period=8.0)
begin = sim.time
while sim.time < begin + 2.0:
    measured = sim.sense()
    sim.step(controller(measured, plan.at(sim.time - begin)))
print(f"by hand the payload is at {sim.state['payload'].position.round(3)} m")

with tempfile.TemporaryDirectory() as folder:
    recording = flight.save(Path(folder) / "flight.mcap")
    other = rotor.fly(scenario.changed("plant.payload.mass_kg", 0.30), duration=4.0)
    recording_2 = other.save(Path(folder) / "other.mcap")
    found = rotor.compare(recording, recording_2, rotor.CompareOptions(align="none"))
    rmse = found.summary()["bodies"]["payload"]["position_rmse_m"]
    print(f"50 g of payload make {1e3 * rmse:.1f} mm")

    study = rotor.Study(
        scenario,
        vary={"plant.payload.mass_kg": rotor.normal(0.278, 0.028)},
        metrics=["position_rmse_m"],
        options={"duration_s": 2.0, "check_flights": 0},
    )
    table = study.run(flights=4, out=Path(folder) / "study", workers=0).table
    print(f"{table.num_rows} flights, RMSE up to {max(table['position_rmse_m'].to_pylist()):.3f} m")
