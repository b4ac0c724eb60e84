"""Ways of a cable around a polyhedron, for those who know nothing but where its ends are: pictures."""

from __future__ import annotations

import numpy as np

from rotor_core.math.polyhedron import Polyhedron
from rotor_dynamics import memory
from rotor_dynamics.constraints.polyhedra import write_bends
from rotor_dynamics.constraints.polyhedron_changes import N_SECTIONS, lay_section
from rotor_dynamics.model.route import fill_polyhedron

SAME = 1e-9
"""Lengths that differ by less than this share are of one way."""


def ways_over(p: np.ndarray, q: np.ndarray, polyhedron: Polyhedron) -> list[np.ndarray]:
    """Bends over the edges of a polyhedron of the shortest ways from p to q, each of all near it.

    Args:
        p, q: (3,) m in the axes of the polyhedron, both outside.
        polyhedron: what the ways go around.

    Returns:
        Points of every way without its ends, (k, 3) m, k >= 1, the shortest first; of cables that go around it
        more than once none. Equations (W.21)-(W.23).
    """
    ints, floats = one_polyhedron(polyhedron)
    world = memory.world_of(ints, floats)
    row, number = world.polyhedra[0], world.polyhedron_int[0]
    row[memory.END_P : memory.END_P + 3], row[memory.END_Q : memory.END_Q + 3] = p, q
    found: dict[float, np.ndarray] = {}
    for k in range(N_SECTIONS):
        length = lay_section(ints, floats, 0, k)
        if np.isfinite(length) and all(abs(length - known) > SAME * length for known in found):
            found[length] = np.empty((int(number[memory.N_BENDS]), 3))
            write_bends(ints, floats, 0, found[length])
    return [way for _, way in sorted(found.items(), key=lambda item: item[0])]


def one_polyhedron(polyhedron: Polyhedron) -> tuple[np.ndarray, np.ndarray]:
    """Memory of a world with one polyhedron on the way of a cable, and nothing else."""
    sizes = {
        "n_sheaves": 1,
        "n_polyhedra": 1,
        "n_facets": len(polyhedron.faces),
        "n_edges": polyhedron.n_edges,
    }
    ints, floats = memory.blank([sizes.get(name, 0) for name in memory.SIZES])
    world = memory.world_of(ints, floats)
    world.sheave_int[0, memory.POLYHEDRON_AT] = 1
    fill_polyhedron(world, 0, 0, 0, polyhedron)
    return ints, floats
