"""Missions in the graph: the action ``~/fly_mission``, and orders to the simulator."""

from __future__ import annotations

import time as wall
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import RCLError, ServerGoalHandle
from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from rotor_msgs.action import FlyMission
from rotor_msgs.srv import Attach, CutCable, Release, Wind
from sensor_msgs.msg import BatteryState

from rotor_core.config.loader import mission_from_text
from rotor_core.config.mission import Mission
from rotor_core.config.schema import Scenario
from rotor_core.errors import RotorError
from rotor_core.plans.plan import Plan
from rotor_core.plans.registry import PlanRegistry
from rotor_core.ros import qos
from rotor_planning.missions.conditions import View
from rotor_planning.missions.mission import MissionRunner, Status

ATTACH, RELEASE, CUT, WIND = (
    f"simulator/{name}" for name in ("attach", "release", "cut_cable", "wind")
)

STEADY = ClockType.STEADY_TIME

LOOK = 0.1
"""Wall time between two looks whether a mission has been cancelled, s: states may not come."""

ANSWERED, SENDING = 2.0, 0.3
"""Longest time until a mission of a planner that goes has ended, and for the answer to go out after it, s."""

RESET = "the simulation was reset meanwhile"

FEEDBACK_PERIOD = 200_000_000
"""Feedback goes out this often, ns of simulation time."""


class Missions(ActionServer):
    """The action; a client that goes while it is answered does not end the node."""

    async def execute(self, taken_data: object) -> None:
        """Serve what was taken."""
        try:
            await super().execute(taken_data)
        except RCLError as error:
            self._node.get_logger().warning(f"fly_mission: an answer was lost: {error}")


class MissionFlight:
    """The mission of a planner node, if one runs: the scenario's, or one that was asked for.

    Args:
        node: the planner.
        scenario: whose entities fly.
        board: plans, which the planner keeps.
        start_plan: gives out a plan (entity, start ns, plan, kind).
    """

    def __init__(
        self,
        node: Node,
        scenario: Scenario,
        board: PlanRegistry,
        start_plan: Callable[[str, int, Plan, str], None],
    ) -> None:
        self._logger = node.get_logger()
        self._scenario, self._board, self.start_plan = scenario, board, start_plan
        self._runner: MissionRunner | None = None
        self._goal: ServerGoalHandle | None = None
        self._ended: Future | None = None
        self._told = 0
        self._next_feedback = 0
        self._batteries: dict[str, tuple[float, float]] = {}
        self._attach = node.create_client(Attach, ATTACH)
        self._release = node.create_client(Release, RELEASE)
        self._cut = node.create_client(CutCable, CUT)
        self._wind = node.create_client(Wind, WIND)
        for vehicle in scenario.model.vehicles:
            if vehicle.battery is not None:
                self._listen_to_battery(node, vehicle.name)
        self._has_seen = False
        self._leaves = ""
        self._accepted = 0
        self._node = node
        self._publisher = node.create_publisher(DiagnosticStatus, "rotor/mission", qos.LATCHED)
        self._server = Missions(
            node,
            FlyMission,
            "~/fly_mission",
            self._execute,
            goal_callback=self._accept,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def leave(self, executor: Executor, why: str) -> None:
        """Stop what runs, and wait until whoever asked for it has been answered, at most :data:`ANSWERED`."""
        self._leaves = why
        if not self._accepted:
            return
        self.cancel(why)
        until = wall.monotonic() + ANSWERED
        while self._accepted and wall.monotonic() < until:
            executor.spin_once(timeout_sec=LOOK)
        until = wall.monotonic() + SENDING
        while wall.monotonic() < until:  # the result goes out; who asks for more is refused
            executor.spin_once(timeout_sec=LOOK)

    def destroy(self) -> None:
        """Take the action down."""
        self._server.destroy()

    def _accept(self, _: FlyMission.Goal) -> GoalResponse:
        if self._leaves:
            return GoalResponse.REJECT
        self._accepted += 1
        return GoalResponse.ACCEPT

    def _listen_to_battery(self, node: Node, vehicle: str) -> None:
        def callback(message: BatteryState) -> None:
            self._batteries[vehicle] = message.percentage, message.voltage

        node.create_subscription(BatteryState, f"{vehicle}/battery", callback, qos.SENSOR)

    @property
    def is_running(self) -> bool:
        """True while a mission is running."""
        return self._runner is not None and self._runner.status is Status.RUNNING

    def begin(self, mission: Mission | None) -> None:
        """A new epoch: what ran is void, and the mission of the scenario begins, if there is one.

        A mission that was asked for before the first state of all begins with it.
        """
        if self.is_running and not self._has_seen:
            return
        if self.is_running:
            self._logger.info("mission: ended by a reset")
        self._finish()
        self._runner = self._goal = None
        self._batteries.clear()
        if mission is not None:
            self._take_up(MissionRunner(self._scenario, mission, self))

    def _take_up(self, runner: MissionRunner) -> None:
        self._runner, self._told, self._next_feedback = runner, 0, 0
        self._tell()

    def go_on(
        self, now: int, states: np.ndarray, cables: Callable[[], tuple[np.ndarray, np.ndarray]]
    ) -> None:
        """Go on with a new state at ``now``, ns; ``cables`` tells which are taut, and how long they are, m."""
        self._has_seen = True
        self._hear_cancel()
        runner = self._runner
        if runner is None or runner.status is not Status.RUNNING:
            return
        taut, lengths = cables()
        runner.update(View(now, states, taut, self._board, lengths, dict(self._batteries)))
        for _, text in runner.log[self._told :]:
            self._logger.info(f"mission: {text}")
        if self._told < len(runner.log) or runner.status is not Status.RUNNING:
            self._told = len(runner.log)
            self._tell()
        if self._goal is not None and now >= self._next_feedback:
            self._next_feedback = now + FEEDBACK_PERIOD
            self._goal.publish_feedback(self._feedback(runner))
        if runner.status is not Status.RUNNING:
            self._finish()

    def _tell(self) -> None:
        """Say how the mission is under way, for the verdict and for recordings."""
        assert self._runner is not None
        status, progress = self._runner.status, self._runner.progress
        failed = status in (Status.FAILED, Status.CANCELLED, Status.ABORTED)
        told = {"status": status.value, "step": str(progress.step), "kind": str(progress.kind)}
        self._publisher.publish(
            DiagnosticStatus(
                level=DiagnosticStatus.ERROR if failed else DiagnosticStatus.OK,
                name="mission",
                message=str(progress.text),
                hardware_id=self._node.get_fully_qualified_name(),
                values=[KeyValue(key=key, value=value) for key, value in told.items()],
            )
        )

    def _feedback(self, runner: MissionRunner) -> FlyMission.Feedback:
        progress = runner.progress
        return FlyMission.Feedback(
            step=progress.step, steps=runner.n_steps, kind=progress.kind, elapsed=progress.elapsed
        )

    def _hear_cancel(self) -> None:
        """Stop a mission whose client has cancelled it, also while time stands."""
        if self._goal is not None and self._goal.is_cancel_requested:
            self.cancel()

    def cancel(self, why: str = "") -> None:
        """Stop what runs; everything that flies hovers."""
        if self._runner is not None and self.is_running:
            self._runner.cancel()
            if why:
                self._runner.progress.text += f" ({why})"
            self._logger.info(f"mission: {self._runner.progress.text}")
            self._tell()
            self._finish()

    def _finish(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None and not ended.done():
            ended.set_result(None)

    async def _execute(self, goal: ServerGoalHandle) -> FlyMission.Result:
        try:
            return await self._fly(goal)
        finally:
            self._accepted -= 1

    async def _fly(self, goal: ServerGoalHandle) -> FlyMission.Result:
        result = FlyMission.Result(status=Status.FAILED.value)
        try:
            text = goal.request.mission
            mission = mission_from_text(text) if text else self._scenario.mission
            if mission is None:
                raise RotorError("mission: is empty, and the scenario has none.")
            runner = MissionRunner(self._scenario, mission, self)
        except RotorError as error:
            result.message = str(error)
            goal.abort()
            return result
        self.cancel("another mission was asked for")
        ended = Future()
        self._goal, self._ended = goal, ended
        self._take_up(runner)
        if self._leaves:  # accepted just before
            self.cancel(self._leaves)
        listens = self._node.create_timer(LOOK, self._hear_cancel, clock=Clock(clock_type=STEADY))
        await ended
        self._node.destroy_timer(listens)
        result.success = runner.status is Status.SUCCEEDED
        if runner.status is Status.RUNNING:
            runner.status = Status.CANCELLED
        result.status = runner.status.value
        result.message = runner.progress.text or RESET
        result.log = [f"{t:.3f} s: {what}" for t, what in runner.log]
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        if self._goal is goal:
            self._goal = None
        return result

    # --- orders -----------------------------------------------------------------------------------

    def attach(self, parent: str, child: str) -> Callable[[], str | None]:
        """Ask the simulator to attach."""
        return _ask(self._attach, Attach.Request(parent=parent, child=child))

    def release(self, payload: str) -> Callable[[], str | None]:
        """Ask the simulator to release."""
        return _ask(self._release, Release.Request(child=payload))

    def cut(self, cables: list[int]) -> Callable[[], str | None]:
        """Ask the simulator to cut cables, one after the other."""
        names = [self._scenario.model.cable_names[k] for k in cables]
        asked = [_ask(self._cut, CutCable.Request(cable=name)) for name in names]

        def answer() -> str | None:
            answers = [ask() for ask in asked]
            return None if None in answers else "; ".join(a for a in answers if a)

        return answer

    def wind(self, cable: int, length: float, rate: float | None) -> Callable[[], str | None]:
        """Ask the simulator to wind a cable."""
        name = self._scenario.model.cable_names[cable]
        return _ask(self._wind, Wind.Request(cable=name, length=length, rate=rate or 0.0))

    def stop(self, cable: int) -> Callable[[], str | None]:
        """Ask the simulator to stop a winch."""
        name = self._scenario.model.cable_names[cable]
        return _ask(self._wind, Wind.Request(cable=name, stop=True))


def _ask(client: Client, request: object) -> Callable[[], str | None]:
    """Call a service; the answer is None until it has come, "" where it is yes, else why not."""
    if not client.service_is_ready():
        text = f"nobody offers the service {client.srv_name}."
        return lambda: text
    future = client.call_async(request)

    def answer() -> str | None:
        if not future.done():
            return None
        response = future.result()
        return "" if response.success else response.message or "refused."  # type: ignore[union-attr]

    return answer
