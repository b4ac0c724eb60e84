"""Draws a world for people: markers and paths from ``rotor/scene``, in a process of its own at idle priority.

What controllers and robots need comes from the simulator. Pictures may be late, or left out, where the machine is
busy: of several scenes that wait only the newest is drawn.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque

from nav_msgs.msg import Path
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rotor_msgs.msg import Scene as SceneMessage

from rotor_core.config.teams import teams
from rotor_core.messages.convert import (
    WORLD_FRAME,
    nanoseconds_from_stamp,
    pose_message,
    seconds_from_stamp,
)
from rotor_core.ros import qos
from rotor_core.ros.node import followed_scenario, is_running, run
from rotor_core.state import Pose
from rotor_sim.ros.markers.moving import MarkerPublisher
from rotor_sim.ros.markers.scene import scene_from
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.shapes.scene import Scene

PATH_SPACING = 0.2
"""Simulation time between two poses of a path, at least, s."""

PATH_LENGTH = 300
"""Poses of a path: the last minute."""

PATH_PUBLICATION = 1.0
"""Simulation time between two publications of a path, s."""

DELIVERY = 0.02
"""Longest time from a picture to its publication, s."""

LAST_PICTURE = 5.0
"""Longest wait for a picture that is being drawn when the node goes, s: at idle priority it may get no core."""

ROUNDING = 1e-6
"""Of stamps, s."""


class PathPublisher:
    """Paths along which payloads (or single vehicles) have come."""

    def __init__(self, entities: Entities, names: list[str]) -> None:
        self._publishers = {n: entities.publisher(Path, f"{n}/path", qos.LATCHED) for n in names}
        self._poses = {n: deque(maxlen=PATH_LENGTH) for n in names}
        self.forget()

    def forget(self) -> None:
        """Begin new paths."""
        self._taken = self._published = -math.inf
        for poses in self._poses.values():
            poses.clear()

    def take(self, stamp, scene: Scene) -> None:
        """Take up the poses of a scene if they are due, and publish if that is."""
        now = seconds_from_stamp(stamp)
        if now - self._taken > PATH_SPACING - ROUNDING:
            self._taken = now
            for name, poses in self._poses.items():
                pose = scene.poses[scene.bodies.index(name)]
                poses.append(pose_message(stamp, Pose(pose).position, Pose(pose).attitude))
        if now - self._published > PATH_PUBLICATION - ROUNDING:
            self._published = now
            for name, poses in self._poses.items():
                message = Path(poses=list(poses))
                message.header.stamp = stamp
                message.header.frame_id = WORLD_FRAME
                self._publishers[name].publish(message)


class Outbox(Entities):
    """Publishers whose messages wait, as bytes, until :meth:`deliver`.

    A thread at idle priority must not publish: preempted while it holds a lock of the shared memory of the middleware,
    it would hold up all others who write there.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._waiting: deque[tuple[Publisher, bytes]] = deque()

    def publisher(self, kind: type, topic: str, profile: QoSProfile) -> Publisher:
        """A publisher for any thread."""
        made = super().publisher(kind, topic, profile)
        waiting = self._waiting

        class Later:
            get_subscription_count = made.get_subscription_count

            @staticmethod
            def publish(message: object) -> None:
                waiting.append((made, serialize_message(message)))

        return Later  # type: ignore[return-value]

    def deliver(self) -> None:
        """Publish what waits."""
        while self._waiting:
            publisher, data = self._waiting.popleft()
            publisher.publish(data)


class VisualizerNode(Node):
    """See the module docstring: the thread of the node hears and publishes, another one draws."""

    def __init__(self) -> None:
        super().__init__("visualizer")
        scenario = followed_scenario(self)
        self._outbox = Outbox(self)
        self._epoch: int | None = None
        self._shown = 0
        """Stamp of the newest picture, ns."""
        self._paths = PathPublisher(self._outbox, [t.entity for t in teams(scenario.model)])
        self._markers = MarkerPublisher(self._outbox, scenario)
        self._newest: SceneMessage | None = None
        self._come = threading.Event()
        self._outbox.subscribe(SceneMessage, "rotor/scene", self._hear, qos.COMMAND)
        self._goes = False
        self._artist = threading.Thread(target=self._draw_all, daemon=True)
        self._artist.start()

    def destroy_node(self) -> None:
        """Let who draws end, which holds the node, then the node."""
        self._goes = True
        self._come.set()
        self._artist.join(LAST_PICTURE)
        super().destroy_node()

    def work(self, executor: Executor) -> None:
        """Hear scenes and publish pictures until told to stop."""
        while is_running():
            executor.spin_once(timeout_sec=DELIVERY)
            self._outbox.deliver()

    def _hear(self, message: SceneMessage) -> None:
        self._newest = message
        self._come.set()

    def _draw_all(self) -> None:
        if hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of this thread alone
        while True:
            self._come.wait()
            self._come.clear()
            if self._goes:
                return
            if self._newest is None:
                continue
            try:
                self._draw(self._newest)
            except (IndexError, KeyError, ValueError, TypeError) as error:
                self.get_logger().warning(
                    f"ignored: rotor/scene: is not one of this world ({error})",
                    throttle_duration_sec=1.0,
                )

    def _draw(self, message: SceneMessage) -> None:
        stamp = nanoseconds_from_stamp(message.header.stamp)
        # a simulator that was started anew, or a recording that begins again, has the same epoch
        if self._epoch not in (None, message.epoch) or stamp < self._shown:
            self._markers.clear()
            self._paths.forget()
        self._epoch, self._shown = message.epoch, stamp
        scene = scene_from(message)
        self._paths.take(message.header.stamp, scene)
        self._markers.publish(message.header.stamp, scene)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_sim visualizer``."""
    sys.exit(run(VisualizerNode, args, VisualizerNode.work))


if __name__ == "__main__":
    main()
