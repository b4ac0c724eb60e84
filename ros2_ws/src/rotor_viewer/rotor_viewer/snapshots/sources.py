"""Sources of snapshots: a flight under way in this process, or a recorded one."""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.errors import RotorError
from rotor_core.reference import POSITION
from rotor_core.state import FULL_STATE
from rotor_dynamics.hybrid.events import PARTS
from rotor_flight.flight import Flight
from rotor_flight.fly import flight_duration
from rotor_flight.loop import ClosedLoop
from rotor_planning.trajectories.knots import go_to
from rotor_sim.shapes.tip_path import tip_path
from rotor_sim.simulation import START_TIME
from rotor_viewer.snapshots.snapshot import Snapshot

OVERVIEW = 600
"""Pictures of a whole recording for its plots."""

GOAL_SPEED, GOAL_ACCELERATION = 1.0, 1.0
"""Of flights to a goal that was dragged, m/s, m/s^2."""


class Source(Protocol):
    """Source of the snapshots that a viewer shows.

    Attributes:
        scenario: who flies.
        duration: s since the start; infinite: it goes on.
        is_live: it goes its own way: it cannot be stopped, taken back or hurried.
        is_over: whether all of it has been shown.
        remark: what is to be said about it now; empty: nothing.
    """

    scenario: Scenario
    duration: float
    is_live: bool
    remark: str

    @property
    def is_over(self) -> bool:
        """True at the end."""
        ...

    def picture(self) -> Snapshot | None:
        """The present; None: nothing is known yet."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def seek(self, seconds: float) -> None:
        """Go to a time since the start; where nothing can be gone back to: start again."""
        ...

    def goal(self, entity: str, place: np.ndarray) -> str:
        """Send an entity to a place (3,) m; returns what came of it."""
        ...

    def close(self) -> None:
        """Let go of what it holds; nothing is asked of it any more."""
        ...


class RunningFlight:
    """A scenario that flies here, without ROS."""

    is_live = False
    remark = ""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        # a mission ends when it is over
        self._whole = flight_duration(scenario) if scenario.mission is None else float("inf")
        self.duration = self._whole
        self._owed = 0.0
        self._loop = ClosedLoop(scenario)
        self._decide()

    @property
    def is_over(self) -> bool:
        """True once the trajectory, or the mission, has ended; a goal that is given goes on."""
        pilot = self._loop.pilot
        landed = pilot is not None and pilot.is_over
        return landed or self._loop.simulation.time - START_TIME >= self.duration

    def _decide(self) -> None:
        self._loop.period(integrates=False)

    def picture(self) -> Snapshot:
        """The present."""
        loop, simulation = self._loop, self._loop.simulation
        engine = simulation.engine
        discs = np.full((simulation.n_vehicles, 3), np.nan)
        thrusts = simulation.applied[:, 0].copy()
        heads = simulation.helicopters
        for i, (row, head) in enumerate(zip(heads.vehicles, heads.heads, strict=True)):
            path = tip_path(head.helicopter.main_rotor, engine.joints.states[head.joints])
            discs[row] = path.coning, path.cosine, path.sine
            thrusts[row] = engine.swash.thrusts[i]
        return Snapshot(
            simulation.time - START_TIME,
            simulation.motion[:, FULL_STATE].copy(),
            engine.joints.states.copy(),
            engine.tensions.copy(),
            engine.taut.copy(),
            thrusts,
            loop.controller.references[:, POSITION : POSITION + 3].copy(),
            discs,
            engine.is_cut,
            simulation.masses,
        )

    def advance(self, seconds: float) -> None:
        """Fly on for about this long."""
        self._owed += seconds
        period = self.scenario.time.control_s
        while self._owed >= period and not self.is_over:
            self._loop.simulation.step()
            self._decide()
            self._owed -= period

    def seek(self, seconds: float) -> None:
        """Start again."""
        self.close()  # autopilots and libraries are started anew
        self._loop = ClosedLoop(self.scenario)
        self._owed, self.duration = 0.0, self._whole
        self._decide()

    def goal(self, entity: str, place: np.ndarray) -> str:
        """Plan from here to there and follow it."""
        loop = self._loop
        if loop.pilot is not None:
            return "a mission is flying and sets its own goals"
        if not self.scenario.follows_plans:
            return f"{self.scenario.controller.type} sets its own goals"
        reference = loop.controller.references[planned_names(self.scenario).index(entity)]
        try:
            plan = go_to(reference, place, None, speed=GOAL_SPEED, acceleration=GOAL_ACCELERATION)
        except RotorError as error:
            return str(error)
        loop.send(entity, plan)
        self.duration = float("inf")  # it flies where it is sent from now on
        distance = float(np.linalg.norm(place - reference[POSITION : POSITION + 3]))
        return f"{entity}: {distance:.2f} m in {plan.duration:.1f} s"

    def close(self) -> None:
        """Let go of what its laws hold."""
        self._loop.controller.close()


class RecordedFlight:
    """A flight that was recorded.

    Args:
        flight: what is shown.

    Attributes:
        spacing: longest time between two rows, and a hundredth, s.
    """

    is_live = False
    remark = ""

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.scenario = flight.scenario
        self.duration = float(flight.time[-1] - flight.time[0])
        self._at = 0.0
        self._times = flight.time - flight.time[0]
        self.spacing = 0.01 + float(np.diff(self._times).max(initial=0.0))
        self._cuts = [
            (e.time - flight.time[0], k)
            for e in flight.all_events
            if e.type in PARTS
            for k in e.cables
        ]

    @functools.cached_property
    def overview(self) -> list[Snapshot]:
        """Pictures of the whole flight, in the order of time."""
        rows = np.unique(np.linspace(0, len(self._times) - 1, OVERVIEW).astype(int))
        return [self.at(int(i)) for i in rows]

    @property
    def is_over(self) -> bool:
        """True at the end."""
        return self._at >= self.duration

    @property
    def events(self) -> list[tuple[float, str]]:
        """Time since the start, s, and words of every hybrid event."""
        cables, begin = self.scenario.model.cable_names, self.flight.time[0]
        return [
            (e.time - begin, " ".join([e.type, *(cables[k] for k in e.cables), *e.bodies]))
            for e in self.flight.events
        ]

    def picture(self) -> Snapshot:
        """The row nearest to the present."""
        return self.at(int(np.abs(self._times - self._at).argmin()))

    def at(self, i: int) -> Snapshot:
        """The picture of a row."""
        flight, model = self.flight, self.scenario.model
        vehicles = len(model.vehicles)
        commands = np.nan_to_num(flight.commands[i])
        helicopters = np.array([v.helicopter is not None for v in model.vehicles])
        joints = flight.joints[i] if flight.joints.size else np.zeros((0, 2))
        cut = np.zeros(len(model.cables), bool)
        cut[[k for when, k in self._cuts if when <= self._times[i]]] = True
        return Snapshot(
            float(self._times[i]),
            flight.states[i],
            joints,
            flight.tensions[i],
            flight.taut[i],
            np.where(helicopters, np.nan, commands[:, 0]),
            flight.references[i, :, POSITION : POSITION + 3],
            flight.discs[i] if flight.discs.size else np.full((vehicles, 3), np.nan),
            cut,
            flight.masses[i] if flight.masses.size else np.zeros((0, 3)),
        )

    def advance(self, seconds: float) -> None:
        """Go on, to the end at most."""
        self._at = min(self._at + seconds, self.duration)

    def seek(self, seconds: float) -> None:
        """Go to a time."""
        self._at = float(np.clip(seconds, 0.0, self.duration))

    def goal(self, entity: str, place: np.ndarray) -> str:
        """Refuse the goal: a recording cannot be changed."""
        return "a recording cannot follow goals"

    def close(self) -> None:
        """It holds nothing."""


def planned_names(scenario: Scenario) -> list[str]:
    """Entities that goals can be given to."""
    return [team.entity for team in teams(scenario.model)]
