"""Running nodes for the tests: real processes over DDS, each test in a domain of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import domain_coordinator
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from rotor_lab.graph import STOP_ORDER, node_plan
from rotor_lab.processes import ProcessGroup
from rotor_lab.run_graph import environment

PATIENCE = 30.0


class Bench:
    """A node of the test and the processes around it."""

    def __init__(self, group: ProcessGroup, node: Node, executor: SingleThreadedExecutor) -> None:
        self.group, self.node, self.executor = group, node, executor

    def start(self, name: str, **parameters: object) -> None:
        self.group.start(node_plan(name, parameters))

    def until(self, condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Spin until the condition holds."""
        end = time.monotonic() + patience
        while not condition():
            self.executor.spin_once(timeout_sec=0.05)
            for child in self.group.ended():
                if child.process.returncode != 0:
                    raise AssertionError(f"{child.plan.name} ended: {child.last_words(20)}")
            assert time.monotonic() < end, f"waited {patience} s for {what}; logs: " + "\n".join(
                c.last_words() for c in self.group.children.values()
            )

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def collect(self, kind: type, topic: str, profile: object) -> list:
        """Subscribe and keep everything that comes."""
        out: list = []
        self.node.create_subscription(kind, topic, out.append, profile)
        return out

    def call(self, kind: type, name: str, request: object) -> object:
        """Call a service and return its response."""
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        self.until(future.done, f"answer of {name}")
        return future.result()


@contextlib.contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """A bench in a ROS domain that nobody else uses; everything is stopped at the end."""
    with domain_coordinator.domain_id() as domain:
        env = environment(folder)
        env["ROS_DOMAIN_ID"] = str(domain)
        context = Context()
        before = {k: os.environ.get(k) for k in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOG_DIR")}
        os.environ.update({k: env[k] for k in before})
        rclpy.init(
            context=context,
            args=[],
            domain_id=int(domain),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        node = Node("test_bench", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        try:
            with ProcessGroup(folder / "log", env, STOP_ORDER) as group:
                yield Bench(group, node, executor)
        finally:
            node.destroy_node()
            context.try_shutdown()
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value
