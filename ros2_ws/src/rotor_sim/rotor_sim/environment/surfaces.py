"""Rotors near surfaces: the ground below lifts them, obstacles above draw them up.

Walls beside rotors change their thrust by little and are left out. Equations (I.7), (R.6), docs/theory/.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from rotor_core.clearance.rays import Rays
from rotor_core.clearance.solids import obstacle_solids
from rotor_core.config.obstacles.obstacle import Obstacle
from rotor_core.kernels.jit import kernel
from rotor_dynamics.forces.rotors import ground_factor

FARTHEST = 10.0
"""Obstacles are looked for this many radii above a rotor; there they take a thousandth off its induced velocity."""

NEAREST = 0.1
"""Ceilings nearer than this many radii count as this near: the blades would meet them."""


def ceiling_easing(distance: float, radius: float) -> float:
    """Induced velocity under a ceiling over that of the same thrust without (I.7).

    Air comes to the rotor from the side through the gap and presses less there. Source: Hsiao and Chirarattananon,
    Ceiling effects for hybrid aerial-surface locomotion of small rotorcraft, IEEE/ASME T-Mech 24(5), 2019.
    """
    gap = max(distance / radius, NEAREST)
    return 2.0 / (1.0 + sqrt(1.0 + 1.0 / (8.0 * gap * gap)))


@kernel
def lift_of_ground(hubs, ground, radii, lift):
    """Write the thrust of rotors near the ground over that far from it into ``lift`` (n,)."""
    for k in range(radii.shape[0]):
        if radii[k] > 0.0:
            lift[k] = ground_factor(hubs[k, 2] - ground, radii[k])


class Ceilings:
    """Ceiling effect of obstacles above rotors, once per control period.

    Args:
        obstacles: of the environment.
        radii: of all rotors, (n,) m.
    """

    def __init__(self, obstacles: Sequence[Obstacle], radii: np.ndarray) -> None:
        self._rays, self._radii = Rays([s for o in obstacles for s in obstacle_solids(o)]), radii

    def look(self, hubs: np.ndarray, axes: np.ndarray, easing: np.ndarray) -> None:
        """Write induced velocities over those far from everything, (n,); hubs (n, 3) m, axes of thrust (n, 3) in W."""
        for k, radius in enumerate(self._radii):
            above = self._rays.distance(hubs[k], axes[k], FARTHEST * radius)
            easing[k] = ceiling_easing(above, radius)
