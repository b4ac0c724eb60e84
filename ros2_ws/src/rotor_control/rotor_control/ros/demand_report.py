"""Demand on rotors beyond their limits, told on /diagnostics."""

from __future__ import annotations

import time as wall

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from rotor_control.controller import Controller
from rotor_core.messages.asked import asked_text
from rotor_core.ros import qos

PERIOD = 1.0
"""Wall time between two reports, s."""

STATUS_NAME = "rotor: controller"


class DemandReport:
    """Tells, at most once a second and only of news, which vehicles were asked for more than their rotors give."""

    def __init__(self, node: Node, controller: Controller, vehicles: list[str]) -> None:
        self._controller, self._vehicles = controller, vehicles
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        self._hardware = node.get_fully_qualified_name()
        self._told, self._news = 0.0, False

    def update(self, stamp: object) -> None:
        """A command of this stamp has been decided."""
        self._news |= self._controller.limited > 0
        now = wall.monotonic()
        if not self._news or now - self._told < PERIOD:
            return
        self._told, self._news = now, False
        asked = self._controller.limits.asked
        rows = [k for k in range(len(self._vehicles)) if asked[k, 3] > 0]
        names = ", ".join(self._vehicles[k] for k in rows)
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN, name=STATUS_NAME, hardware_id=self._hardware,
            message=f"limited: {names}",
        )  # fmt: skip
        texts = [asked_text(self._vehicles[k], asked[k]) for k in rows]
        status.values = [KeyValue(key=key, value=text) for key, text in texts]
        array = DiagnosticArray(status=[status])
        array.header.stamp = stamp
        self._publisher.publish(array)
