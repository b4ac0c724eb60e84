"""Packed parameters of control laws: what kernels read, one row per vehicle."""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.rows import Row

vehicle = Row("vehicle", "Parameters of one vehicle in a control law.")
MASS = vehicle("kg", "of the vehicle")
INERTIA = vehicle("kg m^2", "about the centre of mass, body axes", shape=(3, 3))
ATTITUDE_GAIN = vehicle("N m", "moment per rad", shape=(3,))
RATE_GAIN = vehicle("N m s", "moment per rad/s", shape=(3,))
DIRECTION_GAIN = vehicle("1/s^2", "of the direction of its cable", shape=(3,))
CABLE_RATE_GAIN = vehicle("1/s", "of the rate of that direction", shape=(3,))
CABLE_LENGTH = vehicle("m", "of its cable; 0: none")
COS_MAX_TILT = vehicle("", "cosine of the largest tilt")
POINT = vehicle("m", "attachment point on the payload, in its axes", shape=(3,))
VEHICLE = vehicle.width

load = Row(
    "load", "Parameters of what is planned in a control law: payload, structure, or single vehicle."
)
LOAD_MASS = load("kg", "of it")
LOAD_INERTIA = load("kg m^2", "about the centre of mass, body axes", shape=(3, 3))
LOAD_POSITION_GAIN = load("1/s^2", "acceleration per m", shape=(3,))
LOAD_VELOCITY_GAIN = load("1/s", "acceleration per m/s", shape=(3,))
LOAD_INTEGRAL_GAIN = load("1/s^3", "acceleration per m s", shape=(3,))
LOAD_ATTITUDE_GAIN = load("N m", "moment per rad (of a structure: 1/s^2)", shape=(3,))
LOAD_RATE_GAIN = load("N m s", "moment per rad/s (of a structure: 1/s)", shape=(3,))
GRAVITY = load("m/s^2", "along -z of W")
PERIOD = load("s", "of control")
CENTRE = load("m", "centre of mass of a structure, in the axes of its planned entity", shape=(3,))
ERROR_LIMIT = load("m", "largest position error that counts")
HELD = load(
    "",
    "written in flight: 1 while sums of errors must not grow, because rotors are at their limits (C.50)",
)
LOAD = load.width

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
