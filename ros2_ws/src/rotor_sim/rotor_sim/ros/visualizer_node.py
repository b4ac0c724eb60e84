"""Draws a world for people: markers and paths from ``rotor/scene``, in a process of its own at idle priority.

What controllers and robots need comes from the simulator. Pictures may be late, or left out, where the machine is
busy: of several scenes that wait only the newest is drawn.
"""

from __future__ import annotations

import math
import os
import sys
from collections import deque

from nav_msgs.msg import Path
from rclpy.node import Node
from rotor_msgs.msg import Scene as SceneMessage

from rotor_core.config.teams import teams
from rotor_core.messages.convert import WORLD_FRAME, pose_message, seconds_from_stamp
from rotor_core.ros import qos
from rotor_core.ros.node import run, scenario_parameter
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

ROUNDING = 1e-6
"""Of stamps, s."""


class PathPublisher:
    """Where payloads (or single vehicles) have been."""

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


class VisualizerNode(Node):
    """See the module docstring."""

    def __init__(self) -> None:
        super().__init__("visualizer")
        scenario = scenario_parameter(self)
        entities = Entities(self)
        self._epoch: int | None = None
        self._paths = PathPublisher(entities, [t.entity for t in teams(scenario.model)])
        self._markers = MarkerPublisher(entities, scenario)
        entities.subscribe(SceneMessage, "rotor/scene", self._draw, qos.COMMAND)

    def _draw(self, message: SceneMessage) -> None:
        if self._epoch not in (None, message.epoch):
            self._markers.clear()
            self._paths.forget()
        self._epoch = message.epoch
        scene = scene_from(message)
        self._paths.take(message.header.stamp, scene)
        self._markers.publish(message.header.stamp, scene)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_sim visualizer``."""
    if hasattr(os, "SCHED_IDLE"):  # threads of the middleware take it over
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    sys.exit(run(VisualizerNode, args))


if __name__ == "__main__":
    main()
