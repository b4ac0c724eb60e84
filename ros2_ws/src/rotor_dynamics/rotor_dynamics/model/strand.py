"""Heavy cables: masses along them, massless rods between, and what the air does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rotor_core.errors import ModelError
from rotor_dynamics import memory
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.cable import Cable


@dataclass(frozen=True)
class Strand:
    """Masses of a heavy cable (S.1): a cable between two points is the piece from its end ``a`` to the first mass.

    Attributes:
        cable: its number.
        bodies: indices of its masses, from ``a`` to ``b``.
        pieces: numbers of the other pieces, from ``a`` to ``b``; they stand behind all cables that users name.
        drag: force of the air across the cable on one mass, over its speed squared, N s^2/m^2.
        radius: of the cable, m; its masses lie that high on a floor.
        bending: stiffness against bending, N m^2.
    """

    cable: int
    bodies: tuple[int, ...]
    pieces: tuple[int, ...]
    drag: float = 0.0
    radius: float = 0.0
    bending: float = 0.0

    @property
    def chain(self) -> tuple[int, ...]:
        """Numbers of all pieces from ``a`` to ``b``."""
        return self.cable, *self.pieces


def divided(
    cable: Cable, name: str, mass: float, segments: int, first_body: int
) -> tuple[tuple[Body, ...], tuple[Cable, ...]]:
    """Masses and pieces of a heavy cable: ``segments`` equal parts, each with its mass in its middle (S.1).

    Args:
        cable: a line between two points.
        name: of the masses: ``name/1`` and so on.
        mass: of the whole cable, kg.
        segments: at least 1.
        first_body: index that its first mass will have.

    Returns:
        The masses, and all pieces from end ``a`` to end ``b``, one more.

    Raises:
        ModelError: the cable is more than a line, or there is no mass.
    """
    if not cable.is_line:
        raise ModelError(f"{name}: a heavy cable runs through no rings, does not wind or stretch.")
    if segments < 1 or not mass > 0.0:
        raise ModelError(
            f"{name}: needs segments >= 1 and a mass > 0 kg, got {segments} and {mass:g}."
        )
    part = cable.length / segments
    bodies = tuple(Body(f"{name}/{i + 1}", mass / segments) for i in range(segments))
    rows = range(first_body, first_body + segments)
    ends = [(cable.a, cable.r_a), *((row, np.zeros(3)) for row in rows), (cable.b, cable.r_b)]
    lengths = [0.5 * part, *[part] * (segments - 1), 0.5 * part]
    pieces = tuple(
        replace(cable, a=a, r_a=r_a, b=b, r_b=r_b, length=length, rod=True)
        for (a, r_a), (b, r_b), length in zip(ends[:-1], ends[1:], lengths, strict=True)
    )
    return bodies, pieces


def strand_forces(strands: Sequence[Strand]) -> int:
    """Number of forces at the masses of heavy cables: of the air, and of bending."""
    return sum(len(s.bodies) * (bool(s.drag) + bool(s.bending)) for s in strands)


def fill_strand_forces(
    world: memory.World, strands: Sequence[Strand], member_body: np.ndarray, row: int
) -> None:
    """Write drag and bending at the masses of heavy cables as forces, from ``row`` on; constraints are filled."""
    for strand in strands:
        rows = member_body[list(strand.bodies)]
        for i, body in enumerate(rows if strand.drag else ()):
            before, after = rows[max(i - 1, 0)], rows[min(i + 1, len(rows) - 1)]
            world.force_int[row] = body, memory.STRAND_DRAG, before, after
            world.forces[row, memory.FORCE_PARAMETERS] = strand.drag
            row += 1
        if not strand.bending:
            continue
        chain = strand.chain
        lengths = world.constraints[list(chain), memory.LENGTH]
        first, last = world.constraint_int[chain[0]], world.constraint_int[chain[-1]]
        nodes = [int(first[memory.BODY_A]), *rows, int(last[memory.BODY_B])]
        for i, body in enumerate(rows):
            world.force_int[row] = body, memory.STRAND_BEND, nodes[i], nodes[i + 2]
            numbers = world.forces[row, memory.FORCE_PARAMETERS :]
            numbers[0] = strand.bending / (0.5 * (lengths[i] + lengths[i + 1]))
            if i == 0:
                numbers[1:4] = world.constraints[chain[0], memory.R_A : memory.R_A + 3]
            if i == len(rows) - 1:
                numbers[4:7] = world.constraints[chain[-1], memory.R_B : memory.R_B + 3]
            numbers[7:9] = chain[i], chain[i + 1]
            row += 1
