"""Attachment mechanisms: a file of config/attachments says where vehicles hang on a payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.attachments.rigid_link import RigidLink
from rotor_core.config.catalog import locate
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded, build, check_schema
from rotor_core.config.yaml.tree import read_tree
from rotor_core.errors import ConfigError
from rotor_core.registry import Kind


@dataclass(frozen=True)
class Mechanism:
    """A file of config/attachments: one entry per vehicle."""

    schema: int
    kind: str
    points_m: tuple[Vector, ...]
    lengths_m: tuple[float, ...] = bounded((), gt=0.0)
    yaw_deg: tuple[float, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("cables", "rigid_links"):
            raise ValueError(f"kind must be cables or rigid_links, got {self.kind!r}.")
        needed, given = (
            ("lengths_m", self.lengths_m) if self.kind == "cables" else ("yaw_deg", self.yaw_deg)
        )
        if len(given) != len(self.points_m):
            raise ValueError(
                f"{needed} must have one entry per point ({len(self.points_m)}), got {len(given)}."
            )
        other, idle = (
            ("yaw_deg", self.yaw_deg) if self.kind == "cables" else ("lengths_m", self.lengths_m)
        )
        if idle:
            raise ValueError(f"{other} means nothing for {self.kind}. Leave it out.")


@dataclass(frozen=True)
class MechanismAttachment:
    """The cables or rigid links of a file of config/attachments.

    ``vehicles``: in the order of its points; left out: all. ``payload``: left out: the first.
    """

    type: str
    use: str
    vehicles: tuple[str, ...] = ()
    payload: str = ""


def make(
    keys: MechanismAttachment, vehicles: Sequence[str], payloads: Sequence[str]
) -> list[CableAttachment | RigidLink]:
    """Cables or rigid links, one per vehicle.

    Raises:
        ValueError: the file does not exist or does not fit the vehicles.
        ConfigError: the file itself is wrong; its own place is named.
    """
    try:
        path = locate("attachments", keys.use)
    except ConfigError as error:
        raise ValueError(f"use: {error}") from error
    tree = read_tree(path)
    check_schema(tree)
    mechanism = build(Mechanism, tree)
    if not (payload := keys.payload or next(iter(payloads), "")):
        raise ValueError("needs a payload; add model.payloads.")
    chosen = keys.vehicles or tuple(vehicles)
    if len(chosen) != len(mechanism.points_m):
        raise ValueError(
            f"use: {keys.use} has {len(mechanism.points_m)} attachment points, but there are {len(chosen)} vehicles. "
            "List as many vehicles as points."
        )
    if mechanism.kind == "cables":
        return [
            CableAttachment("cable", vehicle, payload, length, b_point_m=point)
            for vehicle, point, length in zip(
                chosen, mechanism.points_m, mechanism.lengths_m, strict=True
            )
        ]
    return [
        RigidLink("rigid_link", payload, vehicle, point, (0.0, 0.0, yaw))
        for vehicle, point, yaw in zip(chosen, mechanism.points_m, mechanism.yaw_deg, strict=True)
    ]


MECHANISM = Kind(MechanismAttachment, make)
