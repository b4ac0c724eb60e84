"""URDF out: a whole scenario as one robot description, as RViz draws it and other tools read it.

Links carry the names of their TF frames; entities float in ``world``. The same shapes are drawn by
the markers of the simulator, except those of arms, so the published description leaves them out.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable

import numpy as np

from rotor_core.config.model import Box, Payload, Sphere, Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.arm import BASE, JointConfig, Link, Visual, link_name
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.vehicles.rotor_tree import fuselage_shapes, rotor_tree

CONTROL = re.compile("[\x00-\x1f]")
COLOUR = "0.30 0.36 0.45 1"
UNLIMITED = 1e6
"""URDF asks revolute and prismatic joints for an effort and a velocity."""


def scenario_urdf(scenario: Scenario, *, bodies: bool = False) -> str:
    """The description of a scenario.

    Args:
        scenario: its nominal model is described.
        bodies: with the shapes of vehicles and payloads too, for tools that do not draw our markers.
    """
    robot = ET.Element("robot", name=CONTROL.sub("_", scenario.name))
    ET.SubElement(robot, "link", name="world")
    for entity in scenario.model.entities:
        base = f"{entity.name}/{BASE}"
        joint = ET.SubElement(robot, "joint", name=f"{base}/floating", type="floating")
        ET.SubElement(joint, "parent", link="world")
        ET.SubElement(joint, "child", link=base)
        link = ET.SubElement(robot, "link", name=base)
        _inertial(link, entity.mass_kg, entity.com_m, entity.inertia_kg_m2)
        if bodies:
            for visual in _shapes(entity):
                _visual(link, visual)
        if isinstance(entity, Vehicle):
            links, joints = entity.links, entity.joints
            if entity.helicopter is not None:
                links, joints = rotor_tree(entity.helicopter.main_rotor)
            for one in links:
                _link(robot, entity.name, one)
            for one in joints:
                _joint(robot, entity.name, one)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def _origin(element: ET.Element, xyz: Iterable[float], rpy_deg: Iterable[float]) -> None:
    ET.SubElement(element, "origin", xyz=_numbers(xyz), rpy=_numbers(np.radians(list(rpy_deg))))


def _inertial(link: ET.Element, mass: float, com: Iterable[float], inertia: object) -> None:
    inertial = ET.SubElement(link, "inertial")
    _origin(inertial, com, (0.0, 0.0, 0.0))
    ET.SubElement(inertial, "mass", value=repr(float(mass)))
    J = np.zeros((3, 3)) if inertia is None else inertia_matrix(inertia)  # type: ignore[arg-type]
    entries = {
        f"i{a}{b}": repr(float(J["xyz".index(a), "xyz".index(b)]))
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    ET.SubElement(inertial, "inertia", **entries)  # type: ignore[arg-type]


def _visual(link: ET.Element, visual: Visual) -> None:
    element = ET.SubElement(link, "visual")
    _origin(element, visual.position_m, visual.rpy_deg)
    geometry = ET.SubElement(element, "geometry")
    size = visual.size_m
    if visual.type == "box":
        ET.SubElement(geometry, "box", size=_numbers(size))
    elif visual.type == "cylinder":
        ET.SubElement(geometry, "cylinder", radius=repr(size[0]), length=repr(size[1]))
    elif visual.type == "sphere":
        ET.SubElement(geometry, "sphere", radius=repr(size[0]))
    else:
        ET.SubElement(
            geometry, "mesh", filename=CONTROL.sub("_", visual.mesh), scale=_numbers(size)
        )
        return  # it has its own
    material = ET.SubElement(element, "material", name="arm")
    ET.SubElement(material, "color", rgba=COLOUR)


def _link(robot: ET.Element, vehicle: str, link: Link) -> None:
    element = ET.SubElement(robot, "link", name=link_name(vehicle, link.name))
    if link.mass_kg:
        _inertial(element, link.mass_kg, link.com_m, link.inertia_kg_m2)
    for visual in link.visuals:
        _visual(element, visual)


def _joint(robot: ET.Element, vehicle: str, joint: JointConfig) -> None:
    kind = "continuous" if joint.type == "revolute" and joint.limits is None else joint.type
    element = ET.SubElement(robot, "joint", name=f"{vehicle}/{joint.name}", type=kind)
    _origin(element, joint.position_m, joint.rpy_deg)
    parent = link_name(vehicle, joint.parent)
    ET.SubElement(element, "parent", link=parent if "/" in parent else f"{parent}/{BASE}")
    ET.SubElement(element, "child", link=link_name(vehicle, joint.child))
    if kind == "fixed":
        return
    axis = np.array(joint.axis)
    ET.SubElement(element, "axis", xyz=_numbers(axis / np.linalg.norm(axis)))
    limit = {
        "effort": repr(float(joint.effort or UNLIMITED)),
        "velocity": repr(float(joint.rate or UNLIMITED)),
    }
    if kind != "continuous":
        lower, upper = joint.limits or (-UNLIMITED, UNLIMITED)
        limit |= {"lower": repr(float(lower)), "upper": repr(float(upper))}
    ET.SubElement(element, "limit", **limit)  # type: ignore[arg-type]
    if joint.damping or joint.friction:
        ET.SubElement(
            element, "dynamics", damping=repr(joint.damping), friction=repr(joint.friction)
        )


def _shapes(entity: Vehicle | Payload) -> list[Visual]:
    """Visual shapes of a body, as geometric primitives."""
    if isinstance(entity, Vehicle):
        span = entity.span
        if entity.helicopter is not None:
            return fuselage_shapes(entity.helicopter)
        hull = Visual("cylinder", (0.3 * span, 0.2 * span))
        return [hull] + [
            Visual("cylinder", (0.5 * span, 0.02 * span), tuple(hub))  # type: ignore[arg-type]
            for hub in entity.rotors.positions
        ]
    shape = entity.shape
    if isinstance(shape, Sphere):
        return [Visual("sphere", (shape.radius_m,))]
    if isinstance(shape, Box):
        return [Visual("box", shape.size_m, shape.offset_m)]
    outline = np.array(shape.outline_m)
    low, high = outline.min(axis=0), outline.max(axis=0)
    size = (*(high - low).tolist(), shape.thickness_m)
    return [Visual("box", size, (*((low + high) / 2.0).tolist(), 0.0))]
