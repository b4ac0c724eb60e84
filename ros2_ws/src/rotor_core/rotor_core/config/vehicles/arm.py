"""Arms: links and joints of an articulated vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
class JointBase:
    """Keys that all joints have.

    ``position_m`` and ``rpy_deg``: pose in the parent link; ``axis`` in the joint frame. ``mode: torque``: a
    motor turns it; ``driven``: it stays where it begins, unless a program prescribes its motion. ``lag_s``: time
    constant of the effort.
    Feedback of its motion, as accelerations: ``position_per_s2``, ``velocity_per_s``, ``integral_per_s3``.

    The properties give numbers in rad and N m, or m and N: ``limits`` (stops), ``effort`` (the largest), ``rate`` (the
    largest of planned motions), ``armature``, ``damping``, ``friction`` (smooth below ``friction_speed``),
    ``stiffness`` with ``rest``, ``initial`` (at the start).
    """

    UNITS: ClassVar[Mapping[str, str]] = {}
    """Keys of this kind of joint by the names of the properties."""

    FORMER: ClassVar[Mapping[str, str]] = {"gains": "position_per_s2 and velocity_per_s"}

    name: str
    parent: str
    child: str
    position_m: Vector = (0.0, 0.0, 0.0)
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (1.0, 0.0, 0.0)
    mode: Literal["torque", "driven"] = "torque"
    lag_s: float = bounded(0.0, ge=0.0, le=1.0)
    position_per_s2: float = bounded(100.0, ge=0.0)
    velocity_per_s: float = bounded(20.0, ge=0.0)
    integral_per_s3: float = bounded(0.0, ge=0.0)

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.UNITS and not np.linalg.norm(self.axis) > 0.0:
            raise ValueError(f"axis must not be zero, got {list(self.axis)}.")
        if self.limits is None:
            return
        limits, initial = self.UNITS["limits"], self.UNITS["initial"]
        if not self.limits[0] < self.limits[1]:
            raise ValueError(f"{limits} must be [smallest, largest], got {list(self.limits)}.")
        if not self.limits[0] <= self.initial <= self.limits[1]:
            raise ValueError(
                f"{initial} must be within {limits} {list(self.limits)}, got {self.initial:g}."
            )

    def _value(self, name: str, default: Any = 0.0) -> Any:
        return getattr(self, self.UNITS[name]) if self.UNITS else default

    @property
    def limits(self) -> tuple[float, float] | None:
        """Stops; None: it has none."""
        return self._value("limits", None)

    @property
    def effort(self) -> float | None:
        """Largest effort; None: it has no limit."""
        return self._value("effort", None)

    @property
    def rate(self) -> float | None:
        """Largest rate of planned motions; None: it has no limit."""
        return self._value("rate", None)

    @property
    def armature(self) -> float:
        """Inertia of the motor as the joint feels it."""
        return self._value("armature")

    @property
    def damping(self) -> float:
        """Effort against the rate."""
        return self._value("damping")

    @property
    def friction(self) -> float:
        """Effort of dry friction."""
        return self._value("friction")

    @property
    def friction_speed(self) -> float:
        """Rate below which friction is smooth."""
        return self._value("friction_speed", 0.05)

    @property
    def stiffness(self) -> float:
        """Effort of the spring over its stretch."""
        return self._value("stiffness")

    @property
    def rest(self) -> float:
        """Position at which the spring pulls nothing."""
        return self._value("rest")

    @property
    def initial(self) -> float:
        """Position at the start."""
        return self._value("initial")

    @property
    def gains(self) -> tuple[float, float]:
        """Feedback of position and rate, 1/s^2 and 1/s."""
        return self.position_per_s2, self.velocity_per_s


@dataclass(frozen=True)
class RevoluteJoint(JointBase):
    """A joint that turns; keys as of :class:`JointBase`."""

    UNITS: ClassVar[Mapping[str, str]] = {
        "limits": "limits_rad", "effort": "effort_n_m", "rate": "rate_rad_s", "armature": "armature_kg_m2",
        "damping": "damping_n_m_s", "friction": "friction_n_m", "friction_speed": "friction_speed_rad_s",
        "stiffness": "stiffness_n_m", "rest": "rest_rad", "initial": "initial_rad",
    }  # fmt: skip

    type: Literal["revolute"] = "revolute"
    limits_rad: tuple[float, float] | None = None
    effort_n_m: float | None = bounded(None, gt=0.0)
    rate_rad_s: float | None = bounded(None, gt=0.0)
    armature_kg_m2: float = bounded(0.0, ge=0.0)
    damping_n_m_s: float = bounded(0.0, ge=0.0)
    friction_n_m: float = bounded(0.0, ge=0.0)
    friction_speed_rad_s: float = bounded(0.05, gt=0.0)
    stiffness_n_m: float = bounded(0.0, ge=0.0)
    rest_rad: float = 0.0
    initial_rad: float = 0.0


@dataclass(frozen=True)
class PrismaticJoint(JointBase):
    """A joint that slides; keys as of :class:`JointBase`."""

    UNITS: ClassVar[Mapping[str, str]] = {
        "limits": "limits_m", "effort": "effort_n", "rate": "rate_m_s", "armature": "armature_kg",
        "damping": "damping_n_s_per_m", "friction": "friction_n", "friction_speed": "friction_speed_m_s",
        "stiffness": "stiffness_n_per_m", "rest": "rest_m", "initial": "initial_m",
    }  # fmt: skip

    type: Literal["prismatic"] = "prismatic"
    limits_m: tuple[float, float] | None = None
    effort_n: float | None = bounded(None, gt=0.0)
    rate_m_s: float | None = bounded(None, gt=0.0)
    armature_kg: float = bounded(0.0, ge=0.0)
    damping_n_s_per_m: float = bounded(0.0, ge=0.0)
    friction_n: float = bounded(0.0, ge=0.0)
    friction_speed_m_s: float = bounded(0.05, gt=0.0)
    stiffness_n_per_m: float = bounded(0.0, ge=0.0)
    rest_m: float = 0.0
    initial_m: float = 0.0


@dataclass(frozen=True)
class FixedJoint(JointBase):
    """A joint that does not move."""

    type: Literal["fixed"] = "fixed"


JointConfig = RevoluteJoint | PrismaticJoint | FixedJoint
JOINTS: dict[str, type[JointConfig]] = {
    "revolute": RevoluteJoint, "prismatic": PrismaticJoint, "fixed": FixedJoint
}  # fmt: skip
"""Kinds of joints by their ``type``."""


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
