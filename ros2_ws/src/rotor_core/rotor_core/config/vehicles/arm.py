"""Arms: links and joints of an articulated vehicle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rotor_core.config.vehicles.body import Matrix, Vector, check_inertia, check_name
from rotor_core.config.yaml.structure import bounded

BASE = "base_link"
"""Name of the link that is the vehicle itself."""


@dataclass(frozen=True)
class Visual:
    """A shape that is drawn.

    ``size_m``: edges of a box, radius and length of a cylinder, radius of a sphere, or scale of the
    ``mesh``, whose address is handed on to whoever draws it.
    """

    type: Literal["box", "cylinder", "sphere", "mesh"]
    size_m: tuple[float, ...] = bounded(gt=0.0)
    position_m: Vector = (0.0, 0.0, 0.0)
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    mesh: str = ""

    def __post_init__(self) -> None:
        needed = {"box": 3, "cylinder": 2, "sphere": 1, "mesh": 3}[self.type]
        if len(self.size_m) != needed:
            raise ValueError(f"size_m of a {self.type} needs {needed} numbers, got {self.size_m}.")


@dataclass(frozen=True)
class Link:
    """A link of an arm; its frame sits at the joint that moves it.

    ``com_m`` and ``inertia_kg_m2`` (about the centre of mass, along the axes of the link) are in that
    frame. A link without mass may stand between joints.
    """

    name: str
    mass_kg: float = bounded(ge=0.0)
    com_m: Vector = (0.0, 0.0, 0.0)
    inertia_kg_m2: Vector | Matrix | None = None
    visuals: tuple[Visual, ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name)
        check_inertia(self.inertia_kg_m2)
        if self.inertia_kg_m2 is not None and not self.mass_kg:
            raise ValueError("inertia_kg_m2 needs mass_kg > 0.")
        if self.name == BASE:
            raise ValueError(
                f"name {BASE!r} is taken: it is that of the vehicle itself. Use another."
            )


@dataclass(frozen=True)
class JointConfig:
    """A joint of an arm: ``revolute`` (units rad, N m), ``prismatic`` (m, N) or ``fixed``.

    ``position_m`` and ``rpy_deg``: pose in the parent link; ``axis`` in the joint frame. ``mode:
    driven``: its motion is prescribed and its effort an output; ``torque``: the other way round.
    ``limits``: stops; ``effort``: largest effort; ``rate``: largest rate of planned motions;
    ``lag_s``: time constant of the effort; ``armature``, ``damping``, ``friction`` (smooth below
    ``friction_speed``), ``stiffness`` with ``rest``; ``initial``: angle at the start; ``gains``:
    feedback of angle and rate as accelerations (1/s^2, 1/s), ``integral`` that of the integral of the
    angle (1/s^3).
    """

    name: str
    parent: str
    child: str
    type: Literal["revolute", "prismatic", "fixed"] = "revolute"
    position_m: Vector = (0.0, 0.0, 0.0)
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (1.0, 0.0, 0.0)
    mode: Literal["torque", "driven"] = "torque"
    limits: tuple[float, float] | None = None
    effort: float | None = bounded(None, gt=0.0)
    rate: float | None = bounded(None, gt=0.0)
    lag_s: float = bounded(0.0, ge=0.0, le=1.0)
    armature: float = bounded(0.0, ge=0.0)
    damping: float = bounded(0.0, ge=0.0)
    friction: float = bounded(0.0, ge=0.0)
    friction_speed: float = bounded(0.05, gt=0.0)
    stiffness: float = bounded(0.0, ge=0.0)
    rest: float = 0.0
    initial: float = 0.0
    gains: tuple[float, float] = bounded((100.0, 20.0), ge=0.0)
    integral: float = bounded(0.0, ge=0.0)

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.type != "fixed" and not np.linalg.norm(self.axis) > 0.0:
            raise ValueError(f"axis must not be zero, got {list(self.axis)}.")
        if self.limits is None:
            return
        if not self.limits[0] < self.limits[1]:
            raise ValueError(f"limits must be [smallest, largest], got {list(self.limits)}.")
        if not self.limits[0] <= self.initial <= self.limits[1]:
            raise ValueError(
                f"initial must be within limits {list(self.limits)}, got {self.initial:g}."
            )


def link_name(vehicle: str, link: str) -> str:
    """Name of a link among all bodies and frames: that of the vehicle for its base."""
    return vehicle if link == BASE else f"{vehicle}/{link}"


def sorted_tree(
    links: tuple[Link, ...], joints: tuple[JointConfig, ...]
) -> tuple[JointConfig, ...]:
    """The joints with parents before children, in the given order elsewhere.

    Raises:
        ValueError: links and joints do not form a tree on the base.
    """
    names = [link.name for link in links]
    for what, all_names in (("links", names), ("joints", [j.name for j in joints])):
        doubles = {n for n in all_names if all_names.count(n) > 1}
        if doubles:
            raise ValueError(f"{what}: names must be unique, {sorted(doubles)} appear twice.")
    moved: dict[str, str] = {}
    for joint in joints:
        for key, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in (*names, BASE) or (key == "child" and name == BASE):
                known = ", ".join([BASE, *names] if key == "parent" else names)
                raise ValueError(
                    f"joint {joint.name!r}: {key} must be a link ({known}), got {name!r}."
                )
        if joint.child in moved:
            raise ValueError(
                f"joint {joint.name!r}: {joint.child!r} is moved by {moved[joint.child]!r} already."
            )
        moved[joint.child] = joint.name
    reached, left, ordered = {BASE}, list(joints), []
    while left:
        ready = [j for j in left if j.parent in reached]
        if not ready:
            raise ValueError(f"joints {[j.name for j in left]}: form a loop.")
        ordered.append(ready[0])
        reached.add(ready[0].child)
        left.remove(ready[0])
    loose = [n for n in names if n not in reached]
    if loose:
        raise ValueError(f"links {loose}: no joint holds them.")
    return tuple(ordered)
