"""URDF in: a vehicle's base, links and joints from a robot description.

The supported subset is in config/README.md; everything else is refused with its line, because what is
ignored would fly differently from what was described. Expat reads the XML; document type
declarations, and with them entities, are refused.
"""

from __future__ import annotations

import re
import xml.parsers.expat as expat
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from transforms3d.euler import euler2mat

from rotor_core.config.vehicles.arm import BASE, JOINTS
from rotor_core.config.yaml.files import shown
from rotor_core.config.yaml.structure import suggestion
from rotor_core.config.yaml.tree import MAX_BYTES, Tree
from rotor_core.errors import ConfigError

ALLOWED = {
    "robot": {"link", "joint", "material"},
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "visual": {"origin", "geometry", "material"},
    "collision": {"origin", "geometry"},
    "geometry": {"box", "cylinder", "sphere", "mesh"},
    "material": {"color", "texture"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics"},
}
"""Tags and the tags that may stand in them; all others have no children."""

ATTRIBUTES = {
    "robot": {"name", "version"}, "link": {"name"}, "visual": {"name"}, "collision": {"name"}, "material": {"name"},
    "joint": {"name", "type"}, "origin": {"xyz", "rpy"}, "mass": {"value"},
    "inertia": {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}, "box": {"size"}, "cylinder": {"radius", "length"},
    "sphere": {"radius"}, "mesh": {"filename", "scale"}, "parent": {"link"}, "child": {"link"}, "axis": {"xyz"},
    "limit": {"lower", "upper", "effort", "velocity"}, "dynamics": {"damping", "friction"}, "color": {"rgba"},
    "texture": {"filename"},
}  # fmt: skip
"""Tags and their attributes."""

MAX_DEPTH, MAX_LINKS = 8, 200
OFF_CENTRE = 1e-9
"""A sphere nearer to its centre of mass is about it, m."""

LARGEST = 1e9
"""Numbers beyond this describe no vehicle."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


@dataclass
class Element:
    """A tag with its attributes, children and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


def read_urdf(path: Path) -> dict[str, Tree]:
    """Fields of a vehicle: ``mass_kg``, ``inertia_kg_m2``, ``com_m``, ``links``, ``joints``.

    Raises:
        ConfigError: unreadable, not URDF, or beyond the supported subset; with file and line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Check the path.") from error
    return _Reader(str(path)).vehicle(_parse(data, path))


def body_from_urdf(text: str, file: str) -> tuple[str, Tree]:
    """Name and fields of a payload from the text of a robot description with one link: a box or a sphere.

    Raises:
        ConfigError: not URDF, or another thing than one rigid body; with file and line.
    """
    root = _parse(text.encode(), Path(file))
    return root.attributes.get("name", ""), _Reader(file).body(root)


def _parse(data: bytes, path: Path) -> Element:
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{path}: is larger than {MAX_BYTES} bytes. This is not a robot description."
        )
    top = Element("", {}, 0)
    stack = [top]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > MAX_DEPTH:
            raise ConfigError(
                f"{path}:{parser.CurrentLineNumber}: <{tag}>: is nested deeper than {MAX_DEPTH}."
            )
        element = Element(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(*_: object) -> None:
        raise ConfigError(
            f"{path}:{parser.CurrentLineNumber}: a document type declaration is not allowed. Remove it."
        )

    def text(words: str) -> None:
        if words.strip():
            raise ConfigError(
                f"{path}:{parser.CurrentLineNumber}: text {shown(words.strip())} stands between tags. Remove it."
            )

    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ConfigError(
            f"{path}:{error.lineno}: is not XML ({expat.ErrorString(error.code)}). "
            "Expand xacro files first: xacro FILE > OUT.urdf."
        ) from error
    except (LookupError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path}:1: its encoding is not supported. Save it as UTF-8.") from error
    return top.children[0]


class _Reader:
    """Turns elements into trees of the fields of a vehicle; every value keeps its line."""

    def __init__(self, file: str) -> None:
        self._file = file

    def _fail(self, element: Element, text: str) -> ConfigError:
        return ConfigError(f"{self._file}:{element.line}: <{element.tag}>: {text}")

    def _tree(self, element: Element, value: object) -> Tree:
        if isinstance(value, (list, tuple, np.ndarray)):
            value = [self._tree(element, v) for v in value]
        elif isinstance(value, dict):
            value = {k: self._tree(element, v) for k, v in value.items()}
        elif isinstance(value, Tree):
            return value
        elif isinstance(value, np.floating):
            value = float(value)
        return Tree(value, self._file, element.line)

    def vehicle(self, root: Element) -> dict[str, Tree]:
        """The fields."""
        if root.tag != "robot":
            raise self._fail(root, "the file must hold a <robot>.")
        self._check_tags(root)
        links: dict[str, Element] = {}
        for element in (e for e in root.children if e.tag == "link"):
            if self._name(element) in links:
                raise self._fail(element, f"name {shown(self._name(element))} appears twice.")
            links[self._name(element)] = element
        if len(links) > MAX_LINKS:
            raise self._fail(root, f"has {len(links)} links; at most {MAX_LINKS} are supported.")
        joints = [e for e in root.children if e.tag == "joint"]
        moved = self._children(joints, set(links))
        roots = [name for name in links if name not in moved]
        if len(roots) != 1:
            raise self._fail(
                root,
                f"needs exactly one link that no joint moves, got {', '.join(map(shown, roots)) or 'none'}. "
                "Join the others to it, or remove them.",
            )
        self._check_reached(joints, roots[0])
        base = links.pop(roots[0])
        mass, com, inertia = self._inertial(base)
        if mass <= 0.0 or inertia is None:
            raise self._fail(
                base,
                f"the base needs an <inertial> with mass > 0 and inertia; its mass is {mass:g} kg.",
            )
        for child in base.children:
            if child.tag == "visual":
                self._visual(child)  # checked; the vehicle is drawn by its rotors
        rename = {roots[0]: BASE}
        return {
            "mass_kg": self._tree(base, mass),
            "com_m": self._tree(base, com),
            "inertia_kg_m2": self._tree(base, inertia),
            "links": self._tree(root, [self._link(e) for e in links.values()]),
            "joints": self._tree(root, [self._joint(e, rename) for e in joints]),
        }

    def body(self, root: Element) -> Tree:
        """The fields of a payload."""
        fields = self.vehicle(root)
        if fields["joints"].value:
            raise self._fail(
                root,
                "has joints: a vehicle with an arm needs rotors too. Write a vehicle (YAML) whose key urdf names it.",
            )
        base = next(e for e in root.children if e.tag == "link")
        shapes = [self._visual(c).value for c in base.children if c.tag == "visual"]
        kinds = [shape["type"].value for shape in shapes]
        if kinds not in (["box"], ["sphere"]):
            raise self._fail(base, "needs exactly one <visual>, a box or a sphere.")
        (shape,), centre = shapes, np.array([c.value for c in fields["com_m"].value])
        size = [n.value for n in shape["size_m"].value]
        offset = np.array([n.value for n in shape["position_m"].value]) - centre
        if any(n.value for n in shape["rpy_deg"].value):
            raise self._fail(base, "its <visual> must not be turned (rpy).")
        if kinds == ["sphere"] and np.abs(offset).max() > OFF_CENTRE:
            raise self._fail(
                base,
                f"its sphere must be about its centre of mass, and is {offset.tolist()} m beside it.",
            )
        drawn: dict[str, object] = {"type": kinds[0]}
        drawn |= {"size_m": size, "offset_m": offset} if kinds == ["box"] else {"radius_m": size[0]}
        own = {k: fields[k] for k in ("mass_kg", "inertia_kg_m2")}
        return self._tree(base, {**own, "shape": drawn})

    def _children(self, joints: list[Element], links: set[str]) -> set[str]:
        """Links that joints move."""
        moved: set[str] = set()
        names: set[str] = set()
        for joint in joints:
            if self._name(joint) in names:
                raise self._fail(joint, f"name {shown(self._name(joint))} appears twice.")
            names.add(self._name(joint))
            for tag in ("parent", "child"):
                link = self._text(self._only(joint, tag), "link")
                if link not in links:
                    raise self._fail(joint, f"its {tag} {shown(link)} is not a link of this file.")
            child = self._text(self._only(joint, "child"), "link")
            if child in moved:
                raise self._fail(joint, f"its child {shown(child)} is moved by another joint too.")
            moved.add(child)
        return moved

    def _check_reached(self, joints: list[Element], root: str) -> None:
        """Refuse loops: links that no chain of joints leads to."""
        outward: dict[str, list[str]] = {}
        for joint in joints:
            parent = self._text(self._only(joint, "parent"), "link")
            outward.setdefault(parent, []).append(self._text(self._only(joint, "child"), "link"))
        reached, open_ends = {root}, [root]
        while open_ends:
            for child in outward.get(open_ends.pop(), []):
                reached.add(child)
                open_ends.append(child)
        for joint in joints:
            if self._text(self._only(joint, "child"), "link") not in reached:
                raise self._fail(
                    joint, "is part of a loop, but links must form a tree. Remove a joint."
                )

    def _check_tags(self, element: Element) -> None:
        for key in element.attributes:
            known = ATTRIBUTES.get(element.tag, set())
            if key not in known and not key.startswith("xmlns"):
                raise self._fail(
                    element, f"unknown attribute {shown(key)}{suggestion(key, sorted(known))}"
                )
        allowed = ALLOWED.get(element.tag, set())
        if element.tag == "material" and "name" in element.attributes and not element.children:
            return
        for child in element.children:
            if child.tag not in allowed:
                known = f" Supported there: {', '.join(sorted(allowed))}." if allowed else ""
                raise self._fail(
                    child,
                    f"is not supported in <{element.tag}>.{known} Remove it, or set it in the scenario.",
                )
            self._check_tags(child)
            if child.tag == "collision":
                self._visual(child)
            elif child.tag == "color":
                self._numbers(child, "rgba", 4)

    def _name(self, element: Element) -> str:
        return self._text(element, "name")

    def _text(self, element: Element, key: str) -> str:
        if key not in element.attributes:
            raise self._fail(element, f"attribute {key!r} is missing.")
        return element.attributes[key]

    def _numbers(
        self, element: Element, key: str, n: int, default: tuple[float, ...] | None = None
    ) -> np.ndarray:
        if key not in element.attributes and default is not None:
            return np.array(default)
        words = self._text(element, key).split()
        values = np.array([float(w) if NUMBER.match(w) else np.nan for w in words])
        if len(values) != n or not (np.abs(values) < LARGEST).all():
            raise self._fail(
                element,
                f"{key} must be {n} finite number{'s' * (n > 1)}, got {shown(element.attributes[key])}.",
            )
        return values

    def _number(self, element: Element, key: str, default: float | None = None) -> float:
        return float(self._numbers(element, key, 1, None if default is None else (default,))[0])

    def _only(self, element: Element, tag: str) -> Element:
        found = [c for c in element.children if c.tag == tag]
        if len(found) != 1:
            raise self._fail(element, f"needs exactly one <{tag}>, got {len(found)}.")
        return found[0]

    def _maybe(self, element: Element, tag: str) -> Element | None:
        return self._only(element, tag) if any(c.tag == tag for c in element.children) else None

    def _pose(self, element: Element) -> tuple[np.ndarray, np.ndarray]:
        origin = self._maybe(element, "origin")
        if origin is None:
            return np.zeros(3), np.zeros(3)
        zeros = (0.0, 0.0, 0.0)
        return self._numbers(origin, "xyz", 3, zeros), self._numbers(origin, "rpy", 3, zeros)

    def _inertial(self, link: Element) -> tuple[float, np.ndarray, np.ndarray | None]:
        inertial = self._maybe(link, "inertial")
        if inertial is None:
            return 0.0, np.zeros(3), None
        xyz, rpy = self._pose(inertial)
        mass = self._number(self._only(inertial, "mass"), "value")
        given = self._only(inertial, "inertia")
        xx, xy, xz, yy, yz, zz = (
            self._number(given, key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R = euler2mat(*rpy, axes="sxyz")
        return mass, xyz, R @ J @ R.T if J.any() else None

    def _link(self, element: Element) -> Tree:
        mass, com, inertia = self._inertial(element)
        fields: dict[str, object] = {
            "name": self._name(element),
            "mass_kg": mass,
            "com_m": com,
            "visuals": [self._visual(c) for c in element.children if c.tag == "visual"],
        }
        if inertia is not None:
            fields["inertia_kg_m2"] = (inertia + inertia.T) / 2.0
        return self._tree(element, fields)

    def _visual(self, element: Element) -> Tree:
        xyz, rpy = self._pose(element)
        geometry = self._only(element, "geometry")
        if len(geometry.children) != 1:
            raise self._fail(geometry, f"needs exactly one shape, got {len(geometry.children)}.")
        shape = geometry.children[0]
        fields: dict[str, object] = {
            "type": shape.tag, "position_m": xyz, "rpy_deg": np.degrees(rpy)
        }  # fmt: skip
        if shape.tag == "box":
            fields["size_m"] = self._numbers(shape, "size", 3)
        elif shape.tag == "cylinder":
            fields["size_m"] = [self._number(shape, "radius"), self._number(shape, "length")]
        elif shape.tag == "sphere":
            fields["size_m"] = [self._number(shape, "radius")]
        else:
            fields["mesh"] = self._text(shape, "filename")
            if not fields["mesh"]:
                raise self._fail(shape, "filename must not be empty.")
            fields["size_m"] = self._numbers(shape, "scale", 3, (1.0, 1.0, 1.0))
        return self._tree(element, fields)

    def _joint(self, element: Element, rename: dict[str, str]) -> Tree:
        kind = self._text(element, "type")
        if kind not in ("revolute", "continuous", "prismatic", "fixed"):
            raise self._fail(
                element,
                f"type {kind!r} is not supported; use revolute, continuous, prismatic or fixed.",
            )
        xyz, rpy = self._pose(element)
        parent = self._text(self._only(element, "parent"), "link")
        fields: dict[str, object] = {
            "name": self._name(element),
            "type": "revolute" if kind == "continuous" else kind,
            "parent": rename.get(parent, parent),
            "child": self._text(self._only(element, "child"), "link"),
            "position_m": xyz,
            "rpy_deg": np.degrees(rpy),
        }
        if kind != "fixed":
            axis = self._maybe(element, "axis")
            fields["axis"] = self._numbers(axis, "xyz", 3) if axis else [1.0, 0.0, 0.0]
        units = JOINTS["revolute" if kind == "continuous" else kind].UNITS
        limit = self._maybe(element, "limit")
        if limit is None and kind in ("revolute", "prismatic"):
            raise self._fail(element, f"a {kind} joint needs a <limit> (URDF).")
        if limit is not None:
            if kind in ("revolute", "prismatic"):
                fields[units["limits"]] = [self._number(limit, k, 0.0) for k in ("lower", "upper")]
            for key, name in (("effort", "effort"), ("velocity", "rate")):
                value = self._number(limit, key, 0.0)
                if value < 0.0:
                    raise self._fail(limit, f"{key} must be >= 0 (0: no limit), got {value:g}.")
                if value > 0.0 and units:
                    fields[units[name]] = value
        dynamics = self._maybe(element, "dynamics")
        if dynamics is not None:
            for key in ("damping", "friction") if units else ():
                fields[units[key]] = self._number(dynamics, key, 0.0)
        return self._tree(element, fields)
