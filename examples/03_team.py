"""A team with a payload: one call, then look at the arrays."""

import numpy as np

from rotor_core.config import load_scenario
from rotor_lab.fly import fly
from rotor_lab.report import format_table, summary_rows

flight = fly(load_scenario("three_dragonflies_triangular_1m"), duration=10.0)
print(format_table(summary_rows(flight.summary())))
names = [e.name for e in flight.scenario.model.entities]
payload = flight.states[:, names.index("payload"), :3]
print(
    f"{len(flight.time)} samples; the payload moved {np.ptp(payload, axis=0)} m; all cables taut: {flight.taut.all()}"
)
