"""Topics of fixed shape: whoever listens gets every message with its numbers, nothing is handed on for nobody."""

from __future__ import annotations

import graph
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PointStamped
from sensor_msgs.msg import Range

from rotor_core.messages.cdr import vector_paths
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic, FrozenTopics

NAMES = ("a", "b", "c")


def made(bench, kind, paths):
    """A topic of every name, and what each has handed to the middleware."""
    topics, sent = [], {}
    for name in NAMES:
        topic = FrozenTopic(bench.node.create_publisher(kind, name, qos.RECORDED), kind(), paths)
        sent[name] = []

        def send(data, real=topic.sender.send, own=sent[name]):
            own.append(data)
            real(data)

        topic.sender.send = send
        topics.append(topic)
    return topics, sent


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("kind", "paths"), [(PointStamped, vector_paths("point")), (Range, ["range"])]
)
def test_who_listens_gets_all_and_nobody_else_costs_anything(tmp_path, together, kind, paths):
    """Those who come in the middle get all from then on, also of numbers that are no float64 (a range)."""
    with graph.bench(tmp_path) as bench:
        topics, sent = made(bench, kind, paths)
        group = FrozenTopics(topics)

        def send(i):
            rows = np.arange(3.0)[:, None] + 10.0 * i + 0.25 * np.arange(len(paths))
            if together:
                group.send(Time(sec=i), rows)
            else:
                for topic, row in zip(topics, rows, strict=True):
                    topic.send(Time(sec=i), row)

        send(1)
        assert not group.are_heard() and not any(sent.values())
        early = bench.collect(kind, "b", qos.RECORDED)
        bench.until(topics[1].sender.listeners, "a listener")
        assert group.are_heard()
        send(2)
        late = bench.collect(kind, "c", qos.RECORDED)
        bench.until(topics[2].sender.listeners, "another listener")
        send(3)
        bench.until(lambda: len(early) == 2 and late, "messages")
        assert [len(sent[name]) for name in NAMES] == [0, 2, 1]
        assert [m.header.stamp.sec for m in early] == [2, 3]
        assert [m.header.stamp.sec for m in late] == [3]
        first = late[0].range if kind is Range else late[0].point.x
        assert first == 32.0
        if kind is PointStamped:
            assert (early[1].point.x, early[1].point.y, early[1].point.z) == (31.0, 31.25, 31.5)
