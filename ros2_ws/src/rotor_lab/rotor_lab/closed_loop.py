"""Simulation, planner and controller of a scenario as one loop without ROS: decide, act, step."""

from __future__ import annotations

import numpy as np

from rotor_control.controller import make_controller
from rotor_core.config.schema import Scenario
from rotor_core.config.units import nanoseconds
from rotor_core.interface.plan import Plan
from rotor_lab.mission_pilot import MissionPilot
from rotor_planning.arms import JointPlans
from rotor_planning.trajectories import make_plans
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
        self.pilot = MissionPilot(scenario, self.simulation) if fly_mission else None
        self.plans = make_plans(scenario) if plans is None else plans
        self._entities = [team.entity for team in self.controller.teams]
        self._running = [(self.plans[name], 0.0) for name in self._entities]
        self.arms = JointPlans(scenario)
        self.wanted = np.zeros((self.arms.n, 3))
        self._command = self.controller.commands

    def decide(self) -> np.ndarray:
        """Sense, plan and control; returns the command (n_vehicles, 4), the same array at every call."""
        simulation, controller = self.simulation, self.controller
        elapsed = simulation.time - START_TIME
        measured = simulation.measure()
        if self.pilot is None:
            for k, (plan, start) in enumerate(self._running):
                controller.follow(k, plan, elapsed - start)
        else:
            self.pilot.update(measured)
            controller.follow_board(self.pilot.board, nanoseconds(simulation.time))
        if self.arms.n:
            self.wanted = self.arms.sample(elapsed)
        joints = simulation.joint_states
        self._command = controller.command(measured, controller.references, joints, self.wanted)
        return self._command

    def send(self, entity: str, plan: Plan) -> None:
        """Follow another plan from now on."""
        start = self.simulation.time - START_TIME
        self._running[self._entities.index(entity)] = plan, start

    def act(self) -> None:
        """Hand the last decision to the simulation."""
        self.simulation.command(self._command, self.controller.efforts)

    def step(self) -> None:
        """Integrate one control period."""
        self.simulation.step()
