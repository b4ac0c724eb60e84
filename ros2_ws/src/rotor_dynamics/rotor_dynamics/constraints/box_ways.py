"""Ways of a cable around a box, for those who know nothing but where its ends are: pictures."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.constraints.box_changes import turn_box
from rotor_dynamics.constraints.boxes import NO_RULE

SAME = 1e-9
"""Lengths that differ by less than this share are of one way."""


def ways_over_box(p: np.ndarray, q: np.ndarray, half: np.ndarray) -> list[np.ndarray]:
    """Where the shortest ways from p to q, each of all near it, bend over the edges of a box.

    Args:
        p, q: (3,) m in the axes of the box, from its middle, both outside.
        half: half its edges, (3,) m.

    Returns:
        Points of every way without its ends, (k, 3) m, k >= 1, the shortest first; of cables that go around the box
        more than once none. Equations (W.21)-(W.23).
    """
    ints, floats = _one_box()
    world = memory.world_of(ints, floats)
    box, number = world.boxes[0], world.box_int[0]
    box[memory.HALF : memory.HALF + 3] = half
    box[memory.END_P : memory.END_P + 3], box[memory.END_Q : memory.END_Q + 3] = p, q
    above_p, above_q = ([f for f in range(6) if _above(end, half, f)] for end in (p, q))
    found: dict[float, np.ndarray] = {}
    for first, last, middle in product(above_p, above_q, (None, *range(6))):
        faces = [first, last] if middle is None else [first, middle, last]
        if any(f // 2 == g // 2 for f, g in pairwise(faces)):
            continue
        number[:] = 0
        number[memory.N_BENDS], number[memory.BOX_RULE] = len(faces) - 1, NO_RULE
        number[memory.FACES : memory.FACES + len(faces)] = faces
        box[memory.BEND_AT : memory.BEND_AT + memory.MOST_BENDS] = 0.0
        turn_box(ints, floats, 0)
        if number[memory.WAY_LOST] == 0 and number[memory.N_BENDS] > 0:
            way = _bends(box, number)
            parts = np.diff(np.vstack([p, way, q]), axis=0)
            length = float(np.linalg.norm(parts, axis=1).sum())
            if all(abs(length - known) > SAME * length for known in found):
                found[length] = way
    return [way for _, way in sorted(found.items(), key=lambda item: item[0])]


def _one_box() -> tuple[np.ndarray, np.ndarray]:
    """Memory of a world with one box on the way of a cable, and nothing else."""
    ints, floats = memory.blank([name in ("n_sheaves", "n_boxes") for name in memory.SIZES])
    memory.world_of(ints, floats).sheave_int[0, memory.BOX_AT] = 1
    return ints, floats


def _above(place: np.ndarray, half: np.ndarray, f: int) -> bool:
    return (1 if f % 2 else -1) * place[f // 2] > half[f // 2]


def _bends(box: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Points at which a way bends, (k, 3) m."""
    half, n = box[memory.HALF : memory.HALF + 3], int(number[memory.N_BENDS])
    faces = number[memory.FACES : memory.FACES + n + 1]
    out = np.empty((n, 3))
    for j, (f, g) in enumerate(pairwise(faces)):
        out[j, 3 - f // 2 - g // 2] = box[memory.BEND_AT + j]
        for face in (f, g):
            out[j, face // 2] = (1 if face % 2 else -1) * half[face // 2]
    return out
