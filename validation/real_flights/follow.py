"""Fly the recorded references again: our controller on the fitted plant, beside the recorded path of the payload."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from ruamel.yaml import YAML

from rotor_control.controller import make_controller
from rotor_control.team_laws import CableTeamLaw
from rotor_core.config.schema import Scenario
from rotor_core.errors import RotorError
from rotor_core.reference import ACCELERATION, ATTITUDE, POSITION, REFERENCE, VELOCITY
from rotor_core.state import State, States
from rotor_recordings.crazyflies.grid import STEP, Grid
from rotor_recordings.crazyflies.logs import CrazyflieTeam
from rotor_recordings.crazyflies.team_model import SETTLED, TeamModel, team_scenario
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import Simulation

HOVER = 15.0
"""Before the flight the team hovers so long at its first reference, s: the integral of the
real controller had settled too."""

FORMATION_TIME = 0.3
"""With which wanted formations are taken up, s: the planned one begins with a jump."""

CUT = 1e-6
"""A vehicle that asks for less thrust, N, has cut its motors; the cut is fed to the simulator."""


@dataclass(frozen=True)
class Law:
    """Gains and delays of one group of flights; see laws.yaml."""

    position: float
    velocity: float
    integral: float
    position_z: float
    velocity_z: float
    integral_z: float
    direction: float
    rate: float
    motor_lag: float
    delay: float
    feedforward: float

    @property
    def control(self) -> dict:
        """Of the load, as a scenario takes it."""
        return {
            "position_per_s2": [self.position, self.position, self.position_z],
            "velocity_per_s": [self.velocity, self.velocity, self.velocity_z],
            "integral_per_s3": [self.integral, self.integral, self.integral_z],
        }


def fitted_laws() -> dict[str, Law]:
    """By the prefix of the flights' names."""
    table = YAML(typ="safe", pure=True).load(Path(__file__).with_name("laws.yaml").read_text())
    return {group: Law(*map(float, row)) for group, row in table.items()}


def group_of(name: str) -> str:
    """Group of a flight."""
    return next(group for group in fitted_laws() if name.startswith(group))


def law_numbers(law: Law) -> np.ndarray:
    """A law as an array, in the order of its fields."""
    return np.array([getattr(law, f.name) for f in fields(Law)])


def follow_scenario(team: CrazyflieTeam, model: TeamModel, law: Law) -> Scenario:
    """Scenario that is flown."""
    return team_scenario(
        team, model, lag=law.motor_lag, control=law.control, steering=(law.direction, law.rate)
    )


def follow(team: CrazyflieTeam, grid: Grid, model: TeamModel, law: Law) -> np.ndarray:
    """Path of the simulated payload as motion capture tells it, (N, 3) m; NaN from where the flight was lost.

    Attitude and rates reach the controller at once (they are measured on board), positions and velocities late.
    """
    scenario = follow_scenario(team, model, law)
    simulation, controller = Simulation(scenario), make_controller(scenario)
    cable_law = controller.laws[0]
    assert isinstance(cable_law, CableTeamLaw)
    n, period = len(team.vehicles), scenario.time.control_s
    reference = np.zeros((1, REFERENCE))
    reference[0, ATTITUDE], reference[0, POSITION : POSITION + 3] = 1.0, grid.reference[0]
    cable_law.lean(_hanging(grid))
    simulation.set_states(_states(team, grid, at_rest=True), project=True)
    path = np.full((len(grid.time), 3), np.nan)
    try:
        for _ in range(round(HOVER / period)):
            control_period(
                simulation, lambda seen: (controller.decide(seen.array, reference), None)
            )
        simulation.set_states(_states(team, grid, at_rest=False), project=True)
        return _fly(
            simulation, controller, cable_law, grid, law, reference, path, n, round(STEP / period)
        )
    except RotorError:
        return path


def _fly(
    simulation: Simulation,
    controller,
    cable_law: CableTeamLaw,
    grid: Grid,
    law: Law,
    reference: np.ndarray,
    path: np.ndarray,
    n: int,
    periods: int,
) -> np.ndarray:
    late = max(0, round(law.delay / (STEP / periods)))
    seen: list[np.ndarray] = []
    i, period, cut = 0, 0, np.zeros(n, bool)

    def decide(now: States) -> Decision:
        seen.append(now.array.copy())
        del seen[: -(late + 1)]
        measured, then = State(seen[-1].copy()), State(seen[max(0, len(seen) - 1 - late)])
        measured.position[:], measured.velocity[:] = then.position, then.velocity
        if period == 0:  # as the vehicles are told, and as it was recorded: late
            path[i] = measured.position[n]
        command = controller.decide(measured.array, reference)
        command[cut] = 0.0
        return command, None

    for i in range(len(grid.time)):
        reference[0, POSITION : POSITION + 3] = grid.reference[i]
        reference[0, VELOCITY : VELOCITY + 3] = grid.reference_velocity[i]
        reference[0, ACCELERATION : ACCELERATION + 3] = (
            law.feedforward * grid.reference_acceleration[i]
        )
        if grid.formation[i].any():
            cable_law.lean(grid.formation[i], share=STEP / FORMATION_TIME)
        cut = (grid.commands[i, :, 0] < CUT) & (grid.time[i] < SETTLED)
        for period in range(periods):  # noqa: B007  (decide reads it)
            control_period(simulation, decide)
    return path


def _states(team: CrazyflieTeam, grid: Grid, *, at_rest: bool) -> dict[str, np.ndarray]:
    """Recorded states at the start of the grid, by entity."""
    out = {}
    for i, name in enumerate(team.vehicles):
        moving = np.concatenate([grid.velocities[0, i], grid.rates[0, i]])
        attitude = np.array([1.0, 0.0, 0.0, 0.0]) if at_rest else grid.attitudes[0, i]
        out[name] = np.concatenate(
            [grid.positions[0, i], attitude, np.zeros(6) if at_rest else moving]
        )
    velocity = np.zeros(3) if at_rest else grid.payload_velocity[0]
    out["payload"] = np.concatenate([grid.payload[0], [1.0, 0.0, 0.0, 0.0], velocity, np.zeros(3)])
    return out


def _hanging(grid: Grid) -> np.ndarray:
    """Internal forces of cables that hold the payload at rest in their first directions, (n, 3) N."""
    directions = grid.directions[0]
    sizes = np.linalg.lstsq(directions.T, [0.0, 0.0, 0.0981], rcond=None)[0]
    forces = directions * sizes[:, None]
    return forces - forces.mean(axis=0)


def path_error(grid: Grid, path: np.ndarray) -> float:
    """Distance of a path from the recorded one after :data:`SETTLED`, root of the mean square, m; infinite: lost."""
    return distance(grid.time, grid.payload, path)


def distance(time: np.ndarray, recorded: np.ndarray, path: np.ndarray) -> float:
    """Distance of two paths (N, 3) after :data:`SETTLED`, root of the mean square, m; infinite: lost."""
    apart = np.linalg.norm(path - recorded, axis=1)[time > SETTLED]
    return float("inf") if np.isnan(apart).any() else float(np.sqrt(np.mean(apart**2)))
