"""References of arms: the newest joint trajectory of every vehicle."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.messages.convert import joint_plan_from, seconds_between, stamp_later
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.ros import qos


class ArmReferences:
    """Subscribes to ``<vehicle>/joint_trajectory`` of all vehicles with an arm.

    A trajectory stamped with zero begins with the next control period.
    """

    def __init__(self, node: Node, scenario: Scenario) -> None:
        self._logger = node.get_logger()
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
        self._new: dict[str, JointTrajectory] = {}
        self._plans: dict[str, tuple[Time, JointPlan]] = {}
        for name in self._vehicles:

            def callback(message: JointTrajectory, name: str = name) -> None:
                self._new[name] = message

            node.create_subscription(
                JointTrajectory, f"{name}/joint_trajectory", callback, qos.LATCHED
            )

    def clear(self) -> None:
        """A new epoch: its trajectories come after it; those that came are kept for it."""
        self._plans.clear()

    def sample(self, stamp: Time) -> np.ndarray | None:
        """Wanted angles, rates and accelerations of all joints at a stamp, (n, 3); None before the first plan."""
        rows = []
        for name in self._vehicles:
            self._take_up(name, stamp)
            if name not in self._plans:
                return None
            rows.append(self._wanted(name, stamp))
        return np.concatenate(rows) if rows else np.zeros((0, 3))

    def _wanted(self, name: str, stamp: Time) -> np.ndarray:
        if name not in self._plans:
            return self._starts[name]
        start, plan = self._plans[name]
        return plan.sample(seconds_between(start, stamp))

    def _take_up(self, name: str, stamp: Time) -> None:
        message = self._new.get(name)
        if message is None:
            return
        start = message.header.stamp
        if not (start.sec or start.nanosec):
            start = stamp_later(stamp, 0.0)
        if seconds_between(start, stamp) < 0.0:
            return  # its time has not come
        del self._new[name]
        try:
            plan = joint_plan_from(message, self._vehicles[name], self._wanted(name, start))
        except ContractError as error:
            self._logger.warning(f"ignored: {name}/joint_trajectory: {error}")
            return
        self._plans[name] = (start, plan)
