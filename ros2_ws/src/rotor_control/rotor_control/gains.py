"""Packed parameters of control laws: what kernels read, one row per vehicle."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Vehicle, inertia_matrix
from rotor_core.config.units import rad_from_deg

MASS, INERTIA, ATTITUDE_GAIN, RATE_GAIN = 0, 1, 10, 13
POSITION_GAIN, VELOCITY_GAIN, DIRECTION_GAIN, CABLE_RATE_GAIN = 16, 19, 22, 25
CABLE_LENGTH, COS_MAX_TILT, POINT = 28, 29, 30
VEHICLE = 33
"""Columns of a vehicle row."""

LOAD_MASS, LOAD_INERTIA, LOAD_POSITION_GAIN, LOAD_VELOCITY_GAIN, LOAD_INTEGRAL_GAIN = (
    0,
    1,
    10,
    13,
    16,
)
LOAD_ATTITUDE_GAIN, LOAD_RATE_GAIN, GRAVITY, PERIOD, CENTRE, ERROR_LIMIT = 19, 22, 25, 26, 27, 30
LOAD = 31
"""Columns of the payload (or team) row."""

INTEGRAL_LIMIT = 2.0
"""Largest integral of a position error, m s: anti-windup."""


def vehicle_row(
    vehicle: Vehicle, *, cable_length: float = 0.0, point: np.ndarray | None = None
) -> np.ndarray:
    """Parameters of one vehicle; ``point`` is its attachment point on the payload, (3,) m."""
    g = vehicle.gains
    row = np.zeros(VEHICLE)
    row[MASS] = vehicle.mass_kg
    row[INERTIA : INERTIA + 9] = inertia_matrix(vehicle.inertia_kg_m2).ravel()
    for column, values in (
        (ATTITUDE_GAIN, g.attitude), (RATE_GAIN, g.rate), (POSITION_GAIN, g.position), (VELOCITY_GAIN, g.velocity),
        (DIRECTION_GAIN, g.cable_direction), (CABLE_RATE_GAIN, g.cable_rate),
    ):  # fmt: skip
        row[column : column + 3] = values
    row[CABLE_LENGTH] = cable_length
    row[COS_MAX_TILT] = np.cos(rad_from_deg(vehicle.max_tilt_deg))
    if point is not None:
        row[POINT : POINT + 3] = point
    return row
