"""Cables: between two points, through rings, wound by winches, elastic, heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded
from rotor_core.registry import Kind

STIFFEST = 1e6
"""Largest stiffness of a cable, N/m; what is stiffer is better left inextensible."""

MOST_SEGMENTS = 200
"""Parts of a heavy cable: more of them need steps that cost more than they tell."""


@dataclass(frozen=True)
class Ring:
    """A ring (or a small pulley) through which a cable runs without friction.

    A point of an entity, in body axes from its centre of mass, of a link of an arm, or of the ``world``.
    """

    entity: str
    point_m: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Winch:
    """A winch at end ``a`` of a cable, and its limits.

    ``lengths_m``: the shortest and the longest that it leaves of the cable. ``rate_m_s``, ``acceleration_m_s2``: at
    most.
    """

    lengths_m: tuple[float, float]
    rate_m_s: float = bounded(0.5, gt=0.0)
    acceleration_m_s2: float = bounded(1.0, gt=0.0)

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
    elastic, with ``damping_n_s_per_m``, and breaks at ``breaking_load_n``. ``winch``: winds it.

    With ``mass_kg_per_m`` it is heavy: ``segments`` equal parts (20 by default), each with its mass in its middle. With
    ``diameter_m`` the air pushes across it, with ``drag_coefficient`` of a cylinder.
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

    def __post_init__(self) -> None:
        if self.mass_kg_per_m and (self.through or self.winch or self.stiffness_n_per_m):
            raise ValueError(
                "mass_kg_per_m: a heavy cable runs through no rings, has no winch and does not stretch. Leave out one "
                "or the other."
            )
        if self.diameter_m and not self.mass_kg_per_m:
            raise ValueError(
                "diameter_m needs mass_kg_per_m: the air pushes on the mass of a cable. Give it one."
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
    def is_line(self) -> bool:
        """True if it is a line of one length between two points: no rings, winch, mass, and it does not stretch."""
        return not (self.through or self.winch or self.stiffness_n_per_m or self.mass_kg_per_m)

    @property
    def mass_kg(self) -> float:
        """Mass of the whole cable."""
        return self.mass_kg_per_m * self.length_m


CABLE = Kind(CableAttachment, lambda keys, vehicles, payloads: [keys])
