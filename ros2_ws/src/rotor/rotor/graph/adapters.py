"""Adapters: nodes that stand in for an autopilot, ours and those of other packages."""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.registry import Registry


@dataclass(frozen=True)
class Adapter:
    """A node that answers to the setpoints of an autopilot in place of our controller.

    It sends wrenches of single vehicles; :class:`rotor_adapters.autopilot_node.Adapter` is its base.

    Attributes:
        package, executable: where the node is installed.
        messages: package of messages that it needs.
    """

    package: str
    executable: str
    messages: str


ADAPTERS: Registry[Adapter] = Registry(
    "rotor.adapters",
    "adapter",
    "Adapters that stand in for an autopilot, by the value of ``controller`` of `./rotor up` and the launch file.",
)
ADAPTERS.register("px4", Adapter("rotor_adapters", "px4_adapter", "px4_msgs"))
ADAPTERS.register(
    "crazyswarm", Adapter("rotor_adapters", "crazyswarm_adapter", "crazyflie_interfaces")
)
