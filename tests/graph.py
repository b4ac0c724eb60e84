"""Running nodes for the tests: real processes over DDS, each test in a domain of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import domain_coordinator
import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from zygote import Zygote, knows

from rotor.graph.plan import STOP_ORDER, NodePlan, ProgramPlan
from rotor.graph.processes import Child, ProcessGroup, command_line
from rotor.graph.run import environment
from rotor_core.ros import qos
from rotor_core.ros.loopback import PROFILES, RANGE

PATIENCE = 30.0
PATIENT = 50_000
"""Messages that wait for a test: a lockstep flight makes a thousand in a second."""
PACKAGES = {
    "simulator": "rotor_sim", "visualizer": "rotor_sim", "planner": "rotor_planning", "controller": "rotor_control", "recorder": "rotor_adapters",
}  # fmt: skip


class ForkingGroup(ProcessGroup):
    """Starts our nodes by forking from a process that has imported them."""

    def start(self, plan: NodePlan | ProgramPlan) -> Child:
        if not (isinstance(plan, NodePlan) and knows(plan.package, plan.executable)):
            return super().start(plan)
        log = self._log_directory / f"{plan.name}.log"
        log.touch()
        process = Zygote.get().start(command_line(plan), self._environment, log)
        child = self.children[plan.name] = Child(plan.name, process, log)  # type: ignore[arg-type]
        return child


class Bench:
    """A node of the test and the processes around it."""

    def __init__(self, group: ProcessGroup, node: Node, executor: SingleThreadedExecutor) -> None:
        self.group, self.node, self.executor = group, node, executor
        self._clients: dict[str, Client] = {}

    def start(self, name: str, **parameters: object) -> None:
        self.group.start(NodePlan(name, PACKAGES[name], name, parameters))

    def until(self, condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Spin until the condition holds."""
        end = time.monotonic() + patience
        while not condition():
            self.executor.spin_once(timeout_sec=0.05)
            for child in self.group.ended():
                if child.process.returncode != 0:
                    raise AssertionError(f"{child.name} ended: {child.last_words(20)}")
            assert time.monotonic() < end, f"waited {patience} s for {what}; logs: " + "\n".join(
                c.last_words() for c in self.group.children.values()
            )

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def until_silent(self, messages: list, seconds: float = 0.5) -> None:
        """Spin until no message has come for a time: what was sent before has been heard, however busy the machine."""
        count, since, end = len(messages), time.monotonic(), time.monotonic() + PATIENCE
        while time.monotonic() < since + seconds:
            self.executor.spin_once(timeout_sec=0.05)
            if len(messages) != count:
                count, since = len(messages), time.monotonic()
            assert since < end, f"messages still come after {PATIENCE} s"

    def standing(self, states: list) -> Any:
        """The last of the states of a world that was paused, once it is heard to stand: it is told again and again."""
        self.until(
            lambda: len({s.step for s in states[-3:]}) == 1 and len(states) > 3,
            "a world that stands",
        )
        return states[-1]

    def collect(self, kind: type, topic: str, profile: QoSProfile) -> list:
        """Subscribe and keep everything that comes; where every message counts, also when this process gets no core."""
        out: list = []
        if profile.depth >= qos.TEAM.depth:
            profile = copy(profile)
            profile.depth = PATIENT
        self.node.create_subscription(kind, topic, out.append, profile)
        return out

    def services(self) -> set[str]:
        """Names of the services that are known by now."""
        return {name for name, _ in self.node.get_service_names_and_types()}

    def ready(self, kind: type, name: str) -> Client:
        """A client whose service is there: a call takes no search then."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        client = self._clients[name]
        self.until(client.service_is_ready, f"service {name}")
        return client

    def call(self, kind: type, name: str, request: object) -> object:
        """Call a service and return its response."""
        client = self.ready(kind, name)
        future = client.call_async(request)
        end = time.monotonic() + PATIENCE
        while not future.done():
            self.until(lambda: True, "nothing")
            self.executor.spin_once(timeout_sec=0.05)
            assert time.monotonic() < end, f"no answer of {name}: " + "".join(
                c.log.read_text()[-2000:] for c in self.group.children.values()
            )
        return future.result()


def _without(env: dict[str, str], packages: tuple[str, ...]) -> None:
    """Hide packages that are installed in folders of their own."""
    for name in ("PYTHONPATH", "AMENT_PREFIX_PATH", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH"):
        entries = env.get(name, "").split(os.pathsep)
        hidden = [e for e in entries if any(f"/{p}" in e for p in packages)]
        env[name] = os.pathsep.join(e for e in entries if e not in hidden)


@contextlib.contextmanager
def bench(folder: Path, *, without: tuple[str, ...] = ()) -> Iterator[Bench]:
    """A bench in a ROS domain that nobody else uses; everything is stopped at the end.

    The nodes do not find the packages ``without``.
    """
    with domain_coordinator.domain_id() as domain:
        env = environment(folder)
        _without(env, without)
        env["ROS_DOMAIN_ID"] = str(domain)
        context = Context()
        before = {k: os.environ.get(k) for k in (RANGE, "ROS_LOG_DIR", *PROFILES)}
        os.environ.update({k: env[k] for k in before if k in env})
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
            kind = ProcessGroup if without else ForkingGroup
            with kind(folder / "log", env, STOP_ORDER) as group:
                yield Bench(group, node, executor)
        finally:
            node.destroy_node()
            context.try_shutdown()
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value
