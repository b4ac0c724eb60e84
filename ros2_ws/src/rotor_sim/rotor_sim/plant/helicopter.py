"""The rotor of a helicopter as bodies, joints and blades of a system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.vehicles.rotor_tree import blade_name, rotor_tree
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.math.rotations import rotation_to
from rotor_core.vehicles.hover import LEAST_GRAVITY, hover, inflow_lag
from rotor_dynamics.model.blade import Blade, Disc, Surface, gauss_stations
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_sim.plant.links import link_bodies, link_joints


@dataclass(frozen=True)
class RotorParts:
    """Parts that a helicopter adds to a system.

    Attributes:
        bodies: hub, then the links of every blade, the last one with its mass.
        joints: azimuth, then the hinges of every blade from the hub outwards.
        disc, blades: what the air acts on.
        surfaces: fins and tailplanes of the fuselage.
        tail: where the tail rotor is on the fuselage, (3,) m.
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    disc: Disc
    blades: tuple[Blade, ...]
    surfaces: tuple[Surface, ...]
    tail: np.ndarray


def rotor_parts(
    vehicle: Vehicle,
    fuselage: int,
    body: int,
    joint: int,
    disc: int,
    gravity: float,
    density: float,
) -> RotorParts:
    """The rotor of a helicopter.

    Args:
        vehicle: the helicopter.
        fuselage: index of its body.
        body, joint, disc: indices that the first body, joint and disc of the rotor will have.
        gravity: m/s^2.
        density: of the air, kg/m^3.
    """
    helicopter = vehicle.helicopter
    assert helicopter is not None
    rotor = helicopter.main_rotor
    links, joints = rotor_tree(rotor)
    names = [f"{vehicle.name}/{link.name}" for link in links]
    names_of_joints = [j.name for j in joints]

    def index(name: str) -> int:
        return fuselage if name == vehicle.name else body + names.index(name)

    stations = gauss_stations(
        rotor.root_m, rotor.radius_m, rotor.stations, rotor.chord_m,
        (rad_from_deg(rotor.twist_deg[0]), rad_from_deg(rotor.twist_deg[1])),
        rotor.lift_slope_per_rad, rotor.drag_coefficient, rotor.hinges[-1].offset_m,
    )  # fmt: skip
    section = np.array(rotor.section_table, float).reshape(-1, 3)
    section[:, 0] = np.radians(section[:, 0])
    link = rotor.link
    blades = [
        Blade(
            body=index(f"{vehicle.name}/{blade_name(b)}"),
            disc=disc,
            stations=stations,
            phase=2.0 * np.pi * b / rotor.blades,
            pitch_joint=joint + names_of_joints.index(f"{blade_name(b)}_pitch"),
            link_stiffness=link.stiffness_n_m_per_rad,
            link_damping=link.damping_n_m_s_per_rad,
            feather_inertia=rotor.blade.inertia_kg_m2[0],
            section=section,
        )
        for b in range(rotor.blades)
    ]
    inflow = rotor.inflow
    lag = inflow.lag_s
    if lag is None:
        at_rest = hover(
            helicopter, vehicle.total_mass * max(gravity, LEAST_GRAVITY), gravity, density
        )
        lag = inflow_lag(rotor, at_rest.inflow)
    wheel = Disc(
        joint=joint, area=rotor.area, turns=rotor.sense, density=density, law=inflow.law, lag=lag, delay=inflow.delay_s,
        frequency=inflow.bandwidth_rad_s, damping=inflow.damping, swash_lag=rotor.swash_lag_s,
    )  # fmt: skip
    surfaces = tuple(
        Surface(
            body=fuselage, p=np.array(s.position_m), q=rotation_to(np.array(s.normal)), area=s.area_m2,
            slope=s.lift_slope_per_rad, density=density, disc=disc if s.wake_share else -1, wake_share=s.wake_share,
        )
        for s in helicopter.surfaces
    )  # fmt: skip
    tail = np.array(helicopter.tail_rotor.position_m)
    bodies = link_bodies(vehicle.name, links)
    moving = link_joints(vehicle.name, joints, index)
    return RotorParts(bodies, moving, wheel, tuple(blades), surfaces, tail)
