"""The balance of forces of a whole flight on paper: thrust over time, attitude, velocity, with their uncertainties.

Nothing is simulated, nothing is fitted to a path. Uncertainties are standard deviations from blocks of half a second:
what changes slowly (the pull of the cable in the attitude) is in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rotor_recordings.crazyflies.grid import GRAVITY, STEP, Grid, make_grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, read_crazyflie_team
from rotor_recordings.crazyflies.team_model import SETTLED
from validation.real_flights.february.logs import MASS, Flown

BLOCK = 50
"""Samples of a block, half a second."""

END = 0.5
"""Left out at the end, where moving cubics end, s."""

LAGS = np.arange(0.0, 0.065, 0.005)
"""Of logged velocities behind differentiated positions that are tried, s."""


@dataclass(frozen=True)
class Number:
    """A value with its standard deviation."""

    value: float
    sigma: float


@dataclass(frozen=True)
class VehicleBalance:
    """One vehicle in one flight.

    Attributes:
        gain: thrust that acted over thrust asked for, in the middle of the flight.
        gain_rate: its change over itself, 1/s.
        lean: true axis of thrust less the told one, along x and y of W, rad.
        velocity: logged velocity over differentiated position.
    """

    gain: Number
    gain_rate: Number
    lean: tuple[Number, Number]
    velocity: Number


def balances(path: Path, flown: Flown) -> list[VehicleBalance]:
    """All vehicles of a flight."""
    grid = make_grid(read_crazyflie_team(path))
    rows = (grid.time > SETTLED) & (grid.time < grid.time[-1] - END)
    return [_balance(i, grid, rows, flown) for i in range(len(flown.vehicles))]


def _balance(i: int, grid: Grid, rows: np.ndarray, flown: Flown) -> VehicleBalance:
    needed = MASS * (grid.accelerations[:, i] + [0.0, 0.0, GRAVITY])
    needed = needed + PAYLOAD_MASS * grid.tensions[:, i, None] * grid.directions[:, i]

    def logged(values: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(grid.time, flown.time, v) for v in values.T], axis=1)

    axis, velocity = logged(flown.axes[:, i]), logged(flown.velocity[:, i])
    lift = np.interp(grid.time, flown.time, flown.thrust[:, i]) * axis[:, 2]
    known = rows & np.isfinite(needed).all(axis=1)
    time, gains = _blocks(grid.time[known]), _blocks(needed[known, 2] / lift[known])
    true = needed[known] / np.linalg.norm(needed[known], axis=1, keepdims=True)
    leans = [_mean(_blocks(true[:, k] - axis[known, k])) for k in range(2)]
    gain, slope = _line(time, gains)
    rate = Number(slope.value / gain.value, slope.sigma / gain.value)
    return VehicleBalance(
        gain, rate, (leans[0], leans[1]), velocity_gain(velocity[rows], grid.velocities[rows, i])
    )


def _blocks(values: np.ndarray) -> np.ndarray:
    """Medians over whole blocks."""
    n = len(values) // BLOCK
    return np.median(values[: n * BLOCK].reshape(n, BLOCK), axis=1)


def _mean(values: np.ndarray) -> Number:
    return Number(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def _line(time: np.ndarray, values: np.ndarray) -> tuple[Number, Number]:
    """Value in the middle and slope of a straight line."""
    centred = time - time.mean()
    fit = np.polyfit(centred, values, 1)
    left = values - np.polyval(fit, centred)
    scatter = np.sqrt(np.sum(left**2) / (len(values) - 2))
    slope = Number(float(fit[0]), float(scatter / np.sqrt(np.sum(centred**2))))
    return Number(float(fit[1]), float(scatter / np.sqrt(len(values)))), slope


def velocity_gain(logged: np.ndarray, true: np.ndarray) -> Number:
    """Told over true velocity (T, 3), every 10 ms, at the lag that fits best; sigma by leaving out blocks."""
    best, found = np.inf, Number(np.nan, np.nan)
    for lag in LAGS:
        late = round(lag / STEP * 2) / 2  # of samples, in halves
        rows = np.arange(len(true))
        delayed = np.stack([np.interp(rows - late, rows, v) for v in true.T], axis=1)
        products, squares = (delayed * logged).sum(axis=1), (delayed**2).sum(axis=1)
        slope = float(products.sum() / squares.sum())
        left = float(np.sum((logged - slope * delayed) ** 2))
        if left < best:
            n = len(true) // BLOCK
            p = products[: n * BLOCK].reshape(n, BLOCK).sum(axis=1)
            s = squares[: n * BLOCK].reshape(n, BLOCK).sum(axis=1)
            without = (p.sum() - p) / (s.sum() - s)
            sigma = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
            best, found = left, Number(slope, float(sigma))
    return found
