"""References of arms: joint trajectories of every vehicle in their order, or the stream of commands that came later."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.messages.cdr import FrozenMessage
from rotor_core.messages.convert import (
    joint_plan_from,
    nanoseconds_from_stamp,
    refusal_of_start,
    seconds_between,
    seconds_from_stamp,
    stamp_later,
)
from rotor_core.messages.joint_command import joint_command_from
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.plans.registry import KEPT
from rotor_core.ros import qos

STREAM = 0.1
"""Commands without rates that follow each other this soon have those of their differences, s."""


class _Told:
    """``<vehicle>/joint_reference`` of one vehicle: a trajectory of the one point that is wanted now."""

    def __init__(self, node: Node, vehicle: str, joints: list[str]) -> None:
        self.count = len(joints)
        self._publisher = node.create_publisher(
            JointTrajectory, f"{vehicle}/joint_reference", qos.RECORDED
        )
        point = JointTrajectoryPoint()
        point.positions, point.velocities, point.accelerations = [[0.0] * self.count] * 3
        self._frame = FrozenMessage(JointTrajectory(joint_names=joints, points=[point]))
        parts = ("positions", "velocities", "accelerations")
        paths = [f"points[0].{part}[{j}]" for part in parts for j in range(self.count)]
        self._at = self._frame.index(*paths)

    def publish(self, stamp: Time, wanted: np.ndarray) -> None:
        if not self._publisher.get_subscription_count():
            return
        self._frame.put_stamp(stamp)
        self._frame.doubles[self._at] = wanted.T.ravel()
        self._publisher.publish(self._frame.data())


class ArmReferences:
    """Subscribes to ``<vehicle>/joint_trajectory`` of all vehicles with an arm, tells ``<vehicle>/joint_reference``.

    A trajectory stamped with zero begins with the next control period. ``<vehicle>/cmd/joints`` streams what is wanted
    now (`sensor_msgs/JointState`, as ros2_control's topic hardware sends it); the next trajectory ends that.
    """

    def __init__(self, node: Node, scenario: Scenario) -> None:
        self._logger = node.get_logger()
        self._commands_all = scenario.command_input == "team"
        self._vehicles = {
            v.name: [j.name for j in v.moving_joints]
            for v in scenario.model.vehicles
            if v.moving_joints
        }
        self._starts = {
            v.name: np.array([[j.initial, 0.0, 0.0] for j in v.moving_joints])
            for v in scenario.model.vehicles
            if v.moving_joints
        }
        self._seen: Time | None = None
        self._new: dict[str, list[JointTrajectory]] = {}
        """Trajectories that wait for their time, in its order."""
        self._plans: dict[str, tuple[Time, JointPlan]] = {}
        self._streams: dict[str, tuple[float, np.ndarray]] = {}
        """Stamp, s, and wanted angles, rates and accelerations of arms that are commanded one by one."""
        for name in self._vehicles:

            def callback(message: JointTrajectory, name: str = name) -> None:
                self._on_trajectory(name, message)

            node.create_subscription(
                JointTrajectory, f"{name}/joint_trajectory", callback, qos.TRAJECTORIES
            )

            def stream(message: JointState, name: str = name) -> None:
                self._on_stream(name, message)

            node.create_subscription(JointState, f"{name}/cmd/joints", stream, qos.COMMAND)
        self._told = [_Told(node, name, joints) for name, joints in self._vehicles.items()]

    def _on_trajectory(self, name: str, message: JointTrajectory) -> None:
        """Let it take over when its time comes, in place of all that would begin then or later, as plans do."""
        try:
            joint_plan_from(message, self._vehicles[name], self._starts[name])
        except ContractError as error:
            self._logger.warning(f"ignored: {name}/joint_trajectory: {error}")
            return
        start = nanoseconds_from_stamp(message.header.stamp)  # 0: at once
        waiting = self._new.get(name, [])
        before = [m for m in waiting if nanoseconds_from_stamp(m.header.stamp) < start]
        if len(before) >= KEPT:
            self._logger.warning(
                f"ignored: {name}/joint_trajectory: {KEPT} trajectories wait already; send it when one has begun"
            )
            return
        self._new[name] = [*before, message]

    def _on_stream(self, name: str, message: JointState) -> None:
        try:
            command = joint_command_from(message, name, self._vehicles[name])
        except ContractError as error:
            self._logger.warning(f"ignored: {name}/cmd/joints: {error}", throttle_duration_sec=1.0)
            return
        if command.positions is None:  # efforts are for the simulator
            if self._commands_all:
                self._logger.warning(
                    f"ignored: {name}/cmd/joints: efforts go to joints with command_input: wrench or motor_speed; here "
                    "the controller commands them. Send positions.",
                    throttle_duration_sec=1.0,
                )
            return
        stamp = seconds_from_stamp(message.header.stamp)
        before, row = self._streams.get(name, (-np.inf, self._starts[name]))
        if name not in self._streams and name in self._plans and self._seen is not None:
            row = self._wanted(name, self._seen)
        wanted = np.zeros_like(row)
        wanted[:, 0] = np.where(np.isnan(command.positions), row[:, 0], command.positions)
        if command.velocities is not None:
            wanted[:, 1] = np.nan_to_num(command.velocities)
        elif 0.0 < stamp - before < STREAM:
            wanted[:, 1] = (wanted[:, 0] - row[:, 0]) / (stamp - before)
        self._streams[name] = stamp, wanted

    def clear(self) -> None:
        """A new epoch: its trajectories come after it; those that came are kept for it."""
        self._plans.clear()
        self._streams.clear()

    def sample(self, stamp: Time, joints: np.ndarray) -> np.ndarray | None:
        """Wanted angles, rates and accelerations of all joints at a stamp, (n, 3); None before the first plan.

        Args:
            joints: present angles and rates, (n, 2): an arm whose first trajectory is yet to begin stays as it is.
        """
        rows, self._seen, last = [], stamp, 0
        for name, names in self._vehicles.items():
            first, last = last, last + len(names)
            self._take_up(name, stamp)
            if name not in self._plans:
                if name not in self._new:
                    return None
                if name not in self._streams:
                    held = np.zeros((len(names), 3))
                    held[:, 0] = joints[first:last, 0]
                    self._streams[name] = seconds_from_stamp(stamp), held
            rows.append(
                self._streams[name][1] if name in self._streams else self._wanted(name, stamp)
            )
        return np.concatenate(rows) if rows else np.zeros((0, 3))

    def publish(self, stamp: Time, wanted: np.ndarray) -> None:
        """Tell what :meth:`sample` gave to whoever listens."""
        last = 0
        for told in self._told:
            first, last = last, last + told.count
            told.publish(stamp, wanted[first:last])

    def _wanted(self, name: str, stamp: Time) -> np.ndarray:
        if name not in self._plans:
            return self._starts[name]
        start, plan = self._plans[name]
        return plan.sample(seconds_between(start, stamp))

    def _take_up(self, name: str, stamp: Time) -> None:
        waiting = self._new.pop(name, None)
        if not waiting:
            return
        later = []
        for message in waiting:
            start = message.header.stamp
            if not (start.sec or start.nanosec):
                start = stamp_later(stamp, 0.0)
            if refusal := refusal_of_start(stamp, start):
                self._logger.warning(f"ignored: {name}/joint_trajectory: {refusal}")
            elif seconds_between(stamp, start) > 0.0:
                later.append(message)
            else:
                self._begin(name, message, start)
        if later:
            self._new[name] = later

    def _begin(self, name: str, message: JointTrajectory, start: Time) -> None:
        try:
            before = self._wanted(name, start)
            if name not in self._plans and name in self._streams:  # it was held
                before = self._streams[name][1]
            plan = joint_plan_from(message, self._vehicles[name], before)
        except ContractError as error:
            self._logger.warning(f"ignored: {name}/joint_trajectory: {error}")
            return
        self._plans[name] = (start, plan)
        self._streams.pop(name, None)
