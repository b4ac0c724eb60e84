"""Topics of the running graph: list them, print their messages, measure their rates.

What `ros2 topic` does, where only the wheels of ROS 2 are installed.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from rotor_core.config.yaml.structure import suggestion
from rotor_core.errors import RotorError

QUIET, LISTEN = 3.5, 8.0
"""Topics count as found when none has come for some time, or after all of it, s. Nodes announce themselves
every 3 s."""

REPORT = 1.0
"""Wall time between two lines of a rate, s."""

WINDOW = 2000
"""Messages that a rate is measured over, at most."""

DEPTH = 100


@contextlib.contextmanager
def _listening(topic: str = "") -> Iterator[tuple[Node, SingleThreadedExecutor]]:
    """A node that has had time to hear of the others, or that has heard of one topic."""
    context = Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node(
        "rotor_topics", context=context, enable_rosout=False, start_parameter_services=False
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        began = changed = time.monotonic()
        known: dict[str, str] = {}
        while time.monotonic() < min(changed + QUIET, began + LISTEN):
            executor.spin_once(timeout_sec=0.1)
            if (found := _topics(node)) != known:
                known, changed = found, time.monotonic()
            if topic and _absolute(topic) in known:
                break
        yield node, executor
    finally:
        executor.shutdown(timeout_sec=0.0)
        node.destroy_node()
        try_shutdown(context=context)


def _absolute(topic: str) -> str:
    return topic if topic.startswith("/") else f"/{topic}"


def _topics(node: Node) -> dict[str, str]:
    """Type of every topic that somebody else publishes."""
    found = {}
    for name, types in node.get_topic_names_and_types():
        others = [
            p for p in node.get_publishers_info_by_topic(name) if p.node_name != node.get_name()
        ]
        if others:
            found[name] = types[0]
    return found


def list_topics() -> int:
    """Print all topics, their types and how many publish and listen."""
    with _listening() as (node, _):
        found = _topics(node)
        width = max((len(n) for n in found), default=0)
        for name in sorted(found):
            counts = f"{node.count_publishers(name)} to {node.count_subscribers(name)}"
            print(f"{name:<{width}}  {found[name]:<40}  {counts}")
    if not found:
        print("nobody publishes in this domain; is ./rotor up running?", file=sys.stderr)
    return 0 if found else 1


def _subscribe(node: Node, topic: str, callback: Callable, *, raw: bool) -> None:
    """Subscribe as the publishers of a topic offer it.

    Raises:
        RotorError: nobody publishes it, or its messages are not installed.
    """
    found = _topics(node)
    topic = _absolute(topic)
    if topic not in found:
        raise RotorError(f"{topic}: nobody publishes it{suggestion(topic, sorted(found))}")
    package, _, kind = found[topic].split("/")
    try:
        message = getattr(import_module(f"{package}.msg"), kind)
    except (ModuleNotFoundError, AttributeError) as error:
        raise RotorError(f"{topic}: the messages {found[topic]} are not installed here.") from error
    offered = [p.qos_profile for p in node.get_publishers_info_by_topic(topic)]
    profile = QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE
        if all(q.reliability == ReliabilityPolicy.RELIABLE for q in offered)
        else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if all(q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in offered)
        else DurabilityPolicy.VOLATILE,
    )
    node.create_subscription(message, topic, callback, profile, raw=raw)


def text_of(message: object) -> str:
    """A message as YAML, fields in their order; long arrays are cut."""
    text = io.StringIO()
    YAML().dump(_plain(message), text)
    return text.getvalue()


def _plain(value: Any) -> Any:
    """Messages as mappings, arrays as lists in one line."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: _plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return value
    entries = [_plain(x) for x in value]
    if entries and isinstance(entries[0], dict):
        return entries
    rest = [f"... {len(entries) - LONGEST} more"] if len(entries) > LONGEST else []
    line = CommentedSeq(
        [*(x.item() if isinstance(x, np.generic) else x for x in entries[:LONGEST]), *rest]
    )
    line.fa.set_flow_style()
    return line


LONGEST = 64
"""Entries of an array that are printed."""


def echo(topic: str, count: int) -> int:
    """Print messages of a topic, ``count`` of them; 0: until Ctrl-C."""
    left = [count]

    def show(message: object) -> None:
        if count and not left[0]:
            return
        left[0] -= 1
        print(f"{text_of(message)}---", flush=True)

    with _listening(topic) as (node, executor):
        _subscribe(node, topic, show, raw=False)
        while not count or left[0] > 0:
            executor.spin_once(timeout_sec=0.2)
    return 0


def rate(topic: str, seconds: float) -> int:
    """Print how often messages of a topic arrive, every second, for some time; 0: until Ctrl-C."""
    arrivals: deque[float] = deque(maxlen=WINDOW)
    told_last = 0.0
    with _listening(topic) as (node, executor):
        _subscribe(node, topic, lambda _: arrivals.append(time.perf_counter()), raw=True)
        began = told = time.monotonic()
        while not seconds or time.monotonic() - began < seconds:
            executor.spin_once(timeout_sec=0.1)
            if time.monotonic() - told >= REPORT:
                told = time.monotonic()
                if arrivals and arrivals[-1] <= told_last:
                    silent = time.perf_counter() - arrivals[-1]
                    print(f"nothing has come for {silent:.0f} s", flush=True)
                else:
                    print(_rate_text(np.diff(list(arrivals))), flush=True)
                told_last = time.perf_counter()
    return 0 if len(arrivals) > 1 else 1


def _rate_text(gaps: np.ndarray) -> str:
    if not len(gaps):
        return "nothing has come"
    return (
        f"{1.0 / gaps.mean():.2f} Hz over {len(gaps)} gaps: shortest {1e3 * gaps.min():.2f} ms, "
        f"longest {1e3 * gaps.max():.2f} ms, spread {1e3 * gaps.std():.2f} ms"
    )
