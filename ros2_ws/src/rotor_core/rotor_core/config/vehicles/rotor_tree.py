"""The rotor of a helicopter as links and joints, as those of an arm: hub, and every blade with its hinges (B.1)."""

from __future__ import annotations

import numpy as np

from rotor_core.config.vehicles.arm import BASE, JointConfig, Link, RevoluteJoint, Visual
from rotor_core.config.vehicles.helicopter import Helicopter, MainRotor

HUB = "hub"
AZIMUTH = "azimuth"

THICKNESS = 0.12
"""Of a drawn blade over its chord."""

MAST = 0.03
"""Radius and half the height of the drawn hub over the radius of the rotor."""


def hinge_axis(kind: str, sense: float) -> tuple[float, float, float]:
    """Axis (B.1) of a hinge in the frame of the blade of a rotor that turns ``sense`` about z."""
    axes = {"pitch": (sense, 0.0, 0.0), "flap": (0.0, -1.0, 0.0), "lag": (0.0, 0.0, -sense)}
    return axes[kind]


def rotor_tree(rotor: MainRotor) -> tuple[tuple[Link, ...], tuple[JointConfig, ...]]:
    """Links and joints of a rotor, from the hub outwards, blade by blade; the last link of a blade has its mass.

    Azimuth zero points the first blade to the tail.
    """
    sense, last = rotor.sense, rotor.hinges[-1]
    size = MAST * rotor.radius_m
    links = [
        Link(HUB, rotor.hub.mass_kg, inertia_kg_m2=rotor.hub.inertia_kg_m2,
             visuals=(Visual("cylinder", (size, 2.0 * size)),))
    ]  # fmt: skip
    joints = [
        RevoluteJoint(
            AZIMUTH, BASE, HUB, position_m=rotor.hub_m, axis=(0.0, 0.0, sense),
            armature_kg_m2=rotor.armature_kg_m2,
        )
    ]  # fmt: skip
    length = rotor.radius_m - rotor.root_m
    shape = Visual(
        "box", (length, rotor.chord_m, THICKNESS * rotor.chord_m),
        (rotor.root_m + 0.5 * length - last.offset_m, 0.0, 0.0),
    )  # fmt: skip
    com = (rotor.blade.com_m - last.offset_m, 0.0, 0.0)
    for b in range(rotor.blades):
        phase = 2.0 * np.pi * b / rotor.blades
        outboard = -float(np.cos(phase)), -sense * float(np.sin(phase)), 0.0
        parent, offset = HUB, 0.0
        for hinge in rotor.hinges:
            name = blade_name(b) if hinge is last else f"{blade_name(b)}_{hinge.type}"
            links.append(
                Link(name, rotor.blade.mass_kg, com, rotor.blade.inertia_kg_m2, (shape,))
                if hinge is last
                else Link(name, 0.0)
            )
            first = parent == HUB
            along = outboard if first else (1.0, 0.0, 0.0)
            step = hinge.offset_m - offset
            joints.append(
                RevoluteJoint(
                    f"{blade_name(b)}_{hinge.type}", parent, name,
                    position_m=(step * along[0], step * along[1], 0.0),
                    rpy_deg=(0.0, 0.0, 180.0 + sense * float(np.degrees(phase)) if first else 0.0),
                    axis=hinge_axis(hinge.type, sense), stiffness_n_m=hinge.stiffness_n_m_per_rad,
                    damping_n_m_s=hinge.damping_n_m_s_per_rad,
                )
            )  # fmt: skip
            parent, offset = name, hinge.offset_m
    return tuple(links), tuple(joints)


def skid_ends(helicopter: Helicopter) -> np.ndarray:
    """Lowest points at the ends of the skids of :func:`fuselage_shapes`, (4, 3) m."""
    size = float(helicopter.main_rotor.hub_m[2])
    return size * np.array([(0.1 + x, y, -0.63) for x in (-0.8, 0.8) for y in (-0.35, 0.35)])


def blade_name(b: int) -> str:
    """Name of blade b (from 0) and of the link that has its mass."""
    return f"blade{b + 1}"


def fuselage_shapes(helicopter: Helicopter) -> list[Visual]:
    """Cabin, mast, boom, fin and skids, sized by hub and tail rotor: what a helicopter looks like."""
    hub, tail = np.array(helicopter.main_rotor.hub_m), np.array(helicopter.tail_rotor.position_m)
    size = float(hub[2])
    middle = (0.5 * float(tail[0]), 0.0, 0.25 * size)
    skid = (1.6 * size, 0.06 * size, 0.06 * size)
    return [
        Visual("box", (1.5 * size, 0.55 * size, 0.65 * size), (0.2 * size, 0.0, 0.0)),
        Visual("cylinder", (0.04 * size, 0.8 * size), (float(hub[0]), 0.0, 0.6 * size)),
        Visual("box", (-float(tail[0]), 0.12 * size, 0.12 * size), middle),
        Visual("box", (0.3 * size, 0.03 * size, 0.7 * size), (float(tail[0]), 0.0, float(tail[2]))),
        Visual("box", skid, (0.1 * size, 0.35 * size, -0.6 * size)),
        Visual("box", skid, (0.1 * size, -0.35 * size, -0.6 * size)),
    ]
