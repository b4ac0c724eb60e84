"""Predictions of recorded flights over short windows: what each part of the model is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

from rotor_adapters.autopilots import Autopilot
from rotor_core.errors import RotorError
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import State
from rotor_recordings.crazyflies.grid import STEP, Grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, CrazyflieTeam
from rotor_recordings.crazyflies.team_model import SETTLED, TeamModel, team_scenario
from rotor_recordings.predict.windows import Windows
from rotor_sim.simulation import Simulation
from validation.real_flights.air import in_air
from validation.real_flights.february.fly import THRUST_GAIN_PER_S
from validation.real_flights.on_board import ESTIMATOR, filtered_attitudes
from validation.real_flights.rods import rod_motion

EVERY = 0.5
"""Windows begin this far apart, s."""

START_SAMPLES = 25
"""Of the cubics that the velocities of vehicles at the start of a window come from."""

FITTED_HORIZON = 1.0
"""Of the predictions to which numbers are fitted, s."""

SCALES = (0.01, 0.01, 0.01)
"""Of what is fitted: thrust gain, and attitudes about x and y, rad."""

LOST = 1.0
"""What a lost prediction counts in a fit, m."""

DOUBTED = 0.05
"""Errors beyond this count for less in a fit, m."""


@dataclass(frozen=True)
class Variant:
    """A model to predict with: ``full``, or with something left out.

    Attributes:
        name: for tables.
        gain: thrust gain from the balance of forces (else 1).
        lag: thrust lag from the same (else none).
        attitude: "asked": by the moments that were asked for; "recorded": vehicles are turned to their recorded
            attitude; "filtered": to that of the filter on board, had it known of the pull of the cables.
        each: every vehicle has its own thrust gain (else their mean).
        air: inflow and jets of the rotors, drag of the payload, and thrust that falls over the flight.
        fitted: a thrust gain and two biases of attitude for each vehicle, from predictions of
            :data:`FITTED_HORIZON` over the same flight.
    """

    name: str
    gain: bool = True
    lag: bool = True
    attitude: str = "recorded"
    each: bool = False
    air: bool = False
    fitted: bool = False


VARIANTS = (
    Variant("thrust and moments as asked", attitude="asked"),
    Variant("thrust as asked, attitude as recorded"),
    Variant("the same without lag", lag=False),
    Variant("the same without lag and gain", lag=False, gain=False),
    Variant("without lag, a gain for each vehicle", lag=False, each=True),
    Variant("the same, attitudes of a filter that knows of cables", lag=False, each=True, attitude="filtered"),
    Variant("the same in air, thrust falls", lag=False, each=True, attitude="filtered", air=True),
    Variant("the same, three numbers of each vehicle fitted", lag=False, attitude="filtered", air=True, fitted=True),
)  # fmt: skip


class Predictor:
    """Predictions of one flight by one variant.

    Args:
        team, grid, model: the flight.
        variant: what predicts.

    Attributes:
        gains: thrust that acts over thrust asked for in the middle of the flight, (n,).
        biases: rotation vectors about the x and y axes of the bodies that attitudes are turned by, (n, 2) rad.
    """

    def __init__(self, team: CrazyflieTeam, grid: Grid, model: TeamModel, variant: Variant) -> None:
        own = np.array([fit.gain for fit in model.vehicles.values()])
        self._vehicles, self._grid, self._variant = tuple(team.vehicles), grid, variant
        scenario = team_scenario(
            team, model, lag=None if variant.lag else 0.0, gain=False, period=0.005
        )
        if variant.air:
            scenario = in_air(scenario)
        self._simulation = Simulation(scenario)
        gravity = scenario.environment.gravity_m_s2
        self._pilots = [Autopilot(v, gravity) for v in scenario.model.vehicles]
        self._trims = np.stack([fit.moments for fit in model.vehicles.values()])
        self._periods = round(STEP / scenario.time.control_s)
        self._middle = float(grid.time[grid.time >= SETTLED].mean())
        self._start = savgol_filter(grid.positions, START_SAMPLES, 3, deriv=1, delta=STEP, axis=0)
        self._attitudes = grid.attitudes
        if variant.attitude == "filtered":
            self._attitudes = cable_aware_attitudes(grid, team.mass, own)
        self.gains = own if variant.each or variant.fitted else np.full(len(own), model.gain)
        if not variant.gain:
            self.gains = np.ones(len(own))
        self.biases = np.zeros((len(own), 2))
        if variant.fitted:
            self._fit()

    def errors(self, horizons: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Predicted less recorded positions (horizons, windows, n + 1, 3) m, and angles (horizons, windows, n + 1).

        NaN where a prediction was lost.
        """
        grid, n, longest = self._grid, len(self.gains), max(horizons)
        attitudes = np.empty_like(self._attitudes)
        for i, bias in enumerate(self.biases):
            turn = Rotation.from_rotvec([*bias, 0.0])
            attitudes[:, i] = wxyz_from(rotation_from(self._attitudes[:, i]) * turn)
        grid = replace(grid, attitudes=attitudes, velocities=self._start)
        begins, steps = begin_rows(grid, longest), [round(h / STEP) for h in horizons]
        apart = np.full((len(horizons), len(begins), n + 1, 3), np.nan)
        angles = np.full((len(horizons), len(begins), n + 1), np.nan)
        for w, begin in enumerate(begins):
            try:
                self._put(grid, int(begin))
                for i in range(begin, begin + max(steps)):
                    self._hold(grid, i)
                    for h in np.flatnonzero(np.array(steps) == i + 1 - begin):
                        apart[h, w], angles[h, w] = self._compare(grid, i + 1)
            except RotorError:
                continue
        return apart, angles

    def windows(self, horizons: tuple[float, ...]) -> dict[float, Windows]:
        """Errors at several horizons; windows start every :data:`EVERY` s once the flight has settled."""
        apart, angles = self.errors(horizons)
        starts = self._grid.time[begin_rows(self._grid, max(horizons))]
        return {
            h: Windows(h, starts, np.linalg.norm(apart[k], axis=2), angles[k])
            for k, h in enumerate(horizons)
        }

    def _put(self, grid: Grid, begin: int) -> None:
        self._simulation.reset(time=float(grid.time[begin]))
        states = states_at(self._vehicles, grid, begin)
        self._simulation.set_states(states, project=True)

    def _hold(self, grid: Grid, row: int) -> None:
        """Fly the commands of a row."""
        fall = THRUST_GAIN_PER_S * (grid.time[row] - self._middle) if self._variant.air else 0.0
        thrusts = grid.commands[row, :, 0] * self.gains * (1.0 + fall)
        asked = np.column_stack([thrusts, grid.commands[row, :, 1:] - self._trims])
        for _ in range(self._periods):
            if self._variant.attitude != "asked":
                asked = held_attitudes(self._pilots, self._simulation, grid, row, thrusts)
            self._simulation.act(asked)
            self._simulation.step()

    def _compare(self, grid: Grid, row: int) -> tuple[np.ndarray, np.ndarray]:
        n, motion = len(self.gains), State(self._simulation.motion)
        there = np.vstack([grid.positions[row], grid.payload[row]])
        cosine = np.abs((motion.attitude[:n] * grid.attitudes[row]).sum(axis=1))
        angles = np.append(2.0 * np.arccos(np.clip(cosine, 0.0, 1.0)), np.nan)
        return motion.position[: n + 1] - there, angles

    def _fit(self) -> None:
        """Find gains and biases (n, 3) by least squares, in units of :data:`SCALES` and from 1 on."""
        start = np.column_stack([self.gains, self.biases])

        def take(x: np.ndarray) -> None:
            found = start + SCALES * (x.reshape(start.shape) - 1.0)
            self.gains, self.biases = found[:, 0], found[:, 1:]

        def residuals(x: np.ndarray) -> np.ndarray:
            take(x)
            apart, _ = self.errors((FITTED_HORIZON,))
            return np.nan_to_num(apart, nan=LOST).ravel()

        found = least_squares(
            residuals, np.ones(start.size), diff_step=0.1, loss="soft_l1", f_scale=DOUBTED, max_nfev=3
        )  # fmt: skip
        take(found.x)


def begin_rows(grid: Grid, longest: float) -> np.ndarray:
    """Rows at which predictions begin that go on for ``longest`` s."""
    first = np.flatnonzero(grid.time >= SETTLED)[0]
    rows = np.arange(first, len(grid.time), round(EVERY / STEP))
    return rows[rows + round(longest / STEP) < len(grid.time)]


def held_attitudes(
    pilots: list[Autopilot], simulation: Simulation, grid: Grid, row: int, thrusts: np.ndarray
) -> np.ndarray:
    """Wrenches (n, 4) that turn vehicles to their attitudes and rates of a row, with thrusts (n,) N."""
    wrenches = [
        pilot.hold_attitude(
            simulation.motion[i], grid.attitudes[row, i], float(thrusts[i]), rates=grid.rates[row, i]
        )
        for i, pilot in enumerate(pilots)
    ]  # fmt: skip
    return np.array(wrenches)


def cable_aware_attitudes(grid: Grid, mass: float, gains: np.ndarray) -> np.ndarray:
    """Attitudes (T, n, 4) as the filter on board would have told them, had it known of the pull of the cables.

    Recorded ones hide the sideways pull (docs/theory/estimation.md). Positions, gyroscopes and thrusts up to
    each instant are used, as by the filter that was recorded; pulls are from the balance of the payload.
    """
    pulls = -PAYLOAD_MASS / mass * np.nan_to_num(grid.tensions)[..., None] * grid.directions
    thrusts = gains * grid.commands[:, :, 0] / mass
    return filtered_attitudes(
        replace(ESTIMATOR, accelerometer="all"), grid.positions, grid.velocities[0], grid.attitudes[0], grid.rates,
        thrusts, pulls,
    )  # fmt: skip


def states_at(vehicles: tuple[str, ...], grid: Grid, row: int) -> dict[str, np.ndarray]:
    """Recorded states of all entities at a row of the grid."""
    out = {}
    for i, name in enumerate(vehicles):
        parts = grid.positions, grid.attitudes, grid.velocities, grid.rates
        out[name] = np.concatenate([part[row, i] for part in parts])
    still = [1.0, 0.0, 0.0, 0.0]
    out["payload"] = np.concatenate(
        [grid.payload[row], still, grid.payload_velocity[row], np.zeros(3)]
    )
    return out


def rods_predicted(
    team: CrazyflieTeam, grid: Grid, horizons: tuple[float, ...]
) -> dict[float, Windows]:
    """The same by the simplest model: rods, thrust as asked at once, attitude as recorded."""
    n, longest = len(team.vehicles), max(horizons)
    up = np.stack(
        [rotation_from(grid.attitudes[:, i]).apply([0.0, 0.0, 1.0]) for i in range(n)],
        axis=1,
    )
    forces = grid.commands[:, :, :1] * up
    masses = np.array([team.mass] * n + [PAYLOAD_MASS])
    begins = begin_rows(grid, longest)
    errors = {h: np.full((len(begins), n + 1), np.nan) for h in horizons}
    for w, begin in enumerate(begins):
        vehicles = np.concatenate([grid.positions[begin], grid.velocities[begin]], axis=1)
        payload = np.concatenate([grid.payload[begin], grid.payload_velocity[begin]])
        start = np.vstack([vehicles, payload])
        lengths = np.linalg.norm(grid.positions[begin] - grid.payload[begin], axis=1)
        path = rod_motion(
            start, forces[begin : begin + round(longest / STEP)], masses, lengths, STEP
        )
        for h in horizons:
            row = begin + round(h / STEP)
            there = np.vstack([grid.positions[row], grid.payload[row]])
            errors[h][w] = np.linalg.norm(path[round(h / STEP) - 1] - there, axis=1)
    return {
        h: Windows(h, grid.time[begins], errors[h], np.full_like(errors[h], np.nan))
        for h in horizons
    }
