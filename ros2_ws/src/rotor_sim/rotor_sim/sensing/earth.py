"""The earth around the origin of the world: geodetic places, magnetic field, standard atmosphere."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import exp, log

import numpy as np
from pygeomag import GeoMag
from pygeomag.wmm.wmm_2025 import WMM_2025
from pymap3d import enu2geodetic

from rotor_core.config.environment import Environment

NANOTESLA = 1e-9

SEA_PRESSURE, SEA_TEMPERATURE = 101325.0, 288.15
"""Of the standard atmosphere (ISO 2533), Pa and K."""

ZERO_CELSIUS = 273.15
"""K."""

LAPSE, EXPONENT = 0.0065, 5.255876
"""Below the tropopause: fall of the temperature, K/m; gravity over gas constant and lapse."""

TROPOPAUSE = 11000.0
"""Above it the temperature stays what it is there, m (to 20 km; higher up the atmosphere is warmer than here)."""

REACH = 1000.0
"""Distance over which differences are taken, m."""

NEARBY, POLAR = 2000.0, 85.0
"""Places are found by a polynomial within this distance, m, of origins below this latitude, degrees."""


class Earth:
    """Place of the world on the earth, with its magnetic field and atmosphere.

    Attributes:
        field: magnetic, in the axes of the world (east, north, up), (3,) T. That of the origin: within some kilometres
            it changes by less than a sensor's noise. Source: World Magnetic Model 2025.
    """

    def __init__(self, environment: Environment) -> None:
        origin, self._altitude = environment.origin, environment.air.altitude_m
        self._latitude, self._longitude = origin.latitude_deg, origin.longitude_deg
        found = GeoMag(coefficients_data=WMM_2025).calculate(
            self._latitude, self._longitude, 1e-3 * self._altitude, origin.year
        )
        self.field = NANOTESLA * np.array([found.y, found.x, -found.z])

    def place(self, position: Sequence[float] | np.ndarray) -> np.ndarray:
        """Latitude and longitude in degrees and height in m of a position (3,) in the world, (3,), WGS 84.

        Heights above the sea count as heights above the ellipsoid.
        """
        east, north, up = map(float, position)
        found = enu2geodetic(east, north, up, self._latitude, self._longitude, self._altitude)
        return np.array([float(value) for value in found])

    @functools.cached_property
    def _nearby(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, slopes (3, 3) and curvatures (3, 3, 3) of :meth:`place` at the origin, by differences."""
        steps = REACH * np.eye(3)
        zero = self._unwrapped(np.zeros(3))
        ahead, behind = (
            np.array([self._unwrapped(sign * s) for s in steps]) for sign in (1.0, -1.0)
        )
        slopes = (ahead - behind).T / (2.0 * REACH)
        curvatures = np.zeros((3, 3, 3))
        for i in range(3):
            curvatures[:, i, i] = (ahead[i] - 2.0 * zero + behind[i]) / REACH**2
            for j in range(i):
                both = self._unwrapped(steps[i] + steps[j]) - ahead[i] - ahead[j] + zero
                curvatures[:, i, j] = curvatures[:, j, i] = both / REACH**2
        return zero, slopes, curvatures

    def place_nearby(self, position: Sequence[float] | np.ndarray) -> np.ndarray:
        """:meth:`place` to 1 mm; within 2 km by its Taylor polynomial of second degree, in a tenth of the time."""
        if abs(self._latitude) > POLAR or np.abs(position).max() > NEARBY:
            return self.place(position)
        zero, slopes, curvatures = self._nearby
        found = zero + (slopes + 0.5 * (curvatures @ position)) @ position
        found[1] = (found[1] + 180.0) % 360.0 - 180.0
        return found

    def _unwrapped(self, position: np.ndarray) -> np.ndarray:
        """:meth:`place` with a longitude that has no jump beside the origin."""
        found = self.place(position)
        found[1] = self._longitude + (found[1] - self._longitude + 180.0) % 360.0 - 180.0
        return found

    def pressure(self, z: float) -> float:
        """Pressure of the standard atmosphere at a height in the world, Pa."""
        height = self._altitude + z
        above = max(height - TROPOPAUSE, 0.0)
        kelvin = self.temperature(z) + ZERO_CELSIUS
        below = SEA_PRESSURE * (kelvin / SEA_TEMPERATURE) ** EXPONENT
        return below * exp(-EXPONENT * LAPSE * above / kelvin)

    def temperature(self, z: float) -> float:
        """Temperature there, degrees Celsius."""
        return SEA_TEMPERATURE - LAPSE * min(self._altitude + z, TROPOPAUSE) - ZERO_CELSIUS


def pressure_altitude(pressure: float) -> float:
    """Height above the sea at which the standard atmosphere has a pressure in Pa, m."""
    kelvin = SEA_TEMPERATURE * (pressure / SEA_PRESSURE) ** (1.0 / EXPONENT)
    coldest = SEA_TEMPERATURE - LAPSE * TROPOPAUSE
    if kelvin >= coldest:
        return (SEA_TEMPERATURE - kelvin) / LAPSE
    return TROPOPAUSE + coldest / LAPSE * log(coldest / kelvin)
