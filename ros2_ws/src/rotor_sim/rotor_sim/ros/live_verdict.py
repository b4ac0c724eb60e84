"""Verdict on a run while it lasts: what the judge of flights says of the true motion and the plans that were heard."""

from __future__ import annotations

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rotor_msgs.msg import PolynomialTrajectory

from rotor_core.config.yaml.units import nanoseconds
from rotor_core.errors import ContractError
from rotor_core.messages.convert import nanoseconds_from_stamp, plan_from_message
from rotor_core.messages.told_mission import mission_from_message
from rotor_core.plans.registry import PlanRegistry
from rotor_core.reference import REFERENCE
from rotor_core.ros import qos
from rotor_core.state import FULL_STATE, State
from rotor_core.vehicles.rotors import asked_of_rotors
from rotor_dynamics.hybrid.events import Event
from rotor_sim.judging.judge import Judge
from rotor_sim.judging.verdict import Verdict, with_mission
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.simulation import Simulation

EVERY = 0.1
"""Simulated time between two looks of the judge, s: a look costs as much as some periods, a row of one nothing."""


class LiveVerdict:
    """Collects every control period and lets a :class:`~rotor_sim.judging.judge.Judge` look at many at once.

    References are those of the plans on ``rotor/plan``; without any nothing is far from its reference, nor under an
    autopilot in the loop, which is not told of plans.

    Attributes:
        now: verdict at the last look.
    """

    def __init__(
        self, entities: Entities, simulation: Simulation, sim_time: SimTime, epoch: int
    ) -> None:
        self._simulation, self._sim_time = simulation, sim_time
        scenario = simulation.scenario
        rows = max(1, round(EVERY / scenario.time.control_s))
        self._time = np.zeros(rows)
        self._states = np.zeros((rows, len(simulation.names), 13))
        self._wrenches = np.zeros((rows, simulation.n_vehicles, 4))
        self._slack = np.zeros((rows, simulation.engine.n_cables), bool)
        self._asked = asked_of_rotors(simulation.n_vehicles)
        self._follows_plans = scenario.follows_plans
        self._plans = PlanRegistry(scenario.model)
        self._references = np.zeros((rows, len(self._plans.queues), REFERENCE))
        self._mission: dict[str, str] = {}
        self.begin(epoch)
        if scenario.mission is not None:
            entities.subscribe(DiagnosticStatus, "rotor/mission", self._on_mission, qos.LATCHED)
        entities.subscribe(PolynomialTrajectory, "rotor/plan", self._on_plan, qos.PLAN)

    def begin(self, epoch: int) -> None:
        """The state has jumped: a new flight."""
        self._epoch, self._row = epoch, 0
        self._asked[:] = asked_of_rotors(len(self._asked))
        self._events: list[Event] = []
        self._judge = Judge(self._simulation.scenario)
        self._plans.clear()
        self._mission = {}
        self.now = Verdict("flown")

    def _on_mission(self, message: DiagnosticStatus) -> None:
        self._mission = mission_from_message(message)

    def _on_plan(self, message: PolynomialTrajectory) -> None:
        if message.epoch != self._epoch or message.entity not in self._plans.queues:
            return
        try:
            plan = plan_from_message(message)
        except ContractError:  # the controller tells of it
            return
        start = nanoseconds_from_stamp(message.header.stamp)
        seen = nanoseconds_from_stamp(self._sim_time.stamp()) - nanoseconds(EVERY)
        self._plans.queues[message.entity].add(start, plan, seen)

    def note(self, wrenches: np.ndarray, limited: np.ndarray) -> None:
        """A control period begins with these commands; ``limited``: those that a controller has cut, (n,) bool."""
        self._asked[:, 3] += limited
        i, engine = self._row, self._simulation.engine
        self._time[i] = self._simulation.time
        self._states[i] = self._simulation.motion[:, FULL_STATE]
        self._wrenches[i] = wrenches
        self._slack[i] = engine.alive & ~engine.taut

    def heard(self, events: list[Event]) -> None:
        """Take up events between two periods."""
        self._events += events

    def passed(self, events: list[Event]) -> bool:
        """The period is over; True if the verdict has become another kind, which is worth telling."""
        self._events += events
        self._row += 1
        return self._row == len(self._time) and self.look()

    def look(self) -> bool:
        """Judge what has been collected; True if the verdict has become another kind."""
        rows = slice(0, self._row)
        self._row = 0
        if rows.stop:
            ago = nanoseconds(self._simulation.time - self._time[rows.stop - 1])
            self._references[rows] = np.nan
            now = nanoseconds_from_stamp(self._sim_time.stamp()) - ago
            followed = self._plans.followed(now) if self._follows_plans else ()
            for i, (entity, plans) in enumerate(self._plans.queues.items()):
                if entity in followed:
                    self._references[rows.stop - 1, i] = plans.at(now)
            self._judge.see(
                self._time[rows], self._states[rows], self._references[rows], self._wrenches[rows],
                self._slack[rows], self._events,
            )  # fmt: skip
            self._judge.demand.see(self._time[rows], self._wrenches[rows])
            self._judge.demand.take(self._asked)
        self._events = []
        was, self.now = self.now, self._judge.verdict()
        return was.kind != self.now.kind

    def conclude(self) -> None:
        """The flight is over: judge it with how its mission has ended, as far as that is known."""
        self.look()
        if self._mission:
            simulation = self._simulation
            vehicles = simulation.names[: simulation.n_vehicles]
            velocities = State(simulation.motion).velocity[: len(vehicles)]
            self.now = with_mission(self.now, self._mission, vehicles, velocities)
