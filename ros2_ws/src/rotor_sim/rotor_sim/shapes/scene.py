"""Moving parts of a picture of a world, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CUT = -1.0
"""Value of :attr:`Scene.taut` of a cable that is cut."""


@dataclass(frozen=True)
class Scene:
    """One instant of a world.

    Attributes:
        bodies: names of vehicles, payloads and links.
        poses: of each position and attitude (w first) in W, (n, 7).
        pushes: external force on each, (n, 3) N in W.
        thrusts: of the vehicles, (n_vehicles,) N.
        tensions: of the cables, (n_cables,) N.
        taut: of the cables, (n_cables,): 1 taut, 0 slack, -1 cut.
        discs: of the main rotors, (n, 4): coning, cosine and sine of the flap angle, rad; thrust, N.
    """

    bodies: tuple[str, ...]
    poses: np.ndarray
    pushes: np.ndarray
    thrusts: np.ndarray
    tensions: np.ndarray
    taut: np.ndarray
    discs: np.ndarray
