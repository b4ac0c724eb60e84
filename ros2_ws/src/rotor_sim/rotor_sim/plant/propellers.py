"""Propellers as bodies of their own: what is taken out of a vehicle and put on joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Vehicle
from rotor_core.errors import ModelError
from rotor_core.math.rotations import rotation_to
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Rotor


def propeller_bodies(vehicle: Vehicle) -> tuple[Body, ...]:
    """One body per rotor, its axis z."""
    propeller = vehicle.rotors.propeller
    assert propeller is not None
    return tuple(
        Body(f"{vehicle.name}/propeller{k + 1}", propeller.mass_kg, np.diag(propeller.body_inertia))
        for k in range(len(vehicle.rotors.spins))
    )


def frame_body(vehicle: Vehicle, whole: Body) -> Body:
    """Vehicle without its propellers; the inertia of the whole contains theirs, as a mean over a turn.

    Raises:
        ModelError: nothing is left.
    """
    propeller = vehicle.rotors.propeller
    assert propeller is not None and whole.inertia_B is not None
    hubs = vehicle.rotors.positions
    masses = np.full(len(hubs), propeller.mass_kg)
    mass = whole.mass - float(masses.sum())
    if not mass > 0.0:
        raise ModelError(f"vehicle {vehicle.name!r}: its mass must exceed that of its propellers.")
    com = (whole.mass * whole.com - masses @ hubs) / mass
    inertia = np.array(whole.inertia_B)
    for hub, axis in zip(hubs, vehicle.rotors.axes, strict=True):
        R = quat2mat(rotation_to(axis))
        inertia -= R @ np.diag(propeller.mean_inertia) @ R.T
        inertia -= _point(propeller.mass_kg, hub - whole.com)
    inertia -= _point(mass, com - whole.com)
    if not np.linalg.eigvalsh(inertia)[0] > 0.0:
        raise ModelError(
            f"vehicle {vehicle.name!r}: its inertia must include that of its propellers, but is smaller. "
            "Add theirs to it."
        )
    return Body(whole.name, mass, inertia, com)


def _point(mass: float, r: np.ndarray) -> np.ndarray:
    """Inertia of a point mass about the origin."""
    return mass * (float(r @ r) * np.eye(3) - np.outer(r, r))


def propeller_joints(
    vehicle: Vehicle, frame: int, bodies: Sequence[int], *, driven: bool
) -> tuple[Joint, ...]:
    """The joints that the propellers turn on, about their axes."""
    rotors = vehicle.rotors
    return tuple(
        Joint(
            frame, body, np.array([0.0, 0.0, 1.0]), np.array(hub), rotation_to(axis), driven=driven,
            name=f"{vehicle.name}/propeller{k + 1}",
        )
        for k, (body, hub, axis) in enumerate(zip(bodies, rotors.positions, rotors.axes, strict=True))
    )  # fmt: skip


def propeller_elements(
    vehicle: Vehicle, frame: int, bodies: Sequence[int], first_joint: int, gain: float
) -> tuple[Rotor, ...]:
    """Thrust on the frame at each hub, and drag torque on each propeller, both by the speed of its joint (R.10)."""
    rotors = vehicle.rotors
    thrust = gain * rotor_set(rotors).thrust_per_speed2
    torque = thrust * rotors.torque_per_thrust_m
    found = []
    for k, body in enumerate(bodies):
        spin, joint = float(rotors.spins[k]), first_joint + k
        found.append(
            Rotor(frame, rotors.axes[k], rotors.positions[k], spin, thrust, joint=joint,
                  drag=rotors.drag_n_s2_per_m)
        )  # fmt: skip
        found.append(Rotor(body, spin=spin, torque=torque, joint=joint))
    return tuple(found)
