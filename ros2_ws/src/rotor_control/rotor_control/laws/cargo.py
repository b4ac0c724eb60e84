"""Cargo that a vehicle holds: it counts as long as it is seen where it is held."""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_control import gains as g
from rotor_core.config.attachments.rigid_link import RigidLink
from rotor_core.config.model import Model, Vehicle
from rotor_core.config.vehicles.body import inertia_matrix, merged_mass
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.state import State

HELD = 0.03
"""Cargo farther than this from where it is held has been let go, m: 80 ms of fall, above the noise of mocap."""


def cargo_of(model: Model, vehicle: Vehicle) -> list[RigidLink]:
    """The links by which a vehicle holds cargo."""
    return [link for link in model.cargo if link.parent == vehicle.name]


def carried_mass(model: Model, vehicle: Vehicle) -> float:
    """Mass of a vehicle with all its cargo, kg."""
    links = cargo_of(model, vehicle)
    return vehicle.total_mass + sum(model.entities[model.index(k.child)].mass_kg for k in links)


class Cargo:
    """Cargo of a vehicle, and mass and inertia of vehicle and cargo together.

    Attributes:
        centre: their common centre of mass in the frame of the vehicle, (3,) m.
    """

    def __init__(self, model: Model, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._links = cargo_of(model, vehicle)
        self._row = model.index(vehicle.name)
        self._rows = [model.index(link.child) for link in self._links]
        self._payloads = [model.entities[row] for row in self._rows]
        self._points = np.array([link.position_m for link in self._links])
        self._held: tuple[bool, ...] = ()
        self.centre = np.zeros(3)

    def weigh(self, states: np.ndarray, vehicle: np.ndarray) -> None:
        """Write mass and inertia of what is held now into the parameters of the vehicle, (VEHICLE,)."""
        own = states[self._row]
        places = State(own).position + self._points @ quat2mat(State(own).attitude).T
        apart = np.linalg.norm(State(states).position[self._rows] - places, axis=1)
        held = tuple((apart < HELD).tolist())
        if held == self._held:
            return
        self._held = held
        masses, centres = [self._vehicle.mass_kg], [np.zeros(3)]
        inertias = [inertia_matrix(self._vehicle.inertia_kg_m2)]
        for link, payload, is_held in zip(self._links, self._payloads, held, strict=True):
            if is_held:
                R = quat2mat(wxyz_from_rpy_deg(link.rpy_deg))
                inertia = payload.inertia_kg_m2
                J = np.zeros((3, 3)) if inertia is None else inertia_matrix(inertia)
                masses.append(payload.mass_kg)
                centres.append(np.array(link.position_m))
                inertias.append(R @ J @ R.T)
        mass, self.centre, J = merged_mass(np.array(masses), np.array(centres), np.array(inertias))
        vehicle[g.MASS], vehicle[g.INERTIA : g.INERTIA + 9] = mass, J.ravel()
