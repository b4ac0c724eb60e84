"""Publish the messages of a bag as they were recorded: `ros2 bag play` for machines without it.

Messages go out byte for byte, with the quality of service that the bag names, at the pace of their log times. `/clock`
is left out unless it is asked for: a simulator that runs has its own.
"""

from __future__ import annotations

import importlib
import sys
import time

from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import Connection, QosDurability, QosReliability
from rosbags.rosbag2 import Reader

from rotor_core.errors import ConfigError
from rotor_core.ros.node import declare, is_running, run
from rotor_recordings.formats.bags import opened
from rotor_recordings.motion.names import bag_in, existing

NANO = 1e-9
DEPTH = 100
LONGEST_SPIN = 0.05
"""Wall time between two looks at whether to stop, s."""


class PlayerNode(Node):
    """See the module docstring."""

    def __init__(self) -> None:
        super().__init__("player")
        name = str(declare(self, "bag", "", "folder of the bag, or of the results that hold it"))
        wanted = str(
            declare(
                self, "topics", "", "topics to play, separated by spaces; empty: all but /clock"
            )
        ).split()
        self._rate = float(declare(self, "rate", 1.0, "recorded over wall time; > 0"))  # type: ignore[arg-type]
        self._start = float(
            declare(self, "start_s", 0.0, "begin this long after the first message")
        )  # type: ignore[arg-type]
        if not self._rate > 0.0:
            raise ConfigError(f"parameter rate: must be > 0, got {self._rate:g}.")
        kinds = "the folder of a bag"
        self._bag = bag_in(existing(name, kinds), kinds)
        with opened(self._bag) as reader:
            topics = {c.topic: c for c in reader.connections}
            duration = reader.duration * NANO
        if not 0.0 <= self._start <= duration:
            raise ConfigError(
                f"parameter start_s: must be within the bag, 0 to {duration:.3f} s, got {self._start:g}."
            )
        missing = [t for t in wanted if t not in topics]
        if missing:
            raise ConfigError(
                f"{self._bag}: holds no topic {', '.join(missing)}; it holds {', '.join(sorted(topics))}."
            )
        chosen = wanted or [t for t in topics if t != "/clock"]
        self._outlets = {
            t: self._publisher(topics[t]) for t in chosen if _is_known(topics[t].msgtype)
        }
        unknown = [t for t in chosen if t not in self._outlets]
        if unknown:
            self.get_logger().warning(
                f"not played, because their types are not installed: {', '.join(unknown)}"
            )

    def _publisher(self, connection: Connection) -> Publisher:
        package, _, kind = connection.msgtype.split("/")
        offered = getattr(connection.ext, "offered_qos_profiles", None) or []
        profile = QoSProfile(depth=DEPTH)
        if offered and offered[0].durability == QosDurability.TRANSIENT_LOCAL:
            profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
        if offered and offered[0].reliability == QosReliability.BEST_EFFORT:
            profile.reliability = ReliabilityPolicy.BEST_EFFORT
        return self.create_publisher(
            getattr(importlib.import_module(f"{package}.msg"), kind), connection.topic, profile
        )

    def play(self, executor: Executor) -> None:
        """Publish everything, in order, in time."""
        count = 0
        with Reader(self._bag) as reader:
            connections = [c for c in reader.connections if c.topic in self._outlets]
            first = reader.start_time + round(self._start / NANO)
            began = time.monotonic()
            for connection, stamp, raw in reader.messages(connections):
                latched = (
                    self._outlets[connection.topic].qos_profile.durability
                    == DurabilityPolicy.TRANSIENT_LOCAL
                )
                if stamp < first and not latched:
                    continue
                due = began + (stamp - first) * NANO / self._rate
                while is_running() and (left := due - time.monotonic()) > 0.0:
                    executor.spin_once(timeout_sec=min(left, LONGEST_SPIN))
                if not is_running():
                    break
                self._outlets[connection.topic].publish(bytes(raw))
                count += 1
        self.get_logger().info(f"played {count} messages")
        while is_running() and any(
            p.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            for p in self._outlets.values()
        ):
            executor.spin_once(
                timeout_sec=LONGEST_SPIN
            )  # latched messages live as long as their publisher


def _is_known(kind: str) -> bool:
    try:
        importlib.import_module(f"{kind.split('/')[0]}.msg")
    except ImportError:
        return False
    return True


def main(args: list[str] | None = None) -> int:
    """Entry point ``ros2 run rotor_adapters player``."""
    return run(PlayerNode, args, lambda node, executor: node.play(executor))  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
