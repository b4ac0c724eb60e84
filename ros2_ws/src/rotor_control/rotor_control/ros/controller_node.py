"""The controller node.

Answers every TeamState with a TeamCommand. Topics and parameters: docs/graph.md.
"""

from __future__ import annotations

import sys

import numpy as np
from rclpy.node import Node
from rotor_msgs.msg import PolynomialTrajectory, TeamCommand, TeamState

from rotor_control.controller import make_controller
from rotor_core.interface.errors import ContractError
from rotor_core.ros import qos
from rotor_core.ros.convert import (
    plan_from_message,
    states_from_team,
    team_command,
)
from rotor_core.ros.node import run, scenario_parameter
from rotor_core.ros.plan_queue import PlanQueue


class ControllerNode(Node):
    """All teams of a scenario in one process.

    It evaluates the plan itself at the stamp of the state it answers.
    """

    def __init__(self) -> None:
        super().__init__("controller")
        scenario = scenario_parameter(self)
        self.controller = make_controller(scenario)
        self.entities = [e.name for e in scenario.model.entities]
        self.vehicles = [v.name for v in scenario.model.vehicles]
        self.teams = [team.entity for team in self.controller.teams]
        self._plans = {name: PlanQueue() for name in self.teams}
        self._states = np.zeros((len(self.entities), 13))
        self._epoch = -1
        self._last: tuple[int, TeamCommand] | None = None
        self._commands = self.create_publisher(TeamCommand, "/rotor/team_command", qos.TEAM)
        self.create_subscription(PolynomialTrajectory, "/rotor/plan", self._on_plan, qos.PLAN)
        self.create_subscription(TeamState, "/rotor/team_state", self._on_state, qos.TEAM)
        self.get_logger().info(
            f"controlling {', '.join(self.vehicles)}; planned: {', '.join(self.teams)}"
        )

    def _on_plan(self, message: PolynomialTrajectory) -> None:
        if message.entity not in self._plans or message.epoch < self._epoch:
            return
        if message.epoch > self._epoch:
            self._begin_epoch(message.epoch)
        try:
            plan = plan_from_message(message)
        except ContractError as error:
            self.get_logger().warning(f"ignored: {error}")
            return
        self._plans[message.entity].add(message.header.stamp, plan)

    def _begin_epoch(self, epoch: int) -> None:
        self._epoch = epoch
        self._last = None
        self.controller.reset()
        for plans in self._plans.values():
            plans.clear()

    def _on_state(self, message: TeamState) -> None:
        if message.epoch < self._epoch:
            return
        if message.epoch > self._epoch:
            self._begin_epoch(message.epoch)
        if self._last is not None and self._last[0] == message.step:
            self._commands.publish(
                self._last[1]
            )  # asked again: the same answer, without integrating twice
            return
        now = message.header.stamp
        for name, reference in zip(self.teams, self.controller.references, strict=True):
            plans = self._plans[name]
            if not plans:
                return  # the simulator asks again; without a plan there is nothing to answer
            plans.sample(now, reference)
        try:
            states_from_team(message, self.entities, self._states)
        except ContractError as error:
            self.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        wrenches = self.controller.command(self._states, self.controller.references)
        answer = team_command(message, self.vehicles, wrenches)
        self._last = (message.step, answer)
        self._commands.publish(answer)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_control controller``."""
    sys.exit(run(ControllerNode, args))


if __name__ == "__main__":
    main()
