"""Rigid links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rotor_core.config.vehicles.body import Vector
from rotor_core.registry import Kind


@dataclass(frozen=True)
class RigidLink:
    """Entity ``child`` is fixed to entity ``parent`` at a position and attitude in its frame."""

    type: Literal["rigid_link"]
    parent: str
    child: str
    position_m: Vector
    rpy_deg: Vector = (0.0, 0.0, 0.0)


RIGID_LINK = Kind(RigidLink, lambda keys, vehicles, payloads: [keys])
