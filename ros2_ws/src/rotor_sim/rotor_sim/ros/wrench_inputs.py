"""WrenchStamped inputs: commands of single vehicles, and external wrenches that push entities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from transforms3d.quaternions import quat2mat

from rotor_core.ros import qos
from rotor_core.ros.convert import frame_of, vector_from
from rotor_sim.simulation import Simulation

EXTERNAL_TIMEOUT = 0.5
"""An external wrench acts for this simulation time after its last message, s."""


def _problem(message: WrenchStamped, frames: tuple[str, ...]) -> str:
    """Why a message is refused, or an empty text."""
    if message.header.frame_id not in ("", *frames):
        return f"frame must be {' or '.join(frames)}, got {message.header.frame_id!r}"
    numbers = [*vector_from(message.wrench.force), *vector_from(message.wrench.torque)]
    if not np.isfinite(numbers).all():
        return f"must be finite, got {[float(n) for n in numbers]}"
    return ""


class WrenchCommands:
    """``/<vehicle>/cmd/wrench``: thrust is force.z, moments are the torque, in the body frame.

    Args:
        node: subscribes.
        vehicles: names.
        accept: called with (index of the vehicle, wrench (4,)).
        reject: called with the reason.
    """

    def __init__(
        self,
        node: Node,
        vehicles: list[str],
        accept: Callable[[int, np.ndarray], None],
        reject: Callable[[str], None],
    ) -> None:
        for index, name in enumerate(vehicles):

            def callback(message: WrenchStamped, index: int = index, name: str = name) -> None:
                problem = _problem(message, (frame_of(name),))
                if problem:
                    reject(f"cmd/wrench of {name!r}: {problem}.")
                    return
                torque = vector_from(message.wrench.torque)
                accept(index, np.array([message.wrench.force.z, *torque]))

            node.create_subscription(WrenchStamped, f"/{name}/cmd/wrench", callback, qos.COMMAND)


class ExternalWrenches:
    """``/<entity>/wrench_external``: both vectors in world or body axes, acting at the base link."""

    def __init__(self, node: Node, simulation: Simulation, reject: Callable[[str], None]) -> None:
        self._simulation = simulation
        self._latest: dict[str, tuple[WrenchStamped, float]] = {}
        self._acting: set[str] = set()
        self._applied: dict[str, WrenchStamped] = {}
        for name in simulation.names:

            def callback(message: WrenchStamped, name: str = name) -> None:
                problem = _problem(message, ("world", frame_of(name)))
                if problem:
                    reject(f"wrench_external of {name!r}: {problem}.")
                else:
                    self._latest[name] = (message, simulation.time)

            topic = f"/{name}/wrench_external"
            node.create_subscription(WrenchStamped, topic, callback, qos.COMMAND)

    def apply(self) -> None:
        """Bring the simulation up to date: body-frame wrenches turn with the body, old ones end."""
        acting = set()
        simulation = self._simulation
        for name, (message, since) in list(self._latest.items()):
            if simulation.time - since > EXTERNAL_TIMEOUT:
                del self._latest[name]
                continue
            acting.add(name)
            turns = message.header.frame_id == frame_of(name)
            if self._applied.get(name) is message and not turns:
                continue
            self._applied[name] = message
            force, torque = vector_from(message.wrench.force), vector_from(message.wrench.torque)
            if turns:
                R = quat2mat(simulation.motion[simulation.names.index(name), 3:7])
                force, torque = R @ force, R @ torque
            simulation.push(name, force, torque)
        for name in self._acting - acting:
            simulation.push(name, np.zeros(3), np.zeros(3))
            del self._applied[name]
        self._acting = acting

    def clear(self) -> None:
        """Forget all, after a reset."""
        self._latest.clear()
        self._acting.clear()
        self._applied.clear()
