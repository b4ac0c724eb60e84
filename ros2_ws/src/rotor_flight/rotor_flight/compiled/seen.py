"""States given to controllers of a compiled flight: measured, estimated, or with constant errors."""

from __future__ import annotations

import numpy as np

from rotor_core.state import MOTION
from rotor_sim.simulation import Simulation

NO_ROWS, NO_COUNTS, NO_NUMBERS, NO_TABLE = (
    np.zeros((0, MOTION)), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0, 0)),
)  # fmt: skip
NO_ESTIMATION = (
    NO_ROWS, NO_COUNTS, NO_ROWS, NO_COUNTS, NO_NUMBERS, NO_ROWS, NO_ROWS, NO_TABLE, NO_ROWS, NO_ROWS, NO_ROWS,
    NO_COUNTS, NO_NUMBERS, NO_ROWS, NO_ROWS, NO_ROWS, NO_TABLE, NO_ROWS, NO_ROWS, NO_ROWS,
)  # fmt: skip
"""In the place of the arrays of :meth:`rotor_sim.estimation.on_board.OnBoard.ahead` where there is none."""
NO_ERRORS = NO_ROWS, NO_ROWS, NO_NUMBERS, NO_ROWS
"""In the place of those of :meth:`rotor_sim.estimation.told_errors.ToldErrors.ahead`."""


def sensor_arguments(simulation: Simulation, periods: int) -> tuple:
    """Arguments of the sensing of a world in its next periods, for :func:`rotor_flight.compiled.flights.fly_world`.

    The same steps in the same order as :meth:`Simulation.sense`.
    """
    truth = simulation.engine.motion[: len(simulation.names)]
    is_measured = not simulation.scenario.sensing.is_ideal
    measurement = simulation.measurement
    sensing = measurement.pose_sensor.ahead(truth, periods if is_measured else 0)
    seen = sensing.held if is_measured else truth
    estimation, errors = NO_ESTIMATION, NO_ERRORS
    if measurement.on_board is not None:
        estimation = measurement.on_board.ahead(seen, sensing.fresh, periods)
        seen = estimation[2]
    if measurement.errors is not None:
        errors = measurement.errors.ahead(seen)
        seen = errors[-1]
    return (
        truth,
        seen,
        (is_measured, tuple(sensing)),
        (measurement.on_board is not None, estimation),
        (measurement.errors is not None, errors),
    )
