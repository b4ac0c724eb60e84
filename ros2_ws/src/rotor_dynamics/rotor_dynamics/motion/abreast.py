"""Bodies of one world abreast: as many as there are lanes are moved at once.

The kernels are those of a single body, on tables of which a row stands for itself and for those that follow it
(:func:`rotor_core.kernels.tables.abreast`). The last pack begins so early that it ends with the last body; bodies that
are in two packs get the same numbers twice.
"""

from __future__ import annotations

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.tables import number_abreast
from rotor_core.math.factor import SMALL
from rotor_core.numbers.lanes import WIDTH
from rotor_dynamics import memory


@inlined
def goes_abreast(world):
    """True if bodies are moved abreast: numbers are plain, and :func:`may_go_abreast`."""
    return number_abreast(world) > 1 and world.head[memory.ABREAST] != 0


def may_go_abreast(world: memory.World) -> bool:
    """True if there are enough bodies, and all of them are moved by the same formulas.

    No joints; principal axes along those of the bodies (points have none); no rotor that feels the air; at most one
    drag each, linear, at the centre of mass.
    """
    n = world.head[memory.N_BODIES]
    of_bodies = world.body_int[:n]
    one = of_bodies[:, memory.END_DRAG] - of_bodies[:, memory.FIRST_DRAG] <= 1
    simple = world.drag_int[:, memory.ALIGNED] * world.drag_int[:, memory.ONLY_LINEAR] == 1
    return bool(
        n >= WIDTH
        and world.head[memory.N_JOINTS] == 0
        and np.all(of_bodies[:, memory.ROTATES] != memory.FULL_INERTIA)
        and not of_bodies[:, memory.FEELS_AIR].any()
        and one.all()
        and simple.all()
    )


def has_spokes(world: memory.World) -> bool:
    """True if the constraints are cables from bodies in a row to one other, the hub, and can be measured abreast.

    Few enough for the plain solver; at one end all are at centres of mass or none is.
    """
    of_cables = world.constraint_int
    n = len(of_cables)
    if not WIDTH <= n <= SMALL or world.head[memory.N_ROUTES] != 0:
        return False
    a, hub = of_cables[:, memory.BODY_A], of_cables[0, memory.BODY_B]
    alike = [memory.BODY_B, memory.HAS_ARM_A, memory.HAS_ARM_B]
    return bool(
        np.array_equal(a, a[0] + np.arange(n))
        and hub not in a
        and np.all(of_cables[:, alike] == of_cables[0, alike])
    )
