"""Service calls of commands that talk to a running graph."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from rotor_core.errors import RotorError
from rotor_core.ros.loopback import keep_to_loopback

PATIENCE = 10.0
"""For a node to appear and to answer, s."""


@contextmanager
def caller(name: str, namespace: str = "") -> Iterator[Node]:
    """A node of its own for some calls, in a namespace, such as ``/lab2``."""
    keep_to_loopback(os.environ)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node(name, namespace=namespace)
    try:
        yield node
    finally:
        node.destroy_node()
        try_shutdown()


def call(node: Node, kind: type, name: str, request: Any) -> Any:
    """The answer of a service in the namespace of a node, which must be a success.

    Raises:
        RotorError: nobody answers, or it is refused.
    """
    client = node.create_client(kind, name)
    name = client.service_name
    if not client.wait_for_service(PATIENCE):
        raise RotorError(
            f"{name}: nobody answers. Start a simulator first (./rotor up SCENARIO), in the same ROS_DOMAIN_ID "
            "and --namespace."
        )
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=PATIENCE)
    answer = future.result()
    if answer is None:
        raise RotorError(f"{name}: no answer within {PATIENCE:g} s.")
    if not answer.success:
        raise RotorError(f"{name}: refused: {answer.message}")
    return answer
