"""The recorder.

Writes the topics of a scenario to a rosbag2 folder (MCAP) that decodes without this suite.

Message definitions are in the bag. Log times are simulation time, taken from the stamp of each
message.
"""

from __future__ import annotations

import importlib
import struct
import sys
import time
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from rotor_core.config.loader import dump_scenario
from rotor_core.config.units import NANOSECONDS_PER_SECOND
from rotor_core.interface.errors import ConfigError
from rotor_core.ros.node import declare, run, scenario_parameter, spin
from rotor_lab.topics import Topic, recorded_topics

STORAGE_VERSION = 9
READY = "recording"
"""First word of the line that says that data arrive."""

DRAIN_PAUSE, DRAIN_LIMIT = 0.2, 2.0
"""A stopping recorder waits this long for one more message, and in all at most this long, s."""

DEPTH = 2000
"""Messages that may wait while a file is written."""

FOREVER = QosTime(sec=2147483647, nsec=4294967295)


def message_class(name: str) -> type:
    """Class of a type name such as ``nav_msgs/msg/Odometry``."""
    package, _, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), kind)


def _store() -> object:
    """Type definitions: ROS 2 Jazzy and our own messages."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {}
    for file in Path(get_package_share_directory("rotor_msgs"), "msg").glob("*.msg"):
        types.update(get_types_from_msg(file.read_text(), f"rotor_msgs/msg/{file.stem}"))
    store.register(types)
    return store


def _offered_qos(topic: Topic) -> Qos:
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=1 if topic.latched else 10,
        reliability=QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if topic.latched else QosDurability.VOLATILE,
        deadline=FOREVER,
        lifespan=FOREVER,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=FOREVER,
        avoid_ros_namespace_conventions=False,
    )


class RecorderNode(Node):
    """Subscribes raw and writes; the bag is closed when the node is destroyed."""

    def __init__(self) -> None:
        super().__init__("recorder")
        scenario = scenario_parameter(self)
        path = Path(str(declare(self, "bag", "rotor_bag", "folder of the bag; must not exist")))
        if path.exists():
            raise ConfigError(
                f"parameter bag: {path} exists already. Name a new folder, or remove it."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        store = _store()
        self._writer: Writer | None = Writer(
            path, version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP
        )
        self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        self._writer.open()
        self._writer.set_custom_data("scenario", dump_scenario(scenario))
        self._last_ns = 0
        self._count = 0
        for topic in recorded_topics(scenario):
            connection = self._writer.add_connection(
                topic.name, topic.type, typestore=store, offered_qos_profiles=[_offered_qos(topic)]
            )
            durability = (
                DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
            )
            profile = QoSProfile(
                history=HistoryPolicy.KEEP_LAST,
                depth=DEPTH,
                reliability=ReliabilityPolicy.RELIABLE,
                durability=durability,
            )

            def write(
                data: bytes, connection: object = connection, at: int = topic.stamp_at
            ) -> None:
                self._write(connection, at, data)

            self.create_subscription(
                message_class(topic.type), topic.name, write, profile, raw=True
            )

    def _write(self, connection: object, at: int, data: bytes) -> None:
        if self._writer is None:
            return
        if len(data) >= at + 8:
            seconds, nanoseconds = struct.unpack_from("<iI" if data[1] else ">iI", data, at)
            self._last_ns = seconds * NANOSECONDS_PER_SECOND + nanoseconds
        self._writer.write(connection, self._last_ns, data)
        if self._count == 0:
            self.get_logger().info(f"{READY} to {self._writer.path}")
        self._count += 1

    def drain(self, executor: SingleThreadedExecutor) -> None:
        """Write what has arrived but waits: a busy recorder is behind when it is told to stop."""
        end = time.monotonic() + DRAIN_LIMIT
        before = -1
        while self._count != before and time.monotonic() < end:
            before = self._count
            executor.spin_once(timeout_sec=DRAIN_PAUSE)

    def destroy_node(self) -> None:
        """Close the bag, then the node."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()
        super().destroy_node()


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_lab recorder``."""

    def record(node: RecorderNode, executor: SingleThreadedExecutor) -> None:
        spin(node, executor)
        node.drain(executor)

    sys.exit(run(RecorderNode, args, record))


if __name__ == "__main__":
    main()
