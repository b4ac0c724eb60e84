"""Publishers, subscriptions and services that a node has created, so that all of them can be taken down again."""

from __future__ import annotations

import time as wall
from collections.abc import Callable

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from rotor_core.ros import qos
from rotor_core.ros.answers import answer_surely


class Entities:
    """Creates publishers, subscriptions and services of a node and destroys them together."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._undo: list[Callable[[], object]] = []
        self._publishers: list[Publisher] = []

    def publisher(self, kind: type, topic: str, profile: QoSProfile) -> Publisher:
        """A publisher that lives until :meth:`destroy`."""
        made = self.node.create_publisher(kind, topic, profile)
        self._publishers.append(made)
        self._undo.append(lambda: self.node.destroy_publisher(made))
        return made

    def subscribe(
        self, kind: type, topic: str, callback: Callable, profile: QoSProfile, *, raw: bool = False
    ) -> None:
        """Subscribe until :meth:`destroy`; ``raw`` callbacks get serialized bytes."""
        made = self.node.create_subscription(kind, topic, callback, profile, raw=raw)
        self._undo.append(lambda: self.node.destroy_subscription(made))

    def serve(self, kind: type, name: str, callback: Callable) -> None:
        """Offer a service until :meth:`destroy`."""
        made = answer_surely(
            self.node, self.node.create_service(kind, name, callback, qos_profile=qos.SERVICE)
        )
        self._undo.append(lambda: self.node.destroy_service(made))

    def serve_later(self, kind: type, name: str, begin: Callable) -> None:
        """Offer a service that answers when it is done, until :meth:`destroy`.

        ``begin(request, response, reply)`` is called with each request; the answer goes out when
        ``reply(response)`` is. (The EventsExecutor of rclpy 7.1 does not await services.)
        """
        waiting: list = []

        def callback(request: object, response: object) -> object:
            waiting.append(request)
            return response

        made = answer_surely(
            self.node, self.node.create_service(kind, name, callback, qos_profile=qos.SERVICE)
        )
        send = made.send_response

        def hold(response: object, header: object) -> None:
            begin(waiting.pop(), response, lambda answer: send(answer, header))

        made.send_response = hold  # type: ignore[method-assign]
        self._undo.append(lambda: self.node.destroy_service(made))

    def on_destroy(self, undo: Callable[[], object]) -> None:
        """Call ``undo`` in :meth:`destroy`."""
        self._undo.append(undo)

    def flush(self, limit: float) -> None:
        """Wait until reliable subscribers have everything, at most ``limit`` s in all.

        A slow recorder would lose what still waits in our queues.
        """
        end = wall.monotonic() + limit
        for publisher in self._publishers:
            left = end - wall.monotonic()
            if left > 0.0 and publisher.get_subscription_count() > 0:
                publisher.wait_for_all_acked(Duration(seconds=left))

    def destroy(self) -> None:
        """Take everything down, the newest first."""
        self._publishers.clear()
        while self._undo:
            self._undo.pop()()
