"""Paths of cables over what they wrap around, from one state that is set to the next."""

from __future__ import annotations

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.memory.world import World

STILL = 1e-9
"""Bodies that move by less, m, and turn by less, in the numbers of their attitude, stay where they are."""


def keep_ways(world: World, other: World) -> None:
    """Let all cables lie, and be laid, as the same cables in another world, whose bodies are in the same places."""
    columns = slice(memory.SIDE, memory.BEHIND_PIN + 1)
    world.sheave_int[:, columns] = other.sheave_int[:, columns]
    world.sheaves[:, memory.WRAP_ANGLE :] = other.sheaves[:, memory.WRAP_ANGLE :]
    world.pin_int[:, memory.NEXT_PIN] = other.pin_int[:, memory.NEXT_PIN]
    world.polyhedra[:], world.polyhedron_int[:] = other.polyhedra, other.polyhedron_int
    world.route_int[:, memory.WAY] = other.route_int[:, memory.WAY]


def mark_still(world: World, places: np.ndarray) -> None:
    """Let cables lie as they do where all bodies that they touch stay; a first state lays all of them.

    Args:
        world: whose start is set.
        places: position and attitude of all rows before, (n, 7).
    """
    now = world.states[memory.START, :, memory.P : memory.Q + 4]
    with np.errstate(invalid="ignore"):  # what was nowhere
        moved = ~(np.abs(now - places).max(axis=1) <= STILL)
    for row in world.route_int:
        if row[memory.WAY] != memory.NEVER_LAID:
            bodies = world.grip_int[row[memory.FIRST_GRIP] : row[memory.END_GRIP], memory.GRIP_BODY]
            row[memory.WAY] = memory.LAID_ANEW if moved[bodies].any() else memory.STAYS


def note_laid(world: World) -> None:
    """A state is set: cables have been laid."""
    ways = world.route_int[:, memory.WAY]
    ways[ways == memory.NEVER_LAID] = memory.LAID_ANEW
