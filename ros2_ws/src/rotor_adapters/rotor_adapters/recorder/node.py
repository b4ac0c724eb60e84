"""The recorder.

Writes the topics of a scenario to a rosbag2 folder (MCAP) that decodes without this suite.

Message definitions are in the bag. Log times are simulation time, taken from the stamp of each
message. It tells the simulator (``rotor/recording``) when it hears everything, so that nothing of a
run is missed.
"""

from __future__ import annotations

import importlib
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rosbags.interfaces import Connection
from rosbags.typesys.store import Typestore
from std_msgs.msg import Bool

from rotor_core.config.loader import dump_scenario
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND, nanoseconds
from rotor_core.errors import ConfigError, RotorError
from rotor_core.extras import explained
from rotor_core.ros import qos
from rotor_core.ros.compiling import COMPILING
from rotor_core.ros.node import declare, run, scenario_parameter, spin
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.message_store import message_store, offered_qos
from rotor_recordings.formats.own_topics import OwnTopics
from rotor_recordings.formats.topics import (
    DIAGNOSTICS,
    TEAM_COMMAND,
    TEAM_STATE,
    Topic,
    laboratory_topics,
    recorded_topics,
)
from rotor_recordings.live.bag import LiveBag
from rotor_sim.simulation import START_TIME

READY_LIMIT = 10.0
"""A topic that nobody publishes by then is given up, s. Time in which nodes compile does not count."""

CHECK = 0.1
"""Wall time between two looks at what is heard, and at what waits to be written, s."""

SLOW = 1.0
"""A disk that takes longer than this to have what was written is told of, s."""

DRAIN_PAUSE, DRAIN_LOOKS, DRAIN_LIMIT = 0.05, 5, 4.0
"""A stopping recorder looks for one more message this long, s, ends when so many looks in a row found none, and
in all after at most this long, s. Looks are counted, since a process without a core sees time go by but no messages."""

DEPTH = 2000
"""Messages that may wait while a file is written."""


def message_class(name: str) -> type:
    """Class of a type name such as ``nav_msgs/msg/Odometry``."""
    package, _, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), kind)


class RecorderNode(Node):
    """Subscribes raw and writes; the bag is closed when the node is destroyed.

    Attributes:
        path: folder of the bag.
    """

    def __init__(self) -> None:
        super().__init__("recorder")
        scenario = scenario_parameter(self)
        path = Path(str(declare(self, "bag", "rotor_bag", "folder of the bag; must not exist")))
        if path.exists():
            raise ConfigError(
                f"parameter bag: {path} exists already. Name a new folder, or remove it."
            )
        self.path = path
        declare(self, "report", False, "write report.html into the folder of the closed bag")
        plant = str(
            declare(self, "plant", "simulator", "node that is recorded: simulator or laboratory")
        )
        topics = laboratory_topics(scenario) if plant == "laboratory" else recorded_topics(scenario)
        store = message_store(t.type for t in topics)
        # the bag says what the graph says: namespaces and remaps included
        names = {t.name: self.resolve_topic_name(t.name) for t in topics}
        own = OwnTopics.of_names(self.get_namespace(), names)
        self._bag = LiveBag(path, dump_scenario(scenario), topics=own)
        self._last_ns = nanoseconds(START_TIME)
        self._count = 0
        self._heard: set[str] = set()
        self._sources = str(
            declare(
                self,
                "wait_for",
                "simulator",
                "nodes to hear before a run begins, separated by spaces",
            )
        ).split()
        self._recording = self.create_publisher(Bool, "rotor/recording", qos.LATCHED)
        self._began = time.monotonic()
        self._subscriptions_of = [(topic, self._record(topic, store)) for topic in topics]
        self._look = self._every_now_and_then(self._check)
        self._every_now_and_then(self._flush)

    def _every_now_and_then(self, call: Callable[[], None]) -> Timer:
        return self.create_timer(CHECK, call, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _flush(self) -> None:
        self._bag.flush_if_due()
        behind = self._bag.behind
        if behind > SLOW:
            self.get_logger().warning(
                f"the disk is slow: a loss of power would cost the last {behind + SLOW:.1f} s",
                throttle_duration_sec=10.0,
            )

    def _record(self, topic: Topic, store: Typestore) -> Subscription:
        reliability = (
            ReliabilityPolicy.BEST_EFFORT if topic.best_effort else ReliabilityPolicy.RELIABLE
        )
        durability = (
            DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
        )
        profile = QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=DEPTH,
            reliability=reliability,
            durability=durability,
        )
        connections: list[Connection] = []

        def write(data: bytes) -> None:
            self._heard.add(topic.name)
            if topic.name == DIAGNOSTICS and COMPILING.encode() in data:
                self._began = time.monotonic()
            # others tell there, too, by clocks of their own
            stamp_at = None if topic.name == DIAGNOSTICS else topic.stamp_at
            self._write(connections[0], stamp_at, data)

        subscription = self.create_subscription(
            message_class(topic.type), topic.name, write, profile, raw=True
        )
        connections.append(
            self._bag.add(subscription.topic_name, topic.type, store, [offered_qos(topic)])
        )
        return subscription

    def _missing(self) -> list[str]:
        """Topics without which a run should not begin.

        States and commands must have come: then the other side knows this node. Of the others
        somebody must publish.
        """
        out = []
        for topic, subscription in self._subscriptions_of:
            if topic.source not in self._sources:
                continue
            sounds = topic.name in (TEAM_STATE, TEAM_COMMAND)
            heard = topic.name in self._heard or (
                not sounds and subscription.get_publisher_count() > 0
            )
            if not heard:
                out.append(topic.name)
        return out

    def _check(self) -> None:
        missing = self._missing()
        late = time.monotonic() - self._began > READY_LIMIT
        if missing and not late:
            return
        if missing:
            self.get_logger().warning(f"nobody publishes {', '.join(missing)}: recording the rest")
        self._look.cancel()
        self.get_logger().info(f"recording to {self._bag.path}")
        self._recording.publish(Bool(data=True))

    def _write(self, connection: Connection, at: int | None, data: bytes) -> None:
        if at is not None and len(data) >= at + 8:
            seconds, rest = struct.unpack_from("<iI" if data[1] else ">iI", data, at)
            stamp = seconds * NANOSECONDS_PER_SECOND + rest
            self._last_ns = stamp or self._last_ns  # zero: "whenever", as in static markers
        self._bag.write(connection, self._last_ns, data)
        self._count += 1

    def drain(self, executor: Executor) -> None:
        """Write what has arrived but waits: a busy recorder is behind when it is told to stop."""
        end, found_none = time.monotonic() + DRAIN_LIMIT, 0
        while found_none < DRAIN_LOOKS and time.monotonic() < end:
            before = self._count
            executor.spin_once(timeout_sec=DRAIN_PAUSE)
            found_none = 0 if self._count != before else found_none + 1  # or a timer was due

    def destroy_node(self) -> None:
        """Close the bag, then the node."""
        self._bag.close()
        super().destroy_node()


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_adapters recorder``."""
    reported: list[Path] = []

    def record(node: RecorderNode, executor: Executor) -> None:
        spin(node, executor)
        node.drain(executor)
        if node.get_parameter("report").value:
            reported.append(node.path)

    code = run(RecorderNode, args, record)
    for path in reported:  # the bag is closed by now
        report(path)
    sys.exit(code)


def report(bag: Path) -> None:
    """Write a report of a bag into its folder, and say so; a bag that tells of no flight is left as it is."""
    try:
        with explained():
            from rotor_recordings.report.report import write_report
        summary = write_report(read_flight(bag), bag)
    except RotorError as error:
        print(f"no report: {error}", flush=True)
        return
    print(f"{summary['verdict']['words']}\n{bag / 'report.html'}", flush=True)


if __name__ == "__main__":
    main()
