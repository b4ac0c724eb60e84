"""Settings of the laboratory as ROS parameters: ``thrust_gain``, ``mocap.latency_s`` and so on."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from rclpy.node import Node

from rotor_core.ros.node import declare
from rotor_testbed.settings import PERFECT, LaboratorySettings

Settings = TypeVar("Settings")


def laboratory_settings(node: Node) -> LaboratorySettings:
    """Declare a parameter for every number and return the settings that they make.

    Raises:
        ConfigError: a number cannot be.
    """
    perfect = declare(node, "perfect", False, "start from the nominal model instead of a real hall")
    return _declared(node, PERFECT if perfect else LaboratorySettings(), "")


def _declared(node: Node, defaults: Settings, prefix: str) -> Settings:
    values = {}
    for entry in fields(defaults):  # type: ignore[arg-type]
        name, default = prefix + entry.name, getattr(defaults, entry.name)
        if is_dataclass(default):
            values[entry.name] = _declared(node, default, f"{name}.")
            continue
        kind = type(defaults).__name__
        value = declare(
            node,
            name,
            list(default) if isinstance(default, tuple) else float(default),
            f"{entry.name} of {kind} (rotor_testbed/settings.py)",
        )
        values[entry.name] = tuple(value) if isinstance(default, tuple) else value
    return replace(defaults, **values)  # type: ignore[type-var]
