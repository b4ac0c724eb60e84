"""The vehicles of Kremer et al. 2022: as scenarios have them, bare, and in the formulation of the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.loader import load_vehicle
from rotor_core.config.model import Vehicle
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System
from validation.oracles.kremer import Link, QuaternionLagrange

GRAVITY = 9.81


def vehicle(n: int) -> Vehicle:
    """The vehicle with n = 1, 2 or 3 links."""
    return load_vehicle(f"kremer_v{n}")


def system_of(v: Vehicle) -> System:
    """The bare mechanics of a vehicle: no motors, no rotors."""
    names = ["base_link", *(k.name for k in v.links)]
    inertia = inertia_matrix(v.inertia_kg_m2)
    bodies = [Body(v.name, v.mass_kg, inertia)]
    bodies += [
        Body(k.name, k.mass_kg, inertia_matrix(k.inertia_kg_m2), np.array(k.com_m)) for k in v.links
    ]
    joints = tuple(
        Joint(names.index(j.parent), names.index(j.child), np.array(j.axis), np.array(j.position_m))
        for j in v.joints
    )
    return System(tuple(bodies), inputs=(0,), joints=joints)


def started(v: Vehicle, q: np.ndarray, angles: np.ndarray, **options: float) -> Engine:
    """An engine of the bare mechanics, at rest."""
    engine = Engine(system_of(v), **options)  # type: ignore[arg-type]
    states = np.zeros((len(v.links) + 1, 13))
    State(states).attitude[:] = q
    engine.set_state(states, joints=np.stack([angles, np.zeros(len(angles))], axis=1))
    return engine


def oracle(v: Vehicle) -> QuaternionLagrange:
    """The paper's own formulation of a vehicle."""
    names = ["base_link", *(k.name for k in v.links)]
    links = tuple(
        Link(
            names.index(j.parent) - 1,
            np.array(j.position_m),
            np.array(j.axis),
            k.mass_kg,
            np.array(k.com_m),
            inertia_matrix(k.inertia_kg_m2),
        )
        for j, k in zip(v.joints, v.links, strict=True)
    )
    return QuaternionLagrange(v.mass_kg, inertia_matrix(v.inertia_kg_m2), links)


def chain(n: int) -> Vehicle:
    """The control vehicle with n links."""
    v = vehicle(2)
    links = tuple(replace(v.links[1], name=f"link{i + 1}") for i in range(n))
    joints = tuple(
        replace(
            v.joints[min(i, 1)],
            name=f"joint{i + 1}",
            parent="base_link" if i == 0 else f"link{i}",
            child=f"link{i + 1}",
            initial_rad=0.0,
        )
        for i in range(n)
    )
    return replace(v, links=links, joints=joints)
