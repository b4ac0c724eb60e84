"""The controller node.

Answers every TeamState with a TeamCommand; gains are parameters. Topics and parameters: docs/graph.md.
"""

from __future__ import annotations

import sys
import time as wall
from collections import deque

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from rotor_msgs.msg import PolynomialTrajectory, TeamCommand, TeamState

from rotor_control.controller import make_controller
from rotor_control.ros.arm_references import ArmReferences
from rotor_control.ros.cable_commands import CableCommands
from rotor_control.ros.demand_report import DemandReport
from rotor_control.team_laws import CableLaw
from rotor_control.tuning import tunable_gains
from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError, RotorError
from rotor_core.messages.convert import nanoseconds_from_stamp, plan_from_message
from rotor_core.messages.team_wire import MOTION, TeamCommandWire, TeamStateWire
from rotor_core.plans.registry import PlanRegistry
from rotor_core.ros import qos
from rotor_core.ros.compiling import watch_compiling
from rotor_core.ros.epochs import Epochs
from rotor_core.ros.keeper import CAPTURE, Keeper, put_back
from rotor_core.ros.node import declare_live, end_with, followed_scenario, is_running, run
from rotor_core.saved.capture import Keep

LATE_NS = 100_000_000
"""Before the first answer: plans that began this long ago come from the memory of the planner, one after the other."""

QUIET = 0.3
"""When none has come for this wall time, s, and between two states, the last one is what is flown."""


class ControllerNode(Node):
    """All teams of a scenario in one process.

    It evaluates the plan itself at the stamp of the state it answers.
    """

    def __init__(self) -> None:
        super().__init__("controller")
        watch_compiling(self)
        scenario = followed_scenario(self)
        self.controller = make_controller(scenario)
        self.controller.stop_when(lambda: not is_running())
        entities = [e.name for e in scenario.model.entities]
        vehicles = [v.name for v in scenario.model.vehicles]
        self.teams = [team.entity for team in self.controller.teams]
        self._board = PlanRegistry(scenario.model)
        self._states = np.zeros((len(entities), MOTION))
        self._period = scenario.time.control_s
        self.arms = ArmReferences(self, scenario)
        self.cables = [
            CableCommands(self, scenario, law)
            for law in self.controller.laws
            if isinstance(law, CableLaw)
        ]
        counts = [len(v.moving_joints) for v in scenario.model.vehicles]
        self._joints = np.zeros((sum(counts), 2))
        self._state_wire = TeamStateWire(
            entities, scenario.model.cable_names, counts + [0] * len(scenario.model.payloads)
        )
        self._command_wire = TeamCommandWire(vehicles, counts, scenario.model.helicopters)
        self._epochs = Epochs()
        self._early: deque[PolynomialTrajectory] = deque(maxlen=qos.PLAN.depth)
        """Plans of epochs whose first state has not come yet."""
        self._now = -1
        """Stamp of the newest state, ns."""
        self._quiet_at, self._hears_more = 0.0, False
        """Nothing is answered before this wall time, s."""
        self._last: tuple[int, bytes] | None = None
        self.keeper = Keeper(self, self._take)
        self._answered = self._known_until = -1
        """Stamps in ns: of the last state that was answered; of the last one before the node was put away, whose plans
        it has in its memory and hears again."""
        self._scenario = scenario
        self._go_on()
        self._gains = tunable_gains(scenario, self.controller)
        for name, gain in self._gains.items():
            declare_live(self, name, gain.value, "feedback gain, live", gain.limits)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._demand = DemandReport(self, self.controller, vehicles)
        self._commands = self.create_publisher(TeamCommand, "rotor/team_command", qos.TEAM)
        self.create_subscription(PolynomialTrajectory, "rotor/plan", self._on_plan, qos.PLAN)
        self.create_subscription(TeamState, "rotor/team_state", self._on_state, qos.TEAM, raw=True)
        self.get_logger().info(
            f"controlling {', '.join(vehicles)}; planned: {', '.join(self.teams)}"
        )

    def destroy_node(self) -> None:
        """Let go of what laws hold, then of the node."""
        self.controller.close()
        super().destroy_node()

    # --- put away and taken up --------------------------------------------------------------------

    def _parts(self) -> dict[str, object]:
        return {
            "controller": self.controller, "board": self._board, "epochs": self._epochs, "last": self._last,
            "early": list(self._early), "arms": self.arms, "cables": self.cables, "stamp": self._answered,
        }  # fmt: skip

    def _take(self, arrays: Keep) -> tuple[Scenario, dict]:
        if isinstance(self._scenario.controller, Counterpart):
            raise ContractError("a program of others keeps what nobody knows: it cannot be saved.")
        return self._scenario, CAPTURE.take_parts(self._parts(), arrays)

    def _go_on(self) -> None:
        found = self.keeper.saved(self._scenario)
        if found is not None:
            got = put_back(self._parts(), found, CAPTURE)
            self._last, self._answered = got["last"], got["stamp"]
            self._early.extend(got["early"])
            self._known_until = self._answered

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Ranges have been checked; all of one call take effect together or not at all."""
        wanted = [(p.name, float(p.value)) for p in parameters if p.name in self._gains]
        for name, value in wanted:
            if not np.isfinite(value):
                return SetParametersResult(successful=False, reason=f"{name} must be finite")
        for name, value in wanted:
            self._gains[name].set(value)
            self.get_logger().info(f"{name} = {value:g}")
        return SetParametersResult(successful=True)

    def _on_plan(self, message: PolynomialTrajectory) -> None:
        if message.entity not in self._board.queues:
            return
        self._early.append(message)  # only states begin an epoch, and perhaps this one again
        if message.epoch != self._epochs.now:
            return
        try:
            plan = plan_from_message(message)
        except ContractError as error:
            self.get_logger().warning(f"ignored: {error}")
            return
        start = nanoseconds_from_stamp(message.header.stamp)
        if start > self._known_until:
            self._board.queues[message.entity].add(start, plan, self._now)
            if self._last is None and start < self._now - LATE_NS:
                self._quiet_at, self._hears_more = wall.monotonic() + QUIET, True

    def _begin_epoch(self, epoch: int, now: int) -> None:
        # by another simulator: what came of the one before is void
        anew = epoch <= self._epochs.now
        self._epochs.begin(epoch)
        self._last, self._known_until = None, -1
        self.controller.reset()
        self._board.clear()
        self.arms.clear()
        for cables in self.cables:
            cables.clear()
        early, self._early = list(self._early), deque(maxlen=self._early.maxlen)
        for message in early:
            begun = nanoseconds_from_stamp(message.header.stamp) <= now
            if (message.epoch == epoch and begun) if anew else message.epoch >= epoch:
                self._on_plan(message)

    def _on_state(self, data: bytes) -> None:
        try:
            heading = self._state_wire.read(data, self._states, self._joints)
        except ContractError as error:
            self.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        if not self._epochs.admits(heading.epoch):
            return
        self._now = nanoseconds_from_stamp(heading.stamp)
        if self._epochs.starts(heading.epoch, heading.step):
            self._begin_epoch(heading.epoch, self._now)
        elif self._early:
            self._early = deque(
                (m for m in self._early if m.epoch > heading.epoch), self._early.maxlen
            )
        if self._last is not None and self._last[0] == heading.step:
            # asked again: the same answer, without integrating twice
            self._commands.publish(self._last[1])
            return
        hears_more, self._hears_more = self._hears_more, False
        if hears_more or wall.monotonic() < self._quiet_at:
            return  # which of the plans is flown is not known yet
        if not self.controller.follow_board(self._board, self._now):
            return  # the simulator asks again; without a plan there is nothing to answer
        wanted = self.arms.sample(heading.stamp, self._joints)
        if wanted is None:
            return
        for cables in self.cables:
            cables.take_up(heading.stamp)
        if self.controller.winds:
            self.controller.note_lengths(self._state_wire.cables(data)[1])
        self.controller.tell_time(heading.step * self._period)
        try:
            wrenches = self.controller.decide(
                self._states, self.controller.references, self._joints, wanted
            )
        except ContractError as error:  # no state that can be answered
            self.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        except (
            RotorError
        ) as error:  # a program in the loop that cannot begin, such as one whose port is taken
            end_with(error)
            return
        controller = self.controller
        answer = self._command_wire.write(heading, wrenches, controller.efforts, controller.cut)
        self._last, self._answered = (heading.step, answer), self._now
        self._commands.publish(answer)
        self.arms.publish(heading.stamp, wanted)
        self._demand.update(heading.stamp)
        for cables in self.cables:
            cables.publish(heading.stamp, self._states)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_control controller``."""
    sys.exit(run(ControllerNode, args))


if __name__ == "__main__":
    main()
