"""Graph of nodes as a source for the viewer: states, commands, references and discs as they arrive."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseArray, PoseStamped, Quaternion
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rotor_msgs.msg import RotorState, Scene, TeamCommand, TeamState

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.messages.convert import (
    WORLD_FRAME,
    nanoseconds_from_stamp,
    set_vector,
    vector_from,
    wxyz_from,
)
from rotor_core.ros import qos
from rotor_core.ros.loopback import keep_to_loopback
from rotor_recordings.motion.disc_fit import DiscFit
from rotor_sim.plant.heavy_cables import heavy_counts, shape_topic
from rotor_sim.shapes.scene import CUT
from rotor_viewer.ros.wanted import Wanted
from rotor_viewer.snapshots.snapshot import Snapshot

NANO = 1e-9
STANDS = 1.0
"""States that tell the same time for longer than this, s, are of a simulator that is paused."""

SILENT = 3.0
"""After so long without a state the page says so, s of the wall."""

MOST_TAKEN = 200
"""Messages that are taken up before a picture."""


class GraphSource:
    """The graph in this ROS domain; see :class:`rotor_viewer.snapshots.sources.Source`.

    Args:
        scenario: which it flies.
        namespace: of its nodes; empty: the root.

    Raises:
        RotorError: ROS cannot be started.
    """

    is_live = True

    def __init__(self, scenario: Scenario, namespace: str = "") -> None:
        self.scenario = scenario
        self.duration = float("inf")
        model = scenario.model
        keep_to_loopback(os.environ)
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node("viewer", namespace=namespace, start_parameter_services=False)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._raw: dict[str, bytes] = {}
        self._heard = self._passed = time.monotonic()
        """When a state came last, and when one came with another time."""
        self._stamp = (0, 0)
        self._names = [e.name for e in model.entities]
        self.remark = ""
        self._taken = 0
        self._wanted = [Wanted() for _ in teams(model)]
        self._headings: dict[str, Quaternion] = {}
        """Attitudes of the newest references: who is sent somewhere keeps its heading."""
        self._discs = np.full((len(model.vehicles), 3), np.nan)
        self._thrusts = np.full(len(model.vehicles), np.nan)
        node = self._node
        newest = QoSProfile(depth=1)  # a page shows the present, however late it looks
        for kind, topic, name, profile in (
            (TeamState, "rotor/team_state", "state", newest),
            (TeamCommand, "rotor/team_command", "command", newest),
            (Scene, "rotor/scene", "scene", qos.COMMAND),  # says which cables are cut
        ):
            node.create_subscription(kind, topic, self._keep(name), profile, raw=True)
        self._goal_publishers = {}
        for k, team in enumerate(teams(model)):
            name = team.entity
            node.create_subscription(
                PoseStamped, f"{name}/reference_pose", self._goal(k, name), qos.STATE
            )
            self._goal_publishers[name] = node.create_publisher(
                PoseStamped, f"{name}/goal_pose", qos.COMMAND
            )
        counts = heavy_counts(model)
        self._masses = np.full((sum(n for _, n in counts), 3), np.nan)
        first = 0
        for name, count in counts:
            rows = slice(first, first + count)
            node.create_subscription(PoseArray, shape_topic(name), self._shape(rows), qos.STATE)
            first += count
        for i, vehicle in enumerate(model.vehicles):
            if vehicle.helicopter is not None:
                node.create_subscription(
                    RotorState, f"{vehicle.name}/main_rotor", self._disc(i), qos.SENSOR
                )

    @property
    def is_over(self) -> bool:
        """Never: it goes on as long as its nodes."""
        return False

    def _keep(self, name: str) -> Any:
        def take(data: bytes) -> None:
            self._raw[name] = data
            self._taken += 1
            self._heard = time.monotonic()

        return take

    def _goal(self, k: int, name: str) -> Any:
        def take(message: PoseStamped) -> None:
            self._taken += 1
            self._headings[name] = message.pose.orientation
            self._wanted[k].hear(
                nanoseconds_from_stamp(message.header.stamp) * NANO,
                vector_from(message.pose.position),
            )

        return take

    def _shape(self, rows: slice) -> Any:
        def take(message: PoseArray) -> None:
            self._taken += 1
            self._masses[rows] = [vector_from(pose.position) for pose in message.poses]

        return take

    def _disc(self, i: int) -> Any:
        fit = DiscFit()

        def take(message: RotorState) -> None:
            self._taken += 1
            self._discs[i] = fit.add(message.azimuth, message.flap)
            self._thrusts[i] = message.thrust

        return take

    def advance(self, seconds: float) -> None:
        """Take what has come."""
        for _ in range(MOST_TAKEN):
            before = self._taken
            self._executor.spin_once(timeout_sec=0.0)
            if self._taken == before:
                break
        silent = time.monotonic() - self._heard
        self.remark = ""
        if silent > SILENT and self._raw:
            self.remark = f"no state for {silent:.0f} s"
        elif silent < STANDS < time.monotonic() - self._passed and self._raw:
            self.remark = "paused"

    def picture(self) -> Snapshot | None:
        """The present; None before the first state has come."""
        if "state" not in self._raw:
            return None
        message: Any = deserialize_message(self._raw["state"], TeamState)
        flown = [body.name for body in message.bodies]
        if flown != self._names:
            self.remark = f"the graph flies {', '.join(flown)}, not this scenario: view that"
            return None
        stamp = message.header.stamp.sec, message.header.stamp.nanosec
        if stamp != self._stamp:
            self._stamp, self._passed = stamp, time.monotonic()
        states = np.array([_state(body) for body in message.bodies])
        joints = [
            np.stack([body.joint_positions, body.joint_velocities], axis=1)
            for body in message.bodies
            if len(body.joint_positions)
        ]
        thrusts = self._thrusts.copy()
        if "command" in self._raw:
            command: Any = deserialize_message(self._raw["command"], TeamCommand)
            for i, one in enumerate(command.commands):
                if self.scenario.model.vehicles[i].helicopter is None:
                    thrusts[i] = one.thrust
        now = nanoseconds_from_stamp(message.header.stamp) * NANO
        return Snapshot(
            now,
            states,
            np.concatenate(joints) if joints else np.zeros((0, 2)),
            np.array([c.tension for c in message.cables]),
            np.array([c.taut for c in message.cables], bool),
            thrusts,
            np.array([wanted.at(now) for wanted in self._wanted]).reshape(-1, 3),
            self._discs.copy(),
            cut=self._cut(message),
            masses=self._masses.copy(),
        )

    def _cut(self, state: Any) -> np.ndarray:
        """Cables that are gone, (n_cables,), as far as a picture of this epoch has come."""
        if "scene" in self._raw:
            scene: Any = deserialize_message(self._raw["scene"], Scene)
            if scene.epoch == state.epoch and len(scene.taut) == len(state.cables):
                return np.array(scene.taut) == CUT
        return np.zeros(len(state.cables), bool)

    def seek(self, seconds: float) -> None:
        """The graph goes its own way."""

    def goal(self, entity: str, place: np.ndarray) -> str:
        """Ask the planner."""
        message = PoseStamped()
        message.header.frame_id = WORLD_FRAME
        set_vector(message.pose.position, place)
        message.pose.orientation = self._headings.get(entity, Quaternion(w=1.0))
        self._goal_publishers[entity].publish(message)
        return f"asked the planner to bring {entity} there"

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown(timeout_sec=0.0)
        self._node.destroy_node()
        rclpy.try_shutdown()


def _state(body: Any) -> np.ndarray:
    pose, twist = body.pose, body.twist
    return np.concatenate(
        [
            vector_from(pose.position),
            wxyz_from(pose.orientation),
            vector_from(twist.linear),
            vector_from(twist.angular),
        ]
    )
