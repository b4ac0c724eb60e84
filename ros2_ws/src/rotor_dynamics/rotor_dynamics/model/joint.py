"""Joints between bodies of an articulated vehicle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rotor_core.errors import ModelError


@dataclass(frozen=True)
class Joint:
    """A joint that lets body ``child`` turn about, or slide along, an axis of body ``parent``.

    A prescribed motion makes it ``driven``: its angle is then an input, its effort an output.

    Attributes:
        parent: index of a body, or WORLD for a joint on the ground.
        child: index; a body is the child of at most one joint.
        axis: unit vector in the joint frame, (3,).
        p, q: pose of the joint frame in the frame of the parent; the frame of the child is there
            while the angle is zero.
        kind: revolute (angles in rad, efforts in N m) or prismatic (m, N).
        lower, upper: stops; infinite for none.
        driven: whether its motion is prescribed; at rest at zero until
            :class:`rotor_dynamics.actuation.joints.JointDrive` says otherwise.
        armature: inertia of motor and gear about the axis, kg m^2 or kg.
        damping: effort against the rate, N m s or N s/m.
        friction: dry friction, N m or N, smooth below ``friction_speed`` (rad/s or m/s).
        stiffness: of a spring, N m/rad or N/m, at rest at ``rest``.
        lag: time constant of the effort of its motor, s; 0 follows commands at once.
        effort_limit: largest effort of the motor.
        name: for messages.
    """

    parent: int
    child: int
    axis: np.ndarray
    p: np.ndarray = field(default_factory=lambda: np.zeros(3))
    q: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    kind: Literal["revolute", "prismatic"] = "revolute"
    lower: float = -np.inf
    upper: float = np.inf
    driven: bool = False
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    friction_speed: float = 0.05
    stiffness: float = 0.0
    rest: float = 0.0
    lag: float = 0.0
    effort_limit: float = np.inf
    name: str = ""

    def __post_init__(self) -> None:
        place = f"joint {self.name!r}"
        if self.kind not in ("revolute", "prismatic"):
            raise ModelError(f"{place}: kind must be revolute or prismatic, got {self.kind!r}.")
        if abs(float(np.linalg.norm(self.axis)) - 1.0) > 1e-9:
            raise ModelError(f"{place}: axis must have length 1, got {list(self.axis)}.")
        if abs(float(np.linalg.norm(self.q)) - 1.0) > 1e-9:
            raise ModelError(f"{place}: quaternion must have length 1, got {list(self.q)}.")
        if not self.lower < self.upper:
            raise ModelError(
                f"{place}: lower must be below upper, got {self.lower:g} and {self.upper:g}."
            )
        numbers = (self.armature, self.damping, self.friction, self.stiffness, self.lag)
        if not np.isfinite((*numbers, self.rest, *self.p)).all() or min(numbers) < 0.0:
            raise ModelError(f"{place}: coefficients must be finite and >= 0, got {numbers}.")
        if not (self.friction_speed > 0.0 and self.effort_limit > 0.0):
            raise ModelError(f"{place}: friction_speed and effort_limit must be > 0.")
