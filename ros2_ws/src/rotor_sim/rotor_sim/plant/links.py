"""Links and joints of a vehicle, as its configuration gives them, as bodies, welds and joints of a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rotor_core.config.vehicles.arm import JointConfig, Link, link_name
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Weld


def link_bodies(vehicle: str, links: Sequence[Link]) -> tuple[Body, ...]:
    """One body per link of a vehicle."""
    return tuple(
        Body(
            f"{vehicle}/{link.name}",
            link.mass_kg,
            None if link.inertia_kg_m2 is None else inertia_matrix(link.inertia_kg_m2),
            np.array(link.com_m),
        )
        for link in links
    )


def link_welds(
    vehicle: str, joints: Sequence[JointConfig], index: Callable[[str], int]
) -> tuple[Weld, ...]:
    """Fixed joints; ``index``: number of a body by its name."""
    return tuple(
        Weld(
            index(link_name(vehicle, j.parent)),
            index(link_name(vehicle, j.child)),
            np.array(j.position_m),
            wxyz_from_rpy_deg(j.rpy_deg),
            follows=True,
        )
        for j in joints
        if j.type == "fixed"
    )


def link_joints(
    vehicle: str, joints: Sequence[JointConfig], index: Callable[[str], int]
) -> tuple[Joint, ...]:
    """Joints that move; ``index``: number of a body by its name."""
    return tuple(
        Joint(
            index(link_name(vehicle, j.parent)),
            index(link_name(vehicle, j.child)),
            np.array(j.axis) / np.linalg.norm(j.axis),
            np.array(j.position_m),
            wxyz_from_rpy_deg(j.rpy_deg),
            "prismatic" if j.type == "prismatic" else "revolute",
            *((-np.inf, np.inf) if j.limits is None else j.limits),
            driven=j.mode == "driven",
            armature=j.armature,
            damping=j.damping,
            friction=j.friction,
            friction_speed=j.friction_speed,
            stiffness=j.stiffness,
            rest=j.rest,
            lag=j.lag_s,
            effort_limit=np.inf if j.effort is None else j.effort,
            name=f"{vehicle}/{j.name}",
        )
        for j in joints
        if j.type != "fixed"
    )
