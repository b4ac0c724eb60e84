"""A flight of Crazyflies as a flight of this suite: for bags, comparisons, replay and viewing."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.reference import ATTITUDE, POSITION, REFERENCE, VELOCITY
from rotor_core.state import State
from rotor_flight.flight import Flight
from rotor_recordings.compare.cables import slack_rows
from rotor_recordings.crazyflies.grid import STEP, Grid, make_grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, CrazyflieTeam
from rotor_recordings.crazyflies.team_model import fit_team, team_scenario


def crazyflie_flight(team: CrazyflieTeam, scenario: Scenario | None = None) -> Flight:
    """States (velocities by moving cubics), references, commands, tensions from the payload's balance, every 10 ms.

    Its scenario is fitted to the flight where none is given. Moments are those that were asked for less their median:
    what holds the trim of a real vehicle would turn a perfect one.
    """
    grid = make_grid(team)
    model = fit_team(team, grid)
    scenario = scenario or team_scenario(team, model)
    n = len(team.vehicles)
    states = np.zeros((len(grid.time), n + 1, 13))
    states[:, :n] = np.concatenate(
        [grid.positions, grid.attitudes, grid.velocities, grid.rates], axis=2
    )
    State(states).position[:, n], states[:, n, 3], State(states).velocity[:, n] = (
        grid.payload,
        1.0,
        grid.payload_velocity,
    )
    references = np.zeros((len(grid.time), 1, REFERENCE))
    references[:, 0, POSITION : POSITION + 3] = grid.reference
    references[:, 0, VELOCITY : VELOCITY + 3] = grid.reference_velocity
    references[:, 0, ATTITUDE] = 1.0
    commands = grid.commands.copy()
    commands[:, :, 1:] -= np.stack([fit.moments for fit in model.vehicles.values()])
    distances = np.linalg.norm(grid.positions - grid.payload[:, None], axis=2)
    taut = np.stack([~slack_rows(distances[:, i], STEP) for i in range(n)], axis=1)
    return Flight(
        scenario, grid.time, states, references, commands, PAYLOAD_MASS * _known(grid), taut
    )


def _known(grid: Grid) -> np.ndarray:
    """Tensions per kg of payload; where cables are too close to one plane for them, as last known."""
    out = grid.tensions.copy()
    for column in out.T:
        known = np.flatnonzero(np.isfinite(column))
        if len(known):
            last = known[
                np.clip(np.searchsorted(known, np.arange(len(column)), side="right") - 1, 0, None)
            ]
            column[:] = column[last]
    return np.nan_to_num(out)
