"""A mission without ROS: its orders go to the simulation at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import nanoseconds
from rotor_core.errors import ContractError, RotorError
from rotor_core.messages.told_mission import under_way
from rotor_core.plans.plan import Plan
from rotor_core.plans.registry import PlanRegistry
from rotor_planning.missions.conditions import View
from rotor_planning.missions.mission import MissionRunner, Status
from rotor_planning.missions.start import initial_plans
from rotor_sim.simulation import START_TIME, Simulation


class OfflineMission:
    """The mission of a scenario over one simulation, called once per control period.

    Attributes:
        runner: how it is doing.
        board: what controllers follow.
    """

    def __init__(self, scenario: Scenario, simulation: Simulation) -> None:
        assert scenario.mission is not None
        self._simulation = simulation
        self.before_order: Callable[[], None] | None = None
        """Called once, before the next order."""
        self.board = PlanRegistry(scenario.model)
        self.runner = MissionRunner(scenario, scenario.mission, self)
        start = nanoseconds(simulation.time)
        for name, plan in initial_plans(
            scenario, scenario.mission, initial_states(scenario)
        ).items():
            self.board.queues[name].add(start, plan)

    @property
    def is_over(self) -> bool:
        """True if the mission has ended, successfully or not."""
        return self.runner.status is not Status.RUNNING

    def summary(self) -> dict:
        """Outcome of the mission, as plain data; times from the start."""
        runner, progress = self.runner, self.runner.progress
        is_running = runner.status is Status.RUNNING
        unfinished = under_way(progress.step, progress.kind)
        return {
            "status": "unfinished" if is_running else runner.status.value,
            "message": unfinished if is_running else progress.text,
            "log": [f"{t - START_TIME:.3f} s: {text}" for t, text in runner.log],
        }

    def update(self, states: np.ndarray) -> None:
        """Go on with measured states (n, >= 13) at the present time."""
        simulation = self._simulation
        self.look(
            nanoseconds(simulation.time), states, simulation.engine.taut, simulation.supply.state
        )

    def look(self, now: int, states: np.ndarray, taut: np.ndarray, trains: np.ndarray) -> None:
        """Go on with a state of the world.

        Args:
            now: ns.
            states: measured, (n, >= 13).
            taut: of all cables, (n_cables,).
            trains: state of motors and batteries, as of :class:`rotor_sim.actuation.power.PowerSupply`.
        """
        simulation = self._simulation
        batteries = simulation.supply.batteries(trains)
        self.runner.update(
            View(now, states, taut, self.board, simulation.engine.lengths, batteries)
        )

    def _begin_order(self) -> None:
        if self.before_order is not None:
            before, self.before_order = self.before_order, None
            before()

    # --- orders -----------------------------------------------------------------------------------

    def start_plan(self, entity: str, start: int, plan: Plan, kind: str) -> None:
        """Let an entity follow a plan."""
        self._begin_order()
        self.board.queues[entity].add(start, plan)

    def attach(self, parent: str, child: str) -> Callable[[], str | None]:
        """Attach at once."""
        return self._done(lambda: self._simulation.attach(parent, child))

    def release(self, payload: str) -> Callable[[], str | None]:
        """Release at once."""
        return self._done(lambda: self._simulation.release(payload))

    def cut(self, cables: list[int]) -> Callable[[], str | None]:
        """Cut at once."""

        def change() -> None:
            for k in cables:
                self._check_whole(k)
            for k in cables:
                self._simulation.engine.cut(k)

        return self._done(change)

    def wind(self, cable: int, length: float, rate: float | None) -> Callable[[], str | None]:
        """Wind from now on."""

        def change() -> None:
            self._check_whole(cable)
            self._simulation.winches.ask(cable, length=length, rate=rate)

        return self._done(change)

    def stop(self, cable: int) -> Callable[[], str | None]:
        """Let a winch come to rest from now on."""

        def change() -> None:
            self._check_whole(cable)
            self._simulation.winches.ask(cable, rate=0.0)

        return self._done(change)

    def _check_whole(self, cable: int) -> None:
        if self._simulation.engine.is_cut[cable]:
            raise ContractError(f"cable{cable + 1} is cut already")

    def _done(self, change: Callable[[], None]) -> Callable[[], str | None]:
        self._begin_order()
        try:
            change()
        except RotorError as error:
            text = str(error)
            return lambda: text
        return lambda: ""
