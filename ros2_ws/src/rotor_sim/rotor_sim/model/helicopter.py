"""The rotor of a helicopter as bodies, joints and blades of a system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.config.helicopter import MainRotor
from rotor_core.config.model import Vehicle
from rotor_core.config.units import rad_from_deg
from rotor_core.hover import hover, inflow_lag
from rotor_sim.model.blade import Blade, Disc, Surface, gauss_stations
from rotor_sim.model.body import Body
from rotor_sim.model.joint import Joint
from rotor_sim.model.propellers import along


@dataclass(frozen=True)
class RotorParts:
    """What a helicopter adds to a system.

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


def hinge_axis(kind: str, sense: float) -> np.ndarray:
    """Axis (B.1) of a hinge in the frame of the blade of a rotor that turns ``sense`` about z, (3,)."""
    axes = {"pitch": (sense, 0.0, 0.0), "flap": (0.0, -1.0, 0.0), "lag": (0.0, 0.0, -sense)}
    return np.array(axes[kind])


def rotor_joint_names(rotor: MainRotor) -> list[str]:
    """Azimuth, then the hinges of all blades, in the order of their joints."""
    hinges = [f"blade{b + 1}_{h.type}" for b in range(rotor.blades) for h in rotor.hinges]
    return ["azimuth", *hinges]


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
    sense, name = rotor.sense, vehicle.name
    bodies = [Body(f"{name}/hub", rotor.hub.mass_kg, np.diag(rotor.hub.inertia_kg_m2))]
    axis = np.array([0.0, 0.0, sense])
    joints = [
        Joint(fuselage, body, axis, np.array(rotor.hub_m), armature=rotor.armature_kg_m2,
              name=f"{name}/azimuth")
    ]  # fmt: skip
    blades = []
    last = rotor.hinges[-1]
    stations = gauss_stations(
        rotor.root_m, rotor.radius_m, rotor.stations, rotor.chord_m,
        (rad_from_deg(rotor.twist_deg[0]), rad_from_deg(rotor.twist_deg[1])),
        rotor.lift_slope_per_rad, rotor.drag_coefficient, last.offset_m,
    )  # fmt: skip
    section = np.array(rotor.section_table, float).reshape(-1, 3)
    section[:, 0] = np.radians(section[:, 0])
    mass, link = rotor.blade, rotor.link
    for b in range(rotor.blades):
        phase = 2.0 * np.pi * b / rotor.blades
        half = 0.5 * (np.pi + sense * phase)  # azimuth zero points back
        parent, offset, pitch_joint = body, 0.0, -1
        for i, hinge in enumerate(rotor.hinges):
            is_last = hinge is last
            number = body + len(bodies)
            link_name = f"{name}/blade{b + 1}" + ("" if is_last else f"_{hinge.type}")
            bodies.append(
                Body(link_name, mass.mass_kg, np.diag(mass.inertia_kg_m2),
                     np.array([mass.com_m - last.offset_m, 0.0, 0.0]))
                if is_last
                else Body(link_name, 0.0)
            )  # fmt: skip
            if hinge.type == "pitch":
                pitch_joint = joint + len(joints)
            turn = np.array(
                [np.cos(half), 0.0, 0.0, np.sin(half)] if i == 0 else [1.0, 0.0, 0.0, 0.0]
            )
            out = hinge.offset_m - offset
            place = (
                np.array([-np.cos(phase), -sense * np.sin(phase), 0.0])
                if i == 0
                else np.array([1.0, 0.0, 0.0])
            )
            joints.append(
                Joint(parent, number, hinge_axis(hinge.type, sense), out * place, turn,
                      stiffness=hinge.stiffness_n_m_per_rad, damping=hinge.damping_n_m_s_per_rad,
                      name=f"{name}/blade{b + 1}_{hinge.type}")
            )  # fmt: skip
            parent, offset = number, hinge.offset_m
        blades.append(
            Blade(parent, disc, stations, phase, pitch_joint, link.stiffness_n_m_per_rad,
                  link.damping_n_m_s_per_rad, mass.inertia_kg_m2[0], section)
        )  # fmt: skip
    inflow = rotor.inflow
    lag = inflow.lag_s
    if lag is None:
        at_rest = hover(helicopter, vehicle.total_mass * max(gravity, 1.0), gravity, density)
        lag = inflow_lag(rotor, at_rest.inflow)
    wheel = Disc(
        joint, rotor.area, sense, density, inflow.law, lag, inflow.delay_s,
        inflow.bandwidth_rad_s, inflow.damping, rotor.swash_lag_s,
    )  # fmt: skip
    surfaces = tuple(
        Surface(
            fuselage, np.array(s.position_m), along(np.array(s.normal) / np.linalg.norm(s.normal)), s.area_m2,
            s.lift_slope_per_rad, density, disc if s.wake_share else -1, s.wake_share,
        )
        for s in helicopter.surfaces
    )  # fmt: skip
    tail = np.array(helicopter.tail_rotor.position_m)
    return RotorParts(tuple(bodies), tuple(joints), wheel, tuple(blades), surfaces, tail)
