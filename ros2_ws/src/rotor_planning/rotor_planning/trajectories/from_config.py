"""Plans as scenarios describe them: one function per ``type`` of a trajectory.

Each takes the keys of the scenario, the position it starts from, (3,) m, and the heading there, rad. The table is
:data:`rotor_core.config.trajectories.TRAJECTORIES`.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config import trajectories as config
from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, teams
from rotor_core.config.yaml.units import rad_from_deg, rpy_from_wxyz
from rotor_core.plans.plan import Plan, hold
from rotor_core.state import State
from rotor_planning.trajectories import plans
from rotor_planning.trajectories.bounds import check_size
from rotor_planning.trajectories.corridor import Corridor
from rotor_planning.trajectories.keep_out import KeepOut
from rotor_planning.trajectories.moves import moves_plan


def hover(keys: config.HoverPlan, start: np.ndarray, yaw: float) -> Plan:
    """Stay; the heading is that of the keys."""
    position = start if keys.position_m is None else np.array(keys.position_m)
    return hold(position, rad_from_deg(keys.yaw_deg), duration=keys.duration_s)


def step_pose(keys: config.StepPosePlan, start: np.ndarray, yaw: float) -> Plan:
    """A constant pose, wherever the start is."""
    roll, pitch, heading = (rad_from_deg(a) for a in keys.rpy_deg)
    position = np.array(keys.position_m)
    return hold(position, heading, roll=roll, pitch=pitch, duration=keys.duration_s)


def circle(keys: config.CirclePlan, start: np.ndarray, yaw: float) -> Plan:
    """Circle through the start."""
    return plans.circle(
        start, keys.radius_m, keys.period_s, keys.cruise_s,
        yaw=yaw, ramp=keys.ramp_rad_s2, rotation=np.radians(keys.rotation_deg),
    )  # fmt: skip


def figure_eight(keys: config.FigureEightPlan, start: np.ndarray, yaw: float) -> Plan:
    """Figure eight about the start."""
    return plans.figure_eight(
        start, keys.width_m, keys.height_m, keys.period_s, keys.turns, yaw=yaw, ramp=keys.ramp_s
    )


def rotation(keys: config.RotationPlan, start: np.ndarray, yaw: float) -> Plan:
    """Turns in place."""
    return plans.rotation(start, np.radians(keys.amplitude_deg), keys.period_s, keys.turns, yaw=yaw)


def moves(keys: config.MovesPlan, start: np.ndarray, yaw: float) -> Plan:
    """Moves of single coordinates."""
    return moves_plan(keys, start, yaw)


def line(keys: config.LinePlan, start: np.ndarray, yaw: float) -> Plan:
    """Straight legs."""
    return plans.line(
        start, _goals(keys, start), yaw=yaw, speed=keys.speed_m_s, acceleration=keys.acceleration_m_s2,
        rotortm_times=keys.timing == "rotortm",
    )  # fmt: skip


def waypoints(
    keys: config.WaypointsPlan, start: np.ndarray, yaw: float, keep_out: KeepOut | None = None
) -> Plan:
    """Polynomials through waypoints, around obstacles."""
    corridor = None if keys.corridor_m is None else Corridor(keys.corridor_m, keys.corridor_checks)
    return plans.waypoints(
        start, _goals(keys, start), yaw=yaw, derivative=keys.derivative, degree=keys.degree,
        continuity=keys.continuity, rest=keys.rest, speed=keys.speed_m_s, acceleration=keys.acceleration_m_s2,
        duration=keys.duration_s, corridor=corridor, keep_out=keep_out,
    )  # fmt: skip


def timed(keys: config.TimedPlan, start: np.ndarray, yaw: float) -> Plan:
    """A spline through places at their times."""
    rows = np.array(keys.points)
    places = rows[:, 1:] + (start if keys.relative else np.zeros(3))
    return Plan.from_samples(rows[:, 0], places, np.full(len(rows), yaw))


def _goals(keys: config.LinePlan | config.WaypointsPlan, start: np.ndarray) -> np.ndarray:
    return np.array(keys.waypoints_m) + (start if keys.relative else np.zeros(3))


def plan_from_config(
    keys: config.Plan,
    start: np.ndarray,
    yaw: float = 0.0,
    *,
    scenario: Scenario | None = None,
    team: Team | None = None,
) -> Plan:
    """The plan that a scenario describes, from position ``start`` (3,) m and heading ``yaw`` rad.

    ``scenario`` and ``team``: whose obstacles a trajectory with ``clearance_m`` keeps what team away from.

    Raises:
        ContractError: it cannot be planned, takes too long or leads too far.
    """
    maker = config.TRAJECTORIES[keys.type].maker
    clearance = getattr(keys, "clearance_m", None)
    known = clearance is not None and scenario is not None and team is not None
    plan = maker(keys, start, yaw, *([KeepOut(scenario, team, clearance)] if known else []))
    check_size(plan)
    return plan


def make_plans(scenario: Scenario) -> dict[str, Plan]:
    """The scenario's trajectory for each of its teams, by the name of the planned entity, from its initial position."""
    states = initial_states(scenario)
    out = {}
    for team in teams(scenario.model):
        state = State(states[scenario.model.index(team.entity)])
        yaw = float(rpy_from_wxyz(state.attitude)[2])
        out[team.entity] = plan_from_config(
            scenario.trajectory, state.position, yaw, scenario=scenario, team=team
        )
    return out
