"""A cable as a user describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rotor_core.errors import ModelError
from rotor_core.math.polyhedron import Polyhedron

INITIAL_GAP = 1e-9
"""A cable this close to its length when the state is set counts as taut; longer is an error, m."""


class Ring(NamedTuple):
    """A ring through which a cable runs.

    Attributes:
        body: index, or WORLD.
        point: in the frame of the body (for WORLD: world coordinates), (3,) m.
        friction: coefficient of friction of the cable on it.
    """

    body: int
    point: np.ndarray
    friction: float = 0.0


@dataclass(frozen=True)
class Sheave:
    """Surface over which a cable runs: a cylinder (a sized pulley, a peg, or, of radius 0, an edge), a ball or a hull.

    Attributes:
        body: index, or WORLD.
        centre: in the frame of the body (for WORLD: world coordinates), (3,) m.
        axis: along the cylinder, in the same axes, (3,).
        radius: m.
        turn: of a pulley, on which the cable lies from the start: +1 if it goes round the axis counter-clockwise from
            end a to end b, -1 clockwise. 0: a peg, on which it may come to lie.
        reach: half the length of the cylinder, m; beyond, a cable slips off.
        friction: coefficient of friction of the cable on it.
        ball: whether it is a ball about its centre, a peg; its axis says nothing then.
        polyhedron: the hull, a peg, its corners from ``centre``, in the axes of the body; None: it is none.
    """

    body: int
    centre: np.ndarray
    axis: np.ndarray
    radius: float
    turn: int = 0
    reach: float = np.inf
    friction: float = 0.0
    ball: bool = False
    polyhedron: Polyhedron | None = None

    def __post_init__(self) -> None:
        numbers = np.concatenate([self.centre, self.axis, [self.radius]])
        if not (
            np.isfinite(numbers).all()
            and np.any(self.axis)
            and self.radius >= 0.0
            and self.reach > 0.0
        ):
            raise ModelError(
                f"sheave: needs finite numbers, an axis with a length, a radius >= 0 and a reach > 0, got {self}."
            )
        if self.turn not in (-1, 0, 1):
            raise ModelError(f"sheave: turn must be -1, 0 or 1, got {self.turn}.")
        if self.ball and (self.turn or not self.radius):
            raise ModelError(
                f"ball: is a peg with a radius > 0, got turn {self.turn} and radius {self.radius:g}."
            )
        if self.polyhedron is not None and (self.ball or self.turn):
            raise ModelError(f"polyhedron: is a peg and no ball, got turn {self.turn}.")


@dataclass(frozen=True)
class Cable:
    """A unilateral massless cable from a point of body a to a point of body b.

    Attributes:
        a, b: body indices, or WORLD. The direction xi and the tension are counted from a to b.
        length: unstretched length, m.
        r_a, r_b: attachment points in the frames of the bodies (for WORLD: world coordinates), (3,) m.
        through: what it runs through on its way: rings and sheaves.
        stiffness, damping: of an elastic cable, N/m and N s/m; without stiffness it does not stretch.
        breaking_load: tension at which an elastic cable breaks, N.
        winds: a winch may change its length (:class:`rotor_dynamics.actuation.winches.WinchDrive`).
        drum: joint that is the drum of its winch, whose travel is what it has paid out; -1: there is none.
        rod: it does not become shorter either: a massless rod with ball joints at its ends.
    """

    a: int
    b: int
    length: float
    r_a: np.ndarray = field(default_factory=lambda: np.zeros(3))
    r_b: np.ndarray = field(default_factory=lambda: np.zeros(3))
    through: tuple[Ring | Sheave, ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    breaking_load: float = np.inf
    winds: bool = False
    rod: bool = False
    drum: int = -1

    @property
    def path(self) -> tuple[tuple[int, np.ndarray], ...]:
        """Bodies and points from end to end; twice the middle of a sheave, for the points in which they meet it."""
        ways = [
            ((way.body, way.centre),) * 2 if isinstance(way, Sheave) else ((way.body, way.point),)
            for way in self.through
        ]
        return (self.a, self.r_a), *(point for way in ways for point in way), (self.b, self.r_b)

    @property
    def sheaves(self) -> tuple[tuple[int, Sheave], ...]:
        """Sheaves, each with its place in :attr:`path`."""
        out, at = [], 1
        for way in self.through:
            if isinstance(way, Sheave):
                out.append((at, way))
            at += 2 if isinstance(way, Sheave) else 1
        return tuple(out)

    @property
    def rubs(self) -> tuple[tuple[int, float], ...]:
        """Places in :attr:`path` where the cable rubs, each with its coefficient of friction."""
        out, at = [], 1
        for way in self.through:
            if way.friction:
                out.append((at, way.friction))
            at += 2 if isinstance(way, Sheave) else 1
        return tuple(out)

    @property
    def parts(self) -> tuple[tuple[Sheave, ...], ...]:
        """Sheaves of every part between two rings."""
        parts: list[list[Sheave]] = [[]]
        for way in self.through:
            if not isinstance(way, Sheave):
                parts.append([])
            else:
                parts[-1].append(way)
        return tuple(tuple(part) for part in parts)

    @property
    def is_line(self) -> bool:
        """True if it is a line of one length between two points."""
        return not (self.through or self.stiffness or self.winds)
