"""A team of real nodes that is attacked: what it listens to, and whether it still flies."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import graph
import rclpy.qos
from diagnostic_msgs.msg import DiagnosticArray
from fuzz.message_values import interface
from nav_msgs.msg import Odometry
from std_srvs.srv import Trigger

from rotor_core.config.loader import load_scenario
from rotor_core.ros import qos

NODES = ("simulator", "controller", "planner")
LISTENERS = (*NODES, "visualizer")
NEAR = 1.0
"""A team that flies is this close to where it began, soon after a reset, m."""

FLOWN = 0.3
"""So much simulated time shows that it flies, s."""


class FlyingTeam:
    """Simulator, controller and planner of a scenario that hovers until it is told otherwise.

    Attributes:
        good: the newest message of every topic that the nodes listen to.
        problems: numbers that were not finite.
    """

    def __init__(
        self, bench: graph.Bench, scenario: str, folder: Path, **parameters: object
    ) -> None:
        self.bench, self.folder = bench, folder
        model = load_scenario(scenario).model
        self.vehicle = model.vehicles[0].name
        self.words = [e.name for e in model.entities] + [
            f"{e.name}/base_link" for e in model.entities
        ]
        self.words += [
            "world",
            "map",
            *model.cable_names,
            *(j.name for v in model.vehicles for j in v.moving_joints),
        ]
        self.problems: list[str] = []
        self.good: dict[str, Any] = {}
        self._odometry: Odometry | None = None
        self._counts: dict[str, str] = {}
        bench.node.create_subscription(
            Odometry, f"/{self.vehicle}/ground_truth", self._on_odometry, qos.STATE
        )
        bench.node.create_subscription(
            DiagnosticArray, "/diagnostics", self._on_diagnostics, qos.STATE
        )
        bench.start("simulator", scenario=scenario, pacing="lockstep", **parameters)
        bench.start("planner", scenario=scenario, start_trajectory=False)
        bench.start("controller", scenario=scenario)
        bench.until(lambda: self._odometry is not None and self._flown() > FLOWN, "flight")
        self.start = self._place()

    def _on_odometry(self, message: Odometry) -> None:
        self._odometry = message
        pose, twist = message.pose.pose, message.twist.twist
        parts = (pose.position, pose.orientation, twist.linear, twist.angular)
        numbers = [getattr(p, c) for p in parts for c in p.get_fields_and_field_types()]
        if not all(map(math.isfinite, numbers)) and len(self.problems) < 5:
            self.problems.append(f"odometry is not finite: {numbers}")

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "rotor: simulator":
                self._counts = {v.key: v.value for v in status.values}

    def _stamp(self) -> float:
        assert self._odometry is not None
        stamp = self._odometry.header.stamp
        return stamp.sec + stamp.nanosec * 1e-9

    def _flown(self) -> float:
        return self._stamp() - 1.0

    def _place(self) -> tuple[float, float, float]:
        assert self._odometry is not None
        p = self._odometry.pose.pose.position
        return p.x, p.y, p.z

    def count(self, key: str) -> int:
        """A count of the diagnostics, as last reported."""
        return int(self._counts.get(key, 0))

    def topics(self) -> dict[str, tuple[type, rclpy.qos.QoSProfile]]:
        """Topics that the nodes listen to: type, and a profile that reaches them."""
        out = {}
        node = self.bench.node
        for topic, kinds in node.get_topic_names_and_types():
            heard = [
                i for i in node.get_subscriptions_info_by_topic(topic) if i.node_name in LISTENERS
            ]
            if heard:
                wanted = heard[0].qos_profile
                profile = rclpy.qos.QoSProfile(
                    depth=1000, durability=wanted.durability, reliability=wanted.reliability
                )
                out[topic] = (interface(kinds[0]), profile)
        return out

    def listen(self, topics: dict[str, tuple[type, rclpy.qos.QoSProfile]]) -> None:
        """Keep the newest message of every topic for a moment: what good ones look like."""
        made = [
            self.bench.node.create_subscription(
                kind, topic, lambda m, t=topic: self.good.__setitem__(t, m), profile
            )
            for topic, (kind, profile) in topics.items()
        ]
        self.bench.spin(1.0)
        for subscription in made:
            self.bench.node.destroy_subscription(subscription)

    def check(self) -> None:
        """All nodes live and nothing has become NaN; after a reset the team flies where it began.

        Raises:
            AssertionError: it does not.
        """
        self.alive()
        answer = self.bench.call(Trigger, "/simulator/reset", Trigger.Request())
        assert answer.success, answer.message  # type: ignore[attr-defined]
        self.bench.call(Trigger, "/simulator/play", Trigger.Request())
        self.bench.spin(0.05)
        began = self._stamp()
        self.bench.until(lambda: self._stamp() > began + FLOWN, "flight after a reset")
        apart = math.dist(self._place(), self.start)
        assert apart < NEAR, f"{self.vehicle} is {apart:.3g} m from where it began"
        self.alive()

    def alive(self) -> None:
        """Every process runs and has told no traceback."""
        for name, child in self.bench.group.children.items():
            text = child.log.read_text(errors="replace")
            assert child.running, f"{name} ended: {text[-2000:]}"
            if "Traceback" in text:
                at = text.index("Traceback")
                raise AssertionError(f"{name}: {text[at : at + 3000]}")
        assert not self.problems, self.problems

    def trace(self) -> str:
        """The last lines of what ended a node, or nothing."""
        texts = [c.log.read_text(errors="replace") for c in self.bench.group.children.values()]
        return " | ".join(
            " ".join(t[t.rindex("Traceback") :].split()[-60:]) for t in texts if "Traceback" in t
        )

    def pause(self, seconds: float) -> None:
        """Let the nodes work."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.bench.executor.spin_once(timeout_sec=0.01)
