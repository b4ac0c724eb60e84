"""Answers that are not lost: one that its client could not hear yet is sent again.

The endpoints of DDS find each other one by one. A client may find a service whole and ask it before the service has
found the reader of the client's answers. Fast DDS gives such an answer up after 0.1 s ("client will not receive
response"). Where the packet that would have told of the reader was lost, it comes again after 3 s.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.service import Service

EVERY = 0.5
"""Wall time between two attempts, s: each may take 0.1 s, in which the node does nothing else."""

ATTEMPTS = 20
"""After so many the client is taken to be gone."""

LOST = "failed to send response"
"""What rclpy warns of."""


def answer_surely(node: Node, service: Service) -> Service:
    """Let a service send its answers until its clients hear them."""
    send = service.send_response

    def surely(response: object, header: object) -> None:
        if _is_heard(send, response, header):
            return
        left = ATTEMPTS

        def again() -> None:
            nonlocal left
            left -= 1
            heard = _is_heard(send, response, header)
            if heard or not left:
                node.destroy_timer(timer)
                outcome = "has been sent again" if heard else "is given up: its client is gone"
                node.get_logger().warning(f"an answer of {service.srv_name} {outcome}")

        timer = node.create_timer(EVERY, again, clock=Clock(clock_type=ClockType.STEADY_TIME))

    service.send_response = surely  # type: ignore[method-assign]
    return service


def _is_heard(send: Callable[[object, object], None], response: object, header: object) -> bool:
    """Send; False where the middleware says that the client will not receive it.

    True where the service has been taken down since it was asked: nobody waits for its answers any more.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            send(response, header)
        except InvalidHandle:
            return True
    return not any(LOST in str(w.message) for w in told)
