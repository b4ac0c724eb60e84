"""Put a running simulator into given states: pause, set, and play where asked."""

from __future__ import annotations

import numpy as np
from rotor_msgs.msg import BodyState
from rotor_msgs.srv import SetState
from std_srvs.srv import Trigger

from rotor_adapters.player.calls import call, caller
from rotor_core.messages.convert import set_quaternion, set_vector
from rotor_core.state import State


def put_state(
    states: dict[str, np.ndarray], *, project: bool, play: bool, namespace: str = ""
) -> str:
    """Pause the simulator of a namespace, put entities into states (13,), and play where asked; returns what it said.

    Raises:
        RotorError: no simulator answers, or it refuses the state.
    """
    with caller("put_state", namespace) as node:
        call(node, Trigger, "simulator/pause", Trigger.Request())
        request = SetState.Request(bodies=[_body(n, s) for n, s in states.items()], project=project)
        try:
            answer = call(node, SetState, "simulator/set_state", request)
        finally:
            if play:  # also where the state was refused: then it goes on as before
                call(node, Trigger, "simulator/play", Trigger.Request())
        return f"{answer.message}; moved by {1e3 * answer.largest_shift:.3g} mm at most to fit the cables"


def _body(name: str, state: np.ndarray) -> BodyState:
    body = BodyState(name=name)
    set_vector(body.pose.position, State(state).position)
    set_quaternion(body.pose.orientation, State(state).attitude)
    set_vector(body.twist.linear, State(state).velocity)
    set_vector(body.twist.angular, State(state).body_rate)
    return body
