"""Packed parameters of control laws: what kernels read, one row per vehicle."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.kernels.jit import constants

MASS, INERTIA, ATTITUDE_GAIN, RATE_GAIN = constants(0, 1, 10, 13)
DIRECTION_GAIN, CABLE_RATE_GAIN, CABLE_LENGTH, COS_MAX_TILT, POINT = constants(16, 19, 22, 23, 24)
VEHICLE = 27
"""Columns of a vehicle row."""

LOAD_MASS, LOAD_INERTIA = constants(0, 1)
LOAD_POSITION_GAIN, LOAD_VELOCITY_GAIN, LOAD_INTEGRAL_GAIN = constants(10, 13, 16)
LOAD_ATTITUDE_GAIN, LOAD_RATE_GAIN = constants(19, 22)
GRAVITY, PERIOD, CENTRE, ERROR_LIMIT, HELD = constants(25, 26, 27, 30, 31)
LOAD = 32
"""Columns of the row of what is planned: payload, structure, or single vehicle. HELD is written in flight: 1 where the
last collective thrust was beyond the rotors, so that sums of errors must not grow (C.50)."""

INTEGRAL_LIMIT = 2.0
"""Largest integral of a position error, m s."""


def vehicle_row(
    vehicle: Vehicle, *, cable_length: float = 0.0, point: np.ndarray | None = None
) -> np.ndarray:
    """Parameters of one vehicle; ``point`` is its attachment point on the payload, (3,) m."""
    g = vehicle.gains
    row = np.zeros(VEHICLE)
    row[MASS] = vehicle.mass_kg
    row[INERTIA : INERTIA + 9] = inertia_matrix(vehicle.inertia_kg_m2).ravel()
    for column, values in (
        (ATTITUDE_GAIN, g.attitude_n_m),
        (RATE_GAIN, g.rate_n_m_s),
        (DIRECTION_GAIN, g.cable_direction_per_s2),
        (CABLE_RATE_GAIN, g.cable_rate_per_s),
    ):
        row[column : column + 3] = values
    row[CABLE_LENGTH] = cable_length
    row[COS_MAX_TILT] = np.cos(rad_from_deg(vehicle.max_tilt_deg))
    if point is not None:
        row[POINT : POINT + 3] = point
    return row
