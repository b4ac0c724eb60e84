"""Blade angles of a rotor by hinge, and the plane of its blade tips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.config.vehicles.helicopter import MainRotor

SLOWEST = 0.2
"""Below this share of its speed a rotor has no tip path: rates of flapping say nothing about its plane."""


@dataclass(frozen=True)
class TipPath:
    """Coning and tilt of a disc.

    Attributes:
        coning: mean flap angle, rad.
        cosine, sine: of the flap angle over the azimuth from the tail in the direction of rotation, rad.
    """

    coning: float
    cosine: float
    sine: float


def by_hinge(rotor: MainRotor, joints: np.ndarray) -> dict[str, np.ndarray]:
    """Angles and rates of all blades about every hinge, (n_blades, 2), from those of the rotor's joints (n, 2)."""
    table = joints[1:].reshape(rotor.blades, len(rotor.hinges), 2)
    return {hinge.type: table[:, i] for i, hinge in enumerate(rotor.hinges)}


def tip_path(rotor: MainRotor, joints: np.ndarray) -> TipPath:
    """The plane that the tips run through now, if every blade flaps with the first harmonic.

    From angles and rates of all blades at one instant: one turn of one blade would say the same.
    """
    flap = by_hinge(rotor, joints).get("flap", np.zeros((rotor.blades, 2)))
    psi = joints[0, 0] + 2.0 * np.pi * np.arange(rotor.blades) / rotor.blades
    coning = float(np.mean(flap[:, 0]))
    swing, rate = flap[:, 0] - coning, np.zeros(rotor.blades)
    if joints[0, 1] > SLOWEST * rotor.speed_rad_s:
        rate = flap[:, 1] / joints[0, 1]
    c, s = np.cos(psi), np.sin(psi)
    return TipPath(
        coning, float(np.mean(swing * c - rate * s)), float(np.mean(swing * s + rate * c))
    )
