"""Put a running simulator into given states: pause, set, and play where asked."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rotor_msgs.msg import BodyState
from rotor_msgs.srv import SetState
from std_srvs.srv import Trigger

from rotor_core.errors import RotorError
from rotor_core.messages.convert import set_quaternion, set_vector
from rotor_core.ros.loopback import keep_to_loopback
from rotor_core.state import State

PATIENCE = 10.0
"""For a simulator to appear and to answer, s."""


def put_state(states: dict[str, np.ndarray], *, project: bool, play: bool) -> str:
    """Pause the simulator, put entities into states (13,), and play where asked; returns what it said.

    Raises:
        RotorError: no simulator answers, or it refuses the state.
    """
    keep_to_loopback(os.environ)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node("put_state")
    try:
        _call(node, Trigger, "/simulator/pause", Trigger.Request())
        request = SetState.Request(bodies=[_body(n, s) for n, s in states.items()], project=project)
        try:
            answer = _call(node, SetState, "/simulator/set_state", request)
        finally:
            if play:  # also where the state was refused: then it goes on as before
                _call(node, Trigger, "/simulator/play", Trigger.Request())
        return f"{answer.message}; moved by {1e3 * answer.largest_shift:.3g} mm at most to fit the cables"
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _body(name: str, state: np.ndarray) -> BodyState:
    body = BodyState(name=name)
    set_vector(body.pose.position, State(state).position)
    set_quaternion(body.pose.orientation, State(state).attitude)
    set_vector(body.twist.linear, State(state).velocity)
    set_vector(body.twist.angular, State(state).body_rate)
    return body


def _call(node: Node, kind: type, name: str, request: Any) -> Any:
    client = node.create_client(kind, name)
    if not client.wait_for_service(PATIENCE):
        raise RotorError(
            f"{name}: nobody answers. Start a simulator first (./rotor up SCENARIO), in the same ROS_DOMAIN_ID."
        )
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=PATIENCE)
    answer = future.result()
    if answer is None:
        raise RotorError(f"{name}: no answer within {PATIENCE:g} s.")
    if not answer.success:
        raise RotorError(f"{name}: refused: {answer.message}")
    return answer
