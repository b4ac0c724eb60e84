"""A team with a payload: one call, then look at what came out."""

import numpy as np

import rotor
from rotor_flight.reports.table import format_table, summary_rows

flight = rotor.fly("three_dragonflies_triangular_1m", duration=10.0)
print(format_table(summary_rows(flight.summary())))
payload = flight["payload"]
print(
    f"{len(flight.time)} samples; the payload moved {np.ptp(payload.position, axis=0)} m; "
    f"all cables taut: {flight.taut.all()}; quad1 pushed {flight.command['quad1'].thrust.max():.2f} N at most"
)
