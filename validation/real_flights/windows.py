"""Predictions of recorded flights over short windows: what each part of the model is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_adapters.autopilots import Autopilot
from rotor_core.errors import RotorError
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import State
from rotor_recordings.crazyflies.grid import GRAVITY, STEP, Grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, CrazyflieTeam
from rotor_recordings.crazyflies.team_model import SETTLED, TeamModel, lagged, team_scenario
from rotor_recordings.predict.windows import Windows
from rotor_sim.simulation import Simulation
from validation.real_flights.rods import rod_motion

EVERY = 0.5
"""Windows begin this far apart, s."""

PATIENCE = 0.3
"""Of the estimator on board, s."""


@dataclass(frozen=True)
class Variant:
    """A model to predict with: ``full``, or with something left out.

    Attributes:
        name: for tables.
        gain: thrust gain fitted (else 1).
        lag: thrust lag fitted (else none).
        attitude: vehicles are turned to their recorded attitude (else by the moments that were asked for).
        leaning: recorded attitudes are corrected by what an estimator that knows of no cable hides.
        each: every vehicle has its own thrust gain (else their mean).
    """

    name: str
    gain: bool = True
    lag: bool = True
    attitude: bool = True
    leaning: bool = False
    each: bool = False


VARIANTS = (
    Variant("thrust and moments as asked", attitude=False),
    Variant("thrust as asked, attitude as recorded"),
    Variant("the same without lag", lag=False),
    Variant("the same without lag and gain", lag=False, gain=False),
    Variant("without lag, a gain for each vehicle", lag=False, each=True),
    Variant("the same, attitudes corrected by the pull", lag=False, each=True, leaning=True),
)


def predicted(
    team: CrazyflieTeam, grid: Grid, model: TeamModel, variant: Variant, horizons: tuple[float, ...]
) -> dict[float, Windows]:
    """Errors at several horizons; windows start every :data:`EVERY` s once the flight has settled."""
    each = {name: fit.gain for name, fit in model.vehicles.items()}
    scenario = team_scenario(
        team, model, lag=None if variant.lag else 0.0, gain=each if variant.each else variant.gain, period=0.005
    )  # fmt: skip
    if variant.leaning:
        grid = leaning(grid, team.mass)
    simulation = Simulation(scenario)
    gravity = scenario.environment.gravity_m_s2
    pilots = [Autopilot(v, gravity) for v in scenario.model.vehicles]
    trims = np.stack([fit.moments for fit in model.vehicles.values()])
    longest, n = max(horizons), len(team.vehicles)
    begins = np.flatnonzero(grid.time >= SETTLED)[0] + np.arange(
        0, len(grid.time), round(EVERY / STEP)
    )
    begins = begins[begins + round(longest / STEP) < len(grid.time)]
    errors = {h: np.full((len(begins), n + 1), np.nan) for h in horizons}
    angles = {h: np.full((len(begins), n + 1), np.nan) for h in horizons}
    periods = round(STEP / scenario.time.control_s)
    for w, begin in enumerate(begins):
        try:
            simulation.reset(time=float(grid.time[begin]))
            simulation.set_states(states_at(team, grid, int(begin)), project=True)
            for i in range(begin, begin + round(longest / STEP)):
                for _ in range(periods):
                    simulation.act(_wrenches(simulation, grid, pilots, trims, i, variant.attitude))
                    simulation.step()
                for h in horizons:
                    if i + 1 - begin == round(h / STEP):
                        errors[h][w], angles[h][w] = _apart(simulation.motion, grid, i + 1)
        except RotorError:
            continue  # NaN: lost
    starts = grid.time[begins]
    return {h: Windows(h, starts, errors[h], angles[h]) for h in horizons}


def leaning(grid: Grid, mass: float) -> Grid:
    """The same with the attitudes that vehicles must have had: leaning against the pull of their cables.

    What the estimator hides of the sideways pull over thrust follows with :data:`PATIENCE` (docs/theory/estimation.md).
    """
    out = grid.attitudes.copy()
    pulls = -PAYLOAD_MASS * np.nan_to_num(grid.tensions)[..., None] * grid.directions
    needed = mass * (np.nan_to_num(grid.accelerations) + [0.0, 0.0, GRAVITY]) - pulls
    lean = -pulls / np.linalg.norm(needed, axis=2, keepdims=True)
    for i in range(out.shape[1]):
        hidden = np.stack([lagged(lean[:, i, k], PATIENCE) for k in range(2)], axis=1)
        turn = np.stack([-hidden[:, 1], hidden[:, 0], np.zeros(len(hidden))], axis=1)
        out[:, i] = wxyz_from(Rotation.from_rotvec(turn) * rotation_from(out[:, i]))
    return replace(grid, attitudes=out)


def states_at(team: CrazyflieTeam, grid: Grid, row: int) -> dict[str, np.ndarray]:
    """Recorded states of all entities at a row of the grid."""
    out = {}
    for i, name in enumerate(team.vehicles):
        parts = grid.positions, grid.attitudes, grid.velocities, grid.rates
        out[name] = np.concatenate([part[row, i] for part in parts])
    still = [1.0, 0.0, 0.0, 0.0]
    out["payload"] = np.concatenate(
        [grid.payload[row], still, grid.payload_velocity[row], np.zeros(3)]
    )
    return out


def _wrenches(
    simulation: Simulation,
    grid: Grid,
    pilots: list[Autopilot],
    trims: np.ndarray,
    row: int,
    attitude: bool,
) -> np.ndarray:
    asked = grid.commands[row].copy()
    asked[:, 1:] -= trims
    if attitude:
        for i, pilot in enumerate(pilots):
            state = simulation.motion[i]
            asked[i] = pilot.hold_attitude(
                state, grid.attitudes[row, i], float(asked[i, 0]), rates=grid.rates[row, i]
            )
    return asked


def _apart(motion: np.ndarray, grid: Grid, row: int) -> tuple[np.ndarray, np.ndarray]:
    n = grid.positions.shape[1]
    there = np.vstack([grid.positions[row], grid.payload[row]])
    cosine = np.abs((State(motion).attitude[:n] * grid.attitudes[row]).sum(axis=1))
    angles = np.append(2.0 * np.arccos(np.clip(cosine, 0.0, 1.0)), np.nan)
    return np.linalg.norm(State(motion).position[: n + 1] - there, axis=1), angles


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
    begins = np.flatnonzero(grid.time >= SETTLED)[0] + np.arange(
        0, len(grid.time), round(EVERY / STEP)
    )
    begins = begins[begins + round(longest / STEP) < len(grid.time)]
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
