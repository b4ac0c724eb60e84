"""The flight in which a cable goes slack: when, how far, what it pulled, and what the simulator says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_adapters.autopilots import Autopilot
from rotor_core.state import State
from rotor_recordings.compare.cables import slack_rows
from rotor_recordings.compare.runs import runs
from rotor_recordings.crazyflies.grid import STEP, Grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, CrazyflieTeam
from rotor_recordings.crazyflies.team_model import TeamModel, team_scenario
from rotor_sim.simulation import Simulation
from validation.real_flights.windows import held_attitudes, states_at

BESIDE = 0.5
"""Tensions before and after are medians over this, s."""

LEAD = 0.8
"""The prediction begins so long before the cable goes slack, s: longer and attitude noise has moved the team away."""

AFTER = 0.5
"""And goes on so long after it is taut again, s."""


@dataclass(frozen=True)
class SlackEpisode:
    """A cable was slack.

    Attributes:
        vehicle: at its upper end.
        begin, end: s.
        shortest: distance of its ends at least, m; ``length``: mostly.
        before, during, after: tension from the balance of the payload, medians, N.
        closing: speed at which it comes taut, from the distance, m/s.
    """

    vehicle: str
    begin: float
    end: float
    shortest: float
    length: float
    before: float
    during: float
    after: float
    closing: float


def slack_episodes(team: CrazyflieTeam, grid: Grid) -> list[SlackEpisode]:
    """All times in which a cable of a flight was slack."""
    out = []
    for i, name in enumerate(team.vehicles):
        distance = np.linalg.norm(grid.positions[:, i] - grid.payload, axis=1)
        tension = PAYLOAD_MASS * grid.tensions[:, i]
        for first, last in runs(slack_rows(distance, STEP)):
            beside = round(BESIDE / STEP)
            out.append(
                SlackEpisode(
                    name, float(grid.time[first]), float(grid.time[last - 1]), float(distance[first:last].min()),
                    float(np.median(distance)), _median(tension[max(0, first - beside) : first]),
                    _median(tension[first:last]), _median(tension[last : last + beside]),
                    float(np.gradient(distance, STEP)[max(0, last - 6) : last + 1].max()),
                )
            )  # fmt: skip
    return out


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def predicted_distance(
    team: CrazyflieTeam, grid: Grid, model: TeamModel, episode: SlackEpisode
) -> tuple[np.ndarray, np.ndarray]:
    """Distance of the cable's ends when the simulator goes on from before the episode, as recorded but for the cables.

    Thrusts are those that were asked for, through the fitted gain and lag; attitudes are held as recorded.

    Returns:
        Times (N,) s and distances (N,) m.
    """
    scenario = team_scenario(team, model)
    simulation = Simulation(scenario)
    begin = int(np.searchsorted(grid.time, episode.begin - LEAD))
    end = min(int(np.searchsorted(grid.time, episode.end + AFTER)), len(grid.time))
    simulation.reset(time=float(grid.time[begin]))
    simulation.set_states(states_at(tuple(team.vehicles), grid, begin), project=True)
    pilots = [Autopilot(v, scenario.environment.gravity_m_s2) for v in scenario.model.vehicles]
    cable = list(team.vehicles).index(episode.vehicle)
    distances = []
    for i in range(begin, end):
        distances.append(
            float(
                np.linalg.norm(
                    State(simulation.motion).position[cable] - State(simulation.motion).position[-1]
                )
            )
        )
        for _ in range(round(STEP / scenario.time.control_s)):
            simulation.act(held_attitudes(pilots, simulation, grid, i, grid.commands[i, :, 0]))
            simulation.step()
    return grid.time[begin:end], np.array(distances)
