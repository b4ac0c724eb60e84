"""Recorded flight: samples, events, and the usual figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from rotor_core.clearance.clearances import Clearances, Margin
from rotor_core.command import Command
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError, ContractError, UnknownNameError
from rotor_core.extras import explained
from rotor_core.plans.registry import PlanRegistry
from rotor_core.reference import REFERENCE, Reference
from rotor_core.registry import Registry
from rotor_core.state import State, States
from rotor_dynamics.hybrid.events import PARTS, PASSES_THROUGH, Event
from rotor_sim.judging.judge import Judge
from rotor_sim.judging.rotor_demand import RotorDemand
from rotor_sim.judging.slack_times import SlackTimes
from rotor_sim.judging.verdict import Verdict, with_mission

WRITERS: Registry[Callable[[Flight, Path], None]] = Registry(
    "rotor.recording_writers",
    "recording format",
    "Formats that flights are saved in, by the ending of the file name.",
    builtin={
        "folder": "rotor_recordings.formats.writers:write_folder",
        ".mcap": "rotor_recordings.formats.writers:write_mcap",
    },
)

AGAIN = 1e-6
"""States of a flight that is flown again differ by less, m, m/s, rad/s: by rounding, which snaps amplify."""

SHOWN_MARGINS = 3
"""Smallest distances that the table of a flight tells."""


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


BY_ROW = (
    "time", "states", "references", "commands", "tensions", "taut", "joints", "joint_references", "efforts", "discs",
    "masses", "alone",
)  # fmt: skip
"""Arrays of a flight with a row per recorded instant; those of what is not recorded are empty."""


COUNTED = ("snap", "slack", "settle", "cut")
COUNTED_WHERE_THEY_ARE = ("attach", "release", "touch", "leave", "break", "stick", "slip")
"""Types of events whose number summaries tell: always, or where there are some."""

STANDING = (*PARTS, "attach", "release", "touch", "leave")
"""Types of events after which something stands that did not before."""


def parted(events: Sequence[Event], start: float) -> tuple[list[Event], list[Event]]:
    """Events in the order of time: those before ``start``, s, after which something stands, and those from then on."""
    ordered = sorted(events, key=lambda event: event.time)
    past = [e for e in ordered if e.time < start - SAME_TIME]
    standing = [e for e in past if e.type in STANDING and e.cause != PASSES_THROUGH]
    return standing, ordered[len(past) :]


@dataclass(repr=False)
class Flight:
    """A recorded flight, one row per control period.

    Attributes:
        scenario: what was flown.
        time: simulation time, (N,) s; it starts at 1 s, see :attr:`elapsed`.
        states: true states, (N, n_entities, 13).
        references: (N, n_teams, 28); NaN while the vehicles of a team fly alone.
        commands: wrenches as commanded, (N, n_vehicles, 4).
        tensions: (N, n_cables) N.
        taut: (N, n_cables).
        events: hybrid events.
        past: events before the first row after which something stands: what is cut, held or touched from the start on.
        begun: time of the scenario that had passed at the first row, s: of a flight that was resumed, or recorded late.
        wall_time: s.
        limited: control periods in which a command was beyond the rotors; None: not recorded.
        extra: further figures for the summary (missed deadlines and so on).
        joints: angles and rates of all joints, vehicle by vehicle, (N, n_joints, 2).
        joint_references: wanted angles, rates and accelerations, (N, n_joints, 3).
        efforts: as commanded to the joints, (N, n_joints).
        discs: coning and tilt of the discs of helicopters, as of :class:`rotor_viewer.snapshots.snapshot.Snapshot`,
            (N, n_vehicles, 3) rad; empty: not recorded.
        alone: references of the vehicles of teams on cables while they fly alone, in the order of the teams,
            (N, n_singles, 28); NaN while they follow their team; empty: nobody ever flew alone, or not recorded.
        masses: places of the masses of heavy cables, (N, n_masses, 3) m; empty: there are none, or not recorded.
        sent: every command of a recording whose states are rarer than its commands; None: one per row.
        asked: of rotors, before the controller limited it, as of
            :attr:`rotor_core.vehicles.rotors.RotorLimits.asked`; None: not recorded.
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
    limited: int | None = None
    extra: dict = field(default_factory=dict)
    joints: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 2)))
    joint_references: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3)))
    efforts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    discs: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3)))
    alone: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, REFERENCE)))
    masses: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3)))
    sent: Commands | None = None
    asked: np.ndarray | None = None
    past: list[Event] = field(default_factory=list)
    begun: float = 0.0

    def __repr__(self) -> str:
        end = self.elapsed[-1] if len(self.time) else 0.0
        size = f"{end:g} s, {len(self.time)} rows, {len(self.events)} events"
        return f"Flight({self.scenario.name or 'unnamed'}: {', '.join(self.names)}; {size})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entities, in the order of their columns."""
        return tuple(e.name for e in self.scenario.model.entities)

    def at(self, rows: np.ndarray) -> Flight:
        """The flight at some of its rows; events and figures are those of the whole.

        Raises:
            ContractError: there would be none.
        """
        if not len(self.time[rows]):
            raise ContractError(
                "flight: none of its rows are wanted (from "
                f"{self.time[0]:g} to {self.time[-1]:g} s)."
            )
        by_row = {name: getattr(self, name) for name in BY_ROW}
        kept = {name: a[rows] if len(a) else a for name, a in by_row.items()}
        later = float(kept["time"][0] - self.time[0])
        return replace(self, begun=self.begun + later, **kept)

    @property
    def elapsed(self) -> np.ndarray:
        """Time since the start, (N,) s, as plots and tables count it."""
        return self.time - self.time[0]

    @property
    def state(self) -> States:
        """True states of all entities over time, by name."""
        return States(self.names, self.states)

    def __getitem__(self, entity: str) -> State:
        """True states of an entity over time: ``flight["payload"].position``, (N, 3) m.

        Raises:
            UnknownNameError: there is no such entity.
        """
        return self.state[entity]

    def reference(self, entity: str) -> Reference:
        """Reference of a planned entity over time.

        Raises:
            UnknownNameError: nothing is planned for it.
        """
        planned = self.all_references()
        if entity not in planned:
            raise UnknownNameError(f"there is no plan of {entity!r}; planned: {', '.join(planned)}")
        return Reference(planned[entity])

    def all_references(self) -> dict[str, np.ndarray]:
        """References of teams, and of vehicles that ever flew alone, (N, 28) each, by name."""
        model = self.scenario.model
        names = [team.entity for team in teams(model)]
        out = dict(zip(names, self.references.swapaxes(0, 1), strict=True))
        if self.alone.size:
            singles = zip(PlanRegistry(model).singles, self.alone.swapaxes(0, 1), strict=True)
            out |= {name: rows for name, rows in singles if not np.isnan(rows[:, 0]).all()}
        return out

    @property
    def command(self) -> Command:
        """Commands over time: ``flight.command["quad1"].thrust``, (N,) N."""
        vehicles = tuple(v.name for v in self.scenario.model.vehicles)
        return Command(vehicles, self.commands, self.efforts)

    def tension(self, cable: str) -> np.ndarray:
        """Tension of a cable over time, (N,) N; cables are called ``cable1`` and so on, in the order of the scenario.

        Raises:
            UnknownNameError: there is no such cable.
        """
        cables = list(self.scenario.model.cable_names)
        if cable not in cables:
            raise UnknownNameError(
                f"there is no cable {cable!r}; known: {', '.join(cables) or 'none'}"
            )
        return self.tensions[:, cables.index(cable)]

    def save(self, path: str | Path) -> Path:
        """Write the flight as a recording; the ending of the name says which (:data:`WRITERS`).

        Raises:
            ConfigError: no such format, or the file exists or cannot be written.
        """
        path = Path(path)
        kind = path.suffix or "folder"
        if kind not in WRITERS:
            raise ConfigError(f"{path}: cannot be written as {kind}. Known: {', '.join(WRITERS)}.")
        if path.exists():
            raise ConfigError(
                f"{path}: exists already. Name a new file, so that nothing is overwritten."
            )
        try:
            with explained():
                WRITERS[kind](self, path)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written ({error.strerror}).") from error
        return path

    @property
    def all_commands(self) -> Commands:
        """All commands and their times, without rows in which nothing was known."""
        if self.sent is not None:
            return self.sent
        known = np.isfinite(self.commands).all(axis=(1, 2))
        efforts = self.efforts[known] if self.efforts.size else np.zeros((int(known.sum()), 0))
        return Commands(self.time[known], self.commands[known], efforts)

    @property
    def margins(self) -> list[Margin]:
        """Smallest distances over the flight of what must not meet, the smallest first.

        Of :class:`rotor_core.clearance.clearances.Clearances`, without cables and what they are tied to. Empty where
        a recording does not tell the places of the masses of heavy cables, or the joints of arms.
        """
        states = self.states
        if heavy := sum(c.segments for c in self.scenario.model.cables if c.mass_kg_per_m):
            if self.masses.shape[1:2] != (heavy,):
                return []
            still = np.zeros((*self.masses.shape[:2], 13))
            State(still).position[:], State(still).attitude[:] = self.masses, (1.0, 0.0, 0.0, 0.0)
            states = np.concatenate([states, still], axis=1)
        joints = np.zeros((len(states), 0, 2))
        if n_joints := len(self.scenario.model.joint_names):
            if self.joints.shape[1:2] != (n_joints,):
                return []
            joints = self.joints
        known = np.isfinite(states).all(axis=(1, 2)) & np.isfinite(joints).all(axis=(1, 2))
        clearances = Clearances(self.scenario)
        clearances.see(self.time[known], states[known], self.taut[known], joints[known])
        return [m for m in clearances.margins if m.names not in clearances.tied]

    def position_error(self, team: int = 0) -> np.ndarray:
        """Reference minus position of the planned entity of a team, (N, 3) m.

        Raises:
            ContractError: there is no such team.
        """
        return self._position_error(self._planned(team))

    def _position_error(self, entity: str) -> np.ndarray:
        return self.reference(entity).position - self[entity].position

    def attitude_error(self, team: int = 0) -> np.ndarray:
        """Rotation angle between reference and attitude of the planned entity of a team, (N,) rad.

        Raises:
            ContractError: there is no such team.
        """
        return self._attitude_error(self._planned(team))

    def _attitude_error(self, entity: str) -> np.ndarray:
        q, q_des = self[entity].attitude, self.reference(entity).attitude
        apart = np.minimum(np.linalg.norm(q - q_des, axis=1), np.linalg.norm(q + q_des, axis=1))
        return 4.0 * np.arcsin(np.clip(apart / 2.0, 0.0, 1.0))

    def _planned(self, team: int) -> str:
        found = teams(self.scenario.model)
        if team not in range(len(found)):
            raise ContractError(f"team: must be 0 to {len(found) - 1}, got {team!r}.")
        return found[team].entity

    def _nearest(self) -> list[dict]:
        """The smallest distances, where there are obstacles to keep away from."""
        if not self.scenario.environment.obstacles:
            return []
        return [
            {
                "between": list(m.names),
                "distance_m": m.distance,
                "at_s": m.time - float(self.time[0]),
            }
            for m in self.margins[:SHOWN_MARGINS]
        ]

    def _joint_errors(self) -> dict[str, float]:
        """RMS errors of the joints that were planned, rad or m, by name."""
        if not self.joint_references.size:
            return {}
        names = self.scenario.model.joint_names
        errors = self.joint_references[:, :, 0] - self.joints[:, :, 0]
        return {name: rms(errors[:, i]) for i, name in enumerate(names)}

    @property
    def limited_periods(self) -> int | None:
        """Control periods in which a vehicle was at the limits of its rotors or beyond; None: nothing is known."""
        sent = self.all_commands
        if not len(sent.time):
            return self.limited
        at = RotorDemand(self.scenario).reached(sent.wrenches)
        return max(int(at.any(axis=1).sum()), self.limited or 0)

    @property
    def all_events(self) -> list[Event]:
        """Events before the first row of which something still stands, then those of the flight."""
        return [*self.past, *self.events]

    @property
    def is_cut(self) -> np.ndarray:
        """True where a cable is cut, or has broken, (N, n_cables)."""
        cut = np.zeros(self.taut.shape, bool)
        for event in self.all_events:
            if event.type in PARTS:
                for k in event.cables:
                    cut[self.time >= event.time, k] = True
        return cut

    @property
    def slack(self) -> np.ndarray:
        """True where a cable is known to be slack, (N, n_cables): not once it is cut, or between two that hold on."""
        slack = ~self.taut & np.isfinite(self.tensions) & ~self.is_cut
        ends = [{c.a, c.b} for c in self.scenario.model.cables]
        events = self.all_events
        for event in events:
            if event.type == "attach":
                let_go = (
                    e.time
                    for e in events
                    if e.type == "release" and e.time > event.time and e.bodies == event.bodies[1:]
                )
                held = (self.time >= event.time) & (self.time < next(let_go, np.inf))
                for k, pair in enumerate(ends):
                    if pair == set(event.bodies):
                        slack[held, k] = False
        return slack

    def gradient(
        self, cost: Callable[[Flight], float], parameters: Sequence[str]
    ) -> dict[str, float]:
        """Derivative of a cost of the flight with numbers of its scenario, through every event on the way.

        The flight is flown again; see :func:`rotor_flight.sensitivities.flights.sensitivities`.

        Args:
            cost: any function of NumPy of a flight, smooth where it is.
            parameters: places of numbers, as of :meth:`Scenario.changed`.

        Raises:
            ConfigError: there is no such place, or no number there.
            ContractError: the cost is no function, the flight is not that of its scenario alone (a recording, other
                plans), or there is no
                derivative: the cost has a kink, or an event that decides how the flight goes on hangs by a thread.
            SolverError: the integration cannot go on.
        """
        if not callable(cost):
            raise ContractError(
                f"gradient: cost must be a function of a Flight that returns a number, got {cost!r}."
            )
        from rotor_flight.sensitivities.flights import sensitivities  # it flies, and makes flights

        found = sensitivities(self.scenario, parameters, float(self.elapsed[-1]))
        again = found.flight.states
        if (
            self.begun
            or again.shape != self.states.shape
            or np.abs(again - self.states).max() > AGAIN
        ):
            raise ContractError(
                "gradient: this flight is not that of its scenario (a recording, a part, or flown with other plans). "
                "Call rotor.sensitivities with the scenario and the plans."
            )
        if found.doubt is not None:
            raise ContractError(
                f"gradient: {found.doubt}, so that there may be no derivative. rotor.sensitivities gives that of this "
                "side."
            )
        return dict(zip(found.parameters, found.gradient(cost).tolist(), strict=True))

    def verdict(self) -> Verdict:
        """Verdict by the criteria of the scenario, and by how its mission ended, if it has one."""
        judge = Judge(self.scenario)
        known = np.isfinite(self.commands).all(axis=(1, 2))
        held = np.maximum.accumulate(np.where(known, np.arange(len(known)), 0))
        commands = self.commands[held]  # before the first: unknown, which counts as flying
        references = self.references
        if self.alone.size:
            references = np.concatenate([references, self.alone], axis=1)
        judge.see(self.time, self.states, references, commands, self.slack, self.all_events)
        sent = self.all_commands
        judge.demand.see(sent.time, sent.wrenches)
        if self.asked is not None:
            judge.demand.take(self.asked)
        verdict = judge.verdict()
        mission = self.extra.get("mission")
        if mission is None:
            return verdict
        vehicles = [v.name for v in self.scenario.model.vehicles]
        velocities = State(self.states).velocity[-1, : len(vehicles)]
        return with_mission(verdict, mission, vehicles, velocities)

    def summary(self) -> dict:
        """Figures of the flight as plain data; keys carry their units."""
        flown = float(self.time[-1] - self.time[0]) if len(self.time) else 0.0
        per_team = {}
        for name, wanted in self.all_references().items():
            e = self._position_error(name)
            entity = self.scenario.model.entities[self.scenario.model.index(name)]
            known = np.flatnonzero(~np.isnan(wanted[:, 0]))
            per_team[name] = {
                # None: the whole flight; (s, s): it had a reference then, such as until its release
                "planned_s": [float(self.elapsed[known[i]]) for i in (0, -1)]
                if len(known) and len(known) < len(wanted)
                else None,
                "position_rmse_m": rms(np.linalg.norm(e, axis=1)),
                "position_rmse_xyz_m": [rms(e[:, j]) for j in range(3)],
                "position_error_max_m": largest(np.linalg.norm(e, axis=1)),
                "attitude_rmse_deg": None
                if entity.inertia_kg_m2 is None
                else float(np.degrees(rms(self._attitude_error(name)))),
            }
        known = np.isfinite(self.tensions)  # recordings of poses alone hold none
        pulling = self.tensions[self.taut & known]
        found = Counter(event.type for event in self.events)
        counts = {kind: found[kind] for kind in COUNTED}
        counts |= {kind: found[kind] for kind in COUNTED_WHERE_THEY_ARE if found[kind]}
        slack = SlackTimes(self.taut.shape[1])
        slack.see(self.time, self.slack)
        return {
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "flight_time_s": flown,
            "wall_time_s": self.wall_time,
            "real_time_factor": flown / self.wall_time if self.wall_time > 0 else None,
            "teams": per_team,
            "tension_min_n": float(pulling.min()) if pulling.size else None,
            "tension_max_n": float(pulling.max()) if pulling.size else None,
            "slack_s": dict(zip(self.scenario.model.cable_names, slack.total.tolist(), strict=True))
            if known.any() or not known.size
            else None,
            "joints_rmse": self._joint_errors(),
            "joint_units": {
                f"{v.name}/{j.name}": "m" if j.type == "prismatic" else "rad"
                for v in self.scenario.model.vehicles
                for j in v.moving_joints
            },
            "events": counts,
            "limited_periods": self.limited_periods,
            "margins": self._nearest(),
            **self.extra,
            "verdict": self.verdict().summary(),
        }


def smallest(values: np.ndarray) -> float:
    """Smallest finite number; NaN without any."""
    known = values[np.isfinite(values)]
    return float(known.min()) if len(known) else float("nan")


def largest(values: np.ndarray) -> float:
    """Largest finite number; NaN without any."""
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else float("nan")


def rms(values: np.ndarray) -> float:
    """Root mean square of the numbers that are not NaN; NaN without any."""
    known = values[~np.isnan(values)]
    return float(np.sqrt(np.mean(np.square(known)))) if len(known) else float("nan")
