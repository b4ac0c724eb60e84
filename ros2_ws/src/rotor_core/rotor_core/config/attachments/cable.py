"""Cables: between two points, through rings, wound by winches, elastic, heavy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded
from rotor_core.errors import ModelError
from rotor_core.math.polyhedron import CORNERS, Polyhedron
from rotor_core.registry import Kind

STIFFEST = 1e6
"""Largest stiffness of a cable, N/m; what is stiffer is better left inextensible."""

ROUGHEST = 2.0
"""Largest coefficient of friction of a cable: half a turn holds 500 times the tension then."""

MOST_SEGMENTS = 200
"""Parts of a heavy cable: more of them need steps that cost more than they tell."""


@dataclass(frozen=True)
class Wheel:
    """Rotating part of a pulley, without friction about its axis.

    ``mass_kg`` comes on top of that of the entity. ``inertia_kg_m2``: about the axis; of a solid disc if not given.
    """

    mass_kg: float = bounded(gt=0.0)
    inertia_kg_m2: float | None = bounded(None, gt=0.0)


@dataclass(frozen=True)
class Ring:
    """A ring (or a small pulley) through which a cable runs.

    A point of an entity, in body axes from its centre of mass, of a link of an arm, or of the ``world``. With
    ``radius_m`` it is a pulley about that point: the cable lies on it, ``ccw`` or ``cw`` (``turn``) about ``axis`` on
    the way from ``a`` to ``b``. With ``friction`` it does not turn, and the cable rubs on it: it sticks while the ratio
    of the tensions on both sides is below e^(friction times angle of the bend), and slides at that ratio. A pulley with
    a ``wheel`` turns: its friction is between cable and wheel, which has to be turned along.
    """

    entity: str
    point_m: Vector = (0.0, 0.0, 0.0)
    radius_m: float = bounded(0.0, ge=0.0)
    axis: Vector = (0.0, 1.0, 0.0)
    turn: Literal["ccw", "cw"] | None = None
    friction: float = bounded(0.0, ge=0.0, le=ROUGHEST)
    wheel: Wheel | None = None

    def __post_init__(self) -> None:
        if (self.turn is None) != (self.radius_m == 0.0):
            raise ValueError(
                "a pulley has radius_m > 0 and turn (ccw or cw about its axis); a ring has neither. Give both or none."
            )
        if not any(self.axis):
            raise ValueError(f"axis must have a length, got {list(self.axis)}.")
        if self.wheel is not None and (self.turn is None or not self.friction):
            raise ValueError(
                "wheel: needs a pulley (radius_m and turn) and a friction > 0, by which the cable turns it. Give "
                "them, or leave the wheel out: then the pulley has no inertia."
            )


@dataclass(frozen=True)
class Peg:
    """Surface that a cable may wrap: a cylinder (with ``radius_m`` 0 an edge), a ball, a box or a hull.

    A cylinder between its two ends ``ends_m``; about ``middle_m`` a ball of ``radius_m``, a box of ``size_m``, or the
    hull of ``corners_m``, turned by ``rpy_deg``; in the axes of an entity or of the ``world``. Or an obstacle by its
    name; ``any``: the cylinders of all obstacles. Between two rings a cable that may lie on a ball, box or hull lies on
    nothing else.
    ``part``: of the way between rings, from 1, that may come to lie on it. ``friction``: as of rings.
    """

    obstacle: str = ""
    entity: str = "world"
    ends_m: tuple[Vector, Vector] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    middle_m: Vector | None = None
    size_m: Vector | None = bounded(None, gt=0.0)
    corners_m: tuple[Vector, ...] = ()
    rpy_deg: Vector = (0.0, 0.0, 0.0)
    radius_m: float = bounded(0.0, ge=0.0)
    part: int = bounded(1, ge=1)
    friction: float = bounded(0.0, ge=0.0, le=ROUGHEST)

    def __post_init__(self) -> None:
        has_ends = self.ends_m[0] != self.ends_m[1]
        if not self.obstacle and has_ends == (self.middle_m is not None):
            raise ValueError(
                "a peg needs ends_m, two points that differ, or the middle_m of a ball, box or hull, or the name of "
                "an obstacle."
            )
        if self.size_m is not None and (self.middle_m is None or self.radius_m):
            raise ValueError("size_m makes a box: give it a middle_m, and leave out radius_m.")
        if self.corners_m and (self.middle_m is None or self.radius_m or self.size_m is not None):
            raise ValueError(
                "corners_m makes a hull: give it a middle_m, and leave out radius_m and size_m."
            )
        if self.middle_m is not None and not self.corners and not self.radius_m:
            raise ValueError(
                "a ball needs a radius_m > 0, a box a size_m, a hull corners_m. Give one of them."
            )
        if self.obstacle and self.entity != "world":
            raise ValueError("obstacles stand in the world. Leave out entity.")
        if any(self.rpy_deg) and not self.obstacle and not self.corners:
            raise ValueError(
                "rpy_deg turns a box or hull. Leave it out: a cylinder lies between its ends_m."
            )
        if self.corners:
            try:
                Polyhedron.around(np.array(self.corners))
            except ModelError as error:
                raise ValueError(str(error)) from error

    @property
    def corners(self) -> tuple[Vector, ...]:
        """Of a box or hull, from its middle in its own axes, m; none of others."""
        if self.size_m is None:
            return self.corners_m
        return tuple(map(tuple, (0.5 * np.array(self.size_m) * CORNERS).tolist()))


@dataclass(frozen=True)
class Cylinder:
    """A pulley, peg, ball, box or hull on the way of a cable.

    Attributes:
        entity: whose axes the rest is in.
        centre, axis: m, and along it; a ball, box or hull has no axis, (0, 0, 0).
        radius, reach: m; half its length.
        turn: of a pulley, +1 (ccw) or -1; 0: a peg.
        part: number of the straight part, from 0, that it is in.
        friction: of the cable on it.
        name: of the obstacle or entity.
        wheel: what turns of it.
        corners, rpy_deg: of a box or hull from the centre in its own axes, m, and how these are turned in those of the
            entity; none of others.
    """

    entity: str
    centre: Vector
    axis: Vector
    radius: float
    reach: float
    turn: int
    part: int
    friction: float
    name: str
    wheel: Wheel | None = None
    corners: tuple[Vector, ...] = ()
    rpy_deg: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Drum:
    """The drum of a winch, which a motor turns with at most ``torque_n_m``.

    While nothing is asked of it a brake holds it. ``inertia_kg_m2``: of drum, gear and motor about its axis.
    """

    radius_m: float = bounded(gt=0.0)
    inertia_kg_m2: float = bounded(gt=0.0)
    torque_n_m: float = bounded(gt=0.0)

    @property
    def mass(self) -> float:
        """Inertia over the square of the radius: what the cable feels of it, kg."""
        return self.inertia_kg_m2 / self.radius_m**2

    @property
    def force(self) -> float:
        """Largest force of the motor at the rim, N."""
        return self.torque_n_m / self.radius_m


@dataclass(frozen=True)
class Winch:
    """A winch at end ``a`` of a cable, and its limits.

    ``lengths_m``: the shortest and the longest that it leaves of the cable. ``rate_m_s``, ``acceleration_m_s2``: at
    most. Without a ``drum`` it does what it is told, whatever pulls; with one as far as its motor can, until its cable
    ends.
    """

    lengths_m: tuple[float, float]
    rate_m_s: float = bounded(0.5, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)
    drum: Drum | None = None

    def __post_init__(self) -> None:
        shortest, longest = self.lengths_m
        if not 0.0 < shortest < longest:
            raise ValueError(
                f"lengths_m must be [shortest, longest], 0 < shortest < longest, got {list(self.lengths_m)}."
            )


@dataclass(frozen=True)
class CableAttachment:
    """A cable from a point of entity ``a`` to a point of entity ``b`` (or of the ``world``).

    Points in body axes from the centre of mass. ``through``: rings on its way, in order from ``a``;
    ``length_m`` is that of the whole cable. With ``stiffness_n_per_m`` (0: it does not stretch) it is
    elastic, with ``damping_n_s_per_m``, and breaks at ``breaking_load_n``. ``winch``: winds it. ``around``: pegs and
    edges around which it wraps.

    With ``mass_kg_per_m`` it is heavy: ``segments`` equal parts (20 by default), each with its mass in its middle. With
    ``diameter_m`` the air pushes across it, with ``drag_coefficient`` of a cylinder. ``bending_stiffness_n_m2``: its
    modulus times the second moment of its section; it turns freely at its ends.
    """

    type: Literal["cable"]
    a: str
    b: str
    length_m: float = bounded(gt=0.0)
    a_point_m: Vector = (0.0, 0.0, 0.0)
    b_point_m: Vector = (0.0, 0.0, 0.0)
    through: tuple[Ring, ...] = ()
    stiffness_n_per_m: float = bounded(0.0, ge=0.0, le=STIFFEST)
    damping_n_s_per_m: float = bounded(0.0, ge=0.0)
    breaking_load_n: float | None = bounded(None, gt=0.0)
    winch: Winch | None = None
    mass_kg_per_m: float = bounded(0.0, ge=0.0)
    segments: int = bounded(20, ge=2, le=MOST_SEGMENTS)
    diameter_m: float = bounded(0.0, ge=0.0, le=1.0)
    drag_coefficient: float = bounded(1.1, ge=0.0)
    around: tuple[Peg, ...] = ()
    bending_stiffness_n_m2: float = bounded(0.0, ge=0.0)

    def __post_init__(self) -> None:
        if self.mass_kg_per_m and (
            self.through or self.winch or self.stiffness_n_per_m or self.around
        ):
            raise ValueError(
                "mass_kg_per_m: a heavy cable runs through no rings and around no pegs, has no winch and does not "
                "stretch. Leave out one or the other."
            )
        for part in (c.part for c in self.cylinders):
            if part > len(self.nodes) - 2:
                raise ValueError(
                    f"around: there are {len(self.nodes) - 1} parts between rings, got part {part + 1}."
                )
        if self.stiffness_n_per_m and any(w.friction for w in (*self.through, *self.around)):
            raise ValueError(
                "friction: a cable that stretches does not rub. Leave out stiffness_n_per_m or the friction."
            )
        if self.diameter_m and not self.mass_kg_per_m:
            raise ValueError(
                "diameter_m needs mass_kg_per_m: the air pushes on the mass of a cable. Give it one."
            )
        if self.bending_stiffness_n_m2 and not self.mass_kg_per_m:
            raise ValueError(
                "bending_stiffness_n_m2 needs mass_kg_per_m: only a heavy cable bends. Give it one."
            )
        if not self.stiffness_n_per_m and (self.damping_n_s_per_m or self.breaking_load_n):
            raise ValueError(
                "damping_n_s_per_m and breaking_load_n need stiffness_n_per_m: a cable that does not stretch "
                "has no peak of a snap to damp or to break at."
            )
        if self.winch is not None:
            shortest, longest = self.winch.lengths_m
            if not shortest <= self.length_m <= longest:
                raise ValueError(
                    f"length_m must be within lengths_m of its winch, {shortest:g} to {longest:g}, "
                    f"got {self.length_m:g}."
                )

    @property
    def path(self) -> tuple[tuple[str, Vector], ...]:
        """Entities and points from end to end."""
        rings = ((ring.entity, ring.point_m) for ring in self.through)
        return (self.a, self.a_point_m), *rings, (self.b, self.b_point_m)

    @property
    def nodes(self) -> tuple[tuple[str, Vector], ...]:
        """The path without its pulleys: between neighbours it is straight, or lies on one cylinder."""
        rings = ((ring.entity, ring.point_m) for ring in self.through if ring.turn is None)
        return (self.a, self.a_point_m), *rings, (self.b, self.b_point_m)

    @property
    def cylinders(self) -> tuple[Cylinder, ...]:
        """Pulleys, pegs, balls, boxes and hulls, in the order of the way."""
        out, part = [], 0
        for ring in self.through:
            if ring.turn is None:
                part += 1
                continue
            turn = 1 if ring.turn == "ccw" else -1
            shape = ring.point_m, ring.axis, ring.radius_m, math.inf
            rubs = ring.friction, ring.entity, ring.wheel
            out.append(Cylinder(ring.entity, *shape, turn, part, *rubs))
        for peg in self.around:
            if peg.middle_m is None:
                first, last = peg.ends_m
                centre = tuple(0.5 * (a + b) for a, b in zip(first, last, strict=True))
                axis = tuple(b - a for a, b in zip(first, last, strict=True))
                reach = 0.5 * math.hypot(*axis)
            else:
                centre, axis, reach = peg.middle_m, (0.0, 0.0, 0.0), math.inf
            place = centre, axis, peg.radius_m, reach
            named = peg.obstacle or peg.entity
            shape = None, peg.corners, peg.rpy_deg
            out.append(Cylinder(peg.entity, *place, 0, peg.part - 1, peg.friction, named, *shape))  # type: ignore[arg-type]
        return tuple(sorted(out, key=lambda c: c.part))

    @property
    def is_line(self) -> bool:
        """True if it is a line of one length between two points: no rings, pegs, winch, mass, and no stretch."""
        more = self.through or self.around or self.winch
        return not (more or self.stiffness_n_per_m or self.mass_kg_per_m)

    @property
    def mass_kg(self) -> float:
        """Mass of the whole cable."""
        return self.mass_kg_per_m * self.length_m


CABLE = Kind(CableAttachment, lambda keys, vehicles, payloads: [keys])
