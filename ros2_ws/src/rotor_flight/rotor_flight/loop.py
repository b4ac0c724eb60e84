"""Simulation, planner and controller of a scenario as one loop without ROS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotor_control.controller import make_controller
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND, nanoseconds
from rotor_core.plans.plan import Plan
from rotor_core.state import States
from rotor_flight.offline_mission import OfflineMission
from rotor_planning.arms.plans import JointPlans
from rotor_planning.trajectories.from_config import make_plans
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import START_TIME, Simulation


class ClosedLoop:
    """One flight under way.

    Args:
        scenario: what flies.
        plans: of the planned entities, in place of the scenario's trajectory (and mission).

    Attributes:
        simulation, controller, arms: the parts.
        pilot: of the mission; None: there is none.
        plans: what is flown, by entity.
        wanted: angles, rates and accelerations of the arms' joints as of the last decision, (n_joints, 3).
    """

    def __init__(self, scenario: Scenario, plans: dict[str, Plan] | None = None) -> None:
        self.simulation, self.controller = Simulation(scenario), make_controller(scenario)
        fly_mission = scenario.mission is not None and plans is None
        self.pilot = OfflineMission(scenario, self.simulation) if fly_mission else None
        self.plans = make_plans(scenario) if plans is None else plans
        self._entities = [team.entity for team in self.controller.teams]
        self._running = [(self.plans[name], 0.0) for name in self._entities]
        self.arms = JointPlans(scenario, self.plans)
        self.wanted = np.zeros((self.arms.n, 3))
        self._told: np.ndarray | None = None

    @property
    def is_told(self) -> bool:
        """True if the mission has been told of the present state, and the next decision is the controller's alone."""
        return self._told is not None

    def tell(self, states: np.ndarray) -> None:
        """Say that the mission has been told of the present states, (n, >= 13): the next decision is about these."""
        self._told = states

    def following(self, times: np.ndarray) -> tuple[list[Plan | None], np.ndarray]:
        """Plans of teams at ascending times, s, from the first on until somebody begins something else.

        Returns:
            Plan of every team (None: none, or its vehicles fly alone), and the time since its start at each of the
            times until then, (m, n_teams) s.
        """
        n = len(self._entities)
        if self.pilot is None:
            since = [times - START_TIME - start for _, start in self._running]
            by_time = np.ascontiguousarray(np.array(since).reshape(n, len(times)).T)
            return [plan for plan, _ in self._running], by_time
        board, queues = self.pilot.board, self.pilot.board.queues
        at = np.rint(times * NANOSECONDS_PER_SECOND).astype(np.int64)
        now = int(at[0])
        found = board.running(now)
        if any(own is None for own in found[:n]) or any(own is not None for own in found[n:]):
            return [None for _ in self._entities], np.zeros((0, n))
        waiting = [start for queue in queues.values() for start, _ in queue.plans if start > now]
        begins = min(waiting, default=int(at[-1]) + 1)
        starts = np.array([queues[name].began(now) for name in self._entities])
        since = (at[at < begins, None] - starts) / NANOSECONDS_PER_SECOND
        return [own[1] for own in found[:n] if own is not None], since

    def _decide(self, measured: States) -> Decision:
        """Plan and control."""
        simulation, controller = self.simulation, self.controller
        elapsed = simulation.time - START_TIME
        states = measured.array if self._told is None else self._told
        if self.pilot is None:
            for k, (plan, start) in enumerate(self._running):
                controller.follow(k, plan, elapsed - start)
        else:
            if self._told is None:
                self.pilot.update(states)
            self._told = None
            controller.follow_board(self.pilot.board, nanoseconds(simulation.time))
        if self.arms.n:
            self.wanted = self.arms.sample(elapsed)
        self.note_lengths()
        controller.tell_time(elapsed)
        try:
            wrenches = controller.decide(
                states, controller.references, simulation.joint_states, self.wanted
            )
        except Exception as error:  # of a law of somebody else, whose traceback does not say when
            text = f"in the flight of {simulation.scenario.name!r}, {elapsed:.3f} s after its start"
            add_note = getattr(error, "add_note", None)  # since Python 3.11
            if add_note is not None:
                add_note(text)
            raise
        return wrenches, controller.efforts

    def note_lengths(self) -> None:
        """Tell the laws how long cables are now that winches wind."""
        if self.controller.winds:
            self.controller.note_lengths(self.simulation.engine.lengths)

    def period(
        self,
        record: Callable[[np.ndarray], None] | None = None,
        *,
        acts: Callable[[], bool] | None = None,
        integrates: bool = True,
    ) -> None:
        """One control period; see :func:`rotor_sim.period.control_period`."""
        control_period(
            self.simulation, self._decide, record=record, acts=acts, integrates=integrates
        )

    def send(self, entity: str, plan: Plan) -> None:
        """Follow another plan from now on."""
        start = self.simulation.time - START_TIME
        self._running[self._entities.index(entity)] = plan, start
