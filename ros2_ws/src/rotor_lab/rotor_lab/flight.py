"""What a flight leaves behind: samples, events, and the figures people ask for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.interface.plan import ATTITUDE, POSITION
from rotor_sim.events import Event

SAME_TIME = 1e-7
"""Times closer than this are the same, s."""


@dataclass(frozen=True)
class Commands:
    """Commands in the order of time, each held until the next.

    Attributes:
        time: of the state that each answers, (M,) s.
        wrenches: (M, n_vehicles, 4).
        efforts: of the joints, (M, n_joints).
    """

    time: np.ndarray
    wrenches: np.ndarray
    efforts: np.ndarray

    def at(self, t: float) -> int:
        """Row of the command that acts at ``t``; -1: none yet."""
        return int(np.searchsorted(self.time, t + SAME_TIME, side="right")) - 1


@dataclass
class Flight:
    """A recorded flight, one row per control period.

    Attributes:
        scenario: what was flown.
        time: simulation time, (N,) s.
        states: true states, (N, n_entities, 13).
        references: (N, n_teams, 28); NaN while the vehicles of a team fly alone.
        commands: wrenches as commanded, (N, n_vehicles, 4).
        tensions: (N, n_cables) N.
        taut: (N, n_cables).
        events: hybrid events.
        wall_time: s.
        limited: control periods in which a command was beyond the rotors.
        extra: further figures for the summary (missed deadlines and so on).
        joints: angles and rates of all joints, vehicle by vehicle, (N, n_joints, 2).
        joint_references: wanted angles, rates and accelerations, (N, n_joints, 3).
        efforts: as commanded to the joints, (N, n_joints).
        discs: coning and tilt of the discs of helicopters, as of :class:`rotor_lab.view.picture.Picture`,
            (N, n_vehicles, 3) rad; empty: not recorded.
        sent: every command of a recording whose states are rarer than its commands; None: one per row.
    """

    scenario: Scenario
    time: np.ndarray
    states: np.ndarray
    references: np.ndarray
    commands: np.ndarray
    tensions: np.ndarray
    taut: np.ndarray
    events: list[Event] = field(default_factory=list)
    wall_time: float = float("nan")
    limited: int = 0
    extra: dict = field(default_factory=dict)
    joints: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 2)))
    joint_references: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3)))
    efforts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    discs: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3)))
    sent: Commands | None = None

    @property
    def all_commands(self) -> Commands:
        """What was commanded and when; without rows in which nothing was known."""
        if self.sent is not None:
            return self.sent
        known = np.isfinite(self.commands).all(axis=(1, 2))
        efforts = self.efforts[known] if self.efforts.size else np.zeros((int(known.sum()), 0))
        return Commands(self.time[known], self.commands[known], efforts)

    def position_error(self, team: int = 0) -> np.ndarray:
        """Reference minus position of the planned entity, (N, 3) m."""
        return self.references[:, team, POSITION : POSITION + 3] - self._planned(team)[:, 0:3]

    def attitude_error(self, team: int = 0) -> np.ndarray:
        """Rotation angle between reference and attitude of the planned entity, (N,) rad."""
        q, q_des = self._planned(team)[:, 3:7], self.references[:, team, ATTITUDE : ATTITUDE + 4]
        apart = np.minimum(np.linalg.norm(q - q_des, axis=1), np.linalg.norm(q + q_des, axis=1))
        return 4.0 * np.arcsin(np.clip(apart / 2.0, 0.0, 1.0))

    def _planned(self, team: int) -> np.ndarray:
        entity = teams(self.scenario.model)[team].entity
        return self.states[:, self.scenario.model.index(entity)]

    def _joint_errors(self) -> dict[str, float]:
        """RMS errors of the joints that were planned, rad or m, by name."""
        if not self.joint_references.size:
            return {}
        names = [
            f"{v.name}/{j.name}" for v in self.scenario.model.vehicles for j in v.moving_joints
        ]
        errors = self.joint_references[:, :, 0] - self.joints[:, :, 0]
        return {name: rms(errors[:, i]) for i, name in enumerate(names)}

    def summary(self) -> dict:
        """Figures of the flight as plain data; keys carry their units."""
        flown = float(self.time[-1] - self.time[0]) if len(self.time) else 0.0
        per_team = {}
        for i, team in enumerate(teams(self.scenario.model)):
            e = self.position_error(i)
            entity = self.scenario.model.entities[self.scenario.model.index(team.entity)]
            per_team[team.entity] = {
                "position_rmse_m": rms(np.linalg.norm(e, axis=1)),
                "position_rmse_xyz_m": [rms(e[:, j]) for j in range(3)],
                "position_error_max_m": largest(np.linalg.norm(e, axis=1)),
                "attitude_rmse_deg": None
                if entity.inertia_kg_m2 is None
                else float(np.degrees(rms(self.attitude_error(i)))),
            }
        pulling = self.tensions[self.taut] if self.tensions.size else np.array([])
        counts = {
            kind: sum(e.type == kind for e in self.events)
            for kind in ("snap", "slack", "settle", "cut")
        }
        counts |= {
            kind: found
            for kind in ("attach", "release", "touch", "leave")
            if (found := sum(e.type == kind for e in self.events))
        }
        return {
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "flight_time_s": flown,
            "wall_time_s": self.wall_time,
            "real_time_factor": flown / self.wall_time if self.wall_time > 0 else None,
            "teams": per_team,
            "tension_min_n": float(pulling.min()) if pulling.size else None,
            "tension_max_n": float(pulling.max()) if pulling.size else None,
            "joints_rmse": self._joint_errors(),
            "events": counts,
            "limited_periods": self.limited,
            **self.extra,
        }


def largest(values: np.ndarray) -> float:
    """The largest number that is one; NaN without any."""
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else float("nan")


def rms(values: np.ndarray) -> float:
    """Root of the mean square of the numbers that are ones."""
    known = values[~np.isnan(values)]
    return float(np.sqrt(np.mean(np.square(known)))) if len(known) else float("nan")
